//! The machine by itself: calls, callbacks, fuel, and what bad bare insns lead to. What insns
//! compute is in `tests/exec`, judged by the kernel.

use skep_insn::asm::assemble;
use skep_interp::{Exit, Fault, FaultKind, FlatMemory, Limits, Linked, run};
use skep_verifier::Xlated;
use std::sync::Arc;

fn linked(text: &str) -> Arc<Linked> {
    let helper = |name: &str| (name == "bpf_loop").then_some(181);
    let assembly = assemble(text, &helper).expect("assembles");
    let xlated = Xlated::bare(&assembly.insns).expect("is closed");
    Arc::new(Linked {
        xlated: Arc::new(xlated),
        maps: Vec::new(),
        kfuncs: Vec::new(),
        func_base: 1 << 40,
        hits: None,
    })
}

fn execute(text: &str, fuel: u64) -> Result<Exit, Fault> {
    let memory = FlatMemory::new(&[1, 2, 3, 4, 5, 6, 7, 8]);
    run(&linked(text), &memory, FlatMemory::CTX, Limits { fuel })
}

#[test]
fn calls_keep_the_callers_registers_and_stack() {
    let exit = execute(
        "r6 = 7
         *(u64 *)(r10 - 8) = 11
         r1 = r10
         r1 += -8
         call sub
         r1 = *(u64 *)(r10 - 8)
         r0 += r6
         r0 += r1
         exit
         sub: r6 = 100
         *(u64 *)(r10 - 8) = 1000
         *(u64 *)(r1 + 0) = 12
         r0 = 10000
         exit",
        100,
    );
    assert_eq!(exit, Ok(Exit { r0: 10019, insns: 14, fuel: 1 }));
}

#[test]
fn callbacks_run_on_the_same_memory() {
    let exit = execute(
        "*(u64 *)(r10 - 8) = 0
         r1 = 10
         r2 = func[body]
         r3 = r10
         r3 += -8
         r4 = 0
         call bpf_loop
         r6 = *(u64 *)(r10 - 8)
         r0 += r6
         exit
         body: r3 = *(u64 *)(r2 + 0)
         r3 += r1
         *(u64 *)(r2 + 0) = r3
         r0 = 0
         if r1 != 4 goto out
         r0 = 1
         out: exit",
        1000,
    );
    // Five rounds, and 0 + 1 + 2 + 3 + 4.
    assert_eq!(exit.map(|e| e.r0), Ok(15));
}

/// Three jumps backwards, and one that is not taken; the call; nothing for the jump forward.
#[test]
fn fuel_is_for_jumps_backwards_and_calls() {
    let text = "r6 = 4
         goto b
         a: r6 += -1
         b: if r6 != 1 goto a
         call sub
         exit
         sub: r0 = 7
         exit";
    let used = |fuel| execute(text, fuel).map(|exit| exit.fuel).map_err(|fault| fault.kind);
    assert_eq!((used(1000), used(4)), (Ok(4), Ok(4)));
    assert_eq!((used(3), used(0)), (Err(FaultKind::OutOfFuel), Err(FaultKind::OutOfFuel)));
}

#[test]
fn a_run_ends_where_it_may_not_go_on() {
    let kind = |text| execute(text, 1000).map_err(|fault| fault.kind);
    assert_eq!(kind("a: goto a\nexit"), Err(FaultKind::OutOfFuel));
    assert_eq!(kind("call a\nexit\na: call a\nexit"), Err(FaultKind::StackOverflow));
    let bad = |addr, size, write| Err(FaultKind::BadAccess { addr, size, write });
    assert_eq!(kind("r0 = *(u64 *)(r1 + 1)\nexit"), bad(FlatMemory::CTX + 1, 8, false));
    assert_eq!(kind("*(u8 *)(r1 + 8) = 0\nexit"), bad(FlatMemory::CTX + 8, 1, true));
    assert_eq!(kind("r0 = *(u8 *)(r0 + 0)\nexit"), bad(0, 1, false));
    assert!(kind("r1 = *(u8 *)(r10 + 0)\nexit").is_err());
}

#[test]
fn a_fault_names_its_insn() {
    let fault = execute("r0 = 0\nr0 = 1\nr0 = *(u8 *)(r0 + 0)\nexit", 10).expect_err("a fault");
    assert_eq!((fault.insn_idx, fault.insns), (Some(2), 3));
    let text = "load from 0x1, 1 bytes: not the program's memory (at insn 2 after 3 insns)";
    assert_eq!(fault.to_string(), text);
}

#[test]
fn bare_insns_must_be_closed() {
    let bare = |text: &str| {
        let assembly = assemble(text, &|_| None).expect("assembles");
        Xlated::bare(&assembly.insns).map(drop).map_err(|e| e.to_string())
    };
    let refused = |what: &str| Err(format!("not supported yet: {what}"));
    assert_eq!(bare("r0 = 0"), refused("insn 0: falls out of its function"));
    assert_eq!(bare("goto pc+5\nexit"), refused("insn 0: a jump out of its function"));
    assert_eq!(bare(""), refused("insns that are not closed"));
    assert_eq!(bare("exit"), Ok(()));
}
