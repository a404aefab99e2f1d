//! Patching in unusual processes: under a debugger, with all signals blocked, after `fork`, with
//! executable memory or system calls restricted; and operations that must never be possible.
//!
//! Each test runs in a separate process: this binary again, with one ignored test.

#![expect(clippy::print_stderr, reason = "says why it was skipped")]

mod attacks;
mod late;
#[path = "../watch/mod.rs"]
mod watch;

use skep_insn::asm::assemble;
use skep_jit::Tuning;
use skep_program::{MapDef, Program};
use skep_runtime::StatsOptions;
use skep_runtime::map::{MapHandle, UpdateFlags};
use skep_runtime::poke::{self, Batch, PokeMode};
use skep_runtime::{
    Ctx, ErrorKind, Instance, LoadOptions, ObjectMaps, Options, Runtime, placed_code,
};
use skep_text::BareCode;
use skep_uapi::helper::HelperId;
use skep_uapi::{KernelProfile, MapType, ProgType};
use skep_verifier::{Config, Verdict, VerifiedProgram, verify};
use std::num::NonZeroU32;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use watch::{Watch, no_memory_is_writable_and_executable};

fn maps() -> Arc<[MapDef]> {
    let jmp = MapDef {
        name: "jmp".into(),
        map_type: MapType::ProgArray,
        key_size: 4,
        value_size: 4,
        max_entries: 2,
        ..MapDef::default()
    };
    let stop = MapDef {
        name: "stop".into(),
        map_type: MapType::Array,
        value_size: 8,
        max_entries: 1,
        ..jmp.clone()
    };
    [jmp, stop].into()
}

fn program(name: &str, text: &str) -> VerifiedProgram {
    let maps = maps();
    let helper = |name: &str| HelperId::from_name(name).map(|id| id as u32);
    let mut assembly = assemble(text, &helper).unwrap();
    for reference in &assembly.map_refs {
        let map = maps.iter().position(|map| map.name == reference.name);
        assembly.insns[reference.insn.index()].imm = map.unwrap() as i32;
    }
    let program = Program {
        name: name.to_owned(),
        prog_type: ProgType::Xdp,
        license: "GPL".into(),
        insns: assembly.insns,
        maps,
        ..Program::default()
    };
    match verify(&program, &Config::privileged(KernelProfile::v6_18())).verdict {
        Verdict::Accepted(program) => *program,
        other => panic!("{name}: {other:?}"),
    }
}

/// Tail calls slot 0; returns 7 otherwise.
const MAIN: &str = "r2 = map[jmp]\nr3 = 0\ncall bpf_tail_call\nr0 = 7\nexit";

struct Loaded {
    runtime: Runtime,
    maps: ObjectMaps,
    main: Instance,
}

impl Loaded {
    fn new() -> Loaded {
        Loaded::with(PokeMode::Patch)
    }

    fn with(poke: PokeMode) -> Loaded {
        let tuning = Tuning { poke, ..Tuning::default() };
        let options = LoadOptions { tuning, ..LoadOptions::default() };
        let runtime = Runtime::new(Options { cpus: 8, ..Options::default() }).unwrap();
        let object = runtime.create_maps(&maps(), None);
        let main = runtime.load(&program("main", MAIN), &object, &options).unwrap();
        Loaded { runtime, maps: object, main }
    }

    fn slots(&self) -> MapHandle {
        self.maps.get("jmp").unwrap().clone()
    }

    /// A program that returns `value`.
    fn target(&self, value: u32) -> Instance {
        let program = program("target", &format!("r0 = {value}\nexit"));
        self.runtime.load(&program, &self.maps, &LoadOptions::default()).unwrap()
    }

    fn put(&self, target: &Instance) {
        let id = target.id().to_ne_bytes();
        self.slots().update(&[0; 4], &id, UpdateFlags::Any).unwrap();
    }

    fn run(&self) -> u64 {
        self.main.run(&mut Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap()).unwrap().r0
    }
}

/// `xor eax, eax; test eax, imm32 | jmp on; ret; on: mov eax, 1; ret; int3`.
const SWITCHED: [u8; 15] = [0x31, 0xc0, 0xa9, 1, 0, 0, 0, 0xc3, 0xb8, 1, 0, 0, 0, 0xc3, 0xcc];

fn call(code: &BareCode, off: u32) -> u32 {
    // SAFETY: the function returns 0 or 1 in either state of its switch.
    let function: extern "C" fn() -> u32 =
        unsafe { std::mem::transmute(code.address(off) as *const u8) };
    function()
}

