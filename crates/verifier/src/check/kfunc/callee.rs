//! Which kfunc an insn calls: its name, flags, prototype, and whether this program may call it.
//!
//! Kernel: `fetch_kfunc_arg_meta`, `add_kfunc_call`, `special_kfunc_list` (6.18).

use crate::KernelSymbols;
use crate::passes::PassReject;
use crate::passes::call_facts::{CallFacts, is_kfunc_call};
use crate::passes::prototypes::prototype_fault;
use crate::rejection::KfuncFault;
use rustc_hash::FxHashMap;
use skep_btf::{Btf, Kind, Type, TypeId};
use skep_insn::Insn;
use skep_program::Program;
use skep_uapi::Behaviours;
use skep_uapi::errno;
use skep_uapi::helper::HookKey;
use skep_uapi::is_gpl_compatible;
use skep_uapi::kfunc::{Kfunc, KfuncFlags};

/// Kfuncs that the verifier knows by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Special {
    #[default]
    Plain,
    ObjNew,
    ObjDrop,
    PercpuObjNew,
    PercpuObjDrop,
    RefcountAcquire,
    ListPushFront,
    ListPushBack,
    ListPopFront,
    ListPopBack,
    ListFront,
    ListBack,
    RbtreeAdd,
    RbtreeRemove,
    RbtreeFirst,
    RbtreeRoot,
    RbtreeLeft,
    RbtreeRight,
    CastToKernCtx,
    RdonlyCast,
    RcuReadLock,
    RcuReadUnlock,
    PreemptDisable,
    PreemptEnable,
    DynptrFromSkb,
    DynptrFromXdp,
    DynptrFromSkbMeta,
    DynptrSlice,
    DynptrSliceRdwr,
    DynptrClone,
    Throw,
    WqSetCallback,
    TaskWorkSchedule,
    IterCssTaskNew,
    IterNum,
    LocalIrqSave,
    LocalIrqRestore,
    ResSpinLock,
    ResSpinUnlock,
    ResSpinLockIrqsave,
    ResSpinUnlockIrqrestore,
    SessionCookie,
    GetKmemCache,
    XdpPullData,
    Trap,
    ArenaPages,
    Stream,
}

use Special::*;

#[rustfmt::skip]
const NAMES: &[(&str, Special)] = &[
    ("bpf_obj_new_impl", ObjNew),
    ("bpf_obj_drop_impl", ObjDrop),
    ("bpf_percpu_obj_new_impl", PercpuObjNew),
    ("bpf_percpu_obj_drop_impl", PercpuObjDrop),
    ("bpf_refcount_acquire_impl", RefcountAcquire),
    ("bpf_list_push_front_impl", ListPushFront),
    ("bpf_list_push_back_impl", ListPushBack),
    ("bpf_list_pop_front", ListPopFront),
    ("bpf_list_pop_back", ListPopBack),
    ("bpf_list_front", ListFront),
    ("bpf_list_back", ListBack),
    ("bpf_rbtree_add_impl", RbtreeAdd),
    ("bpf_rbtree_remove", RbtreeRemove),
    ("bpf_rbtree_first", RbtreeFirst),
    ("bpf_rbtree_root", RbtreeRoot),
    ("bpf_rbtree_left", RbtreeLeft),
    ("bpf_rbtree_right", RbtreeRight),
    ("bpf_cast_to_kern_ctx", CastToKernCtx),
    ("bpf_rdonly_cast", RdonlyCast),
    ("bpf_rcu_read_lock", RcuReadLock),
    ("bpf_rcu_read_unlock", RcuReadUnlock),
    ("bpf_preempt_disable", PreemptDisable),
    ("bpf_preempt_enable", PreemptEnable),
    ("bpf_dynptr_from_skb", DynptrFromSkb),
    ("bpf_dynptr_from_xdp", DynptrFromXdp),
    ("bpf_dynptr_from_skb_meta", DynptrFromSkbMeta),
    ("bpf_dynptr_slice", DynptrSlice),
    ("bpf_dynptr_slice_rdwr", DynptrSliceRdwr),
    ("bpf_dynptr_clone", DynptrClone),
    ("bpf_throw", Throw),
    ("bpf_wq_set_callback_impl", WqSetCallback),
    ("bpf_task_work_schedule_signal_impl", TaskWorkSchedule),
    ("bpf_task_work_schedule_resume_impl", TaskWorkSchedule),
    ("bpf_iter_css_task_new", IterCssTaskNew),
    ("bpf_iter_num_new", IterNum),
    ("bpf_iter_num_next", IterNum),
    ("bpf_iter_num_destroy", IterNum),
    ("bpf_local_irq_save", LocalIrqSave),
    ("bpf_local_irq_restore", LocalIrqRestore),
    ("bpf_res_spin_lock", ResSpinLock),
    ("bpf_res_spin_unlock", ResSpinUnlock),
    ("bpf_res_spin_lock_irqsave", ResSpinLockIrqsave),
    ("bpf_res_spin_unlock_irqrestore", ResSpinUnlockIrqrestore),
    ("bpf_session_cookie", SessionCookie),
    ("bpf_get_kmem_cache", GetKmemCache),
    ("bpf_xdp_pull_data", XdpPullData),
    ("__bpf_trap", Trap),
    ("bpf_arena_alloc_pages", ArenaPages),
    ("bpf_arena_free_pages", ArenaPages),
    ("bpf_arena_reserve_pages", ArenaPages),
    ("bpf_stream_vprintk_impl", Stream),
    ("bpf_stream_print_stack", Stream),
];

