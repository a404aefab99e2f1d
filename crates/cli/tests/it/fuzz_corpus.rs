//! The inputs that fuzzing kept, through the same bodies as the fuzz targets: no panic.

#[path = "../../../../fuzz/bodies/cli_args.rs"]
mod cli_args;
#[path = "../../../../fuzz/bodies/replay.rs"]
mod replay;

#[test]
fn cli_args_corpus() {
    replay::corpus("cli_args", cli_args::run);
}
