//! Error numbers, positive: what `bpf(2)`, helpers and kfuncs fail with.
//!
//! Kernel: include/uapi/asm-generic/errno-base.h, errno.h, and include/linux/errno.h for
//! `ENOTSUPP`, which `bpf(2)` returns although it is internal.

#![expect(missing_docs, reason = "named as in the kernel's headers")]

pub const EPERM: i32 = 1;
pub const ENOENT: i32 = 2;
pub const E2BIG: i32 = 7;
pub const EBADF: i32 = 9;
pub const EAGAIN: i32 = 11;
pub const ENOMEM: i32 = 12;
pub const EACCES: i32 = 13;
pub const EFAULT: i32 = 14;
pub const EBUSY: i32 = 16;
pub const EEXIST: i32 = 17;
pub const ENODEV: i32 = 19;
pub const EINVAL: i32 = 22;
pub const ENOSPC: i32 = 28;
pub const ERANGE: i32 = 34;
pub const EDEADLK: i32 = 35;
pub const EPROTO: i32 = 71;
pub const EOPNOTSUPP: i32 = 95;
pub const EAFNOSUPPORT: i32 = 97;
pub const ETIMEDOUT: i32 = 110;
pub const EALREADY: i32 = 114;
pub const ENOTSUPP: i32 = 524;

/// Largest error number: a larger magnitude is a value or an address.
pub const MAX_ERRNO: i32 = 4095;
