//! Soundness proved by enumeration: the code of 64 and 32 bits, run at 4 and 2.
//!
//! Every abstract value that known bits and ranges can describe meets every other in every
//! operation; no concrete result may be lost. At 6 and 3 bits the pairs are sampled.

use crate::concrete::{ALU, JMP, concrete_alu, concrete_jmp, low, signed};
use std::collections::BTreeSet;

use skep_domain::{JmpOp, ScalarAt, Tnum, alu, is_branch_taken, neg, refine_branches};

/// One abstract value and the values it stands for, as bits of a word (up to 6 bits wide).
#[derive(Clone, Copy)]
struct Case<const W: u32, const H: u32> {
    scalar: ScalarAt<W, H>,
    set: u64,
}

fn set_of<const W: u32, const H: u32>(s: &ScalarAt<W, H>) -> u64 {
    (0..1u64 << W).filter(|v| s.contains(*v)).fold(0, |set, v| set | 1 << v)
}

fn values(set: u64) -> impl Iterator<Item = u64> {
    let mut left = set;
    std::iter::from_fn(move || {
        let v = (left != 0).then(|| u64::from(left.trailing_zeros()))?;
        left &= left - 1;
        Some(v)
    })
}

fn tnums(bits: u32) -> Vec<Tnum> {
    let pairs = (0..1u64 << bits).flat_map(|mask| (0..1u64 << bits).map(move |v| (v, mask)));
    pairs.filter(|(v, m)| v & m == 0).map(|(value, mask)| Tnum { value, mask }).collect()
}

fn ranges(bits: u32) -> Vec<(u64, u64)> {
    (0..1u64 << bits).flat_map(|min| (min..1u64 << bits).map(move |max| (min, max))).collect()
}

/// Every synced value of: known bits and an unsigned range; an unsigned and a signed range; a range
/// of the half.
fn family<const W: u32, const H: u32>() -> Vec<Case<W, H>> {
    let top = 1u64 << (W - 1);
    let mut raw = Vec::new();
    for (umin, umax) in ranges(W) {
        let ranged = ScalarAt::<W, H> { umin, umax, ..ScalarAt::unknown() };
        raw.extend(tnums(W).into_iter().map(|var_off| ScalarAt { var_off, ..ranged }));
        for (min, max) in ranges(W) {
            let (smin, smax) = (min as i64 - top as i64, max as i64 - top as i64);
            raw.push(ScalarAt { smin, smax, ..ranged });
        }
        for (min, max) in ranges(H) {
            let offset = 1i32 << (H - 1);
            raw.push(ScalarAt { u32_min: min as u32, u32_max: max as u32, ..ranged });
            let (s32_min, s32_max) = (min as i32 - offset, max as i32 - offset);
            raw.push(ScalarAt { s32_min, s32_max, ..ranged });
        }
    }
    synced(raw)
}

/// A sync loses no value. It may gain some: a half that is not negative replaces the bounds of the
/// whole.
fn synced<const W: u32, const H: u32>(raw: Vec<ScalarAt<W, H>>) -> Vec<Case<W, H>> {
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for before in raw {
        let set = set_of(&before);
        if set == 0 {
            continue;
        }
        let mut scalar = before;
        scalar.sync();
        let after = set_of(&scalar);
        assert_eq!(set & !after, 0, "sync of {before:?} gives {scalar:?}");
        assert_eq!(scalar.violated_rule(), None, "sync of {before:?} gives {scalar:?}");
        if seen.insert(format!("{scalar:?}")) {
            out.push(Case { scalar, set: after });
        }
    }
    out
}

/// For each op and left value: the results for each set of right values, as a set. Small widths
/// only.
struct Images {
    by_left: Vec<Vec<u16>>,
}

impl Images {
    fn new(op: impl Fn(u64, u64) -> u64) -> Self {
        let row = |x: u64| {
            let mut row = vec![0u16; 1 << 16];
            for set in 1..1usize << 16 {
                let y = u64::from(set.trailing_zeros());
                row[set] = row[set & (set - 1)] | 1 << op(x, y);
            }
            row
        };
        Self { by_left: (0..16).map(row).collect() }
    }

    fn of(&self, left: u64, right: u64) -> u64 {
        values(left).fold(0, |all, x| all | u64::from(self.by_left[x as usize][right as usize]))
    }
}

#[test]
fn alu_loses_no_result_at_4_bits() {
    let cases = family::<4, 2>();
    assert!(cases.len() > 500, "{}", cases.len());
    for op in ALU {
        for (wide, bits) in [(true, 4), (false, 2)] {
            let images = Images::new(|x, y| concrete_alu(op, x, y, bits));
            for a in &cases {
                for b in &cases {
                    let mut got = a.scalar;
                    alu(op, wide, &mut got, &b.scalar);
                    let lost = images.of(a.set, b.set) & !set_of(&got);
                    assert_eq!(lost, 0, "{op:?} {wide} {:?} {:?} = {got:?}", a.scalar, b.scalar);
                }
            }
        }
    }
}

/// For each left value, the right values with which a comparison holds.
fn holds(op: JmpOp, bits: u32, width: u32) -> Vec<u64> {
    let of = |x| (0..1u64 << width).filter(move |y| concrete_jmp(op, x, *y, bits));
    (0..1u64 << width).map(|x| of(x).fold(0, |set, y| set | 1 << y)).collect()
}

