//! `Verification`: the result of verifying one program, and how long it took.
//!
//! The verifier itself uses no clock; time is measured here. If the verifier panics, only this
//! program gets [`Verdict::Bug`].

use crate::catalogue::{code_of, load_code, section};
use crate::diagnosis::externs;
use crate::error::Error;
use crate::path::WalkedPath;
use skep_object::LoadClass;
use skep_program::{Missing, Program};
use skep_uapi::{KernelProfile, errno};
use skep_verifier::{
    CallFault, ChainFrame, Config, FastPaths, MemBytes, Operand, OperandValue, Outcome, Privileges,
    RejectKind, Rejection, Tuning, VerdictOf, VerifiedProgram,
};
use std::time::Duration;

/// Log bytes kept by default.
const LOG_BYTES_MAX: usize = 16 << 20;

/// Options for verifying a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// `log_level` of `BPF_PROG_LOAD`: 1, 2, 4, combined; 0 is no log.
    pub log_level: u32,
    /// Maximum log bytes to keep; by default 16 MiB.
    pub log_bytes_max: Option<usize>,
    /// Maximum memory of a verification, in bytes.
    pub mem_bytes_max: Option<u64>,
    /// Bytes of the path to a rejection to keep ([`Verification::path`]), from its end.
    pub path_bytes_max: Option<usize>,
    /// Verify as for a process without capabilities, which may load only socket filters and
    /// cgroup_skb programs.
    pub unprivileged: bool,
    /// Implementation choices that affect cost but not results.
    pub tuning: Tuning,
}

impl VerifyOptions {
    pub(crate) fn config(&self) -> Config {
        let privileges = match self.unprivileged {
            true => Privileges::UNPRIVILEGED,
            false => Privileges::PRIVILEGED,
        };
        Config {
            privileges,
            log_level: self.log_level,
            nr_cpu_ids: crate::host::possible_cpus(),
            tuning: self.tuning,
            mem_bytes_max: self.mem_bytes_max,
            log_bytes_max: self.log_bytes_max.unwrap_or(LOG_BYTES_MAX),
            ..Config::privileged(KernelProfile::v6_18())
        }
    }
}

/// The verdict on a program. An accepted one can be passed to `Runtime::load`.
pub type Verdict = VerdictOf<Refusal>;

/// A program that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAccepted {
    /// Its name.
    pub program: String,
    /// Why.
    pub reason: Reason,
}

/// Why a program was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The kernel would reject it.
    Rejected(Box<Refusal>),
    /// No verdict: it needs something that is not modelled yet.
    Unsupported(String),
    /// No verdict: it needs more memory than [`VerifyOptions::mem_bytes_max`].
    OutOfMemory,
    /// No verdict: skep itself failed.
    Bug(String),
}

impl std::fmt::Display for NotAccepted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = &self.program;
        match &self.reason {
            Reason::Rejected(why) => {
                let message = why.message.replace('\n', "; ");
                match why.insn_idx {
                    Some(insn) => write!(f, "program '{name}': rejected at insn {insn}: {message}"),
                    None => write!(f, "program '{name}': rejected: {message}"),
                }
            }
            Reason::OutOfMemory => {
                write!(f, "program '{name}': verification exceeds the memory limit")
            }
            Reason::Unsupported(what) => {
                write!(f, "program '{name}': not supported yet: {what}")
            }
            Reason::Bug(what) => write!(f, "program '{name}': internal error: {what}"),
        }
    }
}

impl std::error::Error for NotAccepted {}

impl From<NotAccepted> for Error {
    fn from(cause: NotAccepted) -> Error {
        Error::caused(cause)
    }
}

/// Why a program is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Offending insn; `None` if the program is rejected as a whole.
    pub insn_idx: Option<usize>,
    /// The loading step that rejects it; `None` if the verifier does.
    pub load: Option<LoadClass>,
    /// Stable name of the kind of fault, such as `leaked-reference` or `load_error_map`.
    pub kind: String,
    /// The kinds of fault that this one led to, innermost first: the message has a line for each.
    pub led_to: Vec<String>,
    /// Registers named in the message, in order.
    pub registers: Vec<u8>,
    /// What the message is about, by name: `off`, `size`, `ty`. First those of the error, then
    /// those of what led to it; none if the loader rejects it.
    pub operands: Vec<Operand>,
    /// Errno of the load, positive.
    pub errno: i32,
    /// The verifier's message, or what cannot be loaded.
    pub message: String,
}

impl Refusal {
    /// Why a program of an object cannot be loaded; `None` if the file is malformed, or too little
    /// is known about the kernel.
    pub fn of_load(error: &skep_object::Error) -> Option<Refusal> {
        Some(Refusal::at_load(error.class()?, error.to_string()))
    }

