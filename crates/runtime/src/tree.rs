//! Red-black trees of nodes that are known by their addresses: the shape of a program's tree
//! (`bpf_rbtree_root`, `_left`, `_right` show it), in which insertion and removal take time
//! logarithmic in the number of nodes, as the fuel of a run assumes.
//!
//! # Invariants
//! 1. 0 is no node. `root` and the links lead to nodes of `nodes`, or are 0.
//! 2. No node is red whose parent is red; the root is black.
//! 3. Every path from a node down to a missing child passes equally many black nodes.
//!
//! Kernel: insertion and removal as in textbooks, where a node with two children is replaced by its
//! successor; the shapes are the same (6.18).

use std::collections::HashMap;

/// A side of a tree node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// A tree.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    root: u64,
    nodes: HashMap<u64, Links>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Links {
    parent: u64,
    left: u64,
    right: u64,
    is_red: bool,
}

impl Links {
    fn child(&mut self, side: Side) -> &mut u64 {
        match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        }
    }
}

fn some(node: u64) -> Option<u64> {
    (node != 0).then_some(node)
}

impl Tree {
    pub(crate) fn root(&self) -> Option<u64> {
        some(self.root)
    }

    pub(crate) fn child(&self, node: u64, side: Side) -> Option<u64> {
        some(*self.links(node).child(side))
    }

