//! What is claimed: which concrete values an abstract one stands for, and what insns compute.
//!
//! This is written beside the source and not taken from it. That a value is inside implies that the
//! known bits are well-formed and that no range is empty; bounds also fit their width.

use super::run::Run;
use super::term::{Term, Terms, ones};
use super::value::{Int, Result, Ty, Value};

pub(super) const U64: Int = Int { width: 64, signed: false };
const I64: Int = Int { width: 64, signed: true };
pub(super) const U32: Int = Int { width: 32, signed: false };
const I32: Int = Int { width: 32, signed: true };

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
        // Of ranges that wrap nothing is claimed.
        let wrapped = vec![
            ("wide_base", self.any(U64)),
            ("wide_size", self.any(U64)),
            ("half_base", self.any(U32)),
            ("half_size", self.any(U32)),
        ];
        fields.push(("wrapped", structure("Wrapped", &[], wrapped)));
        structure("ScalarAt", &[64, 32], fields)
    }

    /// Another value of the same type, of which nothing is known.
    fn like(&mut self, value: &Value) -> Result<Value> {
        match value.ty() {
            Ty::Struct(name, consts) => match name.as_str() {
                "Tnum" => Ok(self.tnum()),
                "Bounds" => Ok(self.bounds(consts[0])),
                "Views" => Ok(self.views()),
                "ScalarAt" => Ok(self.scalar()),
                _ => Err(format!("no value of {name}")),
            },
            _ => Err("no struct".to_owned()),
        }
    }

    fn between(&mut self, min: Term, x: Term, max: Term, signed: bool) -> Term {
        let (name, op) = if signed { ("s", "bvsle") } else { ("u", "bvule") };
        let low = self.t.lift(name, (min, x), &|t, a, b| t.compare(op, a, b));
        let high = self.t.lift(name, (x, max), &|t, a, b| t.compare(op, a, b));
        self.t.and(low, high)
    }

    /// Whether `x` is inside of an abstract value.
    pub(super) fn has(&mut self, x: Term, value: &Value) -> Result<Term> {
        let Ty::Struct(name, consts) = value.ty() else { return Err("no struct".to_owned()) };
        match (name.as_str(), consts.as_slice()) {
            ("Tnum", _) => {
                let (value, mask) = (value.field("value")?.int()?, value.field("mask")?.int()?);
                let same = |t: &mut Terms, value: Term, mask: Term| {
                    let known = t.invert(mask);
                    let known = t.binary("bvand", x, known);
                    t.eq(known, value)
                };
                // Of this `x` alone.
                self.t.forget_lifted("tnum");
                Ok(self.t.lift("tnum", (value, mask), &same))
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
            ("ScalarAt", _) => {
                let mut all = self.has(x, value.field("var_off")?)?;
                // At 64 bits, as bounds of the half have it: equal claims are then equal terms.
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
                Ok(all)
            }
            _ => Err(format!("what is in {name}?")),
        }
    }

    fn has_bounds(&mut self, x: Term, value: &Value, width: u32) -> Result<Term> {
        let field = |name: &str| value.field(name)?.int();
        let (smin, smax) = (field("smin")?, field("smax")?);
        let (umin, umax) = (field("umin")?, field("umax")?);
        let (unsigned, signed) = (self.low(x, width), self.low_signed(x, width));
        let u = self.between(umin, unsigned, umax, false);
        let s = self.between(smin, signed, smax, true);
        let top = self.t.int(ones(width), 64);
        let fits = self.t.lift("u", (umax, top), &|t, a, b| t.compare("bvule", a, b));
        let [least, most] = [smin, smax].map(|end| {
            let low = self.low_signed(end, width);
            self.t.lift("eq", (low, end), &|t, a, b| t.eq(a, b))
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

    /// The result of an insn on 64 or 32 bits; any value for a division.
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

    /// Assumes that `x` is inside of a value.
    pub(super) fn inside(&mut self, x: Term, value: &Value) -> Result<()> {
        let inside = self.has(x, value)?;
        self.assumed.push(inside);
        Ok(())
    }
}

/// A function that narrows in place and loses no value.
pub(super) fn keeps(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let Some(Value::Ref(place)) = args.first() else { return Err("not in place".to_owned()) };
    let before = run.read(place)?;
    let after = run.like(&before)?;
    for x in run.ghosts.clone() {
        let (was, is) = (run.has(x, &before)?, run.has(x, &after)?);
        let kept = run.t.implies(was, is);
        run.assumed.push(kept);
    }
    run.write(place, after)?;
    Ok(Value::unit())
}

/// A function of two values (and of the bits of the result), of the first three ghosts.
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

/// The only value of a register is its ghost, if there is one at all.
pub(super) fn is_exact(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let scalar = args.first().cloned().ok_or("no operand")?;
    let bits = run.value(scalar)?.field("var_off")?.field("value")?.int()?;
    let ghost = run.exact.iter().find(|(of, _)| *of == bits).map(|(_, ghost)| *ghost);
    let ghost = ghost.ok_or("a register without a ghost")?;
    Ok(Value::Option(run.t.var(0), Some(Box::new(Value::Int(ghost, U64)))))
}

/// The least value of known bits that is greater than another: a value of theirs, and none between.
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
