//! Random sequences of operations on a packet: helpers that change it, context fields, direct
//! accesses, each with arguments at the edges of what it takes. Everything that an operation
//! returns is stored in a map.
//!
//! A sequence is a case of the suites (`skep_testkit::exec`), so that one which differs can become
//! a test as it is: operations that do not matter are removed, and it is printed as Markdown.

mod operation;
mod packet;

use super::counts::Counts;
use operation::{BUFFER, Maker, Operation};
use skep::program::Program;
use skep::uapi::ProgType;
use skep_jit::Tuning;
use skep_runtime::Engine;
use skep_testkit::engine;
use skep_testkit::exec::{self, Way, hex};
use skep_testkit::rng::Rng;
use skep_testkit::suite::{self, Case, MapOptions, Options};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::net::UnixDatagram;
use std::sync::OnceLock;

/// The program types, those with more helpers more often.
const TYPES: [ProgType; 12] = [
    ProgType::SchedCls,
    ProgType::SchedCls,
    ProgType::SchedCls,
    ProgType::SchedCls,
    ProgType::Xdp,
    ProgType::Xdp,
    ProgType::LwtXmit,
    ProgType::LwtXmit,
    ProgType::LwtIn,
    ProgType::SchedAct,
    ProgType::SocketFilter,
    ProgType::CgroupSkb,
];
/// The first engine is the oracle.
const ENGINES: [(&str, Way); 2] = [("runtime, interp", INTERP), ("runtime, jit", JIT)];
const INTERP: Way = Way { engine: Engine::Interpreter, counted: false, tuning: checked };
const JIT: Way = Way { engine: Engine::MachineCode, ..INTERP };

fn checked(_: usize) -> Tuning {
    Tuning { checked: true, ..Tuning::default() }
}

/// How a sequence is made and compared.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// It has at most twice as many operations.
    pub(super) size: u64,
    /// Whether it is printed, and why it is refused.
    pub(super) print: bool,
    /// Whether the kernel runs it, too.
    pub(super) kernel: bool,
}

/// A program and its packet.
struct Sequence {
    prog_type: ProgType,
    packet: Vec<u8>,
    /// What the buffer holds at first.
    buffer: Vec<i32>,
    operations: Vec<Operation>,
    retval: u64,
}

impl Sequence {
    /// That of a seed, with at most twice `size` operations.
    fn new(seed: u64, size: u64) -> Sequence {
        let mut rng = Rng::new(seed);
        let prog_type = rng.pick(&TYPES);
        let packet = packet::packet(&mut rng);
        let buffer = (0..BUFFER / 8).map(|_| rng.word() as i32).collect();
        let retvals = if prog_type == ProgType::CgroupSkb { 2 } else { 8 };
        let (count, retval) = (1 + rng.below(2 * size), rng.below(retvals));
        let helpers = helpers_of(prog_type);
        let mut maker = Maker { rng, prog_type, packet: &packet, helpers };
        let mut operations: Vec<Operation> = (0..count).map(|_| maker.operation()).collect();
        operations.extend(maker.all_fields());
        Sequence { prog_type, packet, buffer, operations, retval }
    }

    /// Its program, in the notation of the suites, and the size of the map's value.
    fn text(&self) -> (String, u32) {
        let mut text = "r6 = r1\nr9 = map_value[out]+0\n".to_owned();
        let mut slot = 0;
        let mut result = |text: &mut String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "*(u64 *)(r9 + {slot}) = r0");
            slot += 8;
        };
        let used = self.operations.iter().any(|operation| operation.text.contains("r10"));
        for (at, value) in (1..).zip(&self.buffer).filter(|_| used) {
            let _ = writeln!(text, "*(u64 *)(r10 - {}) = {value}", 8 * at);
        }
        for operation in &self.operations {
            text += &operation.text;
            result(&mut text);
            for word in 0..operation.words {
                let _ = writeln!(text, "r0 = *(u64 *)(r10 - {})", BUFFER - 8 * word);
                result(&mut text);
            }
        }
        let _ = writeln!(text, "r0 = {}\nexit", self.retval);
        let indented = text.lines().map(|line| format!("    {line}\n")).collect();
        (indented, slot.max(8))
    }

    fn case(&self) -> Case {
        let (bpf, value) = self.text();
        let map = MapOptions { value, dump: true, ..MapOptions::default() };
        let options = Options {
            prog_type: self.prog_type.name().to_owned(),
            packets: vec![hex(&self.packet)],
            map: BTreeMap::from([("out".to_owned(), map)]),
            ..Options::default()
        };
        Case { name: "sequence".to_owned(), line: 1, options, bpf, transcripts: Vec::new() }
    }

    /// The case as it would be in a suite.
    fn markdown(&self, run: &str) -> String {
        let (case, name) = (self.case(), self.prog_type.name());
        let value = case.options.map["out"].value;
        format!(
            "```toml\nprog_type = \"{name}\"\npackets = [\"{}\"]\n[map.out]\nvalue = {value}\n\
             dump = true\n```\n\n```bpf\n{}```\n\n```run\n{run}```\n",
            hex(&self.packet),
            case.bpf
        )
    }

    /// What the operations are, in a line.
    fn summary(&self) -> String {
        let names = self.operations.iter().map(|operation| operation.text.lines().last());
        let names: Vec<&str> = names.map(Option::unwrap_or_default).collect();
        names.join("; ").replace("call bpf_", "")
    }
}

