//! Derives all counts from the counted edges: a vertex with a single unknown edge determines it.

use super::plan::{Edge, Place, Plan};

/// How often the insns of a program ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By insn of [`skep_verifier::Xlated::insns`]; 0 for the second slot of a 64-bit immediate.
    pub insns: Vec<u64>,
    /// By insn: how often it was taken, if it is a conditional jump whose target is not the next
    /// insn.
    pub taken: Vec<Option<u64>>,
}

impl Plan {
    /// Derives the counts of all insns from counters read while the program was not running.
    pub fn counts(&self, counters: &[u64]) -> Counts {
        let values = self.values(counters);
        let mut counts = Counts {
            insns: vec![0; self.is_second.len()],
            taken: self.is_branch.iter().map(|is_branch| is_branch.then_some(0)).collect(),
        };
        for (edge, value) in self.edges.iter().zip(values) {
            match edge.place {
                Place::Block(first) => {
                    let block = self.blocks.partition_point(|start| *start <= first);
                    for at in first as usize..self.blocks[block] as usize {
                        counts.insns[at] = if self.is_second[at] { 0 } else { value };
                    }
                }
                Place::Taken(at) => {
                    counts.taken[at as usize].iter_mut().for_each(|taken| *taken = value);
                }
                _ => {}
            }
        }
        counts
    }

    /// By edge. Sums wrap, which is exact as long as the results fit.
    fn values(&self, counters: &[u64]) -> Vec<u64> {
        let mut values = vec![0u64; self.edges.len()];
        // By vertex: its unknown edges, and the excess of incoming over outgoing counts.
        let mut unknown: Vec<Vec<u32>> = vec![Vec::new(); self.vertices as usize];
        let mut balance = vec![0u64; self.vertices as usize];
        for (number, edge) in self.edges.iter().enumerate() {
            let Some(counter) = edge.counter else {
                unknown[edge.from as usize].push(number as u32);
                unknown[edge.to as usize].push(number as u32);
                continue;
            };
            values[number] = counters.get(counter as usize).copied().unwrap_or_default();
            flow(&mut balance, edge, values[number]);
        }
        let mut left: Vec<usize> = unknown.iter().map(Vec::len).collect();
        let mut is_known: Vec<bool> = self.edges.iter().map(|e| e.counter.is_some()).collect();
        let mut ready: Vec<u32> = (0..self.vertices).filter(|v| left[*v as usize] == 1).collect();
        while let Some(vertex) = ready.pop() {
            let mut edges = unknown[vertex as usize].iter().copied();
            let Some(number) = edges.find(|number| !is_known[*number as usize]) else { continue };
            let edge = &self.edges[number as usize];
            let balanced = balance[vertex as usize];
            let value = if edge.from == vertex { balanced } else { balanced.wrapping_neg() };
            is_known[number as usize] = true;
            values[number as usize] = value;
            flow(&mut balance, edge, value);
            for end in [edge.from, edge.to] {
                left[end as usize] -= 1;
                if left[end as usize] == 1 {
                    ready.push(end);
                }
            }
        }
        values
    }
}

fn flow(balance: &mut [u64], edge: &Edge, value: u64) {
    let (from, to) = (edge.from as usize, edge.to as usize);
    balance[from] = balance[from].wrapping_sub(value);
    balance[to] = balance[to].wrapping_add(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_insn::asm::assemble;
    use skep_verifier::Xlated;

    /// A loop of five iterations, of which two skip an insn: three of thirteen edges are counted.
    #[test]
    fn all_follows_from_few() {
        let text = "r1 = 5\n\
                    again:\n\
                    if r1 s< 3 goto skip\n\
                    r2 = 0 ll\n\
                    skip:\n\
                    r1 += -1\n\
                    if r1 != 0 goto again\n\
                    exit";
        let insns = assemble(text, &|_| None).expect("a program").insns;
        let plan = Plan::new(&Xlated::bare(&insns).expect("closed"), false);
        assert_eq!(plan.counters(), 3);
        let real = |place| match place {
            Place::Entry(_) | Place::Leave(_) => 2,
            Place::Block(0) | Place::Block(6) | Place::Fall(0) | Place::Fall(5) => 2,
            Place::Block(2) | Place::Fall(1) | Place::Fall(3) => 6,
            Place::Taken(1) => 4,
            Place::Block(_) => 10,
            Place::Taken(_) => 8,
            Place::Fall(_) => unreachable!("{place:?}"),
        };
        let mut counters = vec![0; plan.counters()];
        for edge in &plan.edges {
            if let Some(counter) = edge.counter {
                counters[counter as usize] = real(edge.place);
            }
        }
        let Counts { insns, taken } = plan.counts(&counters);
        assert_eq!(insns, [2, 10, 6, 0, 10, 10, 2]);
        let branch = [(1, 4), (5, 8)];
        assert!(branch.iter().all(|(at, count)| taken[*at] == Some(*count)), "{taken:?}");
        assert_eq!(taken.iter().flatten().count(), 2);
    }
}
