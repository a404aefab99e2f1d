//! How a program is verified: by which kernel's rules, with which privileges, how verbosely.

use crate::tuning::Tuning;
use skep_uapi::KernelProfile;
use std::fmt;
use std::sync::Arc;

/// What the loading process may do. There is deliberately no `Default`: whoever verifies says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Privileges {
    /// `CAP_BPF`: larger programs, loops, bpf-to-bpf calls, precise tracking.
    pub bpf: bool,
    /// `CAP_PERFMON`: pointer leaks and arithmetic are allowed, no Spectre rules.
    pub perfmon: bool,
}

impl Privileges {
    /// What root has.
    pub const PRIVILEGED: Privileges = Privileges { bpf: true, perfmon: true };
    /// What any process has.
    pub const UNPRIVILEGED: Privileges = Privileges { bpf: false, perfmon: false };
}

/// Which symbols the kernel has an address for, by name.
#[derive(Clone)]
pub struct KernelSymbols(pub Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl fmt::Debug for KernelSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KernelSymbols")
    }
}

/// All that decides a verification besides the program.
#[derive(Clone, Debug)]
pub struct Config {
    /// Rules of a kernel version.
    pub profile: KernelProfile,
    /// Privileges of the loader.
    pub privileges: Privileges,
    /// `log_level` of `BPF_PROG_LOAD`: 1, 2, 4 (statistics), combined.
    pub log_level: u32,
    /// CPUs that the machine may have (`nr_cpu_ids`): one more than the largest number of a CPU.
    pub nr_cpu_ids: u32,
    /// Symbols of the kernel; `None` takes every variable in its BTF to have an address.
    pub kernel_symbols: Option<KernelSymbols>,
    /// Log bytes kept; the oldest go first beyond that, as in the kernel's rotating log.
    pub log_bytes_max: usize,
    /// Bytes that the walk may hold; when it needs more it ends without a verdict
    /// ([`Verdict::OutOfMemory`](crate::Verdict::OutOfMemory)). Looked at every some hundred insns.
    pub mem_bytes_max: u64,
    /// Older ways of the engine, for measurements; never changes the answer.
    pub tuning: Tuning,
}

impl Config {
    /// Root on `profile`, without a log.
    pub fn privileged(profile: KernelProfile) -> Config {
        Config {
            profile,
            privileges: Privileges::PRIVILEGED,
            log_level: 0,
            nr_cpu_ids: 64,
            kernel_symbols: None,
            log_bytes_max: 1 << 30,
            mem_bytes_max: u64::MAX,
            tuning: Tuning::default(),
        }
    }
}
