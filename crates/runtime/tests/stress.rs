//! Random operations in four threads: programs are loaded, run, replaced in their slots and
//! dropped, statistics and switches change, threads start and exit, and the process forks. Each
//! program must count exactly its runs, and each run must return the result of a program that was
//! there.
//!
//! `SKEP_STRESS_SECONDS` sets the duration (2), `SKEP_STRESS_SEED` the seed. It runs in a separate
//! process, which is killed if it hangs.

mod watch;

#[path = "../../testkit/src/rng.rs"]
#[allow(dead_code, unreachable_pub, reason = "not all of it is used here")]
mod rng;

use rng::Rng;
use skep_insn::asm::assemble;
use skep_jit::Tuning;
use skep_program::{MapDef, Program};
use skep_runtime::map::UpdateFlags;
use skep_runtime::poke::{Batch, PokeMode, Switch};
use skep_runtime::{Ctx, Engine, ErrorKind, Instance, LoadOptions, ObjectMaps, Options, Runtime};
use skep_runtime::{StatsGuard, StatsOptions};
use skep_text::BareCode;
use skep_uapi::helper::HelperId;
use skep_uapi::{KernelProfile, MapType, ProgType};
use skep_verifier::{Config, Verdict, VerifiedProgram, verify};
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::process::Command;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use watch::Watch;

const TYPE: ProgType = ProgType::RawTracepoint;
const SLOTS: u32 = 4;
const THREADS: u64 = 4;
/// Result of a caller whose slot is empty.
const EMPTY: u64 = 7;
/// Result of the first target.
const FIRST: u32 = 100;

/// `xor eax, eax; test eax, imm32 | jmp on; ret; on: mov eax, 1; ret; int3`.
const SWITCHED: [u8; 15] = [0x31, 0xc0, 0xa9, 1, 0, 0, 0, 0xc3, 0xb8, 1, 0, 0, 0, 0xc3, 0xcc];
const SITES: u32 = 16;

fn maps() -> Arc<[MapDef]> {
    let map_type = MapType::ProgArray;
    let [key_size, value_size, max_entries] = [4, 4, SLOTS];
    let def = MapDef { map_type, key_size, value_size, max_entries, ..MapDef::default() };
    [MapDef { name: "progs".into(), ..def }].into()
}

fn program(text: &str) -> VerifiedProgram {
    let helper = |name: &str| HelperId::from_name(name).map(|id| id as u32);
    let program = Program {
        name: "stressed".into(),
        prog_type: TYPE,
        license: "GPL".into(),
        insns: assemble(text, &helper).unwrap().insns,
        maps: maps(),
        ..Program::default()
    };
    match verify(&program, &Config::privileged(KernelProfile::v6_18())).verdict {
        Verdict::Accepted(program) => *program,
        other => panic!("{text}: {other:?}"),
    }
}

struct Random(Rng);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0.below(end as u64) as usize
    }

    /// Sometimes interpreted, more often with fuel.
    fn sort(&mut self) -> usize {
        usize::from(self.below(8) == 0) | usize::from(self.below(3) == 0) << 1
    }

    fn options(&mut self) -> StatsOptions {
        let sample = NonZeroU32::new([1, 2, 64][self.below(3)]).unwrap();
        StatsOptions { sample, histogram: self.below(3) == 0 }
    }
}

/// A program that is counted from its first run on.
struct Caller {
    instance: Instance,
    runs: AtomicU64,
    _counted: StatsGuard,
}

impl Drop for Caller {
    /// No run is in progress any more.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.instance.stats().run_cnt, self.runs.load(Relaxed));
        }
    }
}

struct Target {
    value: u64,
    instance: Instance,
    _counted: StatsGuard,
}

struct World {
    runtime: Runtime,
    /// By sort of program: interpreted, with fuel.
    maps: [ObjectMaps; 4],
    /// Tail calls with a constant index, one for each slot, and with an index from the context.
    texts: Vec<VerifiedProgram>,
    callers: Mutex<Vec<Arc<Caller>>>,
    targets: Mutex<Vec<Target>>,
    next_value: AtomicU32,
    /// Number of runs by result.
    seen: Mutex<HashMap<u64, u64>>,
    code: BareCode,
    switches: Vec<Switch>,
}

impl World {
    fn new() -> World {
        let runtime = Runtime::new(Options { cpus: 32, ..Options::default() }).unwrap();
        let maps = [(); 4].map(|()| runtime.create_maps(&maps(), None));
        let tail = "r2 = map[progs]\ncall bpf_tail_call\nr0 = 7\nexit";
        let mut texts: Vec<_> =
            (0..SLOTS).map(|slot| program(&format!("r3 = {slot}\n{tail}"))).collect();
        texts.push(program(&format!("r3 = *(u64 *)(r1 + 0)\n{tail}")));
        // Too long for programs with fuel.
        let long = "r6 = 100\nagain:\nr6 -= 1\nif r6 != 0 goto again";
        texts.push(program(&format!("{long}\nr3 = 0\n{tail}")));
        let code = BareCode::new(&SWITCHED.repeat(SITES as usize)).unwrap();
        let sites = (0..SITES).map(|site| site * SWITCHED.len() as u32);
        let switches = sites.map(|off| code.switch(off + 2).unwrap()).collect();
        let (callers, targets, seen) = Default::default();
        let next_value = AtomicU32::new(FIRST);
        let world =
            World { runtime, maps, texts, callers, targets, next_value, seen, code, switches };
        world.load_caller(&mut Random(Rng::new(1)));
        world
    }

