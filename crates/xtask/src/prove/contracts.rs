//! Contracts of functions on wrapping ranges, which have their own goals: what callers assume.

use super::run::Run;
use super::spec::{U64, keeps, steps};
use super::term::Term;
use super::value::{Result, Ty, Value};

impl Run<'_> {
    /// Assumes the contracts of functions on ranges.
    pub(super) fn assume_arcs(&mut self) {
        self.contracts.insert("meet_both", meets);
        self.contracts.insert("Arc::meet", meets);
        self.contracts.insert("Arc::add", adds);
        self.contracts.insert("Arc::neg", negates);
        self.contracts.insert("Arc::bounds", bounds_of);
        self.contracts.insert("Arc::of_bounds", arc_of_bounds);
        self.contracts.insert("Arc::covers", covers);
        self.contracts.insert("Tnum::step", steps);
    }

    /// Assumes the contracts of functions on registers with wrapping ranges.
    pub(super) fn assume_registers(&mut self) {
        self.assume_arcs();
        self.contracts.insert("Known::sync", settles);
        self.contracts.insert("ScalarAt::sync_wrapped", keeps);
        self.contracts.insert("ScalarAt::known", known_of);
        self.contracts.insert("ScalarAt::set_known", sets_known);
        self.contracts.insert("ScalarAt::zext_wrapped", extends);
    }

    fn first(&self, args: &[Value]) -> Result<Value> {
        self.value(args.first().cloned().ok_or("no operand")?)
    }
}

impl Run<'_> {
    /// Whether a range has exactly one number if one of others does.
    pub(super) fn is_alone_if_either(&mut self, arc: &Value, others: [&Value; 2]) -> Result<Term> {
        let mut any = self.t.bool(false);
        for other in others.into_iter().filter_map(inner) {
            let alone = self.is_alone(other)?;
            any = self.t.or(any, alone);
        }
        let alone = self.is_alone(inner(arc).ok_or("no range")?)?;
        Ok(self.t.implies(any, alone))
    }

    /// Whether the range, if there is one, has exactly one number if the bounds from which it comes
    /// do.
    pub(super) fn is_alone_if_constant(&mut self, bounds: &Value, arc: &Value) -> Result<Term> {
        let (umin, umax) = (bounds.field("umin")?.int()?, bounds.field("umax")?.int()?);
        let constant = self.t.eq(umin, umax);
        let alone = self.is_alone(inner(arc).ok_or("no range")?)?;
        Ok(self.t.implies(constant, alone))
    }

    pub(super) fn bits_are_known(&mut self, known: &Value) -> Result<Term> {
        let (mask, zero) = (known.field("bits")?.field("mask")?.int()?, self.t.int(0, 64));
        Ok(self.t.eq(mask, zero))
    }

    /// Whether a range has exactly one number if the bits from which it comes are known.
    pub(super) fn is_alone_if_known(&mut self, bits: &Value, arc: &Value) -> Result<Term> {
        let Ty::Struct(_, consts) = arc.ty() else { return Err("no range".to_owned()) };
        let mask = bits.field("mask")?.int()?;
        let (mask, zero) = (self.t.resize(mask, consts[0], false), self.t.int(0, consts[0]));
        let (known, alone) = (self.t.eq(mask, zero), self.is_alone(arc)?);
        Ok(self.t.implies(known, alone))
    }

    /// Whether bounds contain only the ghost if the range from which they come does.
    pub(super) fn is_alone_in(&mut self, x: Term, arc: &Value, bounds: &Value) -> Result<Term> {
        let mut all = self.t.bool(true);
        let Ty::Struct(_, consts) = arc.ty() else { return Err("no range".to_owned()) };
        let (low, signed) = (self.low(x, consts[0]), self.low_signed(x, consts[0]));
        for (end, value) in [("umin", low), ("umax", low), ("smin", signed), ("smax", signed)] {
            let one = self.t.eq(bounds.field(end)?.int()?, value);
            all = self.t.and(all, one);
        }
        let alone = self.is_alone(arc)?;
        Ok(self.t.implies(alone, all))
    }
}

/// The range in an option.
fn inner(arc: &Value) -> Option<&Value> {
    match arc {
        Value::Option(_, inner) => inner.as_deref(),
        other => Some(other),
    }
}

/// `meet_both` and `Arc::meet`: the intersection, which has at most one number if one of the
/// operands does.
pub(super) fn meets(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let [a, b] = args else { return Err("not two ranges".to_owned()) };
    let (a, b) = (run.value(a.clone())?, run.value(b.clone())?);
    let like = inner(&a).or(inner(&b)).ok_or("no range")?;
    let out = Value::Option(run.t.var(0), Some(Box::new(run.like(like)?)));
    run.of_each_ghost(|run, x| {
        let (in_a, in_b, in_out) = (run.has(x, &a)?, run.has(x, &b)?, run.has(x, &out)?);
        let (both, alone) = (run.t.and(in_a, in_b), run.is_alone_if_either(&out, [&a, &b])?);
        Ok((both, run.t.and(in_out, alone)))
    })?;
    Ok(out)
}

