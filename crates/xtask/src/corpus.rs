//! `cargo xtask corpus`: builds the open corpus of BPF objects from Debian packages.
//!
//! The objects are GPL: they are input for measurements and never committed. Only the selftests and
//! the headers that they include are unpacked from the kernel's source.
//!
//! ```text
//! DIR/src           what is unpacked, and the generated headers
//! DIR/v3, DIR/v4    the selftests' programs, built with clang for cpu v3 and v4
//! DIR/libxdp        the objects of libxdp1
//! DIR/libbpf-tools  the ELF images inside the binaries of libbpf-tools
//! DIR/cilium        Cilium's datapath, if its sources are named
//! DIR/LIST          every object and its size; DIR/NOT_BUILT: every source that failed, and why
//! ```

mod build;
mod carve;
mod cilium;
mod tools;

use crate::outcome::Ended;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tools::{Result, output, run_quietly};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Output folder.
    #[arg(long, default_value = "target/corpus")]
    dir: PathBuf,
    /// Do not install packages; use those that are installed.
    #[arg(long)]
    no_install: bool,
    /// Also build Cilium's datapath, from this checkout of its sources.
    #[arg(long, value_name = "SRC")]
    cilium: Option<PathBuf>,
}

/// Debian packages: compiler, sources, headers, ready-made objects.
const PACKAGES: [&str; 7] = [
    "clang-19",
    "llvm-19",
    "linux-source-6.12",
    "libbpf-dev",
    "libxdp1",
    "libbpf-tools",
    "bpftool",
];
/// The source archive that [`PACKAGES`] install.
const SOURCE: &str = "/usr/src/linux-source-6.12.tar.xz";
/// The parts of the archive that are unpacked.
const UNPACKED: [&str; 7] = [
    "tools/testing/selftests/bpf",
    "tools/lib/bpf",
    "tools/include",
    "tools/arch/x86/include",
    "include/uapi",
    "arch/x86/include/uapi",
    "scripts/bpf_doc.py",
];

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let installed = if args.no_install { Ok(()) } else { install() };
    if let Err(why) = installed {
        return Ok(Ended::Skipped(why.to_string()));
    }
    fs::create_dir_all(&args.dir)?;
    let dir = args.dir.canonicalize()?;
    unpack(&dir.join("src"))?;
    build::generate_headers(&dir.join("src"))?;
    let mut not_built = Vec::new();
    for cpu in ["v3", "v4"] {
        not_built.extend(build::all(&dir, cpu)?);
    }
    if let Some(from) = &args.cilium {
        not_built.extend(cilium::all(from, &dir)?);
    }
    fs::write(dir.join("NOT_BUILT"), not_built.join("\n") + "\n")?;
    println!("corpus: {} of the sources not built, see NOT_BUILT", not_built.len());
    carve::libbpf_tools(&dir.join("libbpf-tools"))?;
    copy_libxdp(&dir.join("libxdp"))?;
    list(&dir)
}

fn install() -> Result {
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err("no apt-get here".to_owned());
    }
    if run_quietly(Command::new("dpkg").arg("-s").args(PACKAGES)).is_ok() {
        return Ok(());
    }
    run_quietly(Command::new("apt-get").args(["-q", "update"]))?;
    run_quietly(
        Command::new("apt-get")
            .args(["-q", "-y", "--no-install-recommends", "install"])
            .args(PACKAGES)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}

fn unpack(src: &Path) -> Result {
    if src.join(UNPACKED[0]).exists() {
        return Ok(());
    }
    fs::create_dir_all(src).map_err(|e| format!("{}: {e}", src.display()))?;
    let members = UNPACKED.iter().map(|path| format!("linux-source-6.12/{path}"));
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(src).args(["--strip-components=1", "-xf", SOURCE]).args(members);
    run_quietly(&mut tar)
}

fn copy_libxdp(to: &Path) -> Result {
    let io = |e: std::io::Error| format!("{}: {e}", to.display());
    fs::create_dir_all(to).map_err(io)?;
    let files = String::from_utf8_lossy(&output(Command::new("dpkg").args(["-L", "libxdp1"]))?)
        .lines()
        .filter(|line| line.ends_with(".o"))
        .map(PathBuf::from)
        .collect::<Vec<_>>();
    for file in files {
        fs::copy(&file, to.join(file.file_name().unwrap_or_default())).map_err(io)?;
    }
    Ok(())
}

fn list(dir: &Path) -> crate::Outcome {
    let mut text = String::new();
    let parts = ["v3", "v4", "libxdp", "libbpf-tools", "cilium"];
    for part in parts.into_iter().filter(|part| dir.join(part).exists()) {
        let files = crate::objects::find(&[dir.join(part)])?;
        println!("corpus: {part}: {} objects", files.len());
        for file in files {
            let size = fs::metadata(&file)?.len();
            text += &format!("{},{size}\n", crate::objects::short_name(&file));
        }
    }
    fs::write(dir.join("LIST"), text)?;
    Ok(Ended::Passed)
}
