//! `cargo xtask other-ids`: runs tests as if on another build of the same kernel.
//!
//! The type ids in a kernel's BTF differ between builds. In a separate mount namespace, the
//! kernel's BTF is replaced by a copy in which every id is different; bpf(2), which knows only the
//! true ids, is not available there. A test that then fails has an id of this build hard-coded.

use crate::outcome::{Ended, Outcome};
use rayon::prelude::*;
use skep_testkit::judge::Judge;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only test binaries whose name contains this.
    #[arg(default_value = "")]
    only: String,
}

/// Packages whose tests read the kernel's BTF.
const PACKAGES: [&str; 3] = ["skep", "skep-cli", "skep-testkit"];
/// Their test binaries and modules that run or compile programs, refuse system calls or ask bpf(2),
/// and read no BTF or are skipped without bpf(2): they would take half of the time.
const WITHOUT_BTF: [&str; 5] =
    ["captures", "ctx_growth", "jump_reach", "programs", "refusing_hosts"];

/// Uses what `cargo test` of the whole workspace has compiled: other packages or flags would select
/// other features of the dependencies and recompile everything.
const BUILD: [&str; 5] =
    ["test", "--locked", "--workspace", "--no-run", "--message-format=json-render-diagnostics"];

/// Mounts `$1` over the kernel's BTF, drops the capabilities for bpf(2), and runs the remaining
/// arguments.
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
    let tests = tests()?;
    // Several at a time: many have one test that takes much longer than their others.
    let chosen = tests.par_iter().filter(|test| test.name.contains(&args.only));
    if chosen.clone().count() == 0 {
        return Err(format!("no test binary has {:?} in its name", args.only).into());
    }
    let failed = chosen.map(|test| {
        let name = format!("{} {}", test.package, test.name);
        let mut command = entering(file.path().as_os_str());
        command.arg(&test.executable).arg("--quiet").current_dir(&test.folder);
        if test.name == "it" {
            command.args(WITHOUT_BTF.map(|module| format!("--skip={module}::")));
        }
        println!("other-ids: {name}");
        let done = command.env("CARGO_MANIFEST_DIR", &test.folder).output()?;
        if done.status.success() {
            return Ok(None);
        }
        let [out, err] = [&done.stdout, &done.stderr].map(|said| String::from_utf8_lossy(said));
        print!("other-ids: {name} failed:\n{out}{err}");
        Ok(Some(name))
    });
    let failed: Vec<String> =
        failed.filter_map(Result::transpose).collect::<std::io::Result<_>>()?;
    for name in &failed {
        println!("other-ids: failed: {name}");
    }
    Ok(failed.is_empty().into())
}

/// A test binary.
struct Test {
    package: &'static str,
    name: String,
    executable: PathBuf,
    /// The package's folder, in which cargo starts tests.
    folder: PathBuf,
}

/// The test binaries of the packages.
fn tests() -> Result<Vec<Test>, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo).args(BUILD).current_dir(crate::root()).output()?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned().into());
    }
    let mut tests = Vec::new();
    for line in built.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        tests.extend(test_of(&serde_json::from_slice(line)?));
    }
    Ok(tests)
}

/// The test binary in a message of cargo, if it belongs to one of the packages.
fn test_of(message: &serde_json::Value) -> Option<Test> {
    let is_test = message["profile"]["test"] == true;
    let executable = message["executable"].as_str().filter(|_| is_test)?.into();
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let of = |package: &&&str| folder.ends_with(package.trim_start_matches("skep-"));
    let package = PACKAGES.iter().find(of)?;
    let name = message["target"]["name"].as_str().filter(|name| !WITHOUT_BTF.contains(name))?;
    Some(Test { package, name: name.to_owned(), executable, folder })
}

/// `unshare`, running the arguments that follow.
fn entering(btf: &std::ffi::OsStr) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", ENTER, "sh"]).arg(btf);
    command
}

/// Whether this process may do so and has the tools.
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
