//! Idioms: sequences that an optimizing JIT compiles as one operation, sometimes changed slightly
//! so that it must not.

use super::builder::{CTX, FP, Gen, SLOTS, WORDS};
use skep::insn::code::*;

impl Gen {
    /// One sequence.
    pub(super) fn idiom(&mut self) {
        match self.rng.below(12) {
            0 => self.rotate(),
            1 => self.bytes(),
            2 => self.swapped(),
            3 => self.address(),
            4 => self.select(),
            5 => self.folded(),
            6 => self.in_memory(),
            7 => self.counted(),
            8 => self.indexed(),
            9 => self.cleared(),
            10 => self.flag(),
            _ => self.masked(),
        }
    }

    /// Two different registers.
    pub(super) fn pair(&mut self) -> (u8, u8) {
        let a = self.reg();
        loop {
            let b = self.reg();
            if a != b {
                return (a, b);
            }
        }
    }

    fn class(&mut self) -> (u8, i32) {
        self.rng.pick(&[(BPF_ALU64, 64), (BPF_ALU, 32)])
    }

    /// An aligned position of `bytes` bytes: base register and offset.
    fn aligned(&mut self, bytes: i16) -> (u8, i16) {
        let inside = |rng: &mut skep_testkit::rng::Rng, room: i16| {
            rng.below(room as u64 / bytes as u64) as i16 * bytes
        };
        if self.main && self.rng.chance(50) {
            let off = inside(&mut self.rng, 8 * WORDS as i16);
            return (CTX, off);
        }
        let room = 8 * SLOTS as i16;
        (FP, inside(&mut self.rng, room) - room)
    }

    /// `a = a << k | a >> (64 - k)`.
    fn rotate(&mut self) {
        let (a, b) = self.pair();
        let (class, bits) = self.class();
        let left = 1 + self.rng.below(bits as u64 - 1) as i32;
        let right = if self.rng.chance(90) { bits - left } else { left };
        let join = self.rng.pick(&[BPF_OR, BPF_ADD, BPF_XOR]);
        let down = if self.rng.chance(90) { BPF_RSH } else { BPF_ARSH };
        self.push(class | BPF_MOV | BPF_X, (b, a), (0, 0));
        self.push(class | BPF_LSH, (a, 0), (0, left));
        self.push(class | down, (b, 0), (0, right));
        self.push(class | join | BPF_X, (a, b), (0, 0));
    }

    /// A word read byte by byte.
    fn bytes(&mut self) {
        let (a, b) = self.pair();
        let (class, bits) = self.class();
        let count = self.rng.pick(&[2i16, 4, 8]).min(bits as i16 / 8);
        let (base, off) = self.aligned(count);
        let little = self.rng.chance(50);
        let join = self.rng.pick(&[BPF_OR, BPF_OR, BPF_ADD]);
        let slip = self.rng.chance(10);
        self.push(BPF_LDX | BPF_MEM | BPF_B, (a, base), (off, 0));
        if !little {
            self.push(class | BPF_LSH, (a, 0), (0, 8 * (i32::from(count) - 1)));
        }
        for i in 1..count {
            let shift = 8 * i32::from(if little { i } else { count - 1 - i });
            let shift = if slip && i == 1 { shift ^ 8 } else { shift } & (bits - 1);
            self.push(BPF_LDX | BPF_MEM | BPF_B, (b, base), (off + i, 0));
            if shift != 0 {
                self.push(class | BPF_LSH, (b, 0), (0, shift));
            }
            self.push(class | join | BPF_X, (a, b), (0, 0));
        }
    }

    /// A load or store in the other byte order.
    fn swapped(&mut self) {
        let (size, bytes) = self.rng.pick(&[(BPF_H, 2), (BPF_W, 4), (BPF_DW, 8)]);
        let (base, off) = self.aligned(bytes);
        let reg = self.reg();
        let code = self.rng.pick(&[BPF_ALU | BPF_END | BPF_X, BPF_ALU64 | BPF_END]);
        let bits = if self.rng.chance(80) { i32::from(bytes) * 8 } else { 32 };
        let store = self.rng.chance(40);
        if !store {
            self.push(BPF_LDX | BPF_MEM | size, (reg, base), (off, 0));
        }
        self.push(code, (reg, 0), (0, bits));
        if store {
            self.push(BPF_STX | BPF_MEM | size, (base, reg), (off, 0));
        }
    }

