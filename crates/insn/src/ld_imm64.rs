//! The 64-bit immediate that spans two slots.
//!
//! Source: RFC 9669 section 3.2 (wide instruction encoding).

use crate::Insn;
use crate::code::{BPF_DW, BPF_IMM, BPF_LD};

impl Insn {
    /// The two slots of `dst = value ll`, with `src` 0 or one of `BPF_PSEUDO_*`.
    pub fn ld_imm64(dst: u8, src: u8, value: u64) -> [Insn; 2] {
        let code = BPF_LD | BPF_IMM | BPF_DW;
        [
            Insn { code, dst, src, off: 0, imm: value as u32 as i32 },
            Insn { imm: (value >> 32) as u32 as i32, ..Insn::default() },
        ]
    }

    /// The 64-bit immediate of an `ld_imm64`, whose first slot this is: the low half is here, the
    /// high half in `second`.
    pub fn imm64(self, second: Insn) -> u64 {
        u64::from(self.imm as u32) | u64::from(second.imm as u32) << 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_keep_their_sign_bits() {
        for value in [0, 1, u64::MAX, 0x8000_0000, 0xffff_ffff_8000_0000, 0x1122_3344_5566_7788] {
            let [first, second] = Insn::ld_imm64(3, 0, value);
            assert!(first.is_ld_imm64());
            assert_eq!(second.code, 0);
            assert_eq!(first.imm64(second), value);
        }
    }
}
