//! Quotients and remainders by a constant, with the bounds of kernels from 7.0 on.
//!
//! 6.18 does not bound the result of a division. The known bits of the result are not computed from
//! those of the operands: [`ScalarAt::sync`] derives them from the bounds.

use crate::bounds::Bounds;
use crate::{ScalarAt, Tnum};

/// A division or its remainder, unsigned or signed, on 64 bits or the low half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// The remainder is wanted.
    pub remainder: bool,
    /// Both operands are signed numbers.
    pub signed: bool,
    /// On 64 bits.
    pub wide: bool,
}

/// `dst` divided by a constant. False if nothing is known about the result. Dividing by 0 gives the
/// quotient 0, and the dividend as the remainder.
pub fn divide<const W: u32, const H: u32>(
    how: Division,
    dst: &mut ScalarAt<W, H>,
    divisor: u64,
) -> bool {
    let known = divide_bare(how, dst, divisor);
    dst.sync();
    known
}

/// The same without [`ScalarAt::sync`].
pub(crate) fn divide_bare<const W: u32, const H: u32>(
    how: Division,
    dst: &mut ScalarAt<W, H>,
    divisor: u64,
) -> bool {
    let bits = dst.var_off;
    if how.wide {
        let wide = dst.wide();
        let Some(out) = divide_bounds(how, wide, divisor) else { return false };
        if out != wide || !how.remainder {
            *dst = ScalarAt::unknown();
            dst.set_wide(out);
        }
    } else {
        let half = dst.half();
        let out = divide_bounds(how, half, divisor).unwrap_or(Bounds::UNKNOWN);
        let kept = out == half && how.remainder;
        dst.mark_unbounded64();
        if !kept {
            dst.mark_unbounded32();
        }
        dst.var_off = if kept { bits } else { Tnum::UNKNOWN };
        dst.set_half(out);
        dst.zext_32_to_64();
    }
    true
}

fn divide_bounds<const B: u32>(how: Division, a: Bounds<B>, divisor: u64) -> Option<Bounds<B>> {
    let (u, s) = (Bounds::<B>::to_u(divisor), Bounds::<B>::to_s(divisor));
    Some(match (how.remainder, how.signed) {
        (false, _) if u == 0 => Bounds::constant(0),
        (true, _) if u == 0 => a,
        (false, false) => Bounds { umin: a.umin / u, umax: a.umax / u, ..Bounds::UNKNOWN },
        (true, false) if a.umax < u => a,
        (true, false) => Bounds { umin: 0, umax: a.umax.min(u - 1), ..Bounds::UNKNOWN },
        (false, true) => {
            if s == -1 && a.smin == Bounds::<B>::SMIN {
                // The one quotient that overflows wraps to the dividend.
                return (a.smax == a.smin).then_some(a);
            }
            let (p, q) = (a.smin / s, a.smax / s);
            Bounds { smin: p.min(q), smax: p.max(q), ..Bounds::UNKNOWN }
        }
        (true, true) => {
            let most = s.unsigned_abs().min(Bounds::<B>::SMAX as u64 + 1) - 1;
            let most = most as i64;
            if a.smin >= -most && a.smax <= most {
                return Some(a);
            }
            let (low, high) = (a.smin.max(-most), a.smax.min(most));
            let (smin, smax) = match (a.smin >= 0, a.smax <= 0) {
                (true, _) => (0, high),
                (_, true) => (low, 0),
                _ => (-most, most),
            };
            Bounds { smin, smax, ..Bounds::UNKNOWN }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every range of four bits, by every number: values inside the range stay inside.
    #[test]
    fn results_are_inside() {
        for (min, max, by) in (0u64..16)
            .flat_map(|min| (min..16).map(move |max| (min, max)))
            .flat_map(|(min, max)| (0u64..16).map(move |by| (min, max, by)))
        {
            let signed = |v: u64| ((v << 60) as i64) >> 60;
            for (remainder, is_signed) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let how = Division { remainder, signed: is_signed, wide: true };
                let mut dst = ScalarAt::<64, 32>::unknown();
                let values: Vec<i64> =
                    (min..=max).map(|v| if is_signed { signed(v) } else { v as i64 }).collect();
                dst.smin = values.iter().copied().min().unwrap_or(0);
                dst.smax = values.iter().copied().max().unwrap_or(0);
                dst.sync();
                let by = if is_signed { signed(by) } else { by as i64 };
                if !divide(how, &mut dst, by as u64) {
                    continue;
                }
                for v in values {
                    let exact = match (remainder, by) {
                        (false, 0) => 0,
                        (true, 0) => v,
                        (false, _) => v.wrapping_div(by),
                        (true, _) => v % by,
                    };
                    assert!((dst.smin..=dst.smax).contains(&exact), "{v} by {by}: {dst:?}");
                    assert!(dst.var_off.has(exact as u64), "{v} by {by}: {dst:?}");
                }
            }
        }
    }
}
