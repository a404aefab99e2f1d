//! Arithmetic on scalars: what is known of `dst op src`.
//!
//! Kernel: `adjust_scalar_min_max_vals`, `is_safe_to_compute_dst_reg_range` (6.18).

use crate::bounds::Bounds;
use crate::{Scalar, ScalarAt, Tnum};

/// The operations of ALU and ALU64 insns that combine two numbers (`BPF_ADD`, ...).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AluOp {
    Add,
    Sub,
    Mul,
    Div,
    Or,
    And,
    Lsh,
    Rsh,
    Mod,
    Xor,
    Arsh,
}

impl AluOp {
    /// The operation bits of the opcode (`BPF_ADD` = 0x00, ...), or `None` for `BPF_NEG`,
    /// `BPF_MOV`, `BPF_END` and unknown ones.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code & 0xf0 {
            0x00 => Self::Add,
            0x10 => Self::Sub,
            0x20 => Self::Mul,
            0x30 => Self::Div,
            0x40 => Self::Or,
            0x50 => Self::And,
            0x60 => Self::Lsh,
            0x70 => Self::Rsh,
            0x90 => Self::Mod,
            0xa0 => Self::Xor,
            0xc0 => Self::Arsh,
            _ => return None,
        })
    }
}

impl AluOp {
    /// Whether the result can be computed at all. Kernel: `is_safe_to_compute_dst_reg_range`.
    #[inline]
    pub(crate) fn is_computable<const W: u32, const H: u32>(
        self,
        wide: bool,
        src: &ScalarAt<W, H>,
    ) -> bool {
        match self {
            Self::Div | Self::Mod => false,
            Self::Lsh | Self::Rsh | Self::Arsh if wide => {
                src.is_const() && src.wide().is_const() && src.umax < u64::from(W)
            }
            Self::Lsh | Self::Rsh | Self::Arsh => {
                src.is_subreg_const() && src.half().is_const() && src.umax < u64::from(H)
            }
            _ => true,
        }
    }
}

/// `dst op= src`, on 64 bits if `wide`, else on the low half with the upper half zeroed.
///
/// False if nothing can be computed (division, a shift by an unknown or too large amount): `dst` is
/// then unknown, and the caller must also drop its other properties (id, precision).
#[inline]
pub fn alu<const W: u32, const H: u32>(
    op: AluOp,
    wide: bool,
    dst: &mut ScalarAt<W, H>,
    src: &ScalarAt<W, H>,
) -> bool {
    if !op.is_computable(wide, src) {
        *dst = ScalarAt::unknown();
        return false;
    }
    if let (Some(x), Some(y)) = (dst.exact_value(), src.exact_value()) {
        let value = if wide { fold::<W>(op, x, y) } else { fold::<H>(op, x, y) };
        *dst = ScalarAt::constant(value);
        return true;
    }
    combine(op, wide, dst, src);
    dst.sync();
    true
}

/// The result before its views are brought into agreement.
#[inline]
fn combine<const W: u32, const H: u32>(
    op: AluOp,
    wide: bool,
    dst: &mut ScalarAt<W, H>,
    src: &ScalarAt<W, H>,
) {
    match op {
        AluOp::Lsh | AluOp::Rsh | AluOp::Arsh => {
            shift(op, wide, dst, src);
            dst.narrow_by_bits();
        }
        _ => arithmetic(op, dst, src),
    }
    if !wide {
        dst.zext_32_to_64();
    }
}

/// The bounds have not yet been narrowed by the known bits.
#[inline]
pub(crate) fn shift<const W: u32, const H: u32>(
    op: AluOp,
    wide: bool,
    dst: &mut ScalarAt<W, H>,
    src: &ScalarAt<W, H>,
) {
    let shift = if wide { src.umin as u32 } else { src.u32_min };
    if wide { shift_wide(op, dst, shift) } else { shift_half(op, dst, shift) }
}

/// The result for two constants on `B` bits: computed directly, equal to what the bounds converge
/// to.
#[inline]
fn fold<const B: u32>(op: AluOp, x: u64, y: u64) -> u64 {
    let (x, y) = (Bounds::<B>::to_u(x), Bounds::<B>::to_u(y));
    let shift = y as u32 & 63;
    Bounds::<B>::to_u(match op {
        AluOp::Add => x.wrapping_add(y),
        AluOp::Sub => x.wrapping_sub(y),
        AluOp::Mul => x.wrapping_mul(y),
        AluOp::Or => x | y,
        AluOp::And => x & y,
        AluOp::Xor => x ^ y,
        AluOp::Lsh => x << shift,
        AluOp::Rsh => x >> shift,
        AluOp::Arsh => (Bounds::<B>::to_s(x) >> shift) as u64,
        AluOp::Div | AluOp::Mod => 0, // never computable
    })
}

/// `dst = -dst`.
#[inline]
pub fn neg<const W: u32, const H: u32>(wide: bool, dst: &mut ScalarAt<W, H>) {
    let src = *dst;
    *dst = ScalarAt::constant(0);
    alu(AluOp::Sub, wide, dst, &src);
}

