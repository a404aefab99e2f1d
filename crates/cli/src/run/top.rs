//! `--top`: the programs by their shares of the time since the last update.

use crate::streams::Streams;
use skep::runtime::{ProgInfo, ProgStats};
use skep_report::printable;
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io;
use std::time::Instant;

/// Largest number of programs on a terminal: a table must not have scrolled before it is
/// overwritten.
const ROWS: usize = 20;

/// Columns of a terminal whose size is unknown.
const COLUMNS_DEFAULT: usize = 80;

/// The values shown last, and when.
pub(super) struct Top {
    before: Vec<(u32, ProgStats)>,
    at: Instant,
    /// Lines on the terminal that the next update overwrites.
    lines: usize,
}

impl Top {
    pub(super) fn new() -> Top {
        Top { before: Vec::new(), at: Instant::now(), lines: 0 }
    }

    /// Shows the changes since the last update: on a terminal in place of the last table, otherwise
    /// below it.
    pub(super) fn show(
        &mut self,
        programs: &[ProgInfo],
        streams: &mut Streams<'_>,
    ) -> io::Result<()> {
        let elapsed = self.at.elapsed().as_secs_f64();
        let since = programs.iter().map(|program| (program, self.since(program))).collect();
        let (rows, columns) = match streams.progress {
            true => (ROWS, terminal_columns()),
            false => (usize::MAX, usize::MAX),
        };
        let mut table = table(since, elapsed, rows, columns);
        let lines = table.lines().count();
        if streams.progress {
            if self.lines > 0 {
                write!(streams.err, "\x1b[{}A\x1b[J", self.lines)?;
            }
            // A line that is wider than the terminal, which has been made narrower, must still be
            // one line.
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

/// A column: heading, its fixed minimum width, and whether it is left-aligned.
type Column = (&'static str, usize, bool);

const COLUMNS: [Column; 7] = [
    ("id", 5, false),
    ("type", 6, true),
    ("name", 12, true),
    ("run_cnt", 12, false),
    ("runs/s", 11, false),
    ("ns/run", 9, false),
    ("share", 7, false),
];
const NAME: usize = 2;
/// Longer names are truncated before any column is dropped.
const NAME_WIDTH: usize = 24;
/// Columns dropped when the line is too wide, first to last, and the width that remains for a name
/// then.
const LEFT_OUT: [usize; 5] = [1, 0, 3, 4, 5];
const NAME_LEAST: usize = 12;

/// Limited to this many programs, in lines no wider than that.
fn table(
    mut programs: Vec<(&ProgInfo, ProgStats)>,
    elapsed: f64,
    rows: usize,
    columns: usize,
) -> String {
    programs.retain(|(program, _)| program.stats.run_cnt > 0);
    programs.sort_by_key(|(program, since)| (Reverse(since.run_time_ns), program.id));
    let total: f64 = programs.iter().map(|(_, since)| since.run_time_ns as f64).sum();
    let more = programs.len().saturating_sub(rows);
    let mut lines = vec![COLUMNS.map(|(heading, ..)| heading.to_owned())];
    lines.extend(programs.into_iter().take(rows).map(|(program, since)| {
        let rate = since.run_cnt as f64 / elapsed.max(1e-9);
        let mean = since.mean_ns().map_or("-".to_owned(), |mean| format!("{mean:.1}"));
        let share = 100.0 * since.run_time_ns as f64 / total.max(1.0);
        [
            program.id.to_string(),
            program.prog_type.to_string(),
            printable(&program.name).into_owned(),
            program.stats.run_cnt.to_string(),
            format!("{rate:.0}"),
            mean,
            format!("{share:.1} %"),
        ]
    }));
    let (shown, widths) = fit(&lines, columns);
    let mut text = String::new();
    for line in &lines {
        let cells = shown.iter().map(|at| {
            let (cell, width) = (cut(&line[*at], widths[*at]), widths[*at]);
            if COLUMNS[*at].2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        let cells: Vec<String> = cells.collect();
        text.push_str(&cut(cells.join(" ").trim_end(), columns));
        text.push('\n');
    }
    if more > 0 {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{more} more");
    }
    text
}

/// The columns shown, and all widths.
fn fit(lines: &[[String; 7]], columns: usize) -> (Vec<usize>, [usize; 7]) {
    let widest = |at: usize| lines.iter().map(|line| line[at].chars().count()).max();
    let mut widths: [usize; 7] =
        std::array::from_fn(|at| widest(at).unwrap_or_default().max(COLUMNS[at].1));
    let mut shown: Vec<usize> = (0..COLUMNS.len()).collect();
    let whole = widths[NAME];
    let without_name = |shown: &[usize], widths: &[usize; 7]| {
        shown.iter().filter(|at| **at != NAME).map(|at| widths[*at] + 1).sum::<usize>()
    };
    for left_out in LEFT_OUT {
        let room = columns.saturating_sub(without_name(&shown, &widths));
        if room >= whole.min(if shown.len() == COLUMNS.len() { NAME_WIDTH } else { NAME_LEAST }) {
            break;
        }
        shown.retain(|at| *at != left_out);
    }
    let room = columns.saturating_sub(without_name(&shown, &widths));
    widths[NAME] = whole.min(room).max(1);
    (shown, widths)
}

/// A text of at most this many characters; a truncated one is marked.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept = text.chars().take(width.saturating_sub(1));
    kept.chain("\u{2026}".chars().take(width)).collect()
}

/// Columns of the terminal.
fn terminal_columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok();
    size.map(|size| size.ws_col.into()).filter(|columns| *columns > 0).unwrap_or(COLUMNS_DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::uapi::ProgType;
    use std::time::SystemTime;

    fn program(id: u32, name: &str, run_time_ns: u64, run_cnt: u64) -> ProgInfo {
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
            program(1, "a", 100, 10),
            program(2, "b", 300, 5),
            program(3, "c", 0, 0),
            program(4, "d", 0, 1),
        ];
        let since = all.iter().map(|one| (one, one.stats.clone())).collect();
        let text = table(since, 2.0, 2, 80);
        let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["id", "type", "name", "run_cnt", "runs/s", "ns/run", "share"]);
        assert_eq!(rows[1][..7], ["2", "xdp", "b", "5", "2", "60.0", "75.0"]);
        assert_eq!(rows[2][..7], ["1", "xdp", "a", "10", "5", "10.0", "25.0"]);
        assert_eq!(rows[3], ["1", "more"]);
        assert_eq!(rows.len(), 4);
    }

    #[test]
    fn a_line_is_no_wider_than_the_terminal() {
        let long = "a_program_with_a_rather_long_name_that_says_what_it_does";
        let all =
            [program(1, long, u64::MAX, u64::MAX), program(70_000, "b", 1 << 40, 4_000_000_000)];
        let head = |columns: usize| {
            let since = all.iter().map(|one| (one, one.stats.clone())).collect();
            let text = table(since, 1.0, 20, columns);
            assert_eq!(text.lines().count(), 3);
            for line in text.lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line:?}");
            }
            text.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        (0..200).for_each(|columns| drop(head(columns)));
        assert_eq!(head(200), "id type name run_cnt runs/s ns/run share");
        assert_eq!(head(60), "name runs/s ns/run share");
        assert_eq!(head(20), "name share");
        // Typical values fit with all columns.
        let usual = [program(17, "xdp_count", 4_000_000_000, 123_456_789)];
        let since = usual.iter().map(|one| (one, one.stats.clone())).collect();
        let text = table(since, 1.0, 20, 80);
        assert!(text.starts_with("   id type   name "), "{text}");
        assert!(text.contains(" xdp_count ") && text.ends_with(" 100.0 %\n"), "{text}");
    }

    #[test]
    fn the_second_table_is_of_what_came_since() {
        let mut top = Top::new();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let style = skep_report::Style::Plain;
        let mut streams = Streams { out: &mut out, err: &mut err, style, progress: true };
        top.show(&[program(1, "a", 100, 10)], &mut streams).unwrap();
        top.show(&[program(1, "a", 150, 20)], &mut streams).unwrap();
        let text = String::from_utf8(err).unwrap();
        let (first, second) = text.split_once("\x1b[2A\x1b[J").expect("two lines written over");
        assert!(first.starts_with("\x1b[?7l") && first.ends_with("\n\x1b[?7h"), "{first:?}");
        assert!(first.contains(" 10.0 100.0 %") && second.contains("  5.0 100.0 %"), "{text}");
    }
}
