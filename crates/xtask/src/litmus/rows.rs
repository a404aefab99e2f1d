//! The litmus programs: what each thread does in a round, and which outcomes are forbidden.
//!
//! Registers in a round: r6 is the shared memory (x is its first word, y is 128 bytes after it), r7
//! is where the thread records what it saw, r8 is the round number from 1, which never repeats, r9
//! is the sum that the thread returns. r0 to r4 are free.

use super::batch::{Batch, NOTES};
use Judge::{Counted, Judged, Seen};

/// How outcomes are reported.
#[derive(Clone, Copy)]
pub(super) enum Judge {
    /// A thread adds 1 to its sum whenever it saw a forbidden outcome.
    Counted,
    /// A batch is evaluated afterwards: the number of forbidden outcomes.
    Judged(fn(&Batch<'_>) -> u64),
    /// The outcome is allowed: seeing it shows that the threads race.
    Seen(fn(&Batch<'_>) -> u64),
}

/// The memory of a round.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The same words in all rounds.
    Fixed,
    /// Separate words for each round of a batch.
    OfRound,
}

/// A litmus program.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) threads: [&'static str; 2],
    pub(super) place: Place,
    pub(super) judge: Judge,
}

const fn row(name: &'static str, threads: [&'static str; 2], judge: Judge) -> Row {
    Row { name, threads, place: Place::Fixed, judge }
}

const fn of_round(name: &'static str, threads: [&'static str; 2], judge: Judge) -> Row {
    Row { name, threads, place: Place::OfRound, judge }
}

/// Writes data, then a flag, both with the round number.
const SENDS: &str = "*(u64 *)(r6 +0) = r8
    *(u64 *)(r6 +128) = r8";
/// Alternates between values on both sides of a bound.
const TOGGLES: &str = "r1 = 0x700000000 ll
    *(u64 *)(r6 +0) = r1
    r1 = 0xffffffff00000000 ll
    *(u64 *)(r6 +0) = r1";

/// Fills two words with the round number and clears them, then writes a flag.
const CLEARS: &str = "*(u64 *)(r6 +0) = r8
    *(u64 *)(r6 +8) = r8
    *(u64 *)(r6 +0) = 0
    *(u64 *)(r6 +8) = 0
    *(u64 *)(r6 +128) = r8";
/// Reads the flag, then one of the words, which must belong to a later round.
const CLEARED: [&str; 2] = [
    "r1 = *(u64 *)(r6 +128)
     r2 = *(u64 *)(r6 +0)
     if r2 == 0 goto skip
     r2 -= 1
     r2 -= r1
     r2 >>= 63
     r9 += r2
     skip:",
    "r1 = *(u64 *)(r6 +128)
     r2 = *(u64 *)(r6 +8)
     if r2 == 0 goto skip
     r2 -= 1
     r2 -= r1
     r2 >>= 63
     r9 += r2
     skip:",
];

