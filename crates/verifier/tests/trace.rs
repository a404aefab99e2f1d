//! The events of a walk: in order, and without an effect on the walk.

use skep_insn::asm::assemble;
use skep_program::Program;
use skep_uapi::helper::HelperId;
use skep_uapi::{KernelProfile, ProgFlags, ProgType};
use skep_verifier::trace::{Apart, Event, Listener, verify_traced};
use skep_verifier::{Config, Outcome, Verdict, verify};

/// Records events in a short form.
#[derive(Default)]
struct Recorder(Vec<String>);

impl Listener for Recorder {
    fn tell(&mut self, event: Event<'_>) {
        self.0.push(match event {
            Event::Function { subprog } => format!("function {subprog}"),
            Event::Insn { insn_idx, .. } => format!("{insn_idx}"),
            Event::Registers(regs) => {
                let values: Vec<_> =
                    regs.numbers().map(|regno| format!("R{regno}={}", regs.value(regno))).collect();
                let by = regs.by.map_or("start".to_owned(), |by| by.to_string());
                format!("by {by}: {}", values.join(" "))
            }
            Event::Waits { from, to } => format!("waits {from} to {to}"),
            Event::GoesOn { from, to, .. } => format!("goes on {from} to {to}"),
            Event::Saved { insn_idx } => format!("saved {insn_idx}"),
            Event::Pruned { insn_idx, .. } => format!("pruned {insn_idx}"),
            Event::KeptApart { insn_idx, why, times, values } => {
                let (saved, current) = (values.saved(), values.current());
                format!("apart {insn_idx}: {why:?} {times}: {saved:?} {current:?}")
            }
            Event::Precise { insn_idx, by, regs, .. } => {
                format!("precise {insn_idx}: {regs:#x} by {by}")
            }
            Event::Refused { insn_idx, kind, .. } => format!("refused {insn_idx}: {}", kind.code()),
            other => format!("{other:?}"),
        });
    }
}

fn program(text: &str) -> Program {
    let helper = |name: &str| HelperId::from_name(name).map(|id| id as u32);
    Program {
        name: "main".to_owned(),
        prog_type: ProgType::SocketFilter,
        license: "GPL".to_owned(),
        // A state is saved at every prune point.
        prog_flags: ProgFlags::TEST_STATE_FREQ,
        insns: assemble(text, &helper).expect(text).insns,
        ..Program::default()
    }
}

fn traced(text: &str) -> (Outcome, Vec<String>) {
    let mut told = Recorder::default();
    let config = Config::privileged(KernelProfile::v6_18());
    let outcome = verify_traced(&program(text), &config, &mut told);
    (outcome, told.0)
}

const BRANCH: &str = "
    call bpf_get_prandom_u32
    r6 = 1
    if r0 > 7 goto out
    r6 = 2
out:
    r0 = *(u8 *)(r6 + 0)
    exit";

#[test]
fn a_refusal_is_told_with_the_path_to_it() {
    let (_, told) = traced(BRANCH);
    let expected = [
        "function 0",
        "by start: R1=ctx() R10=fp0",
        "0",
        "saved 1",
        "by 0: R0=scalar()",
        "1",
        "saved 2",
        "by 1: R6=1",
        "2",
        "waits 2 to 4",
        "by 2: R0=scalar(smin=smin32=0,smax=umax=smax32=umax32=7,var_off=(0x0; 0x7))",
        "3",
        "saved 4",
        "by 3: R6=2",
        "4",
        "refused 4: not-a-pointer-to-memory",
    ];
    assert_eq!(told, expected);
}

#[test]
fn paths_end_and_go_on() {
    let (outcome, told) = traced(
        "
        call bpf_get_prandom_u32
        r6 = r0
        r1 = 0
        if r6 > 7 goto out
        r1 = 1
    out:
        if r1 == 3 goto +0
        r0 = 0
        exit",
    );
    assert!(matches!(outcome.verdict, Verdict::Accepted(_)));
    let at = |what: &str| told.iter().position(|line| line == what);
    assert!(at("waits 3 to 5") < at("goes on 3 to 5"), "{told:?}");
    assert!(told.iter().filter(|line| line.starts_with("waits")).count() >= 1);
    let [waits, goes_on] =
        ["waits", "goes on"].map(|what| told.iter().filter(|l| l.starts_with(what)).count());
    assert_eq!(waits, goes_on);
}

