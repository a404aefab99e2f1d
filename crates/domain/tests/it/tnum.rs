//! Tnums proved by enumeration: every tnum of six bits, every pair of them, every value in them.

use skep_domain::Tnum;

const BITS: u32 = 6;
const LOW: u64 = (1 << BITS) - 1;

/// A set of six-bit values, as bits of a word.
type Set = u64;

fn all() -> Vec<Tnum> {
    let mut out = Vec::new();
    for mask in 0..=LOW {
        out.extend((0..=LOW).filter(|v| v & mask == 0).map(|value| Tnum { value, mask }));
    }
    assert_eq!(out.len(), 3usize.pow(BITS));
    out
}

fn members(t: Tnum) -> impl Iterator<Item = u64> {
    (0..=LOW).filter(move |v| t.has(*v))
}

fn set(values: impl IntoIterator<Item = u64>) -> Set {
    values.into_iter().fold(0, |s, v| s | 1 << (v & LOW))
}

fn low(t: Tnum) -> Tnum {
    Tnum { value: t.value & LOW, mask: t.mask & LOW }
}

/// The least tnum that holds every value of a set that is not empty.
fn best(s: Set) -> Tnum {
    let values = || (0..=LOW).filter(move |v| s >> v & 1 == 1);
    let (ones, any) = values().fold((LOW, 0), |(ones, any), v| (ones & v, any | v));
    Tnum { value: ones, mask: any & !ones }
}

/// Every pair: no result is lost, and if `exact` no better tnum would do.
fn check_binary(abs: fn(Tnum, Tnum) -> Tnum, op: fn(u64, u64) -> u64, exact: bool) {
    let all = all();
    for &a in &all {
        for &b in &all {
            let want = set(members(a).flat_map(|x| members(b).map(move |y| op(x, y))));
            let got = low(abs(a, b));
            assert_eq!(got.value & got.mask, 0, "{a:?} {b:?} = {got:?}");
            assert_eq!(want & !set(members(got)), 0, "{a:?} {b:?} = {got:?} loses a value");
            assert!(!exact || got == best(want), "{a:?} {b:?} = {got:?}, best {:?}", best(want));
        }
    }
}

#[test]
fn sums_and_differences_are_exact() {
    check_binary(Tnum::add, u64::wrapping_add, true);
    check_binary(Tnum::sub, u64::wrapping_sub, true);
}

#[test]
fn bitwise_operations_are_exact() {
    check_binary(Tnum::and, |x, y| x & y, true);
    check_binary(Tnum::or, |x, y| x | y, true);
    check_binary(Tnum::xor, |x, y| x ^ y, true);
}

#[test]
fn products_are_sound() {
    check_binary(Tnum::mul, u64::wrapping_mul, false);
    check_binary(Tnum::mul_by_sums, u64::wrapping_mul, false);
    check_binary(Tnum::mul_by_halves, u64::wrapping_mul, false);
}

#[test]
fn negation_and_shifts_are_exact() {
    let check = |t: Tnum, got: Tnum, op: &dyn Fn(u64) -> u64| {
        assert_eq!(low(got), best(set(members(t).map(op))), "{t:?}");
    };
    for t in all() {
        check(t, t.neg(), &u64::wrapping_neg);
        for shift in 0..BITS {
            check(t, t.lshift(shift), &|v| v << shift);
            check(t, t.rshift(shift), &|v| v >> shift);
            let up = 64 - BITS;
            let signed = |v: u64| (((v << up) as i64) >> up >> shift) as u64;
            check(t, t.arshift(shift, BITS), &signed);
        }
    }
}

#[test]
fn sets_meet_and_join_as_sets_do() {
    let all = all();
    for &a in &all {
        for &b in &all {
            let (x, y) = (set(members(a)), set(members(b)));
            assert_eq!(a.overlap(b), x & y != 0, "{a:?} {b:?}");
            assert_eq!(a.contains(b), y & !x == 0, "{a:?} {b:?}");
            assert_eq!(a.union(b), best(x | y), "{a:?} {b:?}");
            if x & y != 0 {
                assert_eq!(set(members(a.intersect(b))), x & y, "{a:?} {b:?}");
            }
        }
    }
}

#[test]
fn a_range_is_held_by_its_least_tnum_of_one_unknown_tail() {
    for min in 0..=LOW {
        for max in min..=LOW {
            let t = Tnum::range(min, max);
            assert!((min..=max).all(|v| t.has(v)), "{min}..={max}: {t:?}");
            assert_eq!(t.mask & t.mask.wrapping_add(1), 0, "{min}..={max}: {t:?}");
            assert_eq!(t, best(set(min..=max) | set([t.value, t.value | t.mask])));
            assert!(t.mask == 0 || (min & !(t.mask >> 1)) != (max & !(t.mask >> 1)));
        }
    }
}

#[test]
fn step_finds_the_next_value() {
    for t in all() {
        for z in 0..=LOW {
            let next = members(t).find(|v| *v > z).unwrap_or(t.value | t.mask);
            assert_eq!(t.step(z), next, "{t:?} after {z}");
        }
    }
}

#[test]
fn alignment_is_that_of_every_value() {
    for t in all() {
        for size in [1, 2, 4, 8, 16, 32] {
            assert_eq!(t.is_aligned(size), members(t).all(|v| v % size == 0), "{t:?} by {size}");
        }
        assert!(t.is_aligned(0));
    }
}

#[test]
fn halves_are_taken_apart_and_put_together() {
    let t = Tnum { value: 0x1200_0000_0000_00f0, mask: 0x00ff_ff00_0000_000f };
    assert_eq!(t.subreg(), Tnum { value: 0xf0, mask: 0xf });
    assert_eq!(t.clear_subreg(), Tnum { value: 0x12 << 56, mask: 0x00ff_ff00 << 32 });
    assert_eq!(t.clear_subreg().with_subreg(t), t);
    assert_eq!(t.const_subreg(7), Tnum { value: t.value & !0xffff_ffff | 7, mask: t.mask & !0xf });
    assert_eq!(t.cast(1), Tnum { value: 0xf0, mask: 0xf });
    assert_eq!(t.cast(8), t);
}
