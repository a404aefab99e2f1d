//! `cargo xtask bench memory`: the most bytes that skep's verifier had allocated at one time,
//! beside what the kernel's must have had.
//!
//! The kernel's own `mem_peak` needs a memory controller of cgroup v2. Without one there is a lower
//! bound: the sizes of its structures, as its BTF gives them, times the counts that both verifiers
//! report. Left out, in the kernel's favour: frames beyond the first, stack slots, jump history,
//! branches that wait, and what its allocator rounds up.

use crate::objects;
use skep::btf::{Btf, Kind};
use skep::{Host, Session, VerifyOptions};
use skep_report::Grid;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Object files, and folders of them; the stress shapes by default.
    paths: Vec<PathBuf>,
}

/// Sizes of the kernel's structures, bytes.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// The working set of one verification.
    env: u64,
    /// A saved state, with its place in the list of those at its insn.
    state: u64,
    /// One frame: eleven registers and bookkeeping.
    frame: u64,
    /// A row for each insn.
    insn: u64,
}

impl Sizes {
    fn read(btf: &Btf) -> Option<Sizes> {
        let size = |name: &str| {
            let id = btf.find_by_name_kind(name, Kind::Struct)?;
            btf.get(id)?.stated_size().map(u64::from)
        };
        Some(Sizes {
            env: size("bpf_verifier_env")?,
            state: size("bpf_verifier_state_list")?,
            frame: size("bpf_func_state")?,
            insn: size("bpf_insn_aux_data")?,
        })
    }

    /// What the kernel had at least.
    fn at_least(self, insns: u64, peak_states: u64) -> u64 {
        self.env + insns * self.insn + peak_states * (self.state + self.frame)
    }
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let host = objects::host()?;
    let sizes = host.kernel_btf.as_deref().and_then(Sizes::read);
    let Some(sizes) = sizes else {
        println!("bench memory: skipped: no kernel BTF that has the verifier's structures");
        return Ok(true);
    };
    println!("bytes of the kernel's structures, from its BTF: {sizes:?}\n");
    let headings = ["Program", "Insns", "Peak states", "Kernel at least", "skep", "skep/kernel"];
    let mut grid = Grid::new(&headings, 1);
    let paths = match args.paths.is_empty() {
        true => vec![crate::root().join("tests/programs")],
        false => args.paths.clone(),
    };
    for file in objects::find(&paths)? {
        let name = objects::short_name(&file);
        if args.paths.is_empty() && !name.contains("/stress_") {
            continue;
        }
        rows(&file, &host, (&mut grid, sizes))?;
    }
    println!("{grid}");
    Ok(true)
}

fn rows(
    file: &std::path::Path,
    host: &Host,
    (grid, sizes): (&mut Grid, Sizes),
) -> Result<(), String> {
    let object = objects::open(file, host)?;
    let session = Session { host: host.clone() };
    for program in object.programs.iter().filter_map(|entry| entry.program.as_ref().ok()) {
        let verification = session.verify(program, &VerifyOptions::default());
        let counts = verification.counts;
        let kernel = sizes.at_least(program.insns.len() as u64, counts.peak_states);
        grid.row([
            format!("{}:{}", objects::short_name(file), program.name),
            counts.insns_processed.to_string(),
            counts.peak_states.to_string(),
            kernel.to_string(),
            counts.mem_peak_bytes.to_string(),
            format!("{:.3}", counts.mem_peak_bytes as f64 / kernel as f64),
        ]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_bound_is_the_sum_of_its_parts() {
        let sizes = Sizes { env: 1000, state: 100, frame: 10, insn: 1 };
        assert_eq!(sizes.at_least(7, 3), 1000 + 7 + 330);
    }
}
