//! The compute programs on native code, skep, other engines and the kernel.

use super::engines::{Engine, Results, Timed, measure_in_turn};
use super::in_runtime::{in_kernel, kernel_runner};
use super::machine::Globals;
use super::native::Clang;
use super::objects::{Opened, verify};
use super::peer::Peer;
use super::{Kind, data_of, machine};
use serde::Serialize;
use skep_cli::Error;
use skep_jit::Tuning;
use skep_program::MapDef;
use skep_verifier::VerifiedProgram;
use std::time::Instant;

/// Number of compilations, whose median is shown.
const COMPILATIONS: usize = 51;

/// Times of one program.
#[derive(Debug, Clone, Serialize)]
pub struct Computed {
    /// The program.
    pub program: &'static str,
    /// Native code first, if available, then skep, then the others.
    pub engines: Vec<Timed>,
    /// Median of several compilations by skep, us.
    pub compile_us: f64,
}

/// The engines other than skep.
pub struct Others {
    /// For native code and for the bytecode of the peers; or why there is no compiler.
    pub clang: Result<Clang, Error>,
    /// Native code: names and flags. The others are compared with the first.
    pub natives: Vec<(&'static str, String)>,
    /// Other engines.
    pub peers: Vec<Peer>,
    /// Whether the kernel is measured.
    pub kernel: bool,
}

/// A compute program, opened and verified.
pub(super) fn verified(kind: &Kind) -> Result<(Opened, VerifiedProgram), Error> {
    let opened = Opened::new(kind.object)?;
    let verified = verify(opened.programs.first().ok_or("no program")?)?;
    Ok((opened, verified))
}

/// Measures one program.
///
/// # Errors
///
/// skep does not run it, or results differ.
pub fn compute(
    kind: &Kind,
    others: &Others,
    tuning: &Tuning,
    rounds: u32,
) -> Result<Computed, Error> {
    let (opened, verified) = verified(kind)?;
    let data = data_of(kind);
    let maps = &*opened.object.maps;
    let mut skep = machine::skep(kind, &verified, maps, tuning)?;
    let (expected, _) = skep(1)?;
    let clang = || others.clang.as_ref().map_err(Clone::clone);
    let native = |(name, flags): &(&'static str, String)| {
        let library = clang().and_then(|clang| clang.library(kind, flags));
        Engine::new(*name, library.and_then(|library| machine::native(kind, &library)))
    };
    let files = Files::new(&data)?;
    let kernel = in_kernel(&opened.programs);
    let mut candidates: Vec<Engine<'_>> = others.natives.iter().map(native).collect();
    candidates.insert(1.min(candidates.len()), Engine::new("skep", Ok(skep)));
    for peer in &others.peers {
        let plain = maps.is_empty().then_some(()).ok_or(Error::from("it has global variables"));
        let code = plain.and_then(|()| clang()?.bytecode(kind, &peer.cpu));
        let runner = code.and_then(|code| {
            let path = files.code(&peer.cpu, &code)?;
            peer.load(&path, &files.data, expected)
        });
        candidates.push(Engine::new(peer.name.clone(), runner));
    }
    if others.kernel {
        candidates.push(Engine::new("kernel", kernel_runner(&kernel, &data)));
    }
    let engines = measure_in_turn(candidates, rounds, Results::Equal);
    let engines = engines.map_err(|e| Error::at(kind.name, e))?;
    Ok(Computed { program: kind.name, engines, compile_us: compile_us(&verified, maps, tuning)? })
}

/// Input files of peers.
struct Files {
    folder: tempfile::TempDir,
    data: std::path::PathBuf,
}

impl Files {
    fn new(data: &[u8]) -> Result<Files, Error> {
        let folder = tempfile::tempdir().map_err(|e| Error::at("while making a folder", e))?;
        let path = folder.path().join("data");
        std::fs::write(&path, data).map_err(|e| Error::at(path.display(), e))?;
        Ok(Files { folder, data: path })
    }

    fn code(&self, cpu: &str, code: &[u8]) -> Result<std::path::PathBuf, Error> {
        let path = self.folder.path().join(cpu);
        std::fs::write(&path, code).map_err(|e| Error::at(path.display(), e))?;
        Ok(path)
    }
}

fn compile_us(verified: &VerifiedProgram, maps: &[MapDef], tuning: &Tuning) -> Result<f64, Error> {
    let xlated = verified.insns_to_run().map_err(|e| e.to_string())?;
    let globals = Globals::new(maps)?;
    let mut times = Vec::with_capacity(COMPILATIONS);
    for _ in 0..COMPILATIONS {
        let started = Instant::now();
        skep_text::compile(xlated, &globals.linkage, tuning).map_err(Error::caused)?;
        times.push(started.elapsed().as_nanos() as f64 / 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[COMPILATIONS / 2])
}
