//! Mutants for a kernel other than the running one.
//!
//! Verdicts, counts and last messages are compared; logs are not, and nothing is minimised.

use super::batch::{BATCH, Mutant, Sources};
use super::compare::{Difference, Kind};
use super::difference::last_message;
use super::groups::Groups;
use super::replay::Case;
use super::worker::Found;
use crate::kernel_diff::shape;
use skep::program::Program;
use skep::{Host, Kernel};
use skep_kernel::kernel_log::KernelStats;
use skep_testkit::engine::{self, OurVerdict, Ours};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The other kernel's result.
pub(crate) enum Judgement {
    /// Accepted or rejected, with its log.
    Judged { accepted: bool, log: String },
    /// Not judged by its verifier, or the guest was lost.
    NotJudged(String),
}

/// Programs with longer walks are skipped: on emulated machines they take minutes.
const WALK_MAX: u32 = 20_000;

/// A run of mutants against a kernel.
pub(crate) struct OnKernel<'a> {
    sources: Sources,
    kernel: &'a Kernel,
    seed: u64,
    groups: Groups,
    seen: RefCell<BTreeSet<String>>,
}

impl<'a> OnKernel<'a> {
    pub(crate) fn new(
        host: Host,
        kernel: &'a Kernel,
        files: Vec<PathBuf>,
        seed: u64,
        generated: u64,
    ) -> OnKernel<'a> {
        let sources = Sources::of(host, files, generated);
        OnKernel { sources, kernel, seed, groups: Groups::default(), seen: RefCell::default() }
    }

    /// Number of programs.
    pub(crate) fn programs(&self) -> u64 {
        self.groups.programs()
    }

    /// Number of programs judged.
    pub(crate) fn judged(&self) -> u64 {
        self.groups.judged().1
    }

    /// Differing verdicts, by message: whether the kernel rejects what skep accepts, their number,
    /// the message.
    pub(crate) fn other_verdicts(&self) -> Vec<(bool, u64, &str)> {
        let all = self.groups.differences().filter(|it| it.0 <= Kind::FalseReject);
        all.map(|(kind, n, key)| (kind == Kind::FalseAccept, n, key)).collect()
    }

    /// Judges one batch.
    pub(crate) fn batch(&mut self, number: u64, ask: &mut dyn FnMut(&Program) -> Judgement) {
        let mut counts = BTreeMap::new();
        let mut found = Vec::new();
        let Some(batch) = self.sources.batch(self.seed, number) else { return };
        for i in 0..BATCH {
            let Ok(Ok(mutant)) = skep::contain_panic(|| batch.mutant(i)) else { continue };
            if !mutant.is_of_root() {
                continue;
            }
            let id = format!("{}/{number}/{i}", self.seed);
            let judged = self.judge(mutant, &batch.name, id, ask);
            *counts.entry(judged.0).or_default() += 1;
            found.extend(judged.1);
        }
        self.groups.add(counts, found);
    }

    /// Judges the unchanged programs.
    pub(crate) fn unchanged(&mut self, ask: &mut dyn FnMut(&Program) -> Judgement) {
        for (name, program) in self.sources.unchanged() {
            let (class, found) = self.judge(program, &name, name.clone(), ask);
            self.groups.add(BTreeMap::from([(class, 1)]), found.into_iter().collect());
        }
    }

    /// How a program was judged; and the finding, if skep differs.
    fn judge(
        &self,
        mutant: Mutant,
        base: &str,
        id: String,
        ask: &mut dyn FnMut(&Program) -> Judgement,
    ) -> (String, Option<Found>) {
        let (host, insns_max) = (&self.sources.host, Some(WALK_MAX + 1));
        let ours = engine::verify_for_within(host, self.kernel, &mutant.program, 4, insns_max);
        let difference = match compare(&ours, &mutant.program, ask) {
            Ok(true) => return ("equal, accepted".to_owned(), None),
            Ok(false) => return ("equal, refused".to_owned(), None),
            Err(Left::Out(why)) => return (format!("left out: {why}"), None),
            Err(Left::Different(difference)) => difference,
        };
        let (kind, key) = (difference.kind, difference.key.clone());
        let new = self.seen.borrow_mut().insert(format!("{kind:?} {key}"));
        let case = new.then(|| mutant.case(&format!("{base} ({id})"), *difference));
        (format!("different: {kind:?}"), Some(Found { id, kind, key, case }))
    }

    /// Judges the finding in a file again; writes both logs to files beside it.
    pub(crate) fn replay(
        &self,
        path: &Path,
        ask: &mut dyn FnMut(&Program) -> Judgement,
    ) -> Result<String, Box<dyn Error>> {
        let case: Case = serde_json::from_str(&fs::read_to_string(path)?)?;
        let program = case.program(self.sources.host.kernel_btf.clone())?;
        let ours = engine::verify_for(&self.sources.host, self.kernel, &program, 2);
        fs::write(path.with_extension("ours.log"), &ours.log)?;
        let told = match ask(&program) {
            Judgement::Judged { accepted, log } => {
                fs::write(path.with_extension("kernel.log"), log)?;
                if accepted { "accepted" } else { "rejected" }
            }
            Judgement::NotJudged(_) => "not judged",
        };
        Ok(format!("{} {}; kernel: {told}", ours.verdict.name(), ours.verdict.reason()))
    }

    /// Writes a file for each cause, and returns the table.
    pub(crate) fn write(&self, out: &Path) -> io::Result<String> {
        self.groups.write(out)
    }

    /// Whether any verdict differed.
    pub(crate) fn has_other_verdicts(&self) -> bool {
        self.groups.worst().is_some_and(|worst| worst <= Kind::FalseReject)
    }
}

