//! Builtins of Rust: operators, casts, methods of numbers and options, patterns.

use super::run::{Frame, Known, Run};
use super::term::{Term, ones};
use super::value::{Int, Result, Ty, Value};
use syn::{BinOp, Expr, Pat, UnOp};

const U32: Int = Int { width: 32, signed: false };

/// The bindings of a pattern.
pub(super) type Vars = Vec<(String, usize)>;

impl Run<'_> {
    pub(super) fn path(&mut self, path: &syn::Path, expected: Option<&Ty>) -> Result<Value> {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        match names.as_slice() {
            [name] => self.name(name),
            [owner, name] => {
                if let Some(int) = Int::of(owner) {
                    return self.limit(int, name);
                }
                let owner_name = self.owner_name(owner)?;
                let key = format!("{owner_name}::{name}");
                if self.source.functions.contains_key(&key) {
                    return Ok(Value::Function(key));
                }
                if self.source.enums.contains_key(&owner_name) {
                    return Ok(Value::Variant(owner_name, name.clone()));
                }
                let mut single = path.clone();
                single.segments = path.segments.iter().take(1).cloned().collect();
                let mut ty = self.ty(&syn::Type::Path(syn::TypePath { qself: None, path: single }));
                if let (Ty::Any, Some(expected)) = (&ty, expected) {
                    ty = expected.clone();
                }
                self.constant(&key, owner_name, &ty)
            }
            _ => Err("a path that is not known".to_owned()),
        }
    }

    fn name(&mut self, name: &str) -> Result<Value> {
        let found = self.frame().vars.iter().rev().find(|(n, _)| n == name).map(|(_, slot)| *slot);
        if let Some(slot) = found {
            return self.mem.get(slot).cloned().ok_or_else(|| format!("{name} is gone"));
        }
        if let Some(value) = self.frame().consts.get(name).copied() {
            return Ok(Value::Int(self.t.int(value.into(), 32), U32));
        }
        if self.source.functions.contains_key(name) {
            return Ok(Value::Function(name.to_owned()));
        }
        match name {
            "None" => Ok(Value::Option(self.t.bool(false), None)),
            name => self.constant(name, String::new(), &Ty::Any),
        }
    }

    fn limit(&mut self, int: Int, name: &str) -> Result<Value> {
        let (all, sign) = (ones(int.width), 1u64 << (int.width - 1));
        let value = match (name, int.signed) {
            ("MAX", false) => all,
            ("MAX", true) => all >> 1,
            ("MIN", true) => sign,
            ("MIN", false) => 0,
            _ => return Err(format!("no limit {name}")),
        };
        Ok(Value::Int(self.t.int(value, int.width), int))
    }

    fn constant(&mut self, key: &str, owner: String, ty: &Ty) -> Result<Value> {
        let source = self.source;
        let (declared, expr) =
            source.constants.get(key).ok_or_else(|| format!("{key} is not known"))?;
        let mut frame = Frame { owner: Some(owner.clone()), ..Frame::default() };
        if let (Some(found), Ty::Struct(_, consts)) = (source.structs.get(&owner), ty) {
            frame.consts = found.consts.iter().cloned().zip(consts.iter().copied()).collect();
        }
        self.frames.push(frame);
        let ty = self.ty(declared);
        let value = self.eval(expr, Some(&ty))?.typed(&ty, &mut self.t);
        self.frames.pop();
        Ok(value)
    }

    pub(super) fn unary(&mut self, e: &syn::ExprUnary, expected: Option<&Ty>) -> Result<Value> {
        let value = self.eval(&e.expr, expected)?;
        Ok(match (&e.op, self.value(value)?) {
            (UnOp::Deref(_), value) => value,
            (UnOp::Not(_), Value::Bool(b)) => Value::Bool(self.t.not(b)),
            (UnOp::Not(_), Value::Int(n, int)) => Value::Int(self.t.invert(n), int),
            (UnOp::Neg(_), Value::Literal(n)) => Value::Literal(-n),
            (UnOp::Neg(_), Value::Int(n, int)) => {
                let zero = self.t.int(0, int.width);
                Value::Int(self.t.binary("bvsub", zero, n), int)
            }
            _ => return Err("an operator that is not known".to_owned()),
        })
    }

    pub(super) fn binary(&mut self, e: &syn::ExprBinary, expected: Option<&Ty>) -> Result<Value> {
        let a = self.eval(&e.left, None)?;
        let a = self.value(a)?;
        let ty = a.ty();
        let b = self.eval(&e.right, Some(&ty))?;
        let b = self.value(b)?;
        let op = match e.op {
            BinOp::Eq(_) => return Ok(Value::Bool(Value::equal(a, b, &mut self.t)?)),
            BinOp::Ne(_) => {
                let equal = Value::equal(a, b, &mut self.t)?;
                return Ok(Value::Bool(self.t.not(equal)));
            }
            BinOp::Shl(_) | BinOp::Shr(_) => {
                let a = expected.iter().fold(a, |a, ty| a.typed(ty, &mut self.t));
                return self.shift(matches!(e.op, BinOp::Shl(_)), a, b);
            }
            BinOp::Lt(_) => return self.compare(a, b, false),
            BinOp::Le(_) => return self.compare(a, b, true),
            BinOp::Gt(_) => return self.compare(b, a, false),
            BinOp::Ge(_) => return self.compare(b, a, true),
            BinOp::Add(_) => "bvadd",
            BinOp::Sub(_) => "bvsub",
            BinOp::Mul(_) => "bvmul",
            BinOp::BitAnd(_) | BinOp::And(_) => "bvand",
            BinOp::BitOr(_) | BinOp::Or(_) => "bvor",
            BinOp::BitXor(_) => "bvxor",
            _ => return Err("an operator that is not known".to_owned()),
        };
        match (op, Value::alike(a, b, &mut self.t)) {
            ("bvand", (Value::Bool(a), Value::Bool(b))) => Ok(Value::Bool(self.t.and(a, b))),
            ("bvor", (Value::Bool(a), Value::Bool(b))) => Ok(Value::Bool(self.t.or(a, b))),
            (op, (Value::Int(a, int), Value::Int(b, other))) if int == other => {
                Ok(Value::Int(self.t.binary(op, a, b), int))
            }
            (op, (a, b)) => Err(format!("{op} of {a:?} and {b:?}")),
        }
    }

    fn compare(&mut self, a: Value, b: Value, or_equal: bool) -> Result<Value> {
        match Value::alike(a, b, &mut self.t) {
            (Value::Int(a, int), Value::Int(b, _)) => {
                Ok(Value::Bool(self.less(a, b, int.signed, or_equal)))
            }
            (Value::Tuple(a), Value::Tuple(b)) => self.compare_tuples(&a, &b, or_equal),
            _ => Err("a comparison of what are no numbers".to_owned()),
        }
    }

    /// Compares by the first pair that is not equal.
    fn compare_tuples(&mut self, a: &[Value], b: &[Value], or_equal: bool) -> Result<Value> {
        let (Some((a, others_of_a)), Some((b, others_of_b))) = (a.split_first(), b.split_first())
        else {
            return Ok(Value::Bool(self.t.bool(or_equal)));
        };
        let less = self.compare(a.clone(), b.clone(), false)?.bool()?;
        let equal = Value::equal(a.clone(), b.clone(), &mut self.t)?;
        let rest = self.compare_tuples(others_of_a, others_of_b, or_equal)?.bool()?;
        let later = self.t.and(equal, rest);
        Ok(Value::Bool(self.t.or(less, later)))
    }

    pub(super) fn less(&mut self, a: Term, b: Term, signed: bool, or_equal: bool) -> Term {
        let op = match (signed, or_equal) {
            (false, false) => "bvult",
            (false, true) => "bvule",
            (true, false) => "bvslt",
            (true, true) => "bvsle",
        };
        self.t.compare(op, a, b)
    }

    /// Shifts like a release build: by the low bits of the amount.
    fn shift(&mut self, left: bool, a: Value, by: Value) -> Result<Value> {
        let Value::Int(a, int) = a else { return Err("a shift of a literal".to_owned()) };
        let by = by.typed(&Ty::Int(U32), &mut self.t).int()?;
        let by = self.t.resize(by, int.width, false);
        let mask = self.t.int(u64::from(int.width) - 1, int.width);
        let by = self.t.binary("bvand", by, mask);
        let op = match (left, int.signed) {
            (true, _) => "bvshl",
            (false, true) => "bvashr",
            (false, false) => "bvlshr",
        };
        Ok(Value::Int(self.t.binary(op, a, by), int))
    }

    pub(super) fn number_as(&mut self, value: Value, int: Int) -> Result<Value> {
        match self.value(value)? {
            Value::Int(n, from) => Ok(Value::Int(self.t.resize(n, int.width, from.signed), int)),
            Value::Literal(n) => Ok(Value::Int(self.t.int(n as u64, int.width), int)),
            other => Err(format!("a cast of {other:?}")),
        }
    }

    pub(super) fn cast(&mut self, e: &syn::ExprCast) -> Result<Value> {
        let value = self.eval(&e.expr, None)?;
        match self.ty(&e.ty) {
            Ty::Int(int) => self.number_as(value, int),
            _ => Err("a cast to what is no number".to_owned()),
        }
    }

    pub(super) fn method(
        &mut self,
        e: &syn::ExprMethodCall,
        expected: Option<&Ty>,
    ) -> Result<Value> {
        let receiver = match self.place_of(&e.receiver)? {
            Some(place) => Value::Ref(self.behind(place)?),
            None => match self.eval(&e.receiver, None)? {
                Value::Ref(place) => Value::Ref(place),
                value => self.place(value),
            },
        };
        let value = self.value(receiver.clone())?;
        let name = e.method.to_string();
        let (owner, consts) = match &value {
            Value::Struct(owner, consts, _) => (owner, consts.clone()),
            Value::Variant(owner, _) => (owner, Vec::new()),
            _ => return self.builtin(value, &name, &e.args, expected),
        };
        let key = format!("{owner}::{name}");
        let declared = self.declared(&key, &consts);
        let mut args = vec![receiver];
        args.extend(self.args(&e.args, &declared)?);
        self.call(&key, Known { owner: consts, own: vec![], expected: expected.cloned() }, args)
    }

    fn builtin<'e>(
        &mut self,
        value: Value,
        name: &str,
        args: impl IntoIterator<Item = &'e Expr>,
        expected: Option<&Ty>,
    ) -> Result<Value> {
        let mut given = Vec::new();
        for arg in args {
            let arg = self.eval(arg, expected)?;
            given.push(self.value(arg)?);
        }
        match (value, given.pop()) {
            (Value::Int(n, int), None) => self.of_number(n, int, name),
            (Value::Int(n, int), Some(arg)) => self.of_numbers(n, int, name, arg),
            (Value::Bool(b), Some(arg)) if name == "then_some" => {
                Ok(Value::Option(b, Some(Box::new(arg))))
            }
            (Value::Option(some, inner), last) => {
                self.of_option((some, inner.map(|inner| *inner)), name, given.pop(), last)
            }
            _ => Err(format!("{name} is not known")),
        }
    }

    fn of_number(&mut self, n: Term, int: Int, name: &str) -> Result<Value> {
        match name {
            "leading_zeros" => {
                let mut count = self.t.int(int.width.into(), 32);
                for bit in 0..int.width {
                    let (set, zeros) = (self.t.bit(n, bit), int.width - 1 - bit);
                    let zeros = self.t.int(zeros.into(), 32);
                    count = self.t.ite(set, zeros, count);
                }
                Ok(Value::Int(count, U32))
            }
            "wrapping_neg" => {
                let zero = self.t.int(0, int.width);
                Ok(Value::Int(self.t.binary("bvsub", zero, n), int))
            }
            "swap_bytes" => Ok(Value::Int(self.swap(n, int.width), int)),
            "is_power_of_two" => {
                let (zero, one) = (self.t.int(0, int.width), self.t.int(1, int.width));
                let below = self.t.binary("bvsub", n, one);
                let rest = self.t.binary("bvand", n, below);
                let (none, single) = (self.t.eq(n, zero), self.t.eq(rest, zero));
                let some = self.t.not(none);
                Ok(Value::Bool(self.t.and(some, single)))
            }
            _ => Err(format!("{name} is not known")),
        }
    }

    pub(super) fn swap(&mut self, n: Term, width: u32) -> Term {
        let mut out = self.t.int(0, width);
        for byte in 0..width / 8 {
            let (down, up) = (
                self.t.int((8 * byte).into(), width),
                self.t.int((width - 8 - 8 * byte).into(), width),
            );
            let mask = self.t.int(0xff, width);
            let one = self.t.binary("bvlshr", n, down);
            let one = self.t.binary("bvand", one, mask);
            let one = self.t.binary("bvshl", one, up);
            out = self.t.binary("bvor", one, out);
        }
        out
    }

    fn of_numbers(&mut self, n: Term, int: Int, name: &str, arg: Value) -> Result<Value> {
        let ty = if name == "checked_shr" { U32 } else { int };
        let arg = arg.typed(&Ty::Int(ty), &mut self.t).int()?;
        let term = match name {
            "min" | "max" => {
                let less = self.less(n, arg, int.signed, true);
                let (a, b) = if name == "min" { (n, arg) } else { (arg, n) };
                self.t.ite(less, a, b)
            }
            "wrapping_add" => self.t.binary("bvadd", n, arg),
            "wrapping_sub" => self.t.binary("bvsub", n, arg),
            "wrapping_mul" => self.t.binary("bvmul", n, arg),
            "checked_add" | "checked_sub" | "saturating_add" => {
                return self.with_overflow(n, int, name, arg);
            }
            "checked_shr" => {
                let width = self.t.int(int.width.into(), 32);
                let some = self.t.compare("bvult", arg, width);
                let shifted = self.shift(false, Value::Int(n, int), Value::Int(arg, U32))?;
                return Ok(Value::Option(some, Some(Box::new(shifted))));
            }
            _ => return Err(format!("{name} is not known")),
        };
        Ok(Value::Int(term, int))
    }

    /// Additions and subtractions that report overflow.
    fn with_overflow(&mut self, n: Term, int: Int, name: &str, arg: Term) -> Result<Value> {
        let op = if name == "checked_sub" { "bvsub" } else { "bvadd" };
        let out = self.t.binary(op, n, arg);
        let zero = self.t.int(0, int.width);
        let wraps = match (int.signed, op) {
            (false, "bvadd") => self.t.compare("bvult", out, n),
            (false, _) => self.t.compare("bvult", n, arg),
            (true, op) => {
                // Overflow: both operands have the same sign (for a difference, after inverting
                // one), and the result's is different.
                let other = if op == "bvsub" { self.t.invert(arg) } else { arg };
                let (a, b) = (self.t.binary("bvxor", n, out), self.t.binary("bvxor", other, out));
                let both = self.t.binary("bvand", a, b);
                self.t.compare("bvslt", both, zero)
            }
        };
        if name != "saturating_add" {
            let some = self.t.not(wraps);
            return Ok(Value::Option(some, Some(Box::new(Value::Int(out, int)))));
        }
        let (least, most) = match int.signed {
            true => (1u64 << (int.width - 1), ones(int.width - 1)),
            false => (0, ones(int.width)),
        };
        let (least, most) = (self.t.int(least, int.width), self.t.int(most, int.width));
        let end = match int.signed {
            true => {
                let negative = self.t.compare("bvslt", n, zero);
                self.t.ite(negative, least, most)
            }
            false => most,
        };
        Ok(Value::Int(self.t.ite(wraps, end, out), int))
    }

    pub(super) fn matches_macro(&mut self, mac: &syn::Macro) -> Result<Value> {
        if !mac.path.is_ident("matches") {
            return Err("a macro that is not known".to_owned());
        }
        let parse = |input: syn::parse::ParseStream<'_>| {
            let expr: Expr = input.parse()?;
            let _: syn::Token![,] = input.parse()?;
            Ok((expr, Pat::parse_multi_with_leading_vert(input)?))
        };
        let (expr, pat) = mac.parse_body_with(parse).map_err(|e| e.to_string())?;
        let value = self.eval(&expr, None)?;
        Ok(Value::Bool(self.matches(&pat, value)?.0))
    }

    /// The condition under which a value matches, and the bindings.
    pub(super) fn matches(&mut self, pat: &Pat, value: Value) -> Result<(Term, Vars)> {
        let mut vars = Vec::new();
        let c = self.matches_into(pat, value, &mut vars)?;
        Ok((c, vars))
    }

    fn matches_into(&mut self, pat: &Pat, value: Value, vars: &mut Vars) -> Result<Term> {
        let yes = self.t.bool(true);
        if let Pat::Ident(p) = pat
            && p.ident != "None"
        {
            let slot = self.alloc(value);
            vars.push((p.ident.to_string(), slot));
            return Ok(yes);
        }
        let value = self.value(value)?;
        match (pat, value) {
            (Pat::Wild(_), _) => Ok(yes),
            (Pat::Paren(p), value) => self.matches_into(&p.pat, value, vars),
            (Pat::Ident(_), Value::Option(some, _)) => Ok(self.t.not(some)),
            (Pat::Tuple(p), Value::Tuple(values)) => {
                let mut all = yes;
                for (pat, value) in p.elems.iter().zip(values) {
                    let one = self.matches_into(pat, value, vars)?;
                    all = self.t.and(all, one);
                }
                Ok(all)
            }
            (Pat::TupleStruct(p), Value::Option(some, inner)) if p.path.is_ident("Some") => {
                let Some(inner) = inner else { return Ok(self.t.bool(false)) };
                let c = self.matches_into(&p.elems[0], *inner, vars)?;
                Ok(self.t.and(some, c))
            }
            (Pat::Struct(p), value @ Value::Struct(..)) => {
                let mut all = yes;
                for field in &p.fields {
                    let inner = value.field(&super::expr::member(&field.member))?.clone();
                    let one = self.matches_into(&field.pat, inner, vars)?;
                    all = self.t.and(all, one);
                }
                Ok(all)
            }
            (Pat::Or(p), value) => {
                let mut any = self.t.bool(false);
                for case in &p.cases {
                    let one = self.matches_into(case, value.clone(), vars)?;
                    any = self.t.or(any, one);
                }
                Ok(any)
            }
            (Pat::Path(p), value) => {
                let wanted = self.path(&p.path, None)?;
                Value::equal(wanted, value, &mut self.t)
            }
            (Pat::Lit(p), value) => {
                let wanted = self.eval(&Expr::Lit(p.clone()), None)?;
                Value::equal(wanted, value, &mut self.t)
            }
            _ => Err("a pattern that is not known".to_owned()),
        }
    }
}
