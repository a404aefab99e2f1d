//! The goals of kernels with wrapping ranges: registers and insns.

use super::contracts::{
    combines, decides, has_no_violation, known_of, narrows_sides, refines, sets_known, settles,
};
use super::goals::{ALU, COMPUTES, Goals, JMP, byte_orders, in_place, kept, owned, variant};
use super::run::{Known, Run};
use super::spec::{U32, U64, computes, is_exact};
use super::term::Term;
use super::value::{Result, Value};

pub(super) fn add(goals: &mut Goals) {
    registers(goals);
    widths(goals);
    arithmetic(goals);
    branches(goals);
}

impl Run<'_> {
    /// A register with wrapping ranges.
    fn wrapping(&mut self) -> Value {
        self.wraps = true;
        self.scalar()
    }
}

fn registers(goals: &mut Goals) {
    for of in ["ScalarAt::wide_arc", "ScalarAt::half_arc", "ScalarAt::known"] {
        goals.add(of, "", move |run| {
            run.assume_arcs();
            let (scalar, x) = (run.wrapping(), run.t.var(64));
            run.ghosts.push(x);
            run.inside(x, &scalar)?;
            let scalar = run.place(scalar);
            let out = run.call(of, Known::default(), vec![scalar])?;
            run.has(x, &out)
        });
    }
    goals.add("ScalarAt::set_known", "", |run| {
        let (scalar, known, x) = (run.wrapping(), run.known(), run.t.var(64));
        run.assume_arcs();
        run.ghosts.push(x);
        run.inside(x, &known)?;
        let scalar = run.place(scalar);
        let args = vec![scalar.clone(), known.clone()];
        run.call("ScalarAt::set_known", Known::default(), args)?;
        let after = run.value(scalar)?;
        let (was_settled, settled) = (run.settled(x, &known)?, run.settled(x, &after)?);
        let (inside, stays) = (run.has(x, &after)?, run.t.implies(was_settled, settled));
        Ok(run.t.and(inside, stays))
    });
    goals.add("ScalarAt::sync_wrapped", "", |run| {
        run.contracts.insert("Known::sync", settles);
        run.contracts.insert("ScalarAt::known", known_of);
        run.contracts.insert("ScalarAt::set_known", sets_known);
        let scalar = run.wrapping();
        kept(run, "ScalarAt::sync_wrapped", scalar, vec![])
    });
    goals.add("ScalarAt::contains_wrapped", "", |run| {
        let (s, x) = (run.wrapping(), run.t.var(64));
        run.assume_arcs();
        run.ghosts.push(x);
        let inside = run.has(x, &s)?;
        let args = vec![run.place(s), Value::Int(x, U64)];
        let out = run.call("ScalarAt::contains_wrapped", Known::default(), args)?.bool()?;
        Ok(run.t.eq(inside, out))
    });
    // For two registers, one of which has bounds that include the other's.
    goals.add("ScalarAt::covers_wrapped", "", |run| {
        run.assume_arcs();
        let (a, b, x) = (run.wrapping(), run.wrapping(), run.t.var(64));
        run.ghosts.push(x);
        run.inside(x, &b)?;
        run.wraps = false;
        run.inside(x, &a)?;
        run.wraps = true;
        let args = vec![run.place(a.clone()), run.place(b)];
        let out = run.call("ScalarAt::covers_wrapped", Known::default(), args)?.bool()?;
        let inside = run.has(x, &a)?;
        Ok(run.t.implies(out, inside))
    });
    goals.add("ScalarAt::violated_rule", "", |run| {
        let (s, x) = (run.scalar(), run.t.var(64));
        run.inside(x, &s)?;
        let settled = run.settled(x, &s)?;
        run.assumed.push(settled);
        let s = run.place(s);
        match run.call("ScalarAt::violated_rule", Known::default(), vec![s])? {
            Value::Option(some, _) => Ok(run.t.not(some)),
            _ => Err("no option".to_owned()),
        }
    });
}

