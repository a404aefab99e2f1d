//! States and insns in the log.
//!
//! Kernel: `print_verifier_state`, `print_insn_state` (6.18).

use super::reg_text::dynptr_str;
use crate::env::{Env, Facts, Store};
use crate::log::verbose_to;
use crate::state::checkpoint::Marks;
use crate::state::frame::FrameMeta;
use crate::state::ids::CkptId;
use crate::state::reads::FrameReads;
use crate::state::refs::{NOTHING, RefState};
use crate::state::reg::{DynptrKind, Extra, IterState, Reg};
use crate::state::reg_type::Base;
use crate::state::stack::{Slot, SlotType};
use std::fmt::Write;

/// What a state line shows of a frame.
struct View<'v> {
    meta: FrameMeta,
    regs: &'v [Reg; 11],
    slots: &'v [Slot],
    refs: &'v RefState,
    marks: Marks,
    reads: Option<FrameReads>,
}

/// Which registers and slots a state line shows.
#[derive(Clone, Copy)]
struct Shown {
    regs: u32,
    slots: u64,
}

const ALL: Shown = Shown { regs: !0, slots: !0 };

impl Env<'_> {
    /// Prints what precedes an insn: "from A to B:" after a branch, registers changed by the last
    /// insn, the source line, the insn.
    pub(crate) fn print_insn(&mut self, do_print_state: &mut bool) {
        if self.trace.log.traces_all() && std::mem::take(do_print_state) {
            let (prev, idx) = (self.walk.prev_insn_idx as i32, self.walk.insn_idx);
            let speculative =
                if self.walk.cur.meta.speculative { " (speculative execution)" } else { "" };
            verbose_to!(self.trace, "\nfrom {prev} to {idx}{speculative}:");
            self.print_state_all();
        }
        if self.walk.scratched_regs != 0 || self.walk.scratched_slots != 0 {
            self.print_insn_state();
        }
        self.trace.print_source_line(self.facts, self.walk.insn_idx, "; ");
        let start = self.trace.log.pos();
        let mut text = String::new();
        let _ = write!(text, "{}: ", self.walk.insn_idx);
        self.facts.write_insn(&mut text, self.walk.insn_idx);
        verbose_to!(self.trace, "{text}\n");
        self.trace.log_at.prev_insn_print_pos = self.trace.log.pos() - start;
        self.trace.log_at.prev_log_pos = self.trace.log.pos();
    }

    /// Prints that a saved state covers the path.
    pub(crate) fn print_pruned(&mut self, after_pop: bool) {
        let (prev, idx) = (self.walk.prev_insn_idx as i32, self.walk.insn_idx);
        if after_pop {
            let speculative =
                if self.walk.cur.meta.speculative { " (speculative execution)" } else { "" };
            verbose_to!(self.trace, "\nfrom {prev} to {idx}{speculative}: safe\n");
        } else {
            verbose_to!(self.trace, "{idx}: safe\n");
        }
    }

    /// Prints changed registers, on the insn's line if nothing was written since.
    pub(crate) fn print_insn_state(&mut self) {
        let at = self.trace.log_at;
        if at.prev_log_pos != 0 && at.prev_log_pos == self.trace.log.pos() {
            self.trace.log.reset(at.prev_log_pos - 1);
            let pos = at.prev_insn_print_pos;
            let column = (pos + 4).max(40).next_multiple_of(8);
            verbose_to!(self.trace, "{:>1$};", ' ', column - pos - 1);
        } else {
            verbose_to!(self.trace, "{}:", self.walk.insn_idx);
        }
        let shown = Shown { regs: self.walk.scratched_regs, slots: self.walk.scratched_slots };
        self.print_shown(self.walk.cur.curframe(), shown);
        self.walk.scratched_regs = 0;
        self.walk.scratched_slots = 0;
    }

    /// Prints the whole current frame on the current line.
    pub(crate) fn print_state_all(&mut self) {
        self.print_frame(self.walk.cur.curframe());
    }

    /// Prints a whole frame of the current state on the current line.
    pub(crate) fn print_frame(&mut self, frameno: u32) {
        self.print_shown(frameno, ALL);
    }

    fn print_shown(&mut self, frameno: u32, shown: Shown) {
        if self.trace.log.level == 0 {
            return;
        }
        let frame = &self.walk.cur.frames[frameno as usize];
        let regs = frame.names().map(|name| self.store.arena.reg(name));
        let view = View {
            meta: frame.meta,
            regs: &regs,
            slots: frame.slots(),
            refs: &self.walk.cur.refs,
            marks: self.facts.all_marks(),
            reads: self.store.reads.as_ref().map(|reads| *reads.of_current(frameno as usize)),
        };
        let text = self.state_text(&view, shown);
        verbose_to!(self.trace, "{text}");
    }

    /// Prints these registers of a checkpoint's frame (`None`: its current one).
    pub(crate) fn print_checkpoint(&mut self, id: CkptId, frame: Option<u32>, regs: u32) {
        let shown = Shown { regs, ..ALL };
        let ckpt = self.store.ckpts.get(id);
        let at = frame.map_or(ckpt.state.frames.len() - 1, |f| f as usize);
        let packed = self.store.arena.frame(ckpt.state.frames[at]);
        let regs = packed.regs.map(|p| self.store.arena.reg(p));
        let slots: Vec<Slot> =
            self.store.arena.frame_slots(ckpt.state.frames[at]).copied().collect();
        let marks = if self.facts.all_precise { self.facts.all_marks() } else { ckpt.precise[at] };
        let view = View {
            meta: *self.store.arena.meta(ckpt.state.frames[at]),
            regs: &regs,
            slots: &slots,
            refs: ckpt.state.refs.as_deref().unwrap_or(&NOTHING),
            marks,
            reads: self.store.reads.as_ref().map(|reads| reads.of_saved(id, at)),
        };
        let text = self.state_text(&view, shown);
        verbose_to!(self.trace, "{text}");
    }

    fn state_text(&self, v: &View<'_>, shown: Shown) -> String {
        let mut out = String::new();
        if v.meta.frameno != 0 {
            let _ = write!(out, " frame{}:", v.meta.frameno);
        }
        for (i, reg) in v.regs.iter().enumerate() {
            if reg.ty.base != Base::NotInit && shown.regs >> i & 1 == 1 {
                let live = v.reads.map_or("", |reads| reads.of_reg(i));
                let view = self.facts.reg_view(reg, v.meta.frameno, v.marks.regs >> i & 1 == 1);
                let _ = write!(out, " R{i}{live}={view}");
            }
        }
        let mut spi = 0;
        while spi < v.slots.len() {
            if shown.slots >> spi & 1 == 1 {
                spi = self.write_slot(&mut out, v, spi);
            }
            spi += 1;
        }
        let mut sep = " refs=";
        if v.refs.acquired.iter().next().is_some_and(|r| r.id != 0) {
            for r in v.refs.acquired.iter().filter(|r| r.id != 0) {
                let _ = write!(out, "{sep}{}", r.id);
                sep = ",";
            }
        }
        if v.meta.in_callback_fn {
            out.push_str(" cb");
        }
        if v.meta.in_async_callback_fn {
            out.push_str(" async_cb");
        }
        out.push('\n');
        out
    }

    /// Prints slot `spi`; returns the last slot printed.
    fn write_slot(&self, out: &mut String, v: &View<'_>, spi: usize) -> usize {
        let slot = v.slots[spi];
        if slot.types.iter().all(|ty| ty.is_nothing()) {
            return spi;
        }
        let types: String = slot.types.iter().map(|&t| slot_char(t)).collect();
        let off = -8 * (spi as i64 + 1);
        let live = v.reads.map_or("", |reads| reads.of_slot(spi));
        let reg = self.store.arena.reg(slot.spill);
        match slot.types[7] {
            SlotType::Spill => {
                let precise = v.marks.stack >> spi & 1 == 1;
                let view = self.facts.reg_view(&reg, v.meta.frameno, precise);
                let types = types.split('r').next().unwrap_or("");
                let _ = write!(out, " fp{off}{live}={types}{view}");
            }
            SlotType::Dynptr => {
                self.store.write_dynptr(out, v, spi + 1);
                return spi + 1;
            }
            SlotType::Iter => {
                if reg.ref_obj_id == 0 {
                    return spi;
                }
                let Extra::Iter { btf_id, active, depth } = reg.extra else { return spi };
                let name = self.facts.kernel_type_name(btf_id).trim_start_matches("bpf_iter_");
                let state = if active == IterState::Active { "active" } else { "drained" };
                let id = reg.ref_obj_id;
                let id_is = match self.facts.config.profile.words.references_are_ids() {
                    true => "id",
                    false => "ref_id",
                };
                let _ = write!(
                    out,
                    " fp{off}{live}=iter_{name}({id_is}={id},state={state},depth={depth})"
                );
            }
            _ => {
                let _ = write!(out, " fp{off}{live}={types}");
            }
        }
        spi
    }
}