/// A comparison with what is true of its values.
struct Jump {
    op: JmpOp,
    is_jmp32: bool,
    holds: Vec<u64>,
}

fn jumps(width: u32, half: u32) -> Vec<Jump> {
    let jump = |op, is_jmp32, bits| Jump { op, is_jmp32, holds: holds(op, bits, width) };
    JMP.iter().flat_map(|&op| [jump(op, false, width), jump(op, true, half)]).collect()
}

/// Checks one comparison of two abstract values against all their values.
fn check_branch<const W: u32, const H: u32>(jump: &Jump, a: &Case<W, H>, b: &Case<W, H>) {
    let &Jump { op, is_jmp32, ref holds } = jump;
    let (mut x, mut y) = (a.scalar, b.scalar);
    let taken = is_branch_taken(&x, &y, op, is_jmp32);
    refine_branches(op, is_jmp32, &mut x, &mut y);
    let (mut left, mut right, mut always) = (0u64, 0u64, true);
    for u in values(a.set) {
        let partners = holds[u as usize] & b.set;
        left |= u64::from(partners != 0) << u;
        right |= partners;
        always &= partners == b.set;
    }
    let about = || format!("{op:?} {is_jmp32} {:?} {:?}", a.scalar, b.scalar);
    assert!(taken != Some(true) || always, "{} always taken", about());
    assert!(taken != Some(false) || left == 0, "{} never taken", about());
    assert_eq!(left & !set_of(&x), 0, "{} left {x:?}", about());
    assert_eq!(right & !set_of(&y), 0, "{} right {y:?}", about());
}

#[test]
fn branches_lose_no_value_at_4_bits() {
    let cases = family::<4, 2>();
    for jump in jumps(4, 2) {
        for a in &cases {
            for b in &cases {
                check_branch(&jump, a, b);
            }
        }
    }
}

fn check_unary<const W: u32, const H: u32>(
    case: &Case<W, H>,
    f: impl Fn(&mut ScalarAt<W, H>),
    op: impl Fn(u64) -> u64,
) {
    let mut got = case.scalar;
    f(&mut got);
    for v in values(case.set) {
        assert!(got.contains(op(v)), "{:?} at {v} = {got:?}", case.scalar);
    }
}

fn check_one_operand<const W: u32, const H: u32>(cases: &[Case<W, H>]) {
    for case in cases {
        check_unary(case, |s| neg(true, s), |v| v.wrapping_neg());
        check_unary(case, |s| neg(false, s), |v| low(v.wrapping_neg(), H));
        for bits in 1..=H {
            check_unary(case, |s| s.truncate_to_bits(bits), |v| low(v, bits));
            check_unary(case, |s| s.sign_extend_bits(bits), |v| signed(v, bits) as u64);
        }
        for bits in 1..H {
            let narrow = |s: &mut ScalarAt<W, H>| {
                s.sign_extend_bits_in_half(bits);
                s.zext_32_to_64();
                s.sync();
            };
            check_unary(case, narrow, |v| low(signed(v, bits) as u64, H));
        }
    }
}

#[test]
fn one_operand_loses_no_result() {
    check_one_operand(&family::<4, 2>());
    check_one_operand(&sampled(97));
}

/// Every `step`-th of the family at six bits.
fn sampled(step: usize) -> Vec<Case<6, 3>> {
    let mut raw = Vec::new();
    let (tnums, ranges, halves) = (tnums(6), ranges(6), ranges(3));
    for i in (0..tnums.len() * ranges.len()).step_by(step) {
        let (umin, umax) = ranges[i % ranges.len()];
        let (min, max) = ranges[(i / 7) % ranges.len()];
        let (half_min, half_max) = halves[i % halves.len()];
        let ranged = ScalarAt::<6, 3> { umin, umax, ..ScalarAt::unknown() };
        raw.push(ScalarAt { var_off: tnums[i / ranges.len()], ..ranged });
        raw.push(ScalarAt { smin: min as i64 - 32, smax: max as i64 - 32, ..ranged });
        raw.push(ScalarAt { u32_min: half_min as u32, u32_max: half_max as u32, ..ranged });
        raw.push(ScalarAt { s32_min: half_min as i32 - 4, s32_max: half_max as i32 - 4, ..ranged });
    }
    synced(raw)
}

#[test]
fn sampled_pairs_lose_nothing_at_6_bits() {
    let cases = sampled(4001);
    assert!(cases.len() > 500, "{}", cases.len());
    let jumps = jumps(6, 3);
    for (i, a) in cases.iter().enumerate() {
        for b in cases.iter().skip(i % 5).step_by(5) {
            for op in ALU {
                for (wide, bits) in [(true, 6), (false, 3)] {
                    let mut got = a.scalar;
                    alu(op, wide, &mut got, &b.scalar);
                    let set = set_of(&got);
                    let image = |x| values(b.set).map(move |y| concrete_alu(op, x, y, bits));
                    let lost = values(a.set).flat_map(image).any(|v| set >> v & 1 == 0);
                    assert!(!lost, "{op:?} {wide} {:?} {:?} = {got:?}", a.scalar, b.scalar);
                }
            }
            jumps.iter().for_each(|jump| check_branch(jump, a, b));
        }
    }
}
