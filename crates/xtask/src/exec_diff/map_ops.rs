//! Maps in a random program: lookups, updates and deletes with few keys, so that they collide.

use super::builder::{FP, Gen, PROGRAMS};
use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::{MapDef, MapSlot, SlotTarget};
use skep::uapi::MapType;
use skep::uapi::helper::HelperId;

/// Name, type, entries. Values have 8 bytes, except for program maps and the global variables.
const MAPS: [(&str, MapType, u32); 7] = [
    ("array", MapType::Array, 6),
    ("hash", MapType::Hash, 4),
    ("percpu_array", MapType::PercpuArray, 5),
    ("percpu_hash", MapType::PercpuHash, 4),
    ("queue", MapType::Queue, 3),
    ("programs", MapType::ProgArray, 4),
    ("globals", MapType::Array, 1),
];
/// The first maps of these have keys.
const KEYED: u64 = 4;
const QUEUE: i32 = 4;
pub(super) const PROG_ARRAY: i32 = 5;
const GLOBALS: u64 = 6;
const GLOBALS_BYTES: u32 = 64;

/// Below the slots of numbers.
const KEY: i16 = -40;
const VALUE: i16 = -48;

const LOOKUP: i32 = HelperId::MapLookupElem as i32;
const UPDATE: i32 = HelperId::MapUpdateElem as i32;
const DELETE: i32 = HelperId::MapDeleteElem as i32;
const PUSH: i32 = HelperId::MapPushElem as i32;
const POP: i32 = HelperId::MapPopElem as i32;
const PEEK: i32 = HelperId::MapPeekElem as i32;

/// The maps of every program that uses maps. Slots of programs that do not exist stay empty.
pub(super) fn defs() -> Vec<MapDef> {
    let slot = |(index, name): (u32, &&str)| MapSlot {
        index,
        target: SlotTarget::Prog((*name).to_owned()),
    };
    let slots: Vec<MapSlot> = (0u32..).zip(&PROGRAMS).map(slot).collect();
    MAPS.iter()
        .map(|&(name, map_type, max_entries)| MapDef {
            name: name.to_owned(),
            map_type,
            key_size: if map_type == MapType::Queue { 0 } else { 4 },
            value_size: match name {
                "programs" => 4,
                "globals" => GLOBALS_BYTES,
                _ => 8,
            },
            max_entries,
            slots: if map_type == MapType::ProgArray { slots.clone() } else { Vec::new() },
            autocreate: true,
            ..MapDef::default()
        })
        .collect()
}

impl Gen {
    /// One operation on a map. Afterwards all registers hold numbers again.
    pub(super) fn map_op(&mut self) {
        if self.rng.chance(40) {
            return self.global();
        }
        let map = self.rng.below(KEYED) as i32;
        match self.rng.below(8) {
            0..4 => self.lookup(map),
            4..6 => self.update(map),
            6 => self.delete(map),
            _ => self.queue(),
        }
        self.numbers_again();
    }

