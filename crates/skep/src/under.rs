//! The verdict for a release between tested kernels: the one on which the rules of all agree.
//!
//! Where they do not agree, it is not known, and the rule that decides is looked for.
//!
//! # Invariants
//! 1. A program is accepted, or rejected, only if it is so under the rules of all.
//! 2. The search changes the explanation, never the verdict.

use crate::session::{Session, contain_panic};
use crate::verification::{Settled, Under, Verdict, Verification, VerifyOptions};
use skep_program::Program;
use skep_uapi::{Behaviour, Behaviours, Neighbour};
use std::time::Duration;

/// What a search may cost: verifications, and insns processed by all of them.
const VERIFICATIONS_MAX: u32 = 64;
const INSNS_MAX: u64 = 2_000_000;
/// Memory for each of the verifications that only explain.
const MEM_BYTES_MAX: u64 = 256 << 20;
/// A program that takes more is not searched.
const PROGRAM_INSNS_MAX: u64 = 100_000;

/// Parts of the kernel's messages, and a word of the rules on the same subject.
const SUBJECTS: [(&str, &str); 1] = [("_or_null", "NULL")];

/// Why a program is rejected.
fn message_of(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Rejected(refusal) => &refusal.message,
        _ => "",
    }
}

impl Session {
    /// Verifies the program under the rules of the earlier neighbours too; `last` is its
    /// verification under those of the last one.
    pub(crate) fn under_all(
        &self,
        program: &Program,
        options: &VerifyOptions,
        last: Verification,
        neighbours: &[Neighbour],
    ) -> Verification {
        let options = VerifyOptions { log_level: 0, path_bytes_max: None, ..*options };
        let earlier = neighbours.split_last().map_or(&[][..], |(_, earlier)| earlier);
        let mut insns_max = last.counts.insns_processed;
        let mut verdicts = Vec::with_capacity(neighbours.len());
        for neighbour in earlier {
            let verification = self.under(program, &options, &neighbour.rules);
            insns_max = insns_max.max(verification.counts.insns_processed);
            verdicts.push(verification.verdict);
        }
        verdicts.push(last.verdict.clone());
        let names = neighbours.iter().map(|it| it.name).collect();
        let mut under = Under { verdicts, names, rule: None };
        if let Settled::NotKnown(_) = under.settle(&under.verdicts)
            && let Some(which) = Under::differing(&under.verdicts)
        {
            let [accepted, refused] = which.map(|at| &neighbours[at].rules);
            let mut search = Search::new(self, program, options);
            let message = which.map(|at| message_of(&under.verdicts[at]))[1];
            let rule = search.rule(insns_max, [refused, accepted], message);
            under.rule = rule.map(|rule| rule.text);
        }
        let verdict = match under.settle(&under.verdicts) {
            Settled::As(at) => under.verdicts[at].clone(),
            Settled::NotKnown(why) => Verdict::Unsupported(why),
        };
        Verification { verdict, under: Some(Box::new(under)), ..last }
    }

    /// The rule that decides that a program is rejected under this host's rules, after that many
    /// insns and with this verdict, while it is accepted under those of the newest tested kernel.
    /// `None` if it is not, or no single rule decides, or the search would take too long.
    #[doc(hidden)]
    pub fn deciding_rule(
        &self,
        program: &Program,
        insns: u64,
        verdict: &Verdict,
    ) -> Option<&'static Behaviour> {
        let (rules, newest) = (&self.host.behaviours, &Behaviours::newest());
        if rules == newest || insns > PROGRAM_INSNS_MAX {
            return None;
        }
        let mem_bytes_max = Some(MEM_BYTES_MAX);
        let options = VerifyOptions { mem_bytes_max, ..VerifyOptions::default() };
        let mut search = Search::new(self, program, options);
        let accepts = search.accepts(newest)?;
        accepts.then(|| search.rule(search.insns, [rules, newest], message_of(verdict)))?
    }

    /// Verifies the program under other rules.
    fn under(
        &self,
        program: &Program,
        options: &VerifyOptions,
        rules: &Behaviours,
    ) -> Verification {
        let mut config = self.config(options);
        config.profile.behaviours = *rules;
        let outcome = skep_verifier::verify(program, &config);
        Verification::new(program, outcome, Duration::ZERO)
    }
}

