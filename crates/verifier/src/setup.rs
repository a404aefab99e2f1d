//! Prepares the working set of the walk: runs the passes, lists the maps, derives rules from the
//! privileges.
//!
//! Kernel: the first half of `bpf_check` (6.18).

use crate::Config;
use crate::callees::Callable;
use crate::check::attach::{check_attach_types, check_permitted};
use crate::check::func_info;
use crate::check::kfunc::callee::LoadedInto;
use crate::check::ld_imm_resolve::Resolver;
use crate::check::line_info;
use crate::check::replaced::check_may_be_replaced;
use crate::env::writable::Writable;
use crate::env::{
    Facts, Form, InsnFlags, Learned, MapView, Setup, Store, Subprog, SubprogUse, Trace, Walk,
};
use crate::log::note::{FunctionList, Note};
use crate::passes::cfg::{Edges, Loops};
use crate::passes::const_regs::decide_jumps;
use crate::passes::exception_cb::find_exception_cb;
use crate::passes::fastcall::{Fastcall, mark_fastcall_patterns};
use crate::passes::live_stack::LiveStack;
use crate::passes::postorder::{Postorder, compute_postorder};
use crate::passes::reserved::{check_encodings, check_insn_first, check_store_first};
use crate::passes::stack_use::{Calls, StackUse};
use crate::passes::subprogs::{StartSet, Subprogs, check_subprogs, find_subprogs};
use crate::passes::{PassReject, cfg, live_regs, recursion, scc};
use crate::rejection::{CallFault, Check, FlowFault, Stop, reject, unsupported};
use crate::stack_touch::StackTouches;
use rustc_hash::FxHashMap;
use skep_btf::{FieldKind, SpecialField, Type, TypeId};
use skep_insn::code::BPF_ALU64;
use skep_program::Program;
use skep_uapi::errno;
use skep_uapi::limits::MAX_CALL_FRAMES;
use skep_uapi::{Behaviours, ProgFlags};

/// Whether every access must be aligned.
fn is_strict(flags: ProgFlags) -> bool {
    flags.contains(ProgFlags::STRICT_ALIGNMENT) && !flags.contains(ProgFlags::ANY_ALIGNMENT)
}

impl<'a> Facts<'a> {
    /// The facts known before the first pass.
    fn new(prog: &'a Program, config: &'a Config, sound: bool) -> Facts<'a> {
        let (bpf_capable, perfmon) = (config.privileges.bpf, config.privileges.perfmon);
        let (flags, maps) = (prog.prog_flags, list_maps(prog, &config.profile.behaviours));
        Facts {
            prog,
            config,
            insns: prog.insns.clone(),
            maps_unknown: maps.is_none(),
            maps: maps.unwrap_or_default(),
            struct_metas: prog.btf.as_deref().map(skep_btf::Btf::struct_metas),
            exception_cb: None,
            callable: Callable::new(prog, config),
            writable: Writable::default(),
            fields_have_trust: fields_have_trust(prog),
            subprogs: Vec::new(),
            stack_use: StackUse::default(),
            layout: Subprogs::default(),
            test_state_freq: bpf_capable && flags.contains(ProgFlags::TEST_STATE_FREQ),
            test_reg_invariants: bpf_capable && flags.contains(ProgFlags::TEST_REG_INVARIANTS),
            strict_alignment: is_strict(flags),
            bpf_capable,
            all_precise: !bpf_capable,
            allow_ptr_leaks: perfmon,
            allow_uninit_stack: perfmon && config.profile.behaviours.unwritten_bytes_read,
            bypass_spec_v1: perfmon,
            bypass_spec_v4: perfmon,
            sound,
        }
    }
}

