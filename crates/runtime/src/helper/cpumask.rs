//! Kfuncs for CPU masks (`struct bpf_cpumask`).
//!
//! A mask is an object ([`crate::objects`]) of [`BYTES`]; programs read its words like those of any
//! kernel struct. Masks that are not objects would be the kernel's: there are none here, and they
//! are read as possibly unmapped memory, that is, as empty. The CPUs are those of the runtime.
//!
//! Kernel: `bpf_cpumask_create` and siblings (6.18): impossible CPUs are in no mask; the first CPU
//! of an empty mask is the number of CPUs.

use super::object::{given, passed_on};
use super::probe;
use crate::current;
use crate::objects::{Objects, Owns};
use crate::run::Call;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// Bits of a mask: more CPUs than a kernel has (`NR_CPUS`).
const BITS: usize = 8192;
/// Size of a mask object: the bits, and the kernel's reference count.
const BYTES: usize = BITS / 8 + 64;

fn cpus() -> usize {
    current::with(|current| current.shared.cpus.count()).unwrap_or(1).min(BITS)
}

fn with<T>(work: impl FnOnce(&Objects) -> T) -> Option<T> {
    current::with(|current| work(&current.shared.registry.objects))
}

/// The words of a mask that contain CPUs.
fn words() -> usize {
    cpus().div_ceil(64)
}