    /// The first operand of this name, if it is a number.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.operands.iter().filter(|operand| operand.name == name).find_map(|it| match it.value {
            OperandValue::Number(number) => Some(number),
            OperandValue::Text(_) => None,
        })
    }

    /// The first operand of this name, if it is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.operands.iter().filter(|operand| operand.name == name).find_map(|it| match &it.value {
            OperandValue::Text(text) => Some(&**text),
            OperandValue::Number(_) => None,
        })
    }

    /// The type of the register that the error is about, in the kernel's words.
    pub(crate) fn reg_type(&self) -> Option<&str> {
        self.text("got").or_else(|| self.text("ty"))
    }

    /// An operand that is not negative.
    pub(crate) fn unsigned(&self, name: &str) -> Option<u64> {
        self.number(name).and_then(|number| number.try_into().ok())
    }

    /// The message; if the kernel writes none, why it rejects the program, or the title of the
    /// code.
    #[doc(hidden)]
    pub fn said(&self, because: Option<&str>) -> String {
        let title = section(&self.kind).map(|section| section.title);
        let says = |text: &&str| !text.trim().is_empty();
        let text = [Some(self.message.as_str()), because, title].into_iter().flatten().find(says);
        text.unwrap_or(&self.kind).trim_end().to_owned()
    }

    /// Since which release the kfunc is there that a load error says is not, in words.
    #[doc(hidden)]
    pub fn since(&self) -> Option<String> {
        let of_extern = self.load == Some(LoadClass::Extern);
        of_extern.then(|| externs::since_of(&self.message))?
    }

    fn at_load(class: LoadClass, what: String) -> Refusal {
        Refusal {
            insn_idx: None,
            load: Some(class),
            kind: load_code(class),
            led_to: Vec::new(),
            registers: Vec::new(),
            operands: Vec::new(),
            errno: errno::EINVAL,
            message: format!("load error: {what}"),
        }
    }

    /// The verifier's rejection; or, if that is at an unresolved reference, the loader's.
    fn of_program(program: &Program, rejection: Rejection) -> Refusal {
        let insn_idx = rejection.insn_idx.map(|idx| idx as usize);
        let unresolved = insn_idx.and_then(|idx| program.unresolved_at(idx));
        // The loader replaced it by a call of a helper that does not exist.
        let no_such_helper =
            matches!(rejection.kind, RejectKind::Call(CallFault::NoSuchHelper { .. }));
        if let Some(unresolved) = unresolved
            && no_such_helper
        {
            let class = match unresolved.missing {
                Missing::Core => LoadClass::Core,
                Missing::Kfunc => LoadClass::Extern,
                Missing::Map => LoadClass::Map,
            };
            return Refusal { insn_idx, ..Refusal::at_load(class, unresolved.what.clone()) };
        }
        Refusal {
            kind: code_of(&rejection).to_owned(),
            led_to: rejection.led_to.iter().map(|kind| kind.code().to_owned()).collect(),
            registers: rejection.regnos().iter().map(|regno| regno.0).collect(),
            operands: rejection.operands(),
            load: None,
            insn_idx,
            errno: rejection.errno,
            message: rejection.message,
        }
    }
}

/// Counters, with the names used in the kernel's log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in the kernel's log")]
pub struct Counts {
    pub insns_processed: u64,
    pub total_states: u64,
    pub peak_states: u64,
    pub max_states_per_insn: u64,
    pub mark_read: u64,
    pub stack_depth_bytes: u64,
    pub mem_peak_bytes: u64,
    /// The components of `mem_peak_bytes`.
    pub mem_peak: MemBytes,
    /// Bytes in use when verification ended.
    pub mem_final: MemBytes,
    /// How often the fast paths of [`Tuning`] were taken.
    pub fast_paths: FastPaths,
}

/// The result of verifying one program.
#[derive(Debug, Clone)]
pub struct Verification {
    /// Name of the program.
    pub program: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Counters; zero if verification did not start.
    pub counts: Counts,
    /// The verifier's log at the requested level.
    pub log: String,
    /// The path to the rejection, if requested.
    pub path: Option<WalkedPath>,
    /// The insn that acquired the unreleased reference, if that is why it is rejected.
    pub acquired_by: Option<usize>,
    /// The functions whose stack or number is too large, if that is why it is rejected.
    pub call_chain: Vec<ChainFrame>,
    /// The mismatch, if the message of the rejection only says that there is one.
    pub because: Option<String>,
    /// Wall time of the verification alone.
    pub duration: Duration,
    /// The verdicts under the rules of all neighbours, until the kernel is known.
    pub(crate) under: Option<Box<Under>>,
}

