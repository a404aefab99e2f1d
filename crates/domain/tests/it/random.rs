//! Soundness at 64 bits, at random: the values that made an abstract value stay inside everything
//! computed from it.
//!
//! Each scalar is widened from one concrete value and narrowed by branches that this value takes,
//! so that bounds of all kinds meet; seeds are fixed.

use crate::concrete::{ALU, JMP, concrete_alu, concrete_jmp};
use proptest::prelude::*;
use skep_domain::{
    AluOp, ByteOrder, Division, JmpOp, Scalar, Tnum, add_wrapped_unsynced, alu, alu_wrapped,
    byte_order, byte_order_wrapped, divide_wrapped, fork_sign_mask, is_branch_taken,
    is_taken_wrapped, neg, neg_wrapped, refine_branches, refine_wrapped,
};

fn holds(op: JmpOp, is_jmp32: bool, x: u64, y: u64) -> bool {
    concrete_jmp(op, x, y, if is_jmp32 { 32 } else { 64 })
}

/// Numbers near the edges of the widths, and any others.
fn number() -> impl Strategy<Value = u64> {
    let edge = (0u32..64, -3i64..4).prop_map(|(bit, d)| (1u64 << bit).wrapping_add(d as u64));
    prop_oneof![
        edge.clone(),
        edge.prop_map(u64::wrapping_neg),
        (-9i64..10).prop_map(|n| n as u64),
        any::<u32>().prop_map(u64::from),
        any::<u64>(),
    ]
}

/// A branch that narrows: the comparison, its width, the number compared with.
type Narrowing = (usize, bool, u64);

/// A concrete value and an abstract one that holds it.
fn value() -> impl Strategy<Value = (u64, Scalar)> {
    let branches = prop::collection::vec((0..JMP.len(), any::<bool>(), number()), 0..5);
    let mask = prop_oneof![Just(u64::MAX), Just(0), number()];
    (number(), mask, branches).prop_map(|(v, mask, branches)| (v, around(v, mask, &branches)))
}

fn around(v: u64, mask: u64, branches: &[Narrowing]) -> Scalar {
    let mut s = Scalar { var_off: Tnum { value: v & !mask, mask }, ..Scalar::unknown() };
    s.sync();
    for &(op, is_jmp32, number) in branches {
        let op = if holds(JMP[op], is_jmp32, v, number) { JMP[op] } else { JMP[op].negated() };
        assert_ne!(is_branch_taken(&s, &Scalar::constant(number), op, is_jmp32), Some(false));
        refine_branches(op, is_jmp32, &mut s, &mut Scalar::constant(number));
        assert!(s.contains(v), "{op:?} {number:#x} loses {v:#x}: {s:x?}");
    }
    s
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 100_000, failure_persistence: None, ..ProptestConfig::default() }
}

fn check<S: Strategy>(strategy: S, f: impl Fn(S::Value)) {
    use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config(), rng);
    let run = |case| {
        f(case);
        Ok(())
    };
    if let Err(e) = runner.run(&strategy, run) {
        panic!("{e}");
    }
}

#[test]
fn alu_holds_the_result() {
    check((value(), value(), 0..ALU.len()), |((x, a), (y, b), op)| {
        let op = ALU[op];
        let results = [(true, concrete_alu(op, x, y, 64)), (false, concrete_alu(op, x, y, 32))];
        for (wide, result) in results {
            let mut got = a;
            alu(op, wide, &mut got, &b);
            assert!(got.contains(result), "{op:?} {wide} {x:#x} {y:#x}: {got:x?}");
            if let Some((ones, zero)) = fork_sign_mask(op, &a, &b) {
                assert!(ones.contains(x) || zero.contains(x), "{a:x?} forks without {x:#x}");
            }
        }
    });
}

