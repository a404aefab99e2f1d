//! `-G 'x = {1, 2, 4}' -G 'y = 1..8'`: every combination of the values of some global variables.

use crate::Error;
use crate::globals::Preset;
use crate::streams::Streams;
use skep_report::{Row, RowVerdict, Stat, Value, printable};
use std::collections::{BTreeMap, HashSet};
use std::io;

/// Default limit for the number of combinations.
pub(crate) const COMBINATIONS_MAX: usize = 1000;

/// The assignments, fixed and varying.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sweep {
    /// By assignment, in order: one text for each value.
    assignments: Vec<Vec<Preset>>,
}

/// The assignments for one verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Combination {
    pub(crate) presets: Vec<Preset>,
    /// The variables with several values, such as `x=1 y=2`; empty if there are none.
    pub(crate) label: String,
    /// The same, as names and values.
    pub(crate) globals: Vec<(String, String)>,
}

impl Sweep {
    /// Parses assignments of one or several values, with at most `max` combinations.
    ///
    /// # Errors
    ///
    /// One line that says what is missing, or too much.
    pub(crate) fn parse(texts: &[String], max: usize) -> Result<Sweep, Error> {
        let mut assignments = Vec::new();
        let mut combinations = 1usize;
        for text in texts {
            let values = values(text, max)?;
            once(text, &values, &assignments)?;
            combinations = combinations.saturating_mul(values.len());
            if combinations > max {
                return Err(too_many(max));
            }
            assignments.push(values);
        }
        Ok(Sweep { assignments })
    }

    /// All combinations; the last variable changes first.
    pub(crate) fn combinations(&self) -> Vec<Combination> {
        let mut all = vec![Combination::default()];
        for values in &self.assignments {
            let with = |done: &Combination, preset: &Preset| {
                let mut next = done.clone();
                if values.len() > 1 {
                    let (name, value) =
                        preset.text().split_once('=').unwrap_or((preset.text(), ""));
                    let (name, value): (String, _) =
                        (name.split_whitespace().collect(), value.trim());
                    let gap = if next.label.is_empty() { "" } else { " " };
                    next.label.extend([gap, &name, "=", value]);
                    next.globals.push((name, value.to_owned()));
                }
                next.presets.push(preset.clone());
                next
            };
            all = all
                .iter()
                .flat_map(|done| values.iter().map(move |preset| with(done, preset)))
                .collect();
        }
        all
    }
}

/// The most expensive combination of a program, and the rejected ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Worst {
    combinations: usize,
    /// By file and program.
    programs: BTreeMap<(String, String), Of>,
}

/// Of one program.
#[derive(Debug, Clone, Default)]
struct Of {
    accepted: usize,
    /// Insns if accepted, and the combination.
    most: Option<(i64, String)>,
    fewest: i64,
    /// By code and place, in the order of the combinations.
    refused: Vec<Refused>,
}

/// Combinations that are rejected with the same code at the same line.
#[derive(Debug, Clone)]
struct Refused {
    code: Option<String>,
    at: Option<(String, u32)>,
    count: usize,
    /// The first one, and its reason.
    first: String,
    reason: String,
}

/// Maximum number of lines about rejections of a program.
const REFUSED_MAX: usize = 8;

impl Worst {
    /// For this number of combinations.
    pub(crate) fn of(combinations: usize) -> Worst {
        Worst { combinations, programs: BTreeMap::new() }
    }

    /// `row` is of the program, without a combination in its name.
    pub(crate) fn add(&mut self, row: &Row, label: &str) {
        if self.combinations < 2 {
            return;
        }
        let of = self.programs.entry((row.file.clone(), row.prog.clone())).or_default();
        if row.verdict != RowVerdict::Success {
            of.refuse(row, label);
            return;
        }
        let Value::Number(insns) = row.get(Stat::TotalInsns) else { return };
        of.accepted += 1;
        match &of.most {
            Some((most, _)) if insns <= *most => of.fewest = of.fewest.min(insns),
            Some(_) => of.most = Some((insns, label.to_owned())),
            None => (of.most, of.fewest) = (Some((insns, label.to_owned())), insns),
        }
    }