impl Verification {
    pub(crate) fn new(program: &Program, outcome: Outcome, duration: Duration) -> Self {
        let (mut acquired_by, mut call_chain, mut because) = (None, Vec::new(), None);
        let verdict = outcome.verdict.map_rejected(|rejection| {
            acquired_by = rejection.unreleased().first().map(|it| it.insn_idx as usize);
            call_chain = rejection.call_chain().to_vec();
            because = rejection.because.as_ref().map(|because| because.message.clone());
            Refusal::of_program(program, rejection)
        });
        let stats = outcome.stats;
        let counts = Counts {
            insns_processed: stats.insns_processed.into(),
            total_states: stats.total_states.into(),
            peak_states: stats.peak_states.into(),
            max_states_per_insn: stats.max_states_per_insn.into(),
            mark_read: stats.mark_read.into(),
            stack_depth_bytes: stats.stack_depth_bytes.into(),
            mem_peak_bytes: stats.mem_peak.total(),
            mem_peak: stats.mem_peak,
            mem_final: stats.mem_final,
            fast_paths: stats.fast_paths,
        };
        let program = program.name.clone();
        let (log, path) = (outcome.log, None);
        Verification {
            program,
            verdict,
            counts,
            log,
            path,
            acquired_by,
            call_chain,
            because,
            duration,
            under: None,
        }
    }

    /// An internal error: `panic` is its message.
    pub(crate) fn broken(program: &Program, panic: String, duration: Duration) -> Self {
        Verification {
            program: program.name.clone(),
            verdict: Verdict::Bug(panic),
            counts: Counts::default(),
            log: String::new(),
            path: None,
            acquired_by: None,
            call_chain: Vec::new(),
            because: None,
            duration,
            under: None,
        }
    }

    /// Whether the kernel would load it.
    pub fn is_accepted(&self) -> bool {
        self.verified().is_some()
    }

    /// Whether it is rejected because it has too many insns: then [`Session::diagnose`] verifies it
    /// once more.
    ///
    /// [`Session::diagnose`]: crate::Session::diagnose
    pub fn is_over_insn_limit(&self) -> bool {
        matches!(&self.verdict, Verdict::Rejected(why) if why.kind == "too-many-insns")
    }

    /// The verified program, if it is accepted.
    pub fn verified(&self) -> Option<&VerifiedProgram> {
        match &self.verdict {
            Verdict::Accepted(verified) => Some(verified),
            _ => None,
        }
    }

    /// What can run.
    ///
    /// # Errors
    ///
    /// The program is rejected or got no verdict; the error says why in one line.
    pub fn into_verified(self) -> Result<VerifiedProgram, NotAccepted> {
        let reason = match self.verdict {
            Verdict::Accepted(verified) => return Ok(*verified),
            Verdict::Rejected(refusal) => Reason::Rejected(Box::new(refusal)),
            Verdict::Unsupported(what) => Reason::Unsupported(what),
            Verdict::OutOfMemory => Reason::OutOfMemory,
            Verdict::Bug(what) => Reason::Bug(what),
        };
        Err(NotAccepted { program: self.program, reason })
    }
}

/// The verdicts of a program under the rules of all neighbours of its kernel.
#[derive(Clone, Debug)]
pub(crate) struct Under {
    /// The earliest one first.
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) names: Vec<&'static str>,
    /// What the rule that decides says.
    pub(crate) rule: Option<&'static str>,
}

/// Which of several verdicts stands.
pub(crate) enum Settled {
    As(usize),
    NotKnown(String),
}

impl Under {
    /// Two that differ, the first of which accepts; rather of tested kernels, which are last.
    pub(crate) fn differing(verdicts: &[Verdict]) -> Option<[usize; 2]> {
        let that = |wanted| verdicts.iter().rposition(|it| it.is_accepted() == Some(wanted));
        Some([that(true)?, that(false)?])
    }

    /// Settles the verdicts, in the order of the names. If all reject, the reason is the last
    /// one's.
    pub(crate) fn settle(&self, verdicts: &[Verdict]) -> Settled {
        if let Some(without) = verdicts.iter().rposition(|it| it.is_accepted().is_none()) {
            return Settled::As(without);
        }
        let Some([accepts, refuses]) = Under::differing(verdicts) else {
            return Settled::As(verdicts.len().saturating_sub(1));
        };
        let [accepts, refuses] = [accepts, refuses].map(|at| self.names[at]);
        let quoted = |text: &str| format!(": \"{}\"", text.trim_end_matches('.'));
        let rule = self.rule.map(quoted).unwrap_or_default();
        Settled::NotKnown(format!("not known: refused by {refuses}, accepted by {accepts}{rule}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For some programs `bpf(2)` only returns `EINVAL`, with an empty log.
    #[test]
    fn no_reason_is_empty() {
        let told = |kind: &str, message: &str, because| {
            let refusal = Refusal {
                insn_idx: None,
                load: None,
                kind: kind.to_owned(),
                led_to: Vec::new(),
                registers: Vec::new(),
                operands: Vec::new(),
                errno: errno::EINVAL,
                message: message.to_owned(),
            };
            refusal.said(because)
        };
        assert_eq!(told("leaked-reference", "said\n", Some("why")), "said");
        assert_eq!(told("leaked-reference", "\n", Some("why")), "why");
        assert_eq!(told("no-such-code", "", None), "no-such-code");
        for section in crate::catalogue::sections() {
            assert!(!section.title.trim().is_empty(), "{:?}", section.codes);
            for code in &section.codes {
                assert!(!told(code, "", Some(" ")).is_empty(), "{code}");
            }
        }
    }
}
