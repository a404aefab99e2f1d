//! Changes whole insns of an input: bytes put in anywhere shift all that follow, and what was a
//! program is none any more.
//!
//! The input: two bytes, then insns.

use skep_insn::{INSN_BYTES, table::OPCODES};

/// Bytes before the insns.
const HEAD: usize = 2;
/// Helpers that most programs can call, and some that few can.
const HELPERS: [u8; 16] = [1, 2, 3, 5, 7, 8, 12, 14, 26, 51, 87, 88, 130, 131, 132, 181];
const NUMBERS: [i32; 18] =
    [0, 1, -1, 2, 4, 7, 8, -8, 15, 16, 31, 32, 63, 64, 255, -512, i32::MAX, i32::MIN];
const CALL: u8 = 0x85;

/// libFuzzer's own: an input, its bytes, and the most that it may have then.
pub type ByBytes = fn(&mut [u8], usize, usize) -> usize;

/// Changes the first `size` bytes of `data`; the new size.
pub fn mutate(data: &mut [u8], size: usize, max: usize, seed: u32, by_bytes: ByBytes) -> usize {
    let mut rng = Rng(u64::from(seed) << 1 | 1);
    let max = max.min(data.len());
    if size < HEAD + INSN_BYTES || size > max || rng.below(4) == 0 {
        return by_bytes(data, size, max);
    }
    let mut insns: Vec<[u8; INSN_BYTES]> = data[HEAD..size].as_chunks().0.to_vec();
    let most = (max - HEAD) / INSN_BYTES;
    for _ in 0..1 + rng.below(3) {
        edit(&mut insns, most, &mut rng, by_bytes);
    }
    if rng.below(16) == 0 {
        data[rng.below(HEAD)] = rng.next() as u8;
    }
    let bytes = insns.as_flattened();
    data[HEAD..HEAD + bytes.len()].copy_from_slice(bytes);
    HEAD + bytes.len()
}

fn edit(insns: &mut Vec<[u8; 8]>, most: usize, rng: &mut Rng, by_bytes: ByBytes) {
    let len = insns.len();
    let (at, other) = (rng.below(len), rng.below(len));
    match rng.below(12) {
        0 if len < most => insns.insert(at, made(rng)),
        1 if len > 1 => drop(insns.remove(at)),
        2 => insns[at] = made(rng),
        3 => insns.swap(at, other),
        4 => insns[at] = insns[other],
        5 => {
            let run = 1 + rng.below((len - at).min(8));
            let copied = insns[at..at + run].to_vec();
            insns.splice(other..other, copied);
            insns.truncate(most);
        }
        6 => insns[at][0] = OPCODES[rng.below(OPCODES.len())].code,
        7 => insns[at][1] = rng.below(11) as u8 | insns[at][1] & 0xf0,
        8 => insns[at][1] = (rng.below(11) as u8) << 4 | insns[at][1] & 0x0f,
        9 => set_off(&mut insns[at], rng),
        10 => insns[at][4..].copy_from_slice(&rng.number().to_le_bytes()),
        // What libFuzzer saw in comparisons.
        _ => drop(by_bytes(&mut insns[at][4..], 4, 4)),
    }
}

fn made(rng: &mut Rng) -> [u8; 8] {
    let code = OPCODES[rng.below(OPCODES.len())].code;
    let regs = rng.below(11) as u8 | (rng.below(11) as u8) << 4;
    let mut insn = [code, regs, 0, 0, 0, 0, 0, 0];
    set_off(&mut insn, rng);
    insn[4..].copy_from_slice(&rng.number().to_le_bytes());
    if code == CALL && rng.below(4) != 0 {
        insn = [CALL, 0, 0, 0, HELPERS[rng.below(HELPERS.len())], 0, 0, 0];
    }
    insn
}

fn set_off(insn: &mut [u8; 8], rng: &mut Rng) {
    let off = match rng.below(4) {
        0 => 0,
        1 => -8 * (1 + rng.below(8) as i16),
        2 => rng.below(16) as i16 - 4,
        _ => rng.number() as i16,
    };
    insn[2..4].copy_from_slice(&off.to_le_bytes());
}

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn number(&mut self) -> i32 {
        match self.below(8) {
            0 => self.next() as i32,
            1 => 1i32.wrapping_shl(self.next() as u32 & 31).wrapping_sub((self.next() & 1) as i32),
            _ => NUMBERS[self.below(NUMBERS.len())],
        }
    }
}