impl<'a> Setup<'a> {
    /// A working set before the first pass; `sound` if bugs of the kernel's verifier are to be
    /// fixed.
    pub(crate) fn new(
        prog: &'a Program,
        config: &'a Config,
        sound: bool,
        trace: Trace<'a>,
    ) -> Setup<'a> {
        let insns = prog.insns.len();
        Setup {
            facts: Facts::new(prog, config, sound),
            walk: Walk::default(),
            store: Store::new(config, insns),
            learned: Learned::new(insns),
            trace,
        }
    }

    /// Checks that `BPF_PROG_LOAD` makes before it looks at an insn.
    pub(crate) fn check_load_attributes(&self) -> Check {
        if self.facts.maps_unknown {
            return unsupported("maps whose values have so many members");
        }
        let max = if self.facts.bpf_capable {
            self.facts.config.profile.insns_max
        } else {
            self.facts.config.profile.insns_unpriv_max
        };
        if self.facts.insns.is_empty() || self.facts.insns.len() > max as usize {
            let n = self.facts.insns.len();
            return Err(Stop::refuse_silently(errno::E2BIG, FlowFault::NoInsns { n, max }));
        }
        check_permitted(&self.facts)?;
        check_attach_types(&self.facts)?;
        check_may_be_replaced(&self.facts)
    }

    /// Finds subprogs, control flow, live registers and strongly connected components.
    pub(crate) fn check_program_shape(&mut self) -> Check {
        if func_info::is_checked_early(self.facts.rules()) {
            func_info::check_btf_func_early(&self.facts)?;
        }
        // From here on, the statistics of a refused program include a subprog.
        self.learned.subprogs = vec![SubprogUse::default()];
        let mut subprogs = self.find_functions()?;
        self.list_subprogs(&subprogs);
        if self.trace.log.traces_all() {
            self.trace.note(Note::Functions { functions: FunctionList(&subprogs) });
        }
        let there = self.facts.insns_there();
        self.pass(check_subprogs(&self.facts.insns, there, &mut subprogs))?;
        self.list_subprogs(&subprogs);
        func_info::check_btf_func(&self.facts, &subprogs)?;
        line_info::check_btf_line(&self.facts)?;
        self.facts.exception_cb = subprogs.exception_cb.map(|i| i as u32);
        if let Some(cb) = subprogs.exception_cb.and_then(|i| self.learned.subprogs.get_mut(i)) {
            cb.called = true;
            cb.is_cb = true;
            cb.is_async_cb = true;
        }
        let target_first = self.facts.rules().targets_checked_first;
        if target_first {
            crate::check::attach::check_attach_btf_id(&self.facts)?;
        }
        self.pass(self.check_encodings())?;
        let Facts { insns, callable, .. } = &self.facts;
        let cfg = self.pass(cfg::check_cfg(insns, &subprogs, callable, self.edges()))?;
        for (i, subprog) in self.facts.subprogs.iter_mut().enumerate() {
            subprog.changes_pkt_data = cfg.changes_pkt_data.get(i).copied().unwrap_or(false);
            subprog.might_sleep = cfg.might_sleep.get(i).copied().unwrap_or(false);
            subprog.might_throw = cfg.might_throw.get(i).copied().unwrap_or(false);
        }
        if !target_first {
            crate::check::attach::check_attach_btf_id(&self.facts)?;
        }
        let order = self.order_insns(&subprogs)?;
        let loops = if self.facts.callbacks_are_loops() { cfg::mark::CALLS_CALLBACK } else { 0 };
        let components = scc::compute_scc(&self.facts.insns, &|at| cfg.marks[at] & loops != 0);
        let live =
            live_regs::compute_live_registers(&self.facts.insns, &order, &self.facts.callable);
        let leave = self.facts.rules().tail_calls_may_leave || self.facts.sound;
        self.learned.live_stack = LiveStack::new(&self.facts.insns, &subprogs, &cfg, order, leave);
        if self.trace.log.traces_all() {
            let print = |i: usize| {
                let mut text = String::new();
                self.facts.write_insn(&mut text, i as u32);
                text
            };
            let text = live_regs::log_text(&self.facts.insns, &live, &components, print);
            self.trace.note(Note::LiveRegisters { listing: &text });
        }
        for (i, aux) in self.learned.aux.iter_mut().enumerate() {
            aux.flags = InsnFlags::from_bits_truncate(cfg.marks[i]);
            // The walk has 11 registers; for insns that the pass does not know, all 16 bits are
            // set.
            aux.live_regs = live[i] & 0x7ff;
            aux.scc = components.of_insn[i];
        }
        if !self.facts.rules().callbacks_converge {
            self.walk_callbacks_once();
        }
        if self.facts.rules().arena_ops_alike && self.facts.has_arena() {
            self.compare_arena_ops();
        }
        self.learned.fastcall = match self.facts.rules().fastcall {
            true => mark_fastcall_patterns(&self.facts.insns, &subprogs, &self.facts.callable),
            false => Fastcall::none(&self.facts.insns, &subprogs),
        };
        self.facts.layout = subprogs;
        Ok(())
    }

    /// Which edges this kernel allows to this program.
    fn edges(&self) -> Edges {
        let rules = self.facts.rules();
        let loops = match rules.loops_closed_by_any_insn {
            _ if !self.facts.bpf_capable => Loops::Refused,
            true => Loops::Allowed,
            false => Loops::ByJumps,
        };
        Edges { loops, into_constants: !rules.constants_are_whole }
    }

    /// Checks encodings and references of all insns.
    fn check_encodings(&self) -> Result<(), PassReject> {
        let facts = &self.facts;
        let (rules, there) = (facts.rules(), facts.insns_there());
        let mut resolver = Resolver {
            prog: facts.prog,
            symbols: facts.config.kernel_symbols.as_ref(),
            maps: &facts.maps,
            privileged: facts.bpf_capable && facts.allow_ptr_leaks,
            rules: *rules,
            used: Vec::new(),
        };
        let first = |idx, insn: &_| match rules.fields_checked_first {
            true => check_insn_first(idx, insn),
            false if rules.store_fields_checked_first => check_store_first(idx, insn, there),
            false => Ok(()),
        };
        check_encodings(&facts.insns, there, first, |idx, lo, hi| resolver.resolve(idx, lo, hi))
    }

    /// Computes the order for the backward passes, after the passes that come first on this kernel.
    fn order_insns(&mut self, subprogs: &Subprogs) -> Check<Postorder> {
        let mut order = compute_postorder(&self.facts.insns, subprogs);
        let rules = self.facts.rules();
        if rules.jumps_decided_first
            && let Some(insns) = decide_jumps(&self.facts.insns, subprogs, &order, &self.facts.maps)
        {
            self.facts.insns = insns;
            order = compute_postorder(&self.facts.insns, subprogs);
        }
        if rules.recursion_refused_first {
            self.refuse_recursion(subprogs, &order)?;
        }
        if rules.dead_forgotten_at_once {
            let touches = StackTouches { callable: &self.facts.callable, maps: &self.facts.maps };
            let is_global: Vec<bool> = self.facts.subprogs.iter().map(|it| it.is_global).collect();
            let calls = Calls { is_global: &is_global, has_more_frames: rules.sixteen_frames };
            self.facts.stack_use =
                StackUse::new(&self.facts.insns, subprogs, &order, &touches, calls);
            if rules.deep_stacks_refused_first && self.facts.stack_use.is_too_deep {
                let depth = MAX_CALL_FRAMES + 1;
                return Err(Stop::refuse_silently(errno::EINVAL, CallFault::TooDeep { depth }));
            }
        }
        Ok(order)
    }

    /// On kernels where an insn must compute with an arena pointer on all paths or on none, each
    /// visit is compared with the first, for which the fast path is not taken.
    #[cold]
    fn compare_arena_ops(&mut self) {
        self.learned.arena_ops = Some(FxHashMap::default());
        for (insn, aux) in self.facts.insns.iter().zip(&mut self.learned.aux) {
            if insn.class() == BPF_ALU64 {
                aux.form = Form::Bad;
            }
        }
    }

    /// On kernels that walk a callback like a called function, its call gets no special marks.
    #[cold]
    fn walk_callbacks_once(&mut self) {
        for idx in 0..self.learned.aux.len() {
            if !self.learned.aux[idx].has(InsnFlags::CALLS_CALLBACK) {
                continue;
            }
            let marks = InsnFlags::CALLS_CALLBACK | InsnFlags::FORCE_CHECKPOINT;
            self.learned.aux[idx].flags.remove(marks | InsnFlags::PRUNE_POINT);
            if let Some(next) = self.learned.aux.get_mut(idx + 1) {
                next.flags |= InsnFlags::JMP_POINT;
            }
        }
    }

    /// Finds the functions of the program. The statistics of a refusal list those found before it.
    fn find_functions(&mut self) -> Check<Subprogs> {
        let mut starts = StartSet::new(self.facts.insns.len());
        let facts = &self.facts;
        let (kfuncs, symbols) = (&facts.callable.kfuncs, facts.config.kernel_symbols.as_ref());
        let load = LoadedInto { prog: facts.prog, symbols, rules: facts.rules() };
        let is_known = facts.rules().kfuncs;
        let add = |idx, insn: &_| match is_known {
            true => kfuncs.add_kfunc_call(&load, idx, insn),
            false => Ok(()),
        };
        let called_back = !facts.insns_there().lack("callback");
        let found = find_subprogs(&facts.insns, facts.bpf_capable, called_back, &mut starts, add);
        let found = self.pass(found);
        self.learned.subprogs = vec![SubprogUse::default(); starts.count];
        found?;
        let exception_cb = match self.facts.rules().exceptions {
            true => self.pass(find_exception_cb(self.facts.prog))?,
            false => None,
        };
        if let Some(start) = exception_cb {
            self.pass(starts.add(0, i64::from(start)))?;
        }
        Ok(starts.into_subprogs(exception_cb))
    }

    /// Converts the refusal of a pass.
    fn pass<T>(&mut self, found: Result<T, PassReject>) -> Check<T> {
        found.map_err(|refusal| {
            self.walk.insn_idx = refusal.insn_idx.map_or(0, |i| i.0);
            self.trace.refuse_by_pass(&self.facts, refusal)
        })
    }

    /// Refuses recursion.
    fn refuse_recursion(&self, subprogs: &Subprogs, order: &Postorder) -> Check {
        let found = recursion::find_recursion(&self.facts.insns, subprogs, order);
        let Some((from, to)) = found else { return Ok(()) };
        let name =
            |subprog: usize| self.facts.subprogs.get(subprog).map_or("", |it| &it.name).into();
        reject!(EINVAL, FlowFault::Recursion { from: name(from), to: name(to) })
    }

    fn list_subprogs(&mut self, subprogs: &Subprogs) {
        self.facts.all_precise |= subprogs.count() > 1 && !self.facts.rules().functions_tracked;
        self.learned.subprogs = vec![SubprogUse::default(); subprogs.count()];
        self.facts.subprogs = (0..subprogs.count())
            .map(|i| {
                let flags = subprogs.flags[i];
                let (name, is_global) = self.subprog_name(subprogs.start(i));
                Subprog {
                    start: subprogs.start(i),
                    name,
                    is_global,
                    has_tail_call: flags.has_tail_call,
                    has_ld_abs: flags.has_ld_abs,
                    is_exception_cb: flags.is_exception_cb,
                    ..Subprog::default()
                }
            })
            .collect();
    }

    /// Name of the function that starts at `start`, and whether it has global linkage.
    fn subprog_name(&self, start: u32) -> (String, bool) {
        let row = self.facts.prog.func_info.iter().find(|f| f.insn_off.0 == start);
        let (Some(row), Some(btf)) = (row, &self.facts.prog.btf) else {
            return (String::new(), false);
        };
        let Some(ty) = btf.get(TypeId(row.type_id)) else { return (String::new(), false) };
        let global = ty.func_linkage() == skep_btf::FuncLinkage::Global as u16;
        (ty.name().to_string(), global)
    }
}