/// Looks for the rule that decides.
struct Search<'a> {
    session: &'a Session,
    program: &'a Program,
    options: VerifyOptions,
    verifications: u32,
    insns: u64,
}

impl<'a> Search<'a> {
    fn new(session: &'a Session, program: &'a Program, options: VerifyOptions) -> Search<'a> {
        Search { session, program, options, verifications: 0, insns: 0 }
    }

    /// Whether the program is accepted under these rules; `None` if there is no verdict, or no
    /// more verifications are allowed.
    fn accepts(&mut self, rules: &Behaviours) -> Option<bool> {
        if self.verifications == VERIFICATIONS_MAX || self.insns > INSNS_MAX {
            return None;
        }
        self.verifications += 1;
        // No kernel has these rules: what they do is no bug.
        let verify = || self.session.under(self.program, &self.options, rules);
        let verification = contain_panic(verify).ok()?;
        self.insns += verification.counts.insns_processed;
        verification.verdict.is_accepted()
    }

    /// The rule that decides between a set that rejects the program, with this message, and one
    /// that accepts it.
    fn rule(
        &mut self,
        insns: u64,
        [refused, accepted]: [&Behaviours; 2],
        message: &str,
    ) -> Option<&'static Behaviour> {
        if insns > PROGRAM_INSNS_MAX {
            return None;
        }
        let differing: Vec<&'static Behaviour> = refused.differing(accepted).collect();
        if let Some(rule) = self.between(&differing, [refused, accepted])
            && self.decides(rule, [refused, accepted])
        {
            return self.of_subject(rule, &differing, accepted, message);
        }
        let alone = |rule: &&&Behaviour| self.accepts(&flipped(refused, rule)) == Some(true);
        differing.iter().find(alone).copied()
    }

    /// Where a program needs several rules, bisection finds the last of them in the table: rather
    /// one about the subject of the message.
    fn of_subject(
        &mut self,
        found: &'static Behaviour,
        differing: &[&'static Behaviour],
        accepted: &Behaviours,
        message: &str,
    ) -> Option<&'static Behaviour> {
        let subject = SUBJECTS.iter().find(|(part, _)| message.contains(part));
        let Some((_, subject)) = subject.filter(|(_, word)| !found.text.contains(word)) else {
            return Some(found);
        };
        let is_about = |rule: &&&Behaviour| rule.text.contains(subject);
        let is_needed = |rule: &&&Behaviour| self.accepts(&flipped(accepted, rule)) == Some(false);
        let of_subject = differing.iter().filter(is_about).find(is_needed);
        Some(of_subject.copied().unwrap_or(found))
    }

    /// Changes one rule after the other from the rejecting set to the accepting one, and finds,
    /// by bisection, one with which the verdict changes.
    fn between(
        &mut self,
        differing: &[&'static Behaviour],
        [refused, _]: [&Behaviours; 2],
    ) -> Option<&'static Behaviour> {
        let (mut rejects, mut accepts) = (0, differing.len());
        while accepts - rejects > 1 {
            let middle = rejects.midpoint(accepts);
            let mut rules = *refused;
            differing[..middle].iter().for_each(|rule| flip(&mut rules, rule));
            match self.accepts(&rules)? {
                true => accepts = middle,
                false => rejects = middle,
            }
        }
        differing.get(rejects).copied()
    }

    /// Whether the rule alone turns one of the verdicts into the other.
    fn decides(&mut self, rule: &'static Behaviour, [refused, accepted]: [&Behaviours; 2]) -> bool {
        self.accepts(&flipped(refused, rule)) == Some(true)
            || self.accepts(&flipped(accepted, rule)) == Some(false)
    }
}

fn flipped(rules: &Behaviours, rule: &Behaviour) -> Behaviours {
    let mut rules = *rules;
    flip(&mut rules, rule);
    rules
}

fn flip(rules: &mut Behaviours, rule: &Behaviour) {
    let holds = rules.get(rule.name).unwrap_or_default();
    rules.set(rule.name, !holds);
}