    /// `a = (b << k) + c + imm`, in some order.
    fn address(&mut self) {
        let (a, b) = self.pair();
        let c = self.reg();
        let (class, _) = self.class();
        let imm = self.imm();
        self.push(class | BPF_MOV | BPF_X, (a, b), (0, 0));
        if self.rng.chance(60) {
            let shift = self.rng.below(5) as i32;
            self.push(class | BPF_LSH, (a, 0), (0, shift));
        }
        if self.rng.chance(60) {
            self.push(class | BPF_ADD | BPF_X, (a, c), (0, 0));
        }
        let op = self.rng.pick(&[BPF_ADD, BPF_SUB]);
        self.push(class | op, (a, 0), (0, imm));
    }

    /// Adjacent stores of zero, sometimes with other values or with a load between.
    fn cleared(&mut self) {
        let (base, start) = self.aligned(8);
        let room = if base == FP { 8 * SLOTS as i16 } else { 8 * WORDS as i16 };
        let end = if base == FP { 0 } else { room };
        let down = self.rng.chance(50);
        for step in 0..2 + self.rng.below(5) as i16 {
            let (size, bytes) =
                self.rng.pick(&[(BPF_B, 1i16), (BPF_H, 2), (BPF_W, 4), (BPF_DW, 8), (BPF_DW, 8)]);
            let at = if down { start - bytes * step } else { start + bytes * step };
            let inside = at >= end - room && at + bytes <= end && at % bytes == 0;
            let off = if inside { at } else { start };
            let reg = self.reg();
            match self.rng.below(12) {
                0 => self.push(BPF_LDX | BPF_MEM | size, (reg, base), (off, 0)),
                1 => self.push(BPF_STX | BPF_MEM | size, (base, reg), (off, 0)),
                2 => self.push(BPF_ST | BPF_MEM | size, (base, 0), (off, 1)),
                _ => self.push(BPF_ST | BPF_MEM | size, (base, 0), (off, 0)),
            }
        }
    }

    /// A comparison whose result is a number, or nearly that.
    fn flag(&mut self) {
        let (a, x) = (self.reg(), self.reg());
        let y = if self.rng.chance(10) { a } else { self.reg() };
        let (class, _) = self.class();
        let first = self.rng.below(2) as i32;
        let second = if self.rng.chance(90) { 1 - first } else { 7 };
        self.push(class | BPF_MOV, (a, 0), (0, first));
        if self.rng.chance(20) {
            let b = self.reg();
            self.push(class | BPF_ADD | BPF_X, (b, x), (0, 0));
        }
        self.compare(x, y, 1);
        self.push(class | BPF_MOV, (a, 0), (0, second));
    }

    /// A move that is skipped by a condition.
    fn select(&mut self) {
        if self.rng.chance(60) {
            return self.smaller();
        }
        let (a, b) = self.pair();
        let (x, y) = (self.reg(), self.reg());
        self.compare(x, y, 1);
        let (class, _) = self.class();
        let imm = self.imm();
        match self.rng.below(3) {
            0 => self.push(class | BPF_MOV, (a, 0), (0, imm)),
            _ => self.push(class | BPF_MOV | BPF_X, (a, b), (0, 0)),
        }
    }

    /// The smaller or larger of two numbers, in a register of its own or in place.
    fn smaller(&mut self) {
        let (x, y) = self.pair();
        let dst = if self.rng.chance(40) { x } else { self.reg() };
        let (class, jump) = (self.class().0, self.rng.pick(&[BPF_JMP, BPF_JMP32]));
        let op = self.rng.pick(&[BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSGT, BPF_JSLE, BPF_JNE]);
        if self.rng.chance(50) {
            self.push(BPF_ALU | BPF_MOV | BPF_X, (x, x), (0, 0));
        }
        if dst != x && self.rng.chance(90) {
            let class = self.class().0;
            self.push(class | BPF_MOV | BPF_X, (dst, x), (0, 0));
        }
        let (a, b) = if self.rng.chance(50) { (x, y) } else { (y, x) };
        self.push(jump | op | BPF_X, (a, b), (1, 0));
        self.push(class | BPF_MOV | BPF_X, (dst, y), (0, 0));
    }