/// `Arc::add`, for any two ghosts.
fn adds(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let [a, b] = args else { return Err("not two ranges".to_owned()) };
    let (a, b) = (run.value(a.clone())?, run.value(b.clone())?);
    let out = run.like(&a)?;
    let ghosts = run.ghosts.clone();
    for (x, y) in ghosts.iter().flat_map(|x| ghosts.iter().map(move |y| (*x, *y))) {
        let sum = run.concrete("Add", 64, x, y);
        let (in_a, in_b, in_out) = (run.has(x, &a)?, run.has(y, &b)?, run.has(sum, &out)?);
        let both = run.t.and(in_a, in_b);
        let kept = run.t.implies(both, in_out);
        run.assumed.push(kept);
    }
    Ok(out)
}

/// `Arc::neg`, for any ghost.
fn negates(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let [arc] = args else { return Err("not a range".to_owned()) };
    let arc = run.value(arc.clone())?;
    let (out, zero) = (run.like(&arc)?, run.t.int(0, 64));
    run.of_each_ghost(|run, x| {
        let less = run.concrete("Sub", 64, zero, x);
        Ok((run.has(x, &arc)?, run.has(less, &out)?))
    })?;
    Ok(out)
}

/// `Known::single_value`: `None`, or the only value; that value if all bits are known.
pub(super) fn is_single(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let (known, some, value) = (run.first(args)?, run.t.var(0), run.t.var(64));
    run.of_each_ghost(|run, x| {
        let (inside, same) = (run.has(x, &known)?, run.t.eq(x, value));
        let (same, exact) = (run.t.implies(some, same), run.bits_are_known(&known)?);
        let there = run.t.implies(exact, some);
        Ok((inside, run.t.and(same, there)))
    })?;
    Ok(Value::Option(some, Some(Box::new(Value::Int(value, U64)))))
}

/// `Arc::bounds`: also, for a single number they are that number.
fn bounds_of(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let arc = run.first(args)?;
    let Ty::Struct(_, consts) = arc.ty() else { return Err("no range".to_owned()) };
    let out = run.bounds(consts[0]);
    run.of_each_ghost(|run, x| {
        let (was, is) = (run.has(x, &arc)?, run.has(x, &out)?);
        let alone = run.is_alone_in(x, &arc, &out)?;
        Ok((was, run.t.and(is, alone)))
    })?;
    Ok(out)
}

/// `Arc::of_bounds`: also, for a constant it has exactly one number.
fn arc_of_bounds(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let bounds = run.first(args)?;
    let Ty::Struct(_, consts) = bounds.ty() else { return Err("no bounds".to_owned()) };
    let out = run.maybe_arc(consts[0]);
    run.of_each_ghost(|run, x| {
        let (was, is) = (run.has(x, &bounds)?, run.has(x, &out)?);
        let alone = run.is_alone_if_constant(&bounds, &out)?;
        Ok((was, run.t.and(is, alone)))
    })?;
    Ok(out)
}

/// `Arc::covers`: contains all numbers of the other; if that is a single number, membership is
/// equivalent.
fn covers(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let [a, b] = args else { return Err("not two ranges".to_owned()) };
    let (a, b, out) = (run.value(a.clone())?, run.value(b.clone())?, run.t.var(0));
    for x in run.ghosts.clone() {
        let (in_a, in_b) = (run.has(x, &a)?, run.has(x, &b)?);
        let both = run.t.and(out, in_b);
        let kept = run.t.implies(both, in_a);
        let alone = run.is_alone(&b)?;
        let all = run.t.all(&[alone, in_a, in_b]);
        let told = run.t.implies(all, out);
        run.assumed.extend([kept, told]);
    }
    Ok(Value::Bool(out))
}

/// `ScalarAt::known`.
pub(super) fn known_of(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let (register, out) = (run.first(args)?, run.known());
    run.of_each_ghost(|run, x| Ok((run.has(x, &register)?, run.has(x, &out)?)))?;
    Ok(out)
}

/// `Known::learn_from_bits`, `Known::sync`: the result is settled.
pub(super) fn settles(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    run.rewrites(args, |run, x, old, new| {
        let (was, is) = (run.has(x, old)?, run.has(x, new)?);
        let settled = run.settled(x, new)?;
        Ok((was, run.t.and(is, settled)))
    })
}

