//! Expressions of the source, as far as it uses them; all others are errors.

use super::run::{Frame, Known, Run};
use super::term::Term;
use super::value::{Int, Place, Result, Ty, Value};
use syn::{Block, Expr, Stmt};

const U32: Int = Int { width: 32, signed: false };

impl Run<'_> {
    pub(super) fn block(&mut self, block: &Block, expected: Option<&Ty>) -> Result<Value> {
        let scope = self.frame().vars.len();
        let mut value = Value::unit();
        for (i, stmt) in block.stmts.iter().enumerate() {
            value = match stmt {
                Stmt::Local(local) => {
                    let (pat, ty) = match &local.pat {
                        syn::Pat::Type(p) => (&*p.pat, Some(self.ty(&p.ty))),
                        pat => (pat, None),
                    };
                    let init = local.init.as_ref().ok_or("a variable without a value")?;
                    let value = self.eval(&init.expr, ty.as_ref())?;
                    let leave = init.diverge.as_ref();
                    if let (Some((_, leave)), false) = (leave, matches!(value, Value::Never)) {
                        self.bind_or_leave(pat, value, leave)?;
                    } else if !matches!(value, Value::Never) {
                        let (_, vars) = self.matches(pat, value)?;
                        self.frame().vars.extend(vars);
                    }
                    Value::unit()
                }
                Stmt::Expr(expr, semi) => {
                    let last = i + 1 == block.stmts.len();
                    let value = self.eval(expr, expected.filter(|_| last && semi.is_none()))?;
                    if semi.is_some() { Value::unit() } else { value }
                }
                // Nested functions are read together with the others.
                Stmt::Item(syn::Item::Fn(_)) => Value::unit(),
                _ => return Err("a statement that is not known".to_owned()),
            };
            if self.dead() {
                value = Value::Never;
                break;
            }
        }
        self.frame().vars.truncate(scope);
        Ok(value)
    }

    pub(super) fn eval(&mut self, expr: &Expr, expected: Option<&Ty>) -> Result<Value> {
        match expr {
            Expr::Paren(e) => self.eval(&e.expr, expected),
            Expr::Group(e) => self.eval(&e.expr, expected),
            Expr::Block(e) => self.block(&e.block, expected),
            Expr::Lit(e) => self.literal(&e.lit),
            Expr::Path(e) => self.path(&e.path, expected),
            Expr::Reference(e) => match self.place_of(&e.expr)? {
                Some(place) => Ok(Value::Ref(place)),
                None => {
                    let value = self.eval(&e.expr, expected)?;
                    Ok(self.place(value))
                }
            },
            Expr::Field(_) => match self.place_of(expr)? {
                Some(place) => self.read(&place),
                None => self.field_of_value(expr),
            },
            Expr::Tuple(e) => {
                let types = match expected {
                    Some(Ty::Tuple(types)) => types.clone(),
                    _ => Vec::new(),
                };
                let elems = e.elems.iter().enumerate();
                let values = elems.map(|(i, e)| self.eval(e, types.get(i)));
                Ok(Value::Tuple(values.collect::<Result<_>>()?))
            }
            Expr::Array(e) => {
                let values = e.elems.iter().map(|e| self.eval(e, None));
                Ok(Value::Tuple(values.collect::<Result<_>>()?))
            }
            Expr::Struct(e) => self.structure(e, expected),
            Expr::Unary(e) => self.unary(e, expected),
            Expr::Binary(e) => self.binary(e, expected),
            Expr::Cast(e) => self.cast(e),
            Expr::If(e) => self.conditional(e, expected),
            Expr::Match(e) => self.choose(e, expected),
            Expr::ForLoop(e) => self.repeat(e),
            Expr::Call(e) => self.call_expr(e, expected),
            Expr::MethodCall(e) => self.method(e, expected),
            Expr::Closure(e) => Ok(Value::Closure(Box::new(e.clone()), self.frame().vars.clone())),
            Expr::Return(e) => {
                let result = self.frame().result.clone();
                let value = match &e.expr {
                    Some(e) => self.eval(e, result.as_ref())?,
                    None => Value::unit(),
                };
                let value = result.iter().fold(value, |v, ty| v.typed(ty, &mut self.t));
                self.return_from_function(value);
                Ok(Value::Never)
            }
            Expr::Try(e) => self.value_or_return(&e.expr),
            Expr::Break(_) => {
                let ended = (self.live, Value::unit(), self.mem.clone());
                self.frame().breaks.last_mut().ok_or("a break outside of loops")?.push(ended);
                self.live = self.t.bool(false);
                Ok(Value::Never)
            }
            Expr::Assign(e) => self.assign(e),
            Expr::Macro(e) => self.matches_macro(&e.mac),
            Expr::While(_) => Err("a loop without a bound".to_owned()),
            _ => Err("an expression that is not known".to_owned()),
        }
    }

    fn literal(&mut self, lit: &syn::Lit) -> Result<Value> {
        match lit {
            // Nothing is claimed about strings.
            syn::Lit::Str(_) => Ok(Value::unit()),
            syn::Lit::Bool(b) => Ok(Value::Bool(self.t.bool(b.value))),
            syn::Lit::Int(n) => {
                let value: i128 = n.base10_parse().map_err(|e| e.to_string())?;
                Ok(match Int::of(n.suffix()) {
                    Some(int) => Value::Int(self.t.int(value as u64, int.width), int),
                    None => Value::Literal(value),
                })
            }
            _ => Err("a literal that is not known".to_owned()),
        }
    }

    /// The place of a value, if the expression is a place expression.
    pub(super) fn place_of(&mut self, expr: &Expr) -> Result<Option<Place>> {
        match expr {
            Expr::Paren(e) => self.place_of(&e.expr),
            Expr::Path(e) => {
                let Some(name) = e.path.get_ident().map(ToString::to_string) else {
                    return Ok(None);
                };
                let found = self.frame().vars.iter().rev().find(|(n, _)| *n == name);
                Ok(found.map(|(_, slot)| Place { slot: *slot, path: Vec::new() }))
            }
            Expr::Field(e) => {
                let Some(base) = self.place_of(&e.base)? else { return Ok(None) };
                let mut place = self.behind(base)?;
                place.path.push(member(&e.member));
                Ok(Some(place))
            }
            Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => {
                match self.place_of(expr)? {
                    Some(place) => Ok(Some(self.behind(place)?)),
                    None => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// Follows references stored in a place.
    pub(super) fn behind(&self, mut place: Place) -> Result<Place> {
        while let Value::Ref(next) = self.read(&place)? {
            place = next;
        }
        Ok(place)
    }

    fn field_of_value(&mut self, expr: &Expr) -> Result<Value> {
        let Expr::Field(e) = expr else { return Err("not a field".to_owned()) };
        let base = self.eval(&e.base, None)?;
        self.value(base)?.field(&member(&e.member)).cloned()
    }

    fn structure(&mut self, e: &syn::ExprStruct, expected: Option<&Ty>) -> Result<Value> {
        let path = Expr::Path(syn::ExprPath { attrs: vec![], qself: None, path: e.path.clone() });
        let Expr::Path(path) = &path else { return Err("no path".to_owned()) };
        let ty = syn::Type::Path(syn::TypePath { qself: None, path: path.path.clone() });
        let mut ty = self.ty(&ty);
        let name = self.owner_name(&path.path.segments[0].ident.to_string())?;
        if let (Ty::Any, Some(Ty::Struct(n, _))) = (&ty, expected)
            && *n == name
        {
            ty = expected.cloned().unwrap_or(Ty::Any);
        }
        let mut fields: Vec<(String, Value)> = match &e.rest {
            Some(rest) => {
                let rest = self.eval(rest, Some(&ty))?;
                match self.value(rest)? {
                    Value::Struct(_, _, fields) => fields,
                    _ => return Err("the rest is no struct".to_owned()),
                }
            }
            None => Vec::new(),
        };
        let mut given = Vec::new();
        for field in &e.fields {
            let value = self.eval(&field.expr, None)?;
            given.push((member(&field.member), self.value(value)?));
        }
        let source = self.source;
        let declared = source.structs.get(&name).ok_or_else(|| format!("no struct {name}"))?;
        let consts = match ty {
            Ty::Struct(_, consts) => consts,
            _ => self.consts_of_fields(declared, &given)?,
        };
        let saved = self.frame().consts.clone();
        self.frame().consts.extend(declared.consts.iter().cloned().zip(consts.clone()));
        let mut out = Vec::new();
        for (field, ty) in &declared.fields {
            let ty = self.ty(ty);
            let at = |list: &mut Vec<(String, Value)>| {
                list.iter().position(|(n, _)| n == field).map(|i| list.swap_remove(i).1)
            };
            let value = at(&mut given).or_else(|| at(&mut fields)).ok_or("a field is missing")?;
            out.push((field.clone(), value.typed(&ty, &mut self.t)));
        }
        self.frame().consts = saved;
        Ok(Value::Struct(name, consts, out))
    }

    /// `W` of a struct that has `Bounds<W>` as a field.
    fn consts_of_fields(
        &mut self,
        declared: &super::source::Struct,
        given: &[(String, Value)],
    ) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        for name in &declared.consts {
            let value = declared.fields.iter().find_map(|(field, ty)| {
                let syn::Type::Path(path) = ty else { return None };
                let last = path.path.segments.last()?;
                let syn::PathArguments::AngleBracketed(args) = &last.arguments else {
                    return None;
                };
                let at = args.args.iter().position(
                    |a| matches!(a, syn::GenericArgument::Type(syn::Type::Path(p)) if p.path.is_ident(name)),
                )?;
                match given.iter().find(|(n, _)| n == field)?.1.ty() {
                    Ty::Struct(_, consts) => consts.get(at).copied(),
                    _ => None,
                }
            });
            found.push(value.ok_or_else(|| format!("no {name}"))?);
        }
        Ok(found)
    }

    fn conditional(&mut self, e: &syn::ExprIf, expected: Option<&Ty>) -> Result<Value> {
        let (c, vars) = self.condition(&e.cond)?;
        self.branch(
            c,
            |run| {
                run.frame().vars.extend(vars);
                run.block(&e.then_branch, expected)
            },
            |run| match &e.else_branch {
                Some((_, other)) => run.eval(other, expected),
                None => Ok(Value::unit()),
            },
        )
    }

    /// A condition, and the bindings of `let` in it.
    fn condition(&mut self, cond: &Expr) -> Result<(Term, Vec<(String, usize)>)> {
        match cond {
            Expr::Let(e) => {
                let value = self.eval(&e.expr, None)?;
                self.matches(&e.pat, value)
            }
            cond => {
                let value = self.eval(cond, None)?;
                Ok((self.value(value)?.bool()?, Vec::new()))
            }
        }
    }

    fn choose(&mut self, e: &syn::ExprMatch, expected: Option<&Ty>) -> Result<Value> {
        let value = self.eval(&e.expr, None)?;
        let value = self.value(value)?;
        self.arms(&value, &e.arms, expected)
    }

    fn arms(&mut self, value: &Value, arms: &[syn::Arm], expected: Option<&Ty>) -> Result<Value> {
        let Some((arm, rest)) = arms.split_first() else { return Ok(Value::Never) };
        let (mut c, vars) = self.matches(&arm.pat, value.clone())?;
        if self.t.known_bool(c) == Some(false) {
            return self.arms(value, rest, expected);
        }
        if let Some((_, guard)) = &arm.guard {
            let scope = self.frame().vars.len();
            self.frame().vars.extend(vars.clone());
            let (holds, _) = self.condition(guard)?;
            self.frame().vars.truncate(scope);
            c = self.t.and(c, holds);
        } else if rest.is_empty() {
            c = self.t.bool(true);
        }
        self.branch(
            c,
            |run| {
                let scope = run.frame().vars.len();
                run.frame().vars.extend(vars);
                let value = run.eval(&arm.body, expected);
                run.frame().vars.truncate(scope);
                value
            },
            |run| run.arms(value, rest, expected),
        )
    }

    fn repeat(&mut self, e: &syn::ExprForLoop) -> Result<Value> {
        let items = match &*e.expr {
            Expr::Range(range) => {
                let end = range.end.as_ref().ok_or("a loop without a bound")?;
                let end = self.eval(end, Some(&Ty::Int(U32)))?.typed(&Ty::Int(U32), &mut self.t);
                let end = self.t.known_int(end.int()?).ok_or("a loop without a bound")?;
                (0..end).map(|i| Value::Literal(i.into())).collect()
            }
            list => match self.eval(list, None)? {
                Value::Tuple(items) => items,
                _ => return Err("a loop over what is not known".to_owned()),
            },
        };
        let (live, base) = (self.live, self.mem.len());
        let returned = self.frame().returns.len();
        self.frame().breaks.push(Vec::new());
        for item in items {
            let scope = self.frame().vars.len();
            let (_, vars) = self.matches(&e.pat, item)?;
            self.frame().vars.extend(vars);
            self.block(&e.body, None)?;
            self.frame().vars.truncate(scope);
            if self.dead() {
                break;
            }
        }
        let ended = self.frame().breaks.pop().unwrap_or_default();
        if self.frame().returns.len() != returned {
            return Err("a return from a loop".to_owned());
        }
        let value = self.join(Value::unit(), base, ended)?;
        self.live = live;
        Ok(value)
    }

    fn assign(&mut self, e: &syn::ExprAssign) -> Result<Value> {
        let targets: Vec<&Expr> = match &*e.left {
            Expr::Tuple(tuple) => tuple.elems.iter().collect(),
            single => vec![single],
        };
        let mut places = Vec::new();
        for target in &targets {
            let place = self.place_of(target)?.ok_or("not a place")?;
            places.push(place);
        }
        let types = places.iter().map(|p| Ok(self.read(p)?.ty())).collect::<Result<Vec<_>>>()?;
        let value = match (&*e.left, types.as_slice()) {
            (Expr::Tuple(_), types) => self.eval(&e.right, Some(&Ty::Tuple(types.to_vec())))?,
            (_, types) => self.eval(&e.right, types.first())?,
        };
        let values = match (&*e.left, value) {
            (Expr::Tuple(_), Value::Tuple(values)) => values,
            (_, value) => vec![value],
        };
        for (place, value) in places.iter().zip(values) {
            let value = self.value(value)?;
            self.write(place, value)?;
        }
        Ok(Value::unit())
    }

    pub(super) fn owner_name(&mut self, name: &str) -> Result<String> {
        let source = self.source;
        match (name, source.aliases.get(name)) {
            ("Self", _) => self.frame().owner.clone().ok_or_else(|| "no Self".to_owned()),
            (_, Some(alias)) => match self.ty(alias) {
                Ty::Struct(name, _) => Ok(name),
                _ => Err(format!("{name} is no struct")),
            },
            _ => Ok(name.to_owned()),
        }
    }

    fn call_expr(&mut self, e: &syn::ExprCall, expected: Option<&Ty>) -> Result<Value> {
        let Expr::Path(path) = &*e.func else { return Err("a call of a value".to_owned()) };
        let names = path.path.segments.iter().map(|s| s.ident.to_string());
        let names: Vec<String> = names.skip_while(|name| name == "crate").collect();
        let local = self.place_of(&e.func)?;
        let key = match (names.as_slice(), local) {
            ([_], Some(place)) => {
                let args = self.args(&e.args, &[])?;
                let callee = self.read(&place)?;
                return self.apply(callee, args);
            }
            ([some], _) if some == "Some" => {
                let expected = match expected {
                    Some(Ty::Option(ty)) => Some(&**ty),
                    _ => None,
                };
                let value = self.eval(&e.args[0], expected)?;
                let value = expected.iter().fold(value, |v, ty| v.typed(ty, &mut self.t));
                return Ok(Value::Option(self.t.bool(true), Some(Box::new(value))));
            }
            ([int, from], _) if from == "from" && Int::of(int).is_some() => {
                let value = self.eval(&e.args[0], None)?;
                return self.number_as(value, Int::of(int).unwrap_or(U32));
            }
            ([name], _) => name.clone(),
            ([owner, name], _) => format!("{}::{name}", self.owner_name(owner)?),
            _ => return Err("a path that is not known".to_owned()),
        };
        let segments = &path.path.segments;
        let own = self.consts_of(&segments[segments.len() - 1].arguments);
        let owner = match names.as_slice() {
            [owner, _] => {
                let ty = syn::Ident::new(owner, proc_macro2::Span::call_site());
                let arguments = segments[0].arguments.clone();
                let mut path: syn::Path = ty.into();
                path.segments[0].arguments = arguments;
                match self.ty(&syn::Type::Path(syn::TypePath { qself: None, path })) {
                    Ty::Struct(_, consts) => consts,
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        };
        let declared = self.declared(&key, &owner);
        let args = self.args(&e.args, &declared)?;
        self.call(&key, Known { owner, own, expected: expected.cloned() }, args)
    }

    /// Arguments, with the types that the function declares.
    pub(super) fn args<'e>(
        &mut self,
        args: impl IntoIterator<Item = &'e Expr>,
        declared: &[Ty],
    ) -> Result<Vec<Value>> {
        let args = args.into_iter().enumerate();
        args.map(|(i, arg)| self.eval(arg, declared.get(i))).collect()
    }

    /// The parameter types of a function except `self`, as far as they follow from the owner's
    /// constants.
    pub(super) fn declared(&mut self, key: &str, owner: &[u32]) -> Vec<Ty> {
        let source = self.source;
        let Some(function) = source.functions.get(key) else { return Vec::new() };
        let consts = function.consts.iter().cloned().zip(owner.iter().copied()).collect();
        let owner = function.owner.clone();
        self.frames.push(Frame { owner, consts, ..Frame::default() });
        let params = function.sig.inputs.iter().filter_map(|param| match param {
            syn::FnArg::Typed(p) => Some(&p.ty),
            syn::FnArg::Receiver(_) => None,
        });
        let types = params.map(|ty| self.ty(ty)).collect();
        self.frames.pop();
        types
    }

    /// Calls a closure, or a function that is a value.
    pub(super) fn apply(&mut self, callee: Value, args: Vec<Value>) -> Result<Value> {
        match self.value(callee)? {
            Value::Function(key) => self.call(&key, Known::default(), args),
            Value::Closure(closure, env) => {
                let vars = std::mem::replace(&mut self.frame().vars, env);
                for (pat, arg) in closure.inputs.iter().zip(args) {
                    let pat = match pat {
                        syn::Pat::Type(p) => &*p.pat,
                        pat => pat,
                    };
                    let (_, bound) = self.matches(pat, arg)?;
                    self.frame().vars.extend(bound);
                }
                let value = self.eval(&closure.body, None)?;
                self.frame().vars = vars;
                Ok(value)
            }
            _ => Err("a call of what is no function".to_owned()),
        }
    }
}

pub(super) fn member(member: &syn::Member) -> String {
    match member {
        syn::Member::Named(name) => name.to_string(),
        syn::Member::Unnamed(index) => index.index.to_string(),
    }
}