    /// A load that one operation uses.
    fn folded(&mut self) {
        let (a, b) = self.pair();
        let (size, bytes) = self.rng.pick(&[(BPF_W, 4), (BPF_DW, 8), (BPF_DW, 8), (BPF_H, 2)]);
        let (base, off) = self.aligned(bytes);
        let (class, _) = self.class();
        let op = self.rng.pick(&[BPF_ADD, BPF_SUB, BPF_AND, BPF_OR, BPF_XOR, BPF_MUL, BPF_MOV]);
        self.push(BPF_LDX | BPF_MEM | size, (b, base), (off, 0));
        if self.rng.chance(15) {
            // An insn in between that may change the loaded value.
            let reg = self.reg();
            self.push(BPF_STX | BPF_MEM | size, (base, reg), (off, 0));
        }
        if self.rng.chance(30) {
            self.compare(a, b, 1);
        }
        self.push(class | op | BPF_X, (a, b), (0, 0));
        if self.rng.chance(80) {
            self.push(BPF_ALU64 | BPF_MOV, (b, 0), (0, 0));
        }
    }

    /// A load, an operation, and a store to the same address.
    fn in_memory(&mut self) {
        let (a, b) = self.pair();
        let (size, bytes) = self.rng.pick(&[(BPF_B, 1), (BPF_H, 2), (BPF_W, 4), (BPF_DW, 8)]);
        let (base, off) = self.aligned(bytes);
        let (class, _) = self.class();
        let op = self.rng.pick(&[BPF_ADD, BPF_SUB, BPF_AND, BPF_OR, BPF_XOR]);
        let imm = self.imm();
        self.push(BPF_LDX | BPF_MEM | size, (a, base), (off, 0));
        match self.rng.below(2) {
            0 => self.push(class | op, (a, 0), (0, imm)),
            _ => self.push(class | op | BPF_X, (a, b), (0, 0)),
        }
        self.push(BPF_STX | BPF_MEM | size, (base, a), (off, 0));
        if self.rng.chance(70) {
            self.push(BPF_ALU | BPF_MOV, (a, 0), (0, 1));
        }
    }

    /// Four different registers.
    pub(super) fn four(&mut self) -> [u8; 4] {
        let mut regs: Vec<u8> = Vec::new();
        while regs.len() < 4 {
            let reg = self.reg();
            if !regs.contains(&reg) {
                regs.push(reg);
            }
        }
        [regs[0], regs[1], regs[2], regs[3]]
    }

