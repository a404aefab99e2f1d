//! Objects that are given: each program on skep with both prologues, and in the kernel.

use super::contest::{Entrant, Results, Timed, contest};
use super::entrants::{InRuntime, in_kernel, kernel_runner};
use super::objects::Opened;
use super::udp_packet;
use serde::Serialize;
use skep_jit::{Prologue, Tuning};

/// One program.
#[derive(Debug, Clone, Serialize)]
pub struct Given {
    /// Its name.
    pub program: String,
    /// Minimal prologue, full prologue, kernel.
    pub engines: Vec<Timed>,
}

/// Measures every program of an object on the least packet of Ethernet.
///
/// # Errors
///
/// The object cannot be loaded; results differ.
pub fn given(opened: &Opened, rounds: u32, with_kernel: bool) -> Result<Vec<Given>, String> {
    let packet = udp_packet();
    let tuning = |prologue| Tuning { prologue, ..Tuning::default() };
    let minimal = InRuntime::new(opened, &tuning(Prologue::Minimal))?;
    let full = InRuntime::new(opened, &tuning(Prologue::Full))?;
    let mut rows = Vec::new();
    for program in &opened.programs {
        let name = &*program.name;
        let kernel = in_kernel(&opened.with_first(name));
        let mut entrants = vec![
            Entrant::new("skep", minimal.runner(name, &packet)),
            Entrant::new("skep, full prologue", full.runner(name, &packet)),
        ];
        if with_kernel {
            entrants.push(Entrant::new("kernel", kernel_runner(&kernel, &packet)));
        }
        // What a program returns may depend on its maps, which every run changes.
        let engines = contest(entrants, rounds, Results::Free)?;
        rows.push(Given { program: name.to_owned(), engines });
    }
    Ok(rows)
}