/// All of them.
pub(super) const ROWS: [Row; 32] = [
    // One load, a check, and an index from the same value.
    row(
        "double fetch, upper half",
        [
            "r1 = *(u64 *)(r6 +0)
             r2 = 0x7ffffffff ll
             if r1 > r2 goto skip
             r1 >>= 32
             r1 >>= 3
             r1 = -r1
             r1 >>= 63
             r9 += r1
             skip:",
            TOGGLES,
        ],
        Counted,
    ),
    row(
        "double fetch, bytes",
        [
            "r1 = *(u8 *)(r6 +0)
             r2 = *(u8 *)(r6 +1)
             if r1 > 7 goto skip
             r2 <<= 8
             r1 |= r2
             r1 &= 255
             r1 >>= 3
             r1 = -r1
             r1 >>= 63
             r9 += r1
             skip:",
            "r1 = r8
             r1 &= 1
             r1 = -r1
             r1 |= 7
             *(u8 *)(r6 +0) = r1",
        ],
        Counted,
    ),
    // Whole words are loaded and stored as a whole.
    row(
        "one word, not two halves",
        [
            "r1 = r8
             r1 <<= 32
             r2 = r8
             r2 <<= 32
             r2 >>= 32
             r1 |= r2
             *(u64 *)(r6 +0) = r1",
            "r1 = *(u64 *)(r6 +0)
             r2 = r1
             r2 >>= 32
             r1 <<= 32
             r1 >>= 32
             r1 ^= r2
             r1 = -r1
             r1 >>= 63
             r9 += r1",
        ],
        Counted,
    ),
    // A store does not affect adjacent bytes.
    row("neighbouring bytes", [BESIDE[0], BESIDE[1]], Counted),
    // Zeros that fill a block are visible before later stores.
    row("message passing, zeros, first half", [CLEARS, CLEARED[0]], Counted),
    row("message passing, zeros, second half", [CLEARS, CLEARED[1]], Counted),
    // Message passing: a thread that sees the flag sees the data.
    row("message passing", [SENDS, RECEIVES], Counted),
    row(
        "message passing, acquire",
        [
            SENDS,
            "r1 = load_acquire((u64 *)(r6 +128))
             r2 = *(u64 *)(r6 +0)
             r2 -= r1
             r2 >>= 63
             r9 += r2",
        ],
        Counted,
    ),
    row("message passing, release", [RELEASES, RECEIVES], Counted),
    row(
        "message passing, both",
        [
            RELEASES,
            "r1 = load_acquire((u64 *)(r6 +128))
             r2 = load_acquire((u64 *)(r6 +0))
             r2 -= r1
             r2 >>= 63
             r9 += r2",
        ],
        Counted,
    ),
    row(
        "message passing, global variables",
        [
            "r1 = map_value[shared]+0
             *(u64 *)(r1 +0) = r8
             r2 = map_value[shared]+128
             *(u64 *)(r2 +0) = r8",
            "r1 = map_value[shared]+128
             r1 = *(u64 *)(r1 +0)
             r2 = map_value[shared]+0
             r2 = *(u64 *)(r2 +0)
             r2 -= r1
             r2 >>= 63
             r9 += r2",
        ],
        Counted,
    ),
    row(
        "coherence, sums in memory",
        [
            "r1 = 1
             r2 = *(u64 *)(r6 +0)
             r1 += r2
             *(u64 *)(r6 +0) = r1",
            "r1 = *(u64 *)(r6 +0)
             r2 = *(u64 *)(r6 +0)
             r2 -= r1
             r2 >>= 63
             r9 += r2",
        ],
        Counted,
    ),
    row(
        "message passing, compared",
        [
            SENDS,
            "r1 = *(u64 *)(r6 +128)
             r2 = *(u64 *)(r6 +0)
             if r2 >= r1 goto skip
             r9 += 1
             skip:",
        ],
        Counted,
    ),
    row(
        "message passing, 32 bits",
        [
            "*(u32 *)(r6 +0) = r8
             *(u32 *)(r6 +128) = r8",
            "r1 = *(u32 *)(r6 +128)
             r2 = *(u32 *)(r6 +0)
             w2 -= w1
             w2 >>= 31
             r9 += r2",
        ],
        Counted,
    ),
    row(
        "message passing, a load between",
        [
            SENDS,
            "r1 = *(u64 *)(r6 +128)
             r3 = *(u64 *)(r6 +256)
             r2 = *(u64 *)(r6 +0)
             r2 -= r1
             r2 >>= 63
             r2 += r3
             r9 += r2",
        ],
        Counted,
    ),
    row(
        "message passing, exchange",
        [
            "*(u64 *)(r6 +0) = r8
             r1 = r8
             r1 = atomic64_xchg((u64 *)(r6 +128), r1)",
            RECEIVES,
        ],
        Counted,
    ),
    row(
        "message passing, sum in memory",
        [
            "r1 = *(u64 *)(r6 +0)
             r1 += 1
             *(u64 *)(r6 +0) = r1
             r2 = *(u64 *)(r6 +128)
             r2 += 1
             *(u64 *)(r6 +128) = r2",
            RECEIVES,
        ],
        Counted,
    ),
    // Coherence: the values read from one word do not go back in time.
    row(
        "coherence, two reads",
        [
            "*(u64 *)(r6 +0) = r8",
            // The address of the first load is known late, so that reordering would show.
            "r3 = r8
             r3 *= r8
             r3 *= r8
             r3 *= r8
             r3 &= 0
             r3 += r6
             r1 = *(u64 *)(r3 +0)
             r2 = *(u64 *)(r6 +0)
             r2 -= r1
             r2 >>= 63
             r9 += r2",
        ],
        Counted,
    ),
    row(
        "coherence, two writes",
        [
            "r1 = r8
             r1 <<= 1
             *(u64 *)(r6 +0) = r1
             r1 |= 1
             *(u64 *)(r6 +0) = r1",
            "r1 = *(u64 *)(r6 +0)
             r2 = *(u64 *)(r6 +0)
             if r2 >= r1 goto skip
             r9 += 1
             skip:",
        ],
        Counted,
    ),
    row(
        "coherence, own write",
        [
            // Even numbers are our own: none may be older than what we have just written.
            "r2 = r8
             r2 <<= 1
             *(u64 *)(r6 +0) = r2
             r1 = *(u64 *)(r6 +0)
             r3 = r1
             r1 -= r2
             r1 >>= 63
             r3 ^= 1
             r1 &= r3
             r9 += r1",
            "r2 = r8
             r2 <<= 1
             r2 |= 1
             *(u64 *)(r6 +0) = r2",
        ],
        Counted,
    ),
    // Load buffering: a load does not return a value that depends on a later store.
    row("load buffering", LOADS_THEN_STORES, Judged(load_buffering)),
    row(
        "load buffering, acquire and release",
        [
            "r1 = load_acquire((u64 *)(r6 +0))
             store_release((u64 *)(r6 +128), r8)
             *(u64 *)(r7 +0) = r1",
            "r1 = load_acquire((u64 *)(r6 +128))
             store_release((u64 *)(r6 +0), r8)
             *(u64 *)(r7 +0) = r1",
        ],
        Judged(load_buffering),
    ),
    // Store buffering: allowed without a barrier, not with one.
    row(
        "store buffering (allowed)",
        [
            "*(u64 *)(r6 +0) = r8
             r1 = *(u64 *)(r6 +128)
             *(u64 *)(r7 +0) = r1",
            "*(u64 *)(r6 +128) = r8
             r1 = *(u64 *)(r6 +0)
             *(u64 *)(r7 +0) = r1",
        ],
        Seen(store_buffering),
    ),
    row(
        "store buffering, atomic between",
        [
            "*(u64 *)(r6 +0) = r8
             r2 = 1
             r2 = atomic64_fetch_add((u64 *)(r6 +256), r2)
             r1 = *(u64 *)(r6 +128)
             *(u64 *)(r7 +0) = r1",
            "*(u64 *)(r6 +128) = r8
             r2 = 1
             lock *(u64 *)(r6 +320) += r2
             r1 = *(u64 *)(r6 +0)
             *(u64 *)(r7 +0) = r1",
        ],
        Judged(store_buffering),
    ),
    row(
        "store buffering, exchanges",
        [
            "r2 = r8
             r2 = atomic64_xchg((u64 *)(r6 +0), r2)
             r1 = *(u64 *)(r6 +128)
             *(u64 *)(r7 +0) = r1",
            "r2 = r8
             r2 = atomic64_xchg((u64 *)(r6 +128), r2)
             r1 = *(u64 *)(r6 +0)
             *(u64 *)(r7 +0) = r1",
        ],
        Judged(store_buffering),
    ),
    of_round(
        "2+2W",
        [
            "r1 = r8
             r1 <<= 1
             *(u64 *)(r6 +0) = r1
             *(u64 *)(r6 +128) = r1",
            "r1 = r8
             r1 <<= 1
             r1 |= 1
             *(u64 *)(r6 +128) = r1
             *(u64 *)(r6 +0) = r1",
        ],
        // Both first stores came last, which is forbidden.
        Judged(|batch| batch.rounds(|n, x, y| x == 2 * n && y == 2 * n + 1)),
    ),
    of_round(
        "S",
        [
            "r1 = r8
             r1 <<= 1
             *(u64 *)(r6 +0) = r1
             *(u64 *)(r6 +128) = r1",
            "r2 = *(u64 *)(r6 +128)
             r1 = r8
             r1 <<= 1
             r1 |= 1
             *(u64 *)(r6 +0) = r1
             *(u64 *)(r7 +0) = r2",
        ],
        Judged(|batch| batch.noted(1, |n, x, seen| seen == 2 * n && x == 2 * n)),
    ),
    // No atomic operation is lost.
    row("atomic additions", [ADDS, ADDS], Judged(additions)),
    row(
        "atomic bits",
        [
            "r1 = 1
             r1 = atomic64_fetch_xor((u64 *)(r6 +0), r1)
             r2 = r8
             r2 += -1
             r1 ^= r2
             r1 &= 1
             r9 += r1",
            "r1 = 0x100000000 ll
             r1 = atomic64_fetch_xor((u64 *)(r6 +0), r1)
             r1 >>= 32
             r2 = r8
             r2 += -1
             r1 ^= r2
             r1 &= 1
             r9 += r1",
        ],
        Counted,
    ),
    row("compare and exchange", [COUNTS_UP, COUNTS_UP], Judged(counted_up)),
    row("exchanges", [SWAPS[0], SWAPS[1]], Judged(exchanged)),
    row(
        "and, or",
        [
            "r1 = 1
             r1 = atomic64_fetch_or((u64 *)(r6 +0), r1)
             r2 = -2
             r2 = atomic64_fetch_and((u64 *)(r6 +0), r2)
             r2 ^= 1
             r1 |= r2
             r1 &= 1
             r9 += r1",
            "r1 = 2
             r1 = atomic64_fetch_or((u64 *)(r6 +0), r1)
             r2 = -3
             r2 = atomic64_fetch_and((u64 *)(r6 +0), r2)
             r2 ^= 2
             r1 |= r2
             r1 >>= 1
             r1 &= 1
             r9 += r1",
        ],
        Counted,
    ),
];

