//! Random programs on machine code and on the interpreter: the same r0 and the same memory, with
//! every pass, with none, and on processors without extensions. `SKEP_RANDOM_PROGRAMS` says how
//! many.

#[path = "../../testkit/src/rng.rs"]
#[allow(dead_code, unreachable_pub, reason = "not all of it is used here")]
mod rng;

use rng::Rng;
use skep_insn::Insn;
use skep_insn::code::*;
use skep_interp::{FlatMemory, Hits, Limits, Linked};
use skep_jit::coverage::{Counts, Coverage, Plan};
use skep_jit::{CpuFeatures, Linkage, Passes, Prologue, RunEnv, Tuning};
use skep_text::compile;
use skep_verifier::Xlated;
use std::iter::zip;
use std::sync::Arc;

const CTX_BYTES: usize = 64;
/// Holds the context all the time.
const CTX_REG: u8 = 6;
/// Counts the loop.
const LOOP_REG: u8 = 9;

struct Random(Rng);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.0.pick(from)
    }
    /// A register that holds a number.
    fn reg(&mut self) -> u8 {
        self.pick(&[0, 1, 2, 3, 4, 5, 7, 8])
    }
    fn imm(&mut self) -> i32 {
        let any = self.0.word() as i32;
        self.pick(&[0, 1, -1, 2, 7, 8, 16, 24, 31, 63, 255, 127, -128, i32::MAX, i32::MIN, any])
    }
    fn class(&mut self) -> u8 {
        self.pick(&[BPF_ALU, BPF_ALU64])
    }
}

fn alu(code: u8, dst: u8, src: u8, imm: i32) -> Insn {
    Insn { code, dst, src, off: 0, imm }
}

struct Program {
    random: Random,
    insns: Vec<Insn>,
    /// Accesses to the stack are of whole slots, or have an index.
    arrays: bool,
}

impl Program {
    fn push(&mut self, insn: Insn) {
        self.insns.push(insn);
    }

    fn start(&mut self) {
        self.push(alu(BPF_ALU64 | BPF_MOV | BPF_X, CTX_REG, 1, 0));
        for reg in [0, 1, 2, 3, 4, 5, 7, 8] {
            let value = self.random.0.word() >> self.random.pick(&[0, 0, 8, 32, 33, 56]);
            self.insns.extend(Insn::ld_imm64(reg, 0, value));
        }
        for slot in 1..=8 {
            let src = self.random.reg();
            self.push(Insn {
                code: BPF_STX | BPF_MEM | BPF_DW,
                dst: 10,
                src,
                off: -8 * slot,
                imm: 0,
            });
        }
    }

    /// r0 from all registers and the stack.
    fn finish(&mut self) {
        for slot in 1..=8 {
            let load = BPF_LDX | BPF_MEM | BPF_DW;
            self.push(Insn { code: load, dst: 9, src: 10, off: -8 * slot, imm: 0 });
            self.push(alu(BPF_ALU64 | BPF_MUL, 0, 0, 31));
            self.push(alu(BPF_ALU64 | BPF_ADD | BPF_X, 0, 9, 0));
        }
        for reg in [1, 2, 3, 4, 5, 7, 8] {
            self.push(alu(BPF_ALU64 | BPF_MUL, 0, 0, 37));
            self.push(alu(BPF_ALU64 | BPF_XOR | BPF_X, 0, reg, 0));
        }
        self.push(alu(BPF_JMP | BPF_EXIT, 0, 0, 0));
    }

