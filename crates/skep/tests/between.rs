//! Verdicts for kernels that were not tested, and for kernels whose BTF is missing.
//!
//! The programs are the witnesses of the verifier's rules.

use skep::btf::{BtfBuilder, IntEncoding, MemberDef};
use skep::kernel::NEEDS_BTF;
use skep::program::Program;
use skep::uapi::{Behaviours, Neighbour, ProgType, attaches_to_btf};
use skep::{Kernel, Session, Verdict, VerifyOptions};
use skep_insn::Insn;
use skep_insn::code::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn witnesses() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels/witnesses");
    let files = std::fs::read_dir(folder).expect("the witnesses").flatten();
    let mut objects: Vec<PathBuf> = files.map(|file| file.path()).collect();
    objects.retain(|path| path.extension().is_some_and(|it| it == "o"));
    objects.sort();
    objects
}

fn programs(session: &Session, path: &Path) -> Vec<Program> {
    let object = session.open_file(path).expect("a witness opens");
    object.programs.into_iter().filter_map(|it| it.program.ok()).collect()
}

fn verdict(session: &Session, program: &Program) -> Verdict {
    session.verify(program, &VerifyOptions::default()).verdict
}

/// `None` if there is none.
fn is_accepted(verdict: &Verdict) -> Option<bool> {
    match verdict {
        Verdict::Accepted(_) => Some(true),
        Verdict::Rejected(_) => Some(false),
        _ => None,
    }
}

#[test]
fn a_kernel_between_others_has_a_verdict_if_the_rules_of_all_give_it() {
    for (name, differ_min, named_min) in [("6.6", 20, 15)] {
        let session = Session::for_kernel(Kernel::open(name).expect("a kernel"));
        let of = session.host.neighbours.clone();
        assert_eq!(*of, *Neighbour::of_release(name), "nothing else is known of it");
        assert_eq!(of.len(), 3, "two, and later ones");
        let alone = |rules| {
            let mut only = session.clone();
            (only.host.behaviours, only.host.neighbours) = (rules, Arc::default());
            only
        };
        let under: Vec<Session> = of.iter().map(|it| alone(it.rules)).collect();
        let (mut differ, mut named) = (0, 0);
        for program in witnesses().iter().flat_map(|path| programs(&session, path)) {
            let here = format!("{name}: {}", program.name);
            let found = verdict(&session, &program);
            let alike = |it: &Session| is_accepted(&verdict(it, &program));
            let each: Vec<Option<bool>> = under.iter().map(alike).collect();
            let that =
                |wanted| each.iter().rposition(|it| *it == Some(wanted)).map(|at| of[at].name);
            match (that(true), that(false)) {
                _ if each.contains(&None) => assert_eq!(is_accepted(&found), None, "{here}"),
                (Some(accepts), Some(refuses)) => {
                    let Verdict::Unsupported(why) = found else { panic!("{here}: {found:?}") };
                    let said = format!("not known: refused by {refuses}, accepted by {accepts}");
                    assert!(why.starts_with(&said), "{here}: {why}");
                    differ += 1;
                    named += usize::from(why.ends_with('"'));
                }
                _ => assert_eq!(is_accepted(&found), each[0], "{here}"),
            }
        }
        assert!(differ >= differ_min && named >= named_min, "{name}: {named} of {differ}");
    }
}

#[test]
fn a_kernel_between_two_may_have_rules_of_both() {
    let mut session = Session::for_kernel(Kernel::open("5.15").expect("a kernel"));
    session.host.neighbours = Neighbour::of_release("5.15.0-100-generic").into();
    let object = "../../tests/programs/bench/mandel.bpf.o";
    let object = Path::new(env!("CARGO_MANIFEST_DIR")).join(object);
    let [program] = &programs(&session, &object)[..] else { panic!("one program") };
    let Verdict::Unsupported(why) = verdict(&session, program) else { panic!("a verdict") };
    let said = "not known: refused by kernels between them, accepted by 5.15.0-204";
    assert!(why.starts_with(said), "{why}");
}