/// Replaces and frees the program of a slot and changes switches while threads run: they see the
/// old or the new state, and only the new one after the change has returned. Threads start and
/// exit. Each run is counted once, whatever statistics are switched meanwhile, and mappings are
/// watched all the time.
fn storm(rounds: u64) {
    storm_of(poke::mode(), rounds);
}

/// Result of slot 0 in a round.
fn value(round: u64) -> u64 {
    if round.is_multiple_of(5) { 7 } else { 100 + round }
}

const SITES: u32 = 164;

fn offs() -> impl Iterator<Item = u32> {
    (0..SITES).map(|site| site * SWITCHED.len() as u32)
}

struct Storm {
    loaded: Loaded,
    bare: Option<BareCode>,
    /// Odd while a change is in progress; half of it is the round.
    sequence: AtomicU64,
    done: AtomicBool,
    checked: AtomicU64,
    /// Number of runs by result.
    runs: Vec<AtomicU64>,
}

impl Storm {
    /// Runs everything `lives` times.
    fn run(&self, lives: u32) {
        let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
        for _ in 0..lives {
            let before = self.sequence.load(Ordering::SeqCst);
            let r0 = self.loaded.main.run(&mut ctx).unwrap().r0;
            let on: u32 = self.bare.iter().flat_map(|b| offs().map(|off| call(b, off))).sum();
            let after = self.sequence.load(Ordering::SeqCst);
            let runs = self.runs.get(r0 as usize).filter(|_| r0 == 7 || r0 > 100);
            runs.unwrap_or_else(|| panic!("{r0}")).fetch_add(1, Ordering::Relaxed);
            if before == after && before.is_multiple_of(2) {
                let round = before / 2;
                assert_eq!(r0, value(round), "round {round}");
                let expected = if self.bare.is_some() && round % 2 == 1 { SITES } else { 0 };
                assert_eq!(on, expected, "round {round}");
                self.checked.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn change(&self, round: u64, target: Option<&Instance>) {
        let mut batch = Batch::new();
        if let Some(code) = &self.bare {
            offs().for_each(|off| batch.add(&code.switch(off + 2).unwrap(), round % 2 == 1));
        }
        self.sequence.fetch_add(1, Ordering::SeqCst);
        match target {
            Some(target) => self.loaded.put(target),
            None => {
                let _ = self.loaded.slots().delete(&[0; 4]);
            }
        }
        batch.commit().unwrap();
        self.sequence.fetch_add(1, Ordering::SeqCst);
    }
}

fn every(n: u32) -> StatsOptions {
    StatsOptions::sampled(NonZeroU32::new(n).unwrap())
}

fn storm_of(mode: PokeMode, rounds: u64) {
    let patches = mode == PokeMode::Patch;
    let bytes: Vec<u8> = offs().flat_map(|_| SWITCHED).collect();
    let storm = Storm {
        loaded: Loaded::with(mode),
        bare: patches.then(|| BareCode::new(&bytes).unwrap()),
        sequence: AtomicU64::new(0),
        done: AtomicBool::new(false),
        checked: AtomicU64::new(0),
        runs: (0..rounds + 101).map(|_| AtomicU64::new(0)).collect(),
    };
    let (main, watch) = (&storm.loaded.main, Watch::start());
    let sites = placed_code(main).unwrap().tail_call_sites().len();
    assert_eq!(sites, usize::from(patches));
    let _counted = main.enable_stats(every(3)).unwrap();
    // Programs that are counted from their first run on, and kept.
    let mut kept = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !storm.done.load(Ordering::Relaxed) {
                storm.run(1000);
            }
        });
        // Short-lived threads.
        scope.spawn(|| {
            while !storm.done.load(Ordering::Relaxed) {
                std::thread::scope(|scope| {
                    // Waits not only for its work: the thread has exited, and has freed its slot.
                    scope.spawn(|| storm.run(3)).join().unwrap();
                });
            }
        });
        let mut all = None;
        for round in 1..=rounds {
            let target = (value(round) != 7).then(|| storm.loaded.target(value(round) as u32));
            if let Some(target) = target.as_ref().filter(|_| round % 4 == 1) {
                kept.push((round, target.clone(), target.enable_stats(every(1)).unwrap()));
            }
            storm.change(round, target.as_ref());
            match round % 8 {
                2 => all = Some(storm.loaded.runtime.enable_stats(every(1)).unwrap()),
                5 => all = None,
                _ => {}
            }
            // Pauses sometimes.
            if round % 16 == 0 {
                std::thread::yield_now();
            }
        }
        storm.done.store(true, Ordering::Relaxed);
        drop(all);
    });
    assert!(storm.checked.load(Ordering::Relaxed) > 0);
    let runs = |value: u64| storm.runs[value as usize].load(Ordering::Relaxed);
    let all: u64 = storm.runs.iter().map(|runs| runs.load(Ordering::Relaxed)).sum();
    assert_eq!(main.stats().run_cnt, all);
    for (round, target, _on) in &kept {
        let stats = target.stats();
        assert_eq!((stats.run_cnt, stats.timed_cnt), (runs(value(*round)), stats.run_cnt));
    }
    watch.end();
    no_handler_is_installed();
}

