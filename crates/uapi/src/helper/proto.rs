//! `HelperProto`: the kernel's description of one helper.

use super::arg_type::{ArgBase, ArgType, RetType};
use super::id::HelperId;
use crate::limits::MAX_BPF_FUNC_REG_ARGS;
use crate::{Behaviours, ProgType};

/// Prototype of a helper.
///
/// Kernel: `struct bpf_func_proto` (include/linux/bpf.h), 6.18.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HelperProto {
    /// Number of the helper.
    pub id: HelperId,
    /// Result in `r0`.
    pub ret: RetType,
    /// Arguments in `r1` to `r5`; those that the helper does not have are `ArgBase::Dontcare`.
    pub args: [ArgType; MAX_BPF_FUNC_REG_ARGS],
    /// Further facts.
    pub flags: ProtoFlags,
}

bitflags::bitflags! {
    /// Boolean properties of a [`HelperProto`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ProtoFlags: u8 {
        /// `gpl_only`: the licence must be compatible with the GPL.
        const GPL_ONLY = 1;
        /// `pkt_access`: memory arguments may lie in the packet.
        const PKT_ACCESS = 2;
        /// `might_sleep`: only for sleepable programs, outside critical sections.
        const MIGHT_SLEEP = 4;
        /// `allow_fastcall`: callers may rely on `r1` to `r5` being preserved.
        const ALLOW_FASTCALL = 8;
        /// The result is a reference that must be released.
        const ACQUIRE = 0x10;
        /// The result is the socket of the argument, as another type.
        const PTR_CAST = 0x20;
        /// The kernel may replace the call by the function of its map, if that is always the same.
        const MAP_CALL = 0x40;
        /// Changes a map, which must not be read-only.
        const MAP_WRITE = 0x80;
    }
}

impl HelperProto {
    /// Number of arguments.
    pub fn arg_count(&self) -> usize {
        self.args.iter().take_while(|a| a.base != ArgBase::Dontcare).count()
    }

    /// Whether the helper is only for programs with a licence compatible with the GPL.
    pub const fn gpl_only(&self) -> bool {
        self.flags.contains(ProtoFlags::GPL_ONLY)
    }

    /// Whether memory arguments may lie in the packet.
    pub const fn pkt_access(&self) -> bool {
        self.flags.contains(ProtoFlags::PKT_ACCESS)
    }

    /// Whether the helper is only for sleepable programs, outside critical sections. `asleep` is
    /// the type of the program if it is one of those: some helpers sleep only there.
    pub const fn might_sleep(&self, rules: &Behaviours, asleep: Option<ProgType>) -> bool {
        let of_syscalls =
            matches!(self.id, HelperId::SysBpf | HelperId::BtfFindByNameKind | HelperId::SysClose);
        let of_stacks = matches!(
            (self.id, asleep),
            (HelperId::GetTaskStack, Some(_)) | (HelperId::GetStack, Some(ProgType::Kprobe))
        );
        self.flags.contains(ProtoFlags::MIGHT_SLEEP)
            || of_syscalls && rules.syscall_helpers_sleep
            || of_stacks && rules.stack_helpers_sleep
    }

    /// Whether callers may rely on `r1` to `r5` being preserved.
    pub const fn allow_fastcall(&self) -> bool {
        self.flags.contains(ProtoFlags::ALLOW_FASTCALL)
    }

    /// Whether the result must be released, whatever the arguments.
    pub const fn acquires(&self) -> bool {
        self.flags.contains(ProtoFlags::ACQUIRE)
    }

    /// Whether the result is the argument, as another type.
    pub const fn casts(&self) -> bool {
        self.flags.contains(ProtoFlags::PTR_CAST)
    }
}
