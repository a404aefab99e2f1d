//! Batches of sites: what they change, what they refuse, and that threads never see anything else.

use skep_text::BareCode;
use skep_text::poke::{Batch, EditError, Error, Jump, Switch};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// `mov eax, 0; test eax, imm32 | jmp on; ret; on: mov eax, 1; ret`, each with `lead` bytes before.
const SWITCHED: [u8; 17] = [0xb8, 0, 0, 0, 0, 0xa9, 1, 0, 0, 0, 0xc3, 0xb8, 1, 0, 0, 0, 0xc3];
const SWITCH_AT: u32 = 5;

/// `nop; nop; nop; jmp one; one: mov eax, 1; ret; two: mov eax, 2; ret; int3`.
const RETARGETED: [u8; 21] =
    [0x90, 0x90, 0x90, 0xe9, 0, 0, 0, 0, 0xb8, 1, 0, 0, 0, 0xc3, 0xb8, 2, 0, 0, 0, 0xc3, 0xcc];

fn call(code: &BareCode, off: u32) -> u32 {
    // SAFETY: the functions of this file are right in all states of their sites.
    let function: extern "C" fn() -> u32 =
        unsafe { std::mem::transmute(code.address(off) as *const u8) };
    function()
}

/// `count` functions with a switch each, at all alignments.
fn switched(count: usize) -> (BareCode, Vec<(u32, Switch)>) {
    let bytes: Vec<u8> = (0..count).flat_map(|_| SWITCHED).collect();
    let code = BareCode::new(&bytes).expect("room");
    let offs = (0..count).map(|n| (n * SWITCHED.len()) as u32);
    let sites = offs.map(|off| (off, code.switch(off + SWITCH_AT).expect("a switch"))).collect();
    (code, sites)
}

fn retargeted() -> (BareCode, Jump) {
    let code = BareCode::new(&RETARGETED).expect("room");
    let jump = code.jump(3).expect("a jump");
    (code, jump)
}

#[test]
fn a_batch_changes_all_its_sites() {
    let (code, sites) = switched(200);
    for (on, nowait) in [(true, false), (false, true), (true, true), (true, false), (false, false)]
    {
        let mut batch = Batch::new();
        sites.iter().for_each(|(_, switch)| batch.add(switch, on));
        if nowait { batch.commit_nowait() } else { batch.commit() }.unwrap();
        assert!(sites.iter().all(|(off, _)| call(&code, *off) == u32::from(on)));
    }
    let (code, jump) = retargeted();
    assert_eq!(call(&code, 0), 1);
    let mut batch = Batch::new();
    batch.retarget(&jump, &code.target(14).unwrap());
    batch.commit().unwrap();
    assert_eq!(call(&code, 0), 2);
}

#[test]
fn of_two_changes_of_one_site_the_later_one_holds() {
    let (code, sites) = switched(1);
    let (off, switch) = &sites[0];
    for changes in [[true, false], [false, true], [true, true], [true, false], [false, false]] {
        let mut batch = Batch::new();
        changes.iter().for_each(|on| batch.add(switch, *on));
        batch.commit().unwrap();
        assert_eq!(call(&code, *off), u32::from(changes[1]), "{changes:?}");
    }
    let (code, jump) = retargeted();
    let mut batch = Batch::new();
    batch.retarget(&jump, &code.target(14).unwrap());
    batch.retarget(&jump, &code.target(8).unwrap());
    batch.commit().unwrap();
    assert_eq!(call(&code, 0), 1);
}