/// The rows of helpers that programs of a type have.
fn helpers_of(prog_type: ProgType) -> &'static [usize] {
    static ALL: OnceLock<Vec<(ProgType, Vec<usize>)>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let verifies = |prog_type, row| {
            let operations = vec![operation::plain_call(prog_type, row)];
            let buffer = vec![0; BUFFER as usize / 8];
            let packet = Vec::new();
            let alone = Sequence { prog_type, packet, buffer, operations, retval: 0 };
            program(&alone.case()).is_some_and(|program| engine::verified(&program).is_ok())
        };
        let rows =
            |prog_type| (0..operation::helpers()).filter(move |row| verifies(prog_type, *row));
        TYPES.iter().map(|&prog_type| (prog_type, rows(prog_type).collect())).collect()
    });
    let found = all.iter().find(|(of, _)| *of == prog_type);
    found.map_or(&[], |(_, rows)| rows)
}

fn program(case: &Case) -> Option<Program> {
    suite::programs(case, super::probes::kernel().map(|(btf, _)| btf)).ok()?.pop()
}

/// The oracle's result, and the first other that differs from it, by name.
struct Difference {
    oracle: String,
    other: (&'static str, String),
}

/// Runs the sequence on all engines; none if it does not verify.
fn run(sequence: &Sequence, how: How, counts: &mut Counts) -> Option<Option<Difference>> {
    let case = sequence.case();
    let programs = [program(&case)?];
    if let Err(why) = engine::verified(&programs[0]) {
        if how.print {
            println!("{why}");
        }
        return None;
    }
    let mut results = Vec::new();
    if how.kernel {
        counts.kernel += 1;
        results.push(("kernel", exec::on_kernel(&case, &programs).unwrap_or_else(|why| why)));
    }
    for (name, way) in ENGINES {
        let ran = exec::on_runtime(&case, &programs, way);
        let text = ran.map(|text| text.unwrap_or_else(|| "not supported yet\n".to_owned()));
        results.push((name, text.unwrap_or_else(|why| why)));
    }
    counts.inputs += 1;
    counts.native += 1;
    let oracle = results.remove(0).1;
    let other = results.into_iter().find(|(_, text)| *text != oracle);
    Some(other.map(|other| Difference { oracle, other }))
}

/// Whether the kernel gives the same result in other memory: some helpers uncover what it has not
/// initialised.
fn is_settled(sequence: &Sequence, result: &str) -> bool {
    let case = sequence.case();
    let Some(program) = program(&case) else { return false };
    let programs = [program];
    [0x55, 0xaa, 0xff].into_iter().all(|filler| {
        let again = || exec::on_kernel(&case, &programs).unwrap_or_else(|why| why) == result;
        let held = messages(filler);
        let same = again();
        drop(held);
        same && again()
    })
}

/// Messages of several sizes, which take the buffers that the kernel would use next.
fn messages(filler: u8) -> Option<(UnixDatagram, UnixDatagram)> {
    let (from, to) = UnixDatagram::pair().ok()?;
    from.set_nonblocking(true).ok()?;
    for len in [100, 400, 700, 1500, 1500, 3000, 3000, 6000, 6000] {
        from.send(&vec![filler; len]).ok()?;
    }
    Some((from, to))
}

/// Compares the sequence of a seed.
pub(super) fn compare(seed: u64, how: How, counts: &mut Counts) {
    let mut sequence = Sequence::new(seed, how.size);
    if how.print {
        print!("{}", sequence.markdown(""));
    }
    match run(&sequence, how, counts) {
        None => counts.refused += 1,
        Some(None) => counts.programs += 1,
        Some(Some(difference)) if how.kernel && !is_settled(&sequence, &difference.oracle) => {
            counts.refused += 1;
        }
        Some(Some(mut difference)) => {
            counts.programs += 1;
            counts.different += 1;
            // From the end: what comes first is often what matters.
            for at in (0..sequence.operations.len()).rev() {
                let removed = sequence.operations.remove(at);
                match run(&sequence, how, &mut Counts::default()) {
                    Some(Some(found)) => difference = found,
                    _ => sequence.operations.insert(at, removed),
                }
            }
            let (name, text) = &difference.other;
            println!("sequence seed {seed}: {}", sequence.summary());
            println!("{}{name}:\n{text}", sequence.markdown(&difference.oracle));
        }
    }
}
