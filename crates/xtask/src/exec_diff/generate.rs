//! A random program that verifies and computes: numbers from its context pass through every kind of
//! insn back into the context.
//!
//! # Invariants
//! 1. The same seed gives the same program.
//! 2. Registers hold only numbers, except for r6 (the context) and r10; r9 is a loop counter. So
//!    nearly every program verifies.

pub(crate) use super::builder::Kind;
use super::builder::{CTX, FP, Function, Gen, PROGRAMS, SLOTS, WORDS};
use super::{calls, map_ops, probes};
use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::Program;
use skep::uapi::ProgFlags;
use skep_testkit::rng::Rng;
use std::sync::Arc;

/// Registers that hold numbers.
const NUMBERS: [u8; 8] = [0, 1, 2, 3, 4, 5, 7, 8];
const COUNTER: u8 = 9;

/// The programs of that seed: several if they tail call each other. The first one is run. They have
/// about `size` times eight statements.
pub(crate) fn programs(seed: u64, kind: Kind, size: u64) -> Vec<Program> {
    let mut rng = Rng::new(seed);
    let count = if kind == Kind::Tails { 1 + rng.below(3) } else { 1 };
    let seeds: Vec<u64> = (0..count).map(|_| rng.below(u64::MAX)).collect();
    let named = seeds.into_iter().zip(PROGRAMS);
    named.map(|(seed, name)| program(seed, kind, size, name)).collect()
}

fn program(seed: u64, kind: Kind, size: u64, name: &str) -> Program {
    let mut rng = Rng::new(seed);
    let mut functions = Vec::new();
    for _ in 0..rng.below(4) {
        functions.push(match rng.below(4) {
            0 | 1 => Function::Numbers,
            2 => Function::Body,
            _ if kind == Kind::Tails => Function::Tail,
            _ => Function::Numbers,
        });
    }
    let calls = Vec::new();
    let mut made =
        Gen { rng, insns: Vec::new(), calls, functions, loops: 0, main: true, kind, size };
    made.main();
    let mut starts = vec![0];
    made.main = false;
    for (i, function) in made.functions.clone().into_iter().enumerate() {
        starts.push(made.insns.len());
        match function {
            Function::Numbers => made.function(i + 1),
            Function::Body => made.body(),
            Function::Tail => made.tail_function(),
        }
    }
    for (at, function) in std::mem::take(&mut made.calls) {
        made.insns[at].imm = starts[function] as i32 - at as i32 - 1;
    }
    let words = kind == Kind::Words;
    let program = Program {
        name: name.to_owned(),
        section: kind.prog_type().name().to_owned(),
        prog_type: kind.prog_type(),
        prog_flags: if words { ProgFlags::SLEEPABLE } else { ProgFlags::default() },
        maps: if words { Vec::new() } else { map_ops::defs() }.into(),
        license: "GPL".to_owned(),
        autoload: true,
        insns: made.insns,
        kernel_btf: probes::kernel().filter(|_| !words).map(|(btf, _)| Arc::clone(btf)),
        ..Program::default()
    };
    if made.functions.iter().all(|&function| function == Function::Numbers) {
        return program;
    }
    calls::with_btf(program, &starts)
}

/// A number that is likely to be an edge case.
pub(crate) fn number(rng: &mut Rng) -> u64 {
    let edges = [
        0,
        1,
        2,
        7,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x1_0000_0000,
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        u64::MAX,
    ];
    let near = rng.below(3).wrapping_sub(1);
    match rng.below(4) {
        0 => rng.pick(&edges).wrapping_add(near),
        1 => rng.below(64),
        2 => rng.pick(&edges) ^ rng.below(1 << 20),
        _ => rng.below(u64::from(u32::MAX)) << 32 ^ rng.below(u64::from(u32::MAX)),
    }
}

impl Gen {
    pub(super) fn push(&mut self, code: u8, (dst, src): (u8, u8), (off, imm): (i16, i32)) {
        self.insns.push(Insn { code, dst, src, off, imm });
    }

    pub(super) fn push_insn(&mut self, insn: Insn) {
        self.insns.push(insn);
    }

    pub(super) fn reg(&mut self) -> u8 {
        self.rng.pick(&NUMBERS)
    }

    pub(super) fn imm(&mut self) -> i32 {
        number(&mut self.rng) as i32
    }

