//! The meaning of each kind of rejection, and how to fix it.
//!
//! `catalogue/*.md` contain a section for each code, or for several related codes:
//!
//! ```text
//! ## code, code
//!
//! Title in plain words
//!
//! > What to do, in one line: the `help:` of a message.
//! > - `words`: what to do instead where the message or a note has these words;
//! >   `{the pointer|pointer}` is the pointer, or the name that the source has for it;
//! >   `{p|=pointer}` is the same in code.
//!
//! Why the rule exists, how such programs come about, how to mend them: Markdown.
//!
//! No twin: `words`, `words`: why no test has a program with that help, and one that follows it.
//!
//! No program: why `tests/refusals` has none that is refused so.
//! ```
//!
//! # Invariants
//! 1. Every code has exactly one section, and every code of a section exists
//!    (`codes_and_sections`).
//! 2. The text describes this kernel; differences of other kernels are in their documentation.

use skep_object::LoadClass;
use skep_verifier::{RejectKind, Rejection};
use std::sync::LazyLock;

const MEMORY: &str = "Memory";
const FUNCTIONS: &str = "Functions and their BTF";

/// The files of sections, with the title of each chapter.
const CHAPTERS: [(&str, &str); 9] = [
    (MEMORY, include_str!("catalogue/memory.md")),
    ("Helper calls", include_str!("catalogue/call.md")),
    ("Kernel functions (kfuncs)", include_str!("catalogue/kfunc.md")),
    ("Instructions and arithmetic", include_str!("catalogue/insn.md")),
    ("Loops, exits and limits", include_str!("catalogue/flow.md")),
    (FUNCTIONS, include_str!("catalogue/func.md")),
    ("Function replacement (freplace)", include_str!("catalogue/replace.md")),
    ("Attach targets and maps", include_str!("catalogue/attach.md")),
    ("Loading", include_str!("catalogue/load.md")),
];

/// The code of a program that needs what the chosen kernel does not have.
#[doc(hidden)]
pub const NOT_ON_THIS_KERNEL: &str = "not-on-this-kernel";

/// Codes of programs and files without a verdict.
const WITHOUT_VERDICT: [&str; 4] = ["not-opened", "out-of-memory", "internal-error", "unsupported"];

/// The explanation of one code, or of several related codes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// The chapter's title.
    pub chapter: &'static str,
    /// The codes.
    pub codes: Vec<&'static str>,
    /// The title: what is wrong.
    pub title: &'static str,
    /// The advice, in one line.
    pub help: String,
    /// Advice that replaces `help` if the message or a note contains these words; the first match
    /// is used.
    pub special_help: Vec<(&'static str, String)>,
    /// Why the rule exists, typical causes and fixes: Markdown, up to 100 columns.
    pub text: &'static str,
    /// Why `tests/refusals` has no program with this rejection, if it has none.
    pub without_program: Option<String>,
    /// Words of `special_help` for which no program is followed by a corrected one in the tests,
    /// and why.
    pub without_twin: Vec<(&'static str, String)>,
    /// What to do, with gaps for names; that without words is the last.
    templates: Vec<(&'static str, String)>,
}

impl Section {
    /// What to do about a refusal; `told` is its message and notes. `names` knows
    /// what the source calls a thing: the `pointer` or `number` that is refused, what was
    /// `acquired`, the functions that `release` it, the allowed `range`, the `section` that would
    /// help, the address that the refused line has `accessed`, the call that ends what is held.
    pub fn help_for(&self, told: &str, names: impl Fn(&str) -> Option<String>) -> String {
        let template = self.templates.iter().find(|(words, _)| told.contains(words));
        template.map_or(String::new(), |(_, template)| filled(template, names))
    }
}

/// A help line whose gaps `{words|thing}` hold the name of the thing, or else the words.
fn filled(template: &str, names: impl Fn(&str) -> Option<String>) -> String {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, gap)) = rest.split_once('{')
        && let Some((gap, after)) = gap.split_once('}')
        && let Some((words, thing)) = gap.split_once('|')
    {
        text += before;
        let (bare, mark) = thing.strip_prefix('=').map_or((thing, "`"), |bare| (bare, ""));
        match names(bare) {
            Some(name) => text = text + mark + &name + mark,
            None => text += words,
        }
        rest = after;
    }
    text + rest
}

