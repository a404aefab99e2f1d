//! Rewrites that move the target of a jump out of its reach: the kernel refuses the program, at the
//! first insn whose rewrite does. The programs are too long for the Markdown suites.

use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::Program;
use skep::uapi::{KernelProfile, ProgType};
use skep_kernel::judge::{Answer, judge};
use skep_kernel::reference;
use skep_testkit::engine::{self, Verdict};

/// A jump over `count` times `insn`.
fn jump_over(insn: Insn, count: usize) -> Program {
    let mov = |dst, imm| Insn { code: BPF_ALU64 | BPF_MOV | BPF_K, dst, imm, ..Insn::default() };
    let random = Insn { code: BPF_JMP | BPF_CALL, imm: 7, ..Insn::default() };
    let off = count as i16;
    let jump = Insn { code: BPF_JMP | BPF_JEQ | BPF_K, imm: 7, off, ..Insn::default() };
    let exit = Insn { code: BPF_JMP | BPF_EXIT, ..Insn::default() };
    let mut insns = vec![random, mov(2, 3), jump];
    insns.extend(std::iter::repeat_n(insn, count));
    insns.extend([mov(0, 0), exit]);
    let (prog_type, license) = (ProgType::SocketFilter, "GPL".to_owned());
    Program { name: "far".into(), prog_type, license, insns, ..Program::default() }
}

fn division(code: u8, off: i16) -> Insn {
    Insn { code: code | BPF_X, dst: 0, src: 2, off, ..Insn::default() }
}

#[test]
fn divisions_over_which_no_jump_reaches_are_refused_where_the_kernel_refuses_them() {
    let add = Insn { code: BPF_ALU64 | BPF_ADD | BPF_K, imm: 3, ..Insn::default() };
    let cases = [
        (add, 32_000, None),
        (division(BPF_ALU64 | BPF_DIV, 0), 8_191, None),
        (division(BPF_ALU64 | BPF_DIV, 0), 8_192, Some(8_194)),
        (division(BPF_ALU64 | BPF_DIV, 0), 32_000, Some(258)),
        (division(BPF_ALU | BPF_MOD, 0), 20_000, Some(4_258)),
        (division(BPF_ALU64 | BPF_MOD, 0), 16_384, Some(16_386)),
        (division(BPF_ALU64 | BPF_DIV, 1), 9_000, Some(3_398)),
    ];
    let asked = reference::answers(&KernelProfile::v6_18()).is_ok();
    for (insn, count, refused) in cases {
        let program = jump_over(insn, count);
        let expected = match refused {
            None => String::new(),
            Some(at) => format!("insn {at} cannot be patched due to 16-bit range"),
        };
        let ours = engine::verify(&program, 4);
        let accepted = ours.verdict == Verdict::Accepted;
        assert_eq!(accepted, expected.is_empty(), "{insn:?} {count}: {:?}", ours.verdict);
        assert!(ours.log.contains(&expected), "{}", ours.log);
        if asked {
            let Answer::Judged(theirs) = judge(&program, 4) else { panic!("not judged") };
            assert_eq!(theirs.accepted, expected.is_empty(), "{insn:?} {count}");
            assert_eq!(theirs.errno, ours.errno);
            assert!(theirs.log.contains(&expected), "{insn:?} {count}: {}", theirs.log);
        }
    }
}
