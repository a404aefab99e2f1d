//! The specification: which concrete values an abstract value represents, and what insns compute.
//!
//! It is written independently of the source. Membership implies that known bits are well-formed
//! and that no range is empty; bounds also fit their width.

use super::run::Run;
use super::term::{Term, Terms, ones};
use super::value::{Int, Result, Ty, Value};

pub(super) const U64: Int = Int { width: 64, signed: false };
const I64: Int = Int { width: 64, signed: true };
pub(super) const U32: Int = Int { width: 32, signed: false };
const I32: Int = Int { width: 32, signed: true };

/// A register and its low half, with the bounds of each.
const PARTS: [(u32, &str, [&str; 4]); 2] = [
    (64, "wide", ["smin", "smax", "umin", "umax"]),
    (32, "half", ["s32_min", "s32_max", "u32_min", "u32_max"]),
];

fn structure(name: &str, consts: &[u32], fields: Vec<(&str, Value)>) -> Value {
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Value::Struct(name.to_owned(), consts.to_vec(), fields)
}

impl Run<'_> {
    pub(super) fn any(&mut self, int: Int) -> Value {
        Value::Int(self.t.var(int.width), int)
    }

    pub(super) fn tnum(&mut self) -> Value {
        let (value, mask) = (self.any(U64), self.any(U64));
        structure("Tnum", &[], vec![("value", value), ("mask", mask)])
    }

    pub(super) fn bounds(&mut self, width: u32) -> Value {
        let mut one = |signed: bool| {
            let narrow = self.t.var(width);
            let int = Int { width: 64, signed };
            Value::Int(self.t.resize(narrow, 64, signed), int)
        };
        let fields = vec![
            ("smin", one(true)),
            ("smax", one(true)),
            ("umin", one(false)),
            ("umax", one(false)),
        ];
        structure("Bounds", &[width], fields)
    }

    pub(super) fn views(&mut self) -> Value {
        let fields =
            vec![("var_off", self.tnum()), ("wide", self.bounds(64)), ("half", self.bounds(32))];
        structure("Views", &[64, 32], fields)
    }

    pub(super) fn scalar(&mut self) -> Value {
        let mut fields = vec![("var_off", self.tnum())];
        for (name, int) in [("smin", I64), ("smax", I64), ("umin", U64), ("umax", U64)] {
            fields.push((name, self.any(int)));
        }
        let half = [("s32_min", I32), ("s32_max", I32), ("u32_min", U32), ("u32_max", U32)];
        for (name, int) in half {
            fields.push((name, self.any(int)));
        }
        let wrapped = vec![
            ("wide_base", self.any(U64)),
            ("wide_size", self.any(U64)),
            ("half_base", self.any(U32)),
            ("half_size", self.any(U32)),
        ];
        fields.push(("wrapped", structure("Wrapped", &[], wrapped)));
        structure("ScalarAt", &[64, 32], fields)
    }

    /// A wrapping range.
    pub(super) fn arc(&mut self, width: u32) -> Value {
        let mut one = || {
            let narrow = self.t.var(width);
            Value::Int(self.t.resize(narrow, 64, false), U64)
        };
        let fields = vec![("base", one()), ("size", one())];
        structure("Arc", &[width], fields)
    }

    /// A wrapping range, represented by the distance from its start to `x`.
    pub(super) fn arc_near(&mut self, x: Term, width: u32) -> Value {
        let (before, size) = (self.t.var(width), self.t.var(width));
        self.arc_before(x, before, size)
    }

    /// A wrapping range, represented by the distances from its start to `x` and from `x` to its
    /// end.
    pub(super) fn arc_around(&mut self, x: Term, width: u32) -> Value {
        let (before, after) = (self.t.var(width), self.t.var(width));
        let size = self.t.binary("bvadd", before, after);
        self.arc_before(x, before, size)
    }

    fn arc_before(&mut self, x: Term, before: Term, size: Term) -> Value {
        let width = self.t.width(before);
        let low = self.t.resize(x, width, false);
        let base = self.t.binary("bvsub", low, before);
        let [base, size] = [base, size].map(|it| Value::Int(self.t.resize(it, 64, false), U64));
        structure("Arc", &[width], vec![("base", base), ("size", size)])
    }

    pub(super) fn maybe_arc(&mut self, width: u32) -> Value {
        let some = self.t.var(0);
        Value::Option(some, Some(Box::new(self.arc(width))))
    }

    /// The wrapping ranges of a scalar.
    pub(super) fn known(&mut self) -> Value {
        let fields =
            vec![("bits", self.tnum()), ("wide", self.maybe_arc(64)), ("half", self.maybe_arc(32))];
        structure("Known", &[64, 32], fields)
    }

    /// [`Run::known`] with ranges around `x`.
    pub(super) fn known_around(&mut self, x: Term) -> Value {
        let mut around = |width: u32| {
            let some = self.t.var(0);
            Value::Option(some, Some(Box::new(self.arc_around(x, width))))
        };
        let (wide, half) = (around(64), around(32));
        let fields = vec![("bits", self.tnum()), ("wide", wide), ("half", half)];
        structure("Known", &[64, 32], fields)
    }

    /// One operand of a comparison.
    pub(super) fn side(&mut self, width: u32) -> Value {
        structure("Side", &[width], vec![("arc", self.maybe_arc(width)), ("bits", self.tnum())])
    }

    /// An unconstrained value of the same type.
    pub(super) fn like(&mut self, value: &Value) -> Result<Value> {
        match value.ty() {
            Ty::Struct(name, consts) => match name.as_str() {
                "Tnum" => Ok(self.tnum()),
                "Bounds" => Ok(self.bounds(consts[0])),
                "Views" => Ok(self.views()),
                "ScalarAt" => Ok(self.scalar()),
                "Known" => Ok(self.known()),
                "Arc" => Ok(self.arc(consts[0])),
                "Side" => Ok(self.side(consts[0])),
                _ => Err(format!("no value of {name}")),
            },
            _ => Err("no struct".to_owned()),
        }
    }

    fn between(&mut self, min: Term, x: Term, max: Term, signed: bool) -> Term {
        let (name, op) = if signed { ("s", "bvsle") } else { ("u", "bvule") };
        let low = self.t.lift(name, min, x, &|t, a, b| t.compare(op, a, b));
        let high = self.t.lift(name, x, max, &|t, a, b| t.compare(op, a, b));
        self.t.and(low, high)
    }

    /// Whether `x` is contained in an abstract value.
    pub(super) fn has(&mut self, x: Term, value: &Value) -> Result<Term> {
        if let Value::Option(some, inner) = value {
            let Some(inner) = inner else { return Ok(self.t.bool(false)) };
            let inside = self.has(x, inner)?;
            return Ok(self.t.and(*some, inside));
        }
        let Ty::Struct(name, consts) = value.ty() else { return Err("no struct".to_owned()) };
        if let (true, "ScalarAt", Some(c)) = (self.wraps, name.as_str(), value.condition(&self.t)) {
            return self.each_way(c, value, |run, way| run.has(x, way));
        }
        match (name.as_str(), consts.as_slice()) {
            ("Arc", [width]) => self.has_arc(x, value, *width),
            ("Side", [width]) => {
                let low = self.low(x, *width);
                let bits = self.has(low, value.field("bits")?)?;
                let arc = self.has(x, value.field("arc")?)?;
                Ok(self.t.and(bits, arc))
            }
            ("Known", _) => {
                let mut all = self.has(x, value.field("bits")?)?;
                for field in ["wide", "half"] {
                    let one = self.has(x, value.field(field)?)?;
                    all = self.t.and(all, one);
                }
                Ok(all)
            }
            ("Tnum", _) => {
                let (value, mask) = (value.field("value")?.int()?, value.field("mask")?.int()?);
                let same = |t: &mut Terms, value: Term, mask: Term| {
                    let known = t.invert(mask);
                    let known = t.binary("bvand", x, known);
                    t.eq(known, value)
                };
                // Only valid for this `x`.
                self.t.forget_lifted("tnum");
                Ok(self.t.lift("tnum", value, mask, &same))
            }
            ("Bounds", [width]) => self.has_bounds(x, value, *width),
            ("Operand", [width]) => {
                let low = self.low(x, *width);
                let bits = self.has(low, value.field("bits")?)?;
                let bounds = self.has(x, value.field("bounds")?)?;
                Ok(self.t.and(bits, bounds))
            }
            ("Views", _) => {
                let mut all = self.t.bool(true);
                for field in ["var_off", "wide", "half"] {
                    let one = self.has(x, value.field(field)?)?;
                    all = self.t.and(all, one);
                }
                Ok(all)
            }
            ("ScalarAt", _) => self.has_scalar(x, value),
            _ => Err(format!("what is in {name}?")),
        }
    }

    fn has_scalar(&mut self, x: Term, value: &Value) -> Result<Term> {
        let mut all = self.has(x, value.field("var_off")?)?;
        // Extended to 64 bits, like the bounds of the half: equal claims are then equal terms.
        let (half, signed_half) = (self.low(x, 32), self.low_signed(x, 32));
        for (min, max, x, signed) in [
            ("smin", "smax", x, true),
            ("umin", "umax", x, false),
            ("s32_min", "s32_max", signed_half, true),
            ("u32_min", "u32_max", half, false),
        ] {
            let (min, max) = (value.field(min)?.int()?, value.field(max)?.int()?);
            let min = self.t.resize(min, 64, signed);
            let max = self.t.resize(max, 64, signed);
            let one = self.between(min, x, max, signed);
            all = self.t.and(all, one);
        }
        if self.wraps {
            let hidden = self.has_hidden(x, value)?;
            all = self.t.and(all, hidden);
        }
        Ok(all)
    }

    /// The guarantee of `sync` for a register, or for its known part, that contains `x`: if all its
    /// bits are known, its range is that single number; the same holds for the half.
    pub(super) fn settled(&mut self, x: Term, value: &Value) -> Result<Term> {
        let Ty::Struct(name, _) = value.ty() else { return Err("no struct".to_owned()) };
        let of_register = name == "ScalarAt";
        if let (true, Some(c)) = (of_register, value.condition(&self.t)) {
            return self.each_way(c, value, |run, way| run.settled(x, way));
        }
        let mask =
            value.field(if of_register { "var_off" } else { "bits" })?.field("mask")?.int()?;
        let mut all = self.t.bool(true);
        for (width, part, ends) in PARTS {
            let (mask, low) = (self.t.resize(mask, width, false), self.t.resize(x, width, false));
            let zero = self.t.int(0, width);
            let known = self.t.eq(mask, zero);
            let alone = if of_register {
                let ends = ends.map(|end| Ok(self.t.eq(value.field(end)?.int()?, low)));
                let ends: Vec<Term> = ends.into_iter().collect::<Result<_>>()?;
                self.t.all(&ends)
            } else {
                let Value::Option(_, Some(arc)) = value.field(part)? else {
                    return Err("no range".to_owned());
                };
                self.is_alone(arc)?
            };
            let one = self.t.implies(known, alone);
            all = self.t.and(all, one);
        }
        Ok(all)
    }

    /// A claim about one of two values, as two claims: for equal values they are then equal terms.
    fn each_way(
        &mut self,
        c: Term,
        value: &Value,
        claim: impl Fn(&mut Self, &Value) -> Result<Term>,
    ) -> Result<Term> {
        let [yes, no] = [1, 2].map(|way| value.way(c, way, &self.t));
        let (yes, no) = (claim(self, &yes)?, claim(self, &no)?);
        Ok(self.t.ite(c, yes, no))
    }

    /// Whether a range has exactly one number.
    pub(super) fn is_alone(&mut self, arc: &Value) -> Result<Term> {
        let (size, zero) = (arc.field("size")?.int()?, self.t.int(0, 64));
        Ok(self.t.eq(size, zero))
    }

    /// Base and size fit their width.
    fn has_arc(&mut self, x: Term, arc: &Value, width: u32) -> Result<Term> {
        let (base, size) = (arc.field("base")?.int()?, arc.field("size")?.int()?);
        let top = self.t.int(ones(width), 64);
        let inside = |t: &mut Terms, base: Term, size: Term| {
            let fits = [base, size].map(|it| t.compare("bvule", it, top));
            let from = t.binary("bvsub", x, base);
            let low = t.resize(from, width, false);
            let from = t.resize(low, 64, false);
            let inside = t.compare("bvule", from, size);
            t.all(&[fits[0], fits[1], inside])
        };
        // Only valid for this `x`.
        self.t.forget_lifted("arc");
        Ok(self.t.lift("arc", base, size, &inside))
    }

    /// The ranges of a scalar that its bounds do not represent, if any.
    fn has_hidden(&mut self, x: Term, scalar: &Value) -> Result<Term> {
        let wrapped = scalar.field("wrapped")?;
        let mut all = self.t.bool(true);
        for (width, part, [smin, smax, umin, umax]) in PARTS {
            let size = wrapped.field(&format!("{part}_size"))?.int()?;
            let base = wrapped.field(&format!("{part}_base"))?.int()?;
            let zero = self.t.int(0, width);
            let none = self.t.eq(size, zero);
            let mut bare = self.t.not(none);
            let sign = 1u64 << (width - 1);
            for (end, value) in [(smin, sign), (smax, sign - 1), (umin, 0), (umax, ones(width))] {
                let value = self.t.int(value, width);
                let unknown = self.t.eq(scalar.field(end)?.int()?, value);
                bare = self.t.and(bare, unknown);
            }
            let low = self.t.resize(x, width, false);
            let from = self.t.binary("bvsub", low, base);
            let inside = self.t.compare("bvule", from, size);
            let said = self.t.implies(bare, inside);
            all = self.t.and(all, said);
        }
        Ok(all)
    }

    fn has_bounds(&mut self, x: Term, value: &Value, width: u32) -> Result<Term> {
        let field = |name: &str| value.field(name)?.int();
        let (smin, smax) = (field("smin")?, field("smax")?);
        let (umin, umax) = (field("umin")?, field("umax")?);
        let (unsigned, signed) = (self.low(x, width), self.low_signed(x, width));
        let u = self.between(umin, unsigned, umax, false);
        let s = self.between(smin, signed, smax, true);
        let top = self.t.int(ones(width), 64);
        let fits = self.t.lift("u", umax, top, &|t, a, b| t.compare("bvule", a, b));
        let [least, most] = [smin, smax].map(|end| {
            let low = self.low_signed(end, width);
            self.t.lift("eq", low, end, &|t, a, b| t.eq(a, b))
        });
        Ok(self.t.all(&[u, s, fits, least, most]))
    }

    /// The low bits, zero-extended.
    pub(super) fn low(&mut self, x: Term, width: u32) -> Term {
        let low = self.t.resize(x, width, false);
        self.t.resize(low, 64, false)
    }

    /// The low bits, sign-extended.
    pub(super) fn low_signed(&mut self, x: Term, width: u32) -> Term {
        let low = self.t.resize(x, width, false);
        self.t.resize(low, 64, true)
    }

    /// The result of a 64- or 32-bit insn; any value for a division.
    pub(super) fn concrete(&mut self, op: &str, width: u32, x: Term, y: Term) -> Term {
        let (a, b) = (self.t.resize(x, width, false), self.t.resize(y, width, false));
        let mask = self.t.int(u64::from(width) - 1, width);
        let by = self.t.binary("bvand", b, mask);
        let out = match op {
            "Add" => self.t.binary("bvadd", a, b),
            "Sub" => self.t.binary("bvsub", a, b),
            "Mul" => self.t.binary("bvmul", a, b),
            "And" => self.t.binary("bvand", a, b),
            "Or" => self.t.binary("bvor", a, b),
            "Xor" => self.t.binary("bvxor", a, b),
            "Lsh" => self.t.binary("bvshl", a, by),
            "Rsh" => self.t.binary("bvlshr", a, by),
            "Arsh" => self.t.binary("bvashr", a, by),
            _ => self.t.var(width),
        };
        self.t.resize(out, 64, false)
    }

    /// Whether a comparison holds.
    pub(super) fn holds(&mut self, op: &str, width: u32, x: Term, y: Term) -> Term {
        let (a, b) = (self.t.resize(x, width, false), self.t.resize(y, width, false));
        match op {
            "Eq" => self.t.eq(a, b),
            "Gt" => self.t.compare("bvult", b, a),
            "Ge" => self.t.compare("bvule", b, a),
            "Lt" => self.t.compare("bvult", a, b),
            "Le" => self.t.compare("bvule", a, b),
            "Sgt" => self.t.compare("bvslt", b, a),
            "Sge" => self.t.compare("bvsle", b, a),
            "Slt" => self.t.compare("bvslt", a, b),
            "Sle" => self.t.compare("bvsle", a, b),
            "Nset" => {
                let (both, zero) = (self.t.binary("bvand", a, b), self.t.int(0, width));
                self.t.eq(both, zero)
            }
            other => {
                let negated = self.holds(if other == "Ne" { "Eq" } else { "Nset" }, width, x, y);
                self.t.not(negated)
            }
        }
    }

    /// Assumes for each ghost that the first term implies the second.
    pub(super) fn of_each_ghost(
        &mut self,
        mut told: impl FnMut(&mut Self, Term) -> Result<(Term, Term)>,
    ) -> Result<()> {
        for x in self.ghosts.clone() {
            let (was, is) = told(self, x)?;
            let kept = self.t.implies(was, is);
            self.assumed.push(kept);
        }
        Ok(())
    }

    /// A function that changes its first argument in place: a relation between its old and new
    /// values for each ghost.
    pub(super) fn rewrites(
        &mut self,
        args: &[Value],
        mut told: impl FnMut(&mut Self, Term, &Value, &Value) -> Result<(Term, Term)>,
    ) -> Result<Value> {
        let Some(Value::Ref(place)) = args.first() else { return Err("not in place".to_owned()) };
        let old = self.read(place)?;
        let new = self.like(&old)?;
        self.of_each_ghost(|run, x| told(run, x, &old, &new))?;
        self.write(place, new)?;
        Ok(Value::unit())
    }

    /// Assumes that `x` is contained in a value.
    pub(super) fn inside(&mut self, x: Term, value: &Value) -> Result<()> {
        let inside = self.has(x, value)?;
        self.assumed.push(inside);
        Ok(())
    }
}

