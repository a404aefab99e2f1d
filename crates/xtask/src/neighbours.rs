//! `cargo xtask neighbours NAME`: checks a workspace beside this one, which `cargo test` does not
//! see: `fuzz/` (its targets, without libFuzzer, which is C++) and `peers/`.
//!
//! What they need and this workspace does not is fetched; where that cannot be, they are skipped. A
//! `Cargo.lock` that is out of date is no reason to skip.

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
    // Where the workspace's own checks are: most of it is built already.
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    check.arg("--target-dir").arg(target.unwrap_or_else(|| crate::root().join("target")));
    Ok(check.status()?.success().into())
}

/// Whether cargo refuses because `Cargo.lock` does not fit the manifests.
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
        // As cargo 1.95 prints them.
        let lock = "error: cannot update the lock file fuzz/Cargo.lock because --locked was \
                    passed to prevent this\n";
        assert!(is_about_the_lock(lock));
        let network = "\nerror: failed to download from `https://example.org/x.crate`\n\nCaused by";
        assert!(!is_about_the_lock(network));
        assert_eq!(first_line(network), "failed to download from `https://example.org/x.crate`");
    }
}
