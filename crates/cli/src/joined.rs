//! Tests without a line of their own. Compilers join `if (!p) return 0;` and `if (i > 7) return 0;`
//! into one condition, and give both of its jumps the line of the first: the second one is found in
//! the source, between that line and the next one that has code.
//!
//! A jump is only taken for such a one if the line has no test like it, but that of another jump.

use crate::diagnostic::source_spot;
use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::Program;
use skep_report::{Diagnostic, SourceSpot};
use std::ops::Range;

/// Maximum number of lines between the two tests.
const LINES_MAX: u32 = 200;

/// A jump of a diagnostic that has the line of another test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    /// The note about it; `None` if it is the insn shown.
    pub(crate) note: Option<usize>,
    pub(crate) insn_idx: usize,
    /// The line that it has.
    pub(crate) after: SourceSpot,
    /// The next line of the function that has code.
    before: SourceSpot,
    /// Its position among the jumps that were joined to that line, and their number; 0 if it is
    /// not a jump.
    nth: usize,
    of: usize,
}

/// The jumps of a diagnostic that have the line of another test.
pub(crate) fn of(diagnostic: &Diagnostic, program: &Program) -> Vec<Joined> {
    let shown = diagnostic.insn_idx.filter(|_| diagnostic.at.is_some()).map(|idx| (None, idx));
    let noted = diagnostic.notes.iter().enumerate().filter(|(_, note)| note.at.is_some());
    let noted = noted.filter_map(|(at, note)| {
        let (_, insn) = note.text.rsplit_once(" insn ")?;
        Some((Some(at), insn.split(':').next()?.parse().ok()?))
    });
    let is_of_end = |note: Option<usize>| {
        let text = note.and_then(|at| diagnostic.notes.get(at)).map(|note| note.text.as_str());
        text.is_some_and(|text| text.contains(" compared with the packet's end, "))
    };
    let shown = shown.into_iter().chain(noted);
    shown.filter_map(|(note, idx)| joined(note, idx, is_of_end(note), program)).collect()
}

/// `is_of_end` is whether it is known that the jump compares a pointer with the packet's end.
fn joined(note: Option<usize>, idx: usize, is_of_end: bool, program: &Program) -> Option<Joined> {
    let insn = program.insns.get(idx)?;
    if !insn.is_conditional_jump() {
        return beside(note?, idx, program);
    }
    let after = source_spot(program, idx).filter(|_| is_order(insn) || is_of_two(insn))?;
    let test = only_test(&after.text)?;
    let function = function_of(idx, program);
    let is_here =
        |at: &usize| program.insns[*at].is_conditional_jump() && is_at(program, *at, &after);
    let mut others: Vec<Insn> = Vec::new();
    // The test itself may have been decided by the compiler.
    let mut has_own = is_of_end && matches!(test, Test::Constant(_));
    let first = first_of_run(idx, &after, program).filter(|_| matches!(test, Test::Other));
    for at in function.clone().filter(is_here) {
        if let Some(first) = first
            && at <= first
        {
            has_own = at == first;
            continue;
        }
        let jump = program.insns[at];
        let holds = |reg, constant| may_hold(reg, constant, at, program);
        match test.is_of(&jump, first.is_some(), holds)? {
            true => has_own = true,
            // Compilers copy tests.
            false if others.iter().any(|other| is_alike(other, &jump)) => {}
            false => others.push(jump),
        }
    }
    let nth = others.iter().position(|other| is_alike(other, insn)).filter(|_| has_own)?;
    let before = next_line(&after, function, program)?;
    Some(Joined { note, insn_idx: idx, after, before, nth, of: others.len() })
}

/// The first of several jumps of one line to one place: that of the line, if the others are not.
fn first_of_run(idx: usize, line: &SourceSpot, program: &Program) -> Option<usize> {
    let target = |at: usize| program.insns.get(at)?.jump_target(at);
    let is_jump = |at: &usize| program.insns.get(*at).is_some_and(|it| it.is_conditional_jump());
    let run = (program.function_start(idx)..idx).rev().take_while(|&at| is_at(program, at, line));
    let first = run.filter(is_jump).last()?;
    let is_first = is_order(&program.insns[first]) && target(first) == target(idx);
    is_first.then_some(first)
}