    fn arithmetic(&mut self) {
        let r = &mut self.random;
        let ops = [
            BPF_ADD, BPF_SUB, BPF_MUL, BPF_OR, BPF_AND, BPF_XOR, BPF_MOV, BPF_LSH, BPF_RSH,
            BPF_ARSH, BPF_DIV, BPF_MOD, BPF_MOV, BPF_ADD,
        ];
        let (class, op, dst, src) = (r.class(), r.pick(&ops), r.reg(), r.reg());
        let by_reg = r.below(2) == 0;
        let imm = if matches!(op, BPF_LSH | BPF_RSH | BPF_ARSH) {
            r.below(if class == BPF_ALU64 { 64 } else { 32 }) as i32
        } else {
            r.imm()
        };
        let off = i16::from(matches!(op, BPF_DIV | BPF_MOD) && r.below(2) == 0);
        let insn = match by_reg {
            true => Insn { code: class | op | BPF_X, dst, src, off, imm: 0 },
            false => Insn { code: class | op, dst, src: 0, off, imm },
        };
        self.push(insn);
    }

    fn odd(&mut self) {
        let r = &mut self.random;
        let (class, dst, src) = (r.class(), r.reg(), r.reg());
        let bits = r.pick(&[16, 32, 64]);
        let insn = match r.below(5) {
            0 => alu(class | BPF_NEG, dst, 0, 0),
            1 => alu(
                class | BPF_END | if class == BPF_ALU { r.pick(&[0, 8]) } else { 0 },
                dst,
                0,
                bits,
            ),
            2 => {
                let off = r.pick(&[8, 16, if class == BPF_ALU64 { 32 } else { 16 }]);
                Insn { code: class | BPF_MOV | BPF_X, dst, src, off, imm: 0 }
            }
            _ => alu(class | BPF_MOV | BPF_X, dst, src, 0),
        };
        self.push(insn);
    }

    /// `dst = src << n | src >> (width - n)`, in one of the shapes that compilers write.
    fn rotate(&mut self) {
        let r = &mut self.random;
        let (class, a, b) = (r.class(), r.reg(), r.reg());
        let width = if class == BPF_ALU64 { 64 } else { 32 };
        let n = 1 + r.below(width - 1) as i32;
        let (first, second) = r.pick(&[(BPF_LSH, BPF_RSH), (BPF_RSH, BPF_LSH)]);
        let join = r.pick(&[BPF_OR, BPF_OR, BPF_ADD, BPF_XOR]);
        let c = r.reg();
        self.push(alu(class | BPF_MOV | BPF_X, a, b, 0));
        if c != b && c != a && self.random.below(2) == 0 {
            self.push(alu(class | BPF_MOV | BPF_X, c, b, 0));
            self.push(alu(class | first, a, 0, n));
            self.push(alu(class | second, c, 0, width as i32 - n));
            self.push(alu(class | join | BPF_X, a, c, 0));
        } else {
            self.push(alu(class | first, a, 0, n));
            self.push(alu(class | second, b, 0, width as i32 - n));
            self.push(alu(class | join | BPF_X, b, a, 0));
        }
    }

    /// A number of bytes put together, little or big endian.
    fn bytes(&mut self) {
        let r = &mut self.random;
        let (class, a, b) = (r.class(), r.pick(&[0, 1, 2, 3]), r.pick(&[4, 5, 7, 8]));
        let count = r.pick(&[2, 4, if class == BPF_ALU64 { 8 } else { 4 }]);
        let base = r.below((CTX_BYTES - 8) as u64) as i16;
        let big = r.below(2) == 0;
        let load = BPF_LDX | BPF_MEM | BPF_B;
        for i in 0..count {
            let at = if big { count - 1 - i } else { i };
            let (dst, off) = (if i == 0 { a } else { b }, base + at);
            self.push(Insn { code: load, dst, src: CTX_REG, off, imm: 0 });
            if i > 0 {
                self.push(alu(class | BPF_LSH, b, 0, 8 * i32::from(i)));
                self.push(alu(class | BPF_OR | BPF_X, a, b, 0));
            }
        }
    }

