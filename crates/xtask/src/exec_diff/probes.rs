//! Loads from the stack through untrusted pointers (`bpf_rdonly_cast`), which machine code
//! delegates to the host.

use super::builder::{FP, Gen, SLOTS};
use skep::btf::{Btf, Kind};
use skep::insn::code::*;
use std::sync::{Arc, OnceLock};

static KERNEL: OnceLock<Option<(Arc<Btf>, i32)>> = OnceLock::new();

/// The kernel's BTF, and the kfunc's id in it.
pub(super) fn kernel() -> Option<&'static (Arc<Btf>, i32)> {
    let find = || {
        let btf = skep::Host::read(&skep::KernelBtf::Running).ok()?.kernel_btf?;
        let id = btf.find_by_name_kind("bpf_rdonly_cast", Kind::Func)?;
        Some((btf, id.0 as i32))
    };
    KERNEL.get_or_init(find).as_ref()
}

impl Gen {
    /// One cast and some loads. Afterwards all registers hold numbers again.
    pub(super) fn probes(&mut self) {
        let Some((_, kfunc)) = kernel() else { return };
        let slots = 1 + self.rng.below(SLOTS) as i16;
        // The first page of a process is never mapped.
        if self.rng.chance(90) {
            self.push(BPF_ALU64 | BPF_MOV | BPF_X, (1, FP), (0, 0));
            self.push(BPF_ALU64 | BPF_ADD, (1, 0), (0, i32::from(-8 * slots)));
        } else {
            self.push(BPF_ALU64 | BPF_MOV, (1, 0), (0, 8 * i32::from(slots)));
        }
        self.push(BPF_ALU64 | BPF_MOV, (2, 0), (0, 0));
        self.push(BPF_JMP | BPF_CALL, (0, BPF_PSEUDO_KFUNC_CALL), (0, *kfunc));
        for reg in [1, 2, 3, 4, 5, 7, 0] {
            if reg == 7 && self.rng.chance(50) {
                continue;
            }
            let (size, bytes) = self.rng.pick(&[(BPF_B, 1), (BPF_H, 2), (BPF_W, 4), (BPF_DW, 8)]);
            let off = (self.rng.below(8 * slots as u64 / bytes) * bytes) as i16;
            let sign = size != BPF_DW && self.rng.chance(30);
            let mode = if sign { BPF_MEMSX } else { BPF_MEM };
            self.push(BPF_LDX | mode | size, (reg, 0), (off, 0));
        }
    }
}
