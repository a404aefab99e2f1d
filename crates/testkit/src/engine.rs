//! Our verifier for comparisons: it always returns a result, even after a panic.

use crate::host;
use skep::kernel::{Needs, Refused};
use skep::program::Program;
use skep::uapi::KernelProfile;
use skep::{Host, Kernel};
use skep_kernel::kernel_log::KernelStats;
use skep_verifier::{Config, Privileges, VerifiedProgram};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// The result of our verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OurVerdict {
    /// The program is safe.
    Accepted,
    /// It is rejected, for this reason.
    Rejected(String),
    /// It needs a rule that is not modelled.
    Unsupported(String),
    /// A fault of skep: a panic, or a broken invariant.
    Bug(String),
}

impl OurVerdict {
    /// The result as one word.
    pub fn name(&self) -> &'static str {
        match self {
            OurVerdict::Accepted => "accepted",
            OurVerdict::Rejected(_) => "rejected",
            OurVerdict::Unsupported(_) => "unsupported",
            OurVerdict::Bug(_) => "bug",
        }
    }

    /// The text after the word, empty for an accepted program.
    pub fn reason(&self) -> &str {
        match self {
            OurVerdict::Accepted => "",
            OurVerdict::Rejected(why) | OurVerdict::Unsupported(why) | OurVerdict::Bug(why) => why,
        }
    }
}

/// The result with its details.
#[derive(Debug, Clone)]
pub struct Ours {
    /// The verdict.
    pub verdict: OurVerdict,
    /// The code of a rejection.
    pub code: Option<&'static str>,
    /// errno of a rejection, otherwise 0.
    pub errno: i32,
    /// The largest number of branches pending at once (an upper bound).
    pub waiting_max: u32,
    /// Counts, with the names of the kernel's log; the time is not measured.
    pub stats: KernelStats,
    /// The log at the level asked for.
    pub log: String,
}

impl Ours {
    /// Why the program must not be loaded into the host kernel, which may crash
    /// (`docs/kernel-findings.md`).
    pub fn must_not_load(&self) -> Option<&'static str> {
        match &self.verdict {
            OurVerdict::Rejected(why) if why.contains("jumps is too complex") => {
                Some("too complex")
            }
            OurVerdict::Unsupported(why) if why.contains("before the exception callback") => {
                Some("functions removed before the exception callback")
            }
            OurVerdict::Unsupported(why) if why.contains("that the kernel has freed") => {
                Some("a freed state is read")
            }
            OurVerdict::Unsupported(why) if why.contains("writes outside its tables") => {
                Some("a table is written outside of its bounds")
            }
            _ => None,
        }
    }
}

/// Verifies a program as root would load it; a panic becomes [`OurVerdict::Bug`].
pub fn verify(program: &Program, log_level: u32) -> Ours {
    verify_with(program, log_level, Privileges::PRIVILEGED)
}

/// As [`verify`], for a loader with these privileges.
pub fn verify_with(program: &Program, log_level: u32, privileges: Privileges) -> Ours {
    verify_on(judged_by(), program, log_level, privileges)
}

/// As [`verify_with`] without a log, for a walk of at most `insns_max` insns: longer ones are
/// rejected.
pub fn verify_within(program: &Program, privileges: Privileges, insns_max: u64) -> Ours {
    let insns_max = u32::try_from(insns_max).unwrap_or(u32::MAX);
    let profile = KernelProfile { insns_max, ..KernelProfile::v6_18() };
    let config =
        judged_by().configure(Config { log_level: 4, privileges, ..Config::privileged(profile) });
    contained(|| Ours::from(skep_verifier::verify(program, &config)))
}

/// As [`verify_with`], for a kernel other than the running one.
pub fn verify_on(kernel: &Host, program: &Program, log_level: u32, privileges: Privileges) -> Ours {
    let config = kernel.configure(Config {
        log_level,
        privileges,
        log_bytes_max: LOG_BYTES_MAX,
        ..Config::privileged(KernelProfile::v6_18())
    });
    contained(|| Ours::from(skep_verifier::verify(program, &config)))
}

/// As [`verify_on`]; anything that the kernel does not support is rejected. Of a release that
/// was not tested the rules of all its neighbours are tried: where verdicts differ, there is none.
pub fn verify_for(host: &Host, kernel: &Kernel, program: &Program, log_level: u32) -> Ours {
    verify_for_within(host, kernel, program, log_level, None)
}

/// As [`verify_for`], for a walk of at most this many insns: longer ones are rejected.
pub fn verify_for_within(
    host: &Host,
    kernel: &Kernel,
    program: &Program,
    log_level: u32,
    insns_max: Option<u32>,
) -> Ours {
    let profile = KernelProfile::v6_18();
    let profile = KernelProfile { insns_max: insns_max.unwrap_or(profile.insns_max), ..profile };
    let mut config = host.configure(Config {
        log_level,
        log_bytes_max: LOG_BYTES_MAX,
        ..Config::privileged(profile)
    });
    let last = on_kernel(&config, kernel, program);
    let Some((its, earlier)) = host.neighbours.split_last() else { return last };
    for neighbour in earlier {
        config.profile.behaviours = neighbour.rules;
        let found = on_kernel(&config, kernel, program);
        let [one, other] = [&found, &last].map(|it| it.verdict.name());
        if one != other {
            let why = format!("{one} by {}, {other} by {}", neighbour.name, its.name);
            return Ours { verdict: OurVerdict::Unsupported(why), ..last };
        }
    }
    last
}

