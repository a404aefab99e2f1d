//! One program in a comparison: both results, how far they agree, and where they first differ.

use crate::answers;
use crate::cpu_time::cpu_time;
use serde::{Deserialize, Serialize};
use skep::program::Program;
use skep::{Host, Kernel};
use skep_kernel::judge::{Answer, Judgement, Prepared, as_loaded, judge, without_btf};
use skep_kernel::kernel_log::{self, Difference};
use skep_testkit::engine::{self, OurVerdict, Ours};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

/// How far two results agree. The first three are agreement, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Class {
    /// Verdict, counts and log.
    Log,
    /// Verdict, insns and states.
    Counts,
    /// Verdict only.
    Verdict,
    /// We accept what the kernel refuses: the worst bug.
    FalseAccept,
    /// We refuse what the kernel accepts.
    FalseReject,
    /// Our verifier lacks a rule and says so.
    Unsupported,
    /// Our loader refused it.
    NotLoaded,
    /// A fault of skep: a panic, a crash, a hang.
    Bug,
    /// It did not reach the kernel's verifier.
    NotJudged,
}

impl Class {
    /// All classes, in the order of summaries.
    pub(crate) const ALL: [Class; 9] = [
        Class::Log,
        Class::Counts,
        Class::Verdict,
        Class::FalseAccept,
        Class::FalseReject,
        Class::Unsupported,
        Class::NotLoaded,
        Class::Bug,
        Class::NotJudged,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Class::Log => "log",
            Class::Counts => "counts",
            Class::Verdict => "verdict",
            Class::FalseAccept => "false-accept",
            Class::FalseReject => "false-reject",
            Class::Unsupported => "unsupported",
            Class::NotLoaded => "not-loaded",
            Class::Bug => "bug",
            Class::NotJudged => "not-judged",
        }
    }

    /// How much agreement: 3 log, 2 counts, 1 verdict, 0 none.
    pub(crate) fn rank(self) -> u8 {
        match self {
            Class::Log => 3,
            Class::Counts => 2,
            Class::Verdict => 1,
            _ => 0,
        }
    }

    /// Printed by default: neither agreement nor a documented gap.
    pub(crate) fn is_disagreement(self) -> bool {
        !matches!(self, Class::Log | Class::Unsupported | Class::NotJudged)
    }
}

/// The reason of a row whose walk has as many insns as the kernel's, but a different number of
/// states.
pub(crate) const OTHER_STATES: &str = "other states";
/// The reason if the number of insns differs, too.
pub(crate) const OTHER_INSNS: &str = "other insns";

/// Shorter times are not reported as slow.
const NOTICED_US: u64 = 2000;
/// Number of measurements before a program is reported as slow, and the limit for one of them.
const LOOKS: u32 = 4;
const LOOK_MAX_US: u64 = 5_000_000;

/// One row. Column names are those of the CSV.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) object: String,
    pub(crate) program: String,
    pub(crate) class: Class,
    /// Why it does not agree in everything, in a form that can be counted.
    pub(crate) reason: String,
    pub(crate) verdict_ours: String,
    pub(crate) verdict_kernel: String,
    pub(crate) insns_ours: u64,
    pub(crate) insns_kernel: u64,
    pub(crate) states_ours: u64,
    pub(crate) states_kernel: u64,
    pub(crate) peak_ours: u64,
    pub(crate) peak_kernel: u64,
    /// First line of the logs that differs, from 1; 0 if none does.
    pub(crate) log_line: usize,
    pub(crate) log_ours: String,
    pub(crate) log_kernel: String,
    pub(crate) time_ours_us: u64,
    pub(crate) time_kernel_us: u64,
}

/// Which logs are compared, and where ours are written if they differ.
#[derive(Clone, Copy)]
pub(crate) struct Logging<'a> {
    pub(crate) level: u32,
    /// Longer walks are not logged.
    pub(crate) insns_max: u64,
    pub(crate) logs: Option<&'a Path>,
}

impl Row {
    /// A row for a program that was not compared.
    pub(crate) fn without(object: &str, program: &str, class: Class, reason: String) -> Row {
        Row {
            object: object.to_owned(),
            program: program.to_owned(),
            class,
            reason: one_line(&reason),
            verdict_ours: String::new(),
            verdict_kernel: String::new(),
            insns_ours: 0,
            insns_kernel: 0,
            states_ours: 0,
            states_kernel: 0,
            peak_ours: 0,
            peak_kernel: 0,
            log_line: 0,
            log_ours: String::new(),
            log_kernel: String::new(),
            time_ours_us: 0,
            time_kernel_us: 0,
        }
    }

