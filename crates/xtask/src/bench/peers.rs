//! `cargo xtask bench peers`: `skep bench run` as it is shipped, beside rbpf and sbpf, which are
//! fetched and built when this runs (`peers/` is a workspace of its own).

use std::path::PathBuf;
use std::process::Stdio;

/// Engines that `skep-peers` knows: name, the newest -mcpu whose insns it takes, argument.
const PEERS: [(&str, &str, &str); 3] =
    [("rbpf", "v3", "rbpf"), ("sbpf, bare", "v2", "sbpf"), ("sbpf", "v2", "sbpf-default")];

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Options of `skep bench run`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let skep = super::skep_in_release()?;
    let peers = peers_in_release()?;
    let mut command = std::process::Command::new(skep);
    command.current_dir(crate::root()).args(["bench", "run"]);
    for (name, cpu, argument) in PEERS {
        command.arg("--peer").arg(format!("{name}:{cpu}={} {argument}", peers.display()));
    }
    Ok(command.args(&args.rest).status()?.success())
}

fn peers_in_release() -> Result<PathBuf, Box<dyn std::error::Error>> {
    let folder = crate::root().join("target/peers");
    let mut build = super::cargo();
    build.args(["build", "--quiet", "--release", "--manifest-path=peers/Cargo.toml"]);
    build.arg("--target-dir").arg(&folder);
    if !build.stdout(Stdio::null()).status()?.success() {
        return Err("peers: cannot be built".into());
    }
    Ok(folder.join("release/skep-peers"))
}