/// Whether the kernel's BTF has the structs that list trusted fields.
fn fields_have_trust(prog: &Program) -> bool {
    let listed = |btf: &skep_btf::Btf| {
        btf.find_by_name_kind("task_struct__safe_rcu", skep_btf::Kind::Struct).is_some()
    };
    prog.kernel_btf.as_deref().is_none_or(listed)
}

/// Maps of the program, then templates of inner maps; `None` if their values have more members than
/// can be searched for special fields.
fn list_maps<'p>(prog: &'p Program, rules: &Behaviours) -> Option<Vec<MapView<'p>>> {
    let view = |def| MapView { def, inner: None, fields: Vec::new() };
    let mut maps: Vec<MapView<'p>> = prog.maps.iter().map(view).collect();
    for i in 0..prog.maps.len() {
        let is_outer = maps[i].def.map_type.holds_maps();
        if let Some(inner) = maps[i].def.inner.as_deref().filter(|_| is_outer) {
            maps[i].inner = Some(maps.len() as u32);
            maps.push(view(inner));
        }
    }
    if let Some(btf) = &prog.btf {
        let ids = maps.iter().map(|map| TypeId(map.def.btf_value_type_id));
        let fields = skep_btf::special_fields_of(btf, ids)?;
        for (map, fields) in maps.iter_mut().zip(fields) {
            let value = btf.ty(TypeId(map.def.btf_value_type_id));
            map.fields = known(fields, value, rules);
        }
    }
    Some(maps)
}

