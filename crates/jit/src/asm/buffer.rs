//! `Asm`: the code buffer of a program, with labels.
//!
//! # Invariants
//! 1. Every label that is used is bound before `finish`.
//! 2. A site's bytes are only written by the site's method.

use super::form::Form;
use super::operands::{Cc, Mem, Operands, Rm, Width, X86};
use super::{encode, forms};
use crate::PokeMode;
use crate::regs::SCRATCH;
use crate::sites::{RetargetSite, SwitchSite};
use std::ops::Range;

/// A place in the code, maybe not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(u32);

const UNBOUND: u32 = u32::MAX;

/// A displacement to be filled in when its label is bound.
#[derive(Clone, Copy, Debug)]
struct Fixup {
    /// Where the displacement starts.
    at: u32,
    label: Label,
    /// One byte, not four.
    short: bool,
}

/// A call of an address, whose displacement depends on the position of the code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AbsCall {
    pub(crate) disp_off: u32,
    pub(crate) address: u64,
}

/// Code that is complete except for its position.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Vec<u8>,
    /// Offsets of the labels, by number.
    pub(crate) labels: Vec<u32>,
    pub(crate) calls: Vec<AbsCall>,
    /// Where to fill in the addresses of flags, by number of the flag.
    pub(crate) flags: Vec<u32>,
    pub(crate) hints: Hints,
}

/// Results of one attempt for the next, which emits the same insns in the same order.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    labels: Vec<u32>,
    jumps: Vec<u32>,
}

/// Code being emitted.
#[derive(Debug, Default)]
pub(crate) struct Asm {
    code: Vec<u8>,
    labels: Vec<u32>,
    fixups: Vec<Fixup>,
    /// Positions of jumps, in the order in which they are emitted.
    jumps: Vec<u32>,
    /// Results of the previous attempt; empty in the first.
    hints: Hints,
    /// Addresses that a call can reach from any possible position of the code.
    reach: Range<u64>,
    calls: Vec<AbsCall>,
    flags: Vec<u32>,
    poke: PokeMode,
    /// The insn that may become a switch: its start, and its end once it is emitted.
    first: Option<(u32, Option<u32>)>,
}

impl Asm {
    /// With the results of the previous attempt, forward jumps may be short.
    pub(crate) fn new(reach: Range<u64>, hints: Hints, poke: PokeMode) -> Asm {
        Asm { reach, hints, poke, ..Asm::default() }
    }

    /// Makes room for a program of so many ops.
    pub(crate) fn reserve(&mut self, ops: usize) {
        self.code.reserve(6 * ops);
        self.labels.reserve(ops + ops / 4 + 16);
        self.fixups.reserve(ops / 4 + 4);
        self.jumps.reserve(ops / 4 + 4);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    /// Offset of the next insn.
    pub(crate) fn here(&self) -> u32 {
        self.code.len() as u32
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(UNBOUND);
        Label(self.labels.len() as u32 - 1)
    }

    /// Several labels.
    pub(crate) fn labels(&mut self, count: usize) -> Vec<Label> {
        let first = self.labels.len();
        self.labels.resize(first + count, UNBOUND);
        (first as u32..self.labels.len() as u32).map(Label).collect()
    }

    pub(crate) fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = self.here();
    }

    /// Offset of a label that is bound.
    pub(crate) fn offset(&self, label: Label) -> u32 {
        self.labels[label.0 as usize]
    }

    /// Writes one insn.
    pub(crate) fn insn(&mut self, form: &Form, operands: Operands) {
        encode::insn(&mut self.code, form, operands);
        self.end_of_insn();
    }

    /// `form reg, rm`.
    pub(crate) fn rr(&mut self, form: &Form, width: Width, reg: X86, rm: X86) {
        self.insn(form, Operands { width, reg, vvvv: X86::RAX, rm: Rm::Reg(rm), imm: 0 });
    }

    /// `form reg, [mem]`, or `form [mem], reg`.
    pub(crate) fn rm(&mut self, form: &Form, width: Width, reg: X86, mem: Mem) {
        self.insn(form, Operands { width, reg, vvvv: X86::RAX, rm: Rm::Mem(mem), imm: 0 });
    }

    /// `form rm, imm`.
    pub(crate) fn ri(&mut self, form: &Form, width: Width, rm: X86, imm: i64) {
        self.insn(form, Operands { width, reg: rm, vvvv: X86::RAX, rm: Rm::Reg(rm), imm });
    }

