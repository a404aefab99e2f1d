//! Requests for statistics, and the sites that are switched for them.
//!
//! # Invariants
//! 1. A program's entry is on if and only if there is a request for it, or for all programs, once
//!    the call that changed this has returned. If the host no longer allows synchronising threads,
//!    switching off is delayed, and switching on fails.
//! 2. Its tail calls are on before its entry is, for all threads, and stay on until every run that
//!    began before the entry was off has ended, because the tail call ends the time of such a run.
//! 3. All users hold the gate, which is held across `fork` (`prog_slots`): a child does not find
//!    this locked by a thread that does not exist in it.

use super::prog_slots::{self, gate};
use super::{Clock, Counters, StatsOptions};
use crate::Error;
use crate::prog_info::ProgInfo;
use skep_mem::epoch;
use skep_text::poke::{self, Batch, Switch};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The locked requests.
struct Locked<'a> {
    state: MutexGuard<'a, State>,
    _gate: MutexGuard<'static, ()>,
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

/// A program whose runs can be counted.
pub(crate) trait Counted: Send + Sync {
    /// Its id in the runtime.
    fn id(&self) -> u32;
    /// Where its runs are counted.
    fn counters(&self) -> &Counters;
    /// The switches of its machine code: its entry, and its tail calls.
    fn switches(&self) -> (Option<Switch>, Vec<Switch>);
    /// Everything known about it.
    fn info(&self) -> ProgInfo;
}

/// The requests, and the current state.
pub(crate) struct StatsRequests(Mutex<State>);

#[derive(Default)]
struct State {
    next_token: u64,
    wants: Vec<Want>,
    programs: Vec<Program>,
}

struct Want {
    token: u64,
    /// All programs if `None`.
    prog: Option<u32>,
    options: StatsOptions,
}

struct Program {
    id: u32,
    program: Weak<dyn Counted>,
    on: Option<StatsOptions>,
    tail_calls: TailCalls,
}

impl Program {
    /// Restores a program after a failed change. Tail call sites that have been switched on are
    /// switched off when no run can reach them any more.
    fn take_back(&mut self, program: &dyn Counted, wanted: Option<StatsOptions>) {
        program.counters().set(self.on);
        if wanted.is_some() && self.tail_calls == TailCalls::Off {
            self.tail_calls = TailCalls::Settling(epoch::tag());
        }
    }
}

/// State of the tail call sites.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TailCalls {
    Off,
    On,
    /// On for runs that began before an epoch.
    Settling(u64),
}

/// Whether a change is only effective once every thread has seen it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Always,
    /// If the host does not allow synchronising threads, each sees it eventually.
    IfAllowed,
}

impl Wait {
    fn commit(self, batch: &mut Batch) -> Result<(), poke::Error> {
        if batch.is_empty() {
            return Ok(());
        }
        match batch.commit() {
            Err(poke::Error::Barrier(_)) if self == Wait::IfAllowed => batch.commit_nowait(),
            done => done,
        }
    }
}

/// Keeps statistics on until dropped. Statistics requested by other guards stay on.
#[must_use = "statistics are off again when the guard is dropped"]
pub struct StatsGuard {
    requests: Weak<StatsRequests>,
    token: u64,
}

impl Drop for StatsGuard {
    fn drop(&mut self) {
        let Some(requests) = self.requests.upgrade() else { return };
        let mut state = requests.lock();
        state.wants.retain(|want| want.token != self.token);
        // This cannot fail: it only switches off sites of live programs.
        let _ = state.apply(Wait::IfAllowed);
    }
}

impl std::fmt::Debug for StatsGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StatsGuard {{ {} }}", self.token)
    }
}

impl StatsRequests {
    pub(crate) fn new() -> Arc<StatsRequests> {
        prog_slots::watch();
        Arc::new(StatsRequests(Mutex::default()))
    }

    fn lock(&self) -> Locked<'_> {
        let gate = gate();
        Locked { state: self.0.lock().unwrap_or_else(PoisonError::into_inner), _gate: gate }
    }

    /// Whether statistics of all programs are on.
    pub(crate) fn is_enabled(&self) -> bool {
        self.lock().wants.iter().any(|want| want.prog.is_none())
    }

    /// Registers a program that has been loaded and has not run.
    pub(crate) fn add(&self, program: &Arc<dyn Counted>) -> Result<(), Error> {
        let mut state = self.lock();
        state.programs.retain(|program| program.program.strong_count() > 0);
        state.programs.push(Program {
            id: program.id(),
            program: Arc::downgrade(program),
            on: None,
            tail_calls: TailCalls::Off,
        });
        // No thread has fetched its code.
        if state.wants.is_empty() { Ok(()) } else { state.apply(Wait::IfAllowed) }
    }

    /// All programs, in the order in which they were loaded.
    pub(crate) fn programs(&self) -> Vec<Arc<dyn Counted>> {
        let mut state = self.lock();
        state.settle();
        state.programs.iter().filter_map(|program| program.program.upgrade()).collect()
    }

    /// Requests statistics of one program, or of all.
    pub(crate) fn enable(
        self: &Arc<StatsRequests>,
        clock: &Clock,
        prog: Option<u32>,
        options: StatsOptions,
    ) -> Result<StatsGuard, Error> {
        // The histogram is in ns.
        let clock = clock.check(options.histogram);
        clock.map_err(|why| Error::clock(format!("switch statistics: {why}")).because(why))?;
        let mut state = self.lock();
        state.next_token += 1;
        let token = state.next_token;
        state.wants.push(Want { token, prog, options });
        let applied = state.apply(Wait::Always);
        if let Err(why) = applied {
            state.wants.retain(|want| want.token != token);
            return Err(why);
        }
        drop(state);
        Ok(StatsGuard { requests: Arc::downgrade(self), token })
    }
}

