//! Facts about callees that the passes need: a few properties of each helper and kfunc.
//!
//! The passes do not read prototypes: their caller provides these facts from the kernel's tables
//! and from BTF.

use skep_insn::Insn;
use skep_insn::code::*;
use skep_uapi::helper::HelperId;

/// Facts of one helper or kfunc, as far as the whole-program passes need them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallFacts {
    /// Parameters of the prototype, 0 to 5; `None` if the callee is unknown or not available to
    /// this program type (the walk refuses it later).
    pub(crate) num_params: Option<u8>,
    /// Whether the prototype returns void.
    pub(crate) is_void: bool,
    /// Clobbers only the registers that its prototype uses (`bpf_fastcall`), and the kernel
    /// inlines it here.
    pub(crate) fastcall: bool,
    /// Calls a callback before it returns: `bpf_loop`, `bpf_for_each_map_elem`, `bpf_find_vma`,
    /// `bpf_user_ringbuf_drain`, `bpf_rbtree_add`.
    pub(crate) sync_callback: bool,
    /// Schedules a callback to run later: `bpf_timer_set_callback`, workqueues, task work.
    pub(crate) async_callback: bool,
    /// A kfunc that advances an open-coded iterator (`bpf_iter_*_next`).
    pub(crate) iter_next: bool,
    /// May sleep. False for a helper that this program type may not call.
    pub(crate) might_sleep: bool,
    /// May change packet data, which invalidates packet pointers.
    pub(crate) changes_pkt_data: bool,
    /// The kfunc `bpf_throw`.
    pub(crate) throws: bool,
}

/// Source of [`CallFacts`].
pub(crate) trait Callees {
    /// Facts of the helper with this number.
    fn helper(&self, id: i32) -> CallFacts;
    /// Facts of the kfunc that `insn` calls: `imm` is the BTF id, `off` selects the module.
    fn kfunc(&self, insn: &Insn) -> CallFacts;

    /// Facts of the callee of `insn`; the default for a subprog.
    fn of(&self, insn: &Insn) -> CallFacts {
        if is_helper_call(insn) {
            self.helper(insn.imm)
        } else if is_kfunc_call(insn) {
            self.kfunc(insn)
        } else {
            CallFacts::default()
        }
    }
}

/// Whether `insn` calls a helper. Kernel: `bpf_helper_call`.
pub(crate) fn is_helper_call(insn: &Insn) -> bool {
    insn.is_helper_call()
}

/// Whether `insn` calls `bpf_tail_call`.
pub(crate) fn is_tail_call(insn: &Insn) -> bool {
    is_helper_call(insn) && insn.imm == HelperId::TailCall as i32
}

/// Whether `insn` calls a subprog. Kernel: `bpf_pseudo_call`.
pub(crate) fn is_pseudo_call(insn: &Insn) -> bool {
    insn.is_pseudo_call()
}

/// Whether `insn` calls a kfunc. Kernel: `bpf_pseudo_kfunc_call`.
pub(crate) fn is_kfunc_call(insn: &Insn) -> bool {
    insn.code == BPF_JMP | BPF_CALL && insn.src == BPF_PSEUDO_KFUNC_CALL
}

/// Whether `insn` loads the address of a subprog. Kernel: `bpf_pseudo_func`.
pub(crate) fn is_pseudo_func(insn: &Insn) -> bool {
    insn.is_ld_imm64() && insn.src == BPF_PSEUDO_FUNC
}

/// Whether `insn` is `may_goto`. Kernel: `is_may_goto_insn`.
pub(crate) fn is_may_goto(insn: &Insn) -> bool {
    insn.code == BPF_JMP | BPF_JCOND && insn.src == BPF_MAY_GOTO
}

/// First insn of the subprog that `insn` at `idx` calls or refers to; not checked to be in range.
pub(crate) fn callee_start(idx: usize, insn: &Insn) -> i64 {
    idx as i64 + i64::from(insn.imm) + 1
}
