//! Peak memory that the host kernel allocates to verify a program, measured in a separate process.
//!
//! Maps, BTF and insns are allocated before; a load adds the verifier's working set and the
//! resulting program. Every load is repeated and the median taken, because the allocators' caches
//! vary by some pages.

use super::cgroup::{Group, Meter};
use crate::objects;
use crate::outcome::Ended;
use serde::{Deserialize, Serialize};
use skep::insn::asm::assemble;
use skep::program::Program;
use skep::uapi::ProgType;
use skep_kernel::judge::{Prepared, as_loaded};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Number of loads of each program.
const LOADS: usize = 5;

#[derive(clap::Args)]
pub(crate) struct WorkerArgs {
    file: PathBuf,
    #[arg(long)]
    group: PathBuf,
}

/// The result for one program of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Bytes; `None` if the kernel did not accept a map or BTF that the program needs.
    pub(super) bytes: Option<u64>,
    /// The same for an empty program: the base cost of a load.
    pub(super) nothing_bytes: u64,
}

/// Measures the programs of a file, in their order, in a new process that joins `group`.
pub(super) fn of_file(file: &Path, group: &Group) -> Result<Vec<Measured>, String> {
    let myself = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut worker = Command::new(myself);
    worker.args(["bench", "kernel-bytes", "--group"]).arg(group.folder()).arg(file);
    let output = worker.stderr(Stdio::inherit()).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(format!("{}: the kernel's memory was not measured", file.display()));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())
}

/// The measuring process.
pub(crate) fn worker(args: &WorkerArgs) -> crate::Outcome {
    let object = objects::open(&args.file, &objects::host()?)?;
    let mut meter = Meter::join(&args.group)?;
    let nothing_bytes = most_of(&nothing()?, &mut meter)?.unwrap_or(0);
    let mut measured = Vec::new();
    for program in object.programs.iter().filter_map(|entry| entry.program.as_ref().ok()) {
        let bytes = most_of(&as_loaded(program), &mut meter)?;
        measured.push(Measured { bytes, nothing_bytes });
    }
    println!("{}", serde_json::to_string(&measured)?);
    Ok(Ended::Passed)
}

fn most_of(program: &Program, meter: &mut Meter) -> std::io::Result<Option<u64>> {
    let Ok(prepared) = Prepared::new(program) else { return Ok(None) };
    let load = || drop(prepared.load(0));
    let mut bytes = Vec::with_capacity(LOADS);
    for _ in 0..LOADS {
        bytes.push(meter.most_of(load)?);
    }
    bytes.sort_unstable();
    Ok(bytes.get(LOADS / 2).copied())
}

/// A program of two insns.
fn nothing() -> Result<Program, String> {
    let assembly = assemble("r0 = 0\nexit\n", &|_| None).map_err(|e| e.to_string())?;
    Ok(Program {
        name: "nothing".to_owned(),
        prog_type: ProgType::SchedCls,
        license: "GPL".to_owned(),
        insns: assembly.insns,
        ..Program::default()
    })
}