    fn memory(&mut self) {
        let r = &mut self.random;
        let size = r.pick(&[BPF_B, BPF_H, BPF_W, BPF_DW, BPF_DW]);
        let bytes = match size {
            BPF_B => 1,
            BPF_H => 2,
            BPF_W => 4,
            _ => 8,
        };
        let reg = r.reg();
        let on_stack = r.below(2) == 0;
        let (base, off) = if on_stack {
            (10, -64 + bytes * r.below(64 / bytes as u64) as i16)
        } else {
            (CTX_REG, r.below((CTX_BYTES as u64) - bytes as u64) as i16)
        };
        let mode = if bytes < 8 { r.pick(&[BPF_MEM, BPF_MEM, BPF_MEMSX]) } else { BPF_MEM };
        let insn = match r.below(4) {
            0 => Insn { code: BPF_STX | BPF_MEM | size, dst: base, src: reg, off, imm: 0 },
            1 => Insn { code: BPF_ST | BPF_MEM | size, dst: base, src: 0, off, imm: r.imm() },
            _ => Insn { code: BPF_LDX | mode | size, dst: reg, src: base, off, imm: 0 },
        };
        self.push(insn);
    }

    /// `dst = ctx[index & mask]`, and arithmetic with it.
    fn indexed(&mut self) {
        let r = &mut self.random;
        let (a, b, shift) = (r.pick(&[0, 1, 2, 3]), r.pick(&[4, 5, 7, 8]), r.below(4));
        let size = [BPF_B, BPF_H, BPF_W, BPF_DW][shift as usize];
        let op = r.pick(&[BPF_ADD, BPF_SUB, BPF_AND, BPF_XOR, BPF_MUL]);
        let (class, off) = (r.class(), r.below(8) as i16);
        let store = r.below(3) == 0;
        self.push(alu(BPF_ALU64 | BPF_AND, a, 0, 48 >> shift));
        if shift > 0 {
            self.push(alu(BPF_ALU64 | BPF_LSH, a, 0, shift as i32));
        }
        self.push(alu(BPF_ALU64 | BPF_ADD | BPF_X, a, CTX_REG, 0));
        if store {
            self.push(Insn { code: BPF_STX | BPF_MEM | size, dst: a, src: b, off, imm: 0 });
        }
        self.push(Insn { code: BPF_LDX | BPF_MEM | size, dst: a, src: a, off, imm: 0 });
        self.push(alu(class | op | BPF_X, b, a, 0));
    }

    /// A whole slot of the stack.
    fn slot(&mut self) {
        let (reg, slot) = (self.random.reg(), 1 + self.random.below(8) as i16);
        let store =
            Insn { code: BPF_STX | BPF_MEM | BPF_DW, dst: 10, src: reg, off: -8 * slot, imm: 0 };
        let load =
            Insn { code: BPF_LDX | BPF_MEM | BPF_DW, dst: reg, src: 10, off: -8 * slot, imm: 0 };
        let insn = self.random.pick(&[store, load]);
        self.push(insn);
    }

