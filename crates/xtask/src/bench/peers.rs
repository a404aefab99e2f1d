//! `cargo xtask bench peers`: runs `skep-bench run` in a release build, compared with rbpf and
//! sbpf, which are fetched and built on demand (`peers/` is a separate workspace).

use std::path::PathBuf;
use std::process::Stdio;

/// Engines that `skep-peers` supports: name, newest supported -mcpu, argument.
const PEERS: [(&str, &str, &str); 3] =
    [("rbpf", "v3", "rbpf"), ("sbpf, bare", "v2", "sbpf"), ("sbpf", "v2", "sbpf-default")];

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Options of `skep-bench run`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let (peers, said) = match options() {
        Ok(peers) => (peers, "peers that ran: "),
        Err(why) => {
            println!("{why}");
            (Vec::new(), "peers that could not be run: ")
        }
    };
    let mut command = std::process::Command::new(super::release::skep_bench_in_release()?);
    command.current_dir(crate::root()).arg("run").args(peers);
    let is_success = command.args(&args.rest).status()?.success();
    // The table says whether clang and the kernel were available, and which programs a peer cannot
    // run.
    println!("\n{said}{}", PEERS.map(|(name, ..)| name).join("; "));
    println!("peers that are not tried (no registry of packages has them): uBPF; LLVM's JIT");
    Ok(is_success.into())
}

/// The options of `skep-bench run` for the peers; builds them.
pub(super) fn options() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let peers = peers_in_release()?;
    let option = |(name, cpu, argument): (&str, &str, &str)| {
        format!("--peer={name}:{cpu}={} {argument}", peers.display())
    };
    Ok(PEERS.map(option).to_vec())
}

fn peers_in_release() -> Result<PathBuf, Box<dyn std::error::Error>> {
    let folder = crate::root().join("target/peers");
    let mut build = super::release::cargo();
    build.args(["build", "--quiet", "--release", "--manifest-path=peers/Cargo.toml"]);
    build.arg("--target-dir").arg(&folder);
    if !build.stdout(Stdio::null()).status()?.success() {
        return Err("peers: cannot be built".into());
    }
    Ok(folder.join("release/skep-peers"))
}
