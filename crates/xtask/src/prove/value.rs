//! Values of the interpreted source, with terms for numbers and booleans.

use super::term::{Term, Terms};

/// A type of integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Int {
    pub(super) width: u32,
    pub(super) signed: bool,
}

/// What is known about a type; enough to give literals a width and structs their constants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Ty {
    Int(Int),
    Struct(String, Vec<u32>),
    Tuple(Vec<Ty>),
    Option(Box<Ty>),
    Any,
}

/// A variable, and the path of fields into it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) slot: usize,
    pub(super) path: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Int(Term, Int),
    /// A literal whose type is not known yet.
    Literal(i128),
    Bool(Term),
    Struct(String, Vec<u32>, Vec<(String, Value)>),
    Variant(String, String),
    /// Whether it is `Some`, and its value.
    Option(Term, Option<Box<Value>>),
    Tuple(Vec<Value>),
    Ref(Place),
    Function(String),
    /// With the variables in its scope.
    Closure(Box<syn::ExprClosure>, Vec<(String, usize)>),
    /// The value of a diverging expression.
    Never,
}

pub(super) type Result<T> = std::result::Result<T, String>;

impl Int {
    pub(super) fn of(name: &str) -> Option<Int> {
        let (signed, width) = name.split_at_checked(1)?;
        let width = match width {
            "size" => 64,
            width => width.parse().ok().filter(|w| matches!(w, 8 | 16 | 32 | 64))?,
        };
        matches!(signed, "i" | "u").then_some(Int { width, signed: signed == "i" })
    }
}

impl Value {
    pub(super) fn unit() -> Value {
        Value::Tuple(Vec::new())
    }

    pub(super) fn ty(&self) -> Ty {
        match self {
            Value::Int(_, int) => Ty::Int(*int),
            Value::Struct(name, consts, _) => Ty::Struct(name.clone(), consts.clone()),
            Value::Tuple(values) => Ty::Tuple(values.iter().map(Value::ty).collect()),
            Value::Option(_, Some(value)) => Ty::Option(Box::new(value.ty())),
            _ => Ty::Any,
        }
    }

    /// Gives literals their width.
    pub(super) fn typed(self, ty: &Ty, t: &mut Terms) -> Value {
        match (self, ty) {
            (Value::Literal(n), Ty::Int(int)) => Value::Int(t.int(n as u64, int.width), *int),
            (Value::Tuple(values), Ty::Tuple(types)) if values.len() == types.len() => {
                let typed = values.into_iter().zip(types).map(|(v, ty)| v.typed(ty, t));
                Value::Tuple(typed.collect())
            }
            (Value::Option(some, Some(value)), Ty::Option(ty)) => {
                Value::Option(some, Some(Box::new(value.typed(ty, t))))
            }
            (value, _) => value,
        }
    }

    pub(super) fn field(&self, name: &str) -> Result<&Value> {
        let found = match self {
            Value::Struct(_, _, fields) => fields.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            Value::Tuple(values) => name.parse::<usize>().ok().and_then(|i| values.get(i)),
            _ => None,
        };
        found.ok_or_else(|| format!("no field {name}"))
    }

    pub(super) fn field_mut(&mut self, name: &str) -> Result<&mut Value> {
        let found = match self {
            Value::Struct(_, _, fields) => {
                fields.iter_mut().find(|(n, _)| n == name).map(|(_, v)| v)
            }
            Value::Tuple(values) => name.parse::<usize>().ok().and_then(|i| values.get_mut(i)),
            _ => None,
        };
        found.ok_or_else(|| format!("no field {name}"))
    }

    pub(super) fn bool(&self) -> Result<Term> {
        match self {
            Value::Bool(term) => Ok(*term),
            other => Err(format!("{other:?} is not a truth value")),
        }
    }

    pub(super) fn int(&self) -> Result<Term> {
        match self {
            Value::Int(term, _) => Ok(*term),
            other => Err(format!("{other:?} is not a number")),
        }
    }

    /// Makes the types equal: a literal takes the other's type.
    pub(super) fn alike(a: Value, b: Value, t: &mut Terms) -> (Value, Value) {
        let (ta, tb) = (a.ty(), b.ty());
        (a.typed(&tb, t), b.typed(&ta, t))
    }

