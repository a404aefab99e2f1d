//! The binary `skep-bench`: connects the library to the process.

#![deny(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    skep_cli::run_in_process(skep_bench::command::run)
}
