//! Insns on scalars of kernels whose ranges wrap.

use crate::alu::{arithmetic, shift, swap_bytes};
use crate::arc::Arc;
use crate::bounds::Bounds;
use crate::division::{Division, divide_bare};
use crate::wrapped::Known;
use crate::{AluOp, ByteOrder, Scalar, ScalarAt, Wrapped};

/// [`crate::alu`] where ranges wrap.
pub fn alu_wrapped<const W: u32, const H: u32>(
    op: AluOp,
    wide: bool,
    dst: &mut ScalarAt<W, H>,
    src: &ScalarAt<W, H>,
) -> bool {
    if !op.is_computable(wide, src) {
        *dst = ScalarAt::unknown();
        return false;
    }
    if dst.exact_value().is_some() && src.exact_value().is_some() {
        return crate::alu(op, wide, dst, src);
    }
    combine_wrapped(op, wide, dst, src);
    dst.sync_wrapped();
    true
}

/// [`crate::add_unsynced`] where ranges wrap.
pub fn add_wrapped_unsynced<const W: u32, const H: u32>(
    wide: bool,
    dst: &mut ScalarAt<W, H>,
    src: &ScalarAt<W, H>,
) {
    combine_wrapped(AluOp::Add, wide, dst, src);
}

/// Only sums and differences are computed as arcs.
fn combine_wrapped<const W: u32, const H: u32>(
    op: AluOp,
    wide: bool,
    dst: &mut ScalarAt<W, H>,
    src: &ScalarAt<W, H>,
) {
    let (a, b) = (dst.known(), src.known());
    match op {
        AluOp::Lsh | AluOp::Rsh | AluOp::Arsh => shift(op, wide, dst, src),
        _ => arithmetic(op, dst, src),
    }
    dst.wrapped = Wrapped::NONE;
    if let Some((wide, half)) = sum_of_arcs(op, &a, &b) {
        dst.set_wide_arc(Some(wide));
        dst.set_half_arc(Some(half));
    }
    if !wide {
        dst.zext_wrapped();
    }
}

/// A pointer's offset after a move by `src`, before anything is deduced: only the known bits say
/// something about the low half.
pub fn move_wrapped(op: AluOp, dst: &mut Scalar, src: &Scalar) {
    combine_wrapped(op, true, dst, src);
    dst.set_half_arc(Some(Arc::of_bits(dst.var_off)));
}

fn sum_of_arcs<const W: u32, const H: u32>(
    op: AluOp,
    a: &Known<W, H>,
    b: &Known<W, H>,
) -> Option<(Arc<W>, Arc<H>)> {
    let (wide, half, by_wide, by_half) = (a.wide?, a.half?, b.wide?, b.half?);
    match op {
        AluOp::Add => Some((wide.add(by_wide), half.add(by_half))),
        AluOp::Sub => Some((wide.add(by_wide.neg()), half.add(by_half.neg()))),
        _ => None,
    }
}

/// [`crate::neg`] where ranges wrap.
pub fn neg_wrapped<const W: u32, const H: u32>(wide: bool, dst: &mut ScalarAt<W, H>) {
    let src = *dst;
    *dst = ScalarAt::constant(0);
    alu_wrapped(AluOp::Sub, wide, dst, &src);
}

/// [`crate::divide`] where ranges wrap.
pub fn divide_wrapped<const W: u32, const H: u32>(
    how: Division,
    dst: &mut ScalarAt<W, H>,
    divisor: u64,
) -> bool {
    let known = divide_bare(how, dst, divisor);
    dst.sync_wrapped();
    known
}

/// [`crate::byte_order`] where ranges wrap.
pub fn byte_order_wrapped(order: ByteOrder, bits: u32, dst: &mut Scalar) {
    match (order, bits) {
        (ByteOrder::Keep, 64) => {}
        (ByteOrder::Keep, _) => dst.truncate_wrapped(bits),
        (ByteOrder::Swap, _) => {
            *dst = Scalar { var_off: swap_bytes(dst.var_off, bits), ..Scalar::unknown() };
            dst.sync_wrapped();
        }
    }
}

impl<const W: u32, const H: u32> ScalarAt<W, H> {
    /// [`ScalarAt::zext_32_to_64`] where ranges wrap.
    pub fn zext_wrapped(&mut self) {
        self.var_off = self.var_off.truncate(Bounds::<H>::UMAX);
        let half = self.half();
        self.set_wide_arc(self.half_arc().map(|_| Arc::<W>::between(half.umin, half.umax)));
    }

    /// [`ScalarAt::truncate_to_bits`] where ranges wrap.
    pub fn truncate_wrapped(&mut self, bits: u32) {
        self.truncate_bare(bits);
        self.sync_wrapped();
    }

    /// [`ScalarAt::sign_extend_bits`] where ranges wrap.
    pub fn sign_extend_wrapped(&mut self, bits: u32) {
        self.wrapped = Wrapped::NONE;
        self.sign_extend_bits(bits);
        self.sync_wrapped();
    }

    /// [`ScalarAt::sign_extend_bits_in_half`] where ranges wrap.
    pub fn sign_extend_half_wrapped(&mut self, bits: u32) {
        self.wrapped.forget_half();
        self.sign_extend_bits_in_half(bits);
    }
}
