//! Rewrites that move a jump target out of reach: the kernel rejects the program at the first insn
//! whose rewrite does so. The programs are too long for the Markdown suites.

use skep::insn::Insn;
use skep::insn::code::*;
use skep::program::Program;
use skep::uapi::{KernelProfile, ProgType};
use skep_kernel::judge::{Answer, judge};
use skep_kernel::reference;
use skep_testkit::engine::{self, OurVerdict};

fn mov(dst: u8, imm: i32) -> Insn {
    Insn { code: BPF_ALU64 | BPF_MOV | BPF_K, dst, imm, ..Insn::default() }
}

fn copy(dst: u8, src: u8) -> Insn {
    Insn { code: BPF_ALU64 | BPF_MOV | BPF_X, dst, src, ..Insn::default() }
}

fn goto(off: i16) -> Insn {
    Insn { code: BPF_JMP | BPF_JA, off, ..Insn::default() }
}

fn may_goto(off: i16) -> Insn {
    Insn { code: BPF_JMP | BPF_JCOND, off, ..Insn::default() }
}

fn if_equal(dst: u8, imm: i32, off: i16) -> Insn {
    Insn { code: BPF_JMP | BPF_JEQ | BPF_K, dst, imm, off, ..Insn::default() }
}

fn call(imm: i32) -> Insn {
    Insn { code: BPF_JMP | BPF_CALL, imm, ..Insn::default() }
}

/// Division of a random r0.
fn division(code: u8, off: i16) -> Insn {
    Insn { code: code | BPF_X, dst: 0, src: 2, off, ..Insn::default() }
}

/// `r0 = cmpxchg32(r10 - 8, r0, r2)`
const CMPXCHG: Insn =
    Insn { code: BPF_STX | BPF_ATOMIC | BPF_W, dst: 10, src: 2, off: -8, imm: BPF_CMPXCHG };

/// A jump over `count` copies of `insns`, starting at insn 5.
fn jump_over(insns: &[Insn], count: usize) -> Program {
    let over = (insns.len() * count) as i16;
    let spill = Insn { code: BPF_STX | BPF_MEM | BPF_DW, dst: 10, src: 2, off: -8, imm: 0 };
    let mut all = vec![call(7), mov(2, 3), mov(9, 0), spill, if_equal(0, 7, over)];
    for _ in 0..count {
        all.extend(insns);
    }
    all.extend([mov(0, 0), Insn { code: BPF_JMP | BPF_EXIT, ..Insn::default() }]);
    let (prog_type, license) = (ProgType::SocketFilter, "GPL".to_owned());
    Program { name: "far".into(), prog_type, license, insns: all, ..Program::default() }
}

/// Checks over how many copies the jump reaches (at most `32767 / insns.len()` are tried), and at
/// which insn one copy more is rejected.
fn check(insns: &[Insn], reached: usize, refused: Option<usize>) {
    let asked = reference::answers(&KernelProfile::v6_18()).is_ok();
    let accepted = (reached, String::new());
    let text = |at| format!("insn {at} cannot be patched due to 16-bit range");
    let cases = refused.map(|at| (reached + 1, text(at)));
    for (count, expected) in std::iter::once(accepted).chain(cases) {
        let program = jump_over(insns, count);
        let ours = engine::verify(&program, 4);
        let verdict = ours.verdict == OurVerdict::Accepted;
        let what = format!("{insns:?} {count}");
        assert_eq!(verdict, expected.is_empty(), "{what}: {:?}", ours.verdict);
        assert!(ours.log.contains(&expected), "{what}: {}", ours.log);
        if asked {
            let Answer::Judged(theirs) = judge(&program, 4) else { panic!("not judged") };
            assert_eq!(theirs.accepted, expected.is_empty(), "{what}: {}", theirs.log);
            assert_eq!(theirs.errno, ours.errno, "{what}");
            assert!(theirs.log.contains(&expected), "{what}: {}", theirs.log);
            let theirs = theirs.stats.expect("counts");
            assert_eq!(theirs.insns_processed, ours.stats.insns_processed, "{what}");
        }
    }
}

#[test]
fn divisions_over_which_no_jump_reaches_are_refused_where_the_kernel_refuses_them() {
    let add = Insn { code: BPF_ALU64 | BPF_ADD | BPF_K, imm: 3, ..Insn::default() };
    check(&[add], 32_000, None);
    check(&[division(BPF_ALU64 | BPF_DIV, 0)], 8_191, Some(8_196));
    check(&[division(BPF_ALU64 | BPF_MOD, 0)], 16_383, Some(16_388));
    check(&[division(BPF_ALU | BPF_DIV, 0)], 8_191, Some(8_196));
    check(&[division(BPF_ALU | BPF_MOD, 0)], 8_191, Some(8_196));
    check(&[division(BPF_ALU64 | BPF_DIV, 1)], 4_095, Some(4_100));
    check(&[division(BPF_ALU | BPF_DIV, 1)], 4_095, Some(4_100));
    check(&[division(BPF_ALU64 | BPF_MOD, 1)], 4_681, Some(4_685));
    check(&[division(BPF_ALU | BPF_MOD, 1)], 3_640, Some(3_645));
}

/// After a 32-bit compare-and-exchange, the upper half of r0 is zeroed if all of r0 is read.
#[test]
fn a_comparison_of_32_bits_grows_where_r0_is_read() {
    check(&[CMPXCHG, copy(6, 0)], 10_922, Some(21_847));
    check(&[CMPXCHG, mov(6, 0)], 16_383, None);
    let low = Insn { code: BPF_ALU | BPF_MOV | BPF_X, dst: 6, src: 0, ..Insn::default() };
    check(&[CMPXCHG, low], 16_383, None);
    check(&[CMPXCHG, mov(0, 0)], 16_383, None);
    // It reads only 32 bits of r0.
    check(&[CMPXCHG, CMPXCHG, mov(0, 0)], 10_922, None);
}

/// Insns that have been removed when the kernel rewrites divisions do not count.
#[test]
fn what_the_kernel_drops_is_no_distance() {
    let divide = division(BPF_ALU64 | BPF_DIV, 0);
    check(&[goto(0), goto(0), divide], 8_191, Some(24_580));
    check(&[if_equal(9, 0, 1), mov(5, 5), divide], 8_191, Some(24_580));
    // A jump over a jump that is removed stays.
    check(&[if_equal(0, 1, 1), goto(1), goto(0), divide], 5_461, Some(21_848));
    // A conditional jump is not removed.
    check(&[if_equal(0, 1, 0), divide], 6_553, Some(13_112));
    let eight = [divide; 8];
    check(&[&[may_goto(0)][..], &eight].concat(), 1_023, Some(9_220));
    check(&[&[may_goto(1), may_goto(0)][..], &eight].concat(), 1_023, Some(10_244));
}