fn on_kernel(config: &Config, kernel: &Kernel, program: &Program) -> Ours {
    contained(|| {
        let outcome = skep_verifier::verify(program, config);
        let lack = match &outcome.verdict {
            skep_verifier::Verdict::Accepted(verified) => kernel.lacks(&Needs::alone(verified)),
            skep_verifier::Verdict::Rejected(why) => {
                let insn_idx = why.insn_idx.map(|at| at as usize);
                let refused = Refused { insn_idx, kind: why.kind.code() };
                kernel.lacks_refused(program, &refused)
            }
            _ => None,
        };
        let is_accepted = matches!(outcome.verdict, skep_verifier::Verdict::Accepted(_));
        let ours = Ours::from(outcome);
        match lack {
            Some(lack) => {
                // A rejected program already has the kernel's message.
                let said = lack.said.as_ref().filter(|_| is_accepted);
                let log = said.map_or_else(|| ours.log.clone(), |said| format!("{said}\n"));
                Ours { verdict: OurVerdict::Rejected(lack.to_string()), log, ..ours }
            }
            None => ours,
        }
    })
}

/// Converts a panic to [`OurVerdict::Bug`].
fn contained(verify: impl FnOnce() -> Ours) -> Ours {
    match catch_unwind(AssertUnwindSafe(verify)) {
        Ok(ours) => ours,
        Err(panic) => Ours {
            verdict: OurVerdict::Bug(format!("panic: {}", panic_text(&*panic))),
            code: None,
            errno: 0,
            waiting_max: 0,
            stats: KernelStats::default(),
            log: String::new(),
        },
    }
}

/// The verified program; an error if it does not verify.
pub fn verified(program: &Program) -> Result<VerifiedProgram, String> {
    use skep_verifier::Verdict as V;
    let host = judged_by();
    let config = host.configure(Config::privileged(KernelProfile::v6_18()));
    match skep_verifier::verify(program, &config).verdict {
        V::Accepted(verified) => Ok(*verified),
        V::Rejected(rejection) => Err(format!("{}: refused: {}", program.name, rejection.message)),
        V::Unsupported(what) => Err(format!("{}: not supported yet: {what}", program.name)),
        V::OutOfMemory => Err(format!("{}: over its memory limit", program.name)),
        V::Bug(what) => Err(format!("{}: bug: {what}", program.name)),
    }
}

/// The host, whose kernel is compared with; without BTF, which the programs bring.
fn judged_by() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| Host {
        kernel_btf: None,
        ..host::here().unwrap_or_else(|_| skep::host_facts())
    })
}

/// Maximum length of a compared log: the kernel's maximum.
const LOG_BYTES_MAX: usize = 1 << 30;

thread_local! {
    /// Location of this thread's last panic, if [`record_panics`] was called.
    static PANICKED_AT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From now on, panics are not printed; their location becomes part of [`OurVerdict::Bug`].
pub fn record_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
        PANICKED_AT.with_borrow_mut(|at| *at = place.unwrap_or_default());
    }));
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let string = panic.downcast_ref::<String>().cloned();
    let text = string.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    text.unwrap_or_default() + &PANICKED_AT.take()
}

impl From<skep_verifier::Outcome> for Ours {
    fn from(outcome: skep_verifier::Outcome) -> Ours {
        use skep_verifier::Verdict as V;
        let stats = KernelStats {
            insns_processed: outcome.stats.insns_processed.into(),
            max_states_per_insn: outcome.stats.max_states_per_insn.into(),
            total_states: outcome.stats.total_states.into(),
            peak_states: outcome.stats.peak_states.into(),
            mark_read: outcome.stats.mark_read.into(),
            ..KernelStats::parse(&outcome.log).unwrap_or_default()
        };
        let (code, errno) = match &outcome.verdict {
            V::Rejected(rejection) => (Some(skep::catalogue::code_of(rejection)), rejection.errno),
            _ => (None, 0),
        };
        let verdict = match outcome.verdict {
            V::Accepted(_) => OurVerdict::Accepted,
            V::Rejected(rejection) => OurVerdict::Rejected(rejection.message),
            V::Unsupported(what) => OurVerdict::Unsupported(what),
            V::OutOfMemory => OurVerdict::Unsupported("so much memory".to_owned()),
            V::Bug(what) => OurVerdict::Bug(what),
        };
        let waiting_max = outcome.stats.waiting_max;
        Ours { verdict, code, errno, waiting_max, stats, log: outcome.log }
    }
}
