//! The machine on which this runs, as its kernel verifies programs.

use skep::uapi::KernelProfile;
use skep::{Host, KernelBtf};
use skep_kernel::{bpf, reference, wire};
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
    Ok(host.of_this_build(&bpf::release(), &mut wire::ask))
}
