//! A random program from a seed.
//!
//! # Invariants
//! 1. The same seed gives the same program.
//! 2. Jumps stay within the program, so that the walk is tested rather than the control flow graph.

use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::{MapDef, Program};
use skep::uapi::{MapFlags, MapType, ProgFlags, ProgType};
use skep_testkit::rng::Rng;

mod calls;

/// Number of maps with values in each program: a plain array, a hash, a constant array, an array
/// with large values.
const MAPS: u32 = 4;
/// A ring buffer and a prog array, after those.
const RINGBUF: u64 = 4;
const PROG_ARRAY: u64 = 5;
const VALUE_BYTES: u32 = 48;

/// What a register probably holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    Scalar,
    Small,
    Stack,
    Value,
    Packet,
    Ctx,
}

struct Gen {
    rng: Rng,
    prog_type: ProgType,
    insns: Vec<Insn>,
    kinds: [Kind; 11],
    /// Jumps to the end of a block: resolved when it ends.
    open: Vec<(usize, usize)>,
    /// Calls of functions: resolved when the functions exist.
    calls: Vec<(usize, usize)>,
    /// The current function: 0 is the program.
    function: usize,
}

/// The program of that seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let types = [ProgType::SchedCls, ProgType::SchedCls, ProgType::Xdp, ProgType::SocketFilter];
    let prog_type = rng.pick(&types);
    let mut flags = ProgFlags::empty();
    if rng.chance(25) {
        flags |= ProgFlags::TEST_STATE_FREQ;
    }
    if rng.chance(15) {
        flags |= ProgFlags::STRICT_ALIGNMENT;
    }
    let mut it = Gen {
        rng,
        prog_type,
        insns: Vec::new(),
        kinds: [Kind::Nothing; 11],
        open: Vec::new(),
        calls: Vec::new(),
        function: 0,
    };
    it.program();
    Program {
        name: format!("seed_{seed}"),
        prog_type,
        prog_flags: flags,
        license: "GPL".to_owned(),
        autoload: true,
        insns: it.insns,
        maps: maps().into(),
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
    let constant = MapDef {
        map_flags: MapFlags::RDONLY_PROG,
        contents: (0..VALUE_BYTES as u8).map(|i| i.wrapping_mul(37)).collect(),
        frozen: true,
        ..map("constant", MapType::Array, VALUE_BYTES, 1)
    };
    vec![
        map("one", MapType::Array, VALUE_BYTES, 1),
        map("hash", MapType::Hash, 16, 8),
        constant,
        map("large", MapType::Array, 4096, 4),
        MapDef { key_size: 0, ..map("ring", MapType::Ringbuf, 0, 4096) },
        map("progs", MapType::ProgArray, 4, 2),
    ]
}

pub(crate) fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn { code, dst, src, off, imm }
}

const SIZES: [(u8, i64); 4] = [(BPF_B, 1), (BPF_H, 2), (BPF_W, 4), (BPF_DW, 8)];

impl Gen {
    fn emit(&mut self, i: Insn) {
        self.insns.push(i);
    }

    fn mov_imm(&mut self, dst: u8, imm: i32) {
        self.emit(insn(BPF_ALU64 | BPF_MOV, dst, 0, 0, imm));
        self.kinds[dst as usize] = Kind::Small;
    }

    fn mov_reg(&mut self, dst: u8, src: u8) {
        self.emit(insn(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0));
        self.kinds[dst as usize] = self.kinds[src as usize];
    }

    fn program(&mut self) {
        self.kinds[1] = Kind::Ctx;
        self.mov_reg(6, 1);
        for dst in [0, 7, 8, 9] {
            self.scalar(dst);
        }
        let statements = 6 + self.rng.below(30);
        self.body(statements);
        self.functions();
    }

