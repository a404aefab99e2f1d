//! Which programs are processed and which rows are printed (`-f`), in veristat's notation.
//!
//! `xdp*` names files or programs; `*.bpf.o/xdp*` a file and a program; `insns>1000` and
//! `verdict=failure` test a row; a leading `!` excludes. Exclusion takes precedence; without an
//! including filter of a kind, everything of that kind passes; several including filters are
//! alternatives.

use crate::error::Error;
use crate::join::JoinedRow;
use crate::row::{Row, number_of};
use crate::spec::StatRef;
use crate::stat::Stat;

/// The filters of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    allow: Vec<Filter>,
    deny: Vec<Filter>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    /// File or program.
    Any(String),
    /// File and program.
    Pair { file: String, prog: String },
    /// A statistic compared with a number.
    Stat { of: StatRef, op: Op, operand: f64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Longest first, so that `<=` is not parsed as `<`.
const OPS: &[(&str, Op)] = &[
    ("==", Op::Eq),
    ("!=", Op::Ne),
    ("<>", Op::Ne),
    ("<=", Op::Le),
    (">=", Op::Ge),
    ("<", Op::Lt),
    (">", Op::Gt),
    ("=", Op::Eq),
];

impl Filters {
    /// Adds one filter.
    ///
    /// # Errors
    ///
    /// An unknown statistic, or an invalid value.
    pub fn add(&mut self, text: &str) -> Result<(), Error> {
        let text = text.trim();
        let (list, body) = match text.strip_prefix('!') {
            Some(rest) => (&mut self.deny, rest.trim()),
            None => (&mut self.allow, text),
        };
        if body.is_empty() {
            return Err(Error::new("empty filter"));
        }
        list.push(Filter::parse(body)?);
        Ok(())
    }

    /// Adds each line of a list; empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    ///
    /// As [`Filters::add`], with the line's number.
    pub fn add_list(&mut self, text: &str) -> Result<(), Error> {
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            self.add(line).map_err(|e| Error::new(format!("line {}: {e}", index + 1)))?;
        }
        Ok(())
    }

    /// Whether there are filters on file or program names.
    pub fn name_something(&self) -> bool {
        self.allow.iter().chain(&self.deny).any(|filter| !matches!(filter, Filter::Stat { .. }))
    }

    /// Whether there are filters on statistics.
    pub fn test_something(&self) -> bool {
        self.allow.iter().chain(&self.deny).any(|filter| matches!(filter, Filter::Stat { .. }))
    }

    /// Whether `file` may contain a wanted program (`prog` not known yet), or `prog` in it is
    /// wanted.
    pub fn wants(&self, file: &str, prog: Option<&str>) -> bool {
        if self.deny.iter().any(|filter| filter.denies(file, prog)) {
            return false;
        }
        let mut named = self.allow.iter().filter(|f| !matches!(f, Filter::Stat { .. })).peekable();
        named.peek().is_none() || named.any(|filter| filter.allows(file, prog))
    }

    /// Whether a row passes the filters on statistics.
    pub fn shows(&self, row: &Row) -> bool {
        self.passes(|of| of.value_in_row(row))
    }

    /// Whether a compared pair passes the filters on statistics.
    pub fn shows_joined(&self, row: &JoinedRow<'_>) -> bool {
        self.passes(|of| row.number(of))
    }

    fn passes(&self, value: impl Fn(StatRef) -> Option<f64>) -> bool {
        let hit = |filter: &Filter| filter.judges(&value);
        if self.deny.iter().any(|filter| hit(filter) == Some(true)) {
            return false;
        }
        let mut allow = self.allow.iter().filter_map(hit).peekable();
        allow.peek().is_none() || allow.any(|passed| passed)
    }
}

