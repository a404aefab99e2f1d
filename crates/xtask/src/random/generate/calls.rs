//! Statements with calls: functions of the program, helpers with memory arguments, references; and
//! loops.

use super::{Gen, Kind, PROG_ARRAY, RINGBUF, insn};
use skep::insn::Insn;
use skep::insn::code::*;
use skep::uapi::ProgType;

const FUNCTIONS: u64 = 2;

impl Gen {
    fn call(&mut self, helper: i32) {
        self.emit(insn(BPF_JMP | BPF_CALL, 0, 0, 0, helper));
        self.clobber();
        self.kinds[0] = Kind::Scalar;
    }

    fn load_map(&mut self, dst: u8, map: u64) {
        let [first, mut second] = Insn::ld_imm64(dst, BPF_PSEUDO_MAP_FD, map);
        second.imm = 0;
        self.emit(first);
        self.emit(second);
    }

    /// Sets `dst` to a stack address, `8 * slots` below the top.
    fn stack_at(&mut self, dst: u8, slots: u64) {
        self.mov_reg(dst, 10);
        self.emit(insn(BPF_ALU64 | BPF_ADD, dst, 0, 0, -8 * slots as i32));
        self.kinds[dst as usize] = Kind::Stack;
    }

    /// Calls a function with arguments of any kind; functions only call later ones.
    pub(super) fn call_function(&mut self) {
        let first = self.function as u64 + 1;
        if first > FUNCTIONS {
            return;
        }
        let callee = first + self.rng.below(FUNCTIONS - first + 1);
        for arg in 1..=2 {
            match self.rng.below(4) {
                0 => {
                    let slots = 1 + self.rng.below(5);
                    self.stack_at(arg, slots);
                }
                1 => {
                    let src = self.any_scalar();
                    self.mov_reg(arg, src);
                }
                2 if self.kinds[6] == Kind::Ctx => self.mov_reg(arg, 6),
                _ => match self.reg(&[Kind::Value, Kind::Packet, Kind::Small]) {
                    Some(src) => self.mov_reg(arg, src),
                    None => self.mov_imm(arg, 5),
                },
            }
        }
        self.calls.push((self.insns.len(), callee as usize));
        self.emit(insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0));
        self.clobber();
        self.kinds[0] = Kind::Scalar;
    }

    /// Generates the functions that are called, and resolves the calls.
    pub(super) fn functions(&mut self) {
        let mut starts = [0; FUNCTIONS as usize + 1];
        #[allow(clippy::needless_range_loop, reason = "a function number, not only an index")]
        for function in 1..=FUNCTIONS as usize {
            if !self.calls.iter().any(|&(_, callee)| callee == function) {
                continue;
            }
            starts[function] = self.insns.len();
            self.function = function;
            self.kinds = [Kind::Nothing; 11];
            let kinds = [Kind::Stack, Kind::Scalar, Kind::Small, Kind::Value];
            self.kinds[1] = self.rng.pick(&kinds);
            self.kinds[2] = self.rng.pick(&kinds);
            for dst in [6, 7, 8] {
                let src = self.rng.pick(&[1, 2]);
                self.mov_reg(dst, src);
            }
            self.mov_imm(0, 1);
            self.mov_imm(9, 2);
            let statements = 2 + self.rng.below(10);
            self.body(statements);
        }
        for &(at, callee) in &self.calls {
            self.insns[at].imm = starts[callee] as i32 - at as i32 - 1;
        }
    }

    /// A loop that terminates if nothing in it changes its counter.
    pub(super) fn bounded_loop(&mut self) {
        let counter = self.rng.pick(&[7, 8, 9]);
        self.mov_imm(counter, 0);
        let start = self.insns.len();
        for _ in 0..1 + self.rng.below(3) {
            match self.rng.below(4) {
                0 => self.alu(),
                1 => self.stack_access(),
                2 => self.access(),
                _ => self.variable_pointer(),
            }
        }
        self.emit(insn(BPF_ALU64 | BPF_ADD, counter, 0, 0, 1));
        let times = 2 + self.rng.below(8) as i32;
        let back = start as i64 - self.insns.len() as i64 - 1;
        let op = self.rng.pick(&[BPF_JLT, BPF_JNE, BPF_JSLT]);
        self.emit(insn(BPF_JMP | op, counter, 0, back as i16, times));
        self.kinds[counter as usize] = Kind::Small;
    }

    /// `bpf_skb_load_bytes`, `bpf_csum_diff`, `bpf_map_update_elem`.
    pub(super) fn memory_helper(&mut self) {
        let size = self.reg(&[Kind::Small]);
        let slots = 1 + self.rng.below(6);
        match self.rng.below(3) {
            0 if self.prog_type != ProgType::Xdp && self.kinds[6] == Kind::Ctx => {
                self.size(4, size);
                self.mov_reg(1, 6);
                self.mov_imm(2, 0);
                self.stack_at(3, slots);
                self.call(26);
            }
            1 if self.prog_type != ProgType::SocketFilter => {
                self.size(2, size);
                self.stack_at(1, slots);
                self.mov_imm(3, 0);
                self.mov_imm(4, 0);
                self.mov_imm(5, 0);
                self.call(28);
            }
            _ => {
                let value = self.reg(&[Kind::Value]).filter(|r| !(1..=2).contains(r));
                match value {
                    Some(value) => self.mov_reg(3, value),
                    None => self.stack_at(3, 6),
                }
                self.load_map(1, 0);
                self.stack_at(2, slots);
                self.mov_imm(4, 0);
                self.call(2);
            }
        }
    }

    fn size(&mut self, dst: u8, small: Option<u8>) {
        match small {
            Some(small) if self.rng.chance(60) => self.mov_reg(dst, small),
            _ => {
                let bytes = 4 * self.rng.below(9) as i32;
                self.mov_imm(dst, bytes);
            }
        }
    }

    /// A ring buffer record, released most of the time.
    pub(super) fn reserve(&mut self) {
        let bytes = 8 * (1 + self.rng.below(4)) as i32;
        self.load_map(1, RINGBUF);
        self.mov_imm(2, bytes);
        self.mov_imm(3, 0);
        self.call(131);
        self.emit(insn(BPF_JMP | BPF_JNE, 0, 0, 2, 0));
        self.emit(insn(BPF_ALU64 | BPF_MOV, 0, 0, 0, 0));
        self.emit(insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
        self.mov_reg(9, 0);
        self.kinds[9] = Kind::Value;
        self.kinds[0] = Kind::Nothing;
        for _ in 0..self.rng.below(3) {
            self.access();
        }
        self.mov_reg(1, 9);
        self.mov_imm(2, 0);
        if self.rng.chance(95) {
            let helper = self.rng.pick(&[132, 133]);
            self.call(helper);
            self.kinds[9] = Kind::Nothing;
        }
    }

    pub(super) fn legacy_load(&mut self) {
        let (mode, src) = match self.reg(&[Kind::Scalar, Kind::Small]) {
            Some(src) if self.rng.chance(50) => (BPF_IND, src),
            _ => (BPF_ABS, 0),
        };
        let size = self.rng.pick(&[BPF_B, BPF_H, BPF_W]);
        self.emit(insn(BPF_LD | mode | size, 0, src, 0, 14));
        self.clobber();
        self.kinds[0] = Kind::Scalar;
    }

    pub(super) fn tail_call(&mut self) {
        if self.kinds[6] != Kind::Ctx {
            return;
        }
        self.mov_reg(1, 6);
        self.load_map(2, PROG_ARRAY);
        self.mov_imm(3, 1);
        self.call(12);
        self.kinds[0] = Kind::Nothing;
    }

    /// A socket, released most of the time.
    pub(super) fn lookup_socket(&mut self) {
        if self.prog_type == ProgType::SocketFilter || self.kinds[6] != Kind::Ctx {
            return;
        }
        for off in [-8, -16] {
            self.emit(insn(BPF_ST | BPF_MEM | BPF_DW, 10, 0, off, 0));
        }
        self.mov_reg(1, 6);
        self.stack_at(2, 2);
        self.mov_imm(3, 12);
        self.mov_imm(4, -1);
        self.mov_imm(5, 0);
        self.call(84);
        self.mov_reg(9, 0);
        self.kinds[9] = Kind::Nothing;
        self.kinds[0] = Kind::Nothing;
        let off = self.rng.pick(&[0, 4, 8, 24, 44, 72, 76, 48]);
        let skip = if self.rng.chance(95) { 3 } else { 2 };
        self.emit(insn(BPF_JMP | BPF_JEQ, 9, 0, skip, 0));
        self.emit(insn(BPF_LDX | BPF_MEM | BPF_W, 8, 9, off, 0));
        self.emit(insn(BPF_ALU64 | BPF_MOV | BPF_X, 1, 9, 0, 0));
        self.emit(insn(BPF_JMP | BPF_CALL, 0, 0, 0, 86));
        self.clobber();
        self.kinds[8] = Kind::Nothing;
    }
}
