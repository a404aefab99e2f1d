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

impl Label {
    /// Labels are numbered in the order in which they are made.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }
}

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
    pub(crate) spans: Vec<(u32, u32)>,
    pub(crate) calls: Vec<AbsCall>,
    /// Where to fill in the addresses of flags, by number of the flag.
    pub(crate) flags: Vec<u32>,
}

/// Code whose length depends on its position, as it is in the buffer.
#[derive(Clone, Copy, Debug)]
struct Piece {
    at: u32,
    bytes: u32,
    kind: PieceKind,
    /// The number of labels bound before it, of spans and of fixups.
    binds: u32,
    spans: u32,
    fixups: u32,
}

#[derive(Clone, Copy, Debug)]
enum PieceKind {
    /// `jmp` or `jcc`.
    Jump { cc: Option<Cc>, label: Label },
    /// No-ops, as many as make the position `behind` bytes later a multiple of `align`, unless
    /// these are more than `max`.
    Pad { align: u32, behind: u32, max: u32 },
}

/// Where code is after [`Asm::relaxed`].
#[derive(Debug, Default)]
pub(crate) struct Moved {
    /// Offsets before, and how far the code from there on has moved.
    by: Vec<(u32, i32)>,
}

impl Moved {
    /// The offset of what was at `off`.
    pub(crate) fn to(&self, off: u32) -> u32 {
        let after = self.by.partition_point(|(from, _)| *from <= off);
        let by = after.checked_sub(1).map_or(0, |at| self.by[at].1);
        off.wrapping_add_signed(by)
    }
}

/// Code being emitted.
#[derive(Debug, Default)]
pub(crate) struct Asm {
    code: Vec<u8>,
    labels: Vec<u32>,
    fixups: Vec<Fixup>,
    /// Labels in the order in which they were bound.
    binds: Vec<Label>,
    pieces: Vec<Piece>,
    /// Start of the code of ops, each time it is emitted: offset, op.
    spans: Vec<(u32, u32)>,
    /// Addresses that a call can reach from any possible position of the code.
    reach: Range<u64>,
    calls: Vec<AbsCall>,
    flags: Vec<u32>,
    poke: PokeMode,
    /// The insn that may become a switch: its start, and its end once it is emitted.
    first: Option<(u32, Option<Label>)>,
}

impl Asm {
    /// Forward jumps are long: see [`Asm::relaxed`].
    pub(crate) fn new(reach: Range<u64>, poke: PokeMode) -> Asm {
        Asm { reach, poke, ..Asm::default() }
    }

    /// Makes room for a program of so many ops.
    pub(crate) fn reserve(&mut self, ops: usize) {
        self.code.reserve(6 * ops);
        self.labels.reserve(ops + ops / 4 + 16);
        self.binds.reserve(ops + ops / 4 + 16);
        self.spans.reserve(ops);
        self.fixups.reserve(ops / 4 + 16);
        self.pieces.reserve(ops / 4 + 16);
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
        self.binds.push(label);
    }

    /// Records that the code of an op starts here.
    pub(crate) fn span(&mut self, op: usize) {
        self.spans.push((self.here(), op as u32));
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
        self.jump(None, label);
    }