impl Filter {
    pub(crate) fn parse(text: &str) -> Result<Filter, Error> {
        let operator = OPS
            .iter()
            .filter_map(|&(sign, op)| Some((text.find(sign)?, sign, op)))
            .min_by_key(|&(at, sign, _)| (at, std::cmp::Reverse(sign.len())));
        if let Some((at, sign, op)) = operator {
            let (name, value) = (text[..at].trim(), text[at + sign.len()..].trim());
            let of = StatRef::parse(name)
                .ok_or_else(|| Error::new(format!("unrecognized filter stat name '{name}'")))?;
            if of.stat.is_text() && of.stat != Stat::Verdict {
                return Err(Error::new(format!("'{name}' is text: filter it with a glob")));
            }
            let operand = operand(value)
                .ok_or_else(|| Error::new(format!("unrecognized filter value '{value}'")))?;
            return Ok(Filter::Stat { of, op, operand });
        }
        Ok(match text.split_once('/') {
            None => Filter::Any(text.to_owned()),
            Some((file, prog)) => {
                let or_star = |glob: &str| if glob.is_empty() { "*" } else { glob }.to_owned();
                Filter::Pair { file: or_star(file), prog: or_star(prog) }
            }
        })
    }

    fn denies(&self, file: &str, prog: Option<&str>) -> bool {
        match self {
            Filter::Any(glob) => {
                glob_matches(glob, file) || prog.is_some_and(|p| glob_matches(glob, p))
            }
            Filter::Pair { file: f, prog: p } => {
                // A whole file is excluded only if each of its programs would be.
                glob_matches(f, file)
                    && match prog {
                        Some(prog) => glob_matches(p, prog),
                        None => p == "*",
                    }
            }
            Filter::Stat { .. } => false,
        }
    }

    fn allows(&self, file: &str, prog: Option<&str>) -> bool {
        match (self, prog) {
            // The file's name may not match, but one of its programs' may.
            (Filter::Any(_), None) => true,
            (Filter::Any(glob), Some(p)) => glob_matches(glob, file) || glob_matches(glob, p),
            (Filter::Pair { file: f, prog: p }, prog) => {
                glob_matches(f, file) && prog.is_none_or(|prog| glob_matches(p, prog))
            }
            (Filter::Stat { .. }, _) => false,
        }
    }

    /// None: not a filter on statistics.
    pub(crate) fn judges(&self, value: &impl Fn(StatRef) -> Option<f64>) -> Option<bool> {
        let Filter::Stat { of, op, operand } = self else { return None };
        let Some(value) = value(*of) else { return Some(false) };
        Some(match op {
            Op::Eq => value == *operand,
            Op::Ne => value != *operand,
            Op::Lt => value < *operand,
            Op::Le => value <= *operand,
            Op::Gt => value > *operand,
            Op::Ge => value >= *operand,
        })
    }
}

impl StatRef {
    fn value_in_row(self, row: &Row) -> Option<f64> {
        let value = number_of(row, self.stat)?;
        Some(if self.absolute { value.abs() } else { value })
    }
}

fn operand(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "success" | "succ" | "s" | "match" | "m" => Some(1.0),
        "false" | "f" | "failure" | "fail" | "mismatch" | "mm" => Some(0.0),
        "unsupported" => Some(2.0),
        "error" => Some(3.0),
        number => number.trim_end_matches('%').parse::<f64>().ok().filter(|n| n.is_finite()),
    }
}

