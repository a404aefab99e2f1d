//! `Wanted`: what to print and how, read from the flags of `skep stat`.

use crate::Error;
use crate::choice::{read_filters, read_gate};
use crate::exit::Exit;
use crate::flags::{OutputFormat, StatFlags};
use crate::html_file::HtmlFile;
use crate::kernels;
use crate::streams::Streams;
use skep::verifier::Tuning;
use skep_report::{EmitSpec, Filters, Gate, MatrixKernel, Row, SortSpec, Stat, Tally};
use std::borrow::Cow;
use std::io;

/// The columns of results for named kernels.
const KERNEL: &[Stat] = &[Stat::Kernel, Stat::KernelSource];

/// What to print and how, read from the flags.
#[derive(Clone)]
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
    pub(crate) fn new(flags: &StatFlags) -> Result<Wanted, Error> {
        let emit = match &flags.emit {
            Some(spec) => EmitSpec::parse(spec).map_err(|e| Error::at("--emit", e))?,
            None => match flags.output_format {
                OutputFormat::Table | OutputFormat::Markdown => EmitSpec::table_default(),
                OutputFormat::Csv | OutputFormat::Json => EmitSpec::csv_default(),
            },
        };
        // Without keys: by file, then program.
        let sort = match &flags.sort {
            Some(spec) => SortSpec::parse(spec).map_err(|e| Error::at("--sort", e))?,
            None => SortSpec::default(),
        };
        Ok(Wanted {
            html_emit: if flags.emit.is_some() { emit.clone() } else { EmitSpec::csv_default() },
            html: HtmlFile::new(&flags.html.html)?,
            emit,
            sort,
            filters: read_filters(&flags.filter)?,
            format: flags.output_format,
            // As in veristat, 0 is no limit.
            top_n: flags.top_n.filter(|most| *most > 0).unwrap_or(usize::MAX),
            tuning: crate::tuning::read(&flags.tuning).map_err(|e| Error::at("--tuning", e))?,
            gate: read_gate(&flags.fail_if)?,
        })
    }

    /// Prints rows for kernels that were named, and what results for these are worth: below a
    /// table, otherwise on the error stream. Several kernels need a column; one that was not tested
    /// is marked in CSV and JSON by columns.
    pub(super) fn print_of(
        &self,
        kernels: &[MatrixKernel],
        streams: &mut Streams<'_>,
        mut rows: Vec<Row>,
        tally: Option<Tally>,
    ) -> io::Result<Exit> {
        let are_tested = kernels.iter().all(|kernel| kernel.is_tested);
        let has_several = kernels.len() > 1;
        let is_table = matches!(self.format, OutputFormat::Table | OutputFormat::Markdown);
        let heading = |name: &str| kernels.iter().find(|it| it.name == name).map(|it| it.heading());
        if is_table {
            let kernels = rows.iter_mut().map(|row| &mut row.kernel);
            kernels.for_each(|name| *name = heading(name).unwrap_or_default());
        }
        let mut shown = Cow::Borrowed(self);
        if has_several || !are_tested {
            let with = shown.to_mut();
            with.emit.extend(match (is_table, has_several) {
                (true, false) => &[],
                (true, true) => &KERNEL[..1],
                (false, _) => KERNEL,
            });
            with.html_emit.extend(KERNEL);
        }
        let is_below = is_table && (has_several || !are_tested);
        if !is_below {
            kernels.iter().try_for_each(|kernel| streams.note(&kernel.line()))?;
        }
        let exit = shown.print_with(kernels, streams, rows, tally)?;
        if is_below && self.format == OutputFormat::Markdown {
            skep_report::write_kernels_markdown(streams.out, kernels)?;
        } else if is_below {
            kernels.iter().try_for_each(|it| writeln!(streams.out, "{}", it.line()))?;
        }
        Ok(exit)
    }

    /// Filters, sorts, cuts and prints rows.
    pub(super) fn print(
        &self,
        streams: &mut Streams<'_>,
        rows: Vec<Row>,
        tally: Option<Tally>,
    ) -> io::Result<Exit> {
        self.print_with(&[], streams, rows, tally)
    }

    fn print_with(
        &self,
        kernels: &[MatrixKernel],
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
        let page = || {
            let mut page = skep_report::stat_page(&rows, &self.html_emit);
            kernels.iter().for_each(|kernel| kernels::note_on(&mut page, kernel));
            page
        };
        match self.html.write(page) {
            Ok(()) => Ok(Exit::Success),
            Err(message) => streams.error(&message).map(|()| Exit::Input),
        }
    }
}