    /// Some slots by an index that a mask, a division, a comparison or a counter bounds.
    fn array(&mut self) {
        let r = &mut self.random;
        let (at, place, t) = (r.pick(&[0, 1]), r.pick(&[2, 3]), r.pick(&[4, 5]));
        let words = r.pick(&[1, 2, 3, 4]);
        let base = -64 + 8 * r.below(9 - words as u64) as i16;
        let (how, class) = (r.below(4), r.class());
        let mask = if words == 3 { 2 } else { words - 1 };
        let (mut head, mut skip) = (None, None);
        match how {
            0 => self.push(alu(class | BPF_AND, at, 0, mask)),
            1 => self.push(alu(class | BPF_MOD, at, 0, words)),
            2 => {
                let class = r.pick(&[BPF_JMP, BPF_JMP32]);
                let (cond, imm) = r.pick(&[(BPF_JGT, words - 1), (BPF_JGE, words)]);
                skip = Some(self.insns.len());
                self.push(Insn { code: class | cond, dst: at, src: 0, off: 0, imm });
                if class == BPF_JMP32 {
                    self.push(alu(BPF_ALU | BPF_MOV | BPF_X, at, at, 0));
                }
            }
            _ => {
                self.push(alu(class | BPF_MOV, at, 0, 0));
                head = Some(self.insns.len());
            }
        }
        self.push(alu(BPF_ALU64 | BPF_MOV | BPF_X, t, at, 0));
        self.push(alu(class | BPF_LSH, t, 0, 3));
        self.push(alu(BPF_ALU64 | BPF_MOV | BPF_X, place, 10, 0));
        let early = self.random.below(2) == 0;
        if early {
            self.push(alu(BPF_ALU64 | BPF_ADD, place, 0, i32::from(base)));
        }
        self.push(alu(BPF_ALU64 | BPF_ADD | BPF_X, place, t, 0));
        let (size, bytes) =
            self.random.pick(&[(BPF_B, 1), (BPF_H, 2), (BPF_W, 4), (BPF_DW, 8), (BPF_DW, 8)]);
        let off = bytes * self.random.below(8 / bytes as u64) as i16 + if early { 0 } else { base };
        for _ in 0..self.random.below(3) {
            let (src, code) = (self.random.pick(&[7, 8]), BPF_MEM | size);
            let insn = match self.random.below(2) {
                0 => Insn { code: BPF_STX | code, dst: place, src, off, imm: 0 },
                _ => Insn { code: BPF_LDX | code, dst: src, src: place, off, imm: 0 },
            };
            self.push(insn);
        }
        for reg in [place, t] {
            self.push(alu(BPF_ALU64 | BPF_MOV, reg, 0, 1));
        }
        // In the loop, nothing writes the counter.
        if self.random.below(2) == 0 && head.is_none() {
            self.slot();
        }
        if let Some(head) = head {
            self.push(alu(class | BPF_ADD, at, 0, 1));
            let code = BPF_JMP | self.random.pick(&[BPF_JNE, BPF_JLT, BPF_JSLT]);
            let off = (head as i64 - self.insns.len() as i64 - 1) as i16;
            self.push(Insn { code, dst: at, src: 0, off, imm: words });
        }
        if let Some(skip) = skip {
            self.insns[skip].off = (self.insns.len() - skip - 1) as i16;
        }
    }

    /// `if` around a move or two: maybe a conditional move.
    fn select(&mut self) {
        let r = &mut self.random;
        let conds = [
            BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSGT, BPF_JSGE, BPF_JSLT,
            BPF_JSLE, BPF_JSET,
        ];
        let class = r.pick(&[BPF_JMP, BPF_JMP32]);
        let (cond, a, b) = (r.pick(&conds), r.reg(), r.reg());
        let by = r.pick(&[BPF_X, BPF_K]);
        let imm = if by == BPF_K { r.imm() } else { 0 };
        let src = if by == BPF_X { b } else { 0 };
        let at = self.insns.len();
        self.push(Insn { code: class | cond | by, dst: a, src, off: 0, imm });
        let count = 1 + self.random.below(3);
        for _ in 0..count {
            match self.random.below(3) {
                0 => self.odd(),
                1 => self.arithmetic(),
                _ => {
                    let (dst, src, class) =
                        (self.random.reg(), self.random.reg(), self.random.class());
                    self.push(alu(class | BPF_MOV | BPF_X, dst, src, 0));
                }
            }
        }
        self.insns[at].off = (self.insns.len() - at - 1) as i16;
    }

    /// Zeros next to one another, or almost.
    fn cleared(&mut self) {
        let r = &mut self.random;
        let on_stack = r.below(2) == 0;
        let (base, low) = if on_stack { (10, -64) } else { (CTX_REG, 0) };
        for _ in 0..2 + r.below(6) {
            let r = &mut self.random;
            let (size, bytes) = r.pick(&[(BPF_B, 1), (BPF_H, 2), (BPF_W, 4), (BPF_DW, 8)]);
            let off = low + bytes * r.below(24 / bytes as u64) as i16;
            let (reg, store) = (r.reg(), BPF_ST | BPF_MEM | size);
            let insn = match r.below(10) {
                0 => Insn { code: BPF_LDX | BPF_MEM | size, dst: reg, src: base, off, imm: 0 },
                1 => Insn { code: store, dst: base, src: 0, off, imm: 1 },
                _ => Insn { code: store, dst: base, src: 0, off, imm: 0 },
            };
            self.push(insn);
        }
    }

