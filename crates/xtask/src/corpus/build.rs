//! Builds the selftests' BPF programs with the flags of their makefile.

use super::tools::{Result, output, run_quietly};
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Clang of the packages that the corpus installs.
pub(super) const CLANG: &str = "clang-19";
/// Include folders that clang searches last, like the makefile: the host's headers.
const HOST_INCLUDES: [&str; 4] = [
    "/usr/lib/llvm-19/lib/clang/19/include",
    "/usr/local/include",
    "/usr/include/x86_64-linux-gnu",
    "/usr/include",
];

/// Generates `include/vmlinux.h` from the host's BTF, and `include/bpf/` with libbpf's headers and
/// the helper definitions that `bpf_doc.py` derives from the uapi header.
pub(super) fn generate_headers(src: &Path) -> Result {
    let include = src.join("include-bpf");
    let bpf = include.join("bpf");
    let io = |e: std::io::Error| format!("{}: {e}", bpf.display());
    fs::create_dir_all(&bpf).map_err(io)?;
    for entry in fs::read_dir(src.join("tools/lib/bpf")).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|e| e == "h") {
            fs::copy(&path, bpf.join(path.file_name().unwrap_or_default())).map_err(io)?;
        }
    }
    let uapi = src.join("tools/include/uapi/linux/bpf.h");
    let doc = src.join("scripts/bpf_doc.py");
    let defs = output(Command::new("python3").arg(doc).args(["--header", "--file"]).arg(uapi))?;
    fs::write(bpf.join("bpf_helper_defs.h"), defs).map_err(io)?;
    let btf = ["btf", "dump", "file", "/sys/kernel/btf/vmlinux", "format", "c"];
    let vmlinux = output(Command::new("bpftool").args(btf))?;
    fs::write(include.join("vmlinux.h"), vmlinux).map_err(io)
}

/// Builds `progs/*.c` into `dir/cpu`; returns a line for each source that does not compile.
pub(super) fn all(dir: &Path, cpu: &str) -> Result<Vec<String>> {
    let progs = dir.join("src/tools/testing/selftests/bpf/progs");
    let io = |e: std::io::Error| format!("{}: {e}", progs.display());
    fs::create_dir_all(dir.join(cpu)).map_err(io)?;
    let mut sources: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&progs).map_err(io)? {
        sources.push(entry.map_err(io)?.path());
    }
    sources.retain(|path| path.extension().is_some_and(|e| e == "c"));
    sources.sort();
    let failed = |source: &PathBuf| one(dir, cpu, source).err();
    Ok(sources.par_iter().filter_map(failed).collect())
}

fn one(dir: &Path, cpu: &str, source: &Path) -> Result {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let target = dir.join(cpu).join(format!("{stem}.bpf.o"));
    if target.exists() {
        return Ok(());
    }
    let src = dir.join("src");
    let selftests = src.join("tools/testing/selftests/bpf");
    let mut clang = Command::new(CLANG);
    clang.args(["-g", "-O2", "--target=bpf", "-w", "-mlittle-endian", "-D__TARGET_ARCH_x86"]);
    clang.args(["-DENABLE_ATOMICS_TESTS", &format!("-mcpu={cpu}")]);
    for folder in ["include-bpf", "tools/include/uapi"] {
        clang.arg("-I").arg(src.join(folder));
    }
    clang.arg("-I").arg(&selftests).arg("-I").arg(selftests.join("progs"));
    for folder in HOST_INCLUDES {
        clang.args(["-idirafter", folder]);
    }
    if matches!(stem.as_str(), "test_l4lb_noinline" | "test_xdp_noinline") {
        clang.arg("-fno-inline");
    }
    clang.arg("-c").arg(source).arg("-o").arg(&target);
    run_quietly(&mut clang).map_err(|why| format!("{cpu}/{stem}: {why}"))
}
