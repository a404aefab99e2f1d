//! Scalars of kernels whose ranges wrap: a number and its low half are each described by one arc.
//!
//! Why: 6.18 keeps four bounds, which together can describe two pieces. Kernels from 7.2 on keep
//! one range that covers both pieces and what lies between them, or less; but they also have ranges
//! that no bounds can represent.
//!
//! Source: what Linux 7.2.12 and 7.3.4 print of registers (`tests/it/wrapped_vectors.txt`).

use crate::arc::Arc;
use crate::bounds::Bounds;
use crate::{ScalarAt, Tnum, Wrapped};

/// What is known about a scalar; `None` if no number is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known<const W: u32, const H: u32> {
    pub(crate) bits: Tnum,
    pub(crate) wide: Option<Arc<W>>,
    pub(crate) half: Option<Arc<H>>,
}

impl<const W: u32, const H: u32> ScalarAt<W, H> {
    pub(crate) fn wide_arc(&self) -> Option<Arc<W>> {
        let (bounds, base, size) = (self.wide(), self.wrapped.wide_base, self.wrapped.wide_size);
        match size != 0 && bounds == Bounds::UNKNOWN {
            true => Some(Arc { base, size }),
            false => Arc::of_bounds(bounds),
        }
    }

    pub(crate) fn half_arc(&self) -> Option<Arc<H>> {
        let (base, size) = (self.wrapped.half_base, self.wrapped.half_size);
        let bounds = self.half();
        match size != 0 && bounds == Bounds::UNKNOWN {
            true => Some(Arc { base: u64::from(base), size: u64::from(size) }),
            false => Arc::of_bounds(bounds),
        }
    }

    pub(crate) fn set_wide_arc(&mut self, arc: Option<Arc<W>>) {
        self.set_wide(arc.map_or(Bounds::NOTHING, Arc::bounds));
        self.wrapped.forget_wide();
        if let Some(arc) = arc.filter(|it| it.is_hidden()) {
            (self.wrapped.wide_base, self.wrapped.wide_size) = (arc.base, arc.size);
        }
    }

    pub(crate) fn set_half_arc(&mut self, arc: Option<Arc<H>>) {
        self.set_half(arc.map_or(Bounds::NOTHING, Arc::bounds));
        self.wrapped.forget_half();
        if let Some(arc) = arc.filter(|it| it.is_hidden()) {
            self.wrapped.half_base = arc.base as u32;
            self.wrapped.half_size = arc.size as u32;
        }
    }

    pub(crate) fn known(&self) -> Known<W, H> {
        Known { bits: self.var_off, wide: self.wide_arc(), half: self.half_arc() }
    }

    pub(crate) fn set_known(&mut self, known: Known<W, H>) {
        self.var_off = known.bits;
        self.set_wide_arc(known.wide);
        self.set_half_arc(known.half);
    }

    /// [`ScalarAt::sync`] where ranges wrap.
    pub fn sync_wrapped(&mut self) {
        if self.exact_value().is_some() {
            return;
        }
        let mut known = self.known();
        known.sync();
        self.set_known(known);
    }

    /// [`ScalarAt::contains`] where ranges wrap.
    pub fn contains_wrapped(&self, value: u64) -> bool {
        self.contains(value) && self.covers_arcs(&Self::constant(value))
    }

    /// Whether the wrapping ranges contain those of `other`, as far as the bounds of either do not
    /// decide it.
    #[inline]
    pub fn covers_wrapped(&self, other: &Self) -> bool {
        self.wrapped == Wrapped::NONE || self.covers_arcs(other)
    }

    fn covers_arcs(&self, other: &Self) -> bool {
        fn covers<const B: u32>(a: Option<Arc<B>>, b: Option<Arc<B>>) -> bool {
            b.is_none_or(|b| a.is_some_and(|a| a.covers(b)))
        }
        covers(self.wide_arc(), other.wide_arc()) && covers(self.half_arc(), other.half_arc())
    }
}

pub(crate) fn meet_both<const B: u32>(a: Option<Arc<B>>, b: Option<Arc<B>>) -> Option<Arc<B>> {
    a?.meet(b?)
}

impl<const W: u32, const H: u32> Known<W, H> {
    /// Makes the three views consistent. If no number is possible, they are unchanged.
    pub(crate) fn sync(&mut self) {
        if self.is_empty() {
            return;
        }
        self.learn_from_bits();
        self.deduce();
        self.deduce();
        if self.is_empty() {
            return;
        }
        self.learn_bits();
        self.learn_from_bits();
    }

    fn is_empty(&self) -> bool {
        self.wide.is_none() || self.half.is_none()
    }

    fn learn_from_bits(&mut self) {
        self.half = meet_both(self.half, Some(Arc::<H>::of_bits(self.bits)));
        self.wide = meet_both(self.wide, Some(Arc::<W>::of_bits(self.bits)));
        if let Some(value) = self.single_value() {
            self.bits = Tnum::constant(value);
            self.wide = Some(Arc::between(value, value));
            self.half = Some(Arc::between(value, value));
        }
    }

    /// The one value that the known bits allow, whatever the ranges (except for zero); or the only
    /// value common to the known bits and the unsigned bounds. If they have none in common, the
    /// largest that the bits allow if all are below the range.
    fn single_value(&self) -> Option<u64> {
        let t = self.bits;
        if t.is_const() {
            return Some(t.value).filter(|value| *value != 0 || self.wide.is_some());
        }
        let Bounds { umin, umax, .. } = self.wide?.bounds();
        let next = t.step(umin);
        if t.has(umin) {
            (next > umax).then_some(umin)
        } else if next == t.value | t.mask {
            Some(next)
        } else {
            (next <= umax && t.step(next) > umax).then_some(next)
        }
    }

    fn deduce(&mut self) {
        self.half_from_wide();
        self.wide_from_half();
    }

    /// The low halves of an arc are an arc, unless they are all possible.
    fn half_from_wide(&mut self) {
        let Some(wide) = self.wide else { return };
        if wide.size < Bounds::<H>::UMAX {
            let half = Arc::<H> { base: Bounds::<H>::to_u(wide.base), size: wide.size };
            self.half = meet_both(self.half, Some(half));
        }
    }

    /// Both ends move inwards, to the nearest number whose low half is inside.
    fn wide_from_half(&mut self) {
        let (Some(wide), Some(half)) = (self.wide, self.half) else { return };
        let low = |v: u64| Bounds::<H>::to_u(v);
        let (first, last) = (low(wide.base), low(wide.last()));
        let up = if half.has(first) { 0 } else { low(half.base.wrapping_sub(first)) };
        let down = if half.has(last) { 0 } else { low(last.wrapping_sub(half.last())) };
        if up == 0 && down == 0 {
            return;
        }
        let size = up.checked_add(down).and_then(|moved| wide.size.checked_sub(moved));
        self.wide =
            size.map(|size| Arc::<W> { base: Bounds::<W>::to_u(wide.base.wrapping_add(up)), size });
    }

    /// Narrows the known bits by the unsigned bounds.
    fn learn_bits(&mut self) {
        let (Some(wide), Some(half)) = (self.wide, self.half) else { return };
        let (wide, half, low) = (wide.bounds(), half.bounds(), Bounds::<H>::UMAX);
        let whole = self.bits.intersect(Tnum::range(wide.umin, wide.umax));
        let half = whole.truncate(low).intersect(Tnum::range(half.umin, half.umax));
        self.bits = whole.truncate(!low).or(half);
    }
}
