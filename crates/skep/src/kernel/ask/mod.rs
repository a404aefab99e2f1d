//! Probes the features of a kernel: one small program per probe, loaded and closed through the
//! caller's closure. Nothing is attached.
//!
//! # Invariants
//! 1. A rejection for unrelated reasons (privilege, lockdown, memory) is not a result: the feature
//!    stays as it was known before.
//! 2. Rules are probed by their witnesses where these are available; the others are those of the
//!    release. An answer that fits no known value is kept as such (`known`).
//! 3. What the loader may not ask is not known; what it may is asked all the same (`Privilege`).

mod answers;
mod judged;
mod known;
mod questions;
mod shapes;
mod witnesses;

pub use answers::Answers;
use judged::says_nothing;
pub use judged::{Judge, Judged};
pub use questions::{Calls, Question, calls, calls_by_attach, insns_named, questions};
pub(super) use shapes::{MAPS, PROGS};
pub use witnesses::packed as witnesses_packed;

use super::Kernel;
use crate::Host;
use skep_uapi::{BEHAVIOURS, Behaviour};
use std::fmt;

/// Why a kernel answers nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskError {
    /// The user may load no programs.
    NotPermitted,
    /// It rejects even programs that no rule concerns.
    Rejects {
        /// Its message.
        message: String,
    },
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::NotPermitted => f.write_str(
                "not permitted (root, or CAP_BPF with CAP_PERFMON and CAP_NET_ADMIN; before 5.11 \
                 ulimit -l)",
            ),
            AskError::Rejects { message } => {
                write!(f, "programs with functions are rejected: {message}")
            }
        }
    }
}

impl std::error::Error for AskError {}

/// What the loader may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Privilege {
    /// Everything, as far as the types of programs go that it may load.
    All,
    /// What exists. Without CAP_PERFMON the verifier has stricter rules, and fewer helpers.
    Items,
}

impl Privilege {
    fn find(judge: &mut Judge<'_>) -> Result<Privilege, AskError> {
        if questions::tracing().iter().any(|program| judge(program).accepted) {
            return Ok(Privilege::All);
        }
        let told = judge(&questions::with_function());
        match (told.accepted, told.judged) {
            (true, _) => Ok(Privilege::Items),
            // Refused to those without privileges, by the verifier.
            (false, true) => Err(AskError::NotPermitted),
            (false, false) if says_nothing(&told) => Err(AskError::NotPermitted),
            (false, false) => Err(AskError::Rejects { message: told.message.trim().to_owned() }),
        }
    }
}

impl Host {
    /// The running kernel, with the rules in which builds of its release differ as it answers them;
    /// `judge` loads into it. Rules for which it gives no answer stay.
    pub fn of_this_build(mut self, release: &str, judge: &mut Judge<'_>) -> Host {
        let mut answers = Answers::default();
        let differ = BEHAVIOURS.iter().filter(|row| row.differs_between_builds(release));
        witnesses::ask(&self, &differ.collect::<Vec<_>>(), &mut answers, judge);
        answers.correct(&mut self.behaviours);
        self
    }
}

/// Rules whose witness calls a function of a module: it is not resolved without the module's BTF.
const OF_MODULES: [&str; 1] = ["kfuncs_of_modules"];

impl Kernel {
    /// The kernel, with the results of probing it; `judge` loads into that kernel. What it does not
    /// permit is left out.
    ///
    /// # Errors
    ///
    /// Why it answers nothing.
    pub fn asked(self, judge: &mut Judge<'_>) -> Result<Kernel, AskError> {
        let privilege = Privilege::find(judge)?;
        let btf = self.btf.as_ref();
        let mut answers = Answers::default();
        for question in questions(btf).iter().filter(|it| it.can_be_asked()) {
            let mut told = judge(&question.program);
            if let Some(program) = question.with_less_privilege().filter(|_| says_nothing(&told)) {
                told = judge(&program);
            }
            if let Some(is_there) = question.answer(&told) {
                answers.say(question, is_there);
            }
        }
        if privilege == Privilege::All {
            for asked in calls(btf) {
                answers.calls(asked, judge);
            }
            let shown = BEHAVIOURS
                .iter()
                .filter(|row| row.is_shown_on(&self.rules) && !OF_MODULES.contains(&row.name));
            witnesses::ask(&self.host(), &shown.collect::<Vec<_>>(), &mut answers, judge);
        }
        Ok(Kernel { answers: Some(answers.into()), ..self })
    }

    /// The results of probing, if it was probed.
    pub fn answers(&self) -> Option<&Answers> {
        self.answers.as_deref()
    }