#[test]
fn a_state_that_does_not_cover_says_which_register_kept_them_apart() {
    // The value of r6 determines the address of the load, so its two values cannot share a path.
    let (outcome, told) = traced(
        "
        call bpf_get_prandom_u32
        r6 = 0
        if r0 > 7 goto out
        r6 = 8
    out:
        *(u64 *)(r10 - 8) = 0
        *(u64 *)(r10 - 16) = 0
        r7 = r10
        r7 += -16
        r7 += r6
        r0 = *(u8 *)(r7 + 0)
        r0 = 0
        exit",
    );
    assert!(matches!(outcome.verdict, Verdict::Accepted(_)), "{:?}", outcome.verdict);
    let r6 = Apart::Register { frame: 0, regno: 6 };
    let apart = format!("apart 4: {r6:?} 1: {:?} {:?}", Some("8"), Some("0"));
    // The precision required by the addition to a pointer is known before the state is reached
    // again.
    let at = |wanted: &str| told.iter().position(|line| line == wanted);
    assert!(at("precise 4: 0x40 by 8").is_some_and(|by| Some(by) < at(&apart)), "{told:?}");
    assert!(told.contains(&"saved 4".to_owned()) && told.contains(&apart), "{told:?}");
}

#[test]
fn states_that_the_same_kept_apart_are_told_together() {
    let (outcome, told) = traced(
        "
        call bpf_get_prandom_u32
        r6 = 0
        if r0 > 7 goto out
        r6 = 8
        if r0 > 5 goto out
        r6 = 16
    out:
        *(u64 *)(r10 - 8) = 0
        *(u64 *)(r10 - 16) = 0
        *(u64 *)(r10 - 24) = 0
        r7 = r10
        r7 += -24
        r7 += r6
        r0 = *(u8 *)(r7 + 0)
        r0 = 0
        exit",
    );
    assert!(matches!(outcome.verdict, Verdict::Accepted(_)), "{:?}", outcome.verdict);
    let apart: Vec<&str> = told.iter().filter_map(|line| line.strip_prefix("apart 6: ")).collect();
    let r6 = Apart::Register { frame: 0, regno: 6 };
    // The last path meets two saved states: both are only counted, the reason is known.
    let expected = [format!("{r6:?} 1: Some(\"16\") Some(\"8\")"), format!("{r6:?} 2: None None")];
    assert_eq!(apart, expected);
}

/// Counts events, and does not want registers.
#[derive(Default)]
struct Counted(Vec<(u32, u32)>);

impl Listener for Counted {
    fn tell(&mut self, event: Event<'_>) {
        match event {
            Event::Insn { insn_idx, .. } | Event::Pruned { insn_idx, .. } => {
                self.0.push((insn_idx, 1));
            }
            Event::Run { first, insns, .. } => self.0.push((first, insns)),
            Event::Registers(_) => panic!("it wants no registers"),
            _ => {}
        }
    }

    fn wants_registers(&self) -> bool {
        false
    }
}

#[test]
fn insns_on_scalars_are_one_run_for_who_wants_no_registers() {
    let text = "
        r0 = 1
        r0 += 2
        r0 *= 3
        if r0 > 7 goto out
        r0 = 7
        r0 &= 1
    out:
        exit";
    let mut counted = Counted::default();
    let config = Config::privileged(KernelProfile::v6_18());
    let outcome = verify_traced(&program(text), &config, &mut counted);
    let sum: u32 = counted.0.iter().map(|(_, insns)| insns).sum();
    assert_eq!(sum, outcome.stats.insns_processed, "{:?}", counted.0);
    assert!(counted.0.iter().any(|&(_, insns)| insns > 1), "{:?}", counted.0);
}

#[test]
fn listening_changes_nothing() {
    for text in [BRANCH, "r0 = 0\nexit", "r0 = 100\nl: r0 -= 1\nif r0 != 0 goto l\nexit"] {
        for log_level in [0, 1, 2] {
            let mut config = Config::privileged(KernelProfile::v6_18());
            (config.log_level, config.log_bytes_max) = (log_level, 1 << 20);
            let alone = verify(&program(text), &config);
            let heard = verify_traced(&program(text), &config, &mut Recorder::default());
            assert_eq!(heard.log, alone.log, "{text}");
            let counts = |o: &Outcome| (o.stats.insns_processed, o.stats.total_states);
            assert_eq!(counts(&heard), counts(&alone), "{text}");
        }
    }
}
