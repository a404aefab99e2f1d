//! Properties of helpers and kfuncs for the passes, from the tables of `uapi` and from BTF.

use crate::check::kfunc::callee::Callees as Kfuncs;
use crate::config::{Config, Privileges};
use crate::passes::call_facts::{CallFacts, Callees, is_helper_call};
use skep_insn::Insn;
use skep_program::{AttachTarget, Program};
use skep_uapi::helper::{HelperId, HelperProto, HelperRow, HelperUse, HookKey, RetBase};
use skep_uapi::helper::{default_proto, needs_cap_bpf, needs_cap_perfmon};
use skep_uapi::{Behaviours, ProgFlags, ProgType, helper_changes_pkt_data, takes_any_attach};

/// The helpers and kfuncs that one program may call.
pub(crate) struct Callable<'a> {
    pub(crate) prog: &'a Program,
    /// Helpers of the program's type; `None` if the type has no row.
    pub(crate) helpers: Option<&'static HelperRow>,
    /// Kfuncs that the program calls.
    pub(crate) kfuncs: Kfuncs<'a>,
    /// The loader's privileges; helpers that need more are not available.
    privileges: Privileges,
    /// What the program attaches to.
    target: String,
    /// The kernel's rules.
    rules: Behaviours,
    /// Helpers that the program calls and the kernel refuses, though 6.18 does not.
    refused: Vec<HelperId>,
}

impl<'a> Callable<'a> {
    pub(crate) fn new(prog: &'a Program, config: &Config) -> Callable<'a> {
        let target = hook_target(prog);
        let mut key = hook_key(prog, &target);
        key.attach_type = attach_number(prog, config);
        if prog.prog_type != ProgType::StructOps && key.attach_type >= config.profile.attach_end {
            // An attach type that the kernel does not know gives no helpers.
            key.attach_type = u32::MAX;
        }
        let kfuncs = Kfuncs::new(prog, &key, &config.profile.behaviours);
        let privileges = config.privileges;
        let helpers = HelperRow::find(&key);
        let rules = config.profile.behaviours;
        let refused = refused_helpers(prog, &target, config);
        Callable { prog, helpers, kfuncs, privileges, target, rules, refused }
    }

    /// The prototype of helper `id`, if this program type has the helper and its loader may use it.
    pub(crate) fn helper_use(&self, id: i32) -> HelperUse {
        match (u32::try_from(id).ok().and_then(HelperId::from_number), self.helpers) {
            (Some(id), Some(_))
                if !self.privileges.perfmon && needs_cap_perfmon(id, self.prog.prog_type) =>
            {
                HelperUse::CannotUse
            }
            (Some(id), Some(_)) if !self.privileges.bpf && needs_cap_bpf(id) => {
                HelperUse::CannotUse
            }
            (Some(id), Some(_)) if self.refused.contains(&id) => HelperUse::CannotUse,
            (Some(HelperId::ProbeWriteUser), Some(row))
                if self.rules.writes_user_memory && traces(self.prog.prog_type) =>
            {
                match row.helper(HelperId::ProbeReadUser) {
                    HelperUse::CannotUse => HelperUse::CannotUse,
                    _ => HelperUse::May(default_proto(HelperId::ProbeWriteUser)),
                }
            }
            (Some(HelperId::OverrideReturn), Some(_))
                if self.rules.results_overridden && self.prog.prog_type == ProgType::Kprobe =>
            {
                HelperUse::May(default_proto(HelperId::OverrideReturn))
            }
            (Some(id), Some(row)) => {
                row.helper_at(id, &hook_key(self.prog, &self.target), &self.rules)
            }
            _ => HelperUse::CannotUse,
        }
    }

    /// Whether a call of the helper may sleep in this program.
    pub(crate) fn might_sleep(&self, proto: &HelperProto) -> bool {
        let sleepable = self.prog.prog_flags.contains(ProgFlags::SLEEPABLE);
        proto.might_sleep(&self.rules, sleepable.then_some(self.prog.prog_type))
    }

    fn proto(&self, id: i32) -> Option<&'static HelperProto> {
        match self.helper_use(id) {
            // The arguments that a call reads do not depend on whether it is allowed there.
            HelperUse::May(proto) | HelperUse::NotAllowedInProbe(proto) => Some(proto),
            HelperUse::CannotUse => None,
        }
    }
}