/// Both widths are computed whatever the insn's width: the low half of a sum, product or mask
/// depends on low halves only.
#[inline]
pub(crate) fn arithmetic<const W: u32, const H: u32>(
    op: AluOp,
    dst: &mut ScalarAt<W, H>,
    src: &ScalarAt<W, H>,
) {
    let (wide, half, bits) = (dst.wide(), dst.half(), dst.var_off);
    let (src_wide, src_half, src_bits) = (src.wide(), src.half(), src.var_off);
    let t = match op {
        AluOp::Add => bits.add(src_bits),
        AluOp::Sub => bits.sub(src_bits),
        AluOp::Mul => bits.mul(src_bits),
        AluOp::And => bits.and(src_bits),
        AluOp::Or => bits.or(src_bits),
        AluOp::Xor => bits.xor(src_bits),
        _ => Tnum::UNKNOWN,
    }
    .truncate(Bounds::<W>::UMAX);
    let (wide, half) = match op {
        AluOp::Add => (wide.add(src_wide), half.add(src_half)),
        AluOp::Sub => (wide.sub(src_wide), half.sub(src_half)),
        AluOp::Mul => (wide.mul(src_wide), half.mul(src_half)),
        AluOp::And => (wide.and(src_wide, t), half.and(src_half, t)),
        AluOp::Or => (wide.or(src_wide, t), half.or(src_half, t)),
        AluOp::Xor => (Bounds::<W>::xor(t), Bounds::<H>::xor(t)),
        _ => (Bounds::UNKNOWN, Bounds::UNKNOWN),
    };
    dst.var_off = t;
    dst.set_wide(wide);
    dst.set_half(half);
}

/// Shifts of the low half; the caller zero-extends.
#[inline]
fn shift_half<const W: u32, const H: u32>(op: AluOp, dst: &mut ScalarAt<W, H>, shift: u32) {
    let low = dst.var_off.truncate(Bounds::<H>::UMAX);
    let half = dst.half();
    let (half, t) = match op {
        AluOp::Lsh => (half.lsh(shift), low.lshift(shift).truncate(Bounds::<H>::UMAX)),
        AluOp::Rsh => (half.rsh(shift), low.rshift(shift)),
        _ => (half.arsh(shift), low.arshift(shift, H)),
    };
    dst.var_off = t;
    dst.set_half(half);
    dst.mark_unbounded64();
}

#[inline]
fn shift_wide<const W: u32, const H: u32>(op: AluOp, dst: &mut ScalarAt<W, H>, shift: u32) {
    let wide = dst.wide();
    let mut half = Bounds::<H>::UNKNOWN;
    let (wide, t) = match op {
        AluOp::Lsh => {
            let mut shifted = wide.lsh(shift);
            if shift == H {
                lsh_half_to_top(&mut shifted, dst.half());
            }
            half = dst.half().lsh(shift);
            (shifted, dst.var_off.lshift(shift).truncate(Bounds::<W>::UMAX))
        }
        AluOp::Rsh => (wide.rsh(shift), dst.var_off.rshift(shift)),
        _ => (wide.arsh(shift), dst.var_off.arshift(shift, W)),
    };
    dst.var_off = t;
    dst.set_wide(wide);
    dst.set_half(half);
}

/// `r <<= 32`, the first step of sign-extending a half: the sign of the half becomes that of the
/// whole.
#[inline]
fn lsh_half_to_top<const W: u32, const H: u32>(wide: &mut Bounds<W>, half: Bounds<H>) {
    wide.smin = half.smin << H;
    wide.smax = half.smax << H;
}

/// The two values for which the kernel explores separate paths when a sign mask (`r s>>= 63`: all
/// ones or zero) meets `&= constant` or `|= constant`: all ones, with which the current path
/// continues; zero, which is pushed to execute the same insn later.
///
/// Neither is synced, and the register keeps its id. Where the 64-bit bounds are not -1 to 0 but
/// those of the low half are, only the low half is set, whatever the width of the insn. Kernel:
/// `maybe_fork_scalars`.
#[inline]
pub fn fork_sign_mask(op: AluOp, dst: &Scalar, src: &Scalar) -> Option<(Scalar, Scalar)> {
    if !matches!(op, AluOp::And | AluOp::Or) || !src.is_const() {
        return None;
    }
    if (dst.smin, dst.smax) == (-1, 0) {
        return Some((Scalar::constant(u64::MAX), Scalar::constant(0)));
    }
    if (dst.s32_min, dst.s32_max) != (-1, 0) {
        return None;
    }
    let (mut ones, mut zero) = (*dst, *dst);
    ones.mark_known32(u32::MAX);
    zero.mark_known32(0);
    Some((ones, zero))
}

/// The forms of `BPF_END`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// To the machine's own byte order: truncates.
    Keep,
    /// To the other byte order: truncates and swaps.
    Swap,
}

/// `BPF_END` on the low `bits` (16, 32, 64). After a swap, the bounds are only those implied by the
/// known bits.
#[inline]
pub fn byte_order(order: ByteOrder, bits: u32, dst: &mut Scalar) {
    match (order, bits) {
        (ByteOrder::Keep, 64) => {}
        (ByteOrder::Keep, _) => dst.truncate_to_bits(bits),
        (ByteOrder::Swap, _) => {
            *dst = Scalar { var_off: swap_bytes(dst.var_off, bits), ..Scalar::unknown() };
            dst.sync();
        }
    }
}

/// The low `bits`, with their bytes reversed.
#[inline]
pub(crate) fn swap_bytes(t: Tnum, bits: u32) -> Tnum {
    let up = 64 - bits;
    Tnum { value: t.value.swap_bytes() >> up, mask: t.mask.swap_bytes() >> up }
}
