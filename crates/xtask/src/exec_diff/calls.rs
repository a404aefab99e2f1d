//! Calls in a random program: of functions, of callbacks through `bpf_loop`, and tail calls.

use super::builder::{CTX, FP, Function, Gen, Kind, WORDS};
use super::map_ops::PROG_ARRAY;
use skep::btf::{BtfBuilder, FuncLinkage, IntEncoding};
use skep::insn::code::*;
use skep::insn::{Insn, InsnIdx};
use skep::program::{FuncInfo, Program};
use skep::uapi::helper::HelperId;
use std::sync::Arc;

/// Stack slots for the context in the main function, and for the number of a `bpf_loop`.
pub(super) const CTX_SLOT: i16 = -56;
const LOOP_SLOT: i16 = -64;

/// The program with BTF for its functions, which callbacks and tail calls in functions need.
pub(super) fn with_btf(program: Program, starts: &[usize]) -> Program {
    let mut builder = BtfBuilder::new();
    let int = builder.int("int", 4, IntEncoding::SIGNED);
    let proto = builder.func_proto(int, &[]);
    let mut func_info = Vec::new();
    for (i, &start) in starts.iter().enumerate() {
        let type_id = builder.func(&format!("f{i}"), proto, FuncLinkage::Static);
        func_info.push(FuncInfo { insn_off: InsnIdx(start as u32), type_id: type_id.0 });
    }
    match builder.build() {
        Ok(btf) => Program { btf: Some(Arc::new(btf)), func_info, ..program },
        Err(_) => program,
    }
}

impl Gen {
    /// A function of that kind, as an index in the program.
    pub(super) fn function_of(&mut self, kind: Function, from: usize) -> Option<usize> {
        let all: Vec<usize> =
            (from..self.functions.len()).filter(|&i| self.functions[i] == kind).collect();
        if all.is_empty() { None } else { Some(1 + self.rng.pick(&all)) }
    }