impl Facts<'_> {
    /// Where no precision is tracked, every scalar is printed as precise.
    fn all_marks(&self) -> Marks {
        if self.all_precise { Marks { regs: !0, stack: !0 } } else { Marks::default() }
    }

    /// Name of a type of the kernel's BTF.
    pub(crate) fn kernel_type_name(&self, id: u32) -> &str {
        let btf = self.prog.kernel_btf.as_ref();
        btf.and_then(|b| b.get(skep_btf::TypeId(id))).map_or("", |t| t.name())
    }
}

impl Store {
    fn write_dynptr(&self, out: &mut String, v: &View<'_>, spi: usize) {
        // If only the other half was touched (through another frame), the kernel reads the slot
        // below the dynptr as its other half, even if it is beyond the stack.
        let reg = v.slots.get(spi).map_or(Reg::not_init(), |slot| self.arena.reg(slot.spill));
        let (kind, first_slot) = match reg.extra {
            Extra::Dynptr { kind, first_slot } => (kind, first_slot),
            Extra::None | Extra::Frame(_) => (DynptrKind::Invalid, false),
            _ => return,
        };
        let (off, kind) = (-8 * (spi as i64 + 1), dynptr_str(kind));
        let live = v.reads.map_or("", |reads| reads.of_slot(spi));
        let _ = write!(out, " fp{off}{live}=dynptr_{kind}(");
        let mut sep = "";
        if reg.id != 0 {
            let _ = write!(out, "id={}", reg.id);
            sep = ",";
        }
        if reg.ref_obj_id != 0 {
            let _ = write!(out, "{sep}ref_id={}", reg.ref_obj_id);
            sep = ",";
        }
        // In the kernel, this field overlaps with the mark of the first slot.
        if first_slot {
            let _ = write!(out, "{sep}dynptr_id=1");
        }
        out.push(')');
    }
}

/// The log's letter for the type of a stack byte.
pub(crate) fn slot_char(ty: SlotType) -> char {
    match ty {
        SlotType::Invalid => '?',
        SlotType::Spill => 'r',
        SlotType::Misc => 'm',
        SlotType::Zero => '0',
        SlotType::Dynptr => 'd',
        SlotType::Iter => 'i',
        SlotType::IrqFlag => 'f',
        SlotType::Forgotten => 'p',
    }
}