const RECEIVES: &str = "r1 = *(u64 *)(r6 +128)
    r2 = *(u64 *)(r6 +0)
    r2 -= r1
    r2 >>= 63
    r9 += r2";
const RELEASES: &str = "*(u64 *)(r6 +0) = r8
    store_release((u64 *)(r6 +128), r8)";
const LOADS_THEN_STORES: [&str; 2] = [
    "r1 = *(u64 *)(r6 +0)
     *(u64 *)(r6 +128) = r8
     *(u64 *)(r7 +0) = r1",
    "r1 = *(u64 *)(r6 +128)
     *(u64 *)(r6 +0) = r8
     *(u64 *)(r7 +0) = r1",
];
const BESIDE: [&str; 2] = [
    "*(u8 *)(r6 +0) = r8
     r1 = *(u8 *)(r6 +0)
     r1 ^= r8
     r1 &= 255
     r1 = -r1
     r1 >>= 63
     r9 += r1",
    "*(u8 *)(r6 +1) = r8
     r1 = *(u8 *)(r6 +1)
     r1 ^= r8
     r1 &= 255
     r1 = -r1
     r1 >>= 63
     r9 += r1",
];
const ADDS: &str = "r1 = 1
    r1 = atomic64_fetch_add((u64 *)(r6 +0), r1)
    *(u64 *)(r7 +0) = r1";