    fn main(&mut self) {
        if self.kind != Kind::Words {
            self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, 1), (calls::CTX_SLOT, 0));
            self.packet();
        } else {
            self.push(BPF_ALU64 | BPF_MOV | BPF_X, (CTX, 1), (0, 0));
        }
        for (word, reg) in (0i16..).zip(NUMBERS) {
            self.push(BPF_LDX | BPF_MEM | BPF_DW, (reg, CTX), (word * 8, 0));
        }
        self.fill_slots();
        self.deep_stack();
        let statements = 8 + self.rng.below(8 * self.size);
        (0..statements).for_each(|_| self.statement(2));
        // A function that is never called is refused.
        (1..=self.functions.len()).for_each(|function| self.call(function));
        for (word, reg) in (0i16..).zip(NUMBERS) {
            self.push(BPF_STX | BPF_MEM | BPF_DW, (CTX, reg), (word * 8, 0));
        }
        self.push(BPF_JMP | BPF_EXIT, (0, 0), (0, 0));
    }

    fn function(&mut self, function: usize) {
        for (from, to) in [(1, 0), (2, 7), (3, 8)] {
            self.push(BPF_ALU64 | BPF_MOV | BPF_X, (to, from), (0, 0));
        }
        self.fill_slots();
        self.deep_stack();
        let statements = 3 + self.rng.below(10);
        for _ in 0..statements {
            // Functions only call later ones.
            if self.rng.chance(5)
                && let Some(callee) = self.function_of(Function::Numbers, function)
            {
                self.call(callee);
            }
            self.statement(1);
        }
        self.push(BPF_JMP | BPF_EXIT, (0, 0), (0, 0));
    }

    pub(super) fn fill_slots(&mut self) {
        for slot in 1..=SLOTS as i16 {
            let reg = self.rng.pick(&[0, 1, 2, 3, 4, 5]);
            self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, reg), (-8 * slot, 0));
        }
    }

    /// One statement; blocks may be nested `depth` deep.
    pub(super) fn statement(&mut self, depth: u32) {
        match self.rng.below(100) {
            0..15 if self.main && self.kind != Kind::Words => self.map_op(),
            15..22 if self.main && self.kind == Kind::Tails => self.tail_call(),
            15..25 if self.main && self.kind == Kind::Skb => self.skb_op(),
            22..26 if self.main && matches!(self.kind, Kind::Maps | Kind::Tails) => self.xdp_op(),
            26..30 if self.kind != Kind::Words => self.probes(),
            0..40 => self.alu(),
            40..55 => self.idiom(),
            55..68 => self.stack(),
            68..76 if self.main => self.context(),
            76..84 => self.atomic(),
            84..93 if depth > 0 => self.branch(depth),
            93..96 if depth > 0 && self.loops == 0 => self.repeat(depth),
            96..99 if self.main && !self.functions.is_empty() => {
                let callee = 1 + self.rng.below(self.functions.len() as u64) as usize;
                self.call(callee);
            }
            _ => self.alu(),
        }
    }

    fn alu(&mut self) {
        let class = self.rng.pick(&[BPF_ALU64, BPF_ALU]);
        let (dst, src) = (self.reg(), self.reg());
        let bits = if class == BPF_ALU64 { 64 } else { 32 };
        let by_reg = self.rng.chance(60);
        let form = if by_reg { BPF_X } else { BPF_K };
        let src = if by_reg { src } else { 0 };
        let mut imm = if by_reg { 0 } else { self.imm() };
        let op = self.rng.pick(&[
            BPF_ADD, BPF_SUB, BPF_MUL, BPF_OR, BPF_AND, BPF_XOR, BPF_DIV, BPF_MOD, BPF_LSH,
            BPF_RSH, BPF_ARSH, BPF_MOV, BPF_NEG, BPF_END,
        ]);
        match op {
            BPF_DIV | BPF_MOD => {
                imm = if !by_reg && imm == 0 { 3 } else { imm };
                let off = self.rng.pick(&[0, 1]);
                self.push(class | op | form, (dst, src), (off, imm));
            }
            BPF_LSH | BPF_RSH | BPF_ARSH => {
                let imm = if by_reg { 0 } else { imm & (bits - 1) };
                self.push(class | op | form, (dst, src), (0, imm));
            }
            BPF_MOV if by_reg => {
                let off = self.rng.pick(&[0, 8, 16, 32]);
                let off = if class == BPF_ALU && off == 32 { 0 } else { off };
                self.push(class | op | form, (dst, src), (off, 0));
            }
            BPF_NEG => self.push(class | op, (dst, 0), (0, 0)),
            BPF_END => {
                let direction = if class == BPF_ALU { self.rng.pick(&[BPF_K, BPF_X]) } else { 0 };
                let imm = self.rng.pick(&[16, 32, 64]);
                self.push(class | op | direction, (dst, 0), (0, imm));
            }
            _ => self.push(class | op | form, (dst, src), (0, imm)),
        }
    }

    /// An aligned position in a stack slot, and its size.
    fn place(&mut self) -> (u8, i16) {
        let (size, bytes) = self.rng.pick(&[(BPF_B, 1), (BPF_H, 2), (BPF_W, 4), (BPF_DW, 8)]);
        let slot = 1 + self.rng.below(SLOTS) as i16;
        let inside = self.rng.below(8 / bytes) as i16 * bytes as i16;
        (size, -8 * slot + inside)
    }

    fn stack(&mut self) {
        let (size, off) = self.place();
        let reg = self.reg();
        match self.rng.below(8) {
            0..3 => self.push(BPF_LDX | BPF_MEM | size, (reg, FP), (off, 0)),
            3 if size != BPF_DW => self.push(BPF_LDX | BPF_MEMSX | size, (reg, FP), (off, 0)),
            4 => {
                let imm = self.imm();
                self.push(BPF_ST | BPF_MEM | size, (FP, 0), (off, imm));
            }
            5 => self.push(BPF_STX | BPF_ATOMIC | size, (reg, FP), (off, BPF_LOAD_ACQ)),
            6 => self.push(BPF_STX | BPF_ATOMIC | size, (FP, reg), (off, BPF_STORE_REL)),
            _ => self.push(BPF_STX | BPF_MEM | size, (FP, reg), (off, 0)),
        }
        // The address is in `src` for a load, in `dst` for a store.
        if let Some(insn) = self.insns.last_mut()
            && insn.code & (CLASS_MASK | MODE_MASK) == BPF_STX | BPF_ATOMIC
            && insn.imm == BPF_LOAD_ACQ
        {
            (insn.dst, insn.src) = (reg, FP);
        }
    }

    fn context(&mut self) {
        let (size, bytes) = self.rng.pick(&[(BPF_B, 1), (BPF_H, 2), (BPF_W, 4), (BPF_DW, 8)]);
        let off = (self.rng.below(8 * WORDS as u64 / bytes) * bytes) as i16;
        let reg = self.reg();
        match self.rng.below(4) {
            0 => self.push(BPF_STX | BPF_MEM | size, (CTX, reg), (off, 0)),
            1 => {
                let imm = self.imm();
                self.push(BPF_ST | BPF_MEM | size, (CTX, 0), (off, imm));
            }
            2 if size != BPF_DW => self.push(BPF_LDX | BPF_MEMSX | size, (reg, CTX), (off, 0)),
            _ => self.push(BPF_LDX | BPF_MEM | size, (reg, CTX), (off, 0)),
        }
    }

    fn atomic(&mut self) {
        let (size, bytes) = self.rng.pick(&[(BPF_W, 4), (BPF_DW, 8)]);
        let slot = 1 + self.rng.below(SLOTS) as i16;
        let off = -8 * slot + self.rng.below(8 / bytes) as i16 * bytes as i16;
        let ops = [BPF_ADD, BPF_OR, BPF_AND, BPF_XOR];
        let imm = match self.rng.below(4) {
            0 => i32::from(self.rng.pick(&ops)),
            1 => i32::from(self.rng.pick(&ops)) | BPF_FETCH,
            2 => BPF_XCHG,
            _ => BPF_CMPXCHG,
        };
        let reg = self.reg();
        self.push(BPF_STX | BPF_ATOMIC | size, (FP, reg), (off, imm));
        if imm == BPF_CMPXCHG && size == BPF_W {
            // The kernel (6.18, x86) leaves the upper half of r0 unchanged if the comparison
            // succeeds and the verifier pruned the path that reads it.
            self.push(BPF_ALU | BPF_MOV | BPF_X, (0, 0), (0, 0));
        }
    }

    /// A conditional jump over `off` insns.
    pub(super) fn compare(&mut self, dst: u8, src: u8, off: i16) {
        let class = self.rng.pick(&[BPF_JMP, BPF_JMP32]);
        let op = self.rng.pick(&[
            BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSET, BPF_JSGT, BPF_JSGE,
            BPF_JSLT, BPF_JSLE,
        ]);
        if self.rng.chance(50) {
            self.push(class | op | BPF_X, (dst, src), (off, 0));
        } else {
            let imm = self.imm();
            self.push(class | op, (dst, 0), (off, imm));
        }
    }

    /// A condition and a block that it skips.
    fn branch(&mut self, depth: u32) {
        let (dst, src) = (self.reg(), self.reg());
        let at = self.insns.len();
        self.compare(dst, src, 0);
        let statements = 1 + self.rng.below(4);
        (0..statements).for_each(|_| self.statement(depth - 1));
        let otherwise = self.rng.chance(40);
        let goto = self.insns.len();
        if otherwise {
            let code = self.rng.pick(&[BPF_JMP, BPF_JMP32]) | BPF_JA;
            self.push(code, (0, 0), (0, 0));
        }
        self.insns[at].off = (self.insns.len() - at - 1) as i16;
        if otherwise {
            let statements = 1 + self.rng.below(3);
            (0..statements).for_each(|_| self.statement(depth - 1));
            let distance = self.insns.len() - goto - 1;
            match self.insns[goto].class() {
                BPF_JMP => self.insns[goto].off = distance as i16,
                _ => self.insns[goto].imm = distance as i32,
            }
        }
    }

    /// A loop with a few iterations.
    fn repeat(&mut self, depth: u32) {
        let rounds = 1 + self.rng.below(5) as i32;
        self.push(BPF_ALU64 | BPF_MOV, (COUNTER, 0), (0, rounds));
        let start = self.insns.len();
        self.loops += 1;
        let statements = 1 + self.rng.below(4);
        (0..statements).for_each(|_| self.statement(depth - 1));
        self.loops -= 1;
        self.push(BPF_ALU64 | BPF_ADD, (COUNTER, 0), (0, -1));
        let distance = start as i64 - self.insns.len() as i64 - 1;
        self.push(BPF_JMP | BPF_JNE, (COUNTER, 0), (distance as i16, 0));
    }
}