    /// Load options for programs that use the maps of this sort.
    fn options(sort: usize, random: &mut Random) -> LoadOptions {
        let poke = if random.below(4) == 0 { PokeMode::Flag } else { PokeMode::Patch };
        let engine = if sort & 1 == 1 { Engine::Interpreter } else { Engine::MachineCode };
        let tuning = Tuning { poke, ..Tuning::default() };
        let coverage = random.below(4) == 0;
        LoadOptions { engine, tuning, fuel: (sort & 2 == 2).then_some(50), coverage }
    }

    fn load_caller(&self, random: &mut Random) {
        let sort = random.sort();
        let options = World::options(sort, random);
        let text = &self.texts[random.below(self.texts.len())];
        let instance = self.runtime.load(text, &self.maps[sort], &options).unwrap();
        let counted = instance.enable_stats(random.options()).unwrap();
        let caller = Caller { instance, runs: AtomicU64::new(0), _counted: counted };
        self.callers.lock().unwrap().push(Arc::new(caller));
    }

    fn pick(&self, random: &mut Random) -> Arc<Caller> {
        let callers = self.callers.lock().unwrap();
        callers[random.below(callers.len())].clone()
    }

    fn drop_caller(&self, random: &mut Random) {
        let mut callers = self.callers.lock().unwrap();
        if callers.len() > 1 {
            let at = random.below(callers.len());
            let gone = callers.swap_remove(at);
            drop(callers);
            drop(gone);
        }
    }

    fn put(&self, random: &mut Random) {
        let value = self.next_value.fetch_add(1, Relaxed);
        // Some tail call another slot, possibly their own, and return its result if there is a
        // program.
        let (next, goes_on) = (random.below(SLOTS as usize), random.below(4) == 0);
        let text = match goes_on {
            true => format!("r2 = map[progs]\nr3 = {next}\ncall bpf_tail_call\nr0 = {value}\nexit"),
            false => format!("r0 = {value}\nexit"),
        };
        let text = program(&text);
        let sort = random.sort();
        let options = World::options(sort, random);
        let instance = self.runtime.load(&text, &self.maps[sort], &options).unwrap();
        let slot = random.below(SLOTS as usize) as u32;
        let is_kept = random.below(2) == 0 && !goes_on;
        let kept = is_kept.then(|| instance.enable_stats(random.options()).unwrap());
        let array = self.maps[sort].get("progs").unwrap();
        let id = instance.id().to_ne_bytes();
        array.update(&slot.to_ne_bytes(), &id, UpdateFlags::Any).unwrap();
        if let Some(counted) = kept {
            let target = Target { value: value.into(), instance, _counted: counted };
            self.targets.lock().unwrap().push(target);
        }
    }

    fn delete(&self, random: &mut Random) {
        let slot = random.below(SLOTS as usize) as u32;
        let _ = self.maps[random.sort()].get("progs").unwrap().delete(&slot.to_ne_bytes());
    }

    fn run(&self, times: usize, random: &mut Random) {
        let caller = self.pick(random);
        let mut seen = HashMap::new();
        for _ in 0..times {
            let index = random.below(SLOTS as usize + 1) as u64;
            let mut ctx = Ctx::raw(TYPE, &index.to_ne_bytes()).unwrap();
            let result = caller.instance.run(&mut ctx);
            caller.runs.fetch_add(1, Relaxed);
            let r0 = match result {
                Ok(result) => result.r0,
                Err(why) if why.kind() == ErrorKind::Stopped => continue,
                Err(why) => panic!("{why}"),
            };
            let last = u64::from(self.next_value.load(Relaxed));
            assert!(r0 == EMPTY || (u64::from(FIRST)..last).contains(&r0), "{r0}");
            *seen.entry(r0).or_insert(0) += 1;
        }
        let mut all = self.seen.lock().unwrap();
        seen.into_iter().for_each(|(value, runs)| *all.entry(value).or_insert(0) += runs);
    }

    fn turn(&self, random: &mut Random) {
        let mut batch = Batch::new();
        for _ in 0..1 + random.below(2 * SITES as usize) {
            batch.add(&self.switches[random.below(SITES as usize)], random.below(2) == 0);
        }
        if random.below(2) == 0 { batch.commit() } else { batch.commit_nowait() }.unwrap();
        self.call(random);
    }