#[test]
fn what_attaches_by_btf_has_no_verdict_without_it() {
    let mut seen = 0;
    for kernel in Kernel::builds() {
        let session = Session::for_kernel(kernel.clone());
        for program in witnesses().iter().flat_map(|path| programs(&session, path)) {
            let found = verdict(&session, &program);
            let here = format!("{}: {}: {found:?}", kernel.name(), program.name);
            if let Verdict::Unsupported(why) = &found {
                assert!(!why.contains("kernel's BTF") || why == NEEDS_BTF, "{here}");
            }
            if !attaches_to_btf(program.prog_type) {
                continue;
            }
            seen += 1;
            match found {
                Verdict::Rejected(refusal) => assert_eq!(refusal.kind, "not-on-this-kernel"),
                Verdict::Unsupported(why) => {
                    assert!(why == NEEDS_BTF || why.contains("not known whether"), "{here}");
                }
                _ => panic!("{here}"),
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

/// Linux 6.2 and 6.5 refuse the BTF of an object whose nodes have 24 bytes, so that maps and
/// callbacks have none; 6.1 and 6.12 take it.
#[test]
fn nodes_of_another_size_need_the_kernels_btf() {
    let mut btf = BtfBuilder::new();
    let long = btf.int("long", 8, IntEncoding::SIGNED);
    let int = btf.int("int", 4, IntEncoding::SIGNED);
    let opaque = btf.array(long, int, 3);
    let node = btf.struct_("bpf_list_node", 24, &[MemberDef::new("opaque", opaque, 0)]);
    btf.struct_("elem", 24, &[MemberDef::new("node", node, 0)]);
    let set = Insn { code: BPF_ALU64 | BPF_MOV, ..Insn::default() };
    let end = Insn { code: BPF_JMP | BPF_EXIT, ..Insn::default() };
    let btf = Some(Arc::new(btf.build().expect("valid")));
    let prog_type = ProgType::SocketFilter;
    let program = Program { insns: vec![set, end], btf, prog_type, ..Program::default() };
    for name in ["6.2", "6.5", "6.6", "rhel9.3", "rhel9.4", "cos-117"] {
        let session = Session::for_kernel(Kernel::open(name).expect("built in"));
        let found = verdict(&session, &program);
        assert!(matches!(&found, Verdict::Unsupported(why) if why == NEEDS_BTF), "{name}");
    }
    for name in ["6.1", "6.8", "6.12", "rhel9.6"] {
        let session = Session::for_kernel(Kernel::open(name).expect("built in"));
        assert_eq!(is_accepted(&verdict(&session, &program)), Some(true), "{name}");
    }
}

/// Kernels that mark the current state look at the operands of an insn before it is walked.
#[test]
fn a_register_that_there_is_not_is_refused_on_each_kernel() {
    for kernel in Kernel::builds() {
        let session = Session::for_kernel(kernel);
        for src in [11, 12, 15] {
            let sum = Insn { code: BPF_ALU64 | BPF_ADD | BPF_X, dst: 1, src, ..Insn::default() };
            let end = Insn { code: BPF_JMP | BPF_EXIT, ..Insn::default() };
            let program = Program { insns: vec![sum, end], ..Program::default() };
            assert_eq!(is_accepted(&verdict(&session, &program)), Some(false), "r{src}");
        }
    }
}

#[test]
fn a_rejection_is_traced_to_the_rule_that_decides() {
    let found = |object: &str, program: &str, name: &str| {
        let is_it = |path: &&PathBuf| path.ends_with(object);
        let object = witnesses().iter().find(is_it).expect("the object").clone();
        let session = Session::for_kernel(Kernel::open(name).expect("a kernel"));
        let programs = programs(&session, &object);
        let program = programs.iter().find(|it| it.name == program).expect("a program");
        let rule = session.deciding_rule(program, 0, &verdict(&session, program))?;
        Some((rule.name, rule.changed_after(session.kernel.as_ref()?.release(), false)))
    };
    let half = |name: &str| found("numbers.bpf.o", "half_of_spilled", name);
    let since = Some(["6.8.0-151", "6.11.0-17"]);
    assert_eq!(half("5.10"), Some(("narrow_fills_keep_ranges", since)));
    assert_eq!(half("6.1"), Some(("narrow_fills_keep_ranges", since)));
    assert_eq!(half("7.3"), None, "it is accepted");
    // The key is also read from a stack that the call leaves as it is, which needs a rule, too.
    let first = |name: &str| Some(found("maps.bpf.o", "first_of_array", name)?.0);
    for name in ["5.10", "6.1", "6.12"] {
        assert_eq!(first(name), Some("array_lookups_not_null"), "{name}");
    }
}

/// What these kernels say of each was asked of them: they refuse the first two, the third from 6.8
/// on only (it was not asked of 5.10), and the last where what was borrowed is a pointer.
#[test]
fn what_is_not_modelled_on_tested_kernels_has_no_verdict() {
    const SIX: [&str; 4] =
        ["6.5.0-45-generic", "6.8.0-31-generic", "6.11.0-17-generic", "6.11.0-29-generic"];
    const OLD: [&str; 4] =
        ["5.10.0-30-cloud-amd64", "5.19.0-50-generic", "6.2.0-39-generic", "6.5.0-45-generic"];
    const POINTER: [&str; 2] = ["7.0.0-44-generic", "7.2.12+deb13-cloud-amd64"];
    const NUMBER: [&str; 2] = ["7.2.6+deb13-cloud-amd64", "7.3.4+deb13-cloud-amd64"];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels/doubtful.bpf.o");
    let verdicts = |name: &str, kernels: &[&str]| -> Vec<Option<bool>> {
        let of = |release: &&str| {
            let mut session = Session::default();
            session.host.behaviours = Behaviours::of_release(release);
            let program = programs(&session, &path).into_iter().find(|it| it.name == name);
            is_accepted(&verdict(&session, &program.expect("a program of the object")))
        };
        kernels.iter().map(of).collect()
    };
    assert_eq!(verdicts("two_slices", &OLD[1..2]), [None]);
    assert_eq!(verdicts("seventh", &SIX), [Some(false); 4]);
    assert_eq!(verdicts("dead_branch", &OLD), [None; 4]);
    assert_eq!(verdicts("dead_branch", &SIX[1..]), [Some(false); 3]);
    assert_eq!(verdicts("multiplied_after_lock", &POINTER), [Some(false); 2]);
    assert_eq!(verdicts("multiplied_after_lock", &NUMBER), [Some(true); 2]);
}
