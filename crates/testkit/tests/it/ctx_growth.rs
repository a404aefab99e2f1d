//! How many insns the kernel adds to each context access: a jump over accesses of all kinds to all
//! fields of a context reaches exactly as far as in the kernel.
//!
//! The kernel reports the length of a program with each access and of one with all of them, and its
//! verdict on a jump over as many as fit, and over one insn more. Without access to a kernel
//! nothing is compared.

use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::Program;
use skep::uapi::ctx::{CtxField, CtxLayout};
use skep::uapi::{KernelProfile, ProgFlags, ProgType};
use skep_kernel::judge::{Answer, Judgement, judge};
use skep_kernel::reference;
use skep_testkit::engine::{self, OurVerdict};
use std::sync::Mutex;

const REACH: usize = i16::MAX as usize;

fn mov(dst: u8, imm: i32) -> Insn {
    Insn { code: BPF_ALU64 | BPF_MOV | BPF_K, dst, imm, ..Insn::default() }
}

fn copy(dst: u8, src: u8) -> Insn {
    Insn { code: BPF_ALU64 | BPF_MOV | BPF_X, dst, src, ..Insn::default() }
}

/// A program type with its own context.
#[derive(Clone, Copy)]
struct Kind {
    prog_type: ProgType,
    attach: u32,
    retval: i32,
}

impl Kind {
    /// A program that jumps over `body`, with the context in r6 and 0 in r7.
    fn program(self, body: &[Insn]) -> Program {
        let jump = Insn {
            code: BPF_JMP | BPF_JEQ | BPF_K,
            imm: 7,
            off: body.len() as i16,
            ..Insn::default()
        };
        let random = Insn { code: BPF_JMP | BPF_CALL, imm: 7, ..Insn::default() };
        let exit = Insn { code: BPF_JMP | BPF_EXIT, ..Insn::default() };
        let mut insns = vec![copy(6, 1), mov(7, 0), random, jump];
        insns.extend(body);
        insns.extend([mov(0, self.retval), exit]);
        let sleepable = self.prog_type == ProgType::Syscall;
        Program {
            name: "far".into(),
            prog_type: self.prog_type,
            expected_attach_type: self.attach,
            prog_flags: if sleepable { ProgFlags::SLEEPABLE } else { ProgFlags::empty() },
            license: "GPL".to_owned(),
            insns,
            ..Program::default()
        }
    }

    /// The kernel's result, and the number of insns that its rewrites add.
    fn asked(self, body: &[Insn]) -> Option<(Judgement, usize)> {
        let program = self.program(body);
        let Answer::Judged(answer) = judge(&program, 4) else { return None };
        let added = (answer.xlated_insns as usize).saturating_sub(program.insns.len());
        Some((answer, added))
    }

    fn accepts(self, body: &[Insn]) -> bool {
        self.asked(body).is_some_and(|(answer, _)| answer.accepted)
    }
}

/// All contexts, each once, with a return value that the kernel accepts.
fn kinds() -> Vec<(Kind, &'static [CtxField])> {
    let mut found: Vec<(Kind, &'static [CtxField])> = Vec::new();
    // The context of netfilter programs is described by the kernel's BTF, and not converted.
    for prog_type in ProgType::all().filter(|ty| *ty != ProgType::Netfilter) {
        for attach in 0..64 {
            let Some(layout) = CtxLayout::find(prog_type, attach) else { continue };
            let fields = layout.fields();
            let is_new = |(_, other): &(Kind, &[CtxField])| !std::ptr::eq(*other, fields);
            if fields.is_empty() || !found.iter().all(is_new) {
                continue;
            }
            let with = |retval| Kind { prog_type, attach, retval };
            let kind = [1, 0, 2].into_iter().map(with).find(|kind| kind.accepts(&[]));
            found.extend(kind.map(|kind| (kind, fields)));
        }
    }
    found
}

/// Every way to access a field: loads of all sizes at all offsets, with and without sign extension,
/// overwriting the context register; stores of registers and immediates.
fn accesses(field: &CtxField) -> Vec<Vec<Insn>> {
    let mut all = Vec::new();
    for (size, bytes) in [(BPF_B, 1), (BPF_H, 2), (BPF_W, 4), (BPF_DW, 8)] {
        for off in (field.off..field.off + field.size.min(16) as i32).step_by(bytes) {
            let at = |code, dst, src| Insn { code: code | size, dst, src, off: off as i16, imm: 0 };
            all.push(vec![at(BPF_LDX | BPF_MEM, 2, 6)]);
            all.push(vec![copy(2, 6), at(BPF_LDX | BPF_MEM, 2, 2)]);
            all.push(vec![at(BPF_LDX | BPF_MEMSX, 2, 6)]);
            all.push(vec![at(BPF_STX | BPF_MEM, 6, 7)]);
            all.push(vec![at(BPF_ST | BPF_MEM, 6, 0)]);
        }
    }
    all
}

/// Whether the rewrite depends on the access alone: that of the time stamp depends on what else the
/// program reads, and only some builds of 6.18.44 mask the half of a word that is read of
/// `rx_queue_mapping`.
fn is_known(field: &CtxField) -> bool {
    !matches!(field.name, "tstamp" | "tstamp_type" | "rx_queue_mapping")
}

#[test]
fn jumps_over_accesses_reach_as_far_as_the_kernel_says() {
    if reference::answers(&KernelProfile::v6_18()).is_err() {
        return;
    }
    // The programs are long.
    let kinds = Mutex::new(kinds().into_iter());
    let next = || kinds.lock().unwrap().next();
    let some =
        || std::iter::from_fn(next).map(|(kind, fields)| reaches(kind, fields)).sum::<usize>();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let compared: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(compared > 2_000, "{compared}");
}

/// Compares how far a jump over all accesses to a context reaches; returns their number.
fn reaches(kind: Kind, fields: &[CtxField]) -> usize {
    let all = fields.iter().filter(|field| is_known(field)).take(64).flat_map(accesses);
    let known: Vec<_> = all.filter(|insns| kind.accepts(insns)).collect();
    let body = known.concat();
    if body.is_empty() {
        return 0;
    }
    let (_, added) = kind.asked(&body).expect("judged");
    let length = body.len() + added;
    assert!(length < REACH, "{} {}: {length}", kind.prog_type, kind.attach);
    let times = REACH / length;
    let mut far = body.repeat(times);
    far.extend(vec![mov(2, 1); REACH - length * times]);
    compare(kind, &far, true);
    far.push(mov(2, 1));
    compare(kind, &far, added == 0 && far.len() <= REACH);
    known.len()
}

fn compare(kind: Kind, body: &[Insn], accepted: bool) {
    if body.len() > REACH {
        // The distance does not fit into a jump.
        return;
    }
    let (theirs, _) = kind.asked(body).expect("judged");
    let what = format!("{} {} {} {}", kind.prog_type, kind.attach, body.len(), theirs.log);
    assert_eq!(theirs.accepted, accepted, "{what}");
    let ours = engine::verify(&kind.program(body), 4);
    assert_eq!(ours.verdict == OurVerdict::Accepted, accepted, "{what}: {:?}", ours.verdict);
    assert_eq!(ours.errno, theirs.errno, "{what}");
    let words = |log: &str| log.lines().find(|line| line.contains("16-bit")).map(str::to_owned);
    assert_eq!(words(&ours.log), words(&theirs.log), "{what}");
}