    /// `form [mem], imm`.
    pub(crate) fn mi(&mut self, form: &Form, width: Width, mem: Mem, imm: i64) {
        self.insn(form, Operands { width, reg: X86::RAX, vvvv: X86::RAX, rm: Rm::Mem(mem), imm });
    }

    /// `form reg`.
    pub(crate) fn r(&mut self, form: &Form, width: Width, reg: X86) {
        self.insn(form, Operands { width, reg, vvvv: X86::RAX, rm: Rm::Reg(reg), imm: 0 });
    }

    /// `form`.
    pub(crate) fn bare(&mut self, form: &Form) {
        self.r(form, Width::W32, X86::RAX);
    }

    /// `jmp label`.
    pub(crate) fn jmp(&mut self, label: Label) {
        self.jump(&forms::JMP8, &forms::JMP, label);
    }

    /// `jcc label`.
    pub(crate) fn jcc(&mut self, cc: Cc, label: Label) {
        self.jump(&forms::jcc8(cc), &forms::jcc(cc), label);
    }

    /// `call label`.
    pub(crate) fn call(&mut self, label: Label) {
        self.bare(&forms::CALL);
        self.fixup(label, false);
    }

    /// `lea reg, [label]`.
    pub(crate) fn lea_label(&mut self, reg: X86, label: Label) {
        // ModRM with mode 0 and base 5 is relative to the next insn.
        self.bytes(&[0x48 | (reg.0 >> 3) << 2, 0x8d, (reg.0 & 7) << 3 | 5, 0, 0, 0, 0]);
        self.fixup(label, false);
        self.end_of_insn();
    }

    /// `add reg, fs:[word]`: the word at this offset from the thread pointer.
    pub(crate) fn add_thread_word(&mut self, reg: X86, word: i32) {
        // ModRM with base 4, and SIB without base and index, is an address without registers.
        let (rex, modrm) = (0x48 | (reg.0 >> 3) << 2, (reg.0 & 7) << 3 | 4);
        self.bytes(&[0x64, rex, 0x03, modrm, 0x25]);
        self.bytes(&word.to_le_bytes());
        self.end_of_insn();
    }

    /// `call address`, if it is within reach from any possible position of the code.
    pub(crate) fn call_address(&mut self, address: u64) -> bool {
        if !self.reach.contains(&address) {
            return false;
        }
        self.bare(&forms::CALL);
        self.calls.push(AbsCall { disp_off: self.here() - 4, address });
        true
    }

    fn fixup(&mut self, label: Label, short: bool) {
        let bytes = if short { 1 } else { 4 };
        self.fixups.push(Fixup { at: self.here() - bytes, label, short });
    }

    fn jump(&mut self, short_form: &Form, long_form: &Form, label: Label) {
        let short = self.is_near(label);
        self.bare(if short { short_form } else { long_form });
        self.fixup(label, short);
    }

    /// Backwards the distance is known; forwards the previous attempt gives an upper bound, except
    /// for the padding of loop heads.
    fn is_near(&mut self, label: Label) -> bool {
        let number = self.jumps.len();
        self.jumps.push(self.here());
        let bound = self.offset(label);
        if bound != UNBOUND {
            return i64::from(bound) - (i64::from(self.here()) + 2) >= -128;
        }
        let to = self.hints.labels.get(label.0 as usize);
        let from = self.hints.jumps.get(number);
        to.zip(from).is_some_and(|(to, from)| *to != UNBOUND && to.saturating_sub(*from) <= 96)
    }

    /// `test eax, imm32` while off, `jmp label` while on; initially off. Clobbers flags, and `r11`
    /// if code is not patched.
    pub(crate) fn switch_site(&mut self, label: Label) -> SwitchSite {
        if self.poke == PokeMode::Flag {
            return self.flag_site(label);
        }
        let site = SwitchSite::new(self.here());
        self.bare(&forms::TEST_EAX);
        self.fixup(label, false);
        site
    }

    /// Like [`Asm::switch_site`], but initially on; only for patched code.
    pub(crate) fn switch_site_on(&mut self, label: Label) -> SwitchSite {
        let site = SwitchSite::new(self.here());
        self.bare(&forms::JMP);
        self.fixup(label, false);
        site
    }

    /// The next insn may become a switch ([`Asm::insn_site`]), with a jump to `label` before it.
    /// Nothing may be emitted in between; the insn is aligned to `align`.
    pub(crate) fn front_of_insn_site(&mut self, label: Label, align: u32) {
        self.align_behind(align, SwitchSite::FRONT_BYTES);
        self.bare(&forms::JMP);
        self.fixup(label, false);
        self.first = Some((self.here(), None));
    }