    /// A comparison whose result is a number, or almost.
    fn flag(&mut self) {
        let (reg, class) = (self.random.reg(), self.random.class());
        let (first, second) = self.random.pick(&[(0, 1), (1, 0), (1, 0), (1, 1)]);
        self.push(alu(class | BPF_MOV, reg, 0, first));
        let at = self.insns.len();
        self.select();
        self.insns.truncate(at + 1);
        self.insns[at].off = 1;
        self.push(alu(class | BPF_MOV, reg, 0, second));
    }

    fn atomic(&mut self) {
        let r = &mut self.random;
        let size = r.pick(&[BPF_W, BPF_DW]);
        let ops = [BPF_ADD, BPF_OR, BPF_AND, BPF_XOR].map(i32::from);
        let op = r.pick(&ops);
        let imm = r.pick(&[op, op | BPF_FETCH, BPF_XCHG, BPF_CMPXCHG]);
        let (src, off) = (r.reg(), -8 * (1 + r.below(8) as i16));
        self.push(Insn { code: BPF_STX | BPF_ATOMIC | size, dst: 10, src, off, imm });
    }

    /// A loop that counts, reads where it counts to and adds up, maybe left early.
    fn short_loop(&mut self) {
        let r = &mut self.random;
        let mut regs = [0u8, 1, 2, 3, 4, 5, 7, 8];
        for at in (1..regs.len()).rev() {
            regs.swap(at, r.below(at as u64 + 1) as usize);
        }
        let [i, sum, t, copy, other, ..] = regs;
        let (step, rounds) = (r.pick(&[1, 2, 3, 4, -1, -4]), 1 + r.below(10) as i32);
        let start = if step < 0 { -step * rounds } else { r.below(3) as i32 };
        let end = start + step * rounds;
        let count_class = r.pick(&[BPF_ALU64, BPF_ALU64, BPF_ALU64, BPF_ALU]);
        self.push(alu(BPF_ALU64 | BPF_MOV, i, 0, start));
        let head = self.insns.len();
        let mut exits = Vec::new();
        let leave = |program: &mut Program, exits: &mut Vec<usize>, reg: u8| {
            let r = &mut program.random;
            let class = r.pick(&[BPF_JMP, BPF_JMP32]);
            let cond = r.pick(&[BPF_JEQ, BPF_JGT, BPF_JLT, BPF_JSGT, BPF_JSET]);
            let (by, src) = r.pick(&[(BPF_K, 0), (BPF_X, other), (BPF_X, sum)]);
            let small = r.below(64) as i32;
            let imm = if by == BPF_K { r.pick(&[small, small, 0, -1]) } else { 0 };
            exits.push(program.insns.len());
            program.push(Insn { code: class | cond | by, dst: reg, src, off: 0, imm });
        };
        if self.random.below(4) == 0 {
            leave(self, &mut exits, i);
        }
        let copies = self.random.below(3) == 0;
        if copies {
            self.push(alu(BPF_ALU64 | BPF_MOV | BPF_X, copy, i, 0));
        }
        self.push(alu(BPF_ALU64 | BPF_MOV | BPF_X, t, CTX_REG, 0));
        self.push(alu(BPF_ALU64 | BPF_ADD | BPF_X, t, i, 0));
        let (size, off) = (self.random.pick(&[BPF_B, BPF_H, BPF_W, BPF_DW]), self.random.below(8));
        self.push(Insn { code: BPF_LDX | BPF_MEM | size, dst: t, src: t, off: off as i16, imm: 0 });
        if self.random.below(3) == 0 {
            leave(self, &mut exits, t);
        }
        let class = self.random.class();
        let op = self.random.pick(&[BPF_ADD, BPF_ADD, BPF_XOR, BPF_OR, BPF_SUB, BPF_AND]);
        self.push(alu(class | op | BPF_X, sum, t, 0));
        match self.random.below(6) {
            0 => self.push(alu(BPF_ALU64 | BPF_ADD | BPF_X, other, i, 0)),
            1 => self.push(alu(BPF_ALU64 | BPF_ADD, other, 0, 3)),
            2 => self.push(alu(class | BPF_XOR | BPF_X, other, t, 0)),
            _ => {}
        }
        self.push(alu(count_class | BPF_ADD, i, 0, step));
        let class = self.random.pick(&[BPF_JMP, BPF_JMP32]);
        let (reg, end) = if copies && class == BPF_JMP { (copy, end - step) } else { (i, end) };
        let cond = match step < 0 {
            true => self.random.pick(&[BPF_JNE, BPF_JSGT, BPF_JGT]),
            false => self.random.pick(&[BPF_JNE, BPF_JLT, BPF_JSLT]),
        };
        let off = (head as i64 - self.insns.len() as i64 - 1) as i16;
        self.push(Insn { code: class | cond, dst: reg, src: 0, off, imm: end });
        for _ in 0..self.random.below(3) {
            self.arithmetic();
        }
        for at in exits {
            self.insns[at].off = (self.insns.len() - at - 1) as i16;
        }
    }

