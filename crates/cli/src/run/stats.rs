//! Statistics of a run: enabled for it, shown during and after it, and exported to scrapers.

use super::plan::Loaded;
use crate::Error;
use crate::flags::run::RunFlags;
use crate::prog::row;
use skep::metrics::{self, Server};
use skep::runtime::{ProgInfo, ProgStats, StatsGuard, StatsOptions};
use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Columns of a bar of the histogram.
const BAR: usize = 40;

/// What is on while the run goes.
#[derive(Default)]
pub(super) struct Stats {
    _on: Option<StatsGuard>,
    server: Option<Server>,
    /// Where metrics are written.
    file: Option<String>,
}

impl Stats {
    /// Switches on what the flags ask for.
    ///
    /// # Errors
    ///
    /// One line: the host refuses, or the address cannot be served.
    pub(super) fn new(flags: &RunFlags, loaded: &Loaded) -> Result<Stats, Error> {
        let mut stats = Stats::default();
        if !(is_printed(flags) || flags.top || flags.metrics.is_some()) {
            return Ok(stats);
        }
        let sample = flags.stats_sample.unwrap_or(NonZeroU32::MIN);
        // Scrapers get the histogram in any case.
        let histogram = flags.stats_histogram || flags.metrics.is_some();
        let on = loaded.runtime.enable_stats(StatsOptions { sample, histogram });
        stats._on = Some(on.map_err(Error::caused)?);
        let Some(target) = &flags.metrics else { return Ok(stats) };
        let wrong = |e: &dyn std::fmt::Display| format!("--metrics {target}: {e}");
        match place(target).map_err(|e| wrong(&e))? {
            Some(addr) => {
                let server = metrics::serve(addr, loaded.runtime.observer());
                stats.server = Some(server.map_err(|e| wrong(&skep::io_text(&e)))?);
            }
            None => {
                stats.file = Some(target.clone());
                // A file that cannot be written is reported before a long run, not at its end.
                stats.write_file(&loaded.runtime.programs())?;
            }
        }
        Ok(stats)
    }

    /// Where metrics are served.
    pub(super) fn url(&self) -> Option<String> {
        self.server.as_ref().map(Server::url)
    }

    /// Whether there is work to do each second.
    pub(super) fn refreshes(&self, flags: &RunFlags) -> bool {
        flags.top || self.file.is_some()
    }

    /// Writes the file of metrics, if there is one, atomically, so that no reader sees a partial
    /// file.
    ///
    /// # Errors
    ///
    /// One line.
    pub(super) fn write_file(&self, programs: &[ProgInfo]) -> Result<(), Error> {
        let Some(target) = &self.file else { return Ok(()) };
        let path = Path::new(target);
        let wrong = |e: io::Error| Error::caused(skep::Error::io(path, "writing metrics", e));
        let text = metrics::text(programs);
        // A file is replaced; a device, a pipe, or the target of a link is written to.
        match path.symlink_metadata() {
            Ok(metadata) if !metadata.is_file() => std::fs::write(path, text).map_err(wrong),
            _ => replace(path, &text).map_err(wrong),
        }
    }
}

/// Replaces `path` by a file with this text and the permissions of a new file.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    folder.metadata()?;
    let rights = Permissions::from_mode(0o666);
    let mut part = tempfile::Builder::new().permissions(rights).tempfile_in(folder)?;
    part.write_all(text.as_bytes())?;
    part.persist(path)?;
    Ok(())
}

/// The destination of metrics: an address, or a file.
///
/// # Errors
///
/// Text that looks like an address but is not one: a file of that name needs a path (`./NAME`).
pub(super) fn place(target: &str) -> Result<Option<SocketAddr>, Error> {
    let numbers = match target.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => target.to_owned(),
    };
    if let Ok(addr) = numbers.parse() {
        return Ok(Some(addr));
    }
    let has_port = numbers
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit()));
    let is_address = numbers.parse::<IpAddr>().is_ok() || target == "localhost";
    if target.is_empty()
        || target.contains("://")
        || (!target.contains('/') && (has_port || is_address))
    {
        let text = "not a loopback address with a port, such as 127.0.0.1:9100 or localhost:9100; \
                    for a file of that name, use ./NAME";
        return Err(text.into());
    }
    Ok(None)
}

