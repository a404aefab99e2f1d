//! `cargo xtask other-ids`: runs tests as on another build of the same kernel.
//!
//! The ids of a kernel's types are those of one build. In a mount namespace of its own, BTF whose
//! every id was moved takes the place of the kernel's; bpf(2), which knows the true ids only, is
//! out of reach there. What then fails had an id of this build in it.

use crate::outcome::{Ended, Outcome};
use skep_testkit::judge::Judge;
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What `cargo test` is given.
    #[arg(last = true, default_values = TESTS)]
    cargo: Vec<String>,
}

/// The packages whose tests read the kernel's BTF.
const TESTS: [&str; 5] = ["--locked", "--quiet", "-pskep", "-pskep-cli", "-pskep-testkit"];

/// Mounts `$1` over the kernel's BTF, gives up what bpf(2) wants, and goes on as the rest.
const ENTER: &str = "btf=$1; shift; mount --bind \"$btf\" /sys/kernel/btf/vmlinux && \
                     exec setpriv --bounding-set=-sys_admin,-bpf,-perfmon \
                     --inh-caps=-sys_admin,-bpf,-perfmon \"$@\"";

pub(crate) fn run(args: &Args) -> Outcome {
    let judge = Judge::here();
    let Some(moved) = judge.renumbered() else {
        return Ok(Ended::Skipped(judge.skips().join("; ")));
    };
    if let Err(why) = can_enter() {
        return Ok(Ended::Skipped(why));
    }
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), moved.root().to_bytes(skep::btf::Endian::NATIVE))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = entering(file.path().as_os_str());
    command.arg(cargo).arg("test").args(&args.cargo).current_dir(crate::root());
    Ok(command.status()?.success().into())
}

/// `unshare` with what follows run inside.
fn entering(btf: &std::ffi::OsStr) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", ENTER, "sh"]).arg(btf);
    command
}

/// Whether this process may do so, and has the tools.
fn can_enter() -> Result<(), String> {
    let mut tried = entering("/sys/kernel/btf/vmlinux".as_ref());
    let tried = tried.arg("true").stdin(Stdio::null()).output();
    let tried = tried.map_err(|e| format!("unshare: {e}"))?;
    match tried.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&tried.stderr);
            Err(format!("no mount namespace: {}", said.lines().next().unwrap_or("no message")))
        }
    }
}