    /// The first node in order.
    pub(crate) fn first(&self) -> Option<u64> {
        some(self.root).map(|root| self.leftmost(root))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The nodes, in no order.
    pub(crate) fn into_nodes(self) -> impl Iterator<Item = u64> {
        self.nodes.into_keys()
    }

    /// Inserts a new node as a child of another, or as the root. Where a node is already, it goes
    /// below that.
    pub(crate) fn insert(&mut self, node: u64, below: Option<(u64, Side)>) {
        let (mut parent, side) = below.unwrap_or((self.root, Side::Right));
        while let Some(taken) = self.child(parent, side) {
            parent = taken;
        }
        self.nodes.insert(node, Links { parent, is_red: true, ..Links::default() });
        match parent {
            0 => self.root = node,
            _ => self.set_child(parent, side, node),
        }
        self.balance_inserted(node);
    }

    /// Ends two red nodes in a row, of which `node` is the lower one.
    fn balance_inserted(&mut self, mut node: u64) {
        loop {
            let mut parent = self.links(node).parent;
            if parent == 0 {
                return self.set_red(node, false);
            }
            if !self.is_red(parent) {
                return;
            }
            let above = self.links(parent).parent;
            let side = self.side_of(above, parent);
            let uncle = *self.links(above).child(side.other());
            if self.is_red(uncle) {
                self.set_red(parent, false);
                self.set_red(uncle, false);
                self.set_red(above, true);
                node = above;
                continue;
            }
            if self.side_of(parent, node) != side {
                self.rotate(parent, side);
                parent = node;
            }
            self.set_red(parent, false);
            self.set_red(above, true);
            return self.rotate(above, side.other());
        }
    }

    /// Removes a node of the tree.
    pub(crate) fn remove(&mut self, node: u64) {
        let gone = self.links(node);
        // The place that has one black node less, and whether it has.
        let (at, side, child, was_red);
        if gone.left == 0 || gone.right == 0 {
            child = gone.left | gone.right;
            (at, side, was_red) = (gone.parent, self.side_of(gone.parent, node), gone.is_red);
            self.replace(node, child);
        } else {
            let next = self.leftmost(gone.right);
            let links = self.links(next);
            (child, was_red) = (links.right, links.is_red);
            if links.parent == node {
                (at, side) = (next, Side::Right);
            } else {
                (at, side) = (links.parent, Side::Left);
                self.replace(next, child);
                self.set_child(next, Side::Right, gone.right);
            }
            self.replace(node, next);
            self.set_child(next, Side::Left, gone.left);
            self.set_red(next, gone.is_red);
        }
        self.nodes.remove(&node);
        if self.is_red(child) {
            self.set_red(child, false);
        } else if !was_red {
            self.balance_removed(at, side);
        }
    }

    /// Adds the black node that the paths through one child of `parent` lack.
    fn balance_removed(&mut self, mut parent: u64, mut side: Side) {
        while parent != 0 {
            let mut sibling = *self.links(parent).child(side.other());
            if self.is_red(sibling) {
                self.set_red(sibling, false);
                self.set_red(parent, true);
                self.rotate(parent, side);
                sibling = *self.links(parent).child(side.other());
            }
            let near = *self.links(sibling).child(side);
            let mut far = *self.links(sibling).child(side.other());
            if !self.is_red(near) && !self.is_red(far) {
                self.set_red(sibling, true);
                if self.is_red(parent) {
                    return self.set_red(parent, false);
                }
                let above = self.links(parent).parent;
                side = self.side_of(above, parent);
                parent = above;
                continue;
            }
            if !self.is_red(far) {
                self.rotate(sibling, side.other());
                (sibling, far) = (near, sibling);
            }
            self.set_red(sibling, self.is_red(parent));
            self.set_red(parent, false);
            self.set_red(far, false);
            return self.rotate(parent, side);
        }
    }

    /// A copy of the links; of 0, none.
    fn links(&self, node: u64) -> Links {
        self.nodes.get(&node).copied().unwrap_or_default()
    }

    fn is_red(&self, node: u64) -> bool {
        self.links(node).is_red
    }

    fn set_red(&mut self, node: u64, is_red: bool) {
        if let Some(links) = self.nodes.get_mut(&node) {
            links.is_red = is_red;
        }
    }

    fn leftmost(&self, mut node: u64) -> u64 {
        while let Some(left) = self.child(node, Side::Left) {
            node = left;
        }
        node
    }

    /// Which child of `parent` the node is.
    fn side_of(&self, parent: u64, node: u64) -> Side {
        match self.links(parent).left == node {
            true => Side::Left,
            false => Side::Right,
        }
    }

    fn set_child(&mut self, parent: u64, side: Side, node: u64) {
        if let Some(links) = self.nodes.get_mut(&parent) {
            *links.child(side) = node;
        }
        if let Some(links) = self.nodes.get_mut(&node) {
            links.parent = parent;
        }
    }

    /// Puts `other`, or nothing, in the place of a node.
    fn replace(&mut self, node: u64, other: u64) {
        let parent = self.links(node).parent;
        if parent == 0 {
            self.root = other;
        }
        self.set_child(parent, self.side_of(parent, node), other);
    }

    /// Moves a node down to the side; its child on the other side takes its place.
    fn rotate(&mut self, node: u64, side: Side) {
        let up = *self.links(node).child(side.other());
        let moved = *self.links(up).child(side);
        self.replace(node, up);
        self.set_child(node, side.other(), moved);
        self.set_child(up, side, node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The black nodes on each path; checks the invariants, and the order.
    fn black(tree: &Tree, node: u64, parent: u64, between: (u64, u64)) -> usize {
        let links = tree.links(node);
        if node == 0 {
            return 1;
        }
        assert!(between.0 < node && node < between.1 && links.parent == parent);
        assert!(!links.is_red || !tree.is_red(parent));
        let left = black(tree, links.left, node, (between.0, node));
        assert_eq!(left, black(tree, links.right, node, (node, between.1)));
        left + usize::from(!links.is_red)
    }

    fn insert(tree: &mut Tree, node: u64) {
        let (mut below, mut at) = (None, tree.root());
        while let Some(other) = at {
            let side = if node < other { Side::Left } else { Side::Right };
            (below, at) = (Some((other, side)), tree.child(other, side));
        }
        tree.insert(node, below);
    }
    /// Small numbers first, so that all small trees occur.
    #[test]
    fn insertion_and_removal_keep_the_invariants() {
        let mut random = 1u64;
        for round in 0..2000 {
            let (mut tree, mut nodes) = (Tree::default(), BTreeSet::new());
            for _ in 0..round % 100 {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let node = 1 + (random >> 40) % (1 + round % 60);
                match nodes.insert(node) {
                    true => insert(&mut tree, node),
                    false => {
                        nodes.remove(&node);
                        tree.remove(node);
                    }
                }
                black(&tree, tree.root, 0, (0, u64::MAX));
                assert_eq!((tree.first(), tree.nodes.len()), (nodes.first().copied(), nodes.len()));
                assert!(nodes.iter().all(|node| tree.nodes.contains_key(node)));
            }
        }
    }

    #[test]
    fn where_a_node_is_another_goes_below_it() {
        let mut tree = Tree::default();
        tree.insert(5, None);
        tree.insert(3, Some((5, Side::Left)));
        tree.insert(4, Some((5, Side::Left)));
        tree.insert(6, None);
        assert_eq!(black(&Tree::default(), 0, 0, (0, 1)), 1);
        assert_eq!(tree.nodes.len(), 4);
    }
}
