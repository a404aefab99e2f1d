//! Results from programs: each file is loaded, each program verified, and the rows printed at the
//! end.

use super::replay::Outcome;
use super::top_src_lines::top_src_lines;
use super::wanted::Wanted;
use crate::Error;
use crate::choice::read_sweep;
use crate::diagnostic::source_spot;
use crate::exit::Exit;
use crate::flags::{OutputFormat, StatFlags};
use crate::judge_files::{Batch, Judged, Plan, base_name, exit_of, not_loaded};
use crate::kernels;
use crate::memory_gate::{Kept, MemoryGate, over_limit};
use crate::streams::Streams;
use crate::sweep::{COMBINATIONS_MAX, Combination, Worst};
use skep::program::Program;
use skep::uapi::{LogLevel, ProgFlags};
use skep::{Refusal, Session, Verdict, Verification, VerifyOptions};
use skep_report::{MatrixKernel, Row, RowVerdict, Stat, Tally, printable};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

const LOG_STATS: u32 = LogLevel::STATS.bits();
const MIB: u64 = 1 << 20;
const LOG_BYTES_DEFAULT: usize = 16 << 20;
/// Approximate size of a row with its texts; rows are kept until all can be sorted.
const ROW_BYTES: usize = size_of::<Row>() + 192;
/// Size of the longest log that the kernel writes.
const LOG_BYTES_ALL: usize = (u32::MAX >> 2) as usize;

/// In the order of `MemBytes::parts`.
const MEMORY_PARTS: [Stat; 8] = [
    Stat::MemFrames,
    Stat::MemStack,
    Stat::MemCheckpoints,
    Stat::MemHistory,
    Stat::MemIdmap,
    Stat::MemTransfers,
    Stat::MemInsns,
    Stat::MemLog,
];

/// What is kept of one program.
struct Answer {
    row: Row,
    /// Output in addition to the row: the log, the source lines.
    text: String,
    /// A line for the error stream.
    trouble: Option<String>,
    exit: Exit,
}

impl crate::in_order::Weigh for Answer {
    fn bytes(&self) -> usize {
        size_of::<Answer>() + self.text.len()
    }
}

pub(super) fn run(flags: &StatFlags, wanted: &Wanted, streams: &mut Streams<'_>) -> Outcome {
    let Collected { mut rows, tally, mut exit, worst, kernels } =
        match collect(flags, wanted, streams)? {
            Ok(collected) => collected,
            Err(message) => return Ok(Err(message)),
        };
    worst.mark(&mut rows);
    let tally = Some(tally).filter(|_| !flags.quiet);
    exit.raise(wanted.print_of(&kernels, streams, rows, tally)?);
    if wanted.format == OutputFormat::Table && !flags.quiet {
        worst.print(streams)?;
    }
    Ok(Ok(exit))
}

/// The rows of all programs, in the order of the input.
pub(crate) struct Collected {
    pub(crate) rows: Vec<Row>,
    pub(crate) tally: Tally,
    /// The most severe exit code.
    pub(crate) exit: Exit,
    /// The most expensive result, if there are several combinations of globals.
    pub(crate) worst: Worst,
    /// The kernels that were named.
    pub(crate) kernels: Vec<MatrixKernel>,
}

