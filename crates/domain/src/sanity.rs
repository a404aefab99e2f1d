//! Detection of bounds that no value satisfies.
//!
//! Why: contradictions arise when the verifier follows a branch that cannot be taken but that it
//! could not rule out. The kernel then drops the bounds, or rejects the program under
//! `BPF_F_TEST_REG_INVARIANTS`.
//!
//! Kernel: `reg_bounds_sanity_check` (6.18).

use std::fmt;

use crate::{Scalar, ScalarAt};

/// Bounds that contradict each other; displayed as in the kernel's message, after the context in
/// parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundsViolation {
    /// The broken rule.
    pub msg: &'static str,
    /// The register with the contradiction.
    pub reg: Scalar,
}

impl fmt::Display for BoundsViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { msg, reg: r } = self;
        write!(f, "{msg} u64=[{:#x}, {:#x}] s64=[{:#x}, {:#x}] ", r.umin, r.umax, r.smin, r.smax)?;
        write!(f, "u32=[{:#x}, {:#x}] ", r.u32_min, r.u32_max)?;
        write!(f, "s32=[{:#x}, {:#x}] ", r.s32_min, r.s32_max)?;
        write!(f, "var_off=({:#x}, {:#x})", r.var_off.value, r.var_off.mask)
    }
}

impl<const W: u32, const H: u32> ScalarAt<W, H> {
    /// The first broken rule.
    #[inline]
    pub fn violated_rule(&self) -> Option<&'static str> {
        if self.umin > self.umax
            || self.smin > self.smax
            || self.u32_min > self.u32_max
            || self.s32_min > self.s32_max
        {
            return Some("range bounds violation");
        }
        let known = Self::constant(self.var_off.value);
        if self.is_const() && (self.wide() != known.wide()) {
            return Some("const tnum out of sync with range bounds");
        }
        if self.is_subreg_const() && (self.half() != known.half()) {
            return Some("const subreg tnum out of sync with range bounds");
        }
        None
    }
}

impl Scalar {
    /// The first violated rule, if the bounds contradict each other. Kernel:
    /// `reg_bounds_sanity_check`.
    #[inline]
    pub fn violation(&self) -> Option<BoundsViolation> {
        self.violated_rule().map(|msg| BoundsViolation { msg, reg: *self })
    }
}

#[cfg(test)]
mod tests {
    use crate::{JmpOp, Scalar, Tnum, refine_branches};

    #[test]
    fn a_constant_agrees_with_itself_and_with_nothing_else() {
        let mut s = Scalar::constant(0x8000_0000_8000_0000);
        assert_eq!(s.violation(), None);
        s.var_off = Tnum::constant(1);
        assert_eq!(s.violated_rule(), Some("const tnum out of sync with range bounds"));
        s.umin = s.umax + 1;
        assert_eq!(s.violated_rule(), Some("range bounds violation"));
    }

    /// `r &= 0xffffffff0; if w < 17 ...; if w > 31 ...`: only 16 is not above 31, and it is below
    /// 17.
    #[test]
    fn a_contradiction_reads_as_in_the_kernels_log() {
        let bits = Tnum { value: 0, mask: 0xf_ffff_fff0 };
        let mut s = Scalar { var_off: bits, ..Scalar::unknown() };
        s.sync();
        refine_branches(JmpOp::Ge, true, &mut s, &mut Scalar::constant(17));
        assert_eq!(s.violation(), None);
        refine_branches(JmpOp::Le, true, &mut s, &mut Scalar::constant(31));
        let text = s.violation().map(|v| v.to_string());
        let kernel = "range bounds violation u64=[0x11, 0xf00000010] s64=[0x11, 0xf00000010] \
                      u32=[0x11, 0x10] s32=[0x11, 0x10] var_off=(0x10, 0xf00000000)";
        assert_eq!(text.as_deref(), Some(kernel));
    }
}
