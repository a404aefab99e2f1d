//! Prepares the working set of the walk: runs the passes, lists the maps, turns privileges into
//! rules.
//!
//! Kernel: the first half of `bpf_check` (6.18).

use crate::callees::Callable;
use crate::check::attach::check_attach_types;
use crate::check::func_info;
use crate::check::ld_imm_resolve::Resolver;
use crate::check::line_info;
use crate::check::replaced::{check_may_be_replaced, loaded_type};
use crate::env::{Decided, Env, InsnAux, InsnFlags, LoopInline, MapView, SubprogInfo};
use crate::explore::idmap::IdMap;
use crate::log::{Log, reject, verbose};
use crate::passes::cfg::Loops;
use crate::passes::const_regs::decide_jumps;
use crate::passes::dead_func::{address_of_removed_end, removed_before_exception_cb};
use crate::passes::exception_cb::find_exception_cb;
use crate::passes::fastcall::{Fastcall, mark_fastcall_patterns};
use crate::passes::final_depth::{WalkedInsns, final_stack_depths, stack_depth_text};
use crate::passes::live_stack::LiveStack;
use crate::passes::postorder::{Postorder, compute_postorder};
use crate::passes::reserved::{check_encodings, check_insn_first, check_store_first};
use crate::passes::stack_depth::{StackRules, SubprogStack, check_max_stack_depth};
use crate::passes::stack_use::StackUse;
use crate::passes::subprogs::{StartSet, Subprogs, check_subprogs, find_subprogs};
use crate::passes::{PassReject, cfg, live_regs, recursion, scc};
use crate::rejection::{Check, FlowFault, Stop, errno, unsupported};
use crate::stack_touch::StackTouches;
use crate::state::arena::Arena;
use crate::state::checkpoint::Checkpoints;
use crate::state::transfers::Transfers;
use crate::{Config, VerifierStats};
use skep_btf::{FieldKind, SpecialField, TypeId};
use skep_program::Program;
use skep_uapi::limits::MAX_CALL_FRAMES;
use skep_uapi::{Behaviours, MapType, ProgFlags, ProgType};

/// Whether every access must be aligned.
fn is_strict(flags: ProgFlags) -> bool {
    flags.contains(ProgFlags::STRICT_ALIGNMENT) && !flags.contains(ProgFlags::ANY_ALIGNMENT)
}

