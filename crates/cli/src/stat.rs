//! `skep stat`: veristat's job without root.

pub(crate) mod live;
pub(crate) mod replay;
mod top_src_lines;

use crate::exit::Exit;
use crate::flags::{OutputFormat, StatFlags};
use crate::html_file::HtmlFile;
use crate::inputs::read_list;
use crate::streams::Streams;
use crate::sweep::Sweep;
use skep::verifier::Tuning;
use skep_report::{EmitSpec, Filters, Gate, Row, SortSpec, Tally};
use std::io;

/// What to print and how, from the flags.
pub(crate) struct Wanted {
    emit: EmitSpec,
    /// A page has room for all columns of CSV.
    html_emit: EmitSpec,
    html: HtmlFile,
    sort: SortSpec,
    pub(crate) filters: Filters,
    format: OutputFormat,
    top_n: usize,
    tuning: Tuning,
    /// Present with `--fail-if`.
    gate: Option<Gate>,
}

impl Wanted {
    pub(crate) fn new(flags: &StatFlags) -> Result<Wanted, String> {
        let emit = match &flags.emit {
            Some(spec) => EmitSpec::parse(spec).map_err(|e| format!("--emit: {e}"))?,
            None => match flags.output_format {
                OutputFormat::Table | OutputFormat::Markdown => EmitSpec::table_default(),
                OutputFormat::Csv | OutputFormat::Json => EmitSpec::csv_default(),
            },
        };
        // Default order: by file, then program.
        let sort = match &flags.sort {
            Some(spec) => SortSpec::parse(spec).map_err(|e| format!("--sort: {e}"))?,
            None => SortSpec::default(),
        };
        Ok(Wanted {
            html_emit: if flags.emit.is_some() { emit.clone() } else { EmitSpec::csv_default() },
            html: HtmlFile::new(&flags.html.html)?,
            emit,
            sort,
            filters: read_filters(&flags.filter)?,
            format: flags.output_format,
            top_n: flags.top_n.unwrap_or(usize::MAX),
            tuning: crate::tuning::read(&flags.tuning).map_err(|e| format!("--tuning: {e}"))?,
            gate: read_gate(&flags.fail_if)?,
        })
    }

    /// Filters, sorts, truncates and prints rows.
    fn print(
        &self,
        streams: &mut Streams<'_>,
        mut rows: Vec<Row>,
        tally: Option<Tally>,
    ) -> io::Result<Exit> {
        rows.retain(|row| self.filters.shows(row));
        skep_report::sort_rows(&mut rows, &self.sort);
        rows.truncate(self.top_n);
        match self.format {
            OutputFormat::Table => skep_report::write_table(streams.out, &rows, &self.emit, tally),
            OutputFormat::Csv => skep_report::write_csv(streams.out, &rows, &self.emit),
            OutputFormat::Json => skep_report::write_json(streams.out, &rows, &self.emit),
            OutputFormat::Markdown => skep_report::write_markdown(streams.out, &rows, &self.emit),
        }?;
        match self.html.write(|| skep_report::stat_page(&rows, &self.html_emit)) {
            Ok(()) => Ok(Exit::Success),
            Err(message) => streams.error(&message).map(|()| Exit::Input),
        }
    }
}

/// Reads the conditions of `--fail-if`.
pub(crate) fn read_gate(conditions: &[String]) -> Result<Option<Gate>, String> {
    let mut gate = Gate::default();
    for text in conditions {
        gate.add(text).map_err(|e| format!("--fail-if: {e}"))?;
    }
    Ok(Some(gate).filter(|_| !conditions.is_empty()))
}

/// Reads the filters of the command line, `@` lists included.
pub(crate) fn read_filters(texts: &[String]) -> Result<Filters, String> {
    let mut filters = Filters::default();
    for text in texts {
        match text.strip_prefix('@') {
            Some(path) => {
                let list = crate::inputs::read_text(path.as_ref()).map_err(|e| {
                    skep::Error::io(path.as_ref(), "reading filters", e).to_string()
                })?;
                filters.add_list(&list).map_err(|e| format!("{path}: {e}"))?;
            }
            None => filters.add(text).map_err(|e| format!("--filter: {e}"))?,
        }
    }
    Ok(filters)
}

/// Reads the assignments of `-G`, `@` lists included.
pub(crate) fn read_presets(texts: &[String]) -> Result<Vec<crate::globals::Preset>, String> {
    let sweep = read_sweep(texts, 1).map_err(|e| match e.contains("combinations") {
        true => "--set-global-vars: only `skep stat` accepts several values".to_owned(),
        false => e,
    })?;
    Ok(sweep.combinations().into_iter().flat_map(|combination| combination.presets).collect())
}

/// Reads assignments of `-G` that may have several values each, `@` lists included.
pub(crate) fn read_sweep(texts: &[String], max: usize) -> Result<Sweep, String> {
    let mut assignments = Vec::new();
    for text in texts {
        match text.strip_prefix('@') {
            Some(path) => {
                let list = crate::inputs::read_text(path.as_ref()).map_err(|e| {
                    skep::Error::io(path.as_ref(), "reading global variables", e).to_string()
                })?;
                assignments.extend(read_list(&list).map(str::to_owned));
            }
            None => assignments.push(text.clone()),
        }
    }
    Sweep::parse(&assignments, max).map_err(|e| format!("--set-global-vars: {e}"))
}

/// Runs the command.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn run(flags: &StatFlags, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let outcome = match Wanted::new(flags) {
        Ok(wanted) if flags.compare => replay::compare(flags, &wanted, streams)?,
        Ok(wanted) if flags.replay => replay::replay(flags, &wanted, streams)?,
        Ok(wanted) => live::run(flags, &wanted, streams)?,
        Err(e) => Err(e),
    };
    match outcome {
        Ok(exit) => Ok(exit),
        Err(message) => {
            streams.error(&message)?;
            Ok(Exit::Input)
        }
    }
}
