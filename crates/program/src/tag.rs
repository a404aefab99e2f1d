//! `Program::tag`: a hash that identifies a program's insns.
//!
//! Kernel: the first eight bytes of the SHA-256 of the insns as loaded, without map descriptors,
//! which are specific to a process (6.18; SHA-1 before that). Tests: compared with the host kernel
//! in `crates/kernel`.

use crate::Program;
use sha2::{Digest, Sha256};
use skep_insn::Endian;
use skep_insn::code::{BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE};

impl Program {
    /// The tag that the kernel shows for these insns.
    pub fn tag(&self) -> [u8; 8] {
        let mut hash = Sha256::new();
        let mut insns = self.insns.iter();
        while let Some(&insn) = insns.next() {
            let of_map = matches!(insn.src, BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_VALUE);
            let mut insn = insn;
            if !(insn.is_ld_imm64() && of_map) {
                hash.update(insn.to_bytes(Endian::Little));
                continue;
            }
            insn.imm = 0;
            hash.update(insn.to_bytes(Endian::Little));
            if let Some(&second) = insns.next() {
                let mut second = second;
                second.imm = 0;
                hash.update(second.to_bytes(Endian::Little));
            }
        }
        let hash = hash.finalize();
        std::array::from_fn(|i| hash[i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_insn::Insn;

    /// Both tags come from Linux 6.18.44.
    #[test]
    fn the_kernels_tags() {
        let insn = |code, dst, src, imm| Insn { code, dst, src, off: 0, imm };
        let end = [insn(0xb7, 0, 0, 2), insn(0x95, 0, 0, 0)];
        let program = |insns: Vec<Insn>| Program { insns, ..Program::default() };
        let plain = program(end.to_vec());
        assert_eq!(plain.tag(), 0x614b_434c_d832_4ecc_u64.to_be_bytes());
        let map = [insn(0x18, 1, 1, 7), insn(0, 0, 0, 0)];
        let with_map = program([map, end].concat());
        assert_eq!(with_map.tag(), 0x2d00_ef08_6dd7_53ef_u64.to_be_bytes());
    }
}
