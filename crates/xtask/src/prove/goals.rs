//! The goals: for each function, a claim about all abstract values and all concrete values in them.

use super::run::{Known, Run};
use super::spec::{U32, U64, computes, is_exact, keeps, steps};
use super::term::Term;
use super::value::{Result, Value};

type Build = Box<dyn Fn(&mut Run<'_>) -> Result<Term> + Send + Sync>;

/// A claim about one function.
pub(super) struct Goal {
    /// The function.
    pub(super) of: &'static str,
    /// The case of the claim.
    pub(super) case: String,
    /// Adds assumptions, and returns the claim.
    pub(super) build: Build,
}

impl Goal {
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.of, self.case).trim_end().to_owned()
    }
}

#[derive(Default)]
pub(super) struct Goals(pub(super) Vec<Goal>);

impl Goals {
    pub(super) fn add(
        &mut self,
        of: &'static str,
        case: impl Into<String>,
        build: impl Fn(&mut Run<'_>) -> Result<Term> + Send + Sync + 'static,
    ) {
        self.0.push(Goal { of, case: case.into(), build: Box::new(build) });
    }
}

pub(super) const JMP: [&str; 12] =
    ["Eq", "Ne", "Gt", "Ge", "Lt", "Le", "Sgt", "Sge", "Slt", "Sle", "Set", "Nset"];
pub(super) const ALU: [&str; 11] =
    ["Add", "Sub", "Mul", "Div", "Or", "And", "Lsh", "Rsh", "Mod", "Xor", "Arsh"];

/// Binary functions that have their own goals, or are exceptions.
pub(super) const COMPUTES: [&str; 12] = [
    "Tnum::add",
    "Tnum::sub",
    "Tnum::mul",
    "Tnum::mul_by_sums",
    "Tnum::mul_by_halves",
    "Tnum::and",
    "Tnum::or",
    "Bounds::add",
    "Bounds::sub",
    "Bounds::mul",
    "Bounds::and",
    "Bounds::or",
];

/// Goals other than those of wrapping ranges.
pub(super) fn add(goals: &mut Goals) {
    tnums(goals);
    tnum_questions(goals);
    bounds(goals);
    views(goals);
    widths(goals);
    arithmetic(goals);
    byte_orders(goals, "byte_order", |run| run.scalar(), |_| {});
    branches(goals);
}

pub(super) fn owned(consts: &[u32]) -> Known {
    Known { owner: consts.to_vec(), ..Known::default() }
}

pub(super) fn variant(owner: &str, name: &str) -> Value {
    Value::Variant(owner.to_owned(), name.to_owned())
}

impl Run<'_> {
    pub(super) fn number(&mut self, value: u64, int: super::value::Int) -> Value {
        Value::Int(self.t.int(value, int.width), int)
    }

    pub(super) fn truth(&mut self, value: bool) -> Value {
        Value::Bool(self.t.bool(value))
    }

    /// Two values for which a comparison holds.
    pub(super) fn compared(&mut self, op: &str, width: u32) -> (Term, Term) {
        let x = self.t.var(64);
        // Equal values are the same, or differ only in the upper half.
        let y = match (op, width) {
            ("Eq", 64) => x,
            ("Eq", _) => {
                let (upper, low) = (self.t.var(32), self.t.resize(x, 32, false));
                self.t.concat(upper, low)
            }
            _ => self.t.var(64),
        };
        let holds = self.holds(op, width, x, y);
        self.assumed.push(holds);
        (x, y)
    }

    /// A shift amount below the width.
    fn amount(&mut self, width: u32) -> (Value, Term) {
        let (by, limit) = (self.t.var(32), self.t.int(width.into(), 32));
        let below = self.t.compare("bvult", by, limit);
        self.assumed.push(below);
        let wide = self.t.resize(by, 64, false);
        (Value::Int(by, U32), wide)
    }
}