    /// `jcc label`.
    pub(crate) fn jcc(&mut self, cc: Cc, label: Label) {
        self.jump(Some(cc), label);
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

    /// Backwards, the distance is known.
    fn jump(&mut self, cc: Option<Cc>, label: Label) {
        let short = self.is_near_back(label);
        self.piece(PieceKind::Jump { cc, label });
        self.jump_of(cc, label, short);
        self.end_of_piece();
    }

    /// Whether a short jump from here reaches a label before it.
    fn is_near_back(&self, label: Label) -> bool {
        let bound = self.offset(label);
        bound != UNBOUND && i64::from(bound) - (i64::from(self.here()) + 2) >= -128
    }

    fn jump_of(&mut self, cc: Option<Cc>, label: Label, short: bool) {
        let form = match (cc, short) {
            (None, true) => forms::JMP8,
            (None, false) => forms::JMP,
            (Some(cc), true) => forms::jcc8(cc),
            (Some(cc), false) => forms::jcc(cc),
        };
        self.bare(&form);
        self.fixup(label, short);
    }

    fn piece(&mut self, kind: PieceKind) {
        let (binds, spans) = (self.binds.len() as u32, self.spans.len() as u32);
        let (at, fixups) = (self.here(), self.fixups.len() as u32);
        self.pieces.push(Piece { at, bytes: 0, kind, binds, spans, fixups });
    }

    fn end_of_piece(&mut self) {
        let here = self.here();
        if let Some(piece) = self.pieces.last_mut() {
            piece.bytes = here - piece.at;
        }
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
    pub(crate) fn insn_site(&self) -> Option<(SwitchSite, Label)> {
        let (start, end) = self.first?;
        let insn = start..self.offset(end?);
        let bytes = self.code.get(insn.start as usize..insn.end as usize)?.first_chunk::<2>()?;
        let is_relative = self.fixups.iter().any(|fixup| insn.contains(&fixup.at))
            || self.calls.iter().any(|call| insn.contains(&call.disp_off));
        let is_target = self
            .fixups
            .iter()
            .any(|fixup| fixup.at > start && insn.contains(&self.offset(fixup.label)));
        let fits = !is_relative && !is_target && start % 2 == 0;
        fits.then_some((SwitchSite::of_insn(start, *bytes), end?))
    }

    /// A copy of the insn that is a switch, and a jump to its end.
    pub(crate) fn insn_elsewhere(&mut self, site: SwitchSite, end: Label) {
        let start = site.off() as usize;
        self.code.extend_from_within(start..self.offset(end) as usize);
        self.jmp(end);
    }

    /// Called after each insn.
    fn end_of_insn(&mut self) {
        if let Some((start, None)) = self.first {
            let end = self.label();
            self.bind(end);
            self.first = Some((start, Some(end)));
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
        self.align_behind(4, 1);
        let site = RetargetSite::new(self.here());
        self.bare(&forms::JMP);
        self.fixup(label, false);
        site
    }

    /// Pads to a multiple of `align` with no-ops, if that takes at most `max` bytes.
    pub(crate) fn align(&mut self, align: u32, max: u32) {
        self.pad_to(align, 0, max);
    }

    /// Pads so that the position `bytes` later is a multiple of `align`.
    pub(crate) fn align_behind(&mut self, align: u32, bytes: u32) {
        self.pad_to(align, bytes, align);
    }

    fn pad_to(&mut self, align: u32, behind: u32, max: u32) {
        self.piece(PieceKind::Pad { align, behind, max });
        self.pad(self.padding(align, behind, max));
        self.end_of_piece();
    }

    fn padding(&self, align: u32, behind: u32, max: u32) -> u32 {
        let behind = self.here() + behind;
        let pad = behind.next_multiple_of(align) - behind;
        if pad <= max { pad } else { 0 }
    }

    fn pad(&mut self, mut pad: u32) {
        while pad > 0 {
            let nop = NOPS[(pad as usize).min(NOPS.len()) - 1];
            self.bytes(nop);
            self.end_of_insn();
            pad -= nop.len() as u32;
        }
    }

    /// The complete program with short forward jumps where they seem to reach, and where its code
    /// has moved. Distances in the program as it is are upper bounds, except for the padding of
    /// loop heads.
    pub(crate) fn relaxed(&self) -> (Asm, Moved) {
        let mut out = Asm::default();
        out.code.reserve(self.code.len() + 64);
        out.labels.resize(self.labels.len(), UNBOUND);
        out.spans.reserve(self.spans.len());
        out.fixups.reserve(self.fixups.len());
        let mut moved = Moved { by: Vec::with_capacity(self.pieces.len()) };
        let (mut from, mut done) = (0, [0; 3]);
        for piece in &self.pieces {
            let until = [piece.binds, piece.spans, piece.fixups].map(|count| count as usize);
            out.copy(self, from..piece.at as usize, done, until);
            (from, done) = ((piece.at + piece.bytes) as usize, until);
            match piece.kind {
                PieceKind::Jump { cc, label } => {
                    let to = self.offset(label);
                    let short = match out.offset(label) {
                        UNBOUND => to != UNBOUND && to.saturating_sub(piece.at) <= 96,
                        _ => out.is_near_back(label),
                    };
                    out.jump_of(cc, label, short);
                    done[2] += 1;
                }
                PieceKind::Pad { align, behind, max } => {
                    out.pad(out.padding(align, behind, max));
                }
            }
            moved.by.push((from as u32, out.here().wrapping_sub(from as u32) as i32));
        }
        let until = [self.binds.len(), self.spans.len(), self.fixups.len()];
        out.copy(self, from..self.code.len(), done, until);
        let call = |call: &AbsCall| AbsCall { disp_off: moved.to(call.disp_off), ..*call };
        out.calls.extend(self.calls.iter().map(call));
        out.flags.extend(self.flags.iter().map(|off| moved.to(*off)));
        (out, moved)
    }

    /// Appends part of another program: code, and the labels, spans and fixups in it, from the
    /// first numbers to the second.
    fn copy(&mut self, other: &Asm, code: Range<usize>, from: [usize; 3], to: [usize; 3]) {
        let by = self.here().wrapping_sub(code.start as u32);
        self.code.extend_from_slice(&other.code[code]);
        for label in &other.binds[from[0]..to[0]] {
            let number = label.0 as usize;
            self.labels[number] = other.labels[number].wrapping_add(by);
        }
        let spans = other.spans[from[1]..to[1]].iter();
        self.spans.extend(spans.map(|(off, op)| (off.wrapping_add(by), *op)));
        let fixups = other.fixups[from[2]..to[2]].iter();
        self.fixups.extend(fixups.map(|fixup| Fixup { at: fixup.at.wrapping_add(by), ..*fixup }));
    }

    /// The code with all displacements filled in. `None` if a short jump does not reach.
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
        let (labels, spans, calls) = (self.labels, self.spans, self.calls);
        Some(Finished { code: self.code, labels, spans, calls, flags: self.flags })
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
