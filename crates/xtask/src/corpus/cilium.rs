//! Builds Cilium's datapath: every configuration of its complexity tests, and its unit tests.
//!
//! These programs were not used in developing the verifier, so they are an independent test of
//! agreement.

use super::build::CLANG;
use super::tools::{Result, run_quietly};
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A source file, its definitions, and the name of its object.
struct Unit {
    source: PathBuf,
    name: String,
    defines: Vec<String>,
    cpu: &'static str,
}

/// Builds the checkout `from` into `dir/cilium`; returns a line for each source that does not
/// compile.
pub(super) fn all(from: &Path, dir: &Path) -> Result<Vec<String>> {
    let bpf = from.canonicalize().map_err(|e| format!("{}: {e}", from.display()))?.join("bpf");
    let to = dir.join("cilium");
    fs::create_dir_all(&to).map_err(|e| format!("{}: {e}", to.display()))?;
    let mut units = configurations(&bpf)?;
    for source in entries(&bpf.join("tests"))? {
        if source.extension().is_some_and(|e| e == "c") {
            let name = format!("test-{}", stem(&source));
            units.push(Unit { source, name, defines: Vec::new(), cpu: "v3" });
        }
    }
    Ok(units.par_iter().filter_map(|unit| one(&bpf, &to, unit).err()).collect())
}

/// `complexity-tests/KERNEL/PROGRAM/N.txt`: compiler options, one per line.
fn configurations(bpf: &Path) -> Result<Vec<Unit>> {
    let mut units = Vec::new();
    for kernel in entries(&bpf.join("complexity-tests"))? {
        for program in entries(&kernel)? {
            for options in entries(&program)? {
                let text = fs::read_to_string(&options)
                    .map_err(|e| format!("{}: {e}", options.display()))?;
                units.push(Unit {
                    source: bpf.join(format!("{}.c", stem(&program))),
                    name: [stem(&program), stem(&kernel), stem(&options)].join("-"),
                    defines: text.split_whitespace().map(str::to_owned).collect(),
                    cpu: if stem(&kernel) == "510" { "v2" } else { "v3" },
                });
            }
        }
    }
    Ok(units)
}

fn one(bpf: &Path, to: &Path, unit: &Unit) -> Result {
    let target = to.join(format!("{}.bpf.o", unit.name));
    if target.exists() {
        return Ok(());
    }
    let mut clang = Command::new(CLANG);
    clang.args(["-O2", "-g", "--target=bpf", "-std=gnu99", "-nostdinc", "-w"]);
    clang.args(["-ftrap-function=__undefined_trap", &format!("-mcpu={}", unit.cpu)]);
    clang.arg("-I").arg(bpf).arg("-I").arg(bpf.join("include")).args(&unit.defines);
    clang.arg("-c").arg(&unit.source).arg("-o").arg(&target);
    run_quietly(&mut clang).map_err(|why| format!("cilium/{}: {why}", unit.name))
}

/// The contents of a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    let read = fs::read_dir(folder).map_err(failed)?;
    let mut paths =
        read.map(|entry| Ok(entry.map_err(failed)?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