enum Left {
    Out(String),
    Different(Box<Difference>),
}

/// Whether both accept, if they agree.
fn compare(
    ours: &Ours,
    program: &Program,
    ask: &mut dyn FnMut(&Program) -> Judgement,
) -> Result<bool, Left> {
    if let Some(why) = ours.must_not_load() {
        return Err(Left::Out(why.to_owned()));
    }
    if let OurVerdict::Unsupported(what) = &ours.verdict {
        return Err(Left::Out(format!("not supported yet: {}", shape(what))));
    }
    let insns = ours.stats.insns_processed.max(program.insns.len() as u64);
    if insns > u64::from(WALK_MAX) {
        return Err(Left::Out("long".to_owned()));
    }
    let (accepted, log) = match ask(program) {
        Judgement::Judged { accepted, log } => (accepted, log),
        Judgement::NotJudged(why) => return Err(Left::Out(format!("not judged: {}", shape(&why)))),
    };
    let (why, theirs) = (said(&ours.log), said(&log));
    let stats = KernelStats::parse(&log).unwrap_or_default();
    let ours_accepts = ours.verdict == OurVerdict::Accepted;
    let why = match (&ours.verdict, why.is_empty()) {
        // What the kernel does not support is not in the log.
        (OurVerdict::Rejected(reason), true) => reason.clone(),
        _ => why,
    };
    let kind = match (&ours.verdict, accepted) {
        (OurVerdict::Bug(_), _) => Kind::Bug,
        _ if ours_accepts && !accepted => Kind::FalseAccept,
        _ if !ours_accepts && accepted => Kind::FalseReject,
        _ if ours.stats.insns_processed != stats.insns_processed => Kind::Counts,
        _ if shape(&said(&ours.log)) != shape(&theirs) && !accepted => Kind::Message,
        _ => return Ok(accepted),
    };
    let key = match kind {
        Kind::FalseAccept => shape(&theirs),
        Kind::FalseReject | Kind::Bug => shape(&why),
        Kind::Counts if accepted => "accepted".to_owned(),
        _ => format!("{} | {}", shape(&why), shape(&theirs)),
    };
    let told = |accepted: bool, why: &str, insns: u64| match accepted {
        true => format!("accepted, {insns} insns"),
        false => format!("refused, {insns} insns: {why}"),
    };
    Err(Left::Different(Box::new(Difference {
        kind,
        key,
        ours: told(ours_accepts, &why, ours.stats.insns_processed),
        kernel: told(accepted, &theirs, stats.insns_processed),
        ..Difference::none()
    })))
}

/// The last message. Some do not end their line; what follows is not part of them.
fn said(log: &str) -> String {
    let message = last_message(log);
    let ends = ["stack depth ", "verification time "];
    let end = ends.into_iter().filter_map(|end| message.find(end)).min();
    message[..end.unwrap_or(message.len())].to_owned()
}

impl Mutant {
    fn case(self, base: &str, difference: Difference) -> Case {
        Case::new(base, &self.edits, &self.program, self.loader, difference)
    }
}