/// A function that narrows in place without losing a value.
pub(super) fn keeps(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    run.rewrites(args, |run, x, before, after| Ok((run.has(x, before)?, run.has(x, after)?)))
}

/// A function of two values (and of the result's bits), for the first three ghosts.
pub(super) fn computes(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let args: Vec<Value> = args.iter().map(|v| run.value(v.clone())).collect::<Result<_>>()?;
    let Some(first) = args.first() else { return Err("no operands".to_owned()) };
    let out = run.like(first)?;
    let [x, y, r, ..] = *run.ghosts.as_slice() else { return Err("three ghosts".to_owned()) };
    let mut all = run.t.bool(true);
    for (x, value) in [x, y, r].into_iter().zip(&args) {
        let inside = run.has(x, value)?;
        all = run.t.and(all, inside);
    }
    let is = run.has(r, &out)?;
    let kept = run.t.implies(all, is);
    run.assumed.push(kept);
    Ok(out)
}

/// The only value of a register is its ghost, if it has only one; consistent for repeated calls
/// with the same register.
pub(super) fn is_exact(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let register = args.first().cloned().ok_or("no operand")?;
    let register = run.value(register)?;
    for (of, ghost, some) in run.exact.clone() {
        let same = Value::equal(of, register.clone(), &mut run.t)?;
        if run.t.known_bool(same) == Some(true) {
            return Ok(Value::Option(some, Some(Box::new(Value::Int(ghost, U64)))));
        }
    }
    Err("a register without a ghost".to_owned())
}

/// The least value of known bits that is greater than another: it is one of theirs, and none is
/// between.
pub(super) fn steps(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let [bits, from] = args else { return Err("known bits and a number".to_owned()) };
    let (bits, from) = (run.value(bits.clone())?, run.value(from.clone())?.int()?);
    let next = run.t.var(64);
    let is = run.has(next, &bits)?;
    for x in run.ghosts.clone() {
        let (inside, above) = (run.has(x, &bits)?, run.t.compare("bvult", from, x));
        let (passed, least) = (run.t.compare("bvult", from, next), run.t.compare("bvule", next, x));
        let greater = run.t.and(passed, least);
        let greater = run.t.implies(above, greater);
        let both = run.t.and(is, greater);
        let kept = run.t.implies(inside, both);
        run.assumed.push(kept);
    }
    Ok(Value::Int(next, U64))
}
