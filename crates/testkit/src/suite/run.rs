//! Runs a case on an engine; [`super::check`] compares the result.

use super::case::Case;
use super::check::Evidence;
use super::options::Loader;
use crate::engine::{self, OurVerdict};
use skep::program::Program;
use skep::uapi::errno::MAX_ERRNO;
use skep_kernel::bpf::{self, errno_name};
use skep_kernel::judge::{Answer, NotJudged, judge};
use skep_verifier::Privileges;

/// The host kernel's result; an error if it does not judge the case.
pub fn on_kernel(case: &Case, program: &Program) -> Result<Evidence, String> {
    let level = case.options.log_level | 4;
    let answer = match case.options.privileges {
        Loader::Root => judge(program, level),
        Loader::Bpf => bpf::with_cap_bpf_only(|| judge(program, level))
            .map_err(|errno| format!("cannot drop capabilities: {errno}"))?,
        // Tests do not change `kernel.unprivileged_bpf_disabled`.
        Loader::Nobody => {
            return Err("not judged: loads without CAP_BPF are switched off".to_owned());
        }
    };
    match answer {
        Answer::Judged(it) => Ok(Evidence { accepted: it.accepted, errno: it.errno, log: it.log }),
        // Attributes that the kernel refuses.
        Answer::NotJudged(NotJudged { reason, .. }) if case.options.errno.is_some() => {
            match reason.split_once(" without log").and_then(|it| errno_of(it.0, case)) {
                Some(errno) => Ok(Evidence { accepted: false, errno, log: String::new() }),
                None => Err(format!("not judged: {reason}")),
            }
        }
        Answer::NotJudged(why) => Err(format!("not judged: {why}")),
    }
}

/// EPERM says something about a program only if the loader lacks a capability: root gets it where
/// this kernel makes no trampolines.
fn errno_of(name: &str, case: &Case) -> Option<i32> {
    let first = if case.options.privileges == Loader::Root { libc::EPERM + 1 } else { libc::EPERM };
    (first..MAX_ERRNO).find(|&errno| errno_name(errno) == name)
}

/// The privileges of the process that loads a case.
pub fn privileges(case: &Case) -> Privileges {
    match case.options.privileges {
        Loader::Root => Privileges::PRIVILEGED,
        Loader::Bpf => Privileges { bpf: true, perfmon: false },
        Loader::Nobody => Privileges::UNPRIVILEGED,
    }
}

/// Our verifier's result; an error if it has no verdict.
pub fn on_ours(case: &Case, program: &Program) -> Result<Evidence, String> {
    let ours = engine::verify_with(program, case.options.log_level | 4, privileges(case));
    match ours.verdict {
        OurVerdict::Accepted => Ok(Evidence { accepted: true, errno: 0, log: ours.log }),
        OurVerdict::Rejected(_) => {
            Ok(Evidence { accepted: false, errno: ours.errno, log: ours.log })
        }
        OurVerdict::Unsupported(what) => Err(format!("not supported yet: {what}")),
        OurVerdict::Bug(what) => Err(format!("bug: {what}")),
    }
}

/// Whether a case needs the kernel's BTF, to build its programs or to verify them.
pub fn names_types_of_kernel(case: &Case) -> bool {
    let of_types = |error: String| {
        error.starts_with("no kernel BTF") || error.contains("without the kernel's BTF")
    };
    let made = match super::programs(case, None) {
        Err(error) => Some(error),
        Ok(programs) => programs.iter().find_map(|program| on_ours(case, program).err()),
    };
    made.is_some_and(of_types)
}