/// What is computed for such a jump, just before it, may have the same line; it is not looked for.
fn beside(note: usize, idx: usize, program: &Program) -> Option<Joined> {
    let after = source_spot(program, idx).filter(|spot| only_test(&spot.text).is_some())?;
    let function = function_of(idx, program);
    let is_here = |at: &usize| is_at(program, *at, &after);
    let jump = (idx..function.end)
        .take_while(is_here)
        .find(|&at| program.insns.get(at).is_some_and(|insn| insn.is_conditional_jump()))?;
    let is_own = |at: usize| {
        program.insns[at].is_conditional_jump() && joined(None, at, false, program).is_none()
    };
    joined(None, jump, false, program)?;
    (function.start..idx).rev().take_while(is_here).any(is_own).then(|| Joined {
        note: Some(note),
        insn_idx: idx,
        before: after.clone(),
        after,
        nth: 0,
        of: 0,
    })
}

/// Whether an insn has the line of a place.
fn is_at(program: &Program, idx: usize, place: &SourceSpot) -> bool {
    source_spot(program, idx).is_some_and(|spot| spot.line == place.line && spot.file == place.file)
}

/// The insns of the function that has this one.
fn function_of(idx: usize, program: &Program) -> Range<usize> {
    let function = program.function_range(idx);
    function.start..function.end.min(program.insns.len())
}

/// The next line of the source that has code of a function.
fn next_line(after: &SourceSpot, function: Range<usize>, program: &Program) -> Option<SourceSpot> {
    let rows = program.source_lines().0.iter();
    let rows = rows.filter(|row| function.contains(&row.insn_off.index()));
    let rows = rows.filter(|row| row.line() > after.line && row.line() - after.line <= LINES_MAX);
    let spots = rows.filter_map(|row| source_spot(program, row.insn_off.index()));
    spots.filter(|spot| spot.file == after.file && spot.line > after.line).min_by_key(|it| it.line)
}

/// Whether an insn before this one of its function sets a register to about a constant: compilers
/// keep those of loops in registers.
fn may_hold(reg: u8, constant: i64, before: usize, program: &Program) -> bool {
    program.insns[program.function_start(before)..before].iter().any(|insn| {
        let sets = matches!(insn.class(), BPF_ALU | BPF_ALU64) && insn.op() == BPF_MOV;
        sets && !insn.is_src_reg() && insn.dst == reg && is_near(i64::from(insn.imm), constant)
    })
}

/// Whether a comparison with one constant may be that with another: `i < 8` is `i <= 7`.
fn is_near(a: i64, b: i64) -> bool {
    a.abs_diff(b) <= 1
}

/// Whether two jumps make the same comparison, or the opposite one.
fn is_alike(a: &Insn, b: &Insn) -> bool {
    a.is_src_reg() == b.is_src_reg() && (a.imm, a.dst, a.src) == (b.imm, b.dst, b.src)
}

/// Whether a jump compares which of two numbers is larger.
fn is_order(insn: &Insn) -> bool {
    insn.is_conditional_jump() && !matches!(insn.op(), BPF_JEQ | BPF_JNE | BPF_JSET)
}

/// Whether an insn compares two registers for equality, which no test of one pointer or flag does.
fn is_of_two(insn: &Insn) -> bool {
    insn.is_conditional_jump() && insn.is_src_reg()
}

/// The only test of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    /// Of a pointer or flag, or of several.
    Truth,
    /// Whether two values are equal.
    Equality,
    /// A comparison with a constant.
    Constant(i64),
    Other,
}

impl Test {
    /// Whether a jump may be this test; `None` if that cannot be told. `is_later` is whether the
    /// test was seen before; `holds`, whether a register may hold a constant.
    fn is_of(self, jump: &Insn, is_later: bool, holds: impl Fn(u8, i64) -> bool) -> Option<bool> {
        match self {
            Test::Truth => Some(!is_order(jump) && !is_of_two(jump)),
            Test::Equality => Some(!is_order(jump)),
            Test::Other if is_later => Some(false),
            Test::Constant(constant) => Some(match jump.is_src_reg() {
                true => [jump.dst, jump.src].iter().any(|&reg| holds(reg, constant)),
                false => is_near(i64::from(jump.imm), constant),
            }),
            Test::Other => None,
        }
    }
}

