//! SMT-LIB terms: bit vectors and booleans, hash-consed and simplified.

use std::collections::HashMap;
use std::fmt::Write;

/// A node of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Term(u32);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Node {
    Int(u64),
    Bool(bool),
    Var(u32),
    App(String, Vec<Term>),
}

/// All terms of a goal. Booleans have width 0.
#[derive(Default)]
pub(super) struct Terms {
    nodes: Vec<(Node, u32)>,
    ids: HashMap<(Node, u32), Term>,
    vars: u32,
    resized: HashMap<(Term, u32, bool), Term>,
    lifted: HashMap<(Term, Term, &'static str), Term>,
}

/// The low `width` bits, all ones.
pub(super) fn ones(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

fn signed(value: u64, width: u32) -> i64 {
    ((value << (64 - width)) as i64) >> (64 - width)
}

impl Terms {
    fn node(&mut self, node: Node, width: u32) -> Term {
        let (nodes, key) = (&mut self.nodes, (node, width));
        *self.ids.entry(key).or_insert_with_key(|key| {
            nodes.push(key.clone());
            Term(nodes.len() as u32 - 1)
        })
    }

    pub(super) fn int(&mut self, value: u64, width: u32) -> Term {
        self.node(Node::Int(value & ones(width)), width)
    }

    pub(super) fn bool(&mut self, value: bool) -> Term {
        self.node(Node::Bool(value), 0)
    }

    /// A new variable.
    pub(super) fn var(&mut self, width: u32) -> Term {
        self.vars += 1;
        self.node(Node::Var(self.vars), width)
    }

    pub(super) fn width(&self, term: Term) -> u32 {
        self.nodes[term.0 as usize].1
    }

    pub(super) fn known_int(&self, term: Term) -> Option<u64> {
        match self.nodes[term.0 as usize].0 {
            Node::Int(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn known_bool(&self, term: Term) -> Option<bool> {
        match self.nodes[term.0 as usize].0 {
            Node::Bool(value) => Some(value),
            _ => None,
        }
    }

    fn app(&mut self, op: &str, args: &[Term], width: u32) -> Term {
        self.node(Node::App(op.to_owned(), args.to_vec()), width)
    }

    pub(super) fn not(&mut self, a: Term) -> Term {
        if let Some(known) = self.known_bool(a) {
            return self.bool(!known);
        }
        match &self.nodes[a.0 as usize].0 {
            Node::App(op, args) if op == "not" => args[0],
            _ => self.app("not", &[a], 0),
        }
    }

    pub(super) fn and(&mut self, a: Term, b: Term) -> Term {
        match (self.known_bool(a), self.known_bool(b)) {
            (Some(false), _) | (_, Some(true)) => a,
            (_, Some(false)) | (Some(true), _) => b,
            _ if a == b => a,
            _ => self.app("and", &[a, b], 0),
        }
    }

    pub(super) fn or(&mut self, a: Term, b: Term) -> Term {
        let (a, b) = (self.not(a), self.not(b));
        let neither = self.and(a, b);
        self.not(neither)
    }

    pub(super) fn implies(&mut self, a: Term, b: Term) -> Term {
        let a = self.not(a);
        self.or(a, b)
    }

    pub(super) fn all(&mut self, terms: &[Term]) -> Term {
        let start = self.bool(true);
        terms.iter().fold(start, |all, term| self.and(all, *term))
    }

    pub(super) fn ite(&mut self, c: Term, a: Term, b: Term) -> Term {
        match self.known_bool(c) {
            Some(true) => a,
            Some(false) => b,
            None if a == b => a,
            None => {
                let width = self.width(a);
                self.app("ite", &[c, a, b], width)
            }
        }
    }

    pub(super) fn eq(&mut self, a: Term, b: Term) -> Term {
        match (self.known_int(a), self.known_int(b)) {
            _ if a == b => self.bool(true),
            (Some(x), Some(y)) => self.bool(x == y),
            _ => self.app("=", &[a, b], 0),
        }
    }

    /// `bvult`, `bvule`, `bvslt`, `bvsle`.
    pub(super) fn compare(&mut self, op: &str, a: Term, b: Term) -> Term {
        let width = self.width(a);
        if let (Some(x), Some(y)) = (self.known_int(a), self.known_int(b)) {
            let (sx, sy) = (signed(x, width), signed(y, width));
            return self.bool(match op {
                "bvult" => x < y,
                "bvule" => x <= y,
                "bvslt" => sx < sy,
                _ => sx <= sy,
            });
        }
        self.app(op, &[a, b], 0)
    }

    /// `bvadd`, `bvand`, `bvshl`, ...
    pub(super) fn binary(&mut self, op: &str, a: Term, b: Term) -> Term {
        let width = self.width(a);
        if let (Some(x), Some(y)) = (self.known_int(a), self.known_int(b)) {
            let shift = y.min(63) as u32;
            return self.int(
                match op {
                    "bvadd" => x.wrapping_add(y),
                    "bvsub" => x.wrapping_sub(y),
                    "bvmul" => x.wrapping_mul(y),
                    "bvand" => x & y,
                    "bvor" => x | y,
                    "bvxor" => x ^ y,
                    "bvshl" => x << shift,
                    "bvlshr" => x >> shift,
                    _ => (signed(x, width) >> shift) as u64,
                },
                width,
            );
        }
        match (op, self.known_int(b)) {
            ("bvadd" | "bvsub" | "bvor" | "bvxor" | "bvshl" | "bvlshr" | "bvashr", Some(0)) => a,
            ("bvand", Some(mask)) if mask == ones(width) => a,
            _ => self.app(op, &[a, b], width),
        }
    }

    pub(super) fn invert(&mut self, a: Term) -> Term {
        let width = self.width(a);
        let all = self.int(u64::MAX, width);
        self.binary("bvxor", a, all)
    }

    /// Changes the width: truncates, sign-extends or zero-extends.
    pub(super) fn resize(&mut self, a: Term, width: u32, sign: bool) -> Term {
        let from = self.width(a);
        if let Some(value) = self.known_int(a) {
            return self.int(if sign { signed(value, from) as u64 } else { value }, width);
        }
        if width == from {
            return a;
        }
        if let Some(known) = self.resized.get(&(a, width, sign)) {
            return *known;
        }
        let out = match self.nodes[a.0 as usize].0.clone() {
            Node::App(op, args) if op == "ite" => {
                let (yes, no) =
                    (self.resize(args[1], width, sign), self.resize(args[2], width, sign));
                self.ite(args[0], yes, no)
            }
            Node::App(op, args) if op.contains("extend") && self.width(args[0]) == width => args[0],
            Node::App(op, args) if op == "concat" && self.width(args[1]) == width => args[1],
            _ => self.resize_leaf(a, width, sign),
        };
        self.resized.insert((a, width, sign), out);
        out
    }

    /// Concatenation.
    pub(super) fn concat(&mut self, upper: Term, low: Term) -> Term {
        let width = self.width(upper) + self.width(low);
        self.app("concat", &[upper, low], width)
    }

    fn resize_leaf(&mut self, a: Term, width: u32, sign: bool) -> Term {
        let from = self.width(a);
        let op = match width.cmp(&from) {
            std::cmp::Ordering::Less => format!("(_ extract {} 0)", width - 1),
            _ if sign => format!("(_ sign_extend {})", width - from),
            _ => format!("(_ zero_extend {})", width - from),
        };
        self.app(&op, &[a], width)
    }

    /// Applies `leaf` to two numbers, separately for each branch of a condition: membership of each
    /// of the two values is then literally an assumption, and needs no search.
    pub(super) fn lift(
        &mut self,
        name: &'static str,
        a: Term,
        b: Term,
        leaf: &dyn Fn(&mut Terms, Term, Term) -> Term,
    ) -> Term {
        if let Some(known) = self.lifted.get(&(a, b, name)) {
            return *known;
        }
        let condition = self.condition(a).or(self.condition(b));
        let out = match condition {
            None => leaf(self, a, b),
            Some(c) => {
                let [a_yes, b_yes] = [a, b].map(|it| self.way(c, it, 1));
                let [a_no, b_no] = [a, b].map(|it| self.way(c, it, 2));
                let yes = self.lift(name, a_yes, b_yes, leaf);
                let no = self.lift(name, a_no, b_no, leaf);
                self.ite(c, yes, no)
            }
        };
        self.lifted.insert((a, b, name), out);
        out
    }

    pub(super) fn forget_lifted(&mut self, name: &str) {
        self.lifted.retain(|(_, _, of), _| *of != name);
    }

    /// The condition of a term that is an `ite`.
    pub(super) fn condition(&self, a: Term) -> Option<Term> {
        match &self.nodes[a.0 as usize].0 {
            Node::App(op, args) if op == "ite" => Some(args[0]),
            _ => None,
        }
    }

    /// The value of `a` if `c` holds (1) or does not (2).
    pub(super) fn way(&self, c: Term, a: Term, way: usize) -> Term {
        match &self.nodes[a.0 as usize].0 {
            Node::App(op, args) if op == "ite" && args[0] == c => args[way],
            _ => a,
        }
    }

    /// One bit, as a boolean.
    pub(super) fn bit(&mut self, a: Term, bit: u32) -> Term {
        let width = self.width(a);
        let (mask, zero) = (self.int(1 << bit, width), self.int(0, width));
        let masked = self.binary("bvand", a, mask);
        let clear = self.eq(masked, zero);
        self.not(clear)
    }

    /// A script that asks whether all of `asserted` can hold at once.
    pub(super) fn script(&self, asserted: &[Term]) -> String {
        let mut needed = vec![false; self.nodes.len()];
        let mut queue = asserted.to_vec();
        while let Some(term) = queue.pop() {
            if std::mem::replace(&mut needed[term.0 as usize], true) {
                continue;
            }
            if let Node::App(_, args) = &self.nodes[term.0 as usize].0 {
                queue.extend(args);
            }
        }
        let mut out = String::new();
        for (i, (node, width)) in self.nodes.iter().enumerate().filter(|(i, _)| needed[*i]) {
            let sort = match width {
                0 => "Bool".to_owned(),
                width => format!("(_ BitVec {width})"),
            };
            // Writing to a string does not fail.
            let _ = match node {
                Node::Var(_) => writeln!(out, "(declare-const t{i} {sort})"),
                Node::Int(value) => {
                    writeln!(out, "(define-fun t{i} () {sort} (_ bv{value} {width}))")
                }
                Node::Bool(value) => writeln!(out, "(define-fun t{i} () {sort} {value})"),
                Node::App(op, args) => {
                    let args: Vec<String> = args.iter().map(|a| format!("t{}", a.0)).collect();
                    writeln!(out, "(define-fun t{i} () {sort} ({op} {}))", args.join(" "))
                }
            };
        }
        for term in asserted {
            let _ = writeln!(out, "(assert t{})", term.0);
        }
        out
    }
}