/// All sections, in the order of reading.
pub fn sections() -> &'static [Section] {
    static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| {
        let read = |&(chapter, text): &(&'static str, &'static str)| {
            text.split("\n## ").skip(1).map(move |section| parse(chapter, section))
        };
        CHAPTERS.iter().flat_map(read).collect()
    });
    &SECTIONS
}

/// The section of a code such as `leaked-reference`.
pub fn section(code: &str) -> Option<&'static Section> {
    sections().iter().find(|section| section.codes.contains(&code))
}

/// The code of a rejection. If it only says that a function and its arguments do not match, the
/// code of the mismatch.
///
/// Codes about memory are excluded, since they then refer to what a parameter points to, not to an
/// access by the program.
#[doc(hidden)]
pub fn code_of(rejection: &Rejection) -> &'static str {
    code_because(&rejection.kind, rejection.because.as_ref().map(|because| &because.kind))
}

fn code_because(own: &RejectKind, because: Option<&RejectKind>) -> &'static str {
    let because = because.map(RejectKind::code);
    let of_memory = |code: &str| section(code).is_none_or(|section| section.chapter == MEMORY);
    because.filter(|code| !of_memory(code)).unwrap_or_else(|| own.code())
}

/// Whether this code is about the declaration of a function, independent of the arguments.
pub fn is_of_declaration(code: &str) -> bool {
    section(code).is_some_and(|section| section.chapter == FUNCTIONS)
}

/// All codes of rejections, each with the kernel's text: operands in braces, empty if there is
/// none. Load errors have none, as libbpf has many.
pub fn codes() -> Vec<(String, &'static str)> {
    let verifier = RejectKind::rows().map(|row| (row.code.to_owned(), row.text));
    let loader = LoadClass::all().map(|class| (load_code(class), ""));
    let others = [NOT_ON_THIS_KERNEL].into_iter().chain(WITHOUT_VERDICT);
    verifier.chain(loader).chain(others.map(|code| (code.to_owned(), ""))).collect()
}

/// The code of a load error.
pub(crate) fn load_code(class: LoadClass) -> String {
    format!("load_error_{class}")
}

/// Words of each load error's message, in the order in which they are looked for.
const LOAD_WORDS: [(&str, LoadClass); 13] = [
    ("co-re relocation", LoadClass::Core),
    ("struct_ops map ", LoadClass::StructOps),
    ("has no struct_ops ", LoadClass::StructOps),
    ("struct_ops", LoadClass::StructOps),
    ("section maps:", LoadClass::Open),
    ("attach target", LoadClass::Attach),
    ("program type from section name", LoadClass::Section),
    ("only supports externs", LoadClass::Open),
    ("functions in .text", LoadClass::Open),
    ("extern ", LoadClass::Extern),
    ("(a weak extern)", LoadClass::Extern),
    ("cannot be created", LoadClass::Map),
    ("map ", LoadClass::Map),
];

/// The code of a load error, by its message.
fn code_of_load(message: &str) -> Option<&'static str> {
    let (_, said) = message.split_once("load error: ")?;
    let class = LOAD_WORDS.iter().find(|(words, _)| said.contains(words));
    let code = load_code(class.map_or(LoadClass::Open, |(_, class)| *class));
    let section = section(&code)?;
    section.codes.iter().find(|known| **known == code).copied()
}