fn tnums(goals: &mut Goals) {
    let binary = [
        ("Tnum::add", "Add"),
        ("Tnum::sub", "Sub"),
        ("Tnum::and", "And"),
        ("Tnum::or", "Or"),
        ("Tnum::xor", "Xor"),
    ];
    for (of, op) in binary {
        goals.add(of, "", move |run| {
            let (a, b, x, y) = (run.tnum(), run.tnum(), run.t.var(64), run.t.var(64));
            run.inside(x, &a)?;
            run.inside(y, &b)?;
            let out = run.call(of, Known::default(), vec![a, b])?;
            let r = run.concrete(op, 64, x, y);
            run.has(r, &out)
        });
    }
    tnum_sets(goals);
    tnum_shifts(goals);
    tnum_parts(goals);
}

fn tnum_sets(goals: &mut Goals) {
    for (of, in_both) in [("Tnum::intersect", true), ("Tnum::union", false)] {
        goals.add(of, "", move |run| {
            let (a, b, x) = (run.tnum(), run.tnum(), run.t.var(64));
            let (in_a, in_b) = (run.has(x, &a)?, run.has(x, &b)?);
            let inside = if in_both { run.t.and(in_a, in_b) } else { run.t.or(in_a, in_b) };
            // Each contains some value, so it is well-formed.
            for t in [&a, &b] {
                let some = run.t.var(64);
                run.inside(some, t)?;
            }
            run.assumed.push(inside);
            let out = run.call(of, Known::default(), vec![a, b])?;
            run.has(x, &out)
        });
    }
    goals.add("Tnum::range", "", |run| {
        let (min, x, max) = (run.t.var(64), run.t.var(64), run.t.var(64));
        for (a, b) in [(min, x), (x, max)] {
            let ordered = run.t.compare("bvule", a, b);
            run.assumed.push(ordered);
        }
        let args = vec![Value::Int(min, U64), Value::Int(max, U64)];
        let out = run.call("Tnum::range", Known::default(), args)?;
        run.has(x, &out)
    });
}

fn tnum_shifts(goals: &mut Goals) {
    for (of, op) in [("Tnum::lshift", "Lsh"), ("Tnum::rshift", "Rsh")] {
        goals.add(of, "", move |run| {
            let (a, x) = (run.tnum(), run.t.var(64));
            run.inside(x, &a)?;
            let (by, wide) = run.amount(64);
            let out = run.call(of, Known::default(), vec![a, by])?;
            let r = run.concrete(op, 64, x, wide);
            run.has(r, &out)
        });
    }
    for width in [64, 32] {
        goals.add("Tnum::arshift", format!("{width} bits"), move |run| {
            let (a, x) = (run.tnum(), run.t.var(64));
            run.inside(x, &a)?;
            let low = run.low(x, width);
            let fits = run.t.eq(low, x);
            run.assumed.push(fits);
            let (by, wide) = run.amount(width);
            let bits = run.number(width.into(), U32);
            let out = run.call("Tnum::arshift", Known::default(), vec![a, by, bits])?;
            let r = run.concrete("Arsh", width, x, wide);
            run.has(r, &out)
        });
    }
}

