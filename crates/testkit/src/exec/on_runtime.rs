//! Runs a case in our runtime: with maps and helpers, interpreted or as machine code.

use super::input::{Input, inputs};
use super::text::{Output, dumped, map_lines, run_line};
use crate::engine;
use crate::suite::{Case, bytes};
use skep::program::Program;
use skep::uapi::MapType;
use skep_jit::Tuning;
use skep_runtime::StatsOptions;
use skep_runtime::{Ctx, Engine, Instance, LoadOptions, ObjectMaps, Options, Runtime};

/// How a case is run here.
#[derive(Debug, Clone)]
pub struct Way {
    /// The engine.
    pub engine: Engine,
    /// With statistics enabled; then every run must be counted.
    pub counted: bool,
    /// How the first program and each target of its tail calls are compiled.
    pub tuning: fn(usize) -> Tuning,
}

/// The text of a case's runs; `None` if the case uses something that the runtime does not support
/// yet.
pub fn on_runtime(case: &Case, programs: &[Program], way: Way) -> Result<Option<String>, String> {
    let Way { engine, counted, tuning } = way;
    let runtime = Runtime::new(Options { cpus: 2, ..Options::default() }).map_err(text)?;
    let Some(first) = programs.first() else { return Ok(None) };
    let stats = StatsOptions { histogram: true, ..StatsOptions::default() };
    let _on = counted.then(|| runtime.enable_stats(stats)).transpose().map_err(text)?;
    let maps = runtime.create_maps(&first.maps, first.btf.as_ref());
    fill(case, first, &maps)?;
    let mut instances: Vec<Instance> = Vec::new();
    for (at, program) in programs.iter().enumerate() {
        let options =
            LoadOptions { engine: engine.clone(), tuning: tuning(at), ..LoadOptions::default() };
        let verified = engine::verified(program)?;
        match runtime.load(&verified, &maps, &options) {
            Ok(instance) => instances.push(instance),
            Err(missing) if missing.to_string().contains("not supported yet") => return Ok(None),
            Err(error) => return Err(text(error)),
        }
    }
    let Some(instance) = instances.first() else { return Ok(None) };
    let mut text = String::new();
    let mut runs = 0;
    for input in inputs(case)? {
        let output = run(instance, first, &input)?;
        run_line(&mut text, &input, &output);
        runs += u64::from(counted);
    }
    let tail_calls = first.maps.iter().any(|map| map.map_type == MapType::ProgArray);
    check_counts(&instances, runs, tail_calls)?;
    for (_, def) in dumped(case, &first.maps) {
        let map = maps.get(&def.name).map_err(|e| e.to_string())?;
        map_lines(&mut text, &def.name, map.entries().collect());
    }
    Ok(Some(text))
}

/// Checks that the first program was counted this often, or more if it may have been tail called.
fn check_counts(instances: &[Instance], runs: u64, tail_calls: bool) -> Result<(), String> {
    for (at, stats) in instances.iter().map(Instance::stats).enumerate() {
        let wanted = match (at, tail_calls) {
            (0, false) => runs..=runs,
            (0, true) => runs..=34 * runs,
            (_, true) => 0..=33 * runs,
            (_, false) => 0..=0,
        };
        let timed = stats.histogram.iter().sum::<u64>();
        if !wanted.contains(&stats.run_cnt) || timed != stats.timed_cnt || timed > stats.run_cnt {
            return Err(format!("program {at}, started {runs} times: {stats:?}"));
        }
    }
    Ok(())
}

fn text(error: skep_runtime::Error) -> String {
    error.to_string()
}

fn fill(case: &Case, program: &Program, maps: &ObjectMaps) -> Result<(), String> {
    for def in program.maps.iter() {
        let entries = case.options.map.get(&def.name).map_or(&[][..], |map| &map.entries);
        for [key, value] in entries {
            let (mut key, mut value) = (bytes(key)?, bytes(value)?);
            key.resize(def.key_size as usize, 0);
            value.resize(def.value_size as usize, 0);
            let map = maps.get(&def.name).map_err(text)?;
            let flags = skep_runtime::map::UpdateFlags::Any;
            map.update(&key, &value, flags).map_err(|errno| errno.to_string())?;
        }
    }
    Ok(())
}

fn run(instance: &Instance, program: &Program, input: &Input) -> Result<Output, String> {
    let mut ctx = match input {
        Input::Words(words) => {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            Ctx::raw(program.prog_type, &bytes)
        }
        Input::Packet(packet) => Ctx::packet(program.prog_type, packet),
    }
    .map_err(text)?;
    let result = instance.run(&mut ctx).map_err(text)?;
    let bytes = match input {
        Input::Words(_) => ctx.raw_bytes(),
        // Metadata, if a program created some, precede the packet.
        Input::Packet(_) => [ctx.meta_bytes(), ctx.packet_bytes()].concat(),
    };
    Ok(Output { r0: result.retval, bytes })
}