    /// Marks the most expensive rows.
    pub(crate) fn mark(&self, rows: &mut [Row]) {
        for row in rows.iter_mut().filter(|row| !row.globals.is_empty()) {
            let prog = row.prog.split_once(" [").map_or(&*row.prog, |(prog, _)| prog);
            let of = self.programs.get(&(row.file.clone(), prog.to_owned()));
            let most = of.and_then(|of| of.most.as_ref()).map(|(insns, _)| *insns);
            let insns = match row.get(Stat::TotalInsns) {
                Value::Number(insns) => Some(insns),
                Value::Text(_) => None,
            };
            row.is_worst = row.verdict == RowVerdict::Success && insns == most;
        }
    }

    /// A few lines for each program.
    pub(crate) fn print(&self, streams: &mut Streams<'_>) -> io::Result<()> {
        for ((file, prog), of) in &self.programs {
            let here = format!("{}/{}", printable(file), printable(prog));
            if let Some(line) = of.cost(self.combinations) {
                writeln!(streams.out, "{here}: {line}")?;
            }
            for refused in of.refused.iter().take(REFUSED_MAX) {
                let line = refused.line(self.combinations);
                writeln!(streams.out, "{here}: {line}")?;
            }
            if let Some(more) = of.refused.len().checked_sub(REFUSED_MAX).filter(|more| *more > 0) {
                writeln!(streams.out, "{here}: {more} more reasons")?;
            }
        }
        Ok(())
    }
}

impl Of {
    fn refuse(&mut self, row: &Row, label: &str) {
        let is_same = |it: &&mut Refused| it.code == row.code && it.at == row.at;
        if let Some(known) = self.refused.iter_mut().find(is_same) {
            known.count += 1;
            return;
        }
        let reason = row.reason.as_deref().unwrap_or("no verdict");
        self.refused.push(Refused {
            code: row.code.clone(),
            at: row.at.clone(),
            count: 1,
            first: label.to_owned(),
            reason: reason.lines().next().unwrap_or_default().to_owned(),
        });
    }

    /// Insns of the accepted combinations.
    fn cost(&self, combinations: usize) -> Option<String> {
        let (most, label) = self.most.as_ref()?;
        let (label, fewest) = (printable(label), self.fewest);
        Some(match (fewest == *most, self.accepted) {
            (true, 1) => format!("{most} insns with {label}"),
            (true, n) if n == combinations => format!("{most} insns with each combination"),
            (true, _) => format!("{most} insns with each accepted combination"),
            (false, _) => format!("{fewest} to {most} insns, most with {label}"),
        })
    }
}

impl Refused {
    fn line(&self, combinations: usize) -> String {
        let code = self.code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
        let at = match &self.at {
            Some((file, line)) => format!(" at {}:{line}", printable(file)),
            None => String::new(),
        };
        let (first, reason) = (printable(&self.first), printable(&self.reason));
        let count = self.count;
        format!("{count} of {combinations} not accepted{code}{at}, first with {first}: {reason}")
    }
}

/// A variable with several values must not be set otherwise: combinations would be repeated.
fn once(text: &str, values: &[Preset], others: &[Vec<Preset>]) -> Result<(), Error> {
    let name = |preset: &Preset| preset.text().split('=').next().map(|name| name.trim().to_owned());
    let is_same = |other: &&Vec<Preset>| {
        (values.len() > 1 || other.len() > 1)
            && values.first().and_then(name) == other.first().and_then(name)
    };
    match others.iter().any(|other| is_same(&other)) {
        true => Err(format!("'{text}': the variable already has a value").into()),
        false => Ok(()),
    }
}

fn too_many(max: usize) -> Error {
    format!("more than {max} combinations; --combinations N allows N").into()
}

