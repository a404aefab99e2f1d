//! Every program of an object file in skep, with both prologues, and in the kernel.

use super::engines::{Engine, Results, Timed, measure_in_turn};
use super::in_runtime::{InRuntime, in_kernel, kernel_runner};
use super::objects::Opened;
use super::udp_packet;
use serde::Serialize;
use skep_cli::Error;
use skep_jit::{Prologue, Tuning};

/// The times of one program.
#[derive(Debug, Clone, Serialize)]
pub struct ProgTimes {
    /// Its name.
    pub program: String,
    /// Minimal prologue, full prologue, kernel.
    pub engines: Vec<Timed>,
}

/// Measures every program of an object on a minimum-size Ethernet packet.
///
/// # Errors
///
/// The object cannot be loaded; results differ.
pub fn measure(opened: &Opened, rounds: u32, with_kernel: bool) -> Result<Vec<ProgTimes>, Error> {
    let packet = udp_packet();
    let tuning = |prologue| Tuning { prologue, ..Tuning::default() };
    let minimal = InRuntime::new(opened, &tuning(Prologue::Minimal))?;
    let full = InRuntime::new(opened, &tuning(Prologue::Full))?;
    let mut rows = Vec::new();
    for program in &opened.programs {
        let name = &*program.name;
        let kernel = in_kernel(&opened.with_first(name));
        let mut candidates = vec![
            Engine::new("skep", minimal.runner(name, &packet)),
            Engine::new("skep, full prologue", full.runner(name, &packet)),
        ];
        if with_kernel {
            candidates.push(Engine::new("kernel", kernel_runner(&kernel, &packet)));
        }
        // A program's result may depend on its maps, which every run changes.
        let engines = measure_in_turn(candidates, rounds, Results::Free)?;
        rows.push(ProgTimes { program: name.to_owned(), engines });
    }
    Ok(rows)
}
