//! The goals of wrapping ranges, and of the deductions between them and known bits.
//!
//! A range around a number is represented by its distances to that number, so that the solver only
//! deals with distances.

use super::contracts::{is_single, meets, settles};
use super::goals::{Goals, kept, owned};
use super::run::{Known, Run};
use super::spec::{U64, keeps, steps};
use super::term::Term;
use super::value::{Result, Value};

pub(super) fn add(goals: &mut Goals) {
    for width in [64, 32] {
        arcs(goals, width);
    }
    knowledge(goals);
}

fn arcs(goals: &mut Goals, width: u32) {
    let case = format!("{width} bits");
    goals.add("Arc::between", &case, move |run| {
        let (first, last, x) = (run.t.var(64), run.t.var(64), run.t.var(64));
        let args = vec![Value::Int(first, U64), Value::Int(last, U64)];
        let out = run.call("Arc::between", owned(&[width]), args)?;
        // As far from the first as the last is, or less far.
        let [from, size] = [x, last].map(|to| {
            let from = run.t.binary("bvsub", to, first);
            run.low(from, width)
        });
        let between = run.t.compare("bvule", from, size);
        let inside = run.has(x, &out)?;
        Ok(run.t.eq(between, inside))
    });
    goals.add("Arc::of_bits", &case, move |run| {
        let (bits, x) = (run.tnum(), run.t.var(64));
        run.inside(x, &bits)?;
        let out = run.call("Arc::of_bits", owned(&[width]), vec![bits.clone()])?;
        let (inside, alone) = (run.has(x, &out)?, run.is_alone_if_known(&bits, &out)?);
        Ok(run.t.and(inside, alone))
    });
    goals.add("Arc::of_bounds", &case, move |run| {
        run.contracts.insert("Arc::meet", meets);
        let (bounds, x) = (run.bounds(width), run.t.var(64));
        run.ghosts.push(x);
        run.inside(x, &bounds)?;
        let out = run.call("Arc::of_bounds", owned(&[width]), vec![bounds.clone()])?;
        let (inside, alone) = (run.has(x, &out)?, run.is_alone_if_constant(&bounds, &out)?);
        Ok(run.t.and(inside, alone))
    });
    goals.add("Arc::bounds", &case, move |run| {
        let (arc, x) = (run.arc(width), run.t.var(64));
        run.inside(x, &arc)?;
        let out = run.call("Arc::bounds", owned(&[width]), vec![arc.clone()])?;
        let (inside, alone) = (run.has(x, &out)?, run.is_alone_in(x, &arc, &out)?);
        Ok(run.t.and(inside, alone))
    });
    goals.add("Arc::has", &case, move |run| {
        let (arc, x) = (run.arc(width), run.t.var(64));
        let inside = run.has(x, &arc)?;
        let args = vec![arc, Value::Int(x, U64)];
        let out = run.call("Arc::has", owned(&[width]), args)?.bool()?;
        Ok(run.t.eq(inside, out))
    });
    goals.add("Arc::covers", &case, move |run| {
        let x = run.t.var(64);
        let (a, b) = (run.arc_near(x, width), run.arc_near(x, width));
        run.inside(x, &b)?;
        let out = run.call("Arc::covers", owned(&[width]), vec![a.clone(), b])?.bool()?;
        let inside = run.has(x, &a)?;
        Ok(run.t.implies(out, inside))
    });
    goals.add("Arc::covers", format!("{case}, of one"), move |run| {
        let x = run.t.var(64);
        let (a, b) = (run.arc_near(x, width), run.arc_near(x, width));
        run.inside(x, &a)?;
        run.inside(x, &b)?;
        let alone = run.is_alone(&b)?;
        run.assumed.push(alone);
        run.call("Arc::covers", owned(&[width]), vec![a, b])?.bool()
    });
    arc_results(goals, width);
}