/// The assignments represented by one with several values: `{1, 4..6}` or `4..6`. A value is
/// taken once.
fn values(text: &str, max: usize) -> Result<Vec<Preset>, Error> {
    let whole = || Preset::parse(text).map(|preset| vec![preset]);
    let Some((name, list)) = text.split_once('=') else { return whole() };
    let (name, list) = (name.trim(), list.trim());
    let parts = match (list.strip_prefix('{'), range_of(list)) {
        (Some(rest), _) => {
            let inner = rest.strip_suffix('}');
            parts(inner.ok_or_else(|| format!("'{text}': a list ends with '}}'"))?)
        }
        (None, Some(_)) => vec![list],
        (None, None) => return whole(),
    };
    let mut values = Vec::new();
    for part in parts {
        match range_of(part) {
            Some((first, last)) => values.extend(numbers(text, first, last, max)?),
            None if part.is_empty() => return Err(format!("'{text}': missing value").into()),
            None => values.push(part.to_owned()),
        }
        if values.len() > max {
            return Err(too_many(max));
        }
    }
    let mut seen = HashSet::new();
    values.retain(|value| seen.insert(value.clone()));
    values.iter().map(|value| Preset::parse(&format!("{name} = {value}"))).collect()
}

/// What is between commas; those in quotes are part of a text.
fn parts(list: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let is_gap = |c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    };
    list.split(is_gap).map(str::trim).collect()
}

/// Both ends of a range.
fn range_of(part: &str) -> Option<(&str, &str)> {
    part.split_once("..").filter(|_| !part.starts_with('"'))
}

