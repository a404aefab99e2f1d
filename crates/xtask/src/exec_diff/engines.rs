//! The engines that run a random program, each in one call: input in, output out.

use super::builder::WORDS;
use skep::program::Program;
use skep::uapi::ProgType;
use skep_interp::{FlatMemory, Limits, Linked};
use skep_jit::{CpuFeatures, Passes, PokeMode, Prologue, Tuning};
use skep_kernel::bpf::RunInput;
use skep_kernel::run::Loaded;
use skep_runtime::{Ctx, Engine as Runs, Instance, LoadOptions, ObjectMaps, Options, Runtime};
use skep_runtime::{StatsGuard, StatsOptions};
use skep_testkit::exec::Native;
use skep_verifier::VerifiedProgram;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Input of a program: its context, or the start of its packet.
pub(super) type Words = [u64; WORDS];

/// Result of a run. Errors are compared too.
pub(super) type Ran = Result<Out, String>;

/// Output of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Out {
    /// The low half of r0.
    retval: u32,
    /// The context or packet.
    words: Words,
    /// Units of fuel used, if counted.
    fuel: Option<u64>,
}

/// Whether two runs agree, as far as both report results.
pub(super) fn agree(a: &Ran, b: &Ran) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => {
            let fuel = a.fuel.zip(b.fuel).is_none_or(|(a, b)| a == b);
            (a.retval, a.words) == (b.retval, b.words) && fuel
        }
        (Err(a), Err(b)) => a == b,
        _ => false,
    }
}

/// More insns than any of the programs executes.
const FUEL: u64 = 10_000_000;

/// A program, ready to run.
pub(super) enum Engine {
    /// The interpreter alone, with memory shared by all runs.
    Interp(Arc<Linked>, Box<FlatMemory>),
    /// Machine code alone.
    Native(Native),
    /// Our runtime, with its maps.
    Runtime(Box<InRuntime>),
    /// The host kernel.
    Kernel(Loaded, ProgType),
}

/// A program in a separate runtime.
pub(super) struct InRuntime {
    instance: Instance,
    prog_type: ProgType,
    /// The context shared by all runs, created by the first.
    ctx: Option<Ctx>,
    /// Targets of its tail calls; the prog array does not keep them alive.
    _others: Vec<Instance>,
    _on: Option<StatsGuard>,
    _maps: ObjectMaps,
    _runtime: Runtime,
}

/// A named engine.
pub(super) type Named = (String, Engine);

/// All engines other than the kernel for the first of the programs; the first engine is the oracle.
/// With `passes`, the compiler's passes are also switched off, and on, one by one.
pub(super) fn ours(programs: &[VerifiedProgram], passes: bool) -> Result<Vec<Named>, String> {
    let mut engines = Vec::new();
    let verified = programs.first().ok_or("no program")?;
    let xlated = Arc::clone(verified.insns_to_run().map_err(|e| e.to_string())?);
    if verified.program().maps.is_empty() {
        let linked =
            Linked { xlated, maps: Vec::new(), kfuncs: Vec::new(), func_base: 1 << 40, hits: None };
        let memory = FlatMemory::new(&[]);
        engines.push(("interp".to_owned(), Engine::Interp(Arc::new(linked), Box::new(memory))));
    } else {
        let engine = in_runtime(programs, Runs::Interpreter, Tuning::default(), None)?;
        engines.push(("runtime, interp".to_owned(), engine));
    }
    for (name, tuning) in tunings(passes) {
        if let Some(native) = Native::new(verified, &tuning)? {
            engines.push((name, Engine::Native(native)));
        } else {
            engines.push((name, in_runtime(programs, Runs::MachineCode, tuning, None)?));
        }
    }
    // Some runs are timed, others only counted.
    let stats = StatsOptions { sample: NonZeroU32::MIN.saturating_add(2), histogram: true };
    let counted = in_runtime(programs, Runs::MachineCode, Tuning::default(), Some(stats))?;
    engines.push(("jit, counted".to_owned(), counted));
    Ok(engines)
}

/// Compiler settings, which must not matter.
fn tunings(passes: bool) -> Vec<(String, Tuning)> {
    let base = || Tuning { checked: true, ..Tuning::default() };
    let plain = CpuFeatures::default();
    let full = Tuning { cpu: plain, prologue: Prologue::Full, ..base() };
    let mut all = vec![
        ("jit".to_owned(), base()),
        ("jit, no passes".to_owned(), Tuning { passes: Passes::NONE, ..base() }),
        ("jit, plain processor, full prologue".to_owned(), full),
        ("jit, flags".to_owned(), Tuning { poke: PokeMode::Flag, ..base() }),
        ("jit, fuel".to_owned(), Tuning { fuel: true, ..base() }),
    ];
    for name in Passes::NAMES.iter().filter(|_| passes) {
        let (mut off, mut on) = (Passes::ALL, Passes::NONE);
        if let (Some(off), Some(on)) = (off.by_name(name), on.by_name(name)) {
            (*off, *on) = (false, true);
        }
        all.push((format!("jit without {name}"), Tuning { passes: off, ..base() }));
        all.push((format!("jit with {name} alone"), Tuning { passes: on, ..base() }));
    }
    all
}