fn no_handler_is_installed() {
    for signal in [libc::SIGTRAP, libc::SIGILL, libc::SIGSYS] {
        // SAFETY: queries the action of a signal, and changes none.
        let action = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            assert_eq!(libc::sigaction(signal, std::ptr::null(), &mut action), 0);
            action
        };
        assert_eq!(action.sa_sigaction, libc::SIG_DFL, "signal {signal}");
    }
}

/// Refuses these system calls with EPERM from now on, in this thread and those that it starts.
fn refuse(calls: &[i64]) {
    let statement =
        |code: u32, k: u32, (jt, jf): (u8, u8)| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, (0, 0))];
    for call in calls {
        let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        filter.push(statement(equal, *call as u32, (0, 1)));
        let errno = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
        filter.push(statement(libc::BPF_RET | libc::BPF_K, errno, (0, 0)));
    }
    filter.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, (0, 0)));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the filter is read during the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program), 0);
    }
}

/// Forbids memory to become executable; false if the kernel does not support that.
fn refuse_exec_gain() -> bool {
    const PR_SET_MDWE: i32 = 65;
    const PR_MDWE_REFUSE_EXEC_GAIN: u64 = 1;
    // SAFETY: a setting of this process.
    unsafe { libc::prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0 }
}

/// Runs one of the ignored tests below in a separate process, optionally under another program.
fn alone(test: &str, under: &[&str]) -> Output {
    let this = std::env::current_exe().unwrap();
    let mut command = match under {
        [] => Command::new(&this),
        [program, args @ ..] => {
            let mut command = Command::new(program);
            command.args(args).arg(&this);
            command
        }
    };
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.output().expect("starts")
}

fn passes(test: &str) {
    let output = alone(test, &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{}: {text}", output.status);
}

#[test]
fn storms() {
    passes("child::plain");
}

#[test]
fn storms_of_flags() {
    passes("child::flags");
}

#[test]
fn callers_come_and_go() {
    passes("child::callers");
}

#[test]
fn with_all_signals_blocked() {
    passes("child::all_signals_blocked");
}

#[test]
fn where_no_memory_becomes_executable() {
    passes("child::mdwe");
}

#[test]
fn where_membarrier_is_refused() {
    passes("child::no_membarrier");
}

#[test]
fn where_memfd_is_refused() {
    passes("child::no_memfd");
}

#[test]
fn where_nothing_can_be_executable() {
    passes("child::no_memory");
}

#[test]
fn where_addresses_are_used_up() {
    passes("child::no_addresses");
}

#[test]
fn where_membarrier_is_refused_later() {
    passes("late::no_membarrier");
}

#[test]
fn after_fork() {
    passes("child::forks");
}

#[test]
fn after_fork_while_statistics_are_switched() {
    passes("child::forks_while_switched");
}

#[test]
fn a_child_without_memory() {
    passes("child::forks_without_memory");
}

#[test]
fn code_stays_unwritable() {
    passes("child::attacks");
}

#[test]
fn flagged_code_stays_unwritable() {
    passes("child::attacks_without_membarrier");
}

#[test]
fn code_without_a_file_stays_unwritable() {
    passes("child::attacks_without_memfd");
}

#[test]
fn under_gdb() {
    let is_there = Command::new("gdb").arg("--version").output();
    if !is_there.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no gdb here");
        return;
    }
    let batch = ["gdb", "-nx", "-batch", "-ex", "run", "-ex", "backtrace", "--args"];
    let output = alone("child::plain", &batch);
    let text = String::from_utf8_lossy(&output.stdout);
    if text.contains("ptrace: Operation not permitted") || text.contains("Could not trace") {
        eprintln!("skipped: gdb may not trace here");
        return;
    }
    assert!(text.contains("1 passed") && text.contains("exited normally"), "{text}");
    assert!(!text.contains("SIGTRAP") && !text.contains("SIGSEGV"), "{text}");
}