    /// One or two accesses to a global variable, possibly with a computed index.
    fn global(&mut self) {
        let (addr, value) = self.pair();
        let size = self.rng.pick(&[BPF_B, BPF_H, BPF_W, BPF_DW]);
        let start = self.rng.below(4) * 8;
        let [first, second] = Insn::ld_imm64(addr, BPF_PSEUDO_MAP_VALUE, start << 32 | GLOBALS);
        self.push_insn(first);
        self.push_insn(second);
        if self.rng.chance(50) {
            let mask = self.rng.pick(&[1, 3, 7, 15]);
            self.push(BPF_ALU64 | BPF_AND, (value, 0), (0, mask));
            if self.rng.chance(30) {
                self.push(BPF_ALU64 | BPF_LSH, (value, 0), (0, 1));
            }
            self.push(BPF_ALU64 | BPF_ADD | BPF_X, (addr, value), (0, 0));
        }
        // Start (24), index (30), offset (2) and access (8) are at most 64 bytes.
        let off = self.rng.pick(&[0, 1, 2]);
        let class = self.rng.pick(&[BPF_ALU64, BPF_ALU]);
        let op = self.rng.pick(&[BPF_ADD, BPF_SUB, BPF_AND, BPF_OR, BPF_XOR]);
        match self.rng.below(5) {
            0 => self.push(BPF_STX | BPF_MEM | size, (addr, value), (off, 0)),
            1 => {
                let imm = self.imm();
                self.push(BPF_ST | BPF_MEM | size, (addr, 0), (off, imm));
            }
            2 => self.push(BPF_LDX | BPF_MEM | size, (value, addr), (off, 0)),
            way => {
                let other = self.four().into_iter().find(|reg| ![addr, value].contains(reg));
                let other = other.unwrap_or(value);
                self.push(BPF_LDX | BPF_MEM | size, (other, addr), (off, 0));
                let (to, from) = if way == 3 { (other, value) } else { (value, other) };
                self.push(class | op | BPF_X, (to, from), (0, 0));
                self.push(BPF_STX | BPF_MEM | size, (addr, to), (off, 0));
            }
        }
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (addr, value), (0, 0));
    }

    fn argument(&mut self, reg: u8, off: i16) {
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (reg, FP), (0, 0));
        self.push(BPF_ALU64 | BPF_ADD, (reg, 0), (0, i32::from(off)));
    }

    fn key(&mut self) {
        if self.rng.chance(60) {
            let key = self.rng.below(7) as i32;
            self.push(BPF_ST | BPF_MEM | BPF_W, (FP, 0), (KEY, key));
        } else {
            let reg = self.reg();
            self.push(BPF_ALU64 | BPF_AND, (reg, 0), (0, 7));
            self.push(BPF_STX | BPF_MEM | BPF_W, (FP, reg), (KEY, 0));
        }
    }

    fn map(&mut self, map: i32) {
        let [first, second] = Insn::ld_imm64(1, BPF_PSEUDO_MAP_FD, map as u64);
        self.push_insn(first);
        self.push_insn(second);
    }

    fn call_helper(&mut self, helper: i32) {
        self.push(BPF_JMP | BPF_CALL, (0, 0), (0, helper));
    }

    fn lookup(&mut self, map: i32) {
        self.key();
        self.map(map);
        self.argument(2, KEY);
        self.call_helper(LOOKUP);
        let reg = self.rng.pick(&[7, 8]);
        self.push(BPF_JMP | BPF_JEQ, (0, 0), (2, 0));
        match self.rng.below(3) {
            0 => self.push(BPF_LDX | BPF_MEM | BPF_DW, (reg, 0), (0, 0)),
            1 => self.push(BPF_STX | BPF_MEM | BPF_W, (0, reg), (4, 0)),
            _ => self.push(BPF_STX | BPF_ATOMIC | BPF_DW, (0, reg), (0, 1)),
        }
        self.push(BPF_ALU64 | BPF_ADD, (reg, 0), (0, 1));
        self.push(BPF_ALU64 | BPF_MOV | BPF_X, (0, reg), (0, 0));
    }

    fn update(&mut self, map: i32) {
        self.key();
        let reg = self.reg();
        self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, reg), (VALUE, 0));
        self.map(map);
        self.argument(2, KEY);
        self.argument(3, VALUE);
        let flags = self.rng.pick(&[0, 0, 0, 1, 2, 3]);
        self.push(BPF_ALU64 | BPF_MOV, (4, 0), (0, flags));
        self.call_helper(UPDATE);
    }

    fn delete(&mut self, map: i32) {
        self.key();
        self.map(map);
        self.argument(2, KEY);
        self.call_helper(DELETE);
    }

    fn queue(&mut self) {
        let reg = self.reg();
        self.push(BPF_STX | BPF_MEM | BPF_DW, (FP, reg), (VALUE, 0));
        self.map(QUEUE);
        self.argument(2, VALUE);
        if self.rng.chance(50) {
            let flags = self.rng.pick(&[0, 0, 2]);
            self.push(BPF_ALU64 | BPF_MOV, (3, 0), (0, flags));
            self.call_helper(PUSH);
        } else {
            let helper = self.rng.pick(&[POP, PEEK]);
            self.call_helper(helper);
            self.push(BPF_LDX | BPF_MEM | BPF_DW, (7, FP), (VALUE, 0));
        }
    }
}