/// Returns the number of successful exchanges.
const COUNTS_UP: &str = "r0 = *(u64 *)(r6 +0)
    r2 = r0
    r1 = r0
    r1 += 1
    r0 = atomic64_cmpxchg((u64 *)(r6 +0), r0, r1)
    if r0 != r2 goto skip
    r9 += 1
    skip:";
const SWAPS: [&str; 2] = [
    "r1 = r8
     r1 <<= 1
     r1 = atomic64_xchg((u64 *)(r6 +0), r1)
     *(u64 *)(r7 +0) = r1",
    "r1 = r8
     r1 <<= 1
     r1 |= 1
     r1 = atomic64_xchg((u64 *)(r6 +0), r1)
     *(u64 *)(r7 +0) = r1",
];

/// Each thread recorded, before its own store, the other's round whose store it saw: no two rounds
/// may have seen each other.
fn load_buffering(batch: &Batch<'_>) -> u64 {
    let [a, b] = batch.notes;
    let seen = |(i, j): (usize, u64)| {
        let j = j.checked_sub(batch.first).and_then(|at| b.get(at as usize));
        u64::from(j.is_some_and(|&back| back >= batch.first + i as u64))
    };
    a.iter().copied().enumerate().map(seen).sum()
}

/// Each thread recorded, after its own store, the other's round whose store it saw: no two rounds
/// may both have missed the other.
fn store_buffering(batch: &Batch<'_>) -> u64 {
    let [a, b] = batch.notes;
    let missed = |(i, seen): (usize, u64)| {
        // The first round of the other thread that was missed.
        let j = (seen + 1).saturating_sub(batch.first) as usize;
        u64::from(b.get(j).is_some_and(|&back| back < batch.first + i as u64))
    };
    a.iter().copied().enumerate().map(missed).sum()
}

/// Every old value was returned exactly once.
fn additions(batch: &Batch<'_>) -> u64 {
    let rounds = NOTES as u64;
    let start = 2 * (batch.first - 1);
    let expected = (start..start + 2 * rounds).fold(0, u64::wrapping_add);
    u64::from(batch.sum_of_notes() != expected || batch.words[0] != start + 2 * rounds)
}

fn counted_up(batch: &Batch<'_>) -> u64 {
    let succeeded: u64 = batch.sums.iter().copied().map(u64::from).sum();
    u64::from(batch.words[0] != batch.before.wrapping_add(succeeded))
}

/// Every value stored, and the initial one, was returned exactly once, except for the current one.
fn exchanged(batch: &Batch<'_>) -> u64 {
    let put = (batch.first..batch.first + NOTES as u64).map(|n| 4 * n + 1);
    let expected = put.fold(batch.before, u64::wrapping_add);
    u64::from(batch.sum_of_notes().wrapping_add(batch.words[0]) != expected)
}