impl<'a> Env<'a> {
    /// A working set before the first pass.
    pub(crate) fn new(prog: &'a Program, config: &'a Config, decided: Decided<'a>) -> Env<'a> {
        let (bpf_capable, perfmon) = (config.privileges.bpf, config.privileges.perfmon);
        let (flags, maps) = (prog.prog_flags, list_maps(prog, &config.profile.behaviours));
        Env {
            prog,
            config,
            insns: &prog.insns,
            decided,
            aux: vec![InsnAux::default(); prog.insns.len()],
            subprogs: Vec::new(),
            maps_unknown: maps.is_none(),
            maps: maps.unwrap_or_default(),
            struct_metas: prog.btf.as_deref().map(skep_btf::Btf::struct_metas),
            exception_cb: None,
            callable: Callable::new(prog, config),
            cur: Default::default(),
            insn_idx: 0,
            prev_insn_idx: 0,
            fields_have_trust: fields_have_trust(prog),
            entered: None,
            history_insn: None,
            arena: Arena::new(),
            transfers: Transfers::new(),
            ckpts: Checkpoints::new(config.tuning.state_alloc),
            explored: vec![Default::default(); prog.insns.len()],
            branches: Default::default(),
            idmap: IdMap::new(config.tuning.idmap_reset),
            sccs: Default::default(),
            bt: Default::default(),
            concerns: Vec::new(),
            is_followed: Log::new(config.log_level, 0).traces(),
            recorder: None,
            listener: None,
            tells_registers: false,
            tells_runs: false,
            log: Log::new(config.log_level, config.log_bytes_max),
            log_at: Default::default(),
            stats: VerifierStats { insns_limit: config.profile.insns_max, ..Default::default() },
            pace: Default::default(),
            explored_states_size: 0,
            free_list_size: 0,
            id_gen: 0,
            test_state_freq: bpf_capable && flags.contains(ProgFlags::TEST_STATE_FREQ),
            test_reg_invariants: bpf_capable && flags.contains(ProgFlags::TEST_REG_INVARIANTS),
            strict_alignment: is_strict(flags),
            bpf_capable,
            allow_ptr_leaks: perfmon,
            explore_alu_limits: false,
            allow_uninit_stack: perfmon,
            bypass_spec_v1: perfmon,
            bypass_spec_v4: perfmon,
            seen_direct_write: false,
            ctx_mem_end: 0,
            kernel_hole: None,
            doubt: None,
            large_sums: false,
            sound: false,
            scratched_regs: 0,
            scratched_slots: 0,
            subprogno_walked: 0,
            seen_exception: false,
            accepted: false,
            memory_check_at: crate::held_bytes::first_check(config),
            reads: config.profile.behaviours.reads_are_marked.then(Default::default),
            live_stack: LiveStack::default(),
            stack_use: Default::default(),
            fastcall: Default::default(),
            layout: Default::default(),
        }
    }

    /// What `BPF_PROG_LOAD` refuses before it looks at an insn.
    pub(crate) fn check_load_attributes(&mut self) -> Check {
        if self.maps_unknown {
            return unsupported("maps whose values have so many members");
        }
        let max = if self.bpf_capable {
            self.config.profile.insns_max
        } else {
            self.config.profile.insns_unpriv_max
        };
        if self.insns.is_empty() || self.insns.len() > max as usize {
            let n = self.insns.len();
            return Err(Stop::refused(errno::E2BIG, FlowFault::NoInsns { n, max }));
        }
        check_attach_types(self)?;
        check_may_be_replaced(self)
    }

    /// Subprogs, control flow, live registers, components.
    pub(crate) fn check_program_shape(&mut self) -> Check {
        func_info::check_btf_func_early(self)?;
        // The statistics of a refusal list the program from now on.
        self.subprogs = vec![SubprogInfo::default()];
        let mut subprogs = self.find_functions()?;
        self.list_subprogs(&subprogs);
        if self.log.traces_all() {
            let text = subprogs.log_text();
            verbose!(self, "{text}");
        }
        self.pass(|env| check_subprogs(env.insns, &mut subprogs))?;
        self.list_subprogs(&subprogs);
        func_info::check_btf_func(self, &subprogs)?;
        line_info::check_btf_line(self)?;
        self.exception_cb = subprogs.exception_cb.map(|i| i as u32);
        if let Some(cb) = subprogs.exception_cb.and_then(|i| self.subprogs.get_mut(i)) {
            cb.called = true;
            cb.is_cb = true;
            cb.is_async_cb = true;
        }
        self.pass(|env| {
            let mut resolver = Resolver {
                prog: env.prog,
                symbols: env.config.kernel_symbols.as_ref(),
                maps: &env.maps,
                privileged: env.bpf_capable && env.allow_ptr_leaks,
                rules: env.config.profile.behaviours,
                used: Vec::new(),
            };
            let rules = &env.config.profile.behaviours;
            let first = |idx, insn: &_| match rules.fields_checked_first {
                true => check_insn_first(idx, insn),
                false if rules.store_fields_checked_first => check_store_first(idx, insn),
                false => Ok(()),
            };
            check_encodings(env.insns, first, |idx, lo, hi| resolver.resolve(idx, lo, hi))
        })?;
        let loops_allowed = match self.rules().loops_closed_by_any_insn {
            _ if !self.bpf_capable => Loops::Refused,
            true => Loops::Allowed,
            false => Loops::ByJumps,
        };
        let cfg =
            self.pass(|env| cfg::check_cfg(env.insns, &subprogs, &env.callable, loops_allowed))?;
        for (i, subprog) in self.subprogs.iter_mut().enumerate() {
            subprog.changes_pkt_data = cfg.changes_pkt_data.get(i).copied().unwrap_or(false);
            subprog.might_sleep = cfg.might_sleep.get(i).copied().unwrap_or(false);
        }
        self.refuse_recursion(&subprogs)?;
        crate::check::attach::check_attach_btf_id(self)?;
        let order = self.order_insns(&subprogs);
        let loops = if self.callbacks_are_loops() { cfg::mark::CALLS_CALLBACK } else { 0 };
        let components = scc::compute_scc(self.insns, &|at| cfg.marks[at] & loops != 0);
        let live = live_regs::compute_live_registers(self.insns, &order, &self.callable);
        self.live_stack = LiveStack::new(self.insns, &subprogs, (&cfg, order));
        if self.log.traces_all() {
            let print = |i: usize| {
                let mut text = String::new();
                self.write_insn(&mut text, i as u32);
                text
            };
            let text = live_regs::log_text(self.insns, &live, &components, print);
            verbose!(self, "{text}");
        }
        for (i, aux) in self.aux.iter_mut().enumerate() {
            aux.flags = InsnFlags::from_bits_truncate(cfg.marks[i]);
            // The walk has 11 registers; insns that the pass does not know use all 16.
            aux.live_regs = live[i] & 0x7ff;
            aux.scc = components.of_insn[i];
        }
        if !self.rules().callbacks_converge {
            self.walk_callbacks_once();
        }
        self.fastcall = match self.rules().fastcall {
            true => mark_fastcall_patterns(self.insns, &subprogs, &self.callable),
            false => Fastcall::none(self.insns, &subprogs),
        };
        self.layout = subprogs;
        Ok(())
    }

    /// The order of backward passes, after what is decided and found before all others.
    fn order_insns(&mut self, subprogs: &Subprogs) -> Postorder {
        let mut order = compute_postorder(self.insns, subprogs);
        let rules = self.rules();
        if rules.jumps_decided_first
            && let Some(insns) = decide_jumps(self.insns, subprogs, &order, &self.maps)
        {
            self.insns = self.decided.get_or_init(|| insns);
            order = compute_postorder(self.insns, subprogs);
        }
        if rules.dead_forgotten_at_once {
            let touches = StackTouches { callable: &self.callable, maps: &self.maps };
            self.stack_use = StackUse::new(self.insns, subprogs, &order, &touches);
        }
        order
    }

    /// Where a callback is walked as a function that is called, its call is like any other.
    #[cold]
    fn walk_callbacks_once(&mut self) {
        for idx in 0..self.aux.len() {
            if !self.aux[idx].has(InsnFlags::CALLS_CALLBACK) {
                continue;
            }
            let marks = InsnFlags::CALLS_CALLBACK | InsnFlags::FORCE_CHECKPOINT;
            self.aux[idx].flags.remove(marks | InsnFlags::PRUNE_POINT);
            if let Some(next) = self.aux.get_mut(idx + 1) {
                next.flags |= InsnFlags::JMP_POINT;
            }
        }
    }

    /// The functions of the program. A refusal's statistics list those that were found before it.
    fn find_functions(&mut self) -> Check<Subprogs> {
        let mut starts = StartSet::new(self.insns.len());
        let found = self.pass(|env| {
            let (kfuncs, symbols) = (&env.callable.kfuncs, env.config.kernel_symbols.as_ref());
            let is_known = env.rules().kfuncs;
            let add = |idx, insn: &_| match is_known {
                true => kfuncs.add_kfunc_call((env.prog, symbols), idx, insn),
                false => Ok(()),
            };
            find_subprogs(env.insns, env.bpf_capable, &mut starts, add)
        });
        self.subprogs = vec![SubprogInfo::default(); starts.count];
        found?;
        let exception_cb = match self.rules().exceptions {
            true => self.pass(|env| find_exception_cb(env.prog))?,
            false => None,
        };
        if let Some(start) = exception_cb {
            self.pass(|_| starts.add(0, i64::from(start)))?;
        }
        Ok(starts.into_subprogs(exception_cb))
    }

    /// Runs a pass and makes its refusal ours.
    fn pass<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, PassReject>) -> Check<T> {
        run(self).map_err(|refusal| {
            for line in &refusal.source_lines {
                self.print_source_line(line.0, &format!("{line}: "));
            }
            self.insn_idx = refusal.insn_idx.map_or(0, |i| i.0);
            if refusal.open_line {
                return self.refuse_without_newline(refusal.errno, *refusal.kind);
            }
            self.refuse(refusal.errno, *refusal.kind)
        })
    }