/// The exit status of a child that runs `work`.
fn forked(work: impl FnOnce()) -> i32 {
    // SAFETY: the child runs the closure and exits here; no other thread holds a lock of ours.
    unsafe {
        let pid = libc::fork();
        assert!(pid >= 0);
        if pid == 0 {
            let work = std::panic::AssertUnwindSafe(work);
            let failed = std::panic::catch_unwind(work).is_err();
            libc::_exit(i32::from(failed));
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
        status
    }
}

/// Tests that run in separate processes.
mod child {
    use super::attacks::{attack, attack_alias, attack_backing, attack_unsealed, mseal_is_there};
    use super::*;

    #[test]
    #[ignore = "runs in a process of its own"]
    fn plain() {
        storm(2_000);
    }

    /// Programs with tail calls are loaded, run and freed while their slot changes.
    #[test]
    #[ignore = "runs in a process of its own"]
    fn callers() {
        let loaded = Loaded::new();
        let targets = [loaded.target(1), loaded.target(2)];
        let main = program("main", MAIN);
        let (done, watch) = (AtomicBool::new(false), Watch::start());
        let _on = loaded.runtime.enable_stats(every(2)).unwrap();
        let runs = [const { AtomicU64::new(0) }; 8];
        std::thread::scope(|scope| {
            let load_and_run = || {
                let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
                for _ in 0..500 {
                    let options = LoadOptions::default();
                    let caller = loaded.runtime.load(&main, &loaded.maps, &options).unwrap();
                    for _ in 0..20 {
                        let r0 = caller.run(&mut ctx).unwrap().r0;
                        assert!(matches!(r0, 1 | 2 | 7), "{r0}");
                        runs[r0 as usize].fetch_add(1, Ordering::Relaxed);
                    }
                    assert_eq!(caller.stats().run_cnt, 20);
                }
            };
            let callers = [scope.spawn(load_and_run), scope.spawn(load_and_run)];
            scope.spawn(|| {
                for round in 0.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    match round % 3 {
                        2 => loaded.slots().delete(&[0; 4]).unwrap(),
                        which => loaded.put(&targets[which]),
                    }
                }
            });
            callers.into_iter().for_each(|caller| caller.join().unwrap());
            done.store(true, Ordering::Relaxed);
        });
        for (target, value) in targets.iter().zip(1..) {
            let ran: &AtomicU64 = &runs[value];
            assert_eq!(target.stats().run_cnt, ran.load(Ordering::Relaxed));
        }
        watch.end();
        // A caller that is loaded now uses the current contents.
        for (target, value) in targets.iter().zip(1..) {
            loaded.put(target);
            let options = LoadOptions::default();
            let caller = loaded.runtime.load(&main, &loaded.maps, &options).unwrap();
            let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
            assert_eq!(caller.run(&mut ctx).unwrap().r0, value);
        }
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn flags() {
        storm_of(PokeMode::Flag, 2_000);
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn all_signals_blocked() {
        // SAFETY: a mask for this thread and those that it starts.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            assert_eq!(libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut()), 0);
        }
        storm(2_000);
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn mdwe() {
        if refuse_exec_gain() {
            assert_eq!(poke::mode(), PokeMode::Patch);
        }
        storm(500);
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn no_membarrier() {
        refuse(&[libc::SYS_membarrier]);
        assert_eq!(poke::mode(), PokeMode::Flag);
        let notice = poke::take_notice().unwrap();
        assert!(notice.contains("membarrier"), "{notice}");
        assert_eq!(poke::take_notice(), None);
        assert!(BareCode::new(&SWITCHED).is_err());
        storm(500);
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn no_memfd() {
        refuse(&[libc::SYS_memfd_create]);
        refuse_exec_gain();
        assert_eq!(poke::mode(), PokeMode::Flag);
        let notice = poke::take_notice().unwrap();
        assert!(notice.contains("memfd_create"), "{notice}");
        storm(500);
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn no_memory() {
        refuse(&[libc::SYS_memfd_create, libc::SYS_mremap]);
        let runtime = Runtime::new(Options::default()).unwrap();
        let object = runtime.create_maps(&maps(), None);
        let options = LoadOptions::default();
        let why = runtime.load(&program("main", MAIN), &object, &options).unwrap_err();
        assert!(why.to_string().contains("while allocating machine code"), "{why}");
        assert_eq!(why.kind(), ErrorKind::Memory);
    }

    /// More code, and more sites, than there are addresses for: what does not fit is refused, and
    /// existing code is unchanged.
    #[test]
    #[ignore = "runs in a process of its own"]
    fn no_addresses() {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = status.split(' ').next().unwrap().parse().unwrap();
        // Room for the smallest address range only, with two pools in it, and the memory of the
        // test.
        let bytes = pages * 4096 + (230 << 20);
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: a limit of this process.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
        let (loaded, watch) = (Loaded::new(), Watch::start());
        let target = loaded.target(1);
        loaded.put(&target);
        let _on = loaded.runtime.enable_stats(every(1)).unwrap();
        let full: Vec<_> =
            [20 << 20, 8 << 20, 3 << 20, 20 << 20, 8 << 20, 3 << 20, 1 << 19, 1 << 18]
                .iter()
                .flat_map(|bytes| (0..4).map(|_| BareCode::new(&vec![0xc3; *bytes])))
                .collect();
        let (mut fits, refused): (Vec<_>, Vec<_>) = full.into_iter().partition(Result::is_ok);
        assert!(!fits.is_empty());
        assert!(refused.into_iter().all(|code| code.is_err_and(|why| why.is_memory())));
        while let Ok(code) = BareCode::new(&[0xc3; 4096]) {
            fits.push(Ok(code));
        }
        while let Ok(code) = BareCode::new(&[0xc3; 64]) {
            fits.push(Ok(code));
        }
        let bytes = || loaded.main.machine_code().unwrap().bytes();
        let (before, count) = (bytes(), loaded.runtime.programs().len());
        let options = LoadOptions::default();
        let why = loaded.runtime.load(&program("main", MAIN), &loaded.maps, &options).unwrap_err();
        assert_eq!(why.kind(), ErrorKind::Memory);
        assert!(why.to_string().contains("load program 'main'"), "{why}");
        assert_eq!((bytes(), loaded.runtime.programs().len()), (before, count));
        assert_eq!((loaded.run(), loaded.main.stats().run_cnt), (1, 1));
        // After something was freed there is room again.
        drop(fits);
        let again = loaded.target(2);
        loaded.put(&again);
        assert_eq!((loaded.run(), again.stats().run_cnt), (2, 1));
        watch.end();
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn forks() {
        let loaded = Loaded::new();
        let (one, two) = (loaded.target(1), loaded.target(2));
        loaded.put(&one);
        let code = BareCode::new(&SWITCHED).unwrap();
        let turn = |on: bool| {
            let mut batch = Batch::new();
            batch.add(&code.switch(2).unwrap(), on);
            batch.commit().unwrap();
        };
        // Threads run timed programs while the process forks. They count their runs, as this thread
        // does.
        let (done, runs, watch) = (AtomicBool::new(false), AtomicU64::new(0), Watch::start());
        let _on = loaded.runtime.enable_stats(every(1)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        assert!((1..=2).contains(&loaded.run()));
                        runs.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for round in 0..20 {
                turn(round % 2 == 0);
                let seen = (loaded.run(), call(&code, 0));
                let status = forked(|| {
                    let before = loaded.main.stats();
                    assert!(before.run_cnt.abs_diff(before.timed_cnt) <= 2, "{before:?}");
                    // Everything is unchanged, and belongs to the child.
                    assert_eq!((loaded.run(), call(&code, 0)), seen);
                    turn(round % 2 == 1);
                    loaded.put(&two);
                    assert_eq!((loaded.run(), call(&code, 0)), (2, 1 - seen.1));
                    loaded.slots().delete(&[0; 4]).unwrap();
                    assert_eq!(loaded.run(), 7);
                    let third = loaded.target(3);
                    loaded.put(&third);
                    assert_eq!(loaded.run(), 3);
                    assert_eq!(third.stats().run_cnt, 1);
                    // Counts of other threads from before are included, and only this thread counts
                    // now.
                    assert_eq!(loaded.main.stats().since(&before).run_cnt, 4);
                    if round == 0 {
                        storm(200);
                    }
                    if round == 1 {
                        let grandchild = forked(|| {
                            loaded.put(&one);
                            turn(round % 2 == 0);
                            assert_eq!((loaded.run(), call(&code, 0)), (1, seen.1));
                            attack(code.address(0));
                        });
                        assert_eq!((grandchild, loaded.run(), call(&code, 0)), (0, 3, 1 - seen.1));
                    }
                });
                assert_eq!(status, 0);
                assert_eq!((loaded.run(), call(&code, 0)), seen);
                runs.fetch_add(2, Ordering::Relaxed);
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(loaded.main.stats().run_cnt, runs.load(Ordering::Relaxed));
        assert_eq!(one.stats().run_cnt, runs.load(Ordering::Relaxed));
        watch.end();
    }

    /// Another thread switches statistics and reads them whenever the process forks: a child does
    /// the same, and does not wait for a thread that does not exist.
    #[test]
    #[ignore = "runs in a process of its own"]
    fn forks_while_switched() {
        let loaded = Loaded::new();
        let switch = || {
            let on = loaded.runtime.enable_stats(every(1)).unwrap();
            assert!(!loaded.runtime.programs().is_empty());
            on
        };
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    drop(switch());
                }
            });
            let children = (0..200).map(|_| {
                forked(|| {
                    // SAFETY: kills the child if it waits.
                    unsafe { libc::alarm(10) };
                    let before = loaded.main.stats().run_cnt;
                    let _on = switch();
                    assert_eq!(loaded.run(), 7);
                    assert_eq!(loaded.main.stats().run_cnt, before + 1);
                })
            });
            let failed = children.filter(|status| *status != 0).take(1).count();
            done.store(true, Ordering::Relaxed);
            assert_eq!(failed, 0);
        });
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn forks_without_memory() {
        let (loaded, watch) = (Loaded::new(), Watch::start());
        let code = BareCode::new(&SWITCHED).unwrap();
        let switch = code.switch(2).unwrap();
        assert_eq!(loaded.run(), 7);
        refuse(&[libc::SYS_memfd_create]);
        let status = forked(|| {
            let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
            let why = loaded.main.run(&mut ctx).unwrap_err();
            assert!(why.to_string().contains("forked child"), "{why}");
            let mut batch = Batch::new();
            batch.add(&switch, true);
            assert!(batch.commit().is_err() && code.switch(2).is_none());
        });
        assert_eq!(status, 0);
        assert_eq!(loaded.run(), 7);
        watch.end();
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn attacks() {
        let code = BareCode::new(&SWITCHED).unwrap();
        let attack_all = || {
            attack(code.address(0));
            // SAFETY: nobody writes.
            attack_alias(unsafe { code.writable() });
            assert_eq!(call(&code, 0), 0);
            no_memory_is_writable_and_executable();
        };
        attack_all();
        // The copy of a child is protected like its parent's.
        assert_eq!(forked(attack_all), 0);
    }

    /// If barriers are refused, code is in the same kind of memory.
    #[test]
    #[ignore = "runs in a process of its own"]
    fn attacks_without_membarrier() {
        refuse(&[libc::SYS_membarrier]);
        let loaded = Loaded::with(PokeMode::Flag);
        attack(placed_code(&loaded.main).unwrap().address());
        assert_eq!(loaded.run(), 7);
        no_memory_is_writable_and_executable();
    }

    /// If `memfd` is refused, code is in anonymous memory, which is sealed if the kernel supports
    /// it; also in a child.
    #[test]
    #[ignore = "runs in a process of its own"]
    fn attacks_without_memfd() {
        refuse(&[libc::SYS_memfd_create]);
        let loaded = Loaded::with(PokeMode::Flag);
        let at = placed_code(&loaded.main).unwrap().address();
        let attack_all = || {
            assert_eq!(loaded.run(), 7);
            match mseal_is_there() {
                true => attack(at),
                false => attack_unsealed(at),
            }
            attack_backing(at);
            no_memory_is_writable_and_executable();
            assert_eq!(loaded.run(), 7);
        };
        attack_all();
        let child = || {
            attack_all();
            // Its memory is separate.
            loaded.put(&loaded.target(3));
            assert_eq!(loaded.run(), 3);
            loaded.slots().delete(&[0; 4]).unwrap();
            assert_eq!(forked(attack_all), 0);
        };
        assert_eq!(forked(child), 0);
    }
}
