//! Diagnostics as text, in the style of rustc: the source line, a mark under it, notes.

use crate::diagnostic::{Advice, Diagnostic, Note, Severity, SourceSpot};
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

/// Maximum number of lines of a message.
const LINES_MAX: usize = 12;

/// Renders one diagnostic; no newline at the end.
///
/// Notes are shown with their source lines if there is room, otherwise in one line each; if there
/// are too many, the last ones are shown.
pub fn render_text(diagnostic: &Diagnostic, style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    // Text without a source line is part of the message.
    let is_placed = |note: &Note| note.at.as_ref().is_some_and(|at| !at.text.trim().is_empty());
    let placed = diagnostic.notes.iter().position(is_placed);
    let (bare, placed) = diagnostic.notes.split_at(placed.unwrap_or(diagnostic.notes.len()));
    let mut report = vec![primary(diagnostic, bare)];
    report.extend(placed.iter().map(with_source));
    let text = renderer.render(&report);
    if text.lines().count() <= LINES_MAX {
        return text;
    }
    let bare = renderer.render(&[primary(diagnostic, &[])]).lines().count();
    let shown = LINES_MAX.saturating_sub(bare).min(diagnostic.notes.len()).max(1);
    let hidden = diagnostic.notes.len().saturating_sub(shown);
    renderer.render(&[primary(diagnostic, &diagnostic.notes[hidden..])])
}

/// What is wrong and where, the kernel's words, these notes and the advice.
fn primary(diagnostic: &Diagnostic, notes: &[Note]) -> Group<'static> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = printable(&diagnostic.headline()).into_owned();
    let mut group = Group::with_title(level.primary_title(title).id(diagnostic.rule.clone()));
    let insn_label = match (diagnostic.insn_idx, &diagnostic.insn) {
        (Some(idx), Some(insn)) => Some(format!("insn {idx}: {}", printable(insn))),
        _ => None,
    };
    let object = Origin::path(printable(&diagnostic.object).into_owned());
    match &diagnostic.at {
        Some(spot) if !spot.text.trim().is_empty() => {
            group = group.element(snippet(spot, insn_label)).element(object);
        }
        _ => {
            group = group.element(object);
            if let Some(label) = insn_label {
                // Without the text of the line, only its location is shown.
                let place = diagnostic.at.as_ref().map(|at| format!(" ({}:{})", at.file, at.line));
                let text = format!("at {label}{}", place.unwrap_or_default());
                group = group.element(Level::NOTE.message(printable(&text).into_owned()));
            }
        }
    }
    if let Some((who, said)) = diagnostic.said() {
        let said: Vec<_> = said.lines().map(printable).collect();
        group = group.element(Level::NOTE.with_name(who).message(said.join("\n")));
    }
    for line in notes.iter().map(|note| note.line(diagnostic.at.as_ref())) {
        group = group.element(Level::NOTE.message(printable(&line).into_owned()));
    }
    if let Some(Advice { help, .. }) = &diagnostic.advice {
        group = group.element(Level::HELP.message(printable(help).into_owned()));
    }
    group
}

fn with_source(note: &Note) -> Group<'static> {
    let title = Level::NOTE.secondary_title(printable(&note.text).into_owned());
    match &note.at {
        Some(spot) if !spot.text.trim().is_empty() => {
            Group::with_title(title).element(snippet(spot, None))
        }
        _ => Group::with_title(title),
    }
}

/// The line from BTF, with its number, marked from its column on; without a column, from its first
/// non-blank character.
fn snippet(spot: &SourceSpot, label: Option<String>) -> Snippet<'static, Mark> {
    // The renderer expands tabs but counts columns as editors do.
    let shown = |text: &str| text.split('\t').map(printable).collect::<Vec<_>>().join("\t");
    let text = shown(spot.text.trim_end());
    let indent = text.len() - text.trim_start().len();
    let before = spot.column.and_then(|column| spot.text.get(..column.get() as usize - 1));
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

    fn refused() -> Diagnostic {
        let spot = |line, text: &str| SourceSpot {
            file: "refused.bpf.c".into(),
            line,
            column: std::num::NonZeroU32::new(9),
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
            advice: None,
        }
    }

    fn advice() -> Advice {
        Advice { title: "This is no pointer".into(), help: "Check it for NULL.".into() }
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
        let titled = Diagnostic { message: "one\ntwo".into(), advice: Some(advice()), ..refused() };
        let text = render_text(&titled, Style::Plain);
        assert!(text.contains("   = kernel: one\n             two\n"), "{text}");
    }

    #[test]
    fn a_long_story_has_a_line_for_each_note() {
        let mut long = Diagnostic { advice: Some(advice()), ..refused() };
        let expected = "\
error[not-a-pointer-to-memory]: no_null_check: This is no pointer
  --> refused.bpf.c:20:9
   |
20 |     *count += 1;
   |            ^^^^^ insn 6: r1 = *(u64 *)(r0 +0)
  ::: refused.bpf.o
   = kernel: R0 invalid mem access 'map_value_or_null'
   = note: R0 is map_value_or_null since insn 5 (refused.bpf.c:18)
   = help: Check it for NULL.";
        assert_eq!(render_text(&long, Style::Plain), expected);
        let note = |n: usize| Note { text: format!("note {n}"), at: None };
        long.notes = (0..9).map(note).collect();
        let text = render_text(&long, Style::Plain);
        assert_eq!(text.lines().count(), LINES_MAX);
        assert!(text.contains("note 8") && !text.contains("note 0"), "{text}");
    }

    #[test]
    fn without_line_info_the_object_is_named() {
        let bare = Diagnostic { at: None, notes: vec![], ..refused() };
        let text = render_text(&bare, Style::Plain);
        assert!(text.contains("--> refused.bpf.o"), "{text}");
        assert!(text.contains("at insn 6: r1 = *(u64 *)(r0 +0)"), "{text}");
    }

    /// The headline is the catalogue's; the origin of any other message is named.
    #[test]
    fn who_said_it() {
        let text = |rule: &str, message: &str| {
            let (rule, message) = (rule.into(), message.into());
            let of = Diagnostic { rule, message, advice: Some(advice()), ..refused() };
            render_text(&of, Style::Plain)
        };
        let (loaders, ours) = ("load error: no section", "not supported yet: this");
        assert!(text("load_error_open", loaders).contains("   = loader: no section\n"));
        assert!(text("unsupported", ours).contains("   = note: not supported yet: this\n"));
        assert!(text("back-edge", "back-edge").contains("   = kernel: back-edge\n"));
        let of_object = Diagnostic { prog: String::new(), advice: Some(advice()), ..refused() };
        let text = render_text(&of_object, Style::Plain);
        assert!(text.starts_with("error[not-a-pointer-to-memory]: This is no pointer\n"), "{text}");
    }

    #[test]
    fn hostile_names_reach_no_terminal() {
        let mut hostile = refused();
        hostile.prog = "a\x1b[2J".into();
        hostile.object = "b\x07\u{202e}.o".into();
        if let Some(at) = &mut hostile.at {
            at.text = "x\x1b]0;title\x07 \u{202e}".into();
            at.file = "\x1b.c".into();
        }
        let text = render_text(&hostile, Style::Plain);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert!(!text.contains('\u{202e}'), "{text:?}");
    }
}
