//! Late changes: a second thread that starts during a long run of the first, system call filters
//! installed after programs were loaded, programs loaded one after another where nothing may be
//! patched.

use super::*;
use std::sync::mpsc::channel;

#[test]
fn what_comes_late() {
    // The run may end before the second thread starts: on a busy machine it takes several attempts.
    let runs_alone = |test| alone(test, &[]).status.success();
    assert!((0..20).any(|_| runs_alone("late::second_thread")));
    passes("late::second_thread_without_membarrier");
    passes("late::many_threads_without_membarrier");
    passes("late::flagged_code_is_freed");
    passes("late::flagged_code_is_freed_without_membarrier");
    assert!((0..20).any(|_| runs_alone("late::code_is_not_replaced_while_runs_go_on")));
    passes("late::helpers_without_memfd");
    passes("late::loads_in_a_child_without_code");
}

/// Waits until the map `stop` is set: returns 1; returns 2 after some tenths of a second.
const WAITS: &str = "r6 = 0
    *(u32 *)(r10 - 4) = r6
    r2 = r10
    r2 += -4
    r1 = map[stop]
    call bpf_map_lookup_elem
    if r0 == 0 goto seen
    r7 = r0
again:
    may_goto late
    call bpf_ktime_get_ns
    call bpf_ktime_get_ns
    call bpf_ktime_get_ns
    call bpf_ktime_get_ns
    r1 = *(u64 *)(r7 + 0)
    if r1 == 0 goto again
seen:
    r0 = 1
    exit
late:
    r0 = 2
    exit";

/// The first thread is alone until the second starts, which does not wait for its run.
#[test]
#[ignore = "runs in a process of its own"]
fn second_thread() {
    let loaded = Loaded::new();
    let program = program("waits", WAITS);
    let waits = loaded.runtime.load(&program, &loaded.maps, &LoadOptions::default()).unwrap();
    let (started, wait_started) = channel();
    let first = std::thread::spawn(move || {
        let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
        started.send(()).unwrap();
        waits.run(&mut ctx).unwrap().r0
    });
    wait_started.recv().unwrap();
    let stop = loaded.maps.get("stop").unwrap();
    stop.update(&[0; 4], &1u64.to_ne_bytes(), UpdateFlags::Any).unwrap();
    assert_eq!(first.join().unwrap(), 1);
}

/// Barriers are refused when one thread has run programs: no other thread can run any.
#[test]
#[ignore = "runs in a process of its own"]
fn second_thread_without_membarrier() {
    let loaded = Loaded::new();
    assert_eq!(loaded.run(), 7);
    refuse(&[libc::SYS_membarrier]);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
            loaded.main.run(&mut ctx).unwrap_err().to_string()
        });
        let why = second.join().unwrap();
        assert!(why.contains("no second thread") && why.contains("membarrier"), "{why}");
    });
    assert_eq!(loaded.run(), 7);
}

/// They are refused when two have: any number of threads can, and statistics can still be switched
/// off.
#[test]
#[ignore = "runs in a process of its own"]
fn many_threads_without_membarrier() {
    let loaded = Loaded::new();
    let one = loaded.target(1);
    loaded.put(&one);
    assert_eq!(loaded.run(), 1);
    std::thread::scope(|scope| assert_eq!(scope.spawn(|| loaded.run()).join().unwrap(), 1));
    let on = loaded.runtime.enable_stats(every(1)).unwrap();
    assert_eq!(loaded.run(), 1);
    refuse(&[libc::SYS_membarrier]);
    // Programs loaded now are counted as well.
    let two = loaded.target(2);
    let run_two = || two.run(&mut Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap()).unwrap().r0;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!((loaded.run(), run_two()), (1, 2)));
        }
    });
    let counts = || [&loaded.main, &one, &two].map(|program| program.stats().run_cnt);
    assert_eq!(counts(), [5, 5, 4]);
    drop(on);
    assert!(!loaded.runtime.stats_enabled());
    assert_eq!((loaded.run(), run_two()), (1, 2));
    assert_eq!(counts(), [5, 5, 4]);
}

/// Resident pages of this process that are shared with files.
fn shared_pages() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(2).unwrap().parse().unwrap()
}

/// Loads and frees programs of hundreds of KiB, runs each, and checks the memory that remains.
fn loads_and_frees() {
    let loaded = Loaded::with(PokeMode::Flag);
    let load = |value: u64| {
        let work: String =
            (1..8_000).map(|n| format!("r1 *= {}\nr1 ^= {n}\n", 2 * n + 1)).collect();
        let text =
            format!("r1 = *(u32 *)(r1 + 12)\n{work}r0 = r1\nr0 &= 1\nr0 += {}\nexit", 2 * value);
        let tuning = Tuning { poke: PokeMode::Flag, ..Tuning::default() };
        let options = LoadOptions { tuning, ..LoadOptions::default() };
        let program = program("big", &text);
        let mut last = (0, 0);
        for _ in 0..40 {
            let big = loaded.runtime.load(&program, &loaded.maps, &options).unwrap();
            let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
            assert_eq!(big.run(&mut ctx).unwrap().r0 / 2, value);
            let code = placed_code(&big).unwrap();
            last = (code.address(), code.bytes().len());
        }
        last
    };
    let (first, len) = load(1);
    let before = shared_pages();
    let (second, _) = load(2);
    assert!(len > 100_000, "{len} bytes of code");
    assert!(shared_pages() < before + len as u64 / 4096 * 4, "what is freed stays");
    assert_eq!(first, second, "addresses are not used again");
    no_memory_is_writable_and_executable();
}

