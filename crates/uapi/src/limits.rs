//! Limits that the kernel puts on a program, a map or a log.
//!
//! Every limit is a constant of 6.18; a [`KernelProfile`](crate::KernelProfile) gives those that
//! differ between versions.

/// `PAGE_SIZE` of the modelled kernels (x86-64), independent of this host's page size.
pub const PAGE_SIZE_BYTES: u32 = 4096;
/// `MAX_BPF_REG`: registers `r0` to `r10`.
pub const MAX_BPF_REG: usize = 11;
/// Registers with `r11`, which rewrites use.
pub const MAX_BPF_EXT_REG: usize = MAX_BPF_REG + 1;
/// `MAX_BPF_STACK`: stack bytes of one frame, and of all frames of a call chain together.
pub const MAX_BPF_STACK_BYTES: u32 = 512;
/// `BPF_REG_SIZE`: bytes of a register and of a stack slot.
pub const BPF_REG_SIZE_BYTES: u32 = 8;
/// Stack slots of one frame.
pub const MAX_BPF_STACK_SLOTS: usize = (MAX_BPF_STACK_BYTES / BPF_REG_SIZE_BYTES) as usize;
/// `MAX_CALL_FRAMES`: frames of a call chain.
pub const MAX_CALL_FRAMES: usize = 8;
/// `BPF_MAX_SUBPROGS`: functions of one program, the main one included.
pub const BPF_MAX_SUBPROGS: usize = 256;
/// `MAX_TAIL_CALL_CNT`: tail calls at run time.
pub const MAX_TAIL_CALL_CNT: u32 = 33;
/// Stack bytes that the callers of a subprog with a tail call may use in total.
pub const MAX_TAIL_CALL_STACK_BYTES: u32 = 256;
/// `BPF_COMPLEXITY_LIMIT_INSNS`: insns of a privileged program, and insns walked for any program.
pub const BPF_COMPLEXITY_LIMIT_INSNS: u32 = 1_000_000;
/// `BPF_MAXINSNS`: insns of an unprivileged program.
pub const BPF_MAXINSNS: u32 = 4096;
/// `BPF_COMPLEXITY_LIMIT_JMP_SEQ`: pending branches.
pub const BPF_COMPLEXITY_LIMIT_JMP_SEQ: u32 = 8192;
/// `BPF_COMPLEXITY_LIMIT_STATES`: states saved for one insn of an unprivileged program.
pub const BPF_COMPLEXITY_LIMIT_STATES: u32 = 64;
/// `MAX_USED_MAPS`: maps of one program.
pub const MAX_USED_MAPS: usize = 64;
/// `MAX_USED_BTFS`: BTF objects of one program.
pub const MAX_USED_BTFS: usize = 64;
/// `MAX_KFUNC_DESCS`: different kfuncs of one program.
pub const MAX_KFUNC_DESCS: usize = 256;
/// `MAX_KFUNC_BTFS`: number of modules whose kfuncs one program can call.
pub const MAX_KFUNC_BTFS: usize = 256;
/// `MAX_BPF_FUNC_REG_ARGS`: arguments of a helper, kfunc or subprog.
pub const MAX_BPF_FUNC_REG_ARGS: usize = 5;
/// `MAX_BPF_FUNC_ARGS`: arguments of a function that a tracing program is attached to.
pub const MAX_BPF_FUNC_ARGS: usize = 12;
/// `BPF_MAX_VAR_OFF`: largest offset that a pointer with a variable part may reach.
pub const BPF_MAX_VAR_OFF: i64 = 1 << 29;
/// `BPF_MAX_VAR_SIZ`: largest size that may be given to a helper.
pub const BPF_MAX_VAR_SIZ: u64 = 1 << 29;
/// `MAX_PACKET_OFF`: largest offset of a packet pointer.
pub const MAX_PACKET_OFF: u64 = 0xffff;
/// `BPF_MAX_LOOPS`: iterations of `bpf_loop` and of `may_goto`.
pub const BPF_MAX_LOOPS: u32 = 8 * 1024 * 1024;
/// `MAX_BPRINTF_VARARGS`: arguments of a format string.
pub const MAX_BPRINTF_VARARGS: usize = 12;
/// `BTF_FIELDS_MAX`: special fields of one map value.
pub const BTF_FIELDS_MAX: usize = 11;
/// `BPF_OBJ_NAME_LEN`: bytes of an object's name with its terminator.
pub const BPF_OBJ_NAME_LEN: usize = 16;
/// `BPF_VERIFIER_TMP_LOG_SIZE`: longest line of the log, in bytes.
pub const BPF_VERIFIER_TMP_LOG_SIZE: usize = 1024;
/// Smallest log buffer, in bytes.
pub const LOG_BUF_BYTES_MIN: u32 = 128;
/// Largest log buffer, in bytes.
pub const LOG_BUF_BYTES_MAX: u32 = u32::MAX >> 2;