    /// `if c { a } else { b }`.
    pub(super) fn merge(c: Term, a: Value, b: Value, t: &mut Terms) -> Result<Value> {
        let (a, b) = Value::alike(a, b, t);
        Ok(match (a, b) {
            (Value::Never, v) | (v, Value::Never) => v,
            (Value::Int(x, i), Value::Int(y, j)) if i == j => Value::Int(t.ite(c, x, y), i),
            (Value::Bool(x), Value::Bool(y)) => Value::Bool(t.ite(c, x, y)),
            (Value::Literal(x), Value::Literal(y)) if x == y => Value::Literal(x),
            (Value::Variant(n, x), Value::Variant(m, y)) if (&n, &x) == (&m, &y) => {
                Value::Variant(n, x)
            }
            (Value::Ref(x), Value::Ref(y)) if x == y => Value::Ref(x),
            (Value::Function(x), Value::Function(y)) if x == y => Value::Function(x),
            (Value::Closure(x, env), Value::Closure(_, _)) => Value::Closure(x, env),
            (Value::Option(x, p), Value::Option(y, q)) => {
                let value = match (p, q) {
                    (Some(p), Some(q)) => Some(Box::new(Value::merge(c, *p, *q, t)?)),
                    (p, q) => p.or(q),
                };
                Value::Option(t.ite(c, x, y), value)
            }
            (Value::Tuple(x), Value::Tuple(y)) if x.len() == y.len() => {
                let merged = x.into_iter().zip(y).map(|(x, y)| Value::merge(c, x, y, t));
                Value::Tuple(merged.collect::<Result<_>>()?)
            }
            (Value::Struct(name, consts, x), Value::Struct(m, d, y))
                if (&name, &consts) == (&m, &d) =>
            {
                let mut fields = Vec::new();
                for ((field, x), (_, y)) in x.into_iter().zip(y) {
                    fields.push((field, Value::merge(c, x, y, t)?));
                }
                Value::Struct(name, consts, fields)
            }
            (a, b) => return Err(format!("neither {a:?} nor {b:?}")),
        })
    }

    /// The first condition on which a field of a struct depends.
    pub(super) fn condition(&self, t: &Terms) -> Option<Term> {
        match self {
            Value::Int(term, _) | Value::Bool(term) => t.condition(*term),
            Value::Struct(_, _, fields) => fields.iter().find_map(|(_, field)| field.condition(t)),
            _ => None,
        }
    }

    /// The struct if the condition holds (1) or does not (2).
    pub(super) fn way(&self, c: Term, way: usize, t: &Terms) -> Value {
        match self {
            Value::Int(term, int) => Value::Int(t.way(c, *term, way), *int),
            Value::Bool(term) => Value::Bool(t.way(c, *term, way)),
            Value::Struct(name, consts, fields) => {
                let fields = fields.iter().map(|(name, it)| (name.clone(), it.way(c, way, t)));
                Value::Struct(name.clone(), consts.clone(), fields.collect())
            }
            other => other.clone(),
        }
    }

    pub(super) fn equal(a: Value, b: Value, t: &mut Terms) -> Result<Term> {
        let (a, b) = Value::alike(a, b, t);
        let pairs: Vec<(Value, Value)> = match (a, b) {
            (Value::Int(x, _), Value::Int(y, _)) => return Ok(t.eq(x, y)),
            (Value::Literal(x), Value::Literal(y)) => return Ok(t.bool(x == y)),
            (Value::Bool(x), Value::Bool(y)) => return Ok(t.eq(x, y)),
            (Value::Variant(_, x), Value::Variant(_, y)) => return Ok(t.bool(x == y)),
            (Value::Tuple(x), Value::Tuple(y)) => x.into_iter().zip(y).collect(),
            (Value::Struct(_, _, x), Value::Struct(_, _, y)) => {
                x.into_iter().zip(y).map(|((_, x), (_, y))| (x, y)).collect()
            }
            (a, b) => return Err(format!("{a:?} == {b:?}")),
        };
        let mut all = t.bool(true);
        for (x, y) in pairs {
            let one = Value::equal(x, y, t)?;
            all = t.and(all, one);
        }
        Ok(all)
    }
}
