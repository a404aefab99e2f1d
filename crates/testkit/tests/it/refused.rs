//! Rejections that no Markdown case can express, because they need types of the program's own, or
//! names that differ between builds of a kernel: our log equals the kernel's, line by line.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use skep::btf::{Btf, Kind, Type};
use skep::insn::Insn;
use skep::insn::code::{BPF_CALL, BPF_JMP, BPF_PSEUDO_BTF_ID, BPF_PSEUDO_KFUNC_CALL};
use skep::program::Program;
use skep::uapi::ProgType;
use skep::{Host, KernelBtf};
use skep_kernel::judge::{Answer, as_loaded, judge};
use skep_kernel::kernel_log::normalise;
use skep_testkit::judge::Judge;
use skep_testkit::{engine, objects};
use std::sync::Arc;

const MAYBE_NULL: &str = "verifier bug: invalid PTR_TO_BTF_ID register for type match";
const NO_FIELDS: &str = "verifier bug: Couldn't find btf_record";

/// Messages of Linux 6.18.44 for the programs of `tests/programs/kfuncs/refused.bpf.c`.
const WANTED: [(&str, &str); 10] = [
    ("xchg_maybe_null", MAYBE_NULL),
    ("xchg_maybe_null_of_other_type", MAYBE_NULL),
    ("xchg_maybe_null_copies", MAYBE_NULL),
    ("xchg_what_was_there", MAYBE_NULL),
    ("xchg_into_object", MAYBE_NULL),
    ("xchg_not_owned", MAYBE_NULL),
    ("acquire_plain", NO_FIELDS),
    ("acquire_copies", NO_FIELDS),
    ("acquire_node", "arg#0 doesn't point to a type with bpf_refcount field"),
    ("acquire_maybe_null", "Possibly NULL pointer passed to trusted arg0"),
];

/// The BTF of the running kernel, if bpf(2) is available.
fn kernel_btf() -> Option<Arc<Btf>> {
    let here = Judge::here();
    here.skips().iter().for_each(|line| eprintln!("skipped: {line}"));
    here.btf().cloned()
}

/// Checks that skep rejects the program with this message, and so does the kernel if available.
fn refused(program: &Program, wanted: &str) {
    let name = &program.name;
    let ours = engine::verify(program, 2 | 4);
    assert_eq!((ours.verdict.name(), ours.verdict.reason()), ("rejected", wanted), "{name}");
    if Judge::here().answers.is_err() {
        return;
    }
    match judge(program, 2 | 4) {
        Answer::NotJudged(why) => panic!("{name}: not judged: {why}"),
        Answer::Judged(theirs) => {
            let [ours, theirs] = [&ours.log, &theirs.log].map(|log| normalise(log, &program.insns));
            assert_eq!(ours, theirs, "{name}");
        }
    }
}

#[test]
fn objects_are_refused_as_the_kernel_does() {
    if kernel_btf().is_none() {
        return;
    }
    let host = Host::read(&KernelBtf::Running).unwrap();
    let object = objects::open(&host, "programs/kfuncs/refused.bpf.o");
    assert_eq!(object.programs.len(), WANTED.len());
    for (entry, (name, wanted)) in object.programs.iter().zip(WANTED) {
        assert_eq!(&*entry.name, name);
        refused(&as_loaded(entry.program.as_ref().unwrap()), wanted);
    }
}

/// A call of a function, or the address of a variable, that the BTF contains but for which the
/// kernel has no address: both in code that is never walked.
#[test]
fn symbols_without_an_address() {
    let Some(btf) = kernel_btf() else { return };
    let Some(symbols) = skep::host_facts().kernel_symbols() else { return };
    let lost = |kind| {
        let is_lost = |ty: &Type<'_>| ty.kind() == kind && !(symbols.0)(ty.name());
        btf.iter().find(is_lost).map(|ty| (ty.id().0 as i32, ty.name().to_owned()))
    };
    let program = |refers: &[Insn]| {
        let mov = Insn { code: 0xb7, ..Insn::default() };
        let skip = Insn { code: 0x15, off: refers.len() as i16, ..Insn::default() };
        let exit = Insn { code: 0x95, ..Insn::default() };
        Program {
            name: "lost".to_owned(),
            prog_type: ProgType::SchedCls,
            license: "GPL".to_owned(),
            insns: [&[mov, skip], refers, &[exit]].concat(),
            kernel_btf: Some(Arc::clone(&btf)),
            ..Program::default()
        }
    };
    if let Some((imm, name)) = lost(Kind::Func) {
        let call =
            Insn { code: BPF_JMP | BPF_CALL, src: BPF_PSEUDO_KFUNC_CALL, imm, ..Insn::default() };
        refused(&program(&[call]), &format!("cannot find address for kernel function {name}"));
    }
    if let Some((imm, name)) = lost(Kind::Var) {
        let address =
            [Insn { code: 0x18, src: BPF_PSEUDO_BTF_ID, imm, ..Insn::default() }, Insn::default()];
        let wanted = format!("ldimm64 failed to find the address for kernel symbol '{name}'.");
        refused(&program(&address), &wanted);
    }
}
