//! How a program is verified: with which kernel's rules and which privileges, and how verbosely.

use crate::tuning::Tuning;
use skep_uapi::KernelProfile;
use skep_uapi::helper::{HelperId, HookKey};
use std::fmt;
use std::sync::Arc;

/// Capabilities of the loading process. There is deliberately no `Default`: the caller must choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Privileges {
    /// `CAP_BPF`: larger programs, loops, bpf-to-bpf calls, precise tracking.
    pub bpf: bool,
    /// `CAP_PERFMON`: pointer leaks and arithmetic are allowed, no Spectre rules.
    pub perfmon: bool,
}

impl Privileges {
    /// Root's capabilities.
    pub const PRIVILEGED: Privileges = Privileges { bpf: true, perfmon: true };
    /// An unprivileged process's capabilities.
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

/// Which helpers the kernel refuses to programs of a type, though Linux 6.18 does not; whether the
/// program may sleep is the last argument.
#[derive(Clone)]
pub struct RefusedCalls(pub Arc<RefusesCall>);

/// The type of [`RefusedCalls`]'s function.
pub type RefusesCall = dyn Fn(&HookKey<'_>, HelperId, bool) -> bool + Send + Sync;

impl fmt::Debug for RefusedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefusedCalls")
    }
}

/// Whether a kernel function, given by name, allows error injection; `None` if that is not known.
#[derive(Clone)]
pub struct ErrorInjection(pub Arc<TakesErrors>);

/// The type of [`ErrorInjection`]'s function.
pub type TakesErrors = dyn Fn(&str) -> Option<bool> + Send + Sync;

impl fmt::Debug for ErrorInjection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ErrorInjection")
    }
}

/// Everything besides the program that determines the result.
#[derive(Clone, Debug)]
pub struct Config {
    /// The rules of a kernel version.
    pub profile: KernelProfile,
    /// Privileges of the loader.
    pub privileges: Privileges,
    /// `log_level` of `BPF_PROG_LOAD`: 1, 2, 4 (statistics), combined.
    pub log_level: u32,
    /// Possible CPUs (`nr_cpu_ids`): the highest CPU number, plus one.
    pub nr_cpu_ids: u32,
    /// Kernel symbols; `None` assumes that every variable in the kernel's BTF has an address.
    pub kernel_symbols: Option<KernelSymbols>,
    /// Helpers that are refused; without it, those of Linux 6.18.
    pub refused_calls: Option<RefusedCalls>,
    /// Functions with error injection; without it, nothing is known about them.
    pub error_injection: Option<ErrorInjection>,
    /// Maximum log bytes to keep; beyond that the oldest are dropped, as in the kernel's rotating
    /// log.
    pub log_bytes_max: usize,
    /// Maximum number of bytes that verification may use; beyond that it ends without a verdict
    /// ([`Verdict::OutOfMemory`](crate::Verdict::OutOfMemory)). Checked every few hundred insns;
    /// `None` for no limit.
    pub mem_bytes_max: Option<u64>,
    /// Selects older algorithms, for measurements; never changes the result.
    pub tuning: Tuning,
}

impl Config {
    /// Root's capabilities on `profile`, without a log.
    pub fn privileged(profile: KernelProfile) -> Config {
        Config {
            profile,
            privileges: Privileges::PRIVILEGED,
            log_level: 0,
            nr_cpu_ids: 64,
            kernel_symbols: None,
            refused_calls: None,
            error_injection: None,
            log_bytes_max: 1 << 30,
            mem_bytes_max: None,
            tuning: Tuning::default(),
        }
    }
}
