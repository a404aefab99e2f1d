//! Programs with constructs that are difficult for verifiers: linked scalars, spills of all widths,
//! loops, iterators, callbacks, nested calls, references, variable offsets, packet ranges, 32-bit
//! bounds.
//!
//! A program is a list of statements that make sense in isolation, on registers with fixed roles;
//! how they affect each other's registers is left to chance, and edits do the rest.
//!
//! # Invariants
//! 1. The same random numbers and kernel give the same program.
//! 2. r6 holds the context, r7 to r9 numbers, at the start of every statement; a statement may
//!    break that.

mod calls;
mod features;
mod graph;
mod memory;
mod scalars;
mod uses;

use crate::random::generate::insn;
use skep::btf::{Btf, Kind};
use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::{MapDef, Program};
use skep::uapi::{MapType, ProgFlags, ProgType};
use skep_testkit::rng::Rng;
use std::sync::Arc;

/// Kfuncs that statements call, by name.
const KFUNCS: [&str; 13] = [
    "bpf_iter_num_new",
    "bpf_iter_num_next",
    "bpf_iter_num_destroy",
    "bpf_rcu_read_lock",
    "bpf_rcu_read_unlock",
    "bpf_preempt_disable",
    "bpf_preempt_enable",
    "bpf_local_irq_save",
    "bpf_local_irq_restore",
    "bpf_dynptr_slice",
    "bpf_dynptr_adjust",
    "bpf_dynptr_size",
    "bpf_dynptr_clone",
];

/// BTF ids of [`KFUNCS`], found once.
#[derive(Clone, Default)]
pub(super) struct Kfuncs([Option<u32>; KFUNCS.len()]);

impl Kfuncs {
    pub(super) fn find(kernel_btf: Option<&Arc<Btf>>) -> Kfuncs {
        let id = |name: &str| kernel_btf.and_then(|btf| btf.find_by_name_kind(name, Kind::Func));
        Kfuncs(KFUNCS.map(|name| id(name).map(|id| id.0)))
    }
}

/// Indices of the maps: a small array, a hash, a larger array, a ring buffer.
const ARRAY: u64 = 0;
const HASH: u64 = 1;
const LARGE: u64 = 2;
const RINGBUF: u64 = 3;
const ARRAY_BYTES: u32 = 64;

/// Functions after the program, by how they are called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// Two arguments of any kind.
    Function,
    /// `bpf_loop`'s.
    Loop,
    /// `bpf_for_each_map_elem`'s.
    Each,
}

struct Maker<'a> {
    rng: &'a mut Rng,
    prog_type: ProgType,
    insns: Vec<Insn>,
    kfuncs: &'a Kfuncs,
    /// Insns that refer to a function, and which.
    calls: Vec<(usize, Body)>,
    /// Nesting depth of functions; 0 in the program.
    depth: u32,
    shape: Shape,
}

/// Contents of functions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Statements, one after the other.
    Statements,
    /// Blocks with jumps between them.
    Graph,
}

const TYPES: [ProgType; 6] = [
    ProgType::SchedCls,
    ProgType::SchedCls,
    ProgType::Xdp,
    ProgType::SocketFilter,
    ProgType::Tracepoint,
    ProgType::Syscall,
];

/// A program that combines pointers with arbitrary uses.
pub(super) fn of_uses(rng: &mut Rng, kernel_btf: Option<&Arc<Btf>>) -> Program {
    uses::program(rng, kernel_btf).unwrap_or_default()
}

/// A program of features put into each other.
pub(super) fn of_features(rng: &mut Rng, kernel_btf: Option<&Arc<Btf>>) -> Program {
    features::program(rng, kernel_btf).unwrap_or_default()
}

/// Generates a program.
pub(super) fn program(
    rng: &mut Rng,
    kfuncs: &Kfuncs,
    kernel_btf: Option<&Arc<Btf>>,
    shape: Shape,
) -> Program {
    let prog_type = rng.pick(&TYPES);
    let frequent = rng.chance(25);
    let mut it =
        Maker { rng, prog_type, insns: Vec::new(), kfuncs, calls: Vec::new(), depth: 0, shape };
    it.body(Body::Function);
    it.functions();
    let mut flags = ProgFlags::empty();
    flags.set(ProgFlags::TEST_STATE_FREQ, frequent);
    flags.set(ProgFlags::SLEEPABLE, prog_type == ProgType::Syscall);
    Program {
        name: "hard".to_owned(),
        prog_type,
        prog_flags: flags,
        license: "GPL".to_owned(),
        autoload: true,
        insns: it.insns,
        maps: maps().into(),
        kernel_btf: kernel_btf.cloned(),
        ..Program::default()
    }
}

