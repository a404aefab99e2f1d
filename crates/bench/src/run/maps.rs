//! The cost of helper calls and map operations, here, in the host kernel, and in C with plain
//! arrays and a plain chained hash table.
//!
//! Each program of `tests/programs/bench/maps.bpf.c` does one operation 1,000 times; the cost of
//! the empty loop is subtracted.

use super::engines::{Engine, Results, Runner, Timed, measure_in_turn};
use super::in_runtime::{InRuntime, in_kernel, kernel_runner};
use super::kinds::MAP_OPERATIONS;
use super::native::Clang;
use super::objects::Opened;
use super::{MAPS, machine, udp_packet};
use serde::Serialize;
use skep_cli::Error;
use skep_jit::Tuning;
use skep_kernel::run::Loaded;
use skep_program::MapDef;
use skep_runtime::map::UpdateFlags;
use skep_uapi::MapType;
use std::path::PathBuf;

/// Operations per run.
const OPERATIONS: f64 = 1000.0;
/// Keys that the programs look up.
const KEYS: u32 = 256;
/// The program whose time is subtracted.
const NOTHING: &str = "nothing";

/// The cost of one operation.
#[derive(Debug, Clone, Serialize)]
pub struct Operation {
    /// The operation.
    pub name: String,
    /// Native code, skep, then the kernel: ns per operation, and half the interquartile range.
    pub ns: Vec<(String, Option<(f64, f64)>)>,
    /// Engines that did not run it, and why.
    pub not_run: Vec<(String, String)>,
}

/// Fills the maps whose keys and values have this benchmark's sizes.
pub(super) fn fill(runtime: &InRuntime) -> Result<(), Error> {
    for name in ["array", "hash", "percpu", "lru"] {
        let Ok(map) = runtime.maps.get(name) else { continue };
        let map = map.typed::<u32, u64>().map_err(Error::caused)?;
        for key in 0..KEYS {
            map.set(&key, &u64::from(key), UpdateFlags::Any).map_err(Error::caused)?;
        }
    }
    Ok(())
}

/// Fills the kernel's maps as ours; per-CPU ones, whose values are longer, stay as they are.
fn fill_kernel(kernel: &Loaded, defs: &[MapDef]) {
    for (index, def) in (0..).zip(defs) {
        let percpu = def.map_type == MapType::PercpuArray;
        let Some(map) = kernel.map(index).filter(|_| !percpu && def.contents.is_empty()) else {
            continue;
        };
        for key in 0..KEYS {
            // An update that fails shows in the time: the program does not find the key.
            let _ = map.update(&key.to_ne_bytes(), &u64::from(key).to_ne_bytes());
        }
    }
}

/// The operation in C.
fn in_c<'a>(name: &str, library: &Result<PathBuf, Error>) -> Result<Runner<'a>, Error> {
    let library = library.as_ref().map_err(Clone::clone)?;
    let operation = MAP_OPERATIONS.iter().find(|operation| operation.symbol == name);
    machine::native(operation.ok_or("nothing like it in C")?, library)
}

/// Measures every operation; the C code is compiled with these flags.
///
/// # Errors
///
/// A program does not run.
pub fn operations(
    rounds: u32,
    with_kernel: bool,
    native_flags: &str,
) -> Result<Vec<Operation>, Error> {
    let compiler = Clang::or_cc();
    let library = compiler.as_ref().map_err(Clone::clone);
    let library = library.and_then(|cc| cc.library(&MAP_OPERATIONS[0], native_flags));
    let opened = Opened::new(MAPS)?;
    let runtime = InRuntime::new(&opened, &Tuning::default())?;
    fill(&runtime)?;
    let packet = udp_packet();
    let mut rows: Vec<(String, Vec<Timed>)> = Vec::new();
    for program in &opened.programs {
        let kernel = in_kernel(std::slice::from_ref(program));
        if let Ok(kernel) = &kernel {
            fill_kernel(kernel, &opened.object.maps);
        }
        let skep = runtime.runner(&program.name, &packet);
        let native = Engine::new("native", in_c(&program.name, &library));
        let mut candidates = vec![native, Engine::new("skep", skep)];
        if with_kernel {
            candidates.push(Engine::new("kernel", kernel_runner(&kernel, &packet)));
        }
        rows.push((program.name.clone(), measure_in_turn(candidates, rounds, Results::Free)?));
    }
    let nothing = rows.iter().find(|(name, _)| name == NOTHING).ok_or("no empty loop")?.1.clone();
    let operation = |(name, sides): (String, Vec<Timed>)| {
        let ns = sides.iter().zip(&nothing).map(|(side, nothing)| {
            let ns = side.ns.zip(nothing.median()).map(|(ns, nothing)| {
                let off = if name == NOTHING { 0.0 } else { nothing };
                let half = (ns.upper_quartile - ns.lower_quartile) / 2.0;
                ((ns.median - off) / OPERATIONS, half / OPERATIONS)
            });
            (side.engine.clone(), ns)
        });
        let not_run = sides
            .iter()
            .filter_map(|side| Some((side.engine.clone(), side.not_run.as_ref()?.clone())));
        Operation { ns: ns.collect(), not_run: not_run.collect(), name: name.clone() }
    };
    Ok(rows.into_iter().map(operation).collect())
}
