//! The hash function of hash maps.

const K: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// A 32-bit hash: 64-bit multiplication to 128 bits, folded.
#[inline(always)]
pub(super) fn hash_of(key: &[u8], seed: u64) -> u32 {
    let word = match key.len() {
        4 | 8 => word(key).unwrap_or_default(),
        len => {
            let (words, rest) = key.as_chunks::<8>();
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            let mix = |sum: u64, word: &[u8; 8]| fold(sum ^ u64::from_ne_bytes(*word), K);
            let sum = words.iter().fold(len as u64 ^ seed, mix);
            sum ^ u64::from_ne_bytes(last)
        }
    };
    hash_of_word(word, seed)
}

/// The hash of a key of one word.
#[inline(always)]
pub(super) fn hash_of_word(word: u64, seed: u64) -> u32 {
    let hash = fold(word ^ seed, K);
    (hash ^ hash >> 32) as u32
}

/// Four or eight bytes as a word.
#[inline(always)]
pub(super) fn word(bytes: &[u8]) -> Option<u64> {
    if let Ok(half) = <[u8; 4]>::try_from(bytes) {
        return Some(u32::from_ne_bytes(half).into());
    }
    <[u8; 8]>::try_from(bytes).ok().map(u64::from_ne_bytes)
}