/// The test of a line that has one, and no other.
fn only_test(text: &str) -> Option<Test> {
    let text = code_of(text)?;
    let text = text.trim_start_matches("} ").trim_start_matches("else ");
    let (keyword, rest) = text.split_once('(')?;
    let end = end_of_group(rest)?;
    let (inner, rest) = (&rest[..end], &rest[end + 1..]);
    if orders(rest) > 0 || rest.contains("if") || rest.contains(['?', '#']) {
        return None;
    }
    let condition = match keyword.trim() {
        "if" | "while" => inner,
        "for" => inner.split(';').nth(1)?,
        _ => return None,
    };
    if condition.contains(['?', '"']) || calls_macro(condition) {
        return None;
    }
    let is_one = !condition.contains("&&") && !condition.contains("||");
    let parts: Vec<&str> = condition.split(['<', '>', '=', '!']).collect();
    let constant = || {
        let ends = [parts.first(), parts.last()];
        ends.into_iter().flatten().find_map(|part| part.trim().parse().ok())
    };
    match (orders(condition), condition.contains("==") || condition.contains("!=")) {
        (0, false) if !condition.contains('=') => Some(Test::Truth),
        (0, true) if is_one && condition.matches(['=', '!']).count() == 2 => Some(Test::Equality),
        (1, false) if is_one => Some(constant().map_or(Test::Other, Test::Constant)),
        _ => None,
    }
}

/// Whether a condition has a call of what may be a macro with tests of its own.
fn calls_macro(condition: &str) -> bool {
    let is_macro = |name: &str| {
        let is_upper = name.len() > 1 && !name.chars().any(|c| c.is_ascii_lowercase());
        is_upper || ["min", "max", "clamp"].iter().any(|it| name.starts_with(it))
    };
    called(condition).any(is_macro)
}

/// The names before the parentheses of a text.
fn called(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('(').map(|(at, _)| {
        let before = text[..at].trim_end();
        &before[before.trim_end_matches(is_of_name).len()..]
    })
}

fn is_of_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// The number of comparisons of order in a text: `a < b`, but neither `a->b` nor `a << b`.
fn orders(text: &str) -> usize {
    let text = text.replace("->", " ").replace("<<", " ").replace(">>", " ");
    text.matches(['<', '>']).count()
}

/// Where the parenthesis closes that was opened before a text.
fn end_of_group(text: &str) -> Option<usize> {
    let mut depth = 1usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// A line without its comments; `None` if one of them goes on in another line.
fn code_of(line: &str) -> Option<String> {
    let (mut code, mut rest) = (String::new(), line);
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/")?.1;
    }
    code.push_str(rest.split("//").next().unwrap_or_default());
    (!code.contains("*/")).then(|| code.trim().to_owned())
}

impl Joined {
    /// Whether it is a test itself, and not what is computed for one.
    pub(crate) fn is_jump(&self) -> bool {
        self.of > 0
    }

    /// The first note's, between two lines of a source.
    #[cfg(test)]
    pub(crate) fn between(file: &str, insn_idx: usize, lines: [(u32, &str); 2]) -> Joined {
        let spots = lines.map(|(line, text)| {
            let (file, text) = (file.to_owned(), text.to_owned());
            SourceSpot { file, line, column: None, text }
        });
        let [after, before] = spots;
        Joined { note: Some(0), insn_idx, after, before, nth: 0, of: 1 }
    }

    /// The line of the test in the source, if this is the one from which the object was built, and
    /// only one line can be meant. Without its column.
    pub(crate) fn find(&self, source: &[String]) -> Option<SourceSpot> {
        let line = |spot: &SourceSpot| source.get((spot.line as usize).checked_sub(1)?);
        let is_same = |spot| line(spot).is_some_and(|now| now.trim() == spot.text.trim());
        if !self.is_jump() || !is_same(&self.after) || !is_same(&self.before) {
            return None;
        }
        let mut found = Vec::new();
        for line in self.after.line + 1..self.before.line {
            let text = source.get(line as usize - 1)?;
            let code = code_of(text)?;
            if text.starts_with(['}', '#']) || code.starts_with('#') || code.contains('"') {
                return None;
            }
            // A function that is called may have been joined, too.
            match orders(&code) {
                0 if code.contains("if") && calls_any(&code) => return None,
                0 => {}
                _ => found.push((line, text)),
            }
        }
        let (line, text) = match found[..] {
            [only] => only,
            _ if found.len() == self.of => found[self.nth],
            _ => return None,
        };
        Some(SourceSpot { line, column: None, text: text.clone(), ..self.after.clone() })
    }
}