/// Kfuncs for programs that are bound to a device, which are not modelled.
const METADATA: [&str; 3] =
    ["bpf_xdp_metadata_rx_timestamp", "bpf_xdp_metadata_rx_hash", "bpf_xdp_metadata_rx_vlan_tag"];

impl Special {
    fn of(name: &str) -> Special {
        let is = |known: &str| known == name || known.strip_suffix("_impl") == Some(name);
        NAMES.iter().find(|row| is(row.0)).map_or(Plain, |row| row.1)
    }
    /// A function of `bpf_list_head`. Kernel: `is_bpf_list_api_kfunc`.
    pub(crate) fn is_list(self) -> bool {
        matches!(
            self,
            ListPushFront | ListPushBack | ListPopFront | ListPopBack | ListFront | ListBack
        )
    }
    /// A function of `bpf_rb_root`. Kernel: `is_bpf_rbtree_api_kfunc`.
    pub(crate) fn is_rbtree(self) -> bool {
        matches!(
            self,
            RbtreeAdd | RbtreeRemove | RbtreeFirst | RbtreeRoot | RbtreeLeft | RbtreeRight
        )
    }
    /// Inserts a node into a list or tree: the program no longer owns it.
    pub(crate) fn inserts(self) -> bool {
        matches!(self, ListPushFront | ListPushBack | RbtreeAdd)
    }
    /// Returns an object, or a reference to one, of a type in the program's own BTF.
    pub(crate) fn returns_object(self) -> bool {
        matches!(self, ObjNew | PercpuObjNew | RefcountAcquire)
    }
    /// Acquires or releases a `bpf_res_spin_lock`.
    pub(crate) fn is_res_spin_lock(self) -> bool {
        matches!(self, ResSpinLock | ResSpinUnlock | ResSpinLockIrqsave | ResSpinUnlockIrqrestore)
    }
    /// May be called while a spin lock is held. Kernel: `kfunc_spin_allowed`.
    pub(crate) fn spin_allowed(self) -> bool {
        self.is_list()
            || self.is_rbtree()
            || self.is_res_spin_lock()
            || matches!(self, RefcountAcquire | IterNum)
    }
}

/// A kfunc that the program calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callee<'a> {
    /// Its `FUNC` in the kernel's BTF.
    pub(crate) id: TypeId,
    pub(crate) name: &'a str,
    /// Its prototype.
    pub(crate) proto: Type<'a>,
    /// Its row in the tables.
    pub(crate) row: Option<&'static Kfunc>,
    /// Whether the program may call it; false if nothing is known about it.
    pub(crate) allowed: bool,
    /// Whether pointers must be trusted, and not NULL.
    pub(crate) wants_trusted_args: bool,
    pub(crate) special: Special,
    /// Its flags on this kernel.
    flags: KfuncFlags,
}

