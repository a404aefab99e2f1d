//! `Wanted`: what to print and how, read from the flags of `skep stat`.

use crate::choice::{read_filters, read_gate};
use crate::exit::Exit;
use crate::flags::{OutputFormat, StatFlags};
use crate::html_file::HtmlFile;
use crate::streams::Streams;
use skep::verifier::Tuning;
use skep_report::{EmitSpec, Filters, Gate, Row, SortSpec, Tally};
use std::io;

/// What to print and how, read from the flags.
pub(crate) struct Wanted {
    pub(super) emit: EmitSpec,
    /// A page has room for all columns of CSV.
    pub(super) html_emit: EmitSpec,
    pub(super) html: HtmlFile,
    pub(super) sort: SortSpec,
    pub(crate) filters: Filters,
    pub(super) format: OutputFormat,
    pub(super) top_n: usize,
    pub(super) tuning: Tuning,
    /// The conditions of failure, if any.
    pub(super) gate: Option<Gate>,
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
        // Without keys: by file, then program.
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

    /// Filters, sorts, cuts and prints rows.
    pub(super) fn print(
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
