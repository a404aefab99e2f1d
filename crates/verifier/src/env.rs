//! The verifier's working set for one program.
//!
//! Kernel: `struct bpf_verifier_env`, `struct bpf_subprog_info` (6.18).

pub(crate) use crate::insn_aux::{CallMap, Form, Found, InsnAux, InsnFlags, LoopInline};

use crate::check::call::sub_arg::SubArg;
use crate::explore::branch_stack::BranchStack;
use crate::explore::idmap::IdMap;
use crate::explore::scc_visits::SccVisits;
use crate::log::Log;
use crate::passes::fastcall::Fastcall;
use crate::passes::live_stack::LiveStack;
use crate::passes::stack_use::StackUse;
use crate::passes::subprogs::Subprogs;
use crate::precision::backtrack_state::BacktrackState;
use crate::rejection::{RejectKind, Stop};
use crate::state::arena::{Arena, PackedReg};
use crate::state::checkpoint::{Bucket, Checkpoints};
use crate::state::frame::Frame;
use crate::state::reads::Reads;
use crate::state::reg::{Extra, Reg};
use crate::state::reg_type::{Base, TypeFlag};
use crate::state::transfers::Transfers;
use crate::state::verifier_state::VerifierState;
use crate::stats::VerifierStats;
use crate::{Config, KernelHole};
use skep_btf::{FieldKind, SpecialField, TypeId};
use skep_insn::Insn;
use skep_program::{MapDef, Program};
use std::cell::OnceCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// What is known of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubprogInfo {
    /// First insn.
    pub(crate) start: u32,
    pub(crate) name: String,
    /// Deepest stack access, bytes.
    pub(crate) stack_depth: u32,
    pub(crate) has_tail_call: bool,
    pub(crate) has_ld_abs: bool,
    pub(crate) tail_call_reachable: bool,
    pub(crate) is_global: bool,
    pub(crate) is_async_cb: bool,
    pub(crate) is_cb: bool,
    pub(crate) is_exception_cb: bool,
    /// A global function that some walked path calls.
    pub(crate) called: bool,
    pub(crate) changes_pkt_data: bool,
    pub(crate) might_sleep: bool,
    /// It is global and has no result.
    pub(crate) returns_void: bool,
    /// What its BTF says of its arguments, once that was read.
    pub(crate) args: Option<Arc<[SubArg]>>,
    /// Its BTF says other things than its callers do.
    pub(crate) unreliable: bool,
}