#[test]
fn branches_hold_both_operands() {
    check((value(), value(), 0..JMP.len()), |((x, a), (y, b), op)| {
        for is_jmp32 in [false, true] {
            let taken = holds(JMP[op], is_jmp32, x, y);
            assert_ne!(is_branch_taken(&a, &b, JMP[op], is_jmp32), Some(!taken));
            let op = if taken { JMP[op] } else { JMP[op].negated() };
            let (mut p, mut q) = (a, b);
            refine_branches(op, is_jmp32, &mut p, &mut q);
            assert!(p.contains(x) && q.contains(y), "{op:?} {x:#x} {y:#x}: {p:x?} {q:x?}");
        }
    });
}

#[test]
fn one_operand_holds_the_result() {
    let check_one = |a: Scalar, f: &dyn Fn(&mut Scalar), result: u64| {
        let mut got = a;
        f(&mut got);
        assert!(got.contains(result), "{result:#x} from {a:x?}: {got:x?}");
    };
    check(value(), |(v, a)| {
        check_one(a, &|s| neg(true, s), v.wrapping_neg());
        check_one(a, &|s| neg(false, s), u64::from((v as u32).wrapping_neg()));
        for size in [1, 2, 4] {
            let up = 64 - size * 8;
            check_one(a, &|s| s.coerce_to_size(size), v << up >> up);
            check_one(a, &|s| s.coerce_to_size_sx(size), ((v << up) as i64 >> up) as u64);
        }
        for bits in [16, 32, 64] {
            let up = 64 - bits;
            check_one(a, &|s| byte_order(ByteOrder::Keep, bits, s), v << up >> up);
            check_one(a, &|s| byte_order(ByteOrder::Swap, bits, s), v.swap_bytes() >> up);
        }
        for (size, result) in [(1, v as i8 as u32), (2, v as i16 as u32)] {
            let narrow = |s: &mut Scalar| {
                s.coerce_subreg_to_size_sx(size);
                s.zext_32_to_64();
                s.sync();
            };
            check_one(a, &narrow, u64::from(result));
        }
    });
}

/// A concrete value, and a scalar that holds it where ranges wrap: it is narrowed, then moved, so
/// that its ranges lie anywhere, and narrowed again.
fn wrapped() -> impl Strategy<Value = (u64, Scalar)> {
    let branches = || prop::collection::vec((0..JMP.len(), any::<bool>(), number()), 0..3);
    let mask = prop_oneof![Just(u64::MAX), Just(0), number()];
    (number(), mask, branches(), (any::<bool>(), number()), branches()).prop_map(
        |(v, mask, before, (wide, moved), after)| {
            let mut s = Scalar { var_off: Tnum { value: v & !mask, mask }, ..Scalar::unknown() };
            s.sync_wrapped();
            narrow_wrapped(v, &mut s, &before);
            alu_wrapped(AluOp::Add, wide, &mut s, &Scalar::constant(moved));
            let v = concrete_alu(AluOp::Add, v, moved, if wide { 64 } else { 32 });
            assert!(s.contains_wrapped(v), "{v:#x}: {s:x?}");
            narrow_wrapped(v, &mut s, &after);
            (v, s)
        },
    )
}

fn narrow_wrapped(v: u64, s: &mut Scalar, branches: &[Narrowing]) {
    for &(op, is_jmp32, number) in branches {
        let op = if holds(JMP[op], is_jmp32, v, number) { JMP[op] } else { JMP[op].negated() };
        let by = Scalar::constant(number);
        assert_ne!(is_taken_wrapped(s, &by, op, is_jmp32), Some(false));
        refine_wrapped(op, is_jmp32, s, &mut by.clone());
        assert!(s.contains_wrapped(v), "{op:?} {number:#x} loses {v:#x}: {s:x?}");
    }
}

