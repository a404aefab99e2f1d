//! `--top-src-lines`: the source lines that occur most often in the verifier's full log.

use std::collections::HashMap;
use std::fmt::Write;

/// The `n` most frequent lines of the log, as veristat prints them; on a tie, the first one seen
/// comes first.
pub(crate) fn top_src_lines(prog: &str, log: &str, n: usize) -> String {
    let mut lines: HashMap<(&str, &str), (usize, usize)> = HashMap::new();
    for (order, line) in log.lines().filter_map(source_line).enumerate() {
        lines.entry(line).or_insert((0, order)).0 += 1;
    }
    let mut counted: Vec<_> = lines.into_iter().collect();
    counted.sort_by_key(|&(_, (count, order))| (std::cmp::Reverse(count), order));
    let mut text = format!("Top source lines ({prog}):\n");
    for ((place, source), (count, _)) in counted.into_iter().take(n) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{count:5}: ({place})\t{source}");
    }
    text
}

/// Location and text of a line such as `; x += 1; @ prog.c:12`.
pub(crate) fn source_line(line: &str) -> Option<(&str, &str)> {
    let (source, place) = line.strip_prefix("; ")?.rsplit_once(" @ ")?;
    Some((place.trim(), source.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_orders() {
        let log = "; a @ x.c:1\n0: (b7) r0 = 0\n; b @ x.c:2\n; a @ x.c:1\n; c @ y.c:9\n;none\n";
        let expected = "Top source lines (p):\n    2: (x.c:1)\ta\n    1: (x.c:2)\tb\n";
        assert_eq!(top_src_lines("p", log, 2), expected);
    }
}