/// The CPUs whose bits are in a word.
fn valid(word: usize) -> u64 {
    match cpus() - 64 * word {
        bits @ 1..64 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}

fn word(set: u64, at: usize) -> u64 {
    probe::load(set.wrapping_add(8 * at as u64), 8) & valid(at)
}

/// Modifies a word of a mask, and returns the old value.
fn change(set: u64, at: usize, new: impl Fn(u64) -> u64) -> u64 {
    let place = with(|objects| objects.locate(set.wrapping_add(8 * at as u64), 8)).flatten();
    let Some((region, at)) = place else { return 0 };
    let new = |old| Some(new(old));
    region.u64(at).fetch_update(AcqRel, Acquire, new).unwrap_or_default()
}

fn fill(set: u64, with: impl Fn(usize) -> u64) {
    (0..words()).for_each(|at| {
        change(set, at, |_| with(at));
    });
}

/// The word and bit of a CPU, if it exists.
fn place(cpu: u64) -> Option<(usize, u64)> {
    let cpu = cpu as u32 as usize;
    (cpu < cpus()).then(|| (cpu / 64, 1 << (cpu % 64)))
}

fn first_of(word: impl Fn(usize) -> u64) -> u64 {
    let found = (0..words()).find(|at| word(*at) != 0);
    found.map_or(cpus() as u64, |at| 64 * at as u64 + u64::from(word(at).trailing_zeros()))
}

/// `struct bpf_cpumask *bpf_cpumask_create(void)`.
pub(super) fn create(_: &Call) -> u64 {
    given(with(|objects| objects.create(BYTES, Owns::default())))
}

/// `struct bpf_cpumask *bpf_cpumask_acquire(cpumask)`.
pub(super) fn acquire(call: &Call) -> u64 {
    if with(|objects| objects.acquire(call.arg(0))) == Some(true) {
        given(Some(call.arg(0)));
    }
    call.arg(0)
}

/// `void bpf_cpumask_release(cpumask)`.
pub(super) fn release(call: &Call) -> u64 {
    passed_on(call.arg(0));
    with(|objects| objects.release(call.arg(0)));
    0
}

/// `u32 bpf_cpumask_first(cpumask)`.
pub(super) fn first(call: &Call) -> u64 {
    first_of(|at| word(call.arg(0), at))
}

/// `u32 bpf_cpumask_first_zero(cpumask)`.
pub(super) fn first_zero(call: &Call) -> u64 {
    first_of(|at| !word(call.arg(0), at) & valid(at))
}

/// `u32 bpf_cpumask_first_and(src1, src2)`.
pub(super) fn first_and(call: &Call) -> u64 {
    first_of(|at| word(call.arg(0), at) & word(call.arg(1), at))
}

/// `u32 bpf_cpumask_any_distribute(cpumask)`: any of its CPUs, here always the first.
pub(super) fn any_distribute(call: &Call) -> u64 {
    first(call)
}

/// `u32 bpf_cpumask_any_and_distribute(src1, src2)`.
pub(super) fn any_and_distribute(call: &Call) -> u64 {
    first_and(call)
}

/// `void bpf_cpumask_set_cpu(cpu, cpumask)`.
pub(super) fn set_cpu(call: &Call) -> u64 {
    test_and_set_cpu(call);
    0
}

/// `void bpf_cpumask_clear_cpu(cpu, cpumask)`.
pub(super) fn clear_cpu(call: &Call) -> u64 {
    test_and_clear_cpu(call);
    0
}

/// `bool bpf_cpumask_test_cpu(cpu, cpumask)`.
pub(super) fn test_cpu(call: &Call) -> u64 {
    let found = place(call.arg(0)).map(|(at, bit)| word(call.arg(1), at) & bit != 0);
    u64::from(found == Some(true))
}

/// `bool bpf_cpumask_test_and_set_cpu(cpu, cpumask)`.
pub(super) fn test_and_set_cpu(call: &Call) -> u64 {
    let old = place(call.arg(0)).map(|(at, bit)| change(call.arg(1), at, |old| old | bit) & bit);
    u64::from(old.is_some_and(|old| old != 0))
}

/// `bool bpf_cpumask_test_and_clear_cpu(cpu, cpumask)`.
pub(super) fn test_and_clear_cpu(call: &Call) -> u64 {
    let old = place(call.arg(0)).map(|(at, bit)| change(call.arg(1), at, |old| old & !bit) & bit);
    u64::from(old.is_some_and(|old| old != 0))
}

/// `void bpf_cpumask_setall(cpumask)`.
pub(super) fn setall(call: &Call) -> u64 {
    fill(call.arg(0), valid);
    0
}

/// `void bpf_cpumask_clear(cpumask)`.
pub(super) fn clear(call: &Call) -> u64 {
    fill(call.arg(0), |_| 0);
    0
}

/// `void bpf_cpumask_copy(dst, src)`.
pub(super) fn copy(call: &Call) -> u64 {
    fill(call.arg(0), |at| word(call.arg(1), at));
    0
}

/// Combines two masks into a third; returns whether it is non-empty.
fn combine(call: &Call, with: impl Fn(u64, u64) -> u64) -> u64 {
    let both = |at| with(word(call.arg(1), at), word(call.arg(2), at));
    let any = (0..words()).any(|at| both(at) != 0);
    fill(call.arg(0), both);
    u64::from(any)
}

/// `bool bpf_cpumask_and(dst, src1, src2)`.
pub(super) fn and(call: &Call) -> u64 {
    combine(call, |a, b| a & b)
}

/// `void bpf_cpumask_or(dst, src1, src2)`.
pub(super) fn or(call: &Call) -> u64 {
    combine(call, |a, b| a | b);
    0
}

/// `void bpf_cpumask_xor(dst, src1, src2)`.
pub(super) fn xor(call: &Call) -> u64 {
    combine(call, |a, b| a ^ b);
    0
}

fn every(call: &Call, holds: impl Fn(u64, u64) -> bool) -> u64 {
    u64::from((0..words()).all(|at| holds(word(call.arg(0), at), word(call.arg(1), at))))
}

/// `bool bpf_cpumask_equal(src1, src2)`.
pub(super) fn equal(call: &Call) -> u64 {
    every(call, |a, b| a == b)
}

/// `bool bpf_cpumask_subset(src1, src2)`.
pub(super) fn subset(call: &Call) -> u64 {
    every(call, |a, b| a & !b == 0)
}

/// `bool bpf_cpumask_intersects(src1, src2)`.
pub(super) fn intersects(call: &Call) -> u64 {
    1 - every(call, |a, b| a & b == 0)
}

/// `bool bpf_cpumask_empty(cpumask)`.
pub(super) fn empty(call: &Call) -> u64 {
    u64::from((0..words()).all(|at| word(call.arg(0), at) == 0))
}

/// `bool bpf_cpumask_full(cpumask)`.
pub(super) fn full(call: &Call) -> u64 {
    u64::from((0..words()).all(|at| word(call.arg(0), at) == valid(at)))
}

/// `u32 bpf_cpumask_weight(cpumask)`.
pub(super) fn weight(call: &Call) -> u64 {
    (0..words()).map(|at| u64::from(word(call.arg(0), at).count_ones())).sum()
}
