//! Diagnostics as GitHub workflow commands (`::error file=...::`), which GitHub shows at the line.

use crate::diagnostic::Diagnostic;
use crate::escape::printable;
use std::io::{self, Write};

/// Writes one command per diagnostic.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_github(out: &mut dyn Write, diagnostics: &[Diagnostic]) -> io::Result<()> {
    diagnostics.iter().try_for_each(|it| write_github_at(out, it.severity.text(), it))
}

/// Writes a command of any severity (`notice`).
pub(crate) fn write_github_at(
    out: &mut dyn Write,
    command: &str,
    diagnostic: &Diagnostic,
) -> io::Result<()> {
    write!(out, "::{command} ")?;
    match &diagnostic.at {
        Some(at) => {
            let file = at.file.strip_prefix("./").unwrap_or(&at.file);
            write!(out, "file={},line={}", property(file), at.line)?;
            if let Some(column) = at.column {
                write!(out, ",col={column}")?;
            }
        }
        None => write!(out, "file={}", property(&diagnostic.object))?,
    }
    // The title is shown above the text, so the text does not repeat it.
    let mut lines = diagnostic.details();
    let first = lines.first_mut();
    match first {
        _ if diagnostic.prog.is_empty() => {}
        Some(first) => *first = format!("{}: {first}", printable(&diagnostic.prog)),
        None => lines.push(printable(&diagnostic.prog).into_owned()),
    }
    lines.push(format!("code: {}", diagnostic.rule));
    writeln!(out, ",title={}::{}", property(diagnostic.title()), data(&lines.join("\n")))
}

/// Writes a notice about no file and no line.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_github_notice(out: &mut dyn Write, title: &str, text: &str) -> io::Result<()> {
    writeln!(out, "::notice title={}::{}", property(title), data(text))
}

/// The command's text: a newline would end it. Other control characters are escaped, too, because
/// job logs are shown in terminals.
fn data(text: &str) -> String {
    text.split('\n').map(|line| printable(line).replace('%', "%25")).collect::<Vec<_>>().join("%0A")
}

/// A property value: `,` and `:` are separators.
fn property(text: &str) -> String {
    printable(text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Advice, Severity, SourceSpot};

    #[test]
    fn one_line_each_and_nothing_escapes() {
        let refused = Diagnostic {
            severity: Severity::Error,
            rule: "back_edge".into(),
            message: "100%\n::error ::fake".into(),
            object: "a,b.o".into(),
            prog: "p\x1b\r".into(),
            insn_idx: Some(1),
            insn: Some("goto pc-1".into()),
            at: None,
            notes: vec![],
            advice: None,
        };
        let at = SourceSpot {
            file: "./x.c".into(),
            line: 3,
            column: std::num::NonZeroU32::new(2),
            text: String::new(),
        };
        let advice = Some(Advice { title: "It loops:".into(), help: "Do not.".into() });
        let placed = Diagnostic { message: "m".into(), at: Some(at), advice, ..refused.clone() };
        let mut out = Vec::new();
        write_github(&mut out, &[refused, placed]).unwrap();
        let expected = "\
::error file=a%2Cb.o,title=100%25::p\\u{1b}\\u{d}: note: ::error ::fake%0Aat insn 1: goto pc-1%0Acode: back_edge
::error file=x.c,line=3,col=2,title=It loops%3A::p\\u{1b}\\u{d}: kernel: m%0Aat insn 1: goto pc-1%0Ahelp: Do not.%0Acode: back_edge
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