/// The fields that the kernel recognises. Kernels without the tag for untrusted kptrs treat every
/// `kptr` as unreferenced.
fn known(mut fields: Vec<SpecialField>, value: Type<'_>, rules: &Behaviours) -> Vec<SpecialField> {
    use FieldKind::*;
    fields.retain(|field| rules.inner_fields || field.is_direct_in(value));
    let is_known = |kind| match kind {
        SpinLock => true,
        ResSpinLock => rules.res_lock_fields,
        Timer => rules.timer_fields,
        Workqueue => rules.workqueue_fields,
        TaskWork => rules.task_work_fields,
        KptrRef => rules.kptr_fields,
        KptrUnref => rules.untrusted_kptr_tag,
        KptrPercpu => rules.percpu_kptr_tag,
        Uptr => rules.uptr_fields,
        ListHead | ListNode | RbRoot | RbNode | Refcount => rules.graph_fields,
    };
    // If one pointer is not recognised, none is; later kernels then recognise nothing in the value.
    let foreign = |field: &SpecialField| field.kind.is_pointer() && !is_known(field.kind);
    if fields.iter().any(foreign) {
        fields.retain(|field| !rules.untrusted_kptr_tag && !field.kind.is_pointer());
    }
    fields.retain(|field| is_known(field.kind));
    if !rules.untrusted_kptr_tag {
        for field in fields.iter_mut().filter(|field| field.kind == KptrRef) {
            field.kind = KptrUnref;
        }
    }
    fields
}