/// Verifies the programs that the flags name; prints everything but the rows.
pub(crate) fn collect(
    flags: &StatFlags,
    wanted: &Wanted,
    streams: &mut Streams<'_>,
) -> io::Result<Result<Collected, Error>> {
    if flags.input.files.is_empty() {
        return Ok(Err("no file given".into()));
    }
    let (batch, plans) = Batch::beside(&flags.input, || plans(flags, wanted));
    let (plans, combinations) = match plans {
        Ok(plans) => plans,
        Err(message) => return Ok(Err(message)),
    };
    let has_several = plans.len() > 1;
    let sets = if combinations.len() > 1 { combinations.len() * plans.len() } else { 1 };
    let mut collected = Collected {
        rows: Vec::new(),
        tally: Tally::default(),
        exit: Exit::Success,
        worst: Worst::of(sets),
        kernels: Vec::new(),
    };
    if flags.verbose {
        for path in &batch.inputs.passed_over {
            let path = path.display().to_string();
            let path = printable(&path);
            writeln!(streams.out, "Skipping '{path}' as it's not a BPF object file...")?;
        }
    }
    let mut talks = !flags.quiet && wanted.format == OutputFormat::Table;
    let mut told = BTreeSet::new();
    for mut plan in plans {
        let kernel = plan.session.kernel.as_ref().map(|kernel| kernels::described(kernel));
        let mut errors = Vec::new();
        for (number, combination) in combinations.iter().enumerate() {
            plan.presets = combination.presets.clone();
            let label = combination.label.as_str();
            let (kernel, globals) = (kernel.as_ref(), combination.globals.as_slice());
            let turn = Turn { flags, talks, number, label, globals, kernel, has_several };
            talks = false;
            let exit = match has_several {
                true => {
                    let Streams { style, progress, .. } = *streams;
                    let (out, err) = (&mut *streams.out, &mut errors);
                    let mut kept = Streams { out, err, style, progress };
                    collect_turn(&batch, &plan, &turn, &mut kept, &mut collected)?
                }
                false => collect_turn(&batch, &plan, &turn, streams, &mut collected)?,
            };
            // An error in a file is the same for each combination.
            if exit != Exit::Success {
                break;
            }
        }
        // And for each kernel.
        for line in String::from_utf8_lossy(&errors).lines() {
            if told.insert(line.to_owned()) {
                writeln!(streams.err, "{line}")?;
            }
        }
        collected.kernels.extend(kernel);
    }
    Ok(Ok(collected))
}

/// One kernel, and one combination of global variables.
struct Turn<'a> {
    flags: &'a StatFlags,
    /// Whether the names of files are printed as they are read.
    talks: bool,
    /// Of the combination, from 0 on.
    number: usize,
    /// Distinguishes it from the other combinations.
    label: &'a str,
    /// The same, as names and values.
    globals: &'a [(String, String)],
    /// The kernel, if it was named.
    kernel: Option<&'a MatrixKernel>,
    /// Whether there are others.
    has_several: bool,
}

