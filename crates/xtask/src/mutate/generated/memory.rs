//! Memory other than the stack: map values, packets, records, dynptrs.

use super::{ARRAY, ARRAY_BYTES, HASH, LARGE, Maker, RINGBUF, SIZES};
use crate::random::generate::insn;
use skep::insn::code::*;
use skep::uapi::ProgType;

impl Maker<'_> {
    /// Looks up a value into `r0`; mostly checks for NULL, sometimes through a copy.
    fn lookup(&mut self) -> u32 {
        let (map, bytes) = self.rng.pick(&[(ARRAY, ARRAY_BYTES), (HASH, 40), (LARGE, 4096)]);
        if self.rng.chance(20) && map != HASH {
            let off = self.rng.pick(&[0, 0, 8, 60]);
            self.insns.extend(skep::insn::Insn::ld_imm64(0, BPF_PSEUDO_MAP_VALUE, map | off << 32));
            return bytes - off as u32;
        }
        let off = self.slot();
        match self.rng.chance(70) {
            true => self.emit(BPF_ST | BPF_MEM | BPF_W, (10, 0), (off, 1)),
            false => {
                let src = self.number();
                self.emit(BPF_STX | BPF_MEM | BPF_W, (10, src), (off, 0));
            }
        }
        self.map(1, map);
        self.stack(2, off.into());
        self.helper(1);
        match self.rng.below(10) {
            0 => {
                self.mov(1, 0);
                self.not_null(1);
            }
            1 => {
                let off = self.slot();
                self.emit(BPF_STX | BPF_MEM | BPF_DW, (10, 0), (off, 0));
                self.not_null(0);
                self.emit(BPF_LDX | BPF_MEM | BPF_DW, (0, 10), (off, 0));
            }
            2 if self.rng.chance(20) => {}
            _ => self.not_null(0),
        }
        bytes
    }

    /// An access at an offset bounded by a branch or a mask.
    pub(super) fn value_access(&mut self) {
        let index = self.number();
        let bytes = self.lookup();
        let (code, size) = self.rng.pick(&SIZES);
        let most = bytes as i32 - i32::from(size);
        let edge = most + self.rng.pick(&[0, 0, 0, 1, -1, i32::from(size), -8]);
        match self.rng.below(6) {
            0 => self.emit(BPF_ALU64 | BPF_AND, (index, 0), (0, edge.max(1))),
            1 => {
                let class = self.rng.pick(&[BPF_JMP, BPF_JMP, BPF_JMP32]);
                let condition = insn(class | BPF_JLE, index, 0, 0, edge);
                self.unless(condition, |it| it.exit(0));
            }
            2 => {
                let class = self.rng.pick(&[BPF_JMP, BPF_JMP, BPF_JMP32]);
                let low = self.rng.pick(&[0, 0, 1, -1, 8]);
                let condition = insn(class | BPF_JSGE, index, 0, 0, low);
                self.unless(condition, |it| it.exit(0));
                let condition = insn(class | BPF_JSLT, index, 0, 0, edge + 1);
                self.unless(condition, |it| it.exit(0));
            }
            3 => self.emit(BPF_ALU64 | BPF_MOD, (index, 0), (0, edge.max(1))),
            4 => self.emit(BPF_ALU | BPF_AND, (index, 0), (0, edge.max(1))),
            _ => {}
        }
        let op = if self.rng.chance(92) { BPF_ADD } else { BPF_SUB };
        self.emit(BPF_ALU64 | op | BPF_X, (0, index), (0, 0));
        let off = if self.rng.chance(80) { 0 } else { self.rng.below(24) as i16 - 8 };
        let dst = self.number();
        match self.rng.below(5) {
            0 => self.emit(BPF_STX | BPF_MEM | code, (0, dst), (off, 0)),
            1 => self.emit(BPF_ST | BPF_MEM | code, (0, 0), (off, 7)),
            2 if size >= 4 => {
                let op = i32::from(BPF_ADD) | BPF_FETCH;
                self.emit(BPF_STX | BPF_ATOMIC | code, (0, dst), (off, op));
            }
            _ => self.emit(BPF_LDX | BPF_MEM | code, (dst, 0), (off, 0)),
        }
    }

    /// A packet access after a bounds check.
    pub(super) fn packet(&mut self) {
        let fields = match self.prog_type {
            ProgType::Xdp => (0, 4),
            ProgType::SchedCls => (76, 80),
            _ => return self.arithmetic(),
        };
        if self.depth > 0 {
            return self.arithmetic();
        }
        self.emit(BPF_LDX | BPF_MEM | BPF_W, (2, 6), (fields.0, 0));
        self.emit(BPF_LDX | BPF_MEM | BPF_W, (3, 6), (fields.1, 0));
        if self.rng.chance(40) {
            return self.packet_moves();
        }
        if self.rng.chance(50) {
            let index = self.number();
            let mask = self.rng.pick(&[7, 15, 63, 255, 0xffff, 0x1_0000]);
            self.emit(BPF_ALU64 | BPF_AND, (index, 0), (0, mask));
            self.emit(BPF_ALU64 | BPF_ADD | BPF_X, (2, index), (0, 0));
        }
        self.mov(4, 2);
        let len = self.rng.below(24) as i32;
        self.add(4, len);
        if self.rng.chance(20) {
            self.mov(5, 2);
            self.add(5, len + 2);
        }
        let forms = [
            (BPF_JLE, 4, 3),
            (BPF_JLT, 4, 3),
            (BPF_JGE, 3, 4),
            (BPF_JGT, 3, 4),
            (BPF_JGT, 4, 3),
            (BPF_JLT, 3, 4),
        ];
        let (op, a, b) = self.rng.pick(&forms);
        self.unless(insn(BPF_JMP | op | BPF_X, a, b, 0, 0), |it| it.exit(0));
        let (code, size) = self.rng.pick(&SIZES);
        let off = (len as i16 - size + self.rng.pick(&[0, 0, 0, 1, -1, -4])).max(-1);
        let dst = self.number();
        let ptr = if self.rng.chance(85) { 2 } else { 4 };
        self.emit(BPF_LDX | BPF_MEM | code, (dst, ptr), (off, 0));
    }

    /// A packet pointer in r2 that is moved by numbers and constants, up and down, and compared
    /// with the end, in r3, in between.
    fn packet_moves(&mut self) {
        for _ in 0..2 + self.rng.below(4) {
            match self.rng.below(5) {
                0 => {
                    let by = self.rng.below(60) as i32 - 20;
                    self.add(2, by);
                }
                1 => drop(self.reach()),
                _ => {
                    let (index, op) = (self.number(), self.rng.pick(&[BPF_ADD, BPF_ADD, BPF_SUB]));
                    let mask = self.rng.pick(&[7, 31, 0x38, 0x70, 255]);
                    self.emit(BPF_ALU64 | BPF_AND, (index, 0), (0, mask));
                    if self.rng.chance(40) {
                        let most = self.rng.below(60) as i32;
                        let within = insn(BPF_JMP | BPF_JLE, index, 0, 0, most);
                        self.unless(within, |it| it.exit(0));
                    }
                    if self.rng.chance(40) {
                        let by = self.rng.below(24) as i32 - 8;
                        self.add(index, by);
                    }
                    self.emit(BPF_ALU64 | op | BPF_X, (2, index), (0, 0));
                }
            }
        }
        let len = self.reach();
        let (code, size) = self.rng.pick(&SIZES);
        let off = len as i16 - size + self.rng.pick(&[0, 0, 0, 1, -1, -8]);
        let dst = self.number();
        self.emit(BPF_LDX | BPF_MEM | code, (dst, 2), (off, 0));
    }

    /// Continues only if enough bytes follow the packet pointer in r2; returns how many.
    fn reach(&mut self) -> i32 {
        let len = self.rng.below(40) as i32;
        self.mov(4, 2);
        self.add(4, len);
        let op = self.rng.pick(&[BPF_JLE, BPF_JLE, BPF_JLT]);
        self.unless(insn(BPF_JMP | op | BPF_X, 4, 3, 0, 0), |it| it.exit(0));
        len
    }

    /// A ring buffer record, released on all paths or on some.
    pub(super) fn reserve(&mut self) {
        let bytes = 8 * (1 + self.rng.below(3)) as i32;
        self.map(1, RINGBUF);
        self.set(2, bytes);
        self.set(3, 0);
        self.helper(131);
        if self.rng.chance(95) {
            self.not_null(0);
        }
        let copy = self.number();
        self.mov(copy, 0);
        if self.rng.chance(30) {
            let off = self.slot();
            self.emit(BPF_STX | BPF_MEM | BPF_DW, (10, 0), (off, 0));
        }
        if self.rng.chance(30) {
            self.branch();
        }
        let (code, size) = self.rng.pick(&SIZES);
        let off = self.rng.below(bytes as u64) as i16 / size * size;
        self.emit(BPF_ST | BPF_MEM | code, (copy, 0), (off, 1));
        self.mov(1, copy);
        self.set(2, 0);
        if self.rng.chance(95) {
            let helper = self.rng.pick(&[132, 133]);
            self.helper(helper);
        }
        if self.rng.chance(90) {
            self.set(copy, 5);
        }
    }

    /// A dynptr to a map value or a record: created, used, released.
    pub(super) fn dynptr(&mut self) {
        let at = i32::from(self.slot()) - 8;
        let record = self.rng.chance(50);
        if record {
            self.map(1, RINGBUF);
            self.set(2, 32);
            self.set(3, 0);
            self.stack(4, at);
            self.helper(198);
        } else {
            self.insns.extend(skep::insn::Insn::ld_imm64(1, BPF_PSEUDO_MAP_VALUE, ARRAY));
            self.set(2, 48);
            self.set(3, 0);
            self.stack(4, at);
            self.helper(197);
        }
        for _ in 0..self.rng.below(3) {
            self.dynptr_use(at);
        }
        if record && self.rng.chance(95) {
            self.stack(1, at);
            self.set(2, 0);
            let helper = self.rng.pick(&[199, 200]);
            self.helper(helper);
        }
    }

    fn dynptr_use(&mut self, at: i32) {
        match self.rng.below(4) {
            0 => {
                self.stack(1, at);
                self.set(2, 0);
                let len = self.rng.pick(&[8, 16, 32, 33]);
                self.set(3, len);
                self.helper(203);
                self.not_null(0);
                let off = self.rng.pick(&[0, 8, 24, 28]);
                self.emit(BPF_LDX | BPF_MEM | BPF_DW, (7, 0), (off, 0));
            }
            1 => {
                self.stack(1, -64);
                self.set(2, 8);
                self.stack(3, at);
                self.set(4, 0);
                self.set(5, 0);
                self.helper(201);
            }
            2 => {
                self.stack(1, at);
                self.kfunc("bpf_dynptr_size");
                self.mov(8, 0);
            }
            _ => {
                self.stack(1, at);
                self.set(2, 1);
                self.set(3, 9);
                self.kfunc("bpf_dynptr_adjust");
            }
        }
    }
}