fn tnum_parts(goals: &mut Goals) {
    goals.add("Tnum::neg", "", |run| {
        let (a, x, zero) = (run.tnum(), run.t.var(64), run.t.int(0, 64));
        run.inside(x, &a)?;
        let out = run.call("Tnum::neg", Known::default(), vec![a])?;
        let r = run.t.binary("bvsub", zero, x);
        run.has(r, &out)
    });
    for size in [1, 2, 4, 8] {
        goals.add("Tnum::cast", format!("{size} bytes"), move |run| {
            let (a, x) = (run.tnum(), run.t.var(64));
            run.inside(x, &a)?;
            let size_value = run.number(size.into(), U32);
            let out = run.call("Tnum::cast", Known::default(), vec![a, size_value])?;
            let r = run.low(x, size * 8);
            run.has(r, &out)
        });
    }
    goals.add("Tnum::with_subreg", "", |run| {
        let (a, b, x, y) = (run.tnum(), run.tnum(), run.t.var(64), run.t.var(64));
        run.inside(x, &a)?;
        run.inside(y, &b)?;
        let out = run.call("Tnum::with_subreg", Known::default(), vec![a, b])?;
        let (upper, low) = (run.t.int(!0xffff_ffff, 64), run.low(y, 32));
        let upper = run.t.binary("bvand", x, upper);
        let r = run.t.binary("bvor", upper, low);
        run.has(r, &out)
    });
    goals.add("Tnum::const_subreg", "", |run| {
        let (a, x, y) = (run.tnum(), run.t.var(64), run.t.var(32));
        run.inside(x, &a)?;
        let out = run.call("Tnum::const_subreg", Known::default(), vec![a, Value::Int(y, U32)])?;
        let (upper, low) = (run.t.int(!0xffff_ffff, 64), run.t.resize(y, 64, false));
        let upper = run.t.binary("bvand", x, upper);
        let r = run.t.binary("bvor", upper, low);
        run.has(r, &out)
    });
}

/// Functions that answer questions about a set instead of computing one.
fn tnum_questions(goals: &mut Goals) {
    goals.add("Tnum::has", "", |run| {
        let (a, x) = (run.tnum(), run.t.var(64));
        let inside = run.has(x, &a)?;
        let out = run.call("Tnum::has", Known::default(), vec![a, Value::Int(x, U64)])?.bool()?;
        Ok(run.t.eq(inside, out))
    });
    goals.add("Tnum::overlap", "", |run| {
        let (a, b, x) = (run.tnum(), run.tnum(), run.t.var(64));
        run.inside(x, &a)?;
        run.inside(x, &b)?;
        run.call("Tnum::overlap", Known::default(), vec![a, b])?.bool()
    });
    goals.add("Tnum::contains", "", |run| {
        let (outer, inner, x) = (run.tnum(), run.tnum(), run.t.var(64));
        run.inside(x, &inner)?;
        let answer = run.call("Tnum::contains", Known::default(), vec![outer.clone(), inner])?;
        let (answer, inside) = (answer.bool()?, run.has(x, &outer)?);
        Ok(run.t.implies(answer, inside))
    });
    goals.add("Tnum::is_aligned", "", |run| {
        let (a, x, (_, by)) = (run.tnum(), run.t.var(64), run.amount(64));
        run.inside(x, &a)?;
        let (one, zero) = (run.t.int(1, 64), run.t.int(0, 64));
        let size = run.t.binary("bvshl", one, by);
        let args = vec![a, Value::Int(size, U64)];
        let answer = run.call("Tnum::is_aligned", Known::default(), args)?.bool()?;
        let below = run.t.binary("bvsub", size, one);
        let rest = run.t.binary("bvand", x, below);
        let aligned = run.t.eq(rest, zero);
        Ok(run.t.implies(answer, aligned))
    });
    goals.add("Tnum::step", "", |run| {
        let (a, y, z) = (run.tnum(), run.t.var(64), run.t.var(64));
        run.inside(y, &a)?;
        let out = run.call("Tnum::step", Known::default(), vec![a.clone(), Value::Int(z, U64)])?;
        let next = out.int()?;
        let inside = run.has(next, &a)?;
        let (above, passed) = (run.t.compare("bvult", z, y), run.t.compare("bvult", z, next));
        let least = run.t.compare("bvule", next, y);
        let both = run.t.and(passed, least);
        let greater = run.t.implies(above, both);
        Ok(run.t.and(inside, greater))
    });
}