/// As `in_place`, with the steps of wrapping ranges.
fn wrapped_in_place(
    run: &mut Run<'_>,
    scalar: Value,
    result: Term,
    call: impl FnOnce(&mut Run<'_>, Value) -> Result<()>,
) -> Result<Term> {
    run.assume_registers();
    in_place(run, scalar, result, call)
}

fn widths(goals: &mut Goals) {
    goals.add("ScalarAt::zext_wrapped", "", |run| {
        let (s, x) = (run.wrapping(), run.t.var(64));
        run.inside(x, &s)?;
        let low = run.low(x, 32);
        run.assume_arcs();
        run.ghosts.push(x);
        in_place(run, s, low, |run, s| {
            run.call("ScalarAt::zext_wrapped", Known::default(), vec![s]).map(drop)
        })
    });
    for of in ["ScalarAt::truncate_wrapped", "ScalarAt::sign_extend_wrapped"] {
        for bits in [8, 16, 32] {
            goals.add(of, format!("{bits} bits"), move |run| {
                let (s, x) = (run.wrapping(), run.t.var(64));
                run.inside(x, &s)?;
                let r = match of {
                    "ScalarAt::truncate_wrapped" => run.low(x, bits),
                    _ => run.low_signed(x, bits),
                };
                let bits = run.number(bits.into(), U32);
                wrapped_in_place(run, s, r, |run, s| {
                    run.call(of, Known::default(), vec![s, bits]).map(drop)
                })
            });
        }
    }
    // The caller always zeroes the upper half.
    for bits in [8, 16] {
        goals.add("ScalarAt::sign_extend_half_wrapped", format!("{bits} bits"), move |run| {
            let (s, x) = (run.wrapping(), run.t.var(64));
            run.inside(x, &s)?;
            let r = run.low_signed(x, bits);
            let r = run.low(r, 32);
            run.assume_arcs();
            let bits = run.number(bits.into(), U32);
            in_place(run, s, r, |run, s| {
                let of = "ScalarAt::sign_extend_half_wrapped";
                run.call(of, Known::default(), vec![s.clone(), bits])?;
                run.call("ScalarAt::zext_wrapped", Known::default(), vec![s]).map(drop)
            })
        });
    }
    byte_orders(goals, "byte_order_wrapped", |run| run.wrapping(), |run| run.assume_registers());
}

fn arithmetic(goals: &mut Goals) {
    for (op, wide) in ALU.into_iter().flat_map(|op| [(op, true), (op, false)]) {
        let width = if wide { 64 } else { 32 };
        goals.add("alu_wrapped", format!("{op}, {width} bits"), move |run| {
            let (a, b, x, y) = (run.wrapping(), run.wrapping(), run.t.var(64), run.t.var(64));
            run.inside(x, &a)?;
            run.inside(y, &b)?;
            let r = run.concrete(op, width, x, y);
            for (ghost, register) in [(x, &a), (y, &b)] {
                let some = run.t.var(0);
                run.exact.push((register.clone(), ghost, some));
            }
            run.contracts.insert("ScalarAt::exact_value", is_exact);
            let whole = run.concrete(op, 64, x, y);
            let (zero, mut ghosts) = (run.t.int(0, 64), vec![x, y, whole]);
            ghosts.push(run.concrete("Sub", 64, zero, y));
            run.ghosts.extend(ghosts);
            let own = format!("::{}", op.to_lowercase());
            for of in COMPUTES.into_iter().filter(|of| of.ends_with(&own)) {
                run.contracts.insert(of, computes);
            }
            wrapped_in_place(run, a, r, |run, a| {
                let (b, wide) = (run.place(b), run.truth(wide));
                let args = vec![variant("AluOp", op), wide, a, b];
                run.call("alu_wrapped", Known::default(), args).map(drop)
            })
        });
    }
    for wide in [true, false] {
        let width = if wide { 64 } else { 32 };
        goals.add("neg_wrapped", format!("{width} bits"), move |run| {
            let (a, x, zero) = (run.wrapping(), run.t.var(64), run.t.int(0, 64));
            run.inside(x, &a)?;
            let r = run.concrete("Sub", width, zero, x);
            run.ghosts.extend([zero, x, r]);
            run.contracts.insert("alu_wrapped", combines);
            in_place(run, a, r, |run, a| {
                let wide = run.truth(wide);
                run.call("neg_wrapped", Known::default(), vec![wide, a]).map(drop)
            })
        });
    }
}

fn branches(goals: &mut Goals) {
    for (op, width) in JMP.into_iter().flat_map(|op| [(op, 64), (op, 32)]) {
        let case = format!("{op}, {width} bits");
        goals.add("narrow_sides", &case, move |run| {
            run.assume_arcs();
            let (a, b) = (run.side(width), run.side(width));
            let (x, y) = run.compared(op, width);
            run.inside(x, &a)?;
            run.inside(y, &b)?;
            run.ghosts.extend([x, y]);
            let (a, b) = (run.place(a), run.place(b));
            let args = vec![variant("JmpOp", op), a.clone(), b.clone()];
            run.call("narrow_sides", owned(&[width]), args)?;
            let (a, b) = (run.value(a)?, run.value(b)?);
            let (in_a, in_b) = (run.has(x, &a)?, run.has(y, &b)?);
            Ok(run.t.and(in_a, in_b))
        });
        goals.add("refine_wrapped", &case, move |run| {
            let (a, b) = (run.wrapping(), run.wrapping());
            let (x, y) = run.compared(op, width);
            run.inside(x, &a)?;
            run.inside(y, &b)?;
            run.ghosts.extend([x, y]);
            run.assume_registers();
            run.contracts.insert("narrow_sides", narrows_sides);
            let was = [run.settled(x, &a)?, run.settled(y, &b)?];
            let (a, b) = (run.place(a), run.place(b));
            let is_jmp32 = run.truth(width == 32);
            let args = vec![variant("JmpOp", op), is_jmp32, a.clone(), b.clone()];
            run.call("refine_wrapped", Known::default(), args)?;
            let (a, b) = (run.value(a)?, run.value(b)?);
            let (in_a, in_b) = (run.has(x, &a)?, run.has(y, &b)?);
            let (a, b) = (run.settled(x, &a)?, run.settled(y, &b)?);
            let (was, is) = (run.t.all(&[was[0], was[1]]), run.t.and(a, b));
            let stays = run.t.implies(was, is);
            Ok(run.t.all(&[in_a, in_b, stays]))
        });
        goals.add("is_taken_wrapped", &case, move |run| {
            let (a, b) = (run.wrapping(), run.wrapping());
            let (x, y) = (run.t.var(64), run.t.var(64));
            run.inside(x, &a)?;
            run.inside(y, &b)?;
            run.ghosts.extend([x, y]);
            // The state of a register since its last `sync`.
            let settled = [run.settled(x, &a)?, run.settled(y, &b)?];
            run.assumed.extend(settled);
            run.contracts.insert("is_branch_taken", decides);
            run.contracts.insert("refine_wrapped", refines);
            run.contracts.insert("ScalarAt::violated_rule", has_no_violation);
            let (a, b) = (run.place(a), run.place(b));
            let args = vec![a, b, variant("JmpOp", op), run.truth(width == 32)];
            match run.call("is_taken_wrapped", Known::default(), args)? {
                Value::Option(some, Some(taken)) => {
                    let holds = run.holds(op, width, x, y);
                    let same = run.t.eq(taken.bool()?, holds);
                    Ok(run.t.implies(some, same))
                }
                _ => Err("no option".to_owned()),
            }
        });
    }
}