/// Whether programs of the type may call `bpf_probe_write_user` on kernels that offer it; the
/// 6.18.44 from which the tables come does not.
fn traces(prog_type: ProgType) -> bool {
    use ProgType::*;
    matches!(
        prog_type,
        Kprobe
            | Tracepoint
            | PerfEvent
            | RawTracepoint
            | RawTracepointWritable
            | Tracing
            | Lsm
            | Syscall
    )
}

/// The helpers that a program calls and the kernel refuses. Each is asked about once: the walk may
/// come to a call a million times.
fn refused_helpers(prog: &Program, target: &str, config: &Config) -> Vec<HelperId> {
    let Some(refused) = &config.refused_calls else { return Vec::new() };
    let (key, sleeps) = (hook_key(prog, target), prog.prog_flags.contains(ProgFlags::SLEEPABLE));
    let mut called: Vec<i32> =
        prog.insns.iter().filter(|insn| is_helper_call(insn)).map(|insn| insn.imm).collect();
    called.sort_unstable();
    called.dedup();
    let known = called.into_iter().filter_map(|imm| HelperId::from_number(imm.try_into().ok()?));
    known.filter(|&id| refused.0(&key, id, sleeps)).collect()
}

/// The program's attach type; 0 where the kernel takes any, as it has none of the type's own.
pub(crate) fn attach_number(prog: &Program, config: &Config) -> u32 {
    match takes_any_attach(prog.prog_type, config.profile.attach_end) {
        true => 0,
        false => prog.expected_attach_type,
    }
}

fn hook_key<'k>(prog: &Program, target: &'k str) -> HookKey<'k> {
    HookKey { prog_type: prog.prog_type, attach_type: prog.expected_attach_type, target }
}

/// What determines the available helpers besides program and attach type: the function of an
/// iterator, `struct.member` of struct_ops.
fn hook_target(prog: &Program) -> String {
    let (AttachTarget::Kernel { btf_id, .. }, Some(btf)) = (&prog.attach, &prog.kernel_btf) else {
        return String::new();
    };
    let Some(ty) = btf.get(skep_btf::TypeId(*btf_id)) else { return String::new() };
    let member = ty.members().nth(prog.expected_attach_type as usize);
    match member.filter(|_| prog.prog_type == ProgType::StructOps) {
        Some(member) => format!("{}.{}", ty.name(), member.name()),
        None => ty.name().to_string(),
    }
}

/// Helpers that call a callback before they return.
pub(crate) fn is_sync_callback_helper(id: i32) -> bool {
    matches!(
        u32::try_from(id).ok().and_then(HelperId::from_number),
        Some(
            HelperId::ForEachMapElem
                | HelperId::FindVma
                | HelperId::Loop
                | HelperId::UserRingbufDrain
        )
    )
}

impl Callees for Callable<'_> {
    fn helper(&self, id: i32) -> CallFacts {
        let callbacks = CallFacts {
            sync_callback: is_sync_callback_helper(id),
            async_callback: id == HelperId::TimerSetCallback.number() as i32,
            ..CallFacts::default()
        };
        let known = u32::try_from(id).ok().and_then(HelperId::from_number);
        // Independent of whether this program type has the helper. A tail call counts as a change
        // of packet data for the callers of the function that makes it.
        let changes_pkt_data =
            known.is_some_and(|id| helper_changes_pkt_data(id) || id == HelperId::TailCall);
        let Some(proto) = self.proto(id) else {
            return CallFacts { changes_pkt_data, ..callbacks };
        };
        CallFacts {
            num_params: Some(proto.arg_count() as u8),
            is_void: proto.ret.base == RetBase::Void,
            fastcall: proto.allow_fastcall(),
            might_sleep: self.might_sleep(proto),
            changes_pkt_data,
            ..callbacks
        }
    }

    fn kfunc(&self, insn: &Insn) -> CallFacts {
        self.kfuncs.facts(insn)
    }
}

impl skep_insn::InsnNames for Callable<'_> {
    fn helper_name(&self, id: i32) -> Option<&str> {
        u32::try_from(id).ok().and_then(HelperId::from_number).map(|id| id.name())
    }

    fn kfunc_name(&self, insn: Insn) -> Option<&str> {
        if insn.off != 0 {
            return None;
        }
        let btf = self.prog.kernel_btf.as_ref()?;
        btf.get(skep_btf::TypeId(insn.imm as u32)).map(|ty| ty.name())
    }
}