/// Ranges made of ranges.
fn arc_results(goals: &mut Goals, width: u32) {
    let case = format!("{width} bits");
    for claim in ["", ", of one"] {
        goals.add("Arc::meet", format!("{case}{claim}"), move |run| {
            let x = run.t.var(64);
            let (a, b) = (run.arc_near(x, width), run.arc_near(x, width));
            run.inside(x, &a)?;
            run.inside(x, &b)?;
            let out = run.call("Arc::meet", owned(&[width]), vec![a.clone(), b.clone()])?;
            if claim.is_empty() { run.has(x, &out) } else { run.is_alone_if_either(&out, [&a, &b]) }
        });
    }
    goals.add("meet_both", &case, move |run| {
        run.contracts.insert("Arc::meet", meets);
        let (a, b, x) = (run.maybe_arc(width), run.maybe_arc(width), run.t.var(64));
        run.ghosts.push(x);
        run.inside(x, &a)?;
        run.inside(x, &b)?;
        let out = run.call("meet_both", owned(&[width]), vec![a.clone(), b.clone()])?;
        let (inside, alone) = (run.has(x, &out)?, run.is_alone_if_either(&out, [&a, &b])?);
        Ok(run.t.and(inside, alone))
    });
    goals.add("Arc::add", &case, move |run| {
        let (x, y) = (run.t.var(64), run.t.var(64));
        let (a, b) = (run.arc_near(x, width), run.arc_near(y, width));
        run.inside(x, &a)?;
        run.inside(y, &b)?;
        let out = run.call("Arc::add", owned(&[width]), vec![a, b])?;
        let sum = run.concrete("Add", 64, x, y);
        run.has(sum, &out)
    });
    goals.add("Arc::neg", &case, move |run| {
        let (x, zero) = (run.t.var(64), run.t.int(0, 64));
        let a = run.arc_near(x, width);
        run.inside(x, &a)?;
        let out = run.call("Arc::neg", owned(&[width]), vec![a])?;
        let less = run.concrete("Sub", 64, zero, x);
        run.has(less, &out)
    });
}

fn knowledge(goals: &mut Goals) {
    goals.add("Known::single_value", "", |run| {
        run.contracts.insert("Tnum::step", steps);
        let (known, x) = (run.known(), run.t.var(64));
        run.ghosts.push(x);
        run.inside(x, &known)?;
        let place = run.place(known.clone());
        match run.call("Known::single_value", Known::default(), vec![place])? {
            Value::Option(some, Some(value)) => {
                let (same, exact) = (run.t.eq(value.int()?, x), run.bits_are_known(&known)?);
                let (same, there) = (run.t.implies(some, same), run.t.implies(exact, some));
                Ok(run.t.and(same, there))
            }
            _ => Err("no option".to_owned()),
        }
    });
    for of in ["Known::half_from_wide", "Known::learn_bits"] {
        goals.add(of, "", move |run| {
            run.assume_arcs();
            let known = run.known();
            kept(run, of, known, vec![])
        });
    }
    goals.add("Known::learn_from_bits", "", |run| {
        run.assume_arcs();
        run.contracts.insert("Known::single_value", is_single);
        settled(run, "Known::learn_from_bits")
    });
    for (begins, ends) in [(true, true), (true, false), (false, true), (false, false)] {
        let or_not = |is: bool| if is { "" } else { "not " };
        let case = format!("{}first, {}last in half", or_not(begins), or_not(ends));
        goals.add("Known::wide_from_half", case, move |run| {
            let x = run.t.var(64);
            run.ghosts.push(x);
            let known = run.known_around(x);
            run.inside(x, &known)?;
            for (end, is_in) in run.ends_in_half(&known)?.into_iter().zip([begins, ends]) {
                run.assumed.push(if is_in { end } else { run.t.not(end) });
            }
            let known = run.place(known);
            run.call("Known::wide_from_half", Known::default(), vec![known.clone()])?;
            let after = run.value(known)?;
            run.has(x, &after)
        });
    }
    goals.add("Known::deduce", "", |run| {
        run.contracts.insert("Known::half_from_wide", keeps);
        run.contracts.insert("Known::wide_from_half", keeps);
        let known = run.known();
        kept(run, "Known::deduce", known, vec![])
    });
    goals.add("Known::sync", "", |run| {
        run.contracts.insert("Known::learn_from_bits", settles);
        run.contracts.insert("Known::deduce", keeps);
        run.contracts.insert("Known::learn_bits", keeps);
        settled(run, "Known::sync")
    });
}

impl Run<'_> {
    /// Whether the low halves of the first and of the last of the whole's range are in the half's.
    fn ends_in_half(&mut self, known: &Value) -> Result<[Term; 2]> {
        let (wide, half) = (known.field("wide")?, known.field("half")?);
        let (Value::Option(_, Some(wide)), Value::Option(_, Some(half))) = (wide, half) else {
            return Err("no ranges".to_owned());
        };
        let (first, size) = (wide.field("base")?.int()?, wide.field("size")?.int()?);
        let last = self.t.binary("bvadd", first, size);
        Ok([self.has(first, half)?, self.has(last, half)?])
    }
}

/// As `kept`; also, what is left is settled.
fn settled(run: &mut Run<'_>, of: &str) -> Result<Term> {
    let (known, x) = (run.known(), run.t.var(64));
    run.ghosts.push(x);
    run.inside(x, &known)?;
    let known = run.place(known);
    run.call(of, Known::default(), vec![known.clone()])?;
    let after = run.value(known)?;
    let (inside, settled) = (run.has(x, &after)?, run.settled(x, &after)?);
    Ok(run.t.and(inside, settled))
}