#[test]
fn wrapped_alu_holds_the_result() {
    check((wrapped(), wrapped(), 0..ALU.len()), |((x, a), (y, b), op)| {
        let op = ALU[op];
        for (wide, bits) in [(true, 64), (false, 32)] {
            let (mut got, result) = (a, concrete_alu(op, x, y, bits));
            alu_wrapped(op, wide, &mut got, &b);
            assert!(got.contains_wrapped(result), "{op:?} {wide} {x:#x} {y:#x}: {got:x?}");
            let (mut sum, result) = (a, concrete_alu(AluOp::Add, x, y, bits));
            add_wrapped_unsynced(wide, &mut sum, &b);
            assert!(sum.contains_wrapped(result), "{wide} {x:#x} {y:#x}: {sum:x?}");
        }
    });
}

#[test]
fn wrapped_branches_hold_both_operands() {
    check((wrapped(), wrapped(), 0..JMP.len()), |((x, a), (y, b), op)| {
        for is_jmp32 in [false, true] {
            let taken = holds(JMP[op], is_jmp32, x, y);
            assert_ne!(is_taken_wrapped(&a, &b, JMP[op], is_jmp32), Some(!taken));
            let op = if taken { JMP[op] } else { JMP[op].negated() };
            let (mut p, mut q) = (a, b);
            refine_wrapped(op, is_jmp32, &mut p, &mut q);
            let holds = p.contains_wrapped(x) && q.contains_wrapped(y);
            assert!(holds, "{op:?} {x:#x} {y:#x}: {p:x?} {q:x?}");
        }
    });
}

#[test]
fn one_wrapped_operand_holds_the_result() {
    let check_one = |a: Scalar, f: &dyn Fn(&mut Scalar), result: u64| {
        let mut got = a;
        f(&mut got);
        assert!(got.contains_wrapped(result), "{result:#x} from {a:x?}: {got:x?}");
    };
    check((wrapped(), number()), |((v, a), by)| {
        check_one(a, &|s| neg_wrapped(true, s), v.wrapping_neg());
        check_one(a, &|s| neg_wrapped(false, s), u64::from((v as u32).wrapping_neg()));
        for bits in [8, 16, 32] {
            let up = 64 - bits;
            check_one(a, &|s| s.truncate_wrapped(bits), v << up >> up);
            check_one(a, &|s| s.sign_extend_wrapped(bits), ((v << up) as i64 >> up) as u64);
        }
        for (bits, result) in [(8, v as i8 as u32), (16, v as i16 as u32)] {
            let narrow = |s: &mut Scalar| {
                s.sign_extend_half_wrapped(bits);
                s.zext_wrapped();
                s.sync_wrapped();
            };
            check_one(a, &narrow, u64::from(result));
        }
        for bits in [16, 32, 64] {
            let up = 64 - bits;
            check_one(a, &|s| byte_order_wrapped(ByteOrder::Keep, bits, s), v << up >> up);
            check_one(a, &|s| byte_order_wrapped(ByteOrder::Swap, bits, s), v.swap_bytes() >> up);
        }
        for (remainder, signed, wide) in
            [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1)]
        {
            let how = Division { remainder: remainder == 1, signed: signed == 1, wide: wide == 1 };
            let mut got = a;
            if divide_wrapped(how, &mut got, by) {
                let result = divided(how, v, by);
                assert!(got.contains_wrapped(result), "{how:?} {v:#x} {by:#x}: {got:x?}");
            }
        }
    });
}

/// What the machine computes; by 0 the quotient is 0.
fn divided(how: Division, v: u64, by: u64) -> u64 {
    let (x, y) = match (how.signed, how.wide) {
        (false, true) => (i128::from(v), i128::from(by)),
        (false, false) => (i128::from(v as u32), i128::from(by as u32)),
        (true, true) => (i128::from(v as i64), i128::from(by as i64)),
        (true, false) => (i128::from(v as i32), i128::from(by as i32)),
    };
    let out = match (how.remainder, y) {
        (false, 0) => 0,
        (true, 0) => x,
        (false, _) => x / y,
        (true, _) => x % y,
    };
    if how.wide { out as u64 } else { u64::from(out as u32) }
}
