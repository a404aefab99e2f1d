//! Graphs: blocks with random jumps between them, with everything that lets the walk of a loop
//! converge (`may_goto`, iterators, calls with callbacks), and numbers that must be precise.
//!
//! Why: precision marks may be set after other paths have been pruned because of a state. How they
//! must be propagated depends on the nesting of the loops, of which real programs have few
//! variants.
//!
//! # Invariants
//! 1. Every block is reachable: each leads to the next.
//! 2. r6 to r9 hold numbers, mostly small constants; slots down to [`LAST_SLOT`] are written.

use super::{Body, Maker};
use crate::random::generate::insn;
use skep::insn::Insn;
use skep::insn::code::*;

const CONSTANTS: [i32; 9] = [0, 0, 1, 1, 2, 5, 9, 16, 100];
const LAST_SLOT: i16 = -32;
/// Stack offsets of the iterators.
const ITERATORS: [i32; 2] = [-40, -48];

/// A function under construction.
struct Graph {
    iterators: usize,
    blocks: u64,
    /// Start of each block; the last one returns.
    starts: Vec<usize>,
    /// Jumps, and their target blocks.
    jumps: Vec<(usize, u64)>,
}

impl Maker<'_> {
    pub(super) fn graph(&mut self, body: Body) {
        let most = [7, 3, 1][self.depth.min(2) as usize];
        let blocks = 2 + self.rng.below(most);
        let iterators = if self.depth == 0 { self.rng.below(3) as usize } else { 0 };
        let mut graph = Graph { iterators, blocks, starts: Vec::new(), jumps: Vec::new() };
        self.before(&graph);
        for _ in 0..blocks {
            graph.starts.push(self.insns.len());
            self.block(&mut graph);
        }
        graph.starts.push(self.insns.len());
        for at in ITERATORS.into_iter().take(iterators) {
            self.stack(1, at);
            self.kfunc("bpf_iter_num_destroy");
        }
        let value = if body == Body::Function { self.rng.below(4) } else { self.rng.below(2) };
        self.exit(value as i32);
        for (at, block) in graph.jumps {
            let off = graph.starts[block as usize] as i64 - at as i64 - 1;
            self.insns[at].off = off as i16;
        }
    }

    fn before(&mut self, graph: &Graph) {
        for off in (LAST_SLOT..0).step_by(8) {
            self.emit(BPF_ST | BPF_MEM | BPF_DW, (10, 0), (off, 0));
        }
        for at in ITERATORS.into_iter().take(graph.iterators) {
            let last = self.rng.pick(&[0, 3, 100, 1_000_000]);
            self.stack(1, at);
            self.set(2, 0);
            self.set(3, last);
            self.kfunc("bpf_iter_num_new");
        }
        for dst in 6..10 {
            match self.rng.chance(20) {
                true => {
                    self.helper(7);
                    self.mov(dst, 0);
                }
                false => self.constant(dst),
            }
        }
    }

    fn constant(&mut self, dst: u8) {
        let value = self.rng.pick(&CONSTANTS);
        self.set(dst, value);
    }

    fn register(&mut self) -> u8 {
        6 + self.rng.below(4) as u8
    }

    /// A conditional jump to any block.
    fn jump_anywhere(&mut self, graph: &mut Graph, condition: Insn) {
        let block = self.rng.below(graph.blocks + 1);
        graph.jumps.push((self.insns.len(), block));
        self.insns.push(condition);
    }

    fn block(&mut self, graph: &mut Graph) {
        match self.rng.below(6) {
            0 | 1 => self.jump_anywhere(graph, insn(BPF_JMP | BPF_JCOND, 0, 0, 0, 0)),
            2 if graph.iterators > 0 => {
                let at = ITERATORS[self.rng.below(graph.iterators as u64) as usize];
                self.stack(1, at);
                self.kfunc("bpf_iter_num_next");
                self.jump_anywhere(graph, insn(BPF_JMP | BPF_JEQ, 0, 0, 0, 0));
            }
            2 | 3 => self.rounds(),
            _ => {}
        }
        for _ in 0..self.rng.below(4) {
            self.step(graph);
        }
        self.fork(graph);
        if self.rng.chance(30) {
            // Jumps to the next block or to any: both are reachable.
            let condition = self.question();
            graph.jumps.push((self.insns.len(), graph.starts.len() as u64));
            self.insns.push(condition);
            self.jump_anywhere(graph, insn(BPF_JMP | BPF_JA, 0, 0, 0, 0));
        }
    }

    fn fork(&mut self, graph: &mut Graph) {
        let condition = self.question();
        self.jump_anywhere(graph, condition);
    }

    /// A condition on something new, or on a register.
    fn question(&mut self) -> Insn {
        let op = self.rng.pick(&[BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JSLT]);
        let value = self.rng.pick(&CONSTANTS);
        let class = self.rng.pick(&[BPF_JMP, BPF_JMP, BPF_JMP32]);
        match self.rng.chance(50) {
            true => {
                self.helper(7);
                insn(class | op, 0, 0, 0, value)
            }
            false => insn(class | op, self.register(), 0, 0, value),
        }
    }

    /// `bpf_loop` with a callback that changes its context.
    fn rounds(&mut self) {
        if self.depth > 1 {
            return;
        }
        match self.rng.chance(70) {
            true => {
                let rounds = self.rng.pick(&[0, 1, 1, 3, 100]);
                self.set(1, rounds);
            }
            false => {
                let src = self.register();
                self.mov(1, src);
            }
        }
        self.calls.push((self.insns.len(), Body::Loop));
        self.insns.extend(Insn::ld_imm64(2, BPF_PSEUDO_FUNC, 0));
        match self.rng.chance(50) {
            true => {
                let off = self.written_slot();
                self.stack(3, off.into());
            }
            false => self.set(3, 0),
        }
        self.set(4, 0);
        self.helper(181);
    }

    fn written_slot(&mut self) -> i16 {
        -8 * (1 + self.rng.below(u64::from(LAST_SLOT.unsigned_abs()) / 8) as i16)
    }

    fn step(&mut self, graph: &mut Graph) {
        let reg = self.register();
        match self.rng.below(20) {
            0..6 => self.constant(reg),
            6 | 7 => {
                self.helper(7);
                self.mov(reg, 0);
                if self.rng.chance(60) {
                    self.emit(BPF_ALU64 | BPF_AND, (reg, 0), (0, 7));
                }
            }
            8 | 9 => {
                let off = self.written_slot();
                let size = self.rng.pick(&[BPF_DW, BPF_DW, BPF_DW, BPF_W]);
                self.emit(BPF_STX | BPF_MEM | size, (10, reg), (off, 0));
            }
            10 | 11 => {
                let off = self.written_slot();
                self.emit(BPF_LDX | BPF_MEM | BPF_DW, (reg, 10), (off, 0));
            }
            12 | 13 => {
                let src = self.register();
                self.mov(reg, src);
                if self.rng.chance(40) {
                    self.add(reg, 1);
                }
            }
            14..17 => self.needed(graph, reg),
            17 if self.depth < 2 => self.function(),
            18 => {
                let condition = self.question();
                self.unless(condition, |it| it.constant(reg));
            }
            _ => self.rounds(),
        }
    }

    /// A stack access at an offset in a register, which makes it precise.
    fn needed(&mut self, graph: &mut Graph, reg: u8) {
        if self.rng.chance(70) {
            graph.jumps.push((self.insns.len(), graph.blocks));
            self.insns.push(insn(BPF_JMP | BPF_JGT, reg, 0, 0, 7));
        }
        let off = self.written_slot();
        self.stack(1, off.into());
        self.emit(BPF_ALU64 | BPF_ADD | BPF_X, (1, reg), (0, 0));
        match self.rng.chance(50) {
            true => self.emit(BPF_ST | BPF_MEM | BPF_B, (1, 0), (0, 7)),
            false => self.emit(BPF_LDX | BPF_MEM | BPF_B, (0, 1), (0, 0)),
        }
    }
}