    /// Runs both verifiers on one program: first for the verdict and the counts; if those agree and
    /// the walk is not too long, again for the log.
    pub(crate) fn compare(object: &str, program: &Program, logging: Logging<'_>) -> Row {
        let program = &*as_loaded(program);
        let start = cpu_time();
        let ours = engine::verify(program, 4);
        let mut row = Row::without(object, &program.name, Class::NotJudged, String::new());
        row.time_ours_us = (cpu_time() - start).as_micros() as u64;
        row.fill_ours(&ours);
        if let Some(why) = ours.must_not_load() {
            row.reason = format!("not asked: {why}");
            return row;
        }
        let (answer, kernel_us) = judge_timed(program);
        match answer {
            Answer::Judged(theirs) => {
                row.fill(&ours, &theirs);
                row.time_kernel_us = kernel_us;
                row.measure_again(program);
                let logged = logging.level != 0 && row.insns() <= logging.insns_max;
                if logged && row.class.rank() > 0 {
                    row.compare_logs(program, logging.level);
                }
            }
            Answer::NotJudged(why) => {
                row.reason = one_line(&why.reason);
                row.log_kernel = one_line(&why.detail);
                if let OurVerdict::Bug(why) = &ours.verdict {
                    (row.class, row.reason) = (Class::Bug, one_line(why));
                }
            }
        }
        row
    }

    /// Insns of the longer walk.
    pub(crate) fn insns(&self) -> u64 {
        self.insns_kernel.max(self.insns_ours)
    }

    /// Whether skep took significantly more time than the kernel.
    pub(crate) fn is_slow(&self) -> bool {
        self.class.rank() > 0
            && self.time_kernel_us != 0
            && self.time_ours_us > NOTICED_US
            && self.time_ours_us > self.time_kernel_us
    }

    /// On a shared machine, the minimum of several measurements counts.
    fn measure_again(&mut self, program: &Program) {
        for _ in 1..LOOKS {
            if !self.is_slow() || self.time_ours_us > LOOK_MAX_US {
                return;
            }
            let start = cpu_time();
            engine::verify(program, 4);
            self.time_ours_us = self.time_ours_us.min((cpu_time() - start).as_micros() as u64);
            if let (Answer::Judged(_), kernel_us) = judge_timed(program) {
                self.time_kernel_us = self.time_kernel_us.min(kernel_us);
            }
        }
    }

    /// Runs our verifier, for the kernel `host`, and compares with the answer given. If they
    /// differ, our log is written to the folder.
    pub(crate) fn compare_with(
        answer: &answers::Row,
        program: &Program,
        host: &Host,
        kernel: &Kernel,
        logging: Logging<'_>,
    ) -> Row {
        let Logging { level, logs, .. } = logging;
        let bare;
        let program = if answer.with_btf {
            program
        } else {
            bare = without_btf(program);
            &bare
        };
        let logged = level != 0 && !answer.log.is_empty();
        let level = if logged { 2 | 4 } else { 4 };
        let start = Instant::now();
        let ours = engine::verify_for(host, kernel, program, level);
        let (object, name) = (&answer.object, &answer.program);
        let mut row = Row::without(object, name, Class::NotJudged, answer.message.clone());
        row.time_ours_us = start.elapsed().as_micros() as u64;
        row.fill_ours(&ours);
        if !answer.is_judged() {
            if let OurVerdict::Bug(why) = &ours.verdict {
                (row.class, row.reason) = (Class::Bug, one_line(why));
            }
            return row;
        }
        row.verdict_kernel.clone_from(&answer.verdict);
        row.insns_kernel = answer.insns;
        row.states_kernel = answer.states;
        row.peak_kernel = answer.peak;
        row.classify(&ours, answer.verdict == "accepted", || answer.message.clone());
        if row.class.rank() > 0 && answer.verdict != "accepted" {
            let message = answers::message(&ours.log);
            if logged && unglued(&message) != unglued(&answer.message) {
                row.class = Class::Verdict;
                row.reason = one_line(&format!("says: {message}; kernel: {}", answer.message));
            }
        }
        if row.class == Class::Verdict && row.reason.is_empty() {
            let insns = row.insns_ours == row.insns_kernel;
            row.reason = if insns { OTHER_STATES } else { OTHER_INSNS }.to_owned();
        }
        if row.class == Class::Counts && logged {
            match answers::log_hash(&ours.log, program) == answer.log {
                true => row.class = Class::Log,
                false => row.reason = "another log".to_owned(),
            }
        }
        if let Some(dir) = logs.filter(|_| row.class != Class::Log) {
            let name = format!("{}:{name}.log", object.replace('/', "_"));
            // Only for diagnosis: errors are ignored.
            let _ = std::fs::write(dir.join(name), &ours.log);
        }
        row
    }