#[test]
#[ignore = "runs in a process of its own"]
fn flagged_code_is_freed() {
    loads_and_frees();
}

#[test]
#[ignore = "runs in a process of its own"]
fn flagged_code_is_freed_without_membarrier() {
    refuse(&[libc::SYS_membarrier]);
    loads_and_frees();
}

/// A thread that runs programs meanwhile may execute new code without having serialised its
/// instruction stream since the old code was there.
#[test]
#[ignore = "runs in a process of its own"]
fn code_is_not_replaced_while_runs_go_on() {
    refuse(&[libc::SYS_membarrier]);
    let loaded = Loaded::new();
    let program = program("waits", WAITS);
    let waits = loaded.runtime.load(&program, &loaded.maps, &LoadOptions::default()).unwrap();
    let place = || placed_code(&loaded.target(1)).unwrap().address();
    assert_eq!(place(), place());
    let (started, wait_started) = channel();
    let first = std::thread::spawn(move || {
        let mut ctx = Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap();
        started.send(()).unwrap();
        waits.run(&mut ctx).unwrap().r0
    });
    wait_started.recv().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let places = [place(), place()];
    let stop = loaded.maps.get("stop").unwrap();
    stop.update(&[0; 4], &1u64.to_ne_bytes(), UpdateFlags::Any).unwrap();
    assert_eq!(first.join().unwrap(), 1);
    assert_ne!(places[0], places[1]);
}

/// Helpers are in reach of code at any address.
#[test]
#[ignore = "runs in a process of its own"]
fn helpers_without_memfd() {
    refuse(&[libc::SYS_memfd_create]);
    let loaded = Loaded::new();
    let program = program("cpu", "call bpf_get_smp_processor_id\nr0 |= 64\nexit");
    let cpu = loaded.runtime.load(&program, &loaded.maps, &LoadOptions::default()).unwrap();
    let run = cpu.run(&mut Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap()).unwrap();
    assert_eq!(run.r0 & !63, 64);
}

/// A child without the parent's code reports that when it loads a program, and does not touch the
/// memory at the addresses of the parent's code.
#[test]
#[ignore = "runs in a process of its own"]
fn loads_in_a_child_without_code() {
    let loaded = Loaded::new();
    assert_eq!(loaded.run(), 7);
    refuse(&[libc::SYS_memfd_create]);
    let status = forked(|| {
        let program = program("late", "r0 = 1\nexit");
        let why = loaded.runtime.load(&program, &loaded.maps, &LoadOptions::default());
        assert_eq!(why.unwrap_err().kind(), ErrorKind::Memory);
    });
    assert_eq!(status, 0);
}

#[test]
#[ignore = "runs in a process of its own"]
fn no_membarrier() {
    let (loaded, watch) = (Loaded::new(), Watch::start());
    let (one, two) = (loaded.target(1), loaded.target(2));
    loaded.put(&one);
    let code = BareCode::new(&SWITCHED).unwrap();
    assert_eq!((loaded.run(), call(&code, 0)), (1, 0));
    refuse(&[libc::SYS_membarrier]);
    let mut batch = Batch::new();
    batch.add(&code.switch(2).unwrap(), true);
    assert!(matches!(batch.commit(), Err(poke::Error::Barrier(_))));
    let id = two.id().to_ne_bytes();
    let refused = loaded.slots().update(&[0; 4], &id, UpdateFlags::Any);
    assert!(refused.unwrap_err().to_string().contains("EPERM"));
    assert!(loaded.slots().delete(&[0; 4]).is_err());
    assert_eq!((loaded.run(), call(&code, 0)), (1, 0));
    // Changes that wait for no thread still work.
    batch.commit_nowait().unwrap();
    assert_eq!(call(&code, 0), 1);
    // The code is as requested, but it is unknown whether all threads execute it.
    assert!(matches!(batch.commit(), Err(poke::Error::Barrier(_))));
    // Statistics that cannot be switched on count nothing.
    assert!(loaded.runtime.enable_stats(StatsOptions::default()).is_err());
    assert_eq!(loaded.run(), 1);
    assert!(loaded.runtime.programs().iter().all(|program| program.stats.run_cnt == 0));
    watch.end();
}
