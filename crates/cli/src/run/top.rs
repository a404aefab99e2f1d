//! `--top`: the programs by their shares of the time since they were shown last.

use crate::streams::Streams;
use skep::runtime::{ProgInfo, ProgStats};
use skep_report::printable;
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io;
use std::time::Instant;

/// Programs on a terminal: what was shown must not have left it when it is written over.
const ROWS: usize = 20;

/// What was shown, and when.
pub(super) struct Top {
    before: Vec<(u32, ProgStats)>,
    at: Instant,
    /// Lines that are on the terminal, to be written over.
    lines: usize,
}

impl Top {
    pub(super) fn new() -> Top {
        Top { before: Vec::new(), at: Instant::now(), lines: 0 }
    }

    /// Shows what has happened since: in place of the last table on a terminal, else below it.
    pub(super) fn show(
        &mut self,
        programs: &[ProgInfo],
        streams: &mut Streams<'_>,
    ) -> io::Result<()> {
        let elapsed = self.at.elapsed().as_secs_f64();
        let since = programs.iter().map(|program| (program, self.since(program))).collect();
        let rows = if streams.progress { ROWS } else { usize::MAX };
        let mut table = table(since, elapsed, rows);
        let lines = table.lines().count();
        if streams.progress {
            if self.lines > 0 {
                write!(streams.err, "\x1b[{}A\x1b[J", self.lines)?;
            }
            // A line that is wider than the terminal stays one line.
            table = format!("\x1b[?7l{table}\x1b[?7h");
        }
        self.lines = lines;
        self.before = programs.iter().map(|program| (program.id, program.stats.clone())).collect();
        self.at = Instant::now();
        write!(streams.err, "{table}")?;
        streams.err.flush()
    }

    fn since(&self, program: &ProgInfo) -> ProgStats {
        let before = self.before.iter().find(|(id, _)| *id == program.id);
        before.map_or_else(|| program.stats.clone(), |(_, before)| program.stats.since(before))
    }
}

/// At most so many programs.
fn table(mut programs: Vec<(&ProgInfo, ProgStats)>, elapsed: f64, rows: usize) -> String {
    programs.retain(|(program, _)| program.stats.run_cnt > 0);
    programs.sort_by_key(|(program, since)| (Reverse(since.run_time_ns), program.id));
    let total: u64 = programs.iter().map(|(_, since)| since.run_time_ns).sum();
    let mut text = format!(
        "{:>5}  {:<14} {:<24} {:>12} {:>11} {:>9} {:>7}\n",
        "id", "type", "name", "run_cnt", "runs/s", "ns/run", "share"
    );
    let more = programs.len().saturating_sub(rows);
    for (program, since) in programs.into_iter().take(rows) {
        let rate = since.run_cnt as f64 / elapsed.max(1e-9);
        let mean = since.mean_ns().map_or("-".to_owned(), |mean| format!("{mean:.1}"));
        let share = 100.0 * since.run_time_ns as f64 / total.max(1) as f64;
        let (id, runs) = (program.id, program.stats.run_cnt);
        let (kind, name) = (program.prog_type.to_string(), printable(&program.name));
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{id:>5}  {kind:<14} {name:<24} {runs:>12} {rate:>11.0} {mean:>9} {share:>5.1} %"
        );
    }
    if more > 0 {
        let _ = writeln!(text, "{more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::uapi::ProgType;
    use std::time::SystemTime;

    fn program(id: u32, name: &str, (run_time_ns, run_cnt): (u64, u64)) -> ProgInfo {
        ProgInfo {
            id,
            prog_type: ProgType::Xdp,
            name: name.to_owned(),
            tag: [0; 8],
            gpl_compatible: true,
            loaded_at: SystemTime::UNIX_EPOCH,
            bytes_xlated: 8,
            bytes_jited: Some(8),
            bytes_memlock: 4096,
            map_ids: vec![],
            stats: ProgStats { run_time_ns, run_cnt, ..ProgStats::default() },
        }
    }

    #[test]
    fn the_largest_share_is_first() {
        let all = [
            program(1, "a", (100, 10)),
            program(2, "b", (300, 5)),
            program(3, "c", (0, 0)),
            program(4, "d", (0, 1)),
        ];
        let since = all.iter().map(|one| (one, one.stats.clone())).collect();
        let text = table(since, 2.0, 2);
        let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["id", "type", "name", "run_cnt", "runs/s", "ns/run", "share"]);
        assert_eq!(rows[1][..7], ["2", "xdp", "b", "5", "2", "60.0", "75.0"]);
        assert_eq!(rows[2][..7], ["1", "xdp", "a", "10", "5", "10.0", "25.0"]);
        assert_eq!(rows[3], ["1", "more"]);
        assert_eq!(rows.len(), 4);
    }

    #[test]
    fn the_second_table_is_of_what_came_since() {
        let mut top = Top::new();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let style = skep_report::Style::Plain;
        let mut streams = Streams { out: &mut out, err: &mut err, style, progress: true };
        top.show(&[program(1, "a", (100, 10))], &mut streams).unwrap();
        top.show(&[program(1, "a", (150, 20))], &mut streams).unwrap();
        let text = String::from_utf8(err).unwrap();
        let (first, second) = text.split_once("\x1b[2A\x1b[J").expect("two lines written over");
        assert!(first.starts_with("\x1b[?7l") && first.ends_with("\n\x1b[?7h"), "{first:?}");
        assert!(first.contains(" 10.0 100.0 %") && second.contains("  5.0 100.0 %"), "{text}");
    }
}
