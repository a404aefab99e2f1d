//! `cargo xtask dist`: packages for users without cargo: a tarball and a `.deb`, each with one
//! static binary for x86-64. Both are tested in a root folder that contains nothing else.
//!
//! Both are reproducible for the same commit and compiler: owners are numbers, and times are those
//! of the commit.

mod licences;
mod parts;
mod tools;

use crate::outcome::{Ended, Outcome};
use crate::targets::MUSL;
use parts::{Entry, Parts};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tools::{Result, answer, is_there};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the packages go.
    #[arg(long, default_value = "target/dist")]
    out: PathBuf,
    /// Compile without optimisation, in less time: the binary is not for distribution.
    #[arg(long)]
    quick: bool,
}

/// Settings for a binary that is only tested.
const QUICK: [&str; 3] = [
    "profile.release.opt-level=0",
    "profile.release.lto=\"off\"",
    "profile.release.codegen-units=64",
];

/// The object with which the packages are tested.
const OBJECT: &str = "tests/programs/xdp_count.bpf.o";
/// Arguments that select columns whose values are the same in each run.
const STAT: [&str; 6] =
    ["stat", "--btf=none", "--emit=file,prog,verdict,insns", "-o", "csv", OBJECT];

pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(why) = crate::targets::is_missing(MUSL) {
        return Ok(Ended::Skipped(why));
    }
    std::env::set_current_dir(crate::root())?;
    let binary = built(args.quick)?;
    let parts = Parts::of(&binary)?;
    fs::create_dir_all(&args.out)?;
    let out = args.out.canonicalize()?;
    let time = commit_time();
    let version = env!("CARGO_PKG_VERSION");

    let name = format!("skep-{version}-x86_64-linux-musl");
    let tarball = out.join(format!("{name}.tar.gz"));
    let folder = tempfile::tempdir()?;
    write_all(&folder.path().join(&name), &parts.tarball())?;
    packed(folder.path(), &name, &tarball, time)?;
    let mut made = vec![tarball];
    let mut skipped = Vec::new();

    if is_there("dpkg-deb") {
        let deb = out.join(format!("skep_{version}_amd64.deb"));
        let folder = tempfile::tempdir()?;
        write_all(folder.path(), &parts.deb(version))?;
        let mut build = Command::new("dpkg-deb");
        build.args(["--root-owner-group", "--build"]).arg(folder.path()).arg(&deb);
        build.env("SOURCE_DATE_EPOCH", time.to_string());
        answer(&mut build)?;
        made.push(deb);
    } else {
        skipped.push("no dpkg-deb here, which makes the .deb");
    }
    let sums: Vec<String> = made.iter().map(|path| sum(path)).collect::<Result<_>>()?;
    fs::write(out.join("SHA256SUMS"), sums.concat())?;
    print!("{}", sums.concat());

    let wanted = answer(Command::new(&binary).args(STAT))?;
    for package in &made {
        match tried(package, &wanted)? {
            Ended::Passed => println!("dist: {}: works in an empty root", package.display()),
            Ended::Skipped(_) => skipped.push("unshare -r chroot is not allowed here"),
            Ended::Failed => return Ok(Ended::Failed),
        }
    }
    Ok(match skipped.first() {
        None => Ended::Passed,
        Some(why) => Ended::Skipped((*why).to_owned()),
    })
}

/// The static binary.
fn built(quick: bool) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--release", "--locked", "--quiet", "-p", "skep-cli", "--target", MUSL]);
    // Function names are kept, so that crash reports from users name them.
    build.args(["--config", "profile.release.strip=\"debuginfo\""]);
    if quick {
        build.args(QUICK.iter().flat_map(|setting| ["--config", setting]));
    }
    match build.status()?.success() {
        true => Ok(crate::targets::target_dir().join(MUSL).join("release/skep")),
        false => Err("the binary does not build".into()),
    }
}

fn write_all(folder: &Path, files: &[Entry]) -> Result<()> {
    for file in files {
        let path = folder.join(&file.path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, &file.bytes)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(file.mode))?;
    }
    // Temporary files are only accessible to their owner, so set the modes.
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry?;
        if entry.file_type().is_dir() {
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

fn packed(beside: &Path, name: &str, to: &Path, time: u64) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"]);
    tar.arg(format!("--mtime=@{time}")).args(["-I", "gzip -n9", "-cf"]).arg(to);
    answer(tar.arg("-C").arg(beside).arg(name)).map(|_| ())
}

/// Seconds since 1970: of the commit, or of the variable that packagers set.
fn commit_time() -> u64 {
    let set = std::env::var("SOURCE_DATE_EPOCH").ok();
    let of_commit = || {
        let shown = answer(Command::new("git").args(["log", "-1", "--format=%ct"])).ok()?;
        String::from_utf8(shown).ok()
    };
    set.or_else(of_commit).and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// A line of `sha256sum`.
fn sum(path: &Path) -> Result<String> {
    let mut line = String::new();
    Sha256::digest(fs::read(path)?).iter().for_each(|byte| _ = write!(line, "{byte:02x}"));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    writeln!(line, "  {name}")?;
    Ok(line)
}

/// Unpacks a package into an empty folder and runs the binary with that as its root: no libraries,
/// no `/proc`, no `/dev`, no users.
fn tried(package: &Path, wanted: &[u8]) -> Outcome {
    let root = tempfile::tempdir()?;
    let is_deb = package.extension().is_some_and(|extension| extension == "deb");
    let binary = if is_deb {
        answer(Command::new("dpkg-deb").arg("-x").arg(package).arg(root.path()))?;
        "/usr/bin/skep"
    } else {
        let mut tar = Command::new("tar");
        tar.arg("xf").arg(package).args(["--strip-components=1", "-C"]).arg(root.path());
        answer(&mut tar)?;
        "/skep"
    };
    let object = root.path().join(OBJECT);
    fs::create_dir_all(object.parent().unwrap_or(root.path()))?;
    fs::copy(OBJECT, &object)?;
    let inside = |arguments: &[&str]| -> std::io::Result<Output> {
        let mut command = Command::new("unshare");
        command.args(["-r", "chroot"]).arg(root.path()).args(arguments);
        // The search path for `chroot`; the binary itself finds nothing there.
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").output()
    };
    if !answer(Command::new("unshare").args(["-r", "true"])).is_ok_and(|said| said.is_empty()) {
        return Ok(Ended::Skipped("unshare".to_owned()));
    }
    let version = format!("skep {}", env!("CARGO_PKG_VERSION"));
    let trials = [
        (&[binary, "--version"][..], version.as_bytes()),
        (&[&[binary], &STAT[..]].concat(), wanted),
    ];
    for (arguments, wanted) in trials {
        let output = inside(arguments)?;
        if !output.status.success() || !output.stdout.starts_with(wanted) {
            let [out, err] = [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b));
            println!("{}: {}: {out}{err}", package.display(), arguments.join(" "));
            return Ok(Ended::Failed);
        }
    }
    Ok(Ended::Passed)
}
