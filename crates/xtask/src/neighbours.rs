//! `cargo xtask neighbours NAME`: checks a workspace beside this one, which `cargo test` does not
//! cover: `fuzz/` (its targets, without libFuzzer, which is C++) or `peers/`.
//!
//! Dependencies that this workspace does not have are fetched; if that fails, the check is skipped.
//! An outdated `Cargo.lock` is a failure, not a reason to skip.

use crate::outcome::{Ended, Outcome};
use std::path::PathBuf;
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder.
    name: PathBuf,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let manifest = crate::root().join(&args.name).join("Cargo.toml");
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments).arg("--locked").arg("--manifest-path").arg(&manifest);
        command
    };
    let fetched = cargo(&["fetch", "--quiet"]).stdin(Stdio::null()).output()?;
    if !fetched.status.success() {
        let said = String::from_utf8_lossy(&fetched.stderr);
        return match is_about_the_lock(&said) {
            true => Err(format!("{}; `cargo update -w` there", said.trim()).into()),
            false => Ok(Ended::Skipped(format!("cannot be fetched: {}", first_line(&said)))),
        };
    }
    let mut check = cargo(&["check", "--quiet", "--all-targets", "--no-default-features"]);
    // The target directory of the workspace's own checks, where most is built already.
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    check.arg("--target-dir").arg(target.unwrap_or_else(|| crate::root().join("target")));
    Ok(check.status()?.success().into())
}

/// Whether cargo failed because `Cargo.lock` does not match the manifests.
fn is_about_the_lock(said: &str) -> bool {
    said.contains("--locked")
}

fn first_line(said: &str) -> &str {
    let line = said.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or("cargo does not say why").trim().trim_start_matches("error: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_network_is_a_skip_and_an_old_lock_is_not() {
        // Messages of cargo 1.95.
        let lock = "error: cannot update the lock file fuzz/Cargo.lock because --locked was \
                    passed to prevent this\n";
        assert!(is_about_the_lock(lock));
        let network = "\nerror: failed to download from `https://example.org/x.crate`\n\nCaused by";
        assert!(!is_about_the_lock(network));
        assert_eq!(first_line(network), "failed to download from `https://example.org/x.crate`");
    }
}