fn maps() -> Vec<MapDef> {
    let map = |name: &str, map_type, value_size, max_entries| MapDef {
        name: name.to_owned(),
        map_type,
        key_size: 4,
        value_size,
        max_entries,
        autocreate: true,
        ..MapDef::default()
    };
    vec![
        map("array", MapType::Array, ARRAY_BYTES, 2),
        map("hash", MapType::Hash, 40, 8),
        map("large", MapType::Array, 4096, 1),
        MapDef { key_size: 0, ..map("ring", MapType::Ringbuf, 0, 4096) },
    ]
}

const SIZES: [(u8, i16); 4] = [(BPF_B, 1), (BPF_H, 2), (BPF_W, 4), (BPF_DW, 8)];
const JUMPS: [u8; 11] = [
    BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET, BPF_JNE, BPF_JSGT, BPF_JSGE, BPF_JLT, BPF_JLE, BPF_JSLT,
    BPF_JSLE,
];

impl Maker<'_> {
    fn emit(&mut self, code: u8, (dst, src): (u8, u8), (off, imm): (i16, i32)) {
        self.insns.push(insn(code, dst, src, off, imm));
    }

    fn mov(&mut self, dst: u8, src: u8) {
        self.emit(BPF_ALU64 | BPF_MOV | BPF_X, (dst, src), (0, 0));
    }

    fn set(&mut self, dst: u8, imm: i32) {
        self.emit(BPF_ALU64 | BPF_MOV, (dst, 0), (0, imm));
    }

    fn add(&mut self, dst: u8, imm: i32) {
        self.emit(BPF_ALU64 | BPF_ADD, (dst, 0), (0, imm));
    }

    fn helper(&mut self, number: i32) {
        self.emit(BPF_JMP | BPF_CALL, (0, 0), (0, number));
    }

    /// Calls a kfunc; on a kernel without it, calls a helper that does not exist.
    fn kfunc(&mut self, name: &str) {
        let at = KFUNCS.iter().position(|it| *it == name);
        let id = at.and_then(|at| self.kfuncs.0[at]).unwrap_or(0);
        self.emit(BPF_JMP | BPF_CALL, (0, BPF_PSEUDO_KFUNC_CALL), (0, id as i32));
    }

    fn map(&mut self, dst: u8, map: u64) {
        self.insns.extend(Insn::ld_imm64(dst, BPF_PSEUDO_MAP_FD, map));
    }

    /// Sets `dst` to the address of a stack slot.
    fn stack(&mut self, dst: u8, off: i32) {
        self.mov(dst, 10);
        self.add(dst, off);
    }

    /// A slot's offset.
    fn slot(&mut self) -> i16 {
        -8 * (1 + self.rng.below(6) as i16)
    }

    /// A register that holds a number.
    fn number(&mut self) -> u8 {
        7 + self.rng.below(3) as u8
    }

    fn imm(&mut self) -> i32 {
        let edges = [0, 1, -1, 7, 8, 63, 64, 255, 256, i32::MAX, i32::MIN, 4095, 4096, -8];
        match self.rng.below(4) {
            0 => self.rng.pick(&edges),
            1 => self.rng.below(1 << 32) as u32 as i32,
            _ => self.rng.below(70) as i32,
        }
    }

    /// Emits `block` and a jump over it under the condition, whose insn is given.
    fn unless(&mut self, condition: Insn, block: impl FnOnce(&mut Self)) {
        let at = self.insns.len();
        self.insns.push(condition);
        block(self);
        let len = self.insns.len() - at - 1;
        self.insns[at].off = len as i16;
    }

    fn exit(&mut self, value: i32) {
        self.set(0, value);
        self.emit(BPF_JMP | BPF_EXIT, (0, 0), (0, 0));
    }

    /// Continues only if the register is not NULL.
    fn not_null(&mut self, reg: u8) {
        let condition = insn(BPF_JMP | BPF_JNE, reg, 0, 0, 0);
        self.unless(condition, |it| it.exit(0));
    }

    /// An unknown number.
    fn unknown(&mut self, dst: u8) {
        match self.rng.below(4) {
            0 if self.depth == 0 && self.context_bytes() != 0 => {
                let off = 4 * self.rng.below(self.context_bytes() as u64 / 4) as i16;
                self.emit(BPF_LDX | BPF_MEM | BPF_W, (dst, 6), (off, 0));
            }
            1 => {
                let imm = self.imm();
                self.set(dst, imm);
            }
            _ => {
                let number = self.rng.pick(&[7, 7, 5, 8]);
                self.helper(number);
                self.mov(dst, 0);
            }
        }
    }

    /// Number of bytes of the context that any program may read.
    fn context_bytes(&self) -> i16 {
        match self.prog_type {
            ProgType::SchedCls | ProgType::SocketFilter => 20,
            ProgType::Tracepoint | ProgType::Syscall => 64,
            _ => 0,
        }
    }

    fn body(&mut self, body: Body) {
        if self.shape == Shape::Graph {
            return self.graph(body);
        }
        self.mov(6, 1);
        if self.depth > 0 {
            let (first, second) = self.rng.pick(&[(1, 2), (2, 1), (2, 2)]);
            self.mov(8, first);
            self.mov(9, second);
            self.set(7, 3);
        } else {
            (7..10).for_each(|dst| self.unknown(dst));
        }
        let most = [10, 4, 3][self.depth.min(2) as usize];
        for _ in 0..1 + self.rng.below(most) {
            self.statement();
        }
        let value = if body == Body::Function { self.imm() } else { self.rng.below(2) as i32 };
        match self.depth {
            0 => self.exit(0),
            _ if self.rng.chance(20) => {
                let src = self.number();
                self.mov(0, src);
                self.emit(BPF_JMP | BPF_EXIT, (0, 0), (0, 0));
            }
            _ => self.exit(value),
        }
    }

    /// Generates the functions that are called.
    fn functions(&mut self) {
        let mut next = 0;
        while let Some(&(at, body)) = self.calls.get(next) {
            next += 1;
            // Half of the calls with the same kind share a function.
            let made = self.calls[..next - 1].iter().rev().find(|call| call.1 == body).copied();
            let start = match made {
                Some((other, _)) if self.rng.chance(50) => {
                    (other as i64 + 1 + i64::from(self.insns[other].imm)) as usize
                }
                _ => {
                    let start = self.insns.len();
                    self.depth += 1;
                    self.body(body);
                    start
                }
            };
            self.insns[at].imm = start as i32 - at as i32 - 1;
        }
    }

    fn statement(&mut self) {
        match self.rng.below(100) {
            0..16 => self.linked(),
            16..28 => self.narrow(),
            28..42 => self.spill(),
            42..56 => self.value_access(),
            56..63 => self.packet(),
            63..70 => self.counted_loop(),
            70..75 => self.iterator(),
            75..80 => self.callback(),
            80..86 => self.function(),
            86..90 => self.reserve(),
            90..93 => self.section(),
            93..96 => self.dynptr(),
            96..98 => self.may_goto(),
            _ => {
                let reg = self.number();
                self.unknown(reg);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_program_whose_jumps_stay_inside() {
        for seed in 0..200 {
            let shape = if seed % 2 == 0 { Shape::Graph } else { Shape::Statements };
            let make = || program(&mut Rng::new(seed), &Kfuncs::default(), None, shape);
            let made = make();
            assert_eq!(made.insns, make().insns);
            let len = made.insns.len() as i64;
            for (at, insn) in made.insns.iter().enumerate() {
                let jumps = matches!(insn.class(), BPF_JMP | BPF_JMP32)
                    && !matches!(insn.op(), BPF_CALL | BPF_EXIT);
                let to = at as i64 + 1 + i64::from(insn.off);
                assert!(!jumps || (0..len).contains(&to), "seed {seed}, insn {at}");
            }
        }
    }
}