/// Codes whose kernel text matches a message, or part of one; the best first. The loader's messages
/// begin with `load error:`; a title finds its codes, too.
pub fn codes_of_message(message: &str) -> Vec<&'static str> {
    let words = words_of(message);
    if let Some(code) = code_of_load(&words) {
        return vec![code];
    }
    let titled = sections().iter().find(|section| words_of(section.title) == words);
    if let Some(section) = titled {
        return section.codes.clone();
    }
    // Any number of such lines come before the text.
    if words.starts_with(UNRELEASED) && !words.contains("would lead to") {
        return vec!["leaked-reference"];
    }
    let mut found: Vec<(usize, &str)> =
        RejectKind::rows().filter_map(|row| Some((score(&words, row.text)?, row.code))).collect();
    found.sort_by_key(|&(score, _)| std::cmp::Reverse(score));
    let best = found.first().map_or(0, |&(score, _)| score);
    // A letter more is no better match.
    found.retain(|&(score, _)| score + 1 >= best);
    found.into_iter().map(|(_, code)| code).collect()
}

/// The names that may have been meant, at least one.
#[doc(hidden)]
pub fn did_you_mean(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("did you mean {} or {last}?", others.join(", "))
        }
        _ => format!("did you mean {}?", names.concat()),
    }
}

/// Codes spelled similarly to `word`, the nearest first.
pub fn near_codes(word: &str) -> Vec<String> {
    /// More would not help.
    const SHOWN: usize = 5;
    let asked = word.to_ascii_lowercase().replace(['_', ' '], "-");
    let near = |code: &str| {
        let code = code.replace('_', "-");
        let far = strsim::levenshtein(&asked, &code);
        let is_part = asked.len() >= 3 && code.contains(&asked);
        (is_part || far * 3 <= code.len()).then_some((!is_part, far))
    };
    let mut found: Vec<_> =
        codes().into_iter().filter_map(|(code, _)| Some((near(&code)?, code))).collect();
    found.sort();
    found.into_iter().take(SHOWN).map(|(_, code)| code).collect()
}

fn parse(chapter: &'static str, section: &'static str) -> Section {
    let (codes, rest) = section.split_once('\n').unwrap_or((section, ""));
    let (title, rest) = rest.trim_start().split_once("\n\n").unwrap_or((rest.trim(), ""));
    let (help, text) = rest.split_once("\n\n").unwrap_or((rest, ""));
    let (text, without) = match text.split_once("No program: ") {
        Some((text, why)) => (text, Some(joined(why))),
        None => (text, None),
    };
    let mut parts = text.split("No twin: ");
    let text = parts.next().unwrap_or_default();
    let without_twin = parts.flat_map(without_twin).collect();
    let mut helps = help.split("\n> - `");
    let help = joined(helps.next().unwrap_or_default());
    let special = |text: &'static str| {
        let (words, help) = text.split_once("`:").unwrap_or((text, ""));
        (words, joined(help))
    };
    let mut templates: Vec<(&str, String)> = helps.map(special).collect();
    let unnamed = |template: &str| filled(template, |_| None);
    let special_help = templates.iter().map(|(words, help)| (*words, unnamed(help))).collect();
    let plain = unnamed(&help);
    templates.push(("", help));
    Section {
        chapter,
        codes: codes.split(',').map(str::trim).collect(),
        title: title.trim(),
        help: plain,
        special_help,
        text: text.trim(),
        without_program: without,
        without_twin,
        templates,
    }
}

/// The words, each with the reason that comes after them.
fn without_twin(part: &'static str) -> Vec<(&'static str, String)> {
    let (words, why) = part.rsplit_once("`: ").unwrap_or((part, ""));
    words.split('`').skip(1).step_by(2).map(|words| (words, joined(why))).collect()
}

/// Joins quoted lines.
fn joined(quoted: &str) -> String {
    let lines: Vec<&str> = quoted.lines().map(|line| line.trim_start_matches('>').trim()).collect();
    lines.join(" ").trim().to_owned()
}

