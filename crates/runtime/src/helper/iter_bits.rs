//! The open-coded iterator over set bits in memory, 16 bytes on the program's stack: the word, or
//! the index of the run's copy of several words; total number of bits; last bit.
//!
//! Kernel: `bpf_iter_bits_new` and siblings (6.18). A finished or invalid iterator is all 0.

use super::probe::{self, Side};
use crate::run::Call;
use crate::{Errno, current};

/// `BITS_ITER_NR_WORDS_MAX`.
const WORDS_MAX: u32 = 511;
/// Offset of the last bit in the iterator.
const LAST: usize = 12;

fn set(call: &Call, word: u64, bits: u32) {
    let last = if bits == 0 { 0 } else { u32::MAX };
    call.write(0, &[word, u64::from(bits) | u64::from(last) << 32].map(u64::to_ne_bytes).concat());
}

/// `int bpf_iter_bits_new(it, words, nr_words)`.
pub(super) fn new(call: &Call) -> u64 {
    let count = call.arg(2) as u32;
    set(call, 0, 0);
    let refused = match count {
        0 => Some(Errno::EINVAL),
        1..=WORDS_MAX => None,
        _ => Some(Errno::E2BIG),
    };
    if let Some(errno) = refused {
        return errno.as_int();
    }
    let mut bytes = vec![0; 8 * count as usize];
    // A single word is read as one, several words as kernel memory.
    let side = if count == 1 { Side::Either } else { Side::Kernel };
    if let Err(errno) = probe::fetch(side, call.arg(1), &mut bytes) {
        return errno.as_int();
    }
    let words: Vec<u64> =
        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    let word = match words[..] {
        [word] => word,
        _ => keep(words),
    };
    set(call, word, 64 * count);
    0
}

fn keep(words: Vec<u64>) -> u64 {
    let number = current::with(|current| {
        current.ctx.effects.listed.set(true);
        let mut copies = current.ctx.effects.bits.borrow_mut();
        let free = copies.iter().position(Option::is_none).unwrap_or(copies.len());
        match copies.get_mut(free) {
            Some(slot) => *slot = Some(words),
            None => copies.push(Some(words)),
        }
        free as u64
    });
    number.unwrap_or_default()
}

/// The word and its neighbours, total bits, the bit after the last one.
fn state(call: &Call) -> (u64, u32, u32) {
    let mem = call.mem(0, 16);
    let word = |n: usize| u32::from_ne_bytes(mem.part(4 * n, 4).array());
    let [low, high, bits, last] = [0, 1, 2, 3].map(word);
    (u64::from(low) | u64::from(high) << 32, bits, last.wrapping_add(1))
}

/// `int *bpf_iter_bits_next(it)`.
pub(super) fn next(call: &Call) -> u64 {
    let (word, bits, from) = state(call);
    if bits == 0 {
        return 0;
    }
    let is_set = |words: &[u64], bit: u32| {
        words.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0)
    };
    let find = |words: &[u64]| (from..bits).find(|bit| is_set(words, *bit));
    let found = match bits {
        64 => find(&[word]),
        _ => current::with(|current| {
            let copies = current.ctx.effects.bits.borrow();
            find(copies.get(word as usize)?.as_ref()?)
        })
        .flatten(),
    };
    match found {
        Some(bit) => {
            call.write_at(0, LAST, &bit.to_ne_bytes());
            call.arg(0) + LAST as u64
        }
        None => {
            destroy(call);
            0
        }
    }
}

/// `void bpf_iter_bits_destroy(it)`.
pub(super) fn destroy(call: &Call) -> u64 {
    let (word, bits, _) = state(call);
    if bits > 64 {
        current::with(|current| {
            if let Some(slot) = current.ctx.effects.bits.borrow_mut().get_mut(word as usize) {
                *slot = None;
            }
        });
    }
    set(call, 0, 0);
    0
}