fn bounds(goals: &mut Goals) {
    for width in [64, 32] {
        let case = format!("{width} bits");
        for (of, op) in [("Bounds::add", "Add"), ("Bounds::sub", "Sub")] {
            goals.add(of, &case, move |run| {
                let (a, b) = (run.bounds(width), run.bounds(width));
                let (x, y) = (run.t.var(64), run.t.var(64));
                run.inside(x, &a)?;
                run.inside(y, &b)?;
                let out = run.call(of, owned(&[width]), vec![a, b])?;
                let r = run.concrete(op, 64, x, y);
                run.has(r, &out)
            });
        }
        for (of, op) in [("Bounds::and", "And"), ("Bounds::or", "Or"), ("Bounds::xor", "Xor")] {
            goals.add(of, &case, move |run| {
                let (a, b, t) = (run.bounds(width), run.bounds(width), run.tnum());
                let (x, y) = (run.t.var(64), run.t.var(64));
                run.inside(x, &a)?;
                run.inside(y, &b)?;
                let r = run.concrete(op, 64, x, y);
                run.inside(r, &t)?;
                let args = if op == "Xor" { vec![t] } else { vec![a, b, t] };
                let out = run.call(of, owned(&[width]), args)?;
                run.has(r, &out)
            });
        }
        for (of, op) in [("Bounds::lsh", "Lsh"), ("Bounds::rsh", "Rsh"), ("Bounds::arsh", "Arsh")] {
            goals.add(of, &case, move |run| {
                let (a, x) = (run.bounds(width), run.t.var(64));
                run.inside(x, &a)?;
                let (by, wide) = run.amount(width);
                let out = run.call(of, owned(&[width]), vec![a, by])?;
                let r = run.concrete(op, width, x, wide);
                run.has(r, &out)
            });
        }
        goals.add("Bounds::narrow_by", &case, move |run| {
            let (a, t, x) = (run.bounds(width), run.tnum(), run.t.var(64));
            run.inside(x, &a)?;
            run.inside(x, &t)?;
            let a = run.place(a);
            run.call("Bounds::narrow_by", Known::default(), vec![a.clone(), t])?;
            let out = run.value(a)?;
            run.has(x, &out)
        });
        goals.add("Bounds::narrow_each_by_other", &case, move |run| {
            let a = run.bounds(width);
            kept(run, "Bounds::narrow_each_by_other", a, vec![])
        });
    }
}

/// Calls a method that narrows in place; a value that was contained must stay contained.
pub(super) fn kept(run: &mut Run<'_>, of: &str, before: Value, args: Vec<Value>) -> Result<Term> {
    let x = run.t.var(64);
    run.ghosts.push(x);
    run.inside(x, &before)?;
    let place = run.place(before);
    let mut all = vec![place.clone()];
    all.extend(args);
    run.call(of, Known::default(), all)?;
    let after = run.value(place)?;
    run.has(x, &after)
}

fn views(goals: &mut Goals) {
    for of in [
        "Views::pin_single_value",
        "Views::half_from_wide",
        "Views::wide_from_half",
        "Views::narrow_bits",
    ] {
        goals.add(of, "", move |run| {
            run.contracts.insert("Tnum::step", steps);
            let views = run.views();
            kept(run, of, views, vec![])
        });
    }
    goals.add("Views::narrow_by_bits", "", |run| {
        run.contracts.insert("Views::pin_single_value", keeps);
        let views = run.views();
        kept(run, "Views::narrow_by_bits", views, vec![])
    });
    goals.add("Views::deduce", "", |run| {
        run.contracts.insert("Views::half_from_wide", keeps);
        run.contracts.insert("Views::wide_from_half", keeps);
        run.contracts.insert("Bounds::narrow_each_by_other", keeps);
        let views = run.views();
        kept(run, "Views::deduce", views, vec![])
    });
    for of in ["ScalarAt::sync", "ScalarAt::narrow_by_bits"] {
        goals.add(of, "", move |run| {
            for step in ["Views::narrow_by_bits", "Views::deduce", "Views::narrow_bits"] {
                run.contracts.insert(step, keeps);
            }
            let scalar = run.scalar();
            kept(run, of, scalar, vec![])
        });
    }
}

