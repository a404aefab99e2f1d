//! Two racing threads: rounds of a litmus program in batches; each batch is one run of a program
//! per thread, started and ended together.

use super::batch::{Batch, NOTES, STRIDE};
use super::rows::{Judge, Place, Row};
use rustix::thread::{CpuSet, sched_setaffinity};
use skep::insn::asm::assemble;
use skep::program::{MapDef, Program};
use skep::uapi::{KernelProfile, MapType, ProgFlags, ProgType};
use skep_runtime::map::MapHandle;
use skep_runtime::{Ctx, Instance, LoadOptions, Options, Runtime};
use skep_verifier::{Config, Verdict, VerifiedProgram, verify};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The program of one thread.
fn text(row: &Row, thread: usize) -> String {
    let (body, notes) = (row.threads[thread], thread * NOTES * 8);
    let moves = match row.place {
        Place::Fixed => String::new(),
        Place::OfRound => format!("r6 += {STRIDE}"),
    };
    format!(
        "r8 = *(u64 *)(r1 +0)
         r6 = map_value[shared]+0
         r7 = map_value[notes]+{notes}
         r9 = 0
         r5 = 0
         again:
         {body}
         {moves}
         r7 += 8
         r8 += 1
         r5 += 1
         if r5 != {NOTES} goto again
         r0 = r9
         exit"
    )
}

fn maps() -> Arc<[MapDef]> {
    let map = |name: &str, bytes: usize| MapDef {
        name: name.to_owned(),
        map_type: MapType::Array,
        key_size: 4,
        value_size: bytes as u32,
        max_entries: 1,
        ..MapDef::default()
    };
    // Rounds without separate memory use that of the first.
    [map("shared", NOTES * STRIDE + 2 * STRIDE), map("notes", 2 * NOTES * 8)].into()
}

/// The two programs of a row, verified once for all engines.
pub(super) fn verified(row: &Row) -> Result<[VerifiedProgram; 2], String> {
    let one = |thread| -> Result<VerifiedProgram, String> {
        let text = text(row, thread);
        let assembly = assemble(&text, &|_| None).map_err(|e| format!("{}: {e}", row.name))?;
        let mut insns = assembly.insns;
        for reference in &assembly.map_refs {
            insns[reference.insn.index()].imm = i32::from(reference.name == "notes");
        }
        let program = Program {
            name: "litmus".to_owned(),
            prog_type: ProgType::Syscall,
            prog_flags: ProgFlags::SLEEPABLE,
            license: "GPL".to_owned(),
            insns,
            maps: maps(),
            ..Program::default()
        };
        match verify(&program, &Config::privileged(KernelProfile::v6_18())).verdict {
            Verdict::Accepted(verified) => Ok(*verified),
            other => Err(format!("{}, thread {thread}: {other:?}", row.name)),
        }
    };
    Ok([one(0)?, one(1)?])
}

/// Totals over rounds.
#[derive(Clone, Copy, Default)]
pub(super) struct Outcomes {
    pub(super) rounds: u64,
    pub(super) forbidden: u64,
    /// Allowed outcomes that only a race produces.
    pub(super) seen: u64,
}

/// A row on one engine.
pub(super) struct Race<'a> {
    row: &'a Row,
    instances: [Instance; 2],
    shared: MapHandle,
    notes: MapHandle,
    batches: u64,
    gate: Gate,
    _runtime: Runtime,
}

impl<'a> Race<'a> {
    /// Loads the two programs into a separate runtime.
    pub(super) fn new(
        row: &'a Row,
        programs: &[VerifiedProgram; 2],
        options: &LoadOptions,
        rounds: u64,
    ) -> Result<Race<'a>, String> {
        let runtime = Runtime::new(Options { cpus: 2, ..Options::default() });
        let runtime = runtime.map_err(|e| e.to_string())?;
        let maps = runtime.create_maps(&maps(), None);
        let load = |verified| runtime.load(verified, &maps, options).map_err(|e| e.to_string());
        let instances = [load(&programs[0])?, load(&programs[1])?];
        let map = |name| maps.get(name).cloned().map_err(|e| e.to_string());
        let (shared, notes) = (map("shared")?, map("notes")?);
        let batches = rounds.div_ceil(NOTES as u64);
        let gate = Gate::default();
        Ok(Race { row, instances, shared, notes, batches, gate, _runtime: runtime })
    }

    /// Runs all rounds.
    pub(super) fn run(&self) -> Result<Outcomes, String> {
        // A thread that fails still passes the gates, at which the other one waits.
        std::thread::scope(|scope| {
            let other = scope.spawn(|| self.thread(1));
            let outcomes = self.thread(0);
            let ended = other.join().map_err(|_| "a thread panicked".to_owned())?;
            ended.and(outcomes)
        })
    }

    fn thread(&self, thread: usize) -> Result<Outcomes, String> {
        let mut set = CpuSet::new();
        set.set(thread);
        // With a single processor, or if affinity is not permitted, the race is just slower.
        let _ = sched_setaffinity(None, &set);
        let (mut outcomes, mut failed) = (Outcomes::default(), None);
        let mut before = 0;
        for batch in 0..self.batches {
            let first = 1 + batch * NOTES as u64;
            self.gate.pass();
            match self.batch(thread, first) {
                Ok(sum) => self.gate.sums[thread].store(sum, Ordering::Relaxed),
                Err(error) => failed = Some(error),
            }
            self.gate.pass();
            if thread == 0 && failed.is_none() {
                match self.judged(first, before, &mut outcomes) {
                    Ok(word) => before = word,
                    Err(error) => failed = Some(error),
                }
            }
        }
        failed.map_or(Ok(outcomes), Err)
    }

    fn batch(&self, thread: usize, first: u64) -> Result<u32, String> {
        let ctx = Ctx::raw(ProgType::Syscall, &first.to_le_bytes());
        let mut ctx = ctx.map_err(|e| e.to_string())?;
        let ran = self.instances[thread].run(&mut ctx).map_err(|e| e.to_string())?;
        Ok(ran.retval)
    }

    /// Evaluates a batch; returns the first word of the shared memory.
    fn judged(&self, first: u64, before: u64, out: &mut Outcomes) -> Result<u64, String> {
        let sums = [0, 1].map(|thread| self.gate.sums[thread].load(Ordering::Relaxed));
        out.rounds += NOTES as u64;
        let (judge, allowed) = match self.row.judge {
            Judge::Counted => {
                out.forbidden += sums.iter().copied().map(u64::from).sum::<u64>();
                return Ok(0);
            }
            Judge::Judged(judge) => (judge, false),
            Judge::Seen(judge) => (judge, true),
        };
        let read = |map: &MapHandle| map.lookup(&[0; 4]).map(words).map_err(|e| e.to_string());
        let (words, notes) = (read(&self.shared)?, read(&self.notes)?);
        let (a, b) = notes.split_at(NOTES);
        let found = judge(&Batch { first, notes: [a, b], sums, words: &words, before });
        *(if allowed { &mut out.seen } else { &mut out.forbidden }) += found;
        Ok(words[0])
    }
}

fn words(bytes: Vec<u8>) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// A barrier for two threads.
#[derive(Default)]
struct Gate {
    arrived: AtomicU32,
    sums: [AtomicU32; 2],
}

impl Gate {
    fn pass(&self) {
        let turn = self.arrived.fetch_add(1, Ordering::AcqRel) / 2;
        let mut spins = 0;
        while self.arrived.load(Ordering::Acquire) / 2 == turn {
            spins += 1;
            match spins % 4096 {
                0 => std::thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
    }
}
