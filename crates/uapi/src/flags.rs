//! Flags of `BPF_PROG_LOAD` and `BPF_MAP_CREATE`.
//!
//! Kernel: include/uapi/linux/bpf.h, 6.18.

use bitflags::bitflags;

bitflags! {
    /// `bpf_attr.prog_flags` of `BPF_PROG_LOAD`. Unknown bits make the kernel refuse the load with
    /// EINVAL.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ProgFlags: u32 {
        /// `BPF_F_STRICT_ALIGNMENT`: every access must be naturally aligned.
        const STRICT_ALIGNMENT = 1 << 0;
        /// `BPF_F_ANY_ALIGNMENT`: never require alignment, whatever the machine needs.
        const ANY_ALIGNMENT = 1 << 1;
        /// `BPF_F_TEST_RND_HI32`: randomize upper halves that the verifier considers dead.
        const TEST_RND_HI32 = 1 << 2;
        /// `BPF_F_TEST_STATE_FREQ`: save a state at every prune point.
        const TEST_STATE_FREQ = 1 << 3;
        /// `BPF_F_SLEEPABLE`: may call helpers and kfuncs that sleep.
        const SLEEPABLE = 1 << 4;
        /// `BPF_F_XDP_HAS_FRAGS`: handles packets of several buffers.
        const XDP_HAS_FRAGS = 1 << 5;
        /// `BPF_F_XDP_DEV_BOUND_ONLY`: bound to a device, not offloaded to it.
        const XDP_DEV_BOUND_ONLY = 1 << 6;
        /// `BPF_F_TEST_REG_INVARIANTS`: reject the program if the bounds of a register contradict
        /// each other.
        const TEST_REG_INVARIANTS = 1 << 7;
        /// `BPF_F_TOKEN_FD`: `prog_token_fd` is set.
        const TOKEN_FD = 1 << 16;
    }
}

bitflags! {
    /// `bpf_attr.map_flags` of `BPF_MAP_CREATE`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct MapFlags: u32 {
        /// `BPF_F_NO_PREALLOC`: allocate elements when they are added.
        const NO_PREALLOC = 1 << 0;
        /// `BPF_F_NO_COMMON_LRU`: one LRU list for each CPU.
        const NO_COMMON_LRU = 1 << 1;
        /// `BPF_F_NUMA_NODE`: `numa_node` is set.
        const NUMA_NODE = 1 << 2;
        /// `BPF_F_RDONLY`: user space may not write.
        const RDONLY = 1 << 3;
        /// `BPF_F_WRONLY`: user space may not read.
        const WRONLY = 1 << 4;
        /// `BPF_F_STACK_BUILD_ID`: store build ids and offsets instead of addresses.
        const STACK_BUILD_ID = 1 << 5;
        /// `BPF_F_ZERO_SEED`: hash with seed 0; for tests.
        const ZERO_SEED = 1 << 6;
        /// `BPF_F_RDONLY_PROG`: programs may not write.
        const RDONLY_PROG = 1 << 7;
        /// `BPF_F_WRONLY_PROG`: programs may not read.
        const WRONLY_PROG = 1 << 8;
        /// `BPF_F_CLONE`: local storage follows a cloned listener.
        const CLONE = 1 << 9;
        /// `BPF_F_MMAPABLE`: user space may map it.
        const MMAPABLE = 1 << 10;
        /// `BPF_F_PRESERVE_ELEMS`: a perf event array keeps its events when the file is closed.
        const PRESERVE_ELEMS = 1 << 11;
        /// `BPF_F_INNER_MAP`: an inner array may differ from its template in `max_entries`.
        const INNER_MAP = 1 << 12;
        /// `BPF_F_LINK`: a struct_ops map that is attached through a link.
        const LINK = 1 << 13;
        /// `BPF_F_PATH_FD`: `path_fd` is set.
        const PATH_FD = 1 << 14;
        /// `BPF_F_VTYPE_BTF_OBJ_FD`: `value_type_btf_obj_fd` is set.
        const VTYPE_BTF_OBJ_FD = 1 << 15;
        /// `BPF_F_TOKEN_FD`: `map_token_fd` is set.
        const TOKEN_FD = 1 << 16;
        /// `BPF_F_SEGV_ON_FAULT`: an arena gives user space SIGSEGV for pages that do not exist.
        const SEGV_ON_FAULT = 1 << 17;
        /// `BPF_F_NO_USER_CONV`: an arena does not convert pointers for user space.
        const NO_USER_CONV = 1 << 18;
    }
}

bitflags! {
    /// `bpf_attr.log_level` of `BPF_PROG_LOAD`. Zero means: no log.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct LogLevel: u32 {
        /// `BPF_LOG_LEVEL1`: the insns processed before the program was rejected.
        const LEVEL1 = 1;
        /// `BPF_LOG_LEVEL2`: everything that was walked.
        const LEVEL2 = 2;
        /// `BPF_LOG_STATS`: the statistics at the end.
        const STATS = 4;
        /// `BPF_LOG_FIXED`: keep the beginning of a log that does not fit, not its end.
        const FIXED = 8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values read from the BTF of Linux 6.18 (the unnamed enum that holds `BPF_F_NO_PREALLOC`).
    #[test]
    fn map_flags_have_the_abi_values() {
        assert_eq!(MapFlags::MMAPABLE.bits(), 1024);
        assert_eq!(MapFlags::NO_USER_CONV.bits(), 262_144);
        assert_eq!(MapFlags::all().bits(), (1 << 19) - 1);
    }
}
