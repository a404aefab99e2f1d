//! The machine on which this runs, as its kernel verifies programs.

use skep::kernel::Judged;
use skep::uapi::KernelProfile;
use skep::{Host, KernelBtf};
use skep_kernel::wire::{Load, LoadResult};
use skep_kernel::{bpf, reference};
use std::sync::OnceLock;

/// The running machine. Where builds of the kernel's release differ, the kernel is asked which of
/// their rules it has; without access to bpf(2) it has those that refuse more. Read and asked once
/// in a process.
///
/// # Errors
///
/// The kernel's BTF is malformed.
pub fn here() -> Result<Host, skep::Error> {
    static HERE: OnceLock<Result<Host, skep::Error>> = OnceLock::new();
    HERE.get_or_init(read).clone()
}

fn read() -> Result<Host, skep::Error> {
    let host = Host::read(&KernelBtf::Running)?;
    if reference::answers(&KernelProfile::v6_18()).is_err() {
        return Ok(host);
    }
    Ok(host.of_this_build(&bpf::release(), &mut |program| {
        let load = Load::new(program, MESSAGE_AND_STATISTICS);
        load.map_or_else(not_judged, |load| judged(&load.load_here()))
    }))
}

/// The log level for the message of a refusal, and statistics.
pub const MESSAGE_AND_STATISTICS: u32 = 4;

/// The result of loading a program, as probes take it.
pub fn judged(told: &LoadResult) -> Judged {
    let stats = told.stats();
    Judged {
        judged: told.judged,
        accepted: told.accepted,
        with_btf: told.with_btf,
        insns: stats.insns_processed,
        peak_states: stats.peak_states,
        message: told.message(),
    }
}

/// The same for a program that cannot be handed to a kernel, for this reason.
pub fn not_judged(why: impl ToString) -> Judged {
    Judged { message: why.to_string(), ..Judged::default() }
}
