//! `Folded`: breaks the long lines of a terminal between words. Notes, helps and messages are
//! prose, which a terminal would break anywhere; tables, source lines and documents stay as they
//! are.

use std::io::{self, Write};

/// Narrower terminals are left alone.
const COLUMNS_MIN: usize = 40;
/// Text beyond this column is continued further left.
const INDENT_MAX: usize = 24;

/// A terminal of some width.
pub(crate) struct Folded<W> {
    to: W,
    /// Where lines end; `None` if it is no terminal.
    columns: Option<usize>,
    /// The beginning of a line.
    line: Vec<u8>,
}

impl<W: Write> Folded<W> {
    pub(crate) fn new(to: W, columns: Option<usize>) -> Folded<W> {
        Folded { to, columns: columns.filter(|&columns| columns >= COLUMNS_MIN), line: Vec::new() }
    }

    fn end_line(&mut self, columns: usize) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        match std::str::from_utf8(&line) {
            Ok(text) => self.to.write_all(folded(text, columns).as_bytes()),
            Err(_) => self.to.write_all(&line),
        }
    }
}

impl<W: Write> Write for Folded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(columns) = self.columns else { return self.to.write(bytes) };
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend(part);
            if part.ends_with(b"\n") {
                self.end_line(columns)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.write_all(&std::mem::take(&mut self.line))?;
        self.to.flush()
    }
}

/// The line, on several ones if it is longer prose.
fn folded(line: &str, columns: usize) -> String {
    let Some(indent) = indent(&without_colours(line)).filter(|_| width(line.trim_end()) > columns)
    else {
        return line.to_owned();
    };
    let (mut text, mut at) = (String::new(), 0);
    for (i, word) in line.split(' ').enumerate() {
        let width = width(word.trim_end());
        if i > 0 && at > indent && at + 1 + width > columns {
            text = text + "\n" + &" ".repeat(indent);
            at = indent;
        } else if i > 0 {
            text.push(' ');
            at += 1;
        }
        text += word;
        at += width;
    }
    text
}

/// Where the text of prose continues: `  = note: ...`, `error: ...`, or `NAME: ...` in a line that
/// has neither cells nor fields nor registers.
fn indent(line: &str) -> Option<usize> {
    let (name, _) = line.split_once(": ")?;
    let is_marked = name.trim_start_matches(' ').starts_with("= ");
    let is_message = ["note", "error", "warning", "internal error"].iter().any(|word| {
        name.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
    });
    let is_named = line.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.bytes().all(|byte| byte.is_ascii_digit())
        && !name.contains([',', '"', '|', '\t'])
        && !line.contains('=')
        && !line.contains("  ");
    let indent = name.chars().count() + 2;
    let indent = if indent > INDENT_MAX { 4 } else { indent };
    (is_marked || is_message || is_named).then_some(indent)
}

fn width(text: &str) -> usize {
    without_colours(text).chars().count()
}

/// Without escape sequences.
fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain += before;
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_between_words() {
        for (line, lines) in [
            (
                "  = note: R1 is a number, 0 to 255, since the line with the call of it\n",
                "  = note: R1 is a number, 0 to 255,\n          since the line with the call\n          of it\n",
            ),
            (
                "  \u{1b}[1m=\u{1b}[0m note: one two three four five six seven eight\n",
                "  \u{1b}[1m=\u{1b}[0m note: one two three four five six\n          seven eight\n",
            ),
            (
                "6.6*: not tested: 198 of 351 rules are known here\n",
                "6.6*: not tested: 198 of 351 rules are\n      known here\n",
            ),
        ] {
            assert_eq!(folded(line, 40), lines, "{line}");
        }
    }

    #[test]
    fn tables_source_and_documents_stay() {
        for line in [
            "xdp.bpf.o  xdp_filter  success                   12: 1  2\n",
            "9 |     for (unsigned char *p = data; p < end; p++) sum: 1\n",
            "    \"message\": \"math between pointer and register with unbounded\",\n",
            "a.bpf.o,prog,failure,a reason with several words: and more of them\n",
            "::error file=a.c,line=3,title=The packet access is not covered: by anything\n",
            "  = note: short\n",
            "12: (bf) r1 = r2 ; R1_w=scalar(id=1) R2_w=scalar(id=1)\n",
            "12: (85) call bpf_get_prandom_u32#7 and more of this insn\n",
        ] {
            assert_eq!(folded(line, 40), line);
        }
    }

    #[test]
    fn what_is_no_terminal_gets_bytes_as_they_are() {
        let mut bytes = Vec::new();
        let long = format!("note: {}\n", "word ".repeat(40));
        Folded::new(&mut bytes, None).write_all(long.as_bytes()).expect("memory takes all");
        assert_eq!(bytes, long.as_bytes());
        let mut bytes = Vec::new();
        let mut out = Folded::new(&mut bytes, Some(80));
        out.write_all(b"note: \xff").expect("memory takes all");
        out.flush().expect("memory takes all");
        assert_eq!(bytes, b"note: \xff");
    }
}