/// The score of a kernel text for a message: `None` if it does not match.
///
/// The fixed words of the text must occur in the message in order. Part of a message matches every
/// text that contains it verbatim.
fn score(message: &str, text: &str) -> Option<usize> {
    let fixed = fixed_parts(text);
    let letters: usize = fixed.iter().map(String::len).sum();
    if letters < LETTERS_MIN {
        return None;
    }
    let mut at = 0;
    let in_order = fixed.iter().all(|part| {
        let found = message.get(at..).and_then(|tail| tail.find(part.as_str()));
        at += found.unwrap_or(0) + part.len();
        found.is_some()
    });
    let part = message.replace(|c: char| c.is_ascii_digit(), "");
    let is_part = part.len() >= LETTERS_MIN && fixed.concat().contains(&part);
    match (in_order, is_part) {
        (true, _) => Some(letters),
        (false, is_part) => is_part.then_some(part.len()),
    }
}

/// The line for each reference of `leaked-reference`.
const UNRELEASED: &str = "unreleased reference id=";

/// Fewer letters are not significant.
const LETTERS_MIN: usize = 6;

/// The fixed parts of a text, between its operands.
fn fixed_parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    let mut in_operand = false;
    while let Some(c) = chars.next() {
        let is_brace = matches!(c, '{' | '}') && chars.next_if_eq(&c).is_none();
        match (is_brace, in_operand) {
            (true, _) => in_operand = c == '{',
            (false, true) => {}
            (false, false) => {
                if let Some(part) = parts.last_mut() {
                    part.push(c);
                }
            }
        }
        if is_brace && c == '}' {
            parts.push(String::new());
        }
    }
    parts.iter().map(|part| part.to_ascii_lowercase().replace('\n', " ")).collect()
}