/// Everything that can be wrong with a batch, between two changes that are right: the error says
/// which it is, and every byte of all code is what it was.
#[test]
fn a_batch_with_something_wrong_changes_nothing() {
    let (code, sites) = switched(3);
    let (jumping, jump) = retargeted();
    let (gone, gone_sites) = switched(1);
    let (gone_jumping, gone_jump) = retargeted();
    let gone_target = gone_jumping.target(8).unwrap();
    drop((gone, gone_jumping));
    // Other code may have taken their place.
    let (other, _) = switched(1);
    assert!(gone_sites[0].1.is_freed() && gone_jump.is_freed() && gone_target.is_freed());
    let [one, two] = [8, 14].map(|off| jumping.target(off).unwrap());
    let stale = |expected, found| EditError::Stale { number: 2, expected, found };
    type Wrong<'a> = Box<dyn Fn(&mut Batch) + 'a>;
    let wrongs: [(Wrong<'_>, EditError); 6] = [
        (Box::new(|batch| batch.add(&gone_sites[0].1, true)), EditError::Freed(2)),
        (Box::new(|batch| batch.retarget(&gone_jump, &one)), EditError::Freed(2)),
        (Box::new(|batch| batch.retarget(&jump, &gone_target)), EditError::Freed(2)),
        (Box::new(|batch| batch.add_from(&sites[1].1, true, false)), stale(0xe9, 0xa9)),
        (Box::new(|batch| batch.add_from(&sites[1].1, true, true)), stale(0xe9, 0xa9)),
        (Box::new(|batch| batch.retarget_from(&jump, &two, &one)), stale(6, 0)),
    ];
    let bytes = || [bytes(&code, 51), bytes(&jumping, 21), bytes(&other, 17)];
    let before = bytes();
    for (wrong, why) in wrongs {
        let mut batch = Batch::new();
        batch.add(&sites[0].1, true);
        batch.retarget(&jump, &two);
        wrong(&mut batch);
        batch.add(&sites[2].1, true);
        assert_eq!(batch.commit(), Err(Error::Edit(why.clone())));
        assert_eq!(batch.commit_nowait(), Err(Error::Edit(why)));
        assert_eq!(bytes(), before);
    }
    // Without what is wrong it is done.
    let mut batch = Batch::new();
    batch.add(&sites[0].1, true);
    batch.retarget(&jump, &two);
    batch.add(&sites[2].1, true);
    batch.commit().unwrap();
    let changed = |at: usize| {
        let (before, now) = (&before[at], &bytes()[at]);
        before.iter().zip(now).filter(|(a, b)| a != b).count()
    };
    assert_eq!([0, 1, 2].map(changed), [2, 1, 0]);
}

/// All of the code.
fn bytes(code: &BareCode, len: usize) -> Vec<u8> {
    // SAFETY: the code is readable, and nobody writes it now.
    unsafe { std::slice::from_raw_parts(code.address(0) as *const u8, len).to_vec() }
}

#[test]
fn what_is_no_site_is_none() {
    let (code, _) = switched(1);
    assert!(code.switch(0).is_none() && code.switch(14).is_none());
    assert!(code.switch(u32::MAX).is_none() && code.jump(u32::MAX).is_none());
    let (code, _) = retargeted();
    assert!(code.jump(4).is_none() && code.target(21).is_none() && code.target(20).is_some());
}

/// Two threads run all sites while a third turns them; a sequence number says which values a run
/// may have seen.
#[test]
fn threads_see_the_old_or_the_new_and_nothing_stale_after_commit() {
    let (code, sites) = switched(164);
    let (jumping, jump) = retargeted();
    // Even: settled, off when it is a multiple of 4; odd: changing.
    let (sequence, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let settled = |seq: u64| u32::from(seq % 4 == 2);
    std::thread::scope(|scope| {
        let run = || {
            let mut executions = 0u64;
            while !done.load(Ordering::Relaxed) {
                let before = sequence.load(Ordering::SeqCst);
                let seen: u32 = sites.iter().map(|(off, _)| call(&code, *off)).sum();
                let target = call(&jumping, 0);
                let after = sequence.load(Ordering::SeqCst);
                assert!(seen <= 164 && (1..=2).contains(&target));
                if before == after && before % 2 == 0 {
                    assert_eq!((seen, target), (164 * settled(before), 1 + settled(before)));
                }
                executions += 165;
            }
            executions
        };
        let runners = [scope.spawn(run), scope.spawn(run)];
        for round in 0..3_000u64 {
            let on = round % 2 == 0;
            let mut batch = Batch::new();
            sites.iter().for_each(|(_, switch)| batch.add_from(switch, !on, on));
            batch.retarget(&jump, &jumping.target(if on { 14 } else { 8 }).unwrap());
            sequence.fetch_add(1, Ordering::SeqCst);
            batch.commit().unwrap();
            sequence.fetch_add(1, Ordering::SeqCst);
        }
        done.store(true, Ordering::Relaxed);
        let executions: u64 = runners.map(|runner| runner.join().unwrap()).iter().sum();
        assert!(executions > 0);
    });
}