    fn call(&self, random: &mut Random) {
        let off = random.below(SITES as usize) as u32 * SWITCHED.len() as u32;
        // SAFETY: the function returns 0 or 1 in either state of its switch.
        let function: extern "C" fn() -> u32 =
            unsafe { std::mem::transmute(self.code.address(off) as *const u8) };
        assert!(function() <= 1);
    }

    /// A child runs programs, counts, and patches code; it touches nothing that another thread may
    /// have been changing.
    fn fork(&self, random: &mut Random) {
        let caller = self.pick(random);
        // The interpreter locks maps, which another thread may hold.
        if caller.instance.machine_code().is_none() {
            return;
        }
        let mut ctx = Ctx::raw(TYPE, &[0; 8]).unwrap();
        // SAFETY: the child exits here, and only takes locks of the C library and of code.
        unsafe {
            let pid = libc::fork();
            assert!(pid >= 0);
            if pid == 0 {
                let work = || {
                    let before = caller.instance.stats();
                    assert!(before.timed_cnt <= before.run_cnt);
                    (0..10).for_each(|_| {
                        let stopped = caller.instance.run(&mut ctx).err();
                        assert!(stopped.is_none_or(|why| why.kind() == ErrorKind::Stopped));
                    });
                    let mut batch = Batch::new();
                    self.switches.iter().for_each(|switch| batch.add(switch, true));
                    batch.commit().unwrap();
                    assert_eq!(caller.instance.stats().since(&before).run_cnt, 10);
                };
                let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err();
                libc::_exit(i32::from(failed));
            }
            let (mut status, started) = (0, Instant::now());
            while libc::waitpid(pid, &mut status, libc::WNOHANG) == 0 {
                // Wherever it hangs, even before its `fork` has returned.
                if started.elapsed() > Duration::from_secs(30) {
                    libc::kill(pid, libc::SIGABRT);
                }
                std::thread::sleep(Duration::from_micros(100));
            }
            assert_eq!(status, 0, "the child {pid}");
        }
    }

    fn look(&self) {
        for program in self.runtime.programs() {
            let stats = program.stats;
            assert!(stats.timed_cnt <= stats.run_cnt, "{stats:?}");
            assert_eq!(stats.check_clock(), Ok(()));
        }
    }

    /// The operations of one thread.
    fn act(&self, mut random: Random) {
        let mut guards = Vec::new();
        for _ in 0..60 {
            match random.below(40) {
                0..=3 => self.put(&mut random),
                4 | 5 => self.delete(&mut random),
                6 | 7 => self.load_caller(&mut random),
                8 | 9 => self.drop_caller(&mut random),
                10..=13 => guards.push(self.runtime.enable_stats(random.options()).unwrap()),
                14 => guards
                    .push(self.pick(&mut random).instance.enable_stats(random.options()).unwrap()),
                15..=18 if !guards.is_empty() => {
                    drop(guards.swap_remove(random.below(guards.len())));
                }
                19..=22 => self.turn(&mut random),
                23 => self.look(),
                24 | 25 => {
                    let mut other = Random(random.0.clone());
                    std::thread::scope(|scope| {
                        let _ = scope.spawn(move || self.run(3, &mut other)).join();
                    });
                }
                26 if random.below(4) == 0 => self.fork(&mut random),
                _ => self.run(30, &mut random),
            }
        }
    }

    /// No run is in progress: everything has been counted.
    fn settle(&self) {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        for target in self.targets.lock().unwrap().drain(..) {
            let runs = seen.get(&target.value).copied().unwrap_or_default();
            let stats = target.instance.stats();
            assert_eq!(stats.run_cnt, runs, "{} {stats:?}", target.value);
        }
        for caller in self.callers.lock().unwrap().iter() {
            let stats = caller.instance.stats();
            assert_eq!(stats.run_cnt, caller.runs.load(Relaxed), "{stats:?}");
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
#[ignore = "runs in a process of its own"]
fn child() {
    let seconds = number("SKEP_STRESS_SECONDS").unwrap_or(2);
    // SAFETY: the process is killed if it hangs.
    unsafe { libc::alarm(2 * seconds as u32 + 60) };
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut seed = number("SKEP_STRESS_SEED").unwrap_or(0x9e37_79b9_7f4a_7c15) | 1;
    let watch = Watch::start();
    let (mut rounds, mut world) = (0u32, World::new());
    while Instant::now() < end {
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(thread + 1);
                let (world, random) = (&world, Random(Rng::new(seed)));
                scope.spawn(move || world.act(random));
            }
        });
        world.settle();
        rounds += 1;
        if rounds.is_multiple_of(16) {
            world = World::new();
        }
    }
    drop(world);
    assert!(rounds > 0);
    watch.end();
}

#[test]
fn everything_at_once() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output =
        command.args(["child", "--exact", "--ignored", "--nocapture"]).output().expect("starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{}: {text}", output.status);
}
