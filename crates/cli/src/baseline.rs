//! `skep baseline`: verdicts and insns in a committed file, and comparison of builds with it.

use crate::Error;
use crate::choice::read_gate;
use crate::exit::Exit;
use crate::flags::{BaselineCheckFlags, BaselineCommand, BaselineFlags, OutputFormat, StatFlags};
use crate::kernels;
use crate::stat::Wanted;
use crate::stat::live::{Collected, collect};
use crate::stat::replay::{escape_names, print_breaches, print_joined, read};
use crate::streams::Streams;
use skep_report::{EmitSpec, Filters, JoinedRow, Row, Stat, join};
use std::io;

/// Columns that do not depend on the machine.
const COLUMNS: [Stat; 4] = [Stat::FileName, Stat::ProgName, Stat::Verdict, Stat::TotalInsns];

/// Those of the file.
const KEPT: [Stat; 5] =
    [Stat::FileName, Stat::ProgName, Stat::Verdict, Stat::Kernel, Stat::TotalInsns];

const ONE_KERNEL: &str = "a baseline is of one kernel; write one for each (-b FILE)";

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(command: &BaselineCommand, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let outcome = match command {
        BaselineCommand::Write(flags) => write(flags, streams)?,
        BaselineCommand::Check(flags) => check(flags, streams)?,
    };
    outcome.or_else(|message| streams.error(&message).map(|()| Exit::Input))
}

fn write(flags: &BaselineFlags, streams: &mut Streams<'_>) -> io::Result<Result<Exit, Error>> {
    let (Collected { rows, exit, .. }, _) = match verified(flags, streams)? {
        Ok(verified) => verified,
        Err(message) => return Ok(Err(message)),
    };
    // Otherwise programs that could not be read today would silently be missing from the baseline.
    if exit != Exit::Success {
        return Ok(Err("the baseline was not written".into()));
    }
    let mut text = Vec::new();
    skep_report::write_csv(&mut text, &rows, &EmitSpec { stats: KEPT.to_vec() })?;
    let path = &flags.baseline;
    if let Err(e) = std::fs::write(path, text) {
        return Ok(Err(Error::caused(skep::Error::io(path, "writing the baseline", e))));
    }
    writeln!(streams.out, "{}: {}", path.display(), programs(rows.len()))?;
    Ok(Ok(exit))
}

fn check(flags: &BaselineCheckFlags, streams: &mut Streams<'_>) -> io::Result<Result<Exit, Error>> {
    let prepared = || {
        let gate = read_gate(&flags.fail_if)?.unwrap_or_default();
        Ok((gate, read(flags.common.baseline.as_os_str())?.rows))
    };
    let (gate, base) = match prepared() {
        Ok(prepared) => prepared,
        Err(message) => return Ok(Err(message)),
    };
    let (Collected { rows, exit, .. }, filters) = match verified(&flags.common, streams)? {
        Ok(verified) => verified,
        Err(message) => return Ok(Err(message)),
    };
    let of = |rows: &[Row]| rows.first().map_or(String::new(), |row| row.kernel.clone());
    let (was, now) = (of(&base), of(&rows));
    // Older files do not say it.
    if !was.is_empty() && !now.is_empty() && was != now {
        let file = flags.common.baseline.display();
        streams.note(&format!(
            "{file}: the baseline is of kernel {was}, the programs are verified for {now}"
        ))?;
    }
    let mut joined = join(&base, &rows);
    // A baseline may cover more programs than are compared now.
    joined.retain(|pair| {
        pair.comp.is_some()
            || pair.base.is_some_and(|row| filters.wants(&row.file, Some(&row.prog)))
    });
    let breaches = gate.breaches(&joined);
    let compared = programs(joined.len());
    joined.retain(changed);
    let spec = EmitSpec { stats: COLUMNS.to_vec() };
    match flags.output_format {
        OutputFormat::Table if joined.is_empty() => {
            writeln!(streams.err, "{compared}, as in the baseline")?;
        }
        // A table without rows in the summary of a job would look like a failure.
        OutputFormat::Markdown if joined.is_empty() => {
            writeln!(streams.out, "{compared}, as in the baseline.")?;
        }
        format => print_joined(streams, &joined, &spec, format)?,
    }
    for row in joined.iter().filter(|pair| pair.base.is_none()).filter_map(|pair| pair.comp) {
        streams.note(&format!("{}/{}: new, not in the baseline", row.file, row.prog))?;
    }
    let mut worst = print_breaches(streams, &breaches)?;
    worst.raise(exit);
    Ok(Ok(worst))
}

fn changed(pair: &JoinedRow<'_>) -> bool {
    let shown =
        |row: Option<&Row>| row.map(|row| (row.verdict, row.get(Stat::TotalInsns).to_string()));
    shown(pair.base) != shown(pair.comp)
}

fn programs(count: usize) -> String {
    format!("{count} program{}", if count == 1 { "" } else { "s" })
}

/// Rows of the programs, by file and name, and the filters that chose them.
fn verified(
    flags: &BaselineFlags,
    streams: &mut Streams<'_>,
) -> io::Result<Result<(Collected, Filters), Error>> {
    let stat = StatFlags {
        input: flags.input.clone(),
        filter: flags.filter.clone(),
        set_global_vars: flags.set_global_vars.clone(),
        quiet: true,
        ..StatFlags::default()
    };
    let names = &flags.input.kernel;
    let wanted = match (Wanted::new(&stat), kernels::is_one(names)) {
        (Ok(wanted), true) => wanted,
        (_, false) => return Ok(Err(ONE_KERNEL.into())),
        (Err(message), _) => return Ok(Err(message)),
    };
    let collected = collect(&stat, &wanted, streams)?;
    if let Ok(Collected { kernels, .. }) = &collected {
        kernels.iter().try_for_each(|kernel| streams.note(&kernel.line()))?;
    }
    Ok(collected.map(|mut collected| {
        escape_names(&mut collected.rows);
        for row in collected.rows.iter_mut().filter(|row| row.kernel.is_empty()) {
            row.kernel = kernels::DEFAULT.to_owned();
        }
        collected.rows.sort_by(Row::by_key);
        (collected, wanted.filters)
    }))
}