    fn step(&mut self) {
        if self.arrays {
            match self.random.below(4) {
                0 => return self.array(),
                1 => return self.slot(),
                _ => {}
            }
        }
        match self.random.below(14) {
            12 if !self.arrays => self.cleared(),
            13 => self.flag(),
            7 | 8 if self.arrays => self.arithmetic(),
            0..=3 => self.arithmetic(),
            4 => self.odd(),
            5 => self.rotate(),
            6 => self.bytes(),
            7 | 8 => self.memory(),
            9 => self.indexed(),
            10 => self.select(),
            _ if self.random.below(3) == 0 && !self.arrays => self.atomic(),
            _ => self.arithmetic(),
        }
    }
}

/// A program, and whether it has arrays.
fn random_program(seed: u64) -> (Vec<Insn>, bool) {
    let mut program = Program { random: Random(Rng::new(seed)), insns: Vec::new(), arrays: false };
    program.arrays = program.random.below(2) == 0;
    program.start();
    for _ in 0..program.random.below(20) {
        program.step();
    }
    if program.random.below(2) == 0 {
        let rounds = 1 + program.random.below(4) as i32;
        program.push(alu(BPF_ALU64 | BPF_MOV, LOOP_REG, 0, rounds));
        let head = program.insns.len();
        for _ in 0..1 + program.random.below(10) {
            program.step();
        }
        program.push(alu(BPF_ALU64 | BPF_ADD, LOOP_REG, 0, -1));
        let off = head as i64 - program.insns.len() as i64 - 1;
        program.push(Insn {
            code: BPF_JMP | BPF_JNE,
            dst: LOOP_REG,
            src: 0,
            off: off as i16,
            imm: 0,
        });
    }
    if program.random.below(2) == 0 {
        program.short_loop();
    }
    for _ in 0..program.random.below(10) {
        program.step();
    }
    program.finish();
    (program.insns, program.arrays)
}

fn tunings() -> Vec<Tuning> {
    let plain = CpuFeatures::default();
    let base = Tuning { checked: true, ..Tuning::default() };
    vec![
        base.clone(),
        Tuning { cpu: plain, ..base.clone() },
        Tuning { prologue: Prologue::Full, ..base.clone() },
        Tuning { fuel: true, passes: Passes::NONE, ..base.clone() },
        Tuning { fuel: true, ..base },
    ]
}

