//! Programs in a runtime, and in the host kernel, as engines.

use super::engines::Runner;
use super::objects::{Opened, verify};
use skep_cli::Error;
use skep_jit::Tuning;
use skep_kernel::bpf::RunInput;
use skep_kernel::run::Loaded;
use skep_program::Program;
use skep_runtime::{
    Ctx, Instance, LoadOptions, ObjectMaps, Options, Runtime, StatsGuard, StatsOptions,
};
use std::time::Instant;

/// All programs of an object in a runtime of their own.
pub struct InRuntime {
    /// Its maps.
    pub maps: ObjectMaps,
    instances: Vec<Instance>,
    runtime: Runtime,
}

impl InRuntime {
    /// Verifies and loads them.
    ///
    /// # Errors
    ///
    /// One is not accepted or cannot be loaded.
    pub fn new(opened: &Opened, tuning: &Tuning) -> Result<InRuntime, Error> {
        let runtime = Runtime::new(Options::default()).map_err(Error::caused)?;
        let maps = runtime.create_maps(&opened.object.maps, opened.object.btf.as_ref());
        let options = LoadOptions { tuning: tuning.clone(), ..LoadOptions::default() };
        let mut instances = Vec::new();
        for program in &opened.programs {
            let verified = verify(program)?;
            instances.push(runtime.load(&verified, &maps, &options).map_err(Error::caused)?);
        }
        Ok(InRuntime { maps, instances, runtime })
    }

    /// Enables statistics of all of them.
    ///
    /// # Errors
    ///
    /// The host refuses.
    pub fn enable_stats(&self, options: StatsOptions) -> Result<StatsGuard, Error> {
        self.runtime.enable_stats(options).map_err(Error::caused)
    }

    /// Runs a program on a packet, including the library's work around a run.
    ///
    /// # Errors
    ///
    /// There is no such program, or its context is not a packet.
    pub fn runner(&self, name: &str, packet: &[u8]) -> Result<Runner<'_>, Error> {
        let instance = self.instances.iter().find(|instance| instance.name() == name);
        let instance = instance.ok_or_else(|| format!("no program '{name}'"))?;
        let mut ctx = Ctx::packet(instance.prog_type(), packet).map_err(Error::caused)?;
        Ok(Box::new(move |runs| {
            let mut result = 0;
            let started = Instant::now();
            for _ in 0..runs {
                result = instance.run(&mut ctx).map_err(Error::caused)?.retval;
            }
            Ok((u64::from(result), started.elapsed().as_nanos() as f64 / f64::from(runs)))
        }))
    }
}

/// Programs in the kernel; the first one is run.
///
/// # Errors
///
/// bpf(2) is not available, or refuses them.
pub fn in_kernel(programs: &[Program]) -> Result<Loaded, Error> {
    if let Err(errno) = skep_kernel::bpf::available() {
        return Err(format!("not judged here ({errno})").into());
    }
    Loaded::new(programs).map_err(Error::caused)
}

/// The kernel's test run, by its own clock, in whole nanoseconds: coarse for the shortest programs,
/// but there is nothing better.
///
/// # Errors
///
/// Why it is not in the kernel.
pub fn kernel_runner<'a>(
    loaded: &'a Result<Loaded, Error>,
    data: &'a [u8],
) -> Result<Runner<'a>, Error> {
    let loaded = loaded.as_ref().map_err(Clone::clone)?;
    Ok(Box::new(move |runs| {
        let input = RunInput { data, repeat: runs, ..RunInput::default() };
        let run = loaded.run(&input).map_err(Error::caused)?;
        Ok((u64::from(run.retval), f64::from(run.duration_ns)))
    }))
}
