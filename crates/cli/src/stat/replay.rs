//! `-R` and `-C`: results from files instead of from programs.

use super::wanted::Wanted;
use crate::Error;
use crate::choice::NO_MATCH;
use crate::exit::Exit;
use crate::flags::{OutputFormat, StatFlags};
use crate::streams::Streams;
use skep_report::{
    Breach, CsvRows, EmitSpec, JoinedRow, Row, Stat, join, printable, read_csv, sort_joined,
};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;

/// The inner error is a line about the input.
pub(crate) type Outcome = io::Result<Result<Exit, Error>>;

/// Prints one result file again.
pub(crate) fn replay(flags: &StatFlags, wanted: &Wanted, streams: &mut Streams<'_>) -> Outcome {
    let [path] = flags.input.files.as_slice() else {
        return Ok(Err("replay mode (-R) takes exactly one CSV file".into()));
    };
    let CsvRows { mut rows, stats } = match read(path) {
        Ok(csv) => csv,
        Err(message) => return Ok(Err(message)),
    };
    rows.retain(|row| wanted.filters.wants(&row.file, Some(&row.prog)));
    if rows.is_empty() && wanted.filters.name_something() {
        return Ok(Err(NO_MATCH.into()));
    }
    let mut shown = wanted.clone();
    if flags.emit.is_none() {
        shown.emit.extend(&of_kernels(&stats));
        shown.html_emit.extend(&of_kernels(&stats));
    }
    Ok(Ok(shown.print(streams, rows, None)?))
}

/// Prints two result files side by side.
pub(crate) fn compare(flags: &StatFlags, wanted: &Wanted, streams: &mut Streams<'_>) -> Outcome {
    let [base, comp] = flags.input.files.as_slice() else {
        return Ok(Err("comparison mode (-C) takes exactly two CSV files".into()));
    };
    let (base, comp) = match (read(base), read(comp)) {
        (Ok(b), Ok(c)) => (b, c),
        (Err(message), _) | (_, Err(message)) => return Ok(Err(message)),
    };
    let mut emit = wanted.emit.clone();
    if flags.emit.is_none() {
        emit.extend(&of_kernels(&base.stats));
    }
    let in_both = |stat: &Stat| base.stats.contains(stat) && comp.stats.contains(stat);
    match emit.stats.iter().find(|stat| !in_both(stat)) {
        // Statistics requested by name must be in the file; of the defaults, those in the file are
        // shown.
        Some(stat) if flags.emit.is_some() => {
            let name = stat.def().names[0];
            return Ok(Err(format!("comparison mode (-C): '{name}' is not in both files").into()));
        }
        _ => emit.stats.retain(in_both),
    }
    let mut joined = join(&base.rows, &comp.rows);
    joined.retain(|pair| {
        let key = pair.base.or(pair.comp);
        key.is_some_and(|row| wanted.filters.wants(&row.file, Some(&row.prog)))
    });
    if joined.is_empty() && wanted.filters.name_something() {
        return Ok(Err(NO_MATCH.into()));
    }
    // Rows that are not shown (-f STAT, -n) are judged, too.
    let breaches = match &wanted.gate {
        Some(gate) => gate.breaches(&joined),
        None => joined.iter().filter_map(gone).collect(),
    };
    joined.retain(|pair| wanted.filters.shows_joined(pair));
    sort_joined(&mut joined, &wanted.sort);
    joined.truncate(wanted.top_n);
    print_joined(streams, &joined, &emit, wanted.format)?;
    let mut exit = print_breaches(streams, &breaches)?;
    let mut page_emit = wanted.html_emit.clone();
    page_emit.stats.retain(in_both);
    if let Err(message) = wanted.html.write(|| skep_report::compare_page(&joined, &page_emit)) {
        streams.error(&message)?;
        exit.raise(Exit::Input);
    }
    Ok(Ok(exit))
}

/// The columns that say which kernel a result is for: of all defaults, only these may be missing.
fn of_kernels(stats: &[Stat]) -> Vec<Stat> {
    stats.iter().copied().filter(|stat| stat.is_of_kernel()).collect()
}

/// A program that is not in the second file cannot be compared, which is a failure.
fn gone(pair: &JoinedRow<'_>) -> Option<Breach> {
    let base = pair.base.filter(|_| pair.comp.is_none())?;
    let why = match base.kernel.as_str() {
        "" => "the program is missing".to_owned(),
        kernel => format!("the program is missing for {kernel}"),
    };
    Some(Breach { file: base.file.clone(), prog: base.prog.clone(), why })
}

/// In one of the four formats.
pub(crate) fn print_joined(
    streams: &mut Streams<'_>,
    joined: &[JoinedRow<'_>],
    emit: &EmitSpec,
    format: OutputFormat,
) -> io::Result<()> {
    match format {
        OutputFormat::Table => skep_report::write_compare_table(streams.out, joined, emit),
        OutputFormat::Csv => skep_report::write_compare_csv(streams.out, joined, emit),
        OutputFormat::Json => skep_report::write_compare_json(streams.out, joined, emit),
        OutputFormat::Markdown => skep_report::write_compare_markdown(streams.out, joined, emit),
    }
}

/// One line each on standard error; any of them is a failure.
pub(crate) fn print_breaches(streams: &mut Streams<'_>, breaches: &[Breach]) -> io::Result<Exit> {
    for Breach { file, prog, why } in breaches {
        streams.error(format!("{file}/{prog}: {why}"))?;
    }
    Ok(if breaches.is_empty() { Exit::Success } else { Exit::Refused })
}

/// Names as in our files, where control characters are escaped; veristat writes them as they are.
pub(crate) fn escape_names(rows: &mut [Row]) {
    for name in rows.iter_mut().flat_map(|row| [&mut row.file, &mut row.prog]) {
        if let Cow::Owned(escaped) = printable(name) {
            *name = escaped;
        }
    }
}

pub(crate) fn read(path: &OsStr) -> Result<CsvRows, Error> {
    let text = crate::inputs::read_text(path.as_ref())
        .map_err(|e| Error::caused(skep::Error::io(path.as_ref(), "reading results", e)))?;
    let mut csv = read_csv(text.as_bytes())
        .map_err(|e| Error::at(format!("{}: while reading results", path.display()), e))?;
    escape_names(&mut csv.rows);
    Ok(csv)
}