    /// Whether a verifier rule applies: as probed, or as known for the release. `None` if neither
    /// is known, or the kernel's answer fits no known value; see [`Kernel::rules_known`].
    pub fn holds(&self, rule: &Behaviour) -> Option<bool> {
        if self.answers().is_some_and(|answers| answers.is_unfit(rule.name)) {
            return None;
        }
        let answered = self.answers().and_then(|answers| answers.holds(rule.name));
        let known = || rule.known_on(&self.rules).or_else(|| self.holds_by_helper(rule));
        answered.or_else(|| self.holds_by_build(rule)).or_else(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KernelBtf;
    use crate::kernel::Item;
    use skep_program::AttachTarget;
    use skep_uapi::Shows;
    use skep_uapi::{Behaviours, MapType, ProgType};

    fn asked(judge: &mut Judge<'_>) -> Result<Kernel, AskError> {
        Kernel::open("6.12").expect("a kernel").asked(judge)
    }

    fn accepted() -> Judged {
        Judged { judged: true, accepted: true, with_btf: true, ..Judged::default() }
    }

    #[test]
    fn a_build_is_asked_only_what_differs_between_builds() {
        const RELEASE: &str = "6.18.44-any";
        // The witnesses need a kernel's BTF: with that of 6.18, all of them are asked.
        let host = Host::read(&KernelBtf::Running).expect("this machine");
        let (is_6_18, rules) = (host.kernel_version >> 8 == 0x612, Behaviours::of_release(RELEASE));
        let host = Host { behaviours: rules, ..host };
        let mut asked = Vec::new();
        let older = host.clone().of_this_build(RELEASE, &mut |program| {
            asked.push(program.name.clone());
            accepted()
        });
        let differ = BEHAVIOURS.iter().filter(|row| row.differs_between_builds(RELEASE));
        let mut count = 0;
        for row in differ {
            count += 1;
            let holds = match asked.iter().any(|name| *name == row.witness.program) {
                true => row.shows == Shows::Accepted,
                false => row.holds_on(RELEASE),
            };
            assert_eq!(older.behaviours.get(row.name), Some(holds), "{}", row.name);
        }
        assert_eq!(count, 4);
        assert!(asked.len() == count || !is_6_18 || host.kernel_btf.is_none(), "{asked:?}");
        // What is not answered is the rule that refuses more.
        let silent = host.of_this_build(RELEASE, &mut |_| Judged::default()).behaviours;
        assert_eq!(silent, rules);
        assert!(silent.syscall_helpers_sleep && !silent.flexible_arrays_run_on);
    }

    #[test]
    fn a_kernel_that_permits_nothing_says_nothing() {
        let message = "EPERM without log".to_owned();
        let why = asked(&mut |_| Judged { message: message.clone(), ..Judged::default() });
        assert_eq!(why.err(), Some(AskError::NotPermitted));
    }

    fn refused(message: &str) -> Judged {
        Judged { message: message.to_owned(), ..Judged::default() }
    }

    /// Root without CAP_NET_ADMIN and CAP_SYS_ADMIN.
    #[test]
    fn what_may_be_asked_is_asked() {
        let kernel = asked(&mut |program| match program.prog_type {
            ProgType::SchedCls | ProgType::Xdp => refused("EPERM without log"),
            _ => accepted(),
        });
        let answers = kernel.expect("it answers").answers().expect("asked").clone();
        assert_eq!(answers.has(Item::Prog(ProgType::SchedCls)), None);
        assert_eq!(answers.has(Item::Prog(ProgType::CgroupSkb)), Some(true));
        assert_eq!(answers.has(Item::Map(MapType::Hash)), Some(true), "with another program");
        let [_, callers, rules] = answers.counts();
        assert!(callers > 20 && rules > 0, "{callers} {rules}");
    }

    #[test]
    fn without_the_privileges_of_tracing_only_what_exists_is_asked() {
        let kernel = asked(&mut |program| {
            let tracing = questions::tracing().map(|it| it.prog_type);
            match tracing.contains(&program.prog_type) {
                true => refused("EPERM without log"),
                false => accepted(),
            }
        });
        let answers = kernel.expect("it answers").answers().expect("asked").clone();
        let [things, callers, rules] = answers.counts();
        assert!(things > 200 && (callers, rules) == (0, 0), "{things} {callers} {rules}");
    }

    #[test]
    fn what_attaches_to_unknown_types_is_not_asked() {
        let kernel = asked(&mut |program| match program.attach {
            AttachTarget::Unresolved(_) => refused("no such function"),
            _ => accepted(),
        });
        let kernel = kernel.expect("it answers");
        let answers = kernel.answers().expect("asked");
        assert!(kernel.btf().is_none());
        for of in [ProgType::Tracing, ProgType::Lsm] {
            assert_eq!(answers.has(Item::Prog(of)), None, "{of}");
        }
        assert_eq!(answers.has(Item::Prog(ProgType::Kprobe)), Some(true));
    }

    #[test]
    fn an_answer_that_fits_nothing_is_not_a_rule() {
        const RULE: &str = "array_lookups_not_null";
        let row = BEHAVIOURS.iter().find(|row| row.name == RULE).expect("a rule");
        let kernel = asked(&mut |program| match program.name == row.witness.program {
            true => Judged { judged: true, ..refused("R1 has a disease") },
            false => accepted(),
        });
        let kernel = kernel.expect("it answers");
        let answers = kernel.answers().expect("asked");
        assert_eq!((answers.holds(RULE), answers.is_unfit(RULE)), (None, true));
        assert_eq!((row.known_on(kernel.release()), kernel.holds(row)), (Some(false), None));
    }

    #[test]
    fn what_is_answered_is_known_and_what_is_not_permitted_is_as_before() {
        let kernel = asked(&mut |program| match program.prog_type {
            ProgType::Xdp => refused("EPERM"),
            ProgType::LircMode2 => refused("EINVAL"),
            _ => accepted(),
        });
        let kernel = kernel.expect("it answers");
        let answers = kernel.answers().expect("asked");
        assert_eq!(answers.has(Item::Prog(ProgType::LircMode2)), Some(false));
        assert_eq!(answers.has(Item::Prog(ProgType::Xdp)), None);
        assert_eq!(kernel.has(Item::Prog(ProgType::Xdp)), Some(true), "by the release");
        let [things, callers, rules] = answers.counts();
        assert!(things > 250 && callers > 40 && rules > 0, "{things} {callers} {rules}");
        let shown = BEHAVIOURS.iter().find(|row| answers.holds(row.name).is_some());
        assert!(shown.is_some_and(|row| kernel.holds(row).is_some()));
    }
}