    /// Two values on the stack, and an array below that is accessed with an index; a wide access
    /// may reach the values, too.
    fn indexed(&mut self) {
        let [at, addr, value, other] = self.four();
        let (low, high, array) = (-8 * SLOTS as i16 - 16, -8 * SLOTS as i16 - 8, -80);
        for word in 0..4 {
            self.push(BPF_ST | BPF_MEM | BPF_DW, (FP, 0), (array + 8 * word, word.into()));
        }
        for (slot, reg) in [(low, value), (high, other)] {
            self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, reg), (slot, 0));
            self.push(BPF_LDX | BPF_MEM | BPF_DW, (other, FP), (slot, 0));
            self.push(BPF_ALU64 | BPF_ADD, (other, 0), (0, 3));
            self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, other), (slot, 0));
        }
        let wide = self.rng.chance(30);
        let class = self.rng.pick(&[BPF_ALU64, BPF_ALU]);
        let how = self.rng.below(4);
        let (mut head, mut skipped) = (None, None);
        let most = if wide { 5 } else { 3 };
        match how {
            0 => self.push(class | BPF_AND, (at, 0), (0, if wide { 7 & !2 } else { 3 })),
            1 => {
                skipped = Some(self.insns.len());
                self.push(BPF_JMP | BPF_JGT, (at, 0), (0, most));
            }
            2 => self.push(class | BPF_MOD, (at, 0), (0, most + 1)),
            _ => {
                self.push(class | BPF_MOV, (at, 0), (0, 0));
                head = Some(self.insns.len());
            }
        }
        let scale = if how == 3 { 0 } else { 3 };
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (value, at), (0, 0));
        self.push(class | BPF_LSH, (value, 0), (0, scale));
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (addr, FP), (0, 0));
        self.push(BPF_ALU64 | BPF_ADD | BPF_X, (addr, value), (0, 0));
        if self.rng.chance(50) {
            self.push(BPF_STX | BPF_MEM | BPF_DW, (addr, other), (array, 0));
        }
        self.push(BPF_LDX | BPF_MEM | BPF_DW, (value, addr), (array, 0));
        self.push(BPF_LDX | BPF_MEM | BPF_DW, (addr, FP), (low, 0));
        self.push(BPF_ALU64 | BPF_XOR | BPF_X, (value, addr), (0, 0));
        self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, value), (low, 0));
        if let Some(head) = head {
            self.push(class | BPF_ADD, (at, 0), (0, 8));
            let until = self.rng.pick(&[BPF_JNE, BPF_JLT, BPF_JSLT]);
            let distance = head as i64 - self.insns.len() as i64 - 1;
            self.push(BPF_JMP | until, (at, 0), (distance as i16, 8 * (most + 1)));
        }
        if let Some(skipped) = skipped {
            self.insns[skipped].off = (self.insns.len() - skipped - 1) as i16;
        }
        // Registers that hold an address or are uninitialized become numbers again.
        for (reg, slot) in [(addr, high), (value, low)] {
            self.push(BPF_LDX | BPF_MEM | BPF_DW, (reg, FP), (slot, 0));
        }
    }

    /// A loop that adds up stack contents at the loop counter, possibly with an early exit.
    fn counted(&mut self) {
        let [at, sum, value, copy] = self.four();
        let (size, bytes) = self.rng.pick(&[(BPF_B, 1), (BPF_H, 2), (BPF_W, 4), (BPF_DW, 8)]);
        let room = 8 * SLOTS as i32;
        let rounds = 1 + self.rng.below((room / bytes).min(9) as u64) as i32;
        let copies = self.rng.chance(30);
        let (class, _) = self.class();
        let op = self.rng.pick(&[BPF_ADD, BPF_ADD, BPF_XOR, BPF_OR, BPF_SUB]);
        self.push(BPF_ALU64 | BPF_MOV, (at, 0), (0, 0));
        let head = self.insns.len();
        if copies {
            self.push(BPF_ALU64 | BPF_MOV | BPF_X, (copy, at), (0, 0));
        }
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (value, FP), (0, 0));
        self.push(BPF_ALU64 | BPF_ADD | BPF_X, (value, at), (0, 0));
        self.push(BPF_LDX | BPF_MEM | size, (value, value), (-room as i16, 0));
        // Past the sum, the increment and the jump.
        if self.rng.chance(40) {
            self.compare(value, sum, 3);
        }
        self.push(class | op | BPF_X, (sum, value), (0, 0));
        self.push(BPF_ALU64 | BPF_ADD, (at, 0), (0, bytes));
        let (counter, end) = match copies {
            true => (copy, bytes * (rounds - 1)),
            false => (at, bytes * rounds),
        };
        let until = self.rng.pick(&[BPF_JNE, BPF_JLT, BPF_JSLT]);
        let distance = head as i64 - self.insns.len() as i64 - 1;
        self.push(BPF_JMP | until, (counter, 0), (distance as i16, end));
    }

    /// A mask, or constants, before a comparison.
    fn masked(&mut self) {
        let (a, b) = self.pair();
        let (class, _) = self.class();
        let imm = self.imm();
        match self.rng.below(3) {
            0 => {
                self.push(class | BPF_MOV | BPF_X, (a, b), (0, 0));
                self.push(class | BPF_AND, (a, 0), (0, imm));
            }
            1 => {
                self.push(class | BPF_MOV, (a, 0), (0, imm));
                self.push(BPF_ALU64 | BPF_MOV | BPF_X, (b, a), (0, 0));
                self.push(class | BPF_ADD | BPF_X, (b, a), (0, 0));
            }
            _ => {
                self.push(BPF_ALU | BPF_MOV | BPF_X, (a, b), (0, 0));
                self.push(BPF_ALU64 | BPF_LSH, (a, 0), (0, 32));
                let op = self.rng.pick(&[BPF_RSH, BPF_ARSH]);
                self.push(BPF_ALU64 | op, (a, 0), (0, 32));
            }
        }
        let other = self.reg();
        self.compare(a, other, 1);
        self.push(class | BPF_XOR, (b, 0), (0, imm));
    }
}