impl<'a> Callee<'a> {
    fn find(
        prog: &'a Program,
        hook: &HookKey<'_>,
        rules: &Behaviours,
        id: TypeId,
    ) -> Option<Callee<'a>> {
        let func = prog.kernel_btf.as_deref()?.get(id).filter(|t| t.kind() == Kind::Func)?;
        let name = func.name();
        let row = Kfunc::find(name);
        let allowed = row.is_some_and(|row| row.allowed(hook, rules)) && may_be_kfunc(func);
        let (proto, special) = (func.target(), Special::of(name));
        let mut flags = row.map_or(KfuncFlags::empty(), |row| row.flags);
        if special == ArenaPages && rules.arena_pages_awake {
            flags = flags.difference(KfuncFlags::SLEEPABLE);
        }
        if !rules.acquires_may_fail && ["bpf_task_acquire", "bpf_cgroup_acquire"].contains(&name) {
            flags = KfuncFlags::ACQUIRE.union(KfuncFlags::TRUSTED_ARGS);
        }
        // Implied for kfuncs that release.
        let asks = KfuncFlags::TRUSTED_ARGS.union(KfuncFlags::RELEASE);
        let wants_trusted_args = rules.kfuncs_want_trust || flags.intersects(asks);
        Some(Callee { id, name, proto, row, allowed, wants_trusted_args, special, flags })
    }

    pub(crate) fn has(&self, flag: KfuncFlags) -> bool {
        self.flags.contains(flag)
    }
    pub(crate) fn is_iter(&self) -> bool {
        let any = KfuncFlags::ITER_NEW | KfuncFlags::ITER_NEXT | KfuncFlags::ITER_DESTROY;
        self.row.is_some_and(|row| row.flags.intersects(any))
    }
    /// Whether it may be called while a spin lock is held.
    pub(crate) fn spin_allowed(&self, rules: &Behaviours) -> bool {
        self.special.spin_allowed()
            || self.special == Stream && rules.streams_under_lock
            || self.special == ArenaPages && !self.has(KfuncFlags::SLEEPABLE)
    }
    /// Whether the kernel's BTF tags it as a kfunc.
    pub(crate) fn is_tagged(&self) -> bool {
        is_tagged(self.proto.btf(), self.id)
    }

    fn facts(&self) -> CallFacts {
        let by_name = CallFacts {
            sync_callback: self.special == RbtreeAdd,
            async_callback: matches!(self.special, WqSetCallback | TaskWorkSchedule),
            throws: self.special == Throw,
            ..CallFacts::default()
        };
        if !self.allowed {
            return by_name;
        }
        CallFacts {
            num_params: Some(self.proto.params().len().min(255) as u8),
            is_void: self.proto.target_id() == TypeId::VOID,
            fastcall: self.has(KfuncFlags::FASTCALL),
            iter_next: self.has(KfuncFlags::ITER_NEXT),
            might_sleep: self.has(KfuncFlags::SLEEPABLE),
            changes_pkt_data: self.special == XdpPullData,
            ..by_name
        }
    }
}

/// The declaration tag of kfuncs.
const TAG: &str = "bpf_kfunc";

fn is_tagged(btf: &Btf, id: TypeId) -> bool {
    btf.decl_tags(id, None).any(|tag| tag == TAG)
}

/// Whether the kernel may offer the function as a kfunc. A kernel built without the related feature
/// may contain the function without registering it, which its BTF shows if it tags kfuncs at all.
fn may_be_kfunc(func: Type<'_>) -> bool {
    let btf = func.btf();
    is_tagged(btf, func.id()) || btf.find_by_name_kind(TAG, Kind::DeclTag).is_none()
}

/// A program, and the kernel that it is loaded into.
#[derive(Clone, Copy)]
pub(crate) struct LoadedInto<'a> {
    pub(crate) prog: &'a Program,
    pub(crate) symbols: Option<&'a KernelSymbols>,
    pub(crate) rules: &'a Behaviours,
}

/// The kfuncs that a program calls, by BTF id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Callees<'a>(FxHashMap<i32, Callee<'a>>);