/// Whether statistics are part of the result.
pub(super) fn is_printed(flags: &RunFlags) -> bool {
    flags.stats || flags.stats_sample.is_some() || flags.stats_histogram
}

/// The programs that ran, after the run.
pub(super) fn text(flags: &RunFlags, programs: &[ProgInfo]) -> String {
    let mut text = String::new();
    if !is_printed(flags) {
        return text;
    }
    for program in programs.iter().filter(|program| program.stats.run_cnt > 0) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", row(program).headline());
        if let Err(e) = program.stats.check_clock() {
            let _ = writeln!(text, "\t{e}");
        }
        if flags.stats_histogram {
            histogram(&mut text, &program.stats);
        }
    }
    text
}

/// Buckets from the first to the last that is not empty: from, to, runs.
pub(super) fn histogram_rows(stats: &ProgStats) -> Vec<(u64, u64, u64)> {
    let has_runs = |runs: &u64| *runs > 0;
    let buckets = &stats.histogram;
    let first = buckets.iter().position(has_runs);
    let Some((first, last)) = first.zip(buckets.iter().rposition(has_runs)) else {
        return Vec::new();
    };
    let row = |(number, runs): (usize, &u64)| {
        (if number == 0 { 0 } else { 1u64 << number }, 2u64 << number, *runs)
    };
    buckets.iter().enumerate().take(last + 1).skip(first).map(row).collect()
}

fn histogram(text: &mut String, stats: &ProgStats) {
    let rows = histogram_rows(stats);
    let most = rows.iter().map(|(_, _, runs)| *runs).max().unwrap_or(1).max(1);
    for (from, to, runs) in rows {
        let columns = u128::from(runs) * BAR as u128 / u128::from(most);
        let (bar, range) = ("@".repeat(columns as usize), format!("[{from}, {to})"));
        let _ = writeln!(text, "  {range:<24} ns {runs:>12} |{bar:<BAR$}|");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_no_file() {
        let addr = |text: &str| Ok(Some(text.parse().unwrap()));
        for (target, wanted) in [
            ("127.0.0.1:9100", addr("127.0.0.1:9100")),
            ("localhost:0", addr("127.0.0.1:0")),
            ("[::1]:9100", addr("[::1]:9100")),
            // `metrics::serve` refuses these.
            ("0.0.0.0:9100", addr("0.0.0.0:9100")),
            ("file", Ok(None)),
            ("./file:9100", Ok(None)),
            ("/tmp/localhost:9100", Ok(None)),
            ("a:b", Ok(None)),
        ] {
            assert_eq!(place(target), wanted, "{target}");
        }
        for target in [
            "",
            ":9100",
            "host:9100",
            "localhost",
            "127.0.0.1",
            "::1",
            "localhost:99999",
            "http://x:1",
        ] {
            assert!(place(target).is_err(), "{target}");
        }
    }

    #[test]
    fn a_histogram_is_of_the_buckets_with_runs_and_those_between() {
        let mut stats = ProgStats::default();
        (stats.histogram[4], stats.histogram[6]) = (80, 20);
        let mut text = String::new();
        histogram(&mut text, &stats);
        let (full, part) = ("@".repeat(40), "@".repeat(10));
        let wanted = format!(
            "  [16, 32)                 ns           80 |{full}|\n  \
             [32, 64)                 ns            0 |{:40}|\n  \
             [64, 128)                ns           20 |{part:40}|\n",
            ""
        );
        assert_eq!(text, wanted);
        histogram(&mut text, &ProgStats::default());
        assert_eq!(text, wanted);
    }
}