    /// No function may be among those that it calls.
    fn refuse_recursion(&mut self, subprogs: &Subprogs) -> Check {
        if !self.rules().recursion_refused_first {
            return Ok(());
        }
        let Some((from, to)) = recursion::find_recursion(self.insns, subprogs) else {
            return Ok(());
        };
        let name = |subprog: usize| self.subprogs.get(subprog).map_or("", |it| &it.name).into();
        reject!(self, EINVAL, FlowFault::Recursion { from: name(from), to: name(to) })
    }

    fn list_subprogs(&mut self, subprogs: &Subprogs) {
        self.subprogs = (0..subprogs.count())
            .map(|i| {
                let flags = subprogs.flags[i];
                let (name, is_global) = self.subprog_name(subprogs.start(i));
                SubprogInfo {
                    start: subprogs.start(i),
                    name,
                    is_global,
                    has_tail_call: flags.has_tail_call,
                    has_ld_abs: flags.has_ld_abs,
                    is_exception_cb: flags.is_exception_cb,
                    ..SubprogInfo::default()
                }
            })
            .collect();
    }

    /// Name of the function that starts at `start`, and whether it has global linkage.
    fn subprog_name(&self, start: u32) -> (String, bool) {
        let row = self.prog.func_info.iter().find(|f| f.insn_off.0 == start);
        let (Some(row), Some(btf)) = (row, &self.prog.btf) else { return (String::new(), false) };
        let Some(ty) = btf.get(TypeId(row.type_id)) else { return (String::new(), false) };
        let global = ty.func_linkage() == skep_btf::FuncLinkage::Global as u16;
        (ty.name().to_string(), global)
    }