    /// The switch for the insn after [`Asm::front_of_insn_site`], and its end; `None` if it is not
    /// suitable: too short, position-dependent, or a jump target. Called when the program is
    /// complete.
    pub(crate) fn insn_site(&self) -> Option<(SwitchSite, u32)> {
        let (start, end) = self.first?;
        let insn = start..end?;
        let bytes = self.code.get(insn.start as usize..insn.end as usize)?.first_chunk::<2>()?;
        let is_relative = self.fixups.iter().any(|fixup| insn.contains(&fixup.at))
            || self.calls.iter().any(|call| insn.contains(&call.disp_off));
        let is_target = self
            .fixups
            .iter()
            .any(|fixup| fixup.at > start && insn.contains(&self.offset(fixup.label)));
        let fits = !is_relative && !is_target && start % 2 == 0;
        fits.then(|| (SwitchSite::of_insn(start, *bytes), insn.end))
    }

    /// A copy of the insn that is a switch, and the position after it.
    pub(crate) fn insn_elsewhere(&mut self, site: SwitchSite, end: u32) {
        let start = site.off() as usize;
        self.code.extend_from_within(start..end as usize);
        let behind = self.label();
        self.labels[behind.0 as usize] = end;
        self.jmp(behind);
    }

    /// Called after each insn.
    fn end_of_insn(&mut self) {
        if let Some((_, end @ None)) = &mut self.first {
            *end = Some(self.code.len() as u32);
        }
    }

    fn flag_site(&mut self, label: Label) -> SwitchSite {
        let site = SwitchSite::of_flag(self.here(), self.flags.len() as u32);
        self.ri(&forms::MOV_I64, Width::W64, SCRATCH, 0);
        self.flags.push(self.here() - 8);
        self.mi(&forms::TEST8_I8, Width::W32, Mem::base(SCRATCH, 0), 1);
        // With a fixed length, so that the code after it can be aligned.
        self.bare(&forms::jcc(Cc::NE));
        self.fixup(label, false);
        site
    }

    /// `jmp label` whose displacement is aligned to 4 bytes, so that one store changes it.
    pub(crate) fn retarget_site(&mut self, label: Label) -> RetargetSite {
        let pad = (3 - self.here() % 4) as usize;
        if pad > 0 {
            self.bytes(NOPS[pad - 1]);
        }
        let site = RetargetSite::new(self.here());
        self.bare(&forms::JMP);
        self.fixup(label, false);
        site
    }

    /// Pads to a multiple of `align` with no-ops, if that takes at most `max` bytes.
    pub(crate) fn align(&mut self, align: u32, max: u32) {
        let pad = self.here().next_multiple_of(align) - self.here();
        if pad <= max {
            self.pad(pad);
        }
    }

    /// Pads so that the position `bytes` later is a multiple of `align`.
    pub(crate) fn align_behind(&mut self, align: u32, bytes: u32) {
        let behind = self.here() + bytes;
        self.pad(behind.next_multiple_of(align) - behind);
    }

    fn pad(&mut self, mut pad: u32) {
        while pad > 0 {
            let nop = NOPS[(pad as usize).min(NOPS.len()) - 1];
            self.bytes(nop);
            self.end_of_insn();
            pad -= nop.len() as u32;
        }
    }

    /// The code with all displacements filled in, and results for the next attempt. `None` if a
    /// short jump does not reach: the attempt failed.
    pub(crate) fn finish(mut self) -> Option<Finished> {
        for fixup in &self.fixups {
            let at = fixup.at as usize;
            let bytes = if fixup.short { 1 } else { 4 };
            let to = self.labels[fixup.label.0 as usize];
            let disp = to.wrapping_sub(fixup.at + bytes) as i32;
            if fixup.short {
                self.code[at] = i8::try_from(disp).ok()? as u8;
            } else {
                self.code[at..at + 4].copy_from_slice(&disp.to_le_bytes());
            }
        }
        let hints = Hints { labels: self.labels.clone(), jumps: self.jumps };
        let (calls, flags) = (self.calls, self.flags);
        Some(Finished { code: self.code, labels: self.labels, calls, flags, hints })
    }
}

/// No-ops of 1 to 9 bytes, as recommended by the manuals.
const NOPS: [&[u8]; 9] = [
    &[0x90],
    &[0x66, 0x90],
    &[0x0f, 0x1f, 0x00],
    &[0x0f, 0x1f, 0x40, 0x00],
    &[0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
    &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
    &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
];