impl Turn<'_> {
    /// Distinguishes it from the turns of other kernels, too.
    fn name(&self) -> String {
        let kernel = self.kernel.filter(|_| self.has_several).map(MatrixKernel::heading);
        let parts = [kernel.as_deref(), Some(self.label).filter(|label| !label.is_empty())];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Errors in files determine the result.
fn collect_turn(
    batch: &Batch,
    plan: &Plan,
    turn: &Turn<'_>,
    streams: &mut Streams<'_>,
    collected: &mut Collected,
) -> io::Result<Exit> {
    let make = |judged: Judged<'_>| answer(turn, judged);
    let Collected { rows, tally, exit: worst_exit, worst, .. } = collected;
    let name = turn.name();
    let (counted, exit) = batch.run(plan, streams, make, |streams, file| {
        if turn.talks && file.tally.files_processed > 0 {
            writeln!(streams.out, "Processing '{}'...", printable(base_name(&file.file)))?;
        }
        if file.is_filtered && turn.flags.verbose {
            writeln!(streams.out, "Skipping '{}' due to filters...", printable(&file.file))?;
        }
        if turn.flags.debug {
            let (name, progs) = (printable(&file.file), file.answers.len());
            writeln!(streams.err, "debug: {name}: {progs} programs wanted")?;
        }
        for mut answer in file.answers {
            worst_exit.raise(answer.exit);
            streams.out.write_all(answer.text.as_bytes())?;
            if let Some(line) = &answer.trouble {
                streams.failure(line, answer.exit)?;
            }
            plan.gate.keep(ROW_BYTES);
            worst.add(&answer.row, &name);
            if !turn.label.is_empty() {
                answer.row.prog = format!("{} [{}]", answer.row.prog, turn.label);
                answer.row.globals = turn.globals.to_vec();
                answer.row.turn = turn.number;
            }
            if let Some(kernel) = turn.kernel {
                answer.row.kernel = kernel.name.clone();
                answer.row.kernel_source = kernel.source.to_owned();
            }
            rows.push(answer.row);
        }
        Ok(())
    })?;
    worst_exit.raise(exit);
    let progs = tally.progs_processed;
    *tally = Tally { progs_processed: progs + counted.progs_processed, ..counted };
    Ok(exit)
}

fn plans(flags: &StatFlags, wanted: &Wanted) -> Result<(Vec<Plan>, Vec<Combination>), Error> {
    let combinations_max = flags.combinations.unwrap_or(COMBINATIONS_MAX);
    let sweep = read_sweep(&flags.set_global_vars, combinations_max)?;
    let mut prog_flags = ProgFlags::empty();
    prog_flags.set(ProgFlags::TEST_STATE_FREQ, flags.test_states);
    prog_flags.set(ProgFlags::TEST_REG_INVARIANTS, flags.test_reg_invariants);
    let level = match (flags.top_src_lines, flags.verbose) {
        (Some(_), _) => 2 | flags.log_level.unwrap_or(0),
        (None, true) => flags.log_level.unwrap_or(1),
        (None, false) => flags.log_level.unwrap_or(0),
    };
    let sessions = Plan::sessions_of(&flags.input)?;
    let sessions = sessions.into_iter().map(|it| Session { completes: true, ..it });
    let kept = if flags.verbose { Kept::Logs } else { Kept::Little };
    let gate = Arc::new(MemoryGate::new(&flags.input, kept)?);
    let plan = |session| Plan {
        session,
        filters: wanted.filters.clone(),
        presets: Vec::new(),
        options: VerifyOptions {
            log_level: level | LOG_STATS,
            // The verifier drops the beginning of a long log; to keep the beginning, the end is cut
            // off here.
            log_bytes_max: match flags.log_fixed {
                true => Some(LOG_BYTES_ALL),
                false => Some(gate.log_bytes(log_bytes(flags))).filter(|bytes| *bytes > 0),
            },
            tuning: wanted.tuning,
            ..VerifyOptions::default()
        },
        prog_flags,
        scan: flags.input.scan,
        gate: Arc::clone(&gate),
        is_compiled: wanted.emit.stats.contains(&Stat::JitedSize)
            || flags.sort.is_some()
            || !flags.filter.is_empty(),
    };
    Ok((sessions.map(plan).collect(), sweep.combinations()))
}

fn answer(turn: &Turn<'_>, judged: Judged<'_>) -> Answer {
    let exit = match exit_of(&judged.result) {
        // As in veristat, a rejection is a result.
        Exit::Refused => Exit::Success,
        other => other,
    };
    let (file, prog) = (base_name(judged.file), judged.entry.name.as_str());
    let with = if turn.label.is_empty() { String::new() } else { format!(" [{}]", turn.label) };
    let here = format!("{}: program '{prog}'{with}", judged.file);
    match judged.result {
        Err(e) => {
            // As in veristat, a program that cannot be loaded is a failure.
            let verdict = if e.class().is_some() { RowVerdict::Failure } else { RowVerdict::Error };
            let mut row = Row::new(file, prog, verdict);
            let why = not_loaded(&e);
            let trouble = Some(format!("{here}: {why}"));
            row.reason = Some(why);
            row.code = Some(Refusal::of_load(&e).map_or("unsupported".to_owned(), |it| it.kind));
            row.at = e.place().map(|at| (at.file.clone(), at.line));
            Answer { row, text: String::new(), trouble, exit }
        }
        Ok((program, mut verification)) => {
            let jited = judged.bytes_jited.unwrap_or_default();
            let row = row(file, prog, program, &verification)
                .with(Stat::JitedSize, i64::try_from(jited).unwrap_or(i64::MAX));
            let trouble = match &verification.verdict {
                Verdict::Unsupported(what) => Some(format!("{here}: not supported yet: {what}")),
                Verdict::OutOfMemory => Some(format!("{here}: {}", over_limit(&verification))),
                Verdict::Bug(what) => Some(format!("{here}: {what}")),
                Verdict::Accepted(_) | Verdict::Rejected(_) => None,
            };
            let log = std::mem::take(&mut verification.log);
            let name = match turn.name() {
                name if turn.has_several => &format!("{prog} [{name}]"),
                _ => prog,
            };
            let text = talk(turn.flags, file, name, &verification, log);
            Answer { row, text, trouble, exit }
        }
    }
}

/// The log and the source lines, if requested.
fn talk(
    flags: &StatFlags,
    file: &str,
    prog: &str,
    verification: &Verification,
    mut log: String,
) -> String {
    let source_lines =
        flags.top_src_lines.map(|n| printable_lines(top_src_lines(&printable(prog), &log, n)));
    let mut text = String::new();
    if flags.verbose {
        let verdict = match verification.verdict {
            Verdict::Accepted(_) => "success",
            Verdict::Rejected(_) => "failure",
            Verdict::Unsupported(_) => "unsupported",
            Verdict::OutOfMemory | Verdict::Bug(_) => "error",
        };
        if flags.log_fixed {
            log.truncate(log.floor_char_boundary(log_bytes(flags)));
        }
        let head = format!(
            "PROCESSING {}/{}, DURATION US: {}, VERDICT: {verdict}, VERIFIER LOG:\n",
            printable(file),
            printable(prog),
            verification.duration.as_micros(),
        );
        text = printable_lines(log);
        text.insert_str(0, &head);
    }
    text.extend(source_lines);
    text
}

fn log_bytes(flags: &StatFlags) -> usize {
    flags.log_size.unwrap_or(LOG_BYTES_DEFAULT)
}

/// The log, terminated by a newline. Source lines in it come from the file and may contain tabs.
/// Logs are long: one that can be printed unchanged is not copied.
fn printable_lines(mut log: String) -> String {
    if !log.ends_with('\n') {
        log.push('\n');
    }
    let as_it_is = |part: &str| matches!(printable(part), std::borrow::Cow::Borrowed(_));
    if log.split(['\n', '\t']).all(as_it_is) {
        // A log whose beginning was dropped had up to twice this size.
        log.shrink_to_fit();
        return log;
    }
    let mut text = String::with_capacity(log.len());
    for line in log.lines() {
        for (index, part) in line.split('\t').enumerate() {
            if index > 0 {
                text.push('\t');
            }
            text.push_str(&printable(part));
        }
        text.push('\n');
    }
    text
}

fn row(file: &str, prog: &str, program: &Program, verification: &Verification) -> Row {
    let told = |code: &str, reason: String| Some((code.to_owned(), reason));
    let (verdict, told) = match &verification.verdict {
        Verdict::Accepted(_) => (RowVerdict::Success, None),
        Verdict::Rejected(refusal) => {
            (RowVerdict::Failure, told(&refusal.kind, refusal.message.clone()))
        }
        Verdict::Unsupported(what) => {
            (RowVerdict::Unsupported, told("unsupported", format!("not supported yet: {what}")))
        }
        Verdict::OutOfMemory => {
            (RowVerdict::Error, told("out-of-memory", over_limit(verification)))
        }
        Verdict::Bug(what) => {
            (RowVerdict::Error, told("internal-error", format!("internal error: {what}")))
        }
    };
    let counts = &verification.counts;
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let mut row = Row::new(file, prog, verdict)
        .with(Stat::Duration, i64::try_from(verification.duration.as_micros()).unwrap_or(i64::MAX))
        .with(Stat::TotalInsns, number(counts.insns_processed))
        .with(Stat::TotalStates, number(counts.total_states))
        .with(Stat::PeakStates, number(counts.peak_states))
        .with(Stat::MaxStatesPerInsn, number(counts.max_states_per_insn))
        .with(Stat::MarkReadMaxLen, number(counts.mark_read))
        .with(Stat::Size, number(program.insns.len() as u64))
        .with(Stat::Stack, number(counts.stack_depth_bytes))
        .with(Stat::MemoryPeak, number(counts.mem_peak_bytes.div_ceil(MIB)))
        .with(Stat::MemPeakBytes, number(counts.mem_peak_bytes))
        .with(Stat::MemFinalBytes, number(counts.mem_final.total()));
    for (stat, part) in MEMORY_PARTS.iter().zip(counts.mem_peak.parts()) {
        row = row.with(*stat, number(part.1));
    }
    row.prog_type = program.prog_type.name().to_owned();
    row.attach_type = program.attach_type().map_or("unspec", |attach| attach.name()).to_owned();
    (row.code, row.reason) = told.unzip();
    if let Verdict::Rejected(Refusal { insn_idx: Some(idx), .. }) = &verification.verdict {
        row.at = source_spot(program, *idx).map(|at| (at.file, at.line));
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_memory_has_the_column_of_its_name() {
        let parts = skep::verifier::MemBytes::default().parts();
        for (stat, (name, _)) in MEMORY_PARTS.iter().zip(parts) {
            assert_eq!(stat.def().names[0], format!("mem_{name}"));
        }
    }
}