    /// Stack of all call chains, without the slots of patterns that are removed.
    pub(crate) fn check_stack_depth(&mut self) -> Check {
        for (idx, subprog) in self.subprogs.iter_mut().enumerate() {
            let depth = subprog.stack_depth as u16;
            subprog.stack_depth = self.fastcall.final_stack_depth(&self.layout, idx, depth).into();
        }
        let stacks: Vec<SubprogStack> = self
            .subprogs
            .iter()
            .map(|s| SubprogStack {
                depth: s.stack_depth as u16,
                is_cb: s.is_cb,
                is_async_cb: s.is_async_cb,
            })
            .collect();
        let jit_requested = self.rules().frames_of_sixteen;
        // Longer ones were not asked of those kernels.
        let frames_max = MAX_CALL_FRAMES + usize::from(self.rules().long_chains_of_globals);
        let rules = StackRules {
            jit_requested,
            private_stack: self.rules().private_stacks && has_private_stack(self.prog),
            frames_max,
        };
        let reachable = self.pass(|env| {
            check_max_stack_depth(env.insns, &env.layout, &env.callable, (&stacks, rules))
        })?;
        for (subprog, reachable) in self.subprogs.iter_mut().zip(reachable) {
            subprog.tail_call_reachable = reachable;
        }
        if let Some(idx) = address_of_removed_end(self.insns, &self.layout, self) {
            self.insn_idx = idx as u32;
            return unsupported(
                "the address of a function that is never walked, where no function will be",
            );
        }
        if let Some(idx) = removed_before_exception_cb(&self.layout, self) {
            self.insn_idx = idx as u32;
            return unsupported("functions removed before the exception callback");
        }
        self.accepted = true;
        Ok(())
    }

    /// The kernels' rule; always where the walk must not go by their holes.
    pub(crate) fn callbacks_are_loops(&self) -> bool {
        self.sound || self.rules().callbacks_are_loops
    }

    fn stack_depths(&self) -> Vec<u16> {
        let depths: Vec<u16> = self.subprogs.iter().map(|s| s.stack_depth as u16).collect();
        if !self.accepted {
            return depths;
        }
        final_stack_depths(self.insns, &self.layout, self, &depths)
    }

