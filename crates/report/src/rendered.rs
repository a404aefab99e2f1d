//! Diagnostics for people, as rustc shows its own: the source line, a mark under it, notes.

use crate::diagnostic::{Diagnostic, Severity, SourceSpot};
use crate::escape::printable;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

type Mark = Annotation<'static>;

/// Colours or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// No escape sequence.
    Plain,
    /// ANSI colours.
    Coloured,
}

/// Renders one diagnostic; no newline at the end.
pub fn render_text(diagnostic: &Diagnostic, style: Style) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    // A message of several lines: the first says what, the others why.
    let headline = diagnostic.headline();
    let mut lines = headline.lines();
    let title = printable(lines.next().unwrap_or("")).into_owned();
    let mut group = Group::with_title(level.primary_title(title).id(diagnostic.rule.clone()));
    let insn_label = match (diagnostic.insn_idx, &diagnostic.insn) {
        (Some(idx), Some(insn)) => Some(format!("insn {idx}: {}", printable(insn))),
        _ => None,
    };
    match &diagnostic.at {
        Some(spot) if !spot.text.trim().is_empty() => {
            group = group.element(snippet(spot, insn_label));
            group = group.element(Origin::path(printable(&diagnostic.object).into_owned()));
        }
        _ => {
            group = group.element(Origin::path(printable(&diagnostic.object).into_owned()));
            if let Some(label) = insn_label {
                group = group.element(Level::NOTE.message(format!("at {label}")));
            }
        }
    }
    for line in lines {
        group = group.element(Level::NOTE.message(printable(line).into_owned()));
    }
    let mut report = vec![group];
    for note in &diagnostic.notes {
        let text = printable(&note.text).into_owned();
        match &note.at {
            Some(spot) if !spot.text.trim().is_empty() => report.push(
                Group::with_title(Level::NOTE.secondary_title(text)).element(snippet(spot, None)),
            ),
            _ => report.push(Group::with_title(Level::NOTE.secondary_title(text))),
        }
    }
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    renderer.render(&report)
}

/// The one line that BTF has, with its number, marked from its column on; without one, from its
/// first character that is not blank.
fn snippet(spot: &SourceSpot, label: Option<String>) -> Snippet<'static, Mark> {
    // The renderer widens tabs and still counts columns as editors do.
    let shown = |text: &str| text.split('\t').map(printable).collect::<Vec<_>>().join("\t");
    let text = shown(spot.text.trim_end());
    let indent = text.len() - text.trim_start().len();
    let before = (spot.column as usize).checked_sub(1).and_then(|bytes| spot.text.get(..bytes));
    let column = before.map_or(0, |before| shown(before).len());
    let start = if column > indent && column < text.len() { column } else { indent };
    let span = start..text.len();
    Snippet::source(text)
        .line_start(spot.line as usize)
        .path(printable(&spot.file).into_owned())
        .annotation(AnnotationKind::Primary.span(span).label(label))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Note;

    fn refused() -> Diagnostic {
        let spot = |line, text: &str| SourceSpot {
            file: "refused.bpf.c".into(),
            line,
            column: 9,
            text: text.into(),
        };
        Diagnostic {
            severity: Severity::Error,
            rule: "not-a-pointer-to-memory".into(),
            message: "R0 invalid mem access 'map_value_or_null'".into(),
            object: "refused.bpf.o".into(),
            prog: "no_null_check".into(),
            insn_idx: Some(6),
            insn: Some("r1 = *(u64 *)(r0 +0)".into()),
            at: Some(spot(20, "\t*count += 1;")),
            notes: vec![Note {
                text: "R0 is map_value_or_null since insn 5".into(),
                at: Some(spot(18, "\tu64 *count = map_lookup_elem(&counter, &key);")),
            }],
        }
    }

    #[test]
    fn shows_the_line_the_insn_and_the_history() {
        let expected = "\
error[not-a-pointer-to-memory]: no_null_check: R0 invalid mem access 'map_value_or_null'
  --> refused.bpf.c:20:9
   |
20 |     *count += 1;
   |            ^^^^^ insn 6: r1 = *(u64 *)(r0 +0)
  ::: refused.bpf.o
   |
note: R0 is map_value_or_null since insn 5
  --> refused.bpf.c:18:9
   |
18 |     u64 *count = map_lookup_elem(&counter, &key);
   |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^";
        assert_eq!(render_text(&refused(), Style::Plain), expected);
        assert!(render_text(&refused(), Style::Coloured).contains("\x1b["));
    }

    #[test]
    fn a_message_of_two_lines_is_not_run_together() {
        let message = "invalid access to packet\nR2 offset is outside of the packet".into();
        let text = render_text(&Diagnostic { message, ..refused() }, Style::Plain);
        assert!(text.starts_with(
            "error[not-a-pointer-to-memory]: no_null_check: invalid access to packet\n"
        ));
        assert!(text.contains("= note: R2 offset is outside of the packet\n"), "{text}");
    }

    #[test]
    fn without_line_info_the_object_is_named() {
        let bare = Diagnostic { at: None, notes: vec![], ..refused() };
        let text = render_text(&bare, Style::Plain);
        assert!(text.contains("--> refused.bpf.o"), "{text}");
        assert!(text.contains("at insn 6: r1 = *(u64 *)(r0 +0)"), "{text}");
    }

    #[test]
    fn hostile_names_reach_no_terminal() {
        let mut hostile = refused();
        hostile.prog = "a\x1b[2J".into();
        hostile.object = "b\x07.o".into();
        if let Some(at) = &mut hostile.at {
            at.text = "x\x1b]0;title\x07 \u{202e}".into();
            at.file = "\x1b.c".into();
        }
        let text = render_text(&hostile, Style::Plain);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }
}