    fn body(&mut self, statements: u64) {
        self.kinds[10] = Kind::Stack;
        for _ in 0..statements {
            self.statement();
            self.close(false);
        }
        self.close(true);
        if self.function == 0 || self.rng.chance(50) {
            self.mov_imm(0, 0);
        }
        self.emit(insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
    }

    /// Ends the blocks that are long enough, or all.
    fn close(&mut self, all: bool) {
        let here = self.insns.len();
        let insns = &mut self.insns;
        self.open.retain(|&(at, end)| {
            let ends = all || here >= end;
            if ends {
                insns[at].off = (here - at - 1) as i16;
            }
            !ends
        });
    }

    fn open_block(&mut self) {
        let at = self.insns.len() - 1;
        let len = 1 + self.rng.below(12) as usize;
        self.open.push((at, at + len));
    }

    /// A register that probably holds one of these.
    fn reg(&mut self, wanted: &[Kind]) -> Option<u8> {
        let fits: Vec<u8> = (0..10).filter(|&r| wanted.contains(&self.kinds[r as usize])).collect();
        (!fits.is_empty()).then(|| self.rng.pick(&fits))
    }

    fn any_scalar(&mut self) -> u8 {
        match self.reg(&[Kind::Scalar, Kind::Small]) {
            Some(reg) => reg,
            None => {
                self.mov_imm(0, 3);
                0
            }
        }
    }

    /// A register that may be overwritten; r6 mostly keeps the context.
    fn free(&mut self) -> u8 {
        let free = [0, 1, 2, 3, 4, 5, 7, 8, 9];
        if self.rng.chance(2) { 6 } else { self.rng.pick(&free) }
    }

    fn imm(&mut self) -> i32 {
        match self.rng.below(6) {
            0 => self.rng.word() as i32,
            1 => -(self.rng.below(70) as i32),
            2 => self.rng.pick(&[0, 1, -1, 7, 8, 15, 16, 255, 256, 0x7fff_ffff, i32::MIN]),
            _ => self.rng.below(64) as i32,
        }
    }

    fn scalar(&mut self, dst: u8) {
        match self.rng.below(4) {
            0 => {
                let imm = self.imm();
                self.mov_imm(dst, imm);
            }
            1 if self.kinds[6] == Kind::Ctx => {
                let off = self.rng.pick(&[0, 4, 8, 12, 16]);
                let fields = if self.prog_type == ProgType::Xdp { 12 } else { off };
                self.emit(insn(BPF_LDX | BPF_MEM | BPF_W, dst, 6, fields, 0));
                self.kinds[dst as usize] = Kind::Scalar;
            }
            _ => {
                self.emit(insn(BPF_JMP | BPF_CALL, 0, 0, 0, 7));
                self.clobber();
                self.kinds[0] = Kind::Scalar;
                if dst != 0 {
                    self.mov_reg(dst, 0);
                }
            }
        }
    }

    fn clobber(&mut self) {
        for r in 0..6 {
            self.kinds[r] = Kind::Nothing;
        }
    }

    fn statement(&mut self) {
        match self.rng.below(112) {
            100..104 => self.call_function(),
            104..106 => self.bounded_loop(),
            106..108 => self.memory_helper(),
            108..109 => self.reserve(),
            109..110 => self.legacy_load(),
            110..111 => self.tail_call(),
            111 => self.lookup_socket(),
            0..12 => self.alu(),
            12..16 => {
                let dst = self.free();
                self.scalar(dst);
            }
            16..22 => self.bound(),
            22..36 => self.stack_access(),
            36..42 => self.pointer(),
            42..50 => self.variable_pointer(),
            50..64 => self.access(),
            64..72 => self.lookup(),
            72..78 => self.packet(),
            78..90 => self.branch(),
            90..94 => self.atomic(),
            94..96 => self.map_value(),
            96..98 => self.sign_extend(),
            _ => self.early_exit(),
        }
    }

    fn alu(&mut self) {
        let dst = self.any_scalar();
        let ops = [
            BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR, BPF_AND, BPF_LSH, BPF_RSH, BPF_NEG,
            BPF_MOD, BPF_XOR, BPF_MOV, BPF_ARSH,
        ];
        let op = self.rng.pick(&ops);
        let class = self.rng.pick(&[BPF_ALU, BPF_ALU64]);
        if op == BPF_NEG {
            self.emit(insn(class | op, dst, 0, 0, 0));
        } else if self.rng.chance(50) {
            let src = self.any_scalar();
            let shift = matches!(op, BPF_LSH | BPF_RSH | BPF_ARSH);
            let off = i16::from(matches!(op, BPF_DIV | BPF_MOD) && self.rng.chance(30));
            if !shift || self.rng.chance(40) {
                self.emit(insn(class | op | BPF_X, dst, src, off, 0));
            }
        } else {
            let imm = match op {
                BPF_LSH | BPF_RSH | BPF_ARSH => self.rng.below(32) as i32,
                BPF_DIV | BPF_MOD => 1 + self.rng.below(300) as i32,
                _ => self.imm(),
            };
            self.emit(insn(class | op, dst, 0, 0, imm));
        }
        self.kinds[dst as usize] = Kind::Scalar;
    }

    /// Makes a scalar small.
    fn bound(&mut self) {
        let dst = self.any_scalar();
        let mask = self.rng.pick(&[1, 3, 7, 8, 15, 24, 31, 63]);
        self.emit(insn(BPF_ALU64 | BPF_AND, dst, 0, 0, mask));
        self.kinds[dst as usize] = Kind::Small;
        if self.rng.chance(15) {
            let imm = self.imm();
            self.emit(insn(BPF_ALU64 | BPF_SUB, dst, 0, 0, imm));
        }
    }

    fn stack_off(&mut self, size: i64) -> i16 {
        let slots = 1 + self.rng.below(6) as i64;
        let inside = if self.rng.chance(70) { 0 } else { self.rng.below(8) as i64 / size * size };
        let off = -8 * slots + inside;
        if self.rng.chance(3) {
            (off + self.rng.below(600) as i64 - 300) as i16
        } else {
            off as i16
        }
    }

    fn stack_access(&mut self) {
        let (code, size) = if self.rng.chance(50) { (BPF_DW, 8) } else { self.rng.pick(&SIZES) };
        let off = self.stack_off(size);
        match self.rng.below(5) {
            0 => {
                let imm = self.imm();
                self.emit(insn(BPF_ST | BPF_MEM | code, 10, 0, off, imm));
            }
            1 | 2 => {
                let src = self.rng.below(10) as u8;
                let src =
                    if self.kinds[src as usize] == Kind::Nothing { self.any_scalar() } else { src };
                self.emit(insn(BPF_STX | BPF_MEM | code, 10, src, off, 0));
            }
            _ => {
                let dst = self.free();
                self.emit(insn(BPF_LDX | BPF_MEM | code, dst, 10, off, 0));
                self.kinds[dst as usize] = Kind::Scalar;
            }
        }
    }

    /// A stack pointer, or a copy of a pointer, plus a constant.
    fn pointer(&mut self) {
        let dst = self.free();
        let src = self.reg(&[Kind::Value, Kind::Packet, Kind::Stack]).unwrap_or(10);
        let src = if self.rng.chance(40) { 10 } else { src };
        self.mov_reg(dst, src);
        let imm = match self.kinds[src as usize] {
            Kind::Stack if src == 10 => -8 * (1 + self.rng.below(8) as i32),
            _ => self.rng.below(24) as i32 - 4,
        };
        let op = if self.rng.chance(90) { BPF_ADD } else { BPF_SUB };
        self.emit(insn(BPF_ALU64 | op, dst, 0, 0, imm));
    }

    fn variable_pointer(&mut self) {
        let Some(src) = self.reg(&[Kind::Value, Kind::Packet, Kind::Stack]) else {
            return self.pointer();
        };
        let small = match self.reg(&[Kind::Small]) {
            Some(small) => small,
            None => {
                self.bound();
                return;
            }
        };
        let dst = if self.rng.chance(60) { src } else { self.free() };
        if dst != src && dst != small {
            self.mov_reg(dst, src);
        }
        let op = if self.rng.chance(85) { BPF_ADD } else { BPF_SUB };
        self.emit(insn(BPF_ALU64 | op | BPF_X, dst, small, 0, 0));
    }

    /// A load or store through a pointer.
    fn access(&mut self) {
        let wanted = [Kind::Value, Kind::Packet, Kind::Stack, Kind::Stack, Kind::Ctx];
        let kind = self.rng.pick(&wanted);
        let Some(ptr) = self.reg(&[kind]) else { return };
        let (code, size) = self.rng.pick(&SIZES);
        let off = match self.rng.below(10) {
            0 => self.rng.below(80) as i16 - 40,
            _ => (self.rng.below(16) as i64 / size * size) as i16,
        };
        match self.rng.below(5) {
            0 if kind != Kind::Ctx => {
                let imm = self.imm();
                self.emit(insn(BPF_ST | BPF_MEM | code, ptr, 0, off, imm));
            }
            1 | 2 if kind != Kind::Ctx => {
                let src = if self.rng.chance(90) { self.any_scalar() } else { ptr };
                self.emit(insn(BPF_STX | BPF_MEM | code, ptr, src, off, 0));
            }
            3 if code != BPF_DW => {
                let dst = self.free();
                self.emit(insn(BPF_LDX | BPF_MEMSX | code, dst, ptr, off, 0));
                self.kinds[dst as usize] = Kind::Scalar;
            }
            _ => {
                let dst = self.free();
                self.emit(insn(BPF_LDX | BPF_MEM | code, dst, ptr, off, 0));
                self.kinds[dst as usize] = Kind::Scalar;
            }
        }
    }

    /// A map lookup, with or without a NULL check.
    fn lookup(&mut self) {
        let map = self.rng.below(u64::from(MAPS)) as i32;
        let off = -8 * (1 + self.rng.below(5) as i32);
        if self.rng.chance(80) {
            let imm = self.imm();
            self.emit(insn(BPF_ST | BPF_MEM | BPF_W, 10, 0, off as i16, imm));
        }
        let [first, mut second] = Insn::ld_imm64(1, BPF_PSEUDO_MAP_FD, map as u64);
        second.imm = 0;
        self.emit(first);
        self.emit(second);
        self.mov_reg(2, 10);
        self.emit(insn(BPF_ALU64 | BPF_ADD, 2, 0, 0, off));
        self.emit(insn(BPF_JMP | BPF_CALL, 0, 0, 0, 1));
        self.clobber();
        let dst = self.rng.pick(&[0, 7, 8, 9]);
        if dst != 0 {
            self.mov_reg(dst, 0);
        }
        if self.rng.chance(93) {
            let tested = if self.rng.chance(70) { dst } else { 0 };
            self.emit(insn(BPF_JMP | BPF_JNE, tested, 0, 2, 0));
            self.emit(insn(BPF_ALU64 | BPF_MOV, 0, 0, 0, 0));
            self.emit(insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
        }
        self.kinds[dst as usize] = Kind::Value;
    }

    /// A constant address in a map value.
    fn map_value(&mut self) {
        let dst = self.free();
        let map = self.rng.pick(&[0, 2]);
        let off = self.rng.below(u64::from(VALUE_BYTES)) as i32 & !3;
        let [first, mut second] = Insn::ld_imm64(dst, BPF_PSEUDO_MAP_VALUE, map);
        second.imm = off;
        self.emit(first);
        self.emit(second);
        self.kinds[dst as usize] = Kind::Value;
    }

    /// A packet access after a bounds check.
    fn packet(&mut self) {
        if self.prog_type == ProgType::SocketFilter || self.kinds[6] != Kind::Ctx {
            return;
        }
        let xdp = self.prog_type == ProgType::Xdp;
        let (data, end) = if xdp { (0, 4) } else { (76, 80) };
        let dst = self.rng.pick(&[7, 8, 9, 5]);
        self.emit(insn(BPF_LDX | BPF_MEM | BPF_W, dst, 6, data, 0));
        self.emit(insn(BPF_LDX | BPF_MEM | BPF_W, 3, 6, end, 0));
        self.kinds[dst as usize] = Kind::Packet;
        self.kinds[3] = Kind::Nothing;
        if self.rng.chance(25)
            && let Some(small) = self.reg(&[Kind::Small])
        {
            self.emit(insn(BPF_ALU64 | BPF_ADD | BPF_X, dst, small, 0, 0));
        }
        self.mov_reg(4, dst);
        let len = self.rng.below(40) as i32;
        self.emit(insn(BPF_ALU64 | BPF_ADD, 4, 0, 0, len));
        let (op, swap) = self.rng.pick(&[
            (BPF_JLE, false),
            (BPF_JLT, false),
            (BPF_JGE, true),
            (BPF_JGT, true),
            (BPF_JGT, false),
        ]);
        let (a, b) = if swap { (3, 4) } else { (4, 3) };
        self.emit(insn(BPF_JMP | op | BPF_X, a, b, 2, 0));
        self.emit(insn(BPF_ALU64 | BPF_MOV, 0, 0, 0, 0));
        self.emit(insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
        self.kinds[4] = Kind::Packet;
    }

    fn branch(&mut self) {
        let ops = [
            BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET, BPF_JNE, BPF_JSGT, BPF_JSGE, BPF_JLT, BPF_JLE,
            BPF_JSLT, BPF_JSLE,
        ];
        let op = self.rng.pick(&ops);
        let class = self.rng.pick(&[BPF_JMP, BPF_JMP32]);
        let dst = self.any_scalar();
        if self.rng.chance(30) {
            let src = self.any_scalar();
            self.emit(insn(class | op | BPF_X, dst, src, 0, 0));
        } else {
            let imm = self.imm();
            self.emit(insn(class | op, dst, 0, 0, imm));
        }
        self.open_block();
    }

    fn atomic(&mut self) {
        let ptr = self.reg(&[Kind::Value, Kind::Stack, Kind::Packet]).unwrap_or(10);
        let (code, size) = self.rng.pick(&[(BPF_W, 4i64), (BPF_DW, 8)]);
        let off = if ptr == 10 { self.stack_off(size) } else { 0 };
        let ops = [
            i32::from(BPF_ADD),
            i32::from(BPF_AND) | BPF_FETCH,
            i32::from(BPF_OR),
            i32::from(BPF_XOR) | BPF_FETCH,
            BPF_XCHG,
            BPF_CMPXCHG,
            BPF_LOAD_ACQ,
            BPF_STORE_REL,
        ];
        let op = self.rng.pick(&ops);
        let other = self.any_scalar();
        let (dst, src) = if op == BPF_LOAD_ACQ { (other, ptr) } else { (ptr, other) };
        self.emit(insn(BPF_STX | BPF_ATOMIC | code, dst, src, off, op));
        if op == BPF_CMPXCHG {
            self.kinds[0] = Kind::Scalar;
        } else {
            self.kinds[other as usize] = Kind::Scalar;
        }
    }

    fn sign_extend(&mut self) {
        let (dst, src) = (self.free(), self.any_scalar());
        let (class, bits) = self.rng.pick(&[
            (BPF_ALU64, 8),
            (BPF_ALU64, 16),
            (BPF_ALU64, 32),
            (BPF_ALU, 8),
            (BPF_ALU, 16),
        ]);
        self.emit(insn(class | BPF_MOV | BPF_X, dst, src, bits, 0));
        self.kinds[dst as usize] = Kind::Scalar;
    }

    fn early_exit(&mut self) {
        let dst = self.any_scalar();
        let imm = self.imm();
        self.emit(insn(BPF_JMP | BPF_JEQ, dst, 0, 2, imm));
        self.mov_imm(0, 1);
        self.emit(insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
    }
}