/// The working set.
pub(crate) struct Env<'a> {
    pub(crate) prog: &'a Program,
    pub(crate) config: &'a Config,
    pub(crate) insns: &'a [Insn],
    /// Where the insns go if jumps are decided before the walk.
    pub(crate) decided: Decided<'a>,
    pub(crate) aux: Vec<InsnAux>,
    pub(crate) subprogs: Vec<SubprogInfo>,
    /// Maps of the program, then the templates of their inner maps.
    pub(crate) maps: Vec<MapView<'a>>,
    /// The maps are more than can be known: nothing may be verified.
    pub(crate) maps_unknown: bool,

    /// Special fields of the structs that the program may allocate, by id in its BTF; none where
    /// they are malformed, because such a BTF is not loaded at all.
    pub(crate) struct_metas: Option<&'a rustc_hash::FxHashMap<TypeId, Vec<SpecialField>>>,
    /// Subprog that runs when an exception is thrown, if the program names one.
    pub(crate) exception_cb: Option<u32>,
    /// Helpers and kfuncs that the program may call.
    pub(crate) callable: crate::callees::Callable<'a>,

    pub(crate) cur: VerifierState,
    pub(crate) insn_idx: u32,
    pub(crate) prev_insn_idx: u32,

    /// Insn whose entry of the jump history is still open (`cur_hist_ent`).
    pub(crate) history_insn: Option<u32>,
    /// The kernel says what a struct points to that stays (else: all is taken for valid).
    pub(crate) fields_have_trust: bool,
    /// The frame of a callback that is walked next, as a function that is called.
    pub(crate) entered: Option<Frame>,

    pub(crate) arena: Arena,
    pub(crate) transfers: Transfers,
    pub(crate) ckpts: Checkpoints,
    /// Checkpoints by `(insn_idx ^ callsite) % insns`.
    pub(crate) explored: Vec<Bucket>,
    pub(crate) branches: BranchStack,
    pub(crate) idmap: IdMap,
    pub(crate) sccs: SccVisits,
    pub(crate) bt: BacktrackState,
    /// The registers that backtracking over each insn can affect, see
    /// `precision::backtrack::concerns`; empty until the first search.
    pub(crate) concerns: Vec<u16>,
    /// Reads on the walked paths, on kernels that use them for liveness.
    pub(crate) reads: Option<Box<Reads>>,
    /// Live stack slots, by call chain.
    pub(crate) live_stack: LiveStack,
    /// The same, found before the walk, on kernels that do so.
    pub(crate) stack_use: StackUse,
    /// Spill-call-fill patterns that may be removed.
    pub(crate) fastcall: Fastcall,
    /// Where subprogs begin and end, for the passes.
    pub(crate) layout: Subprogs,

    pub(crate) log: Log,
    /// The log, the recorder, or a listener needs every insn of the walk.
    pub(crate) is_followed: bool,
    pub(crate) recorder: Option<Box<crate::watch::Recorder>>,
    pub(crate) listener: Option<&'a mut (dyn crate::trace::Listener + 'a)>,
    /// The listener wants register states.
    pub(crate) tells_registers: bool,
    /// Insns on scalars may be told as one run.
    pub(crate) tells_runs: bool,
    pub(crate) log_at: crate::log::position::LogPosition,
    pub(crate) stats: VerifierStats,
    pub(crate) pace: Pace,
    pub(crate) explored_states_size: u32,
    pub(crate) free_list_size: u32,
    pub(crate) id_gen: u32,
    pub(crate) test_state_freq: bool,
    pub(crate) test_reg_invariants: bool,
    pub(crate) strict_alignment: bool,
    pub(crate) bpf_capable: bool,
    pub(crate) allow_ptr_leaks: bool,
    /// Limits of pointer arithmetic are being explored: scalars must be equal to prune.
    pub(crate) explore_alu_limits: bool,
    pub(crate) allow_uninit_stack: bool,
    pub(crate) bypass_spec_v1: bool,
    pub(crate) bypass_spec_v4: bool,
    pub(crate) seen_direct_write: bool,
    /// Bytes of the context that callees are given as memory.
    pub(crate) ctx_mem_end: u32,
    /// What makes the program unsafe to run, should it be accepted.
    pub(crate) kernel_hole: Option<KernelHole>,
    /// What may make it so: the first hole that the walk went by.
    pub(crate) doubt: Option<KernelHole>,
    /// A number was linked with one that differs by more than pointers may, where that is looked
    /// at later.
    pub(crate) large_sums: bool,
    /// Holes of the kernel are closed.
    pub(crate) sound: bool,
    /// Registers of the current frame that changed since the last printed state.
    pub(crate) scratched_regs: u32,
    pub(crate) scratched_slots: u64,
    /// Subprog whose body is walked (0, or a global function verified on its own).
    pub(crate) subprogno_walked: u32,
    /// The walk arrived at a call of `bpf_throw`.
    pub(crate) seen_exception: bool,
    /// The program was refused or is not finished: depths are as the walk found them.
    pub(crate) accepted: bool,
    /// `insns_processed` at which the bytes held are looked at next.
    pub(crate) memory_check_at: u32,
}

/// A register that is being changed; it gets its new name when this goes.
pub(crate) struct RegMut<'a> {
    reg: Reg,
    i: u8,
    frame: &'a mut Frame,
    arena: &'a mut Arena,
}

impl Deref for RegMut<'_> {
    type Target = Reg;
    fn deref(&self) -> &Reg {
        &self.reg
    }
}

impl DerefMut for RegMut<'_> {
    fn deref_mut(&mut self) -> &mut Reg {
        &mut self.reg
    }
}

