//! Methods of `Option`, `?` and `let ... else`.

use super::run::Run;
use super::term::Term;
use super::value::{Result, Value};
use syn::Expr;

/// Whether it is `Some`, and its value.
type Maybe = (Term, Option<Value>);

impl Run<'_> {
    pub(super) fn of_option(
        &mut self,
        (some, inner): Maybe,
        name: &str,
        default: Option<Value>,
        f: Option<Value>,
    ) -> Result<Value> {
        match (name, default, f) {
            ("is_some", None, None) => Ok(Value::Bool(some)),
            ("is_none", None, None) => Ok(Value::Bool(self.t.not(some))),
            ("unwrap_or", None, Some(other)) => match inner {
                Some(inner) => Value::merge(some, inner, other, &mut self.t),
                None => Ok(other),
            },
            ("map_or", Some(default), Some(f)) => match inner {
                Some(inner) => {
                    let mapped = self.apply(f, vec![inner])?;
                    Value::merge(some, mapped, default, &mut self.t)
                }
                None => Ok(default),
            },
            (_, None, Some(f)) => {
                let Some(inner) = inner else { return self.of_nothing(name) };
                let out = self.apply(f, vec![inner.clone()])?;
                self.of_something(some, inner, name, out)
            }
            _ => Err(format!("{name} is not known")),
        }
    }

    fn of_nothing(&mut self, name: &str) -> Result<Value> {
        match name {
            "map" | "filter" | "and_then" => Ok(Value::Option(self.t.bool(false), None)),
            "is_none_or" => Ok(Value::Bool(self.t.bool(true))),
            "is_some_and" => Ok(Value::Bool(self.t.bool(false))),
            _ => Err(format!("{name} is not known")),
        }
    }

    /// `out` is the result of a closure applied to the value.
    fn of_something(&mut self, some: Term, inner: Value, name: &str, out: Value) -> Result<Value> {
        let out = self.value(out)?;
        match (name, out) {
            ("map", out) => Ok(Value::Option(some, Some(Box::new(out)))),
            ("filter", out) => {
                let some = self.t.and(some, out.bool()?);
                Ok(Value::Option(some, Some(Box::new(inner))))
            }
            ("and_then", Value::Option(other, out)) => {
                Ok(Value::Option(self.t.and(some, other), out))
            }
            ("is_none_or", out) => Ok(Value::Bool(self.t.implies(some, out.bool()?))),
            ("is_some_and", out) => Ok(Value::Bool(self.t.and(some, out.bool()?))),
            _ => Err(format!("{name} is not known")),
        }
    }

    /// `value?` in a function that returns an option.
    pub(super) fn value_or_return(&mut self, expr: &Expr) -> Result<Value> {
        let value = self.eval(expr, None)?;
        let Value::Option(some, inner) = self.value(value)? else {
            return Err("? of what is no option".to_owned());
        };
        self.branch(
            some,
            |_| Ok(inner.map_or(Value::Never, |inner| *inner)),
            |run| {
                let nothing = Value::Option(run.t.bool(false), None);
                run.return_from_function(nothing);
                Ok(Value::Never)
            },
        )
    }

    /// The bindings of `let pattern = value else { ... }`, whose block diverges.
    pub(super) fn bind_or_leave(
        &mut self,
        pat: &syn::Pat,
        value: Value,
        leave: &Expr,
    ) -> Result<()> {
        let (matched, vars) = self.matches(pat, value)?;
        self.branch(matched, |_| Ok(Value::unit()), |run| run.eval(leave, None))?;
        self.frame().vars.extend(vars);
        Ok(())
    }

    pub(super) fn return_from_function(&mut self, value: Value) {
        let ended = (self.live, value, self.mem.clone());
        self.frame().returns.push(ended);
        self.live = self.t.bool(false);
    }
}