/// `ScalarAt::set_known`: a settled register stays settled.
pub(super) fn sets_known(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let known = run.value(args.get(1).cloned().ok_or("nothing known")?)?;
    run.rewrites(args, |run, x, _, new| {
        let (was, is) = (run.has(x, &known)?, run.has(x, new)?);
        let (was_settled, settled) = (run.settled(x, &known)?, run.settled(x, new)?);
        let settled = run.t.implies(was_settled, settled);
        Ok((was, run.t.and(is, settled)))
    })
}

/// `ScalarAt::zext_wrapped`.
fn extends(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    run.rewrites(args, |run, x, old, new| {
        let low = run.low(x, 32);
        Ok((run.has(x, old)?, run.has(low, new)?))
    })
}

/// `alu_wrapped`, for the first two ghosts; the third is the result.
pub(super) fn combines(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let [_, _, Value::Ref(a), Value::Ref(b)] = args else { return Err("no operands".to_owned()) };
    let [x, y, r, ..] = *run.ghosts.as_slice() else { return Err("three ghosts".to_owned()) };
    let (a, b, place) = (run.read(a)?, run.read(b)?, a);
    let new = run.like(&a)?;
    let (in_a, in_b, is) = (run.has(x, &a)?, run.has(y, &b)?, run.has(r, &new)?);
    let both = run.t.and(in_a, in_b);
    let kept = run.t.implies(both, is);
    run.assumed.push(kept);
    run.write(place, new)?;
    Ok(Value::Bool(run.t.var(0)))
}

/// Refines two operands in place, for the first two ghosts: if the comparison holds for them, both
/// stay in; registers also stay settled.
fn narrows(run: &mut Run<'_>, op: &str, width: u32, sides: [&Value; 2]) -> Result<Value> {
    let [x, y, ..] = *run.ghosts.as_slice() else { return Err("two ghosts".to_owned()) };
    let mut before = run.holds(op, width, x, y);
    let mut after = run.t.bool(true);
    for (x, side) in [x, y].into_iter().zip(sides) {
        let Value::Ref(place) = side else { return Err("not in place".to_owned()) };
        let old = run.read(place)?;
        let new = run.like(&old)?;
        let (was, is) = (run.has(x, &old)?, run.has(x, &new)?);
        (before, after) = (run.t.and(before, was), run.t.and(after, is));
        if matches!(old.ty(), Ty::Struct(name, _) if name == "ScalarAt") {
            let (was, is) = (run.settled(x, &old)?, run.settled(x, &new)?);
            (before, after) = (run.t.and(before, was), run.t.and(after, is));
        }
        run.write(place, new)?;
    }
    let kept = run.t.implies(before, after);
    run.assumed.push(kept);
    Ok(Value::unit())
}

/// `narrow_sides`.
pub(super) fn narrows_sides(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Variant(_, op), a, b] = args else { return Err("not two operands".to_owned()) };
    let Ty::Struct(_, consts) = run.value(a.clone())?.ty() else {
        return Err("no operand".to_owned());
    };
    narrows(run, op, consts[0], [a, b])
}

/// `refine_wrapped`.
pub(super) fn refines(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Variant(_, op), Value::Bool(jmp32), a, b] = args else {
        return Err("no comparison".to_owned());
    };
    let width = if run.t.known_bool(*jmp32) == Some(true) { 32 } else { 64 };
    narrows(run, op, width, [a, b])
}

/// `is_branch_taken`, for the first two ghosts.
pub(super) fn decides(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let [a, b, Value::Variant(_, op), Value::Bool(jmp32)] = args else {
        return Err("no comparison".to_owned());
    };
    let width = if run.t.known_bool(*jmp32) == Some(true) { 32 } else { 64 };
    let (a, b) = (run.value(a.clone())?, run.value(b.clone())?);
    let [x, y, ..] = *run.ghosts.as_slice() else { return Err("two ghosts".to_owned()) };
    let (some, taken) = (run.t.var(0), run.t.var(0));
    let (in_a, in_b) = (run.has(x, &a)?, run.has(y, &b)?);
    let holds = run.holds(op, width, x, y);
    let (all, same) = (run.t.all(&[some, in_a, in_b]), run.t.eq(taken, holds));
    let kept = run.t.implies(all, same);
    run.assumed.push(kept);
    Ok(Value::Option(some, Some(Box::new(Value::Bool(taken)))))
}

/// `ScalarAt::violated_rule`: a settled register that contains a value violates none.
pub(super) fn has_no_violation(run: &mut Run<'_>, args: &[Value]) -> Result<Value> {
    let (register, violated) = (run.first(args)?, run.t.var(0));
    let sound = run.t.not(violated);
    run.of_each_ghost(|run, x| {
        let (inside, settled) = (run.has(x, &register)?, run.settled(x, &register)?);
        Ok((run.t.and(inside, settled), sound))
    })?;
    Ok(Value::Option(violated, None))
}