/// Shell-like match of a whole name: `*` any text, `?` one character, everything else literally.
///
/// ```
/// assert!(skep_report::glob_matches("xdp*.o", "xdp_pass.bpf.o"));
/// assert!(!skep_report::glob_matches("xdp?", "xdp"));
/// ```
pub fn glob_matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut g, mut n) = (0, 0);
    // Where to resume after a failed match of the last star.
    let mut resume: Option<(usize, usize)> = None;
    while n < name.len() {
        match glob.get(g) {
            Some('*') => {
                resume = Some((g + 1, n));
                g += 1;
            }
            Some(&c) if c == '?' || c == name[n] => (g, n) = (g + 1, n + 1),
            _ => match resume {
                Some((after_star, covered)) => {
                    resume = Some((after_star, covered + 1));
                    (g, n) = (after_star, covered + 1);
                }
                None => return false,
            },
        }
    }
    glob[g..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::RowVerdict;

    fn filters(list: &[&str]) -> Filters {
        let mut filters = Filters::default();
        for text in list {
            filters.add(text).unwrap();
        }
        filters
    }

    #[test]
    fn globs() {
        for (glob, name, hit) in [
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-c-d", false),
            ("?", "x", true),
            ("?", "", false),
            ("**x", "x", true),
            ("x.o", "xyo", false),
        ] {
            assert_eq!(glob_matches(glob, name), hit, "{glob} {name}");
        }
    }

    #[test]
    fn names_allow_and_deny() {
        let f = filters(&["xdp*", "!*/xdp_drop"]);
        assert!(f.wants("tc.bpf.o", None), "a program in it may match");
        assert!(f.wants("tc.bpf.o", Some("xdp_pass")));
        assert!(!f.wants("tc.bpf.o", Some("tc_pass")));
        assert!(!f.wants("xdp.bpf.o", Some("xdp_drop")), "deny wins");
        let f = filters(&["a.o/p*", "b.o/"]);
        assert!(f.wants("a.o", Some("prog")) && !f.wants("a.o", Some("other")));
        assert!(f.wants("b.o", Some("other")) && !f.wants("c.o", None));
        assert!(!filters(&["!x.o"]).wants("x.o", None), "the whole file is denied");
        assert!(filters(&["!x.o/p"]).wants("x.o", None), "only one program of it is denied");
    }

    #[test]
    fn statistics_are_alternatives_and_deny_wins() {
        let row = Row::new("a.o", "p", RowVerdict::Failure).with(Stat::TotalInsns, 100);
        for (list, shown) in [
            (&["insns>99"][..], true),
            (&["insns > 100"], false),
            (&["insns>=100"], true),
            (&["insns<>100"], false),
            (&["insns=100", "states>5"], true),
            (&["insns<5", "verdict=failure"], true),
            (&["verdict=success"], false),
            (&["!verdict=failure"], false),
            (&["!insns<5"], true),
        ] {
            assert_eq!(filters(list).shows(&row), shown, "{list:?}");
        }
    }

    #[test]
    fn lists_name_the_bad_line() {
        let mut f = Filters::default();
        f.add_list("# wanted\n\nxdp*\ninsns>10\n").unwrap();
        assert_eq!((f.allow.len(), f.deny.len()), (2, 0));
        let error = f.add_list("ok\nspeed>1").unwrap_err();
        assert_eq!(error.to_string(), "line 2: unrecognized filter stat name 'speed'");
        assert!(f.add("insns>many").is_err() && f.add("!").is_err() && f.add("prog=x").is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_filter_or_an_error(text in "[!|a-z_*?/<>=0-9 ]{0,24}|\\PC*") {
            let mut filters = Filters::default();
            if filters.add(&text).is_ok() {
                filters.wants("a.o", Some("p"));
                filters.shows(&Row::new("a.o", "p", RowVerdict::Success));
            }
        }

        #[test]
        fn globs_agree_with_a_plain_definition(glob in "[ab*?]{0,8}", name in "[ab]{0,8}") {
            fn plain(glob: &[u8], name: &[u8]) -> bool {
                match (glob, name) {
                    ([], []) => true,
                    ([b'*', rest @ ..], _) => {
                        (0..=name.len()).any(|covered| plain(rest, &name[covered..]))
                    }
                    ([b'?', glob @ ..], [_, name @ ..]) => plain(glob, name),
                    ([a, glob @ ..], [b, name @ ..]) if a == b => plain(glob, name),
                    _ => false,
                }
            }
            assert_eq!(glob_matches(&glob, &name), plain(glob.as_bytes(), name.as_bytes()));
        }
    }
}