/// Lower case, with single spaces between words.
fn words_of(text: &str) -> String {
    text.to_ascii_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_verifier::{FuncFault, MemFault, Regno};

    #[test]
    fn codes_and_sections() {
        let of_sections = || sections().iter().flat_map(|section| section.codes.iter().copied());
        let all = codes();
        let unknown: Vec<_> =
            of_sections().filter(|code| all.iter().all(|(known, _)| known != code)).collect();
        assert_eq!(unknown, [""; 0], "no such codes");
        let other_than_one = |code: &&str| of_sections().filter(|found| found == code).count() != 1;
        let wrong: Vec<_> =
            all.iter().map(|(code, _)| code.as_str()).filter(other_than_one).collect();
        assert_eq!(wrong, [""; 0], "codes without a section of their own, or with several");
    }

    #[test]
    fn sections_are_whole() {
        let texts: Vec<&str> = RejectKind::rows().map(|row| row.text).collect();
        for Section { codes, title, help, special_help, text, .. } in sections() {
            assert!(!title.is_empty() && title.len() <= 90 && !title.ends_with('.'), "{codes:?}");
            assert!(!title.contains('\n') && !texts.contains(title), "{codes:?}: {title}");
            for help in special_help.iter().map(|(_, help)| help).chain([help]) {
                let is_short = help.len() > 20 && help.len() <= 180;
                assert!(is_short && help.ends_with('.'), "{codes:?}: {help}");
            }
            assert!(special_help.iter().all(|(words, _)| words.len() > 3), "{codes:?}");
            assert!(text.len() >= 40, "{codes:?} says little");
            assert!(text.lines().count() <= 40, "{codes:?} fills more than a screen");
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{codes:?}: long line");
            assert_eq!(text.matches("```").count() % 2, 0, "{codes:?}: block without an end");
        }
    }

    #[test]
    fn what_is_told_chooses_the_help() {
        let section = section("not-a-pointer-to-memory").unwrap();
        let help = |told| section.help_for(told, |_| None);
        assert!(help("R0 invalid mem access 'map_value_or_null'").contains("NULL"));
        assert!(!help("R0 invalid mem access 'scalar'").contains("NULL"));
        assert_eq!(help("R0 invalid mem access 'map_ptr'"), section.help);
    }

    #[test]
    fn help_has_the_names_of_the_source() {
        let help = |name: Option<&str>| {
            let section = section("maybe-null-trusted-argument").unwrap();
            section.help_for("", |thing| name.filter(|_| thing == "pointer").map(str::to_owned))
        };
        assert!(help(Some("task")).starts_with("Check `task` for NULL"), "{}", help(Some("task")));
        assert!(help(None).starts_with("Check the pointer for NULL"), "{}", help(None));
        let in_code =
            |name: Option<&str>| filled("`({p|=accessed} + 1)`", |_| name.map(str::to_owned));
        assert_eq!(in_code(Some("eth")), "`(eth + 1)`");
        assert_eq!(in_code(None), "`(p + 1)`");
        let known =
            ["pointer", "accessed", "number", "acquired", "release", "range", "section", "end"];
        for section in sections() {
            for (_, template) in &section.templates {
                filled(template, |thing| {
                    assert!(known.contains(&thing), "{:?}: {thing}", section.codes);
                    None
                });
            }
        }
    }

    #[test]
    fn titles_differ() {
        let mut titles: Vec<_> = sections().iter().map(|section| section.title).collect();
        titles.sort_unstable();
        let twice: Vec<_> = titles.windows(2).filter(|two| two[0] == two[1]).collect();
        assert_eq!(twice, [[""; 2]; 0]);
    }

    #[test]
    fn a_message_finds_its_code() {
        for (message, code) in [
            ("R0 invalid mem access 'map_value_or_null'", "not-a-pointer-to-memory"),
            ("invalid access to packet, off=14 size=1, R2(id=0,off=14,r=14)", "beyond-packet"),
            ("R2 unbounded memory access, make sure to bounds check", "unbounded-access"),
            ("back-edge from insn 7 to 3", "back-edge"),
            ("unreachable insn 9", "unreachable-insn"),
            ("R4 !read_ok", "uninitialized-register"),
            ("Unreleased reference id=2 alloc_insn=5", "leaked-reference"),
            ("An uninitialised value is used on this path", "uninitialized-register"),
            ("load error: extern (func ksym) 'f': not found in kernel BTF", "load_error_extern"),
            (
                "Unreleased reference id=2 alloc_insn=3\nBPF_EXIT instruction in main prog would \
              lead to reference leak",
                "leaked-reference",
            ),
        ] {
            assert!(codes_of_message(message).contains(&code), "{message}");
        }
        assert_eq!(codes_of_message("nothing of the kind"), [""; 0]);
    }

    #[test]
    fn what_does_not_fit_has_the_code() {
        let own = RejectKind::from(FuncFault::NoEntryArgs);
        let code = |because: RejectKind| code_because(&own, Some(&because));
        assert_eq!(code(FuncFault::ArgMaybeNull { i: 0 }.into()), "nullable-argument");
        let (kind, name) = ("STRUCT".into(), "sum".into());
        assert_eq!(code(FuncFault::ParamType { i: 0, kind, name }.into()), "parameter-type");
        let (kind, name) = ("FWD".into(), "pair".into());
        let of_no_size = FuncFault::ParamSize { i: 0, kind, name };
        assert_eq!(code(of_no_size.into()), "parameter-points-to-unknown-size");
        assert_eq!(code(MemFault::MaybeNegative { regno: Regno(1) }.into()), own.code());
        assert_eq!(code_because(&own, None), own.code());
    }

    #[test]
    fn a_typo_finds_the_code() {
        assert_eq!(near_codes("leaked-refrence")[0], "leaked-reference");
        assert_eq!(near_codes("leaked_reference")[0], "leaked-reference");
        assert!(near_codes("packet").contains(&"beyond-packet".to_owned()));
        assert_eq!(near_codes("zzzzzz"), [""; 0]);
    }
}