#[test]
fn machine_code_does_what_the_interpreter_does() {
    let programs = std::env::var("SKEP_RANDOM_PROGRAMS").ok().and_then(|n| n.parse().ok());
    let seed = std::env::var("SKEP_RANDOM_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let tunings = tunings();
    for number in 0..programs.unwrap_or(3000u64) {
        let seed = (seed + number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let (insns, arrays) = random_program(seed);
        let xlated = Xlated::bare(&insns).expect("closed");
        // The verifier would say so of frames, in which arrays are.
        let xlated = Arc::new(if arrays { xlated.on_own_memory() } else { xlated });
        let start: [u8; CTX_BYTES] = std::array::from_fn(|i| (seed >> (i % 8 * 8)) as u8 ^ i as u8);
        let memory = FlatMemory::new(&start);
        let hits = Arc::new(Hits::of_insns(1, xlated.insns().len()).expect("memory"));
        let linked = Linked {
            xlated: Arc::clone(&xlated),
            maps: Vec::new(),
            kfuncs: Vec::new(),
            func_base: 1 << 40,
            hits: Some(Arc::clone(&hits)),
        };
        let limits = Limits { fuel: 1 << 20 };
        let exit = skep_interp::run(&Arc::new(linked), &memory, FlatMemory::CTX, limits);
        let exit = exit.expect("ends");
        let expected = (exit.r0, memory.ctx());
        let (counted, len) = (hits.sums(), xlated.insns().len());
        assert_eq!(counted[..len].iter().sum::<u64>(), exit.insns);
        for tuning in &tunings {
            let code = compile(&xlated, &Linkage::default(), tuning)
                .unwrap_or_else(|e| panic!("program {number}: {e}\n{}", listing(&insns)));
            let mut ctx = start;
            let mut env = RunEnv { fuel: (1 << 20).into(), ..RunEnv::default() };
            // SAFETY: the interpreter found no access outside the context and the stack.
            let r0 = unsafe { code.entry()(ctx.as_mut_ptr(), &mut env) };
            assert!(
                (r0, ctx.as_slice()) == (expected.0, expected.1.as_slice()),
                "program {number}: r0 {r0:#x}, not {:#x}; {tuning:?}\n{}",
                expected.0,
                listing(&insns)
            );
            if tuning.fuel {
                let used = (1 << 20) - env.fuel.into_inner();
                assert_eq!(used as u64, exit.fuel, "program {number}\n{}", listing(&insns));
            }
            let found = counted_natively(&xlated, tuning, start, &expected);
            let same = found.insns == counted[..len]
                && zip(&found.taken, &counted[len..])
                    .all(|(found, counted)| found.unwrap_or_default() == *counted);
            assert!(same, "program {number}: {found:?}, not {counted:?}\n{}", listing(&insns));
        }
    }
}

/// How often machine code that counts runs each insn; it does what other machine code does.
fn counted_natively(
    xlated: &Xlated,
    tuning: &Tuning,
    mut ctx: [u8; CTX_BYTES],
    expected: &(u64, Vec<u8>),
) -> Counts {
    let plan = Arc::new(Plan::new(xlated, tuning.fuel));
    let hits = Hits::new(1, plan.counters()).expect("memory");
    let coverage = Coverage {
        plan: Arc::clone(&plan),
        address: hits.address(),
        stride_bytes: hits.stride_bytes() as u32,
        cpu_word: skep_mem::thread_word::cpu_offset(),
    };
    let linkage = Linkage { coverage: Some(coverage), ..Linkage::default() };
    let code = compile(xlated, &linkage, tuning).expect("compiles");
    let mut env = RunEnv { fuel: (1 << 20).into(), ..RunEnv::default() };
    // SAFETY: the interpreter found no access outside the context and the stack; the thread has CPU
    // 0, whose counters are there.
    let r0 = unsafe { code.entry()(ctx.as_mut_ptr(), &mut env) };
    assert_eq!((r0, ctx.as_slice()), (expected.0, expected.1.as_slice()));
    plan.counts(&hits.sums())
}

fn listing(insns: &[Insn]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < insns.len() {
        text += &format!("{at}: ");
        let _ = skep_insn::write_insn(&mut text, &insns[at..], &skep_insn::NoNames, true);
        text.push('\n');
        at += if insns[at].is_ld_imm64() { 2 } else { 1 };
    }
    text
}