impl Drop for RegMut<'_> {
    fn drop(&mut self) {
        self.arena.set_reg(self.frame, self.i, &self.reg);
    }
}

/// One map, and where its inner template is.
#[derive(Clone, Debug)]
pub(crate) struct MapView<'a> {
    pub(crate) def: &'a MapDef,
    /// Special fields of the value, by offset.
    pub(crate) fields: Vec<SpecialField>,
    /// Index in `Env::maps` of the template of the inner maps.
    pub(crate) inner: Option<u32>,
}

/// Room for insns that are not the program's own.
pub(crate) type Decided<'a> = &'a OnceCell<Vec<Insn>>;

/// How far the walk has come, and had when it last saved a state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    pub(crate) jmps: u32,
    pub(crate) jmps_at_save: u32,
    pub(crate) insns_at_save: u32,
}

impl<'a> Env<'a> {
    /// Rules that not every kernel has.
    #[inline]
    pub(crate) fn rules(&self) -> &'a skep_uapi::Behaviours {
        &self.config.profile.behaviours
    }

    /// Name of a map in messages. The template of an inner map has none in the kernel.
    pub(crate) fn map_name(&self, map: u32) -> &'a str {
        let is_template = map as usize >= self.prog.maps.len();
        if is_template { "" } else { self.maps[map as usize].def.kernel_name() }
    }
    /// Registers of the current frame.
    #[inline(always)]
    pub(crate) fn reg(&self, i: u8) -> Reg {
        self.arena.reg(self.cur.frame().name(i))
    }
    /// The same to change; the change will be printed.
    pub(crate) fn reg_mut(&mut self, i: u8) -> RegMut<'_> {
        self.scratched_regs |= 1 << i;
        let reg = self.reg(i);
        RegMut { reg, i, frame: self.cur.frame_mut(), arena: &mut self.arena }
    }
    /// Replaces a register of the current frame.
    pub(crate) fn set_reg(&mut self, i: u8, reg: Reg) {
        let name = self.arena.pack(&reg);
        self.set_name(i, name);
    }
    /// The same by name.
    #[inline]
    pub(crate) fn set_name(&mut self, i: u8, name: PackedReg) {
        self.scratched_regs |= 1 << i;
        self.cur.frame_mut().set_name(i, name);
    }
    pub(crate) fn frame(&self) -> &Frame {
        self.cur.frame()
    }
    pub(crate) fn frame_mut(&mut self) -> &mut Frame {
        self.cur.frame_mut()
    }
    /// The insn being walked.
    pub(crate) fn insn(&self) -> Insn {
        self.insns[self.insn_idx as usize]
    }
    pub(crate) fn aux(&self) -> &InsnAux {
        &self.aux[self.insn_idx as usize]
    }
    pub(crate) fn aux_mut(&mut self) -> &mut InsnAux {
        &mut self.aux[self.insn_idx as usize]
    }
    /// A fresh id for registers and references; never 0.
    pub(crate) fn new_id(&mut self) -> u32 {
        self.id_gen += 1;
        self.id_gen
    }

    /// The register spilled in slot `spi` of frame `frameno`.
    pub(crate) fn spilled(&self, frameno: u32, spi: usize) -> Reg {
        match self.cur.frames[frameno as usize].slot(spi) {
            Some(slot) => self.arena.reg(slot.spill),
            None => Reg::not_init(),
        }
    }
    /// Replaces it (the slot's types are the caller's business).
    pub(crate) fn set_spilled(&mut self, frameno: u32, spi: usize, reg: &Reg) {
        let packed = self.arena.pack(reg);
        self.cur.frames[frameno as usize].slot_mut(spi).spill = packed;
    }

    /// Offers every register and spilled register of all frames to `edit`, which says whether it
    /// changed it.
    ///
    /// Kernel: `bpf_for_each_reg_in_vstate` (6.18).
    pub(crate) fn for_each_reg(&mut self, mut edit: impl FnMut(&mut Reg) -> bool) {
        for frame in &mut self.cur.frames {
            for i in 0..11 {
                let mut reg = self.arena.reg(frame.name(i));
                if edit(&mut reg) {
                    self.arena.set_reg(frame, i, &reg);
                }
            }
            for spi in 0..frame.slots().len() {
                if frame.slots()[spi].is_spilled() {
                    let mut reg = self.arena.reg(frame.slots()[spi].spill);
                    if edit(&mut reg) {
                        frame.slot_mut(spi).spill = self.arena.pack(&reg);
                    }
                }
            }
        }
    }

    /// Writes the reason to the log and makes it a refusal; use through `reject!`.
    #[cold]
    pub(crate) fn refuse(&mut self, errno: i32, kind: impl Into<RejectKind>) -> Stop {
        let kind = kind.into();
        let text = kind.told(self.config.profile.words);
        verbose!(self, "{text}\n");
        Stop::refused(errno, kind)
    }

    /// The same, where the kernel forgets to end the line.
    #[cold]
    pub(crate) fn refuse_without_newline(
        &mut self,
        errno: i32,
        kind: impl Into<RejectKind>,
    ) -> Stop {
        let kind = kind.into();
        let text = kind.told(self.config.profile.words);
        verbose!(self, "{text}");
        Stop::refused(errno, kind)
    }

    /// Adds a line to a refusal: what the fault led to.
    #[cold]
    pub(crate) fn led_to(&mut self, mut stop: Stop, kind: impl Into<RejectKind>) -> Stop {
        if let Stop::Reject(refused) = &mut stop {
            let kind = kind.into();
            let text = kind.told(self.config.profile.words);
            if !text.is_empty() {
                verbose!(self, "{text}\n");
                refused.led_to.push(kind);
            }
        }
        stop
    }

    /// Everything of the current frame counts as changed, so that the next state printed is whole.
    pub(crate) fn mark_state_scratched(&mut self) {
        self.scratched_regs = !0;
        self.scratched_slots = !0;
    }

    /// Whether the program uses an arena.
    pub(crate) fn has_arena(&self) -> bool {
        use skep_insn::code::{BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE};
        self.insns.iter().any(|i| {
            i.is_ld_imm64()
                && matches!(i.src, BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_VALUE)
                && self
                    .maps
                    .get(i.imm as usize)
                    .is_some_and(|m| m.def.map_type == skep_uapi::MapType::Arena)
        })
    }

    /// Special fields of what a pointer points to.
    ///
    /// Kernel: `reg_btf_record` (6.18).
    pub(crate) fn fields_of(&self, reg: &Reg) -> &[SpecialField] {
        match (reg.ty.base, reg.map()) {
            (Base::MapValue, Some(map)) => &self.maps[map as usize].fields,
            (Base::BtfId, _) if reg.ty.has(TypeFlag::MEM_ALLOC) => match reg.extra {
                Extra::Btf { id, in_prog: true } => {
                    let known = self.struct_metas.and_then(|metas| metas.get(&TypeId(id)));
                    known.map_or(&[], Vec::as_slice)
                }
                _ => &[],
            },
            _ => &[],
        }
    }

    /// Kernel: `reg_may_point_to_spin_lock` (6.18).
    pub(crate) fn may_point_to_spin_lock(&self, reg: &Reg) -> bool {
        self.fields_of(reg)
            .iter()
            .any(|f| matches!(f.kind, FieldKind::SpinLock | FieldKind::ResSpinLock))
    }

    /// Whether values of the map hold a timer, a work queue or task work.
    pub(crate) fn map_has_async_field(&self, map: u32) -> bool {
        self.maps[map as usize].fields.iter().any(|f| {
            matches!(f.kind, FieldKind::Timer | FieldKind::Workqueue | FieldKind::TaskWork)
        })
    }

    /// Subprog that starts at `insn_idx`.
    pub(crate) fn find_subprog(&self, insn_idx: u32) -> Option<u32> {
        self.subprogs.binary_search_by_key(&insn_idx, |s| s.start).ok().map(|i| i as u32)
    }
}

use crate::log::verbose;
