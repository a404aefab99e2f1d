//! `cargo xtask bench memory`: peak memory of skep's verifier, compared with the kernel's.
//!
//! The kernel's figure is what its memory controller charges to a group while the program loads,
//! like veristat's `mem_peak` (`kernel_bytes`). If no group can be created, a lower bound is used
//! and the table says so: the sizes of its structures from its BTF, times the counts reported by
//! both verifiers. This leaves out, in the kernel's favour: frames beyond the first, stack slots,
//! jump history, pending branches, and allocator rounding.

use super::cgroup::Group;
use super::kernel_bytes;
use crate::objects;
use crate::outcome::Ended;
use skep::btf::{Btf, Kind};
use skep::{Counts, Host, Session, VerifyOptions};
use skep_report::Grid;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Object files, and folders of them; the stress shapes by default.
    paths: Vec<PathBuf>,
    /// Do not measure the kernel: use the lower bound from its structures.
    #[arg(long)]
    structures: bool,
}

/// Sizes of the kernel's structures, bytes.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// The working set of one verification.
    env: u64,
    /// A saved state, with its entry in the list of states of an insn.
    state: u64,
    /// One frame: eleven registers and bookkeeping.
    frame: u64,
    /// A row per insn.
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

    /// The kernel's lower bound.
    fn at_least(self, insns: u64, peak_states: u64) -> u64 {
        self.env + insns * self.insn + peak_states * (self.state + self.frame)
    }
}

/// One program, with the memory that skep used.
struct Row {
    name: String,
    insns: u64,
    counts: Counts,
}

/// Source of the kernel's figure.
enum Kernel {
    Counted(Group),
    AtLeast(Sizes),
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let host = objects::host()?;
    let kernel = match kernel(args, &host) {
        Ok(kernel) => kernel,
        Err(why) => return Ok(Ended::Skipped(why)),
    };
    let heading = match &kernel {
        Kernel::Counted(_) => "Kernel, bytes",
        Kernel::AtLeast(_) => "Kernel at least, bytes",
    };
    let headings = ["Program", "Insns", "Peak states", heading, "skep, bytes", "skep/kernel"];
    let mut table = Grid::new(&headings, 1);
    let names = skep_verifier::MemBytes::default().parts().map(|(name, _)| name);
    let mut headings = vec!["skep's bytes, most of each"];
    headings.extend(names);
    let mut parts = Grid::new(&headings, 1);
    let mut nothing_bytes = 0;
    for file in files(args)? {
        let rows = rows(&file, &host)?;
        let measured = match &kernel {
            Kernel::Counted(group) => kernel_bytes::of_file(&file, group)?,
            Kernel::AtLeast(_) => Vec::new(),
        };
        for (at, row) in rows.into_iter().enumerate() {
            let measured = measured.get(at);
            let bytes = match &kernel {
                Kernel::AtLeast(sizes) => Some(sizes.at_least(row.insns, row.counts.peak_states)),
                Kernel::Counted(_) => measured.and_then(|it| it.bytes),
            };
            nothing_bytes = measured.map_or(nothing_bytes, |it| it.nothing_bytes);
            table.row(cells(&row, bytes));
            let bytes = row.counts.mem_peak.parts().map(|(_, bytes)| bytes.to_string());
            parts.row(std::iter::once(row.name).chain(bytes));
        }
    }
    println!("{table}");
    if let Kernel::Counted(_) = kernel {
        println!("\nof the kernel's, the load of a program that does nothing: {nothing_bytes}");
    }
    println!("\n{parts}");
    Ok(Ended::Passed)
}

/// Chooses the source of the kernel's figure, or says why there is none.
fn kernel(args: &Args, host: &Host) -> Result<Kernel, String> {
    let why = match args.structures {
        true => "not asked for".to_owned(),
        false => match skep_kernel::bpf::available().map_err(|e| format!("bpf(2): {e:?}")) {
            Err(why) => why,
            Ok(()) => match Group::new() {
                Err(why) => why,
                Ok(group) => {
                    println!(
                        "the kernel's bytes: {}, over what there was before the load\n",
                        group.version().name()
                    );
                    return Ok(Kernel::Counted(group));
                }
            },
        },
    };
    let Some(sizes) = host.kernel_btf.as_deref().and_then(Sizes::read) else {
        return Err(format!(
            "no memory cgroup ({why}), and no kernel BTF with the verifier's structures"
        ));
    };
    println!(
        "the kernel's bytes: a lower bound by the sizes of its structures (no memory cgroup: \
        {why})\n{sizes:?}\n"
    );
    Ok(Kernel::AtLeast(sizes))
}

fn files(args: &Args) -> Result<Vec<PathBuf>, Box<dyn std::error::Error>> {
    if !args.paths.is_empty() {
        return objects::find(&args.paths);
    }
    let mut files = objects::find(&[crate::root().join("tests/programs")])?;
    files.retain(|file| objects::short_name(file).contains("/stress_"));
    Ok(files)
}

fn rows(file: &std::path::Path, host: &Host) -> Result<Vec<Row>, String> {
    let object = objects::open(file, host)?;
    let session = Session::new(host.clone());
    let programs = object.programs.iter().filter_map(|entry| entry.program.as_ref().ok());
    let row = |program: &skep::program::Program| Row {
        name: format!("{}:{}", objects::short_name(file), program.name),
        insns: program.insns.len() as u64,
        counts: session.verify(program, &VerifyOptions::default()).counts,
    };
    Ok(programs.map(row).collect())
}

fn cells(row: &Row, kernel_bytes: Option<u64>) -> [String; 6] {
    let counts = row.counts;
    let ratio = |kernel: u64| format!("{:.3}", counts.mem_peak_bytes as f64 / kernel as f64);
    let refused = || "not loaded".to_owned();
    [
        row.name.clone(),
        counts.insns_processed.to_string(),
        counts.peak_states.to_string(),
        kernel_bytes.map_or_else(refused, |bytes| bytes.to_string()),
        counts.mem_peak_bytes.to_string(),
        kernel_bytes.filter(|&bytes| bytes > 0).map_or_else(String::new, ratio),
    ]
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