impl<'a> Callees<'a> {
    pub(crate) fn new(prog: &'a Program, hook: &HookKey<'_>, rules: &Behaviours) -> Callees<'a> {
        let calls = prog.insns.iter().filter(|insn| is_kfunc_call(insn) && insn.off == 0);
        let found = calls.filter_map(|insn| {
            Some((insn.imm, Callee::find(prog, hook, rules, TypeId(insn.imm as u32))?))
        });
        Callees(found.collect())
    }

    /// The kfunc that `insn` calls; `None` if there is none, or if it is one of a module.
    pub(crate) fn get(&self, insn: &Insn) -> Option<Callee<'a>> {
        if insn.off == 0 { self.0.get(&insn.imm).copied() } else { None }
    }

    /// The facts that the passes need.
    pub(crate) fn facts(&self, insn: &Insn) -> CallFacts {
        self.get(insn).map(|callee| callee.facts()).unwrap_or_default()
    }

    /// Checks that the load makes for every call, reachable or not.
    pub(crate) fn add_kfunc_call(
        &self,
        load: &LoadedInto<'_>,
        idx: usize,
        insn: &Insn,
    ) -> Result<(), PassReject> {
        let LoadedInto { prog, symbols, rules } = *load;
        if !is_gpl_compatible(&prog.license) {
            return Err(PassReject::at(idx, errno::EINVAL, KfuncFault::NeedsGpl));
        }
        if insn.off != 0 {
            let (errno, kind) = if insn.off < 0 {
                (errno::EINVAL, KfuncFault::NegativeModule)
            } else {
                (errno::EPROTO, KfuncFault::NoFdArray)
            };
            return Err(PassReject::at(idx, errno, kind));
        }
        let id = TypeId(insn.imm as u32);
        let kernel = prog.kernel_btf.as_deref();
        let func = kernel.and_then(|btf| btf.get(id));
        if func.is_some_and(|func| METADATA.contains(&func.name())) {
            return Err(PassReject::at(idx, errno::EINVAL, KfuncFault::DeviceBound));
        }
        if id == TypeId::VOID && rules.kfunc_zero_left {
            return Ok(());
        }
        let may_be = |_: &&Callee<'_>| {
            rules.kfuncs_of_modules || kernel.is_none_or(|btf| btf.module_of(id).is_none())
        };
        if let Some(callee) = self.0.get(&insn.imm).filter(may_be) {
            let name = callee.name;
            let fault = if symbols.is_none_or(|symbols| (symbols.0)(name)) {
                let fault = func.and_then(|func| prototype_fault(func, true));
                fault.map(|fault| KfuncFault::Prototype { fault })
            } else {
                Some(KfuncFault::NoAddress { name: name.into() })
            };
            return fault.map_or(Ok(()), |kind| Err(PassReject::at(idx, errno::EINVAL, kind)));
        }
        Err(PassReject::at(idx, errno::EINVAL, KfuncFault::NotFunction { id: id.0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_btf::{BtfBuilder, FuncLinkage};
    use skep_uapi::ProgType;
    use std::sync::Arc;

    #[test]
    fn names_are_known_once() {
        for (i, row) in NAMES.iter().enumerate() {
            assert!(NAMES[..i].iter().all(|other| other.0 != row.0), "{}", row.0);
        }
    }

    /// Tested on 6.18.44, built without signature verification.
    #[test]
    fn a_function_without_the_tag_is_not_offered() {
        let allowed = |tagged: Option<&str>| {
            let mut build = BtfBuilder::new();
            let proto = build.func_proto(TypeId::VOID, &[]);
            let [key, other] = ["bpf_key_put", "bpf_task_release"]
                .map(|name| (name, build.func(name, proto, FuncLinkage::Static)));
            let id = key.1;
            if let Some(name) = tagged {
                let of = if name == key.0 { id } else { other.1 };
                build.decl_tag(TAG, of, None);
            }
            let kernel_btf = Some(Arc::new(build.build().expect("BTF")));
            let prog = Program { kernel_btf, ..Program::default() };
            let hook = HookKey { prog_type: ProgType::Tracing, attach_type: 0, target: "" };
            Callee::find(&prog, &hook, &Behaviours::reference(), id)
                .is_some_and(|callee| callee.allowed)
        };
        assert!(allowed(Some("bpf_key_put")) && !allowed(Some("bpf_task_release")));
        assert!(allowed(None), "older kernels tag none");
    }

    #[test]
    fn what_is_allowed_under_a_lock() {
        let may = |name| Special::of(name).spin_allowed();
        assert!(may("bpf_list_push_front_impl") && may("bpf_iter_num_next"));
        assert!(may("bpf_rbtree_first") && !may("bpf_arena_free_pages"));
        assert!(!may("bpf_obj_new_impl") && !may("bpf_throw") && !may("unknown"));
    }
}