/// All numbers of a range.
fn numbers(text: &str, first: &str, last: &str, max: usize) -> Result<Vec<String>, Error> {
    // All that globals of 64 bits can hold, with a sign or without.
    let number = |end: &str| {
        let found = end.trim().parse::<i128>().ok();
        let is_held = |number: &i128| (i64::MIN.into()..=u64::MAX.into()).contains(number);
        let wrong = || format!("'{text}': '{}' is not a decimal number of 64 bits", end.trim());
        found.filter(is_held).ok_or_else(wrong)
    };
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(format!("'{text}': no value from {first} to {last}").into());
    }
    match usize::try_from(last - first).is_ok_and(|more| more < max) {
        true => Ok((first..=last).map(|value| value.to_string()).collect()),
        false => Err(too_many(max)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(texts: &[&str]) -> Result<Vec<String>, Error> {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let sweep = Sweep::parse(&texts, COMBINATIONS_MAX)?;
        Ok(sweep.combinations().into_iter().map(|combination| combination.label).collect())
    }

    #[test]
    fn every_combination_once() {
        let all = labels(&["a = { 0, 1}", "b=7", "c.d[2] = -1..1"]).unwrap();
        let expected =
            ["a=0 c.d[2]=-1", "a=0 c.d[2]=0", "a=0 c.d[2]=1", "a=1 c.d[2]=-1", "a=1 c.d[2]=0"];
        assert_eq!((&all[..5], all.len()), (&expected.map(str::to_owned)[..], 6));
        assert_eq!(labels(&[]), Ok(vec![String::new()]));
        assert_eq!(labels(&["mode = {ON,0x10}"]), Ok(vec!["mode=ON".into(), "mode=0x10".into()]));
        assert!(labels(&["a=1", "a=2"]).is_ok(), "the last one counts");
        let twice = Err("'a = 3': the variable already has a value".into());
        assert_eq!(labels(&["a = 1..2", "a = 3"]), twice);
        let one = Sweep::parse(&["b=7".to_owned()], 1).unwrap().combinations();
        assert_eq!((one.len(), one[0].presets.len(), one[0].label.as_str()), (1, 1, ""));
    }

    #[test]
    fn lists_have_texts_ranges_and_no_value_twice() {
        let all = |text: &str| labels(&[text]).unwrap();
        assert_eq!(all("n = {\"c d\", \"e\"}"), ["n=\"c d\"", "n=\"e\""]);
        assert_eq!(all("n = { \"a,b\" , c}"), ["n=\"a,b\"", "n=c"]);
        assert_eq!(all("n = {\"a..b\", \"c\"}"), ["n=\"a..b\"", "n=\"c\""]);
        assert_eq!(all("n = {1..2, 5}"), ["n=1", "n=2", "n=5"]);
        assert_eq!(all("n = {3, 1..4, 3}"), ["n=3", "n=1", "n=2", "n=4"]);
        assert_eq!(all("n = {1, 1,1}"), [""]);
        let end = "n=18446744073709551615";
        assert_eq!(all("n = 18446744073709551614..18446744073709551615")[1], end);
        assert_eq!(labels(&["n = 0..18446744073709551615"]), Err(too_many(1000)));
    }

    #[test]
    fn equal_costs_have_no_most() {
        let cost = |all: &[(i64, bool)]| {
            let mut worst = Worst::of(all.len());
            for (n, (insns, is_accepted)) in all.iter().enumerate() {
                let verdict = if *is_accepted { RowVerdict::Success } else { RowVerdict::Failure };
                let row = Row::new("f", "p", verdict).with(Stat::TotalInsns, *insns);
                worst.add(&row, &format!("a={n}"));
            }
            worst.programs.values().next().and_then(|of| of.cost(all.len())).unwrap_or_default()
        };
        assert_eq!(cost(&[(45, true), (45, true)]), "45 insns with each combination");
        let with_refused = cost(&[(45, true), (1, false), (45, true)]);
        assert_eq!(with_refused, "45 insns with each accepted combination");
        assert_eq!(cost(&[(9, false), (45, true)]), "45 insns with a=1");
        assert_eq!(cost(&[(44, true), (45, true)]), "44 to 45 insns, most with a=1");
    }

    #[test]
    fn refusals_are_told_by_code_and_line() {
        let mut worst = Worst::of(3);
        for (n, line) in [7, 9, 7].into_iter().enumerate() {
            let mut row = Row::new("f", "p", RowVerdict::Failure);
            (row.code, row.at) = (Some("back-edge".into()), Some(("a.c".into(), line)));
            row.reason = Some("back-edge\nmore".into());
            worst.add(&row, &format!("a={n}"));
        }
        let of = worst.programs.values().next().unwrap();
        let lines: Vec<_> = of.refused.iter().map(|refused| refused.line(3)).collect();
        let first = "2 of 3 not accepted (back-edge) at a.c:7, first with a=0: back-edge";
        assert_eq!((lines.len(), lines[0].as_str()), (2, first));
    }

    #[test]
    fn a_thousand_and_no_more() {
        assert_eq!(labels(&["a = 1..1000"]).map(|all| all.len()), Ok(1000));
        let message = Err(too_many(1000));
        assert_eq!(labels(&["a = 0..1000"]), message);
        assert_eq!(labels(&["a = 1..100", "b = 1..11"]), message);
        let whole = "a = -9223372036854775808..9223372036854775807";
        assert_eq!(labels(&[whole]), message);
        let many: Vec<String> = (0..64).map(|n| format!("a{n}=0..999")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(labels(&many), message);
    }

    #[test]
    fn what_is_no_list_is_said() {
        for (text, message) in [
            ("a = {}", "'a = {}': missing value"),
            ("a = {1,}", "'a = {1,}': missing value"),
            ("a = 2..1", "'a = 2..1': no value from 2 to 1"),
            ("a = 1..x", "'a = 1..x': 'x' is not a decimal number of 64 bits"),
            (
                "a = 0..18446744073709551616",
                "'a = 0..18446744073709551616': '18446744073709551616' is not a decimal number of 64 bits",
            ),
            ("a = {1,2", "'a = {1,2': a list ends with '}'"),
            ("a = {1..2, 3..x}", "'a = {1..2, 3..x}': 'x' is not a decimal number of 64 bits"),
            ("a", "'a': expected NAME = VALUE"),
            ("a b = {1,2}", "'a b = 1': 'a b' is not a valid name"),
        ] {
            assert_eq!(labels(&[text]), Err(message.into()));
        }
    }
}