fn in_runtime(
    programs: &[VerifiedProgram],
    engine: Runs,
    tuning: Tuning,
    stats: Option<StatsOptions>,
) -> Result<Engine, String> {
    let runtime = Runtime::new(Options { cpus: 1, ..Options::default() });
    let runtime = runtime.map_err(|e| e.to_string())?;
    let on = stats.map(|stats| runtime.enable_stats(stats)).transpose();
    let _on = on.map_err(|e| e.to_string())?;
    let program = programs.first().ok_or("no program")?.program();
    let maps = runtime.create_maps(&program.maps, program.btf.as_ref());
    let fuel = (tuning.fuel || engine == Runs::Interpreter).then_some(FUEL);
    let options = LoadOptions { engine, tuning, fuel, coverage: false };
    let load = |verified| runtime.load(verified, &maps, &options).map_err(|e| e.to_string());
    let mut instances: Vec<Instance> = programs.iter().map(load).collect::<Result<_, _>>()?;
    let instance = instances.remove(0);
    let prog_type = program.prog_type;
    let (_others, _maps, _runtime) = (instances, maps, runtime);
    let ctx = None;
    Ok(Engine::Runtime(Box::new(InRuntime {
        instance,
        prog_type,
        ctx,
        _others,
        _on,
        _maps,
        _runtime,
    })))
}

/// Whether the kernel runs the same insns as we do.
pub(super) fn runs_as_in_kernel(program: &VerifiedProgram) -> bool {
    match (program.xlated(), program.insns_to_run()) {
        (Ok(kernels), Ok(ours)) => kernels.insns() == ours.insns(),
        _ => false,
    }
}

/// The host kernel as an engine.
pub(super) fn kernels(programs: &[Program]) -> Result<Engine, String> {
    let prog_type = programs.first().map(|program| program.prog_type).unwrap_or_default();
    let loaded = Loaded::new(programs).map_err(|why| why.to_string())?;
    Ok(Engine::Kernel(loaded, prog_type))
}

impl Engine {
    /// The next run gets a new context: in the kernel, there are no leftovers of earlier packets.
    pub(super) fn renew(&mut self) {
        if let Engine::Runtime(in_runtime) = self {
            in_runtime.ctx = None;
        }
    }

    /// Runs the program once.
    pub(super) fn run(&mut self, words: &Words) -> Ran {
        let mut bytes = to_bytes(words);
        match self {
            Engine::Interp(linked, memory) => {
                memory.set_ctx(&bytes);
                let exit =
                    skep_interp::run(linked, &**memory, FlatMemory::CTX, Limits { fuel: FUEL });
                let exit = exit.map_err(|fault| fault.to_string())?;
                let (words, fuel) = (to_words(&memory.ctx()), Some(exit.fuel));
                Ok(Out { retval: exit.r0 as u32, words, fuel })
            }
            Engine::Native(native) => {
                let r0 = native.run(&mut bytes)?;
                Ok(Out { retval: r0 as u32, words: to_words(&bytes), fuel: None })
            }
            Engine::Runtime(in_runtime) => in_runtime.run(&bytes).map_err(|e| e.to_string()),
            Engine::Kernel(loaded, prog_type) => {
                let is_packet = *prog_type != ProgType::Syscall;
                let input = match is_packet {
                    true => RunInput { data: &bytes, repeat: 1, ..RunInput::default() },
                    false => RunInput { ctx: &bytes, ..RunInput::default() },
                };
                let ran = loaded.run(&input).map_err(|errno| errno.to_string())?;
                let words = to_words(if is_packet { &ran.data } else { &ran.ctx });
                Ok(Out { retval: ran.retval, words, fuel: None })
            }
        }
    }
}

impl InRuntime {
    fn run(&mut self, bytes: &[u8]) -> Result<Out, skep_runtime::Error> {
        let is_packet = self.prog_type != ProgType::Syscall;
        let ctx = match (&mut self.ctx, is_packet) {
            (Some(ctx), true) => {
                ctx.set_packet(bytes)?;
                ctx
            }
            (Some(ctx), false) => {
                let (chunks, _) = bytes.as_chunks::<8>();
                for (index, chunk) in chunks.iter().enumerate() {
                    ctx.set_word(index, u64::from_ne_bytes(*chunk))?;
                }
                ctx
            }
            (none, true) => none.insert(Ctx::packet(self.prog_type, bytes)?),
            (none, false) => none.insert(Ctx::raw(self.prog_type, bytes)?),
        };
        let result = self.instance.run(ctx)?;
        // As in the kernel, metadata precede the packet.
        let mut after = if is_packet { ctx.meta_bytes() } else { ctx.raw_bytes() };
        if is_packet {
            after.extend(ctx.packet_bytes());
        }
        Ok(Out { retval: result.retval, words: to_words(&after), fuel: result.fuel })
    }
}

fn to_bytes(words: &Words) -> [u8; 8 * WORDS] {
    let mut bytes = [0; 8 * WORDS];
    let (chunks, _) = bytes.as_chunks_mut::<8>();
    for (chunk, word) in chunks.iter_mut().zip(words) {
        *chunk = word.to_le_bytes();
    }
    bytes
}

fn to_words(bytes: &[u8]) -> Words {
    let (chunks, _) = bytes.as_chunks::<8>();
    let mut chunks = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk));
    std::array::from_fn(|_| chunks.next().unwrap_or_default())
}