/// Whether a line calls a function other than those that only mark a condition.
fn calls_any(code: &str) -> bool {
    let marks = ["", "if", "while", "for", "sizeof", "likely", "unlikely"];
    called(code).any(|name| !marks.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_of_a_line() {
        for (text, test) in [
            ("\tif (!p)", Some(Test::Truth)),
            ("if (!e->next) /* a < b */", Some(Test::Truth)),
            ("} else if (flags & 4) {", Some(Test::Truth)),
            ("if (len > 64)", Some(Test::Constant(64))),
            ("for (int i = 0; i < 32; i++) {", Some(Test::Constant(32))),
            ("if (len > sizeof(*e))", Some(Test::Other)),
            ("if (!p || !q->next)", Some(Test::Truth)),
            ("if (!p || len > 64)", None),
            ("if (len > 4 ? a : b)", None),
            ("if (TOO_LONG(len))", None),
            ("if (min(a, b))", None),
            ("if (!p) return a < b;", None),
            ("if (!p) return 0; if (q) return 0;", None),
            ("if (a == 3)", Some(Test::Equality)),
            ("if (eth->type != be16(8))", Some(Test::Equality)),
            ("if ((a = b) == 3)", None),
            ("if (a == 3 && b)", None),
            ("if (a &&", None),
            ("x = a < b;", None),
            ("if (!p /* and", None),
        ] {
            assert_eq!(only_test(text), test, "{text}");
        }
    }

    #[test]
    fn a_constant_may_be_in_a_register() {
        let test = Test::Constant(10);
        let class = BPF_JMP | BPF_JSGT;
        let by_number = Insn { code: class, dst: 3, imm: 9, ..Insn::default() };
        let by_register = Insn { code: class | BPF_X, dst: 2, src: 3, ..Insn::default() };
        let is_of = |jump: &Insn, held: u8| {
            test.is_of(jump, false, |reg, constant| reg == held && constant == 10)
        };
        assert_eq!(is_of(&by_number, 0), Some(true));
        assert_eq!(is_of(&by_register, 2), Some(true));
        assert_eq!(is_of(&by_register, 4), Some(false));
    }

    #[test]
    fn the_line_between_two_others() {
        let spot = |line, text: &str| SourceSpot {
            file: "f.c".into(),
            line,
            column: None,
            text: text.into(),
        };
        let find = |between: &[&str], (nth, of)| {
            let lines = [&["if (!p)"][..], between, &["p->a[i]++;"]].concat();
            let before = spot(lines.len() as u32, "p->a[i]++;");
            let (note, insn_idx, after) = (None, 0, spot(1, "if (!p)"));
            let joined = Joined { note, insn_idx, after, before, nth, of };
            let lines: Vec<String> = lines.iter().map(|&line| format!("\t{line}")).collect();
            joined.find(&lines).map(|spot| spot.line)
        };
        assert_eq!(find(&["return 0;", "if (i < 8)"], (0, 1)), Some(3));
        assert_eq!(find(&["return 0;", "if (i < 8 ||", "j > 4)"], (1, 2)), Some(4));
        assert_eq!(find(&["return 0;", "if (i < 8 ||", "j > 4)"], (0, 1)), None);
        assert_eq!(find(&["return 0;", "if (is_long(i))"], (0, 1)), None);
        assert_eq!(find(&["return 0;", "if (is_long(i))", "k = i < 3;"], (0, 1)), None);
        assert_eq!(find(&["return a->b << 3;"], (0, 1)), None);
        assert_eq!(find(&["/* i < 8"], (0, 1)), None);
        let changed = ["if (q)", "if (i < 8)", "p->a[i]++;"].map(str::to_owned);
        let (after, before) = (spot(1, "if (!p)"), spot(3, "p->a[i]++;"));
        let joined = Joined { note: None, insn_idx: 0, after, before, nth: 0, of: 1 };
        assert_eq!(joined.find(&changed), None, "another source");
    }
}