    /// The last line of the log.
    pub(crate) fn print_stats(&mut self) {
        let depths = self.stack_depths();
        self.stats.mark_read = self.reads.as_ref().map_or(0, |reads| reads.longest_walk());
        self.stats.stack_depth_bytes = depths.iter().map(|&depth| u32::from(depth)).sum();
        if self.log.level == 0 {
            return;
        }
        if self.log.level & crate::log::LEVEL_STATS != 0 {
            let text = stack_depth_text(&depths);
            verbose!(self, "{text}");
        }
        let s = self.stats;
        verbose!(
            self,
            "processed {} insns (limit {}) max_states_per_insn {} total_states {} peak_states {} mark_read {}\n",
            s.insns_processed,
            s.insns_limit,
            s.max_states_per_insn,
            s.total_states,
            s.peak_states,
            s.mark_read
        );
    }

    /// The insn in the kernel's notation.
    pub(crate) fn write_insn(&self, out: &mut String, idx: u32) {
        let insns = &self.insns[idx as usize..];
        let _ = skep_insn::write_insn(out, insns, &self.callable, self.allow_ptr_leaks);
    }
}

impl WalkedInsns for Env<'_> {
    fn was_seen(&self, idx: usize) -> bool {
        self.aux[idx].has(InsnFlags::SEEN)
    }
    fn loop_is_inlined(&self, idx: usize) -> bool {
        matches!(self.aux[idx].loop_inline(), LoopInline::Fits(_))
    }
    fn saw_exception(&self) -> bool {
        self.seen_exception
    }
}

/// Whether programs of this type may interrupt themselves, so that each run has a stack of its own.
fn has_private_stack(prog: &Program) -> bool {
    matches!(
        loaded_type(prog),
        ProgType::Kprobe
            | ProgType::Tracepoint
            | ProgType::PerfEvent
            | ProgType::RawTracepoint
            | ProgType::Tracing
    )
}

/// Whether the kernel's BTF has the structs that list fields to be trusted.
fn fields_have_trust(prog: &Program) -> bool {
    let listed = |btf: &skep_btf::Btf| {
        btf.find_by_name_kind("task_struct__safe_rcu", skep_btf::Kind::Struct).is_some()
    };
    prog.kernel_btf.as_deref().is_none_or(listed)
}

/// Maps of the program, then templates of inner maps; `None` if their values have more members than
/// are searched for special fields.
fn list_maps<'p>(prog: &'p Program, rules: &Behaviours) -> Option<Vec<MapView<'p>>> {
    let view = |def| MapView { def, inner: None, fields: Vec::new() };
    let mut maps: Vec<MapView<'p>> = prog.maps.iter().map(view).collect();
    for i in 0..prog.maps.len() {
        let is_outer = matches!(maps[i].def.map_type, MapType::ArrayOfMaps | MapType::HashOfMaps);
        if let Some(inner) = maps[i].def.inner.as_deref().filter(|_| is_outer) {
            maps[i].inner = Some(maps.len() as u32);
            maps.push(view(inner));
        }
    }
    if let Some(btf) = &prog.btf {
        let ids = maps.iter().map(|map| TypeId(map.def.btf_value_type_id));
        let fields = skep_btf::special_fields_of(btf, ids)?;
        maps.iter_mut().zip(fields).for_each(|(map, fields)| map.fields = known(fields, rules));
    }
    Some(maps)
}

/// The fields as the kernel knows them: those that came before the tag of untrusted pointers take
/// each for one.
fn known(mut fields: Vec<SpecialField>, rules: &Behaviours) -> Vec<SpecialField> {
    if rules.untrusted_kptr_tag {
        return fields;
    }
    // One pointer that they do not know, and none is known.
    let unknown =
        |kind| matches!(kind, FieldKind::KptrUnref | FieldKind::KptrPercpu | FieldKind::Uptr);
    if fields.iter().any(|field| unknown(field.kind)) {
        fields.retain(|field| !unknown(field.kind) && field.kind != FieldKind::KptrRef);
    }
    for field in fields.iter_mut().filter(|field| field.kind == FieldKind::KptrRef) {
        field.kind = FieldKind::KptrUnref;
    }
    fields
}