    fn fill_ours(&mut self, ours: &Ours) {
        self.verdict_ours = ours.verdict.name().to_owned();
        self.insns_ours = ours.stats.insns_processed;
        self.states_ours = ours.stats.total_states;
        self.peak_ours = ours.stats.peak_states;
    }

    fn fill(&mut self, ours: &Ours, theirs: &Judgement) {
        let stats = theirs.stats.clone().unwrap_or_default();
        self.verdict_kernel = if theirs.accepted { "accepted" } else { "rejected" }.to_owned();
        self.insns_kernel = stats.insns_processed;
        self.states_kernel = stats.total_states;
        self.peak_kernel = stats.peak_states;
        let reason = || kernel_log::reason(&theirs.log).unwrap_or("no reason").to_owned();
        self.classify(ours, theirs.accepted, reason);
    }

    /// Classifies verdicts and counts, once both are known.
    fn classify(&mut self, ours: &Ours, accepted: bool, kernels_reason: impl Fn() -> String) {
        let counts = self.insns_ours == self.insns_kernel
            && self.states_ours == self.states_kernel
            && self.peak_ours == self.peak_kernel;
        let agreed = if counts { Class::Counts } else { Class::Verdict };
        (self.class, self.reason) = match (&ours.verdict, accepted) {
            (OurVerdict::Unsupported(why), _) => (Class::Unsupported, why.clone()),
            (OurVerdict::Bug(why), _) => (Class::Bug, why.clone()),
            (OurVerdict::Accepted, false) => (Class::FalseAccept, kernels_reason()),
            (OurVerdict::Rejected(why), true) => (Class::FalseReject, why.clone()),
            (OurVerdict::Accepted, true) | (OurVerdict::Rejected(_), false) => {
                (agreed, String::new())
            }
        };
        self.reason = one_line(&self.reason);
    }

    /// Compares the logs. Level 2 shows where the walks differ; equal logs turn equal counts into
    /// [`Class::Log`].
    fn compare_logs(&mut self, program: &Program, level: u32) {
        let ours = engine::verify(program, level | 4);
        let Answer::Judged(theirs) = judge(program, level | 4) else { return };
        let a = kernel_log::normalise(&ours.log, &program.insns);
        let b = kernel_log::normalise(&theirs.log, &program.insns);
        match kernel_log::first_difference(&a, &b) {
            None if self.class == Class::Counts => self.class = Class::Log,
            None => {}
            Some(Difference { line, ours, theirs }) => {
                self.log_line = line;
                self.log_ours = one_line(ours.unwrap_or("(end)"));
                self.log_kernel = one_line(theirs.unwrap_or("(end)"));
            }
        }
    }

    /// The row as text.
    pub(crate) fn line(&self) -> String {
        let mut text = format!("{:<12} {}:{}", self.class.name(), self.object, self.program);
        let mut pair = |what: &str, ours: u64, kernel: u64| {
            if ours != kernel {
                let _ = write!(text, "  {what} {ours}/{kernel}");
            }
        };
        pair("insns", self.insns_ours, self.insns_kernel);
        pair("states", self.states_ours, self.states_kernel);
        pair("peak", self.peak_ours, self.peak_kernel);
        if !self.reason.is_empty() {
            let _ = write!(text, "  ({})", self.reason);
        }
        if self.log_line != 0 && self.class.rank() > 0 {
            let _ = write!(text, "\n    log line {}", self.log_line);
            let _ = write!(text, "\n      - {}\n      + {}", self.log_ours, self.log_kernel);
        }
        text
    }
}

/// The kernel's answer, and the CPU time of this thread while it loaded the program, microseconds.
/// Its own log tells how long that took, which on a busy machine is longer.
fn judge_timed(program: &Program) -> (Answer, u64) {
    let prepared = match Prepared::new(program) {
        Ok(prepared) => prepared,
        Err(why) => return (Answer::NotJudged(why), 0),
    };
    let start = cpu_time();
    let answer = prepared.load(4);
    (answer, (cpu_time() - start).as_micros() as u64)
}

/// The message without the statistics that follow it if the kernel does not end its line.
fn unglued(message: &str) -> &str {
    let glued = ["stack depth ", "verification time "];
    let end = glued.iter().filter_map(|it| message.find(it)).min();
    &message[..end.unwrap_or(message.len())]
}

/// Shortened to one line for tables.
fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_end().chars().take(200).collect()
}
