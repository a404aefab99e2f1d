//! One program's results: the content of a table row, a CSV line, or a JSON object.

use crate::stat::Stat;
use std::cmp::Ordering;

/// The verdicts. veristat has the first two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowVerdict {
    /// Refused.
    Failure,
    /// Accepted.
    Success,
    /// Neither: the program needs something that is not modelled yet.
    Unsupported,
    /// None: bad input or an internal error.
    Error,
}

impl RowVerdict {
    /// As printed in tables and files.
    pub fn text(self) -> &'static str {
        match self {
            RowVerdict::Failure => "failure",
            RowVerdict::Success => "success",
            RowVerdict::Unsupported => "unsupported",
            RowVerdict::Error => "error",
        }
    }
}

/// One program's results.
///
/// # Invariants
///
/// 1. `numbers` is indexed by `Stat as usize`; entries of text statistics stay 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Base name of the object file.
    pub file: String,
    /// Name of the program's function.
    pub prog: String,
    /// The answer.
    pub verdict: RowVerdict,
    /// Program type, as libbpf names it (`sched_cls`).
    pub prog_type: String,
    /// Expected attach type, as libbpf names it; `unspec` if there is none.
    pub attach_type: String,
    /// The kernel, if it was named.
    pub kernel: String,
    /// How that kernel is known.
    pub kernel_source: String,
    /// Why it is not `success`: the last line of the verifier's log, or what is not modelled. Not a
    /// column; included in JSON.
    pub reason: Option<String>,
    /// The code of the reason. Included in JSON, as are the following.
    pub code: Option<String>,
    /// File and line of the reason.
    pub at: Option<(String, u32)>,
    /// The globals with several values, and those of this row; empty without a sweep.
    pub globals: Vec<(String, String)>,
    /// Where the combination of globals comes in the sweep.
    pub turn: usize,
    /// Whether no combination of globals takes more insns.
    pub is_worst: bool,
    numbers: [i64; Stat::COUNT],
}

/// A statistic's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Names, verdicts, types.
    Text(&'a str),
    /// Counts and sizes.
    Number(i64),
}

impl Row {
    /// A row with all numbers 0.
    pub fn new(file: impl Into<String>, prog: impl Into<String>, verdict: RowVerdict) -> Self {
        Row {
            file: file.into(),
            prog: prog.into(),
            verdict,
            prog_type: String::new(),
            attach_type: String::new(),
            kernel: String::new(),
            kernel_source: String::new(),
            reason: None,
            code: None,
            at: None,
            globals: Vec::new(),
            turn: 0,
            is_worst: false,
            numbers: [0; Stat::COUNT],
        }
    }

    /// Sets a numeric statistic; text statistics have fields of their own and are ignored here.
    pub fn set(&mut self, stat: Stat, value: i64) {
        if !stat.is_text() {
            self.numbers[stat as usize] = value;
        }
    }

    /// [`Row::set`] as a builder step.
    #[must_use]
    pub fn with(mut self, stat: Stat, value: i64) -> Self {
        self.set(stat, value);
        self
    }

    /// The value of `stat`.
    pub fn get(&self, stat: Stat) -> Value<'_> {
        match stat {
            Stat::FileName => Value::Text(&self.file),
            Stat::ProgName => Value::Text(&self.prog),
            Stat::Verdict => Value::Text(self.verdict.text()),
            Stat::ProgType => Value::Text(&self.prog_type),
            Stat::AttachType => Value::Text(&self.attach_type),
            Stat::Kernel => Value::Text(&self.kernel),
            Stat::KernelSource => Value::Text(&self.kernel_source),
            _ => Value::Number(self.numbers[stat as usize]),
        }
    }

    /// Order by file, program and turn: the tie-break of every sort.
    pub(crate) fn by_turn(&self, other: &Row) -> Ordering {
        let prog = |row: &Row| match row.globals.is_empty() {
            true => row.prog.clone(),
            // Its combination is in the name.
            false => row.prog.split(" [").next().unwrap_or_default().to_owned(),
        };
        let by_file = self.file.cmp(&other.file).then_with(|| prog(self).cmp(&prog(other)));
        by_file.then(self.turn.cmp(&other.turn)).then_with(|| self.by_key(other))
    }

    /// Order by file, then program.
    pub fn by_key(&self, other: &Row) -> Ordering {
        (&self.file, &self.prog).cmp(&(&other.file, &other.prog))
    }
}

impl Value<'_> {
    /// As in JSON.
    pub(crate) fn to_json(self) -> serde_json::Value {
        match self {
            Value::Text(text) => text.into(),
            Value::Number(number) => number.into(),
        }
    }

    /// Text by bytes, numbers by value; a column contains one kind only.
    pub(crate) fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Number(a), Value::Number(b)) => a.cmp(&b),
            (Value::Text(_), Value::Number(_)) => Ordering::Less,
            (Value::Number(_), Value::Text(_)) => Ordering::Greater,
        }
    }
}

impl std::fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Text(text) => f.pad(text),
            Value::Number(number) => number.fmt(f),
        }
    }
}

/// A row's number; a verdict is 1 or 0, as in veristat (neither, if there is no verdict).
pub(crate) fn number_of(row: &Row, stat: Stat) -> Option<f64> {
    match (stat, row.get(stat)) {
        (Stat::Verdict, _) => match row.verdict {
            RowVerdict::Success => Some(1.0),
            RowVerdict::Failure => Some(0.0),
            RowVerdict::Unsupported => Some(2.0),
            RowVerdict::Error => Some(3.0),
        },
        (_, Value::Number(number)) => Some(number as f64),
        (_, Value::Text(_)) => None,
    }
}