    pub(super) fn call(&mut self, function: usize) {
        match self.functions[function - 1] {
            Function::Numbers => {
                self.call_insn(function);
                self.numbers_again();
            }
            Function::Body => self.bpf_loop(function),
            Function::Tail => {
                self.push(BPF_LDX | BPF_MEM | BPF_DW, (1, FP), (CTX_SLOT, 0));
                self.call_insn(function);
                self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, 0), (LOOP_SLOT, 0));
                self.packet_again();
                self.push(BPF_LDX | BPF_MEM | BPF_DW, (0, FP), (LOOP_SLOT, 0));
                self.numbers_again();
            }
        }
    }

    fn call_insn(&mut self, function: usize) {
        self.calls.push((self.insns.len(), function));
        self.push(BPF_JMP | BPF_CALL, (0, BPF_PSEUDO_CALL), (0, 0));
    }

    /// Packet pointers are invalid after the packet may have changed.
    fn packet_again(&mut self) {
        self.push(BPF_LDX | BPF_MEM | BPF_DW, (1, FP), (CTX_SLOT, 0));
        self.packet();
    }

    /// A call has clobbered r1 to r5.
    pub(super) fn numbers_again(&mut self) {
        for reg in 1..6 {
            let from = self.rng.pick(&[0, 7, 8]);
            self.push(BPF_ALU64 | BPF_MOV | BPF_X, (reg, from), (0, 0));
        }
    }

    /// A few iterations of a callback, each of which changes a number on the stack.
    fn bpf_loop(&mut self, function: usize) {
        let reg = self.reg();
        self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, reg), (LOOP_SLOT, 0));
        if self.rng.chance(50) {
            let rounds = self.rng.below(6) as i32;
            self.push(BPF_ALU64 | BPF_MOV, (1, 0), (0, rounds));
        } else {
            let reg = self.reg();
            self.push(BPF_ALU64 | BPF_MOV | BPF_X, (1, reg), (0, 0));
            self.push(BPF_ALU64 | BPF_AND, (1, 0), (0, 7));
        }
        let [first, second] = Insn::ld_imm64(2, BPF_PSEUDO_FUNC, 0);
        self.calls.push((self.insns.len(), function));
        self.push_insn(first);
        self.push_insn(second);
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (3, FP), (0, 0));
        self.push(BPF_ALU64 | BPF_ADD, (3, 0), (0, i32::from(LOOP_SLOT)));
        self.push(BPF_ALU64 | BPF_MOV, (4, 0), (0, 0));
        self.push(BPF_JMP | BPF_CALL, (0, 0), (0, HelperId::Loop as i32));
        let reg = self.rng.pick(&[7, 8]);
        self.push(BPF_LDX | BPF_MEM | BPF_DW, (reg, FP), (LOOP_SLOT, 0));
        self.numbers_again();
    }

    /// The body of a loop: r1 is the iteration, r2 points to the number.
    pub(super) fn body(&mut self) {
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (CTX, 2), (0, 0));
        self.push(BPF_LDX | BPF_MEM | BPF_DW, (2, CTX), (0, 0));
        for reg in [0, 3, 4, 5, 7, 8] {
            let from = self.rng.pick(&[1, 2]);
            self.push(BPF_ALU64 | BPF_MOV | BPF_X, (reg, from), (0, 0));
        }
        self.fill_slots();
        let statements = 2 + self.rng.below(5);
        (0..statements).for_each(|_| self.statement(1));
        let reg = self.reg();
        self.push(BPF_STX | BPF_MEM | BPF_DW, (CTX, reg), (0, 0));
        if self.rng.chance(50) {
            self.push(BPF_ALU64 | BPF_AND, (0, 0), (0, 1));
        } else {
            self.push(BPF_ALU64 | BPF_MOV, (0, 0), (0, 0));
        }
        self.push(BPF_JMP | BPF_EXIT, (0, 0), (0, 0));
    }

    /// A function that receives the context, computes, and tail calls another program.
    pub(super) fn tail_function(&mut self) {
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (CTX, 1), (0, 0));
        for reg in [0, 1, 2, 3, 4, 5, 7, 8] {
            let imm = self.imm();
            self.push(BPF_ALU64 | BPF_MOV, (reg, 0), (0, imm));
        }
        self.fill_slots();
        self.deep_stack();
        let statements = 1 + self.rng.below(4);
        (0..statements).for_each(|_| self.statement(1));
        self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, 7), (-8, 0));
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (1, CTX), (0, 0));
        self.jump_to_program(7);
        self.push(BPF_LDX | BPF_MEM | BPF_DW, (0, FP), (-8, 0));
        self.push(BPF_JMP | BPF_EXIT, (0, 0), (0, 0));
    }

    /// A tail call of the main function.
    pub(super) fn tail_call(&mut self) {
        self.push(BPF_LDX | BPF_MEM | BPF_DW, (1, FP), (CTX_SLOT, 0));
        let reg = self.rng.pick(&[7, 8, 0]);
        self.jump_to_program(reg);
        self.packet_again();
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (0, 7), (0, 0));
        self.numbers_again();
    }

    /// Tail call with the context in r1; the index is a constant, or a few bits of `reg`.
    fn jump_to_program(&mut self, reg: u8) {
        if self.rng.chance(50) {
            let index = self.rng.below(5) as i32;
            self.push(BPF_ALU64 | BPF_MOV, (3, 0), (0, index));
        } else {
            self.push(BPF_ALU64 | BPF_MOV | BPF_X, (3, reg), (0, 0));
            self.push(BPF_ALU64 | BPF_AND, (3, 0), (0, 7));
        }
        let [first, second] = Insn::ld_imm64(2, BPF_PSEUDO_MAP_FD, PROG_ARRAY as u64);
        self.push_insn(first);
        self.push_insn(second);
        self.push(BPF_JMP | BPF_CALL, (0, 0), (0, HelperId::TailCall as i32));
    }

    /// Makes the frame larger.
    pub(super) fn deep_stack(&mut self) {
        if self.rng.chance(60) {
            let off = -8 * (9 + self.rng.below(16) as i16);
            self.push(BPF_ST | BPF_MEM | BPF_DW, (FP, 0), (off, 1));
        }
    }

    /// Sets r6 to the packet of the context in r1, and checks that it has 64 bytes.
    pub(super) fn packet(&mut self) {
        let (data, data_end) = if self.kind == Kind::Skb { (76, 80) } else { (0, 4) };
        self.push(BPF_LDX | BPF_MEM | BPF_W, (CTX, 1), (data, 0));
        self.push(BPF_LDX | BPF_MEM | BPF_W, (2, 1), (data_end, 0));
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (3, CTX), (0, 0));
        self.push(BPF_ALU64 | BPF_ADD, (3, 0), (0, 8 * WORDS as i32));
        self.push(BPF_JMP | BPF_JLE | BPF_X, (3, 2), (2, 0));
        self.push(BPF_ALU64 | BPF_MOV, (0, 0), (0, 0));
        self.push(BPF_JMP | BPF_EXIT, (0, 0), (0, 0));
    }
}