impl State {
    fn wanted(&self, prog: u32) -> Option<StatsOptions> {
        let asked = self.wants.iter().filter(|want| want.prog.is_none_or(|id| id == prog));
        asked.map(|want| want.options).reduce(StatsOptions::merged)
    }

    /// Brings all programs into the requested state.
    fn apply(&mut self, wait: Wait) -> Result<(), Error> {
        let changes: Vec<(usize, Arc<dyn Counted>, Option<StatsOptions>)> = (0..)
            .zip(&self.programs)
            .map(|(at, program)| (at, program, self.wanted(program.id)))
            .filter(|(_, program, wanted)| program.on != *wanted)
            .filter_map(|(at, program, wanted)| Some((at, program.program.upgrade()?, wanted)))
            .collect();
        let (mut tail_calls, mut entries) = (Batch::new(), Batch::new());
        for (at, counted, wanted) in &changes {
            let program = &self.programs[*at];
            if wanted.is_some() {
                counted.counters().set(*wanted);
            }
            let (entry, calls) = counted.switches();
            if wanted.is_some() && program.tail_calls == TailCalls::Off {
                calls.iter().for_each(|switch| tail_calls.add(switch, true));
            }
            if wanted.is_some() != program.on.is_some() {
                entry.iter().for_each(|switch| entries.add(switch, wanted.is_some()));
            }
        }
        for batch in [&mut tail_calls, &mut entries] {
            if let Err(why) = wait.commit(batch) {
                for (at, counted, wanted) in &changes {
                    self.programs[*at].take_back(&**counted, *wanted);
                }
                return Err(Error::input(format!("switch statistics: {why}")).because(why));
            }
        }
        let tag = epoch::tag();
        for (at, counted, wanted) in changes {
            counted.counters().set(wanted);
            let program = &mut self.programs[at];
            program.tail_calls = match (wanted, program.on) {
                (Some(_), _) => TailCalls::On,
                (None, Some(_)) => TailCalls::Settling(tag),
                (None, None) => program.tail_calls,
            };
            program.on = wanted;
        }
        self.settle();
        Ok(())
    }

    /// Switches off tail call sites that no counted run can reach any more.
    fn settle(&mut self) {
        let mut looked = false;
        let mut batch = Batch::new();
        let mut settled = Vec::new();
        for (at, program) in self.programs.iter().enumerate() {
            let TailCalls::Settling(tag) = program.tail_calls else { continue };
            let counted = program.program.upgrade();
            let calls = counted.map(|counted| counted.switches().1).unwrap_or_default();
            if !calls.is_empty() && !epoch::is_free(tag) && !looked {
                looked = true;
                epoch::advance();
            }
            if calls.is_empty() || epoch::is_free(tag) {
                calls.iter().for_each(|switch| batch.add(switch, false));
                settled.push(at);
            }
        }
        // They cost little, so a failure leaves them on.
        if batch.is_empty() || batch.commit_nowait().is_ok() {
            settled.into_iter().for_each(|at| self.programs[at].tail_calls = TailCalls::Off);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::tests::HAS_NO_RATE;
    use super::super::{ClockError, ClockSource};
    use super::*;
    use crate::{Ctx, ErrorKind, LoadOptions, Options, Runtime};
    use skep_insn::asm::assemble;
    use skep_program::Program;
    use skep_uapi::{KernelProfile, ProgType};
    use skep_verifier::{Config, Verdict, verify};

    #[test]
    fn a_counter_that_is_no_clock_is_refused_and_nothing_is_switched() {
        let options = Options { clock: ClockSource::Tsc, ..Options::default() };
        let Ok(runtime) = Runtime::new(options) else { return };
        let insns = assemble("r0 = 0\nexit", &|_| None).unwrap().insns;
        let program = Program { prog_type: ProgType::RawTracepoint, insns, ..Program::default() };
        let outcome = verify(&program, &Config::privileged(KernelProfile::v6_18()));
        let Verdict::Accepted(program) = outcome.verdict else { panic!("refused") };
        let maps = runtime.create_maps(&Arc::from([]), None);
        let instance = runtime.load(&program, &maps, &LoadOptions::default()).unwrap();
        let bytes = || instance.machine_code().map(|code| code.bytes());
        let run = || instance.run(&mut Ctx::raw(ProgType::RawTracepoint, &[]).unwrap()).unwrap();

        let (off, on) = (bytes(), runtime.enable_stats(StatsOptions::default()).unwrap());
        run();
        HAS_NO_RATE.set(true);
        // Measured times are unknown; counts are known.
        assert_eq!(instance.try_stats(), Err(ClockError::NoRate));
        assert_eq!((instance.stats().run_cnt, instance.stats().run_time_ns), (1, 0));
        let wanted = StatsOptions { histogram: true, ..StatsOptions::default() };
        // The state does not change, neither while it is on nor while it is off.
        for guard in [Some(on), None] {
            let before = (bytes(), runtime.stats_enabled());
            let refused = runtime.enable_stats(wanted).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Clock);
            assert!(refused.to_string().contains("CLOCK_MONOTONIC"), "{refused}");
            assert_eq!(before, (bytes(), runtime.stats_enabled()));
            drop(guard);
        }
        assert_eq!(bytes(), off);
        run();
        HAS_NO_RATE.set(false);
        assert_eq!(instance.stats().run_cnt, 1);
        assert!(instance.try_stats().is_ok());
        let _on = runtime.enable_stats(StatsOptions::default()).unwrap();
        // A single run may take no time that the clock shows.
        for _ in 0..1000 {
            run();
        }
        assert!(instance.try_stats().is_ok_and(|stats| stats.run_time_ns > 0));
    }
}