/// Calls a function that changes a scalar in place, with contracts for functions that have their
/// own goals.
pub(super) fn in_place(
    run: &mut Run<'_>,
    scalar: Value,
    result: Term,
    call: impl FnOnce(&mut Run<'_>, Value) -> Result<()>,
) -> Result<Term> {
    run.ghosts.push(result);
    run.contracts.insert("ScalarAt::sync", keeps);
    run.contracts.insert("ScalarAt::narrow_by_bits", keeps);
    let place = run.place(scalar);
    call(run, place.clone())?;
    let after = run.value(place)?;
    run.has(result, &after)
}

fn widths(goals: &mut Goals) {
    for size in [1, 2, 4] {
        for (of, signed) in
            [("ScalarAt::coerce_to_size", false), ("ScalarAt::coerce_to_size_sx", true)]
        {
            goals.add(of, format!("{size} bytes"), move |run| {
                let (s, x) = (run.scalar(), run.t.var(64));
                run.inside(x, &s)?;
                let r = match signed {
                    true => run.low_signed(x, size * 8),
                    false => run.low(x, size * 8),
                };
                let size = run.number(size.into(), U32);
                in_place(run, s, r, |run, s| {
                    run.call(of, Known::default(), vec![s, size]).map(drop)
                })
            });
        }
    }
    // The caller always zeroes the upper half.
    for size in [1, 2] {
        goals.add("ScalarAt::coerce_subreg_to_size_sx", format!("{size} bytes"), move |run| {
            let (s, x) = (run.scalar(), run.t.var(64));
            run.inside(x, &s)?;
            let r = run.low_signed(x, size * 8);
            let r = run.low(r, 32);
            let size = run.number(size.into(), U32);
            in_place(run, s, r, |run, s| {
                let of = "ScalarAt::coerce_subreg_to_size_sx";
                run.call(of, Known::default(), vec![s.clone(), size])?;
                run.call("ScalarAt::zext_32_to_64", Known::default(), vec![s]).map(drop)
            })
        });
    }
    scalars(goals);
}

fn scalars(goals: &mut Goals) {
    goals.add("ScalarAt::zext_32_to_64", "", |run| {
        let (s, x) = (run.scalar(), run.t.var(64));
        run.inside(x, &s)?;
        let r = run.low(x, 32);
        in_place(run, s, r, |run, s| {
            run.call("ScalarAt::zext_32_to_64", Known::default(), vec![s]).map(drop)
        })
    });
    goals.add("ScalarAt::mark_known32", "", |run| {
        let (s, x) = (run.scalar(), run.t.var(64));
        run.inside(x, &s)?;
        in_place(run, s, x, |run, s| {
            let low = run.t.resize(x, 32, false);
            let args = vec![s, Value::Int(low, U32)];
            run.call("ScalarAt::mark_known32", Known::default(), args).map(drop)
        })
    });
    for of in ["ScalarAt::mark_unbounded", "ScalarAt::mark_unbounded32"] {
        goals.add(of, "", move |run| {
            let scalar = run.scalar();
            kept(run, of, scalar, vec![])
        });
    }
    goals.add("ScalarAt::unknown", "", |run| {
        let (x, out) = (run.t.var(64), run.call("ScalarAt::unknown", owned(&[64, 32]), vec![])?);
        run.has(x, &out)
    });
    goals.add("ScalarAt::constant", "", |run| {
        let x = run.t.var(64);
        let out = run.call("ScalarAt::constant", owned(&[64, 32]), vec![Value::Int(x, U64)])?;
        run.has(x, &out)
    });
    goals.add("ScalarAt::contains", "", |run| {
        let (s, x) = (run.scalar(), run.t.var(64));
        let inside = run.has(x, &s)?;
        let s = run.place(s);
        let out = run.call("ScalarAt::contains", Known::default(), vec![s, Value::Int(x, U64)])?;
        let out = out.bool()?;
        Ok(run.t.eq(inside, out))
    });
    for of in ["ScalarAt::const_value", "ScalarAt::exact_value"] {
        goals.add(of, "", move |run| {
            let (s, x) = (run.scalar(), run.t.var(64));
            run.inside(x, &s)?;
            let s = run.place(s);
            let Value::Option(some, Some(value)) = run.call(of, Known::default(), vec![s])? else {
                return Err("no option".to_owned());
            };
            let same = run.t.eq(value.int()?, x);
            Ok(run.t.implies(some, same))
        });
    }
}

fn arithmetic(goals: &mut Goals) {
    for (op, wide) in ALU.into_iter().flat_map(|op| [(op, true), (op, false)]) {
        let width = if wide { 64 } else { 32 };
        goals.add("alu", format!("{op}, {width} bits"), move |run| {
            let (a, b, x, y) = (run.scalar(), run.scalar(), run.t.var(64), run.t.var(64));
            run.inside(x, &a)?;
            run.inside(y, &b)?;
            let r = run.concrete(op, width, x, y);
            for (ghost, register) in [(x, &a), (y, &b)] {
                let some = run.t.var(0);
                run.exact.push((register.clone(), ghost, some));
            }
            run.contracts.insert("ScalarAt::exact_value", is_exact);
            // If the whole result is known, its low half is that of the insn.
            let whole = run.concrete(op, 64, x, y);
            run.ghosts.extend([x, y, whole]);
            let own = format!("::{}", op.to_lowercase());
            for of in COMPUTES.into_iter().filter(|of| of.ends_with(&own)) {
                run.contracts.insert(of, computes);
            }
            in_place(run, a, r, |run, a| {
                let (b, wide) = (run.place(b), run.truth(wide));
                let args = vec![variant("AluOp", op), wide, a, b];
                run.call("alu", Known::default(), args).map(drop)
            })
        });
    }
    for wide in [true, false] {
        let width = if wide { 64 } else { 32 };
        goals.add("neg", format!("{width} bits"), move |run| {
            let (a, x, zero) = (run.scalar(), run.t.var(64), run.t.int(0, 64));
            run.inside(x, &a)?;
            let r = run.concrete("Sub", width, zero, x);
            let whole = run.concrete("Sub", 64, zero, x);
            run.ghosts.extend([zero, x, whole]);
            run.contracts.insert("Tnum::sub", computes);
            run.contracts.insert("Bounds::sub", computes);
            in_place(run, a, r, |run, a| {
                let wide = run.truth(wide);
                run.call("neg", Known::default(), vec![wide, a]).map(drop)
            })
        });
    }
    for op in ["And", "Or"] {
        goals.add("fork_sign_mask", op, move |run| {
            let (a, b, x) = (run.scalar(), run.scalar(), run.t.var(64));
            run.inside(x, &a)?;
            let (a, b) = (run.place(a), run.place(b));
            let args = vec![variant("AluOp", op), a, b];
            match run.call("fork_sign_mask", Known::default(), args)? {
                Value::Option(some, Some(both)) => {
                    let (in_ones, in_zero) =
                        (run.has(x, both.field("0")?)?, run.has(x, both.field("1")?)?);
                    let either = run.t.or(in_ones, in_zero);
                    Ok(run.t.implies(some, either))
                }
                _ => Err("no option".to_owned()),
            }
        });
    }
}

/// For registers of that kind, with contracts for their steps.
pub(super) fn byte_orders(
    goals: &mut Goals,
    of: &'static str,
    register: fn(&mut Run<'_>) -> Value,
    assume: fn(&mut Run<'_>),
) {
    for (order, bits) in ["Keep", "Swap"].into_iter().flat_map(|o| [16, 32, 64].map(|b| (o, b))) {
        goals.add(of, format!("{order}, {bits} bits"), move |run| {
            let (a, x) = (register(run), run.t.var(64));
            run.inside(x, &a)?;
            let low = run.t.resize(x, bits, false);
            let out = if order == "Swap" { run.swap(low, bits) } else { low };
            let r = run.t.resize(out, 64, false);
            assume(run);
            in_place(run, a, r, |run, a| {
                let bits = run.number(bits.into(), U32);
                let args = vec![variant("ByteOrder", order), bits, a];
                run.call(of, Known::default(), args).map(drop)
            })
        });
    }
}

fn branches(goals: &mut Goals) {
    for (of, negated) in [("JmpOp::negated", true), ("JmpOp::swapped", false)] {
        goals.add(of, "", move |run| {
            let (x, y, mut all) = (run.t.var(64), run.t.var(64), run.t.bool(true));
            for op in JMP {
                let out = run.call(of, Known::default(), vec![variant("JmpOp", op)])?;
                let Value::Variant(_, other) = out else { return Err("no op".to_owned()) };
                let a = run.holds(op, 64, x, y);
                let b = match negated {
                    true => {
                        let b = run.holds(&other, 64, x, y);
                        run.t.not(b)
                    }
                    false => run.holds(&other, 64, y, x),
                };
                let same = run.t.eq(a, b);
                all = run.t.and(all, same);
            }
            Ok(all)
        });
    }
    decisions(goals);
    for (op, jmp32) in JMP.into_iter().flat_map(|op| [(op, false), (op, true)]) {
        let width = if jmp32 { 32 } else { 64 };
        let case = format!("{op}, {width} bits");
        goals.add("refine_branches", &case, move |run| {
            let (a, b) = (run.scalar(), run.scalar());
            let (x, y) = run.compared(op, width);
            run.inside(x, &a)?;
            run.inside(y, &b)?;
            run.ghosts.push(y);
            let b = run.place(b);
            let other = b.clone();
            let in_a = in_place(run, a, x, |run, a| {
                let jmp32 = run.truth(jmp32);
                let args = vec![variant("JmpOp", op), jmp32, a, other];
                run.call("refine_branches", Known::default(), args).map(drop)
            })?;
            let b = run.value(b)?;
            let in_b = run.has(y, &b)?;
            Ok(run.t.and(in_a, in_b))
        });
        // No value differs from itself or is less than itself.
        if matches!(op, "Ne" | "Gt" | "Lt" | "Sgt" | "Slt") {
            continue;
        }
        goals.add("refine_same", &case, move |run| {
            let (a, x) = (run.scalar(), run.t.var(64));
            run.inside(x, &a)?;
            let holds = run.holds(op, width, x, x);
            run.assumed.push(holds);
            in_place(run, a, x, |run, a| {
                let jmp32 = run.truth(jmp32);
                run.call("refine_same", Known::default(), vec![variant("JmpOp", op), jmp32, a])
                    .map(drop)
            })
        });
    }
}

fn decisions(goals: &mut Goals) {
    for (op, jmp32) in JMP.into_iter().flat_map(|op| [(op, false), (op, true)]) {
        let width = if jmp32 { 32 } else { 64 };
        let case = format!("{op}, {width} bits");
        goals.add("is_branch_taken", &case, move |run| {
            let (a, b, x, y) = (run.scalar(), run.scalar(), run.t.var(64), run.t.var(64));
            run.inside(x, &a)?;
            run.inside(y, &b)?;
            let (a, b, jmp32) = (run.place(a), run.place(b), run.truth(jmp32));
            let args = vec![a, b, variant("JmpOp", op), jmp32];
            let out = run.call("is_branch_taken", Known::default(), args)?;
            let Value::Option(some, Some(taken)) = out else { return Err("no option".to_owned()) };
            let holds = run.holds(op, width, x, y);
            let same = run.t.eq(taken.bool()?, holds);
            Ok(run.t.implies(some, same))
        });
    }
}
