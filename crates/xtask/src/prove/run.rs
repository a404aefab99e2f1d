//! The interpreter: memory, calls, and merging of branches.
//!
//! If a condition is not constant, both branches are executed on copies of memory, which are then
//! merged with `ite`. A branch that ends early (`return`, `break`) keeps its condition and memory
//! until the end of the function or loop.

use super::source::Source;
use super::term::{Term, Terms};
use super::value::{Int, Place, Result, Ty, Value};
use std::collections::{BTreeMap, BTreeSet};
use syn::{FnArg, GenericArgument, Type};

/// A branch that ended early: condition, value, and memory.
pub(super) type Ended = (Term, Value, Vec<Value>);

/// A call of a function.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) vars: Vec<(String, usize)>,
    pub(super) consts: BTreeMap<String, u32>,
    pub(super) owner: Option<String>,
    pub(super) returns: Vec<Ended>,
    pub(super) breaks: Vec<Vec<Ended>>,
    pub(super) result: Option<Ty>,
}

/// Replaces a function whose own goal is proved, so that it is not executed.
pub(super) type Contract = fn(&mut Run<'_>, &[Value]) -> Result<Value>;

pub(super) struct Run<'a> {
    pub(super) t: Terms,
    pub(super) source: &'a Source,
    pub(super) mem: Vec<Value>,
    /// Path condition, from the start of the function.
    pub(super) live: Term,
    pub(super) frames: Vec<Frame>,
    pub(super) contracts: BTreeMap<&'static str, Contract>,
    /// Concrete values to which contracts refer.
    pub(super) ghosts: Vec<Term>,
    /// Registers, their ghosts, and whether these are their only values.
    pub(super) exact: Vec<(Value, Term, Term)>,
    pub(super) assumed: Vec<Term>,
    pub(super) walked: BTreeSet<String>,
    /// Whether registers have wrapping ranges, which then are part of claims about scalars.
    pub(super) wraps: bool,
}

/// Constants of a call known so far, and its expected type.
#[derive(Default)]
pub(super) struct Known {
    pub(super) owner: Vec<u32>,
    pub(super) own: Vec<u32>,
    pub(super) expected: Option<Ty>,
}

impl<'a> Run<'a> {
    pub(super) fn new(source: &'a Source) -> Run<'a> {
        let mut t = Terms::default();
        let live = t.bool(true);
        Run {
            t,
            source,
            mem: Vec::new(),
            live,
            frames: vec![Frame::default()],
            contracts: BTreeMap::new(),
            ghosts: Vec::new(),
            exact: Vec::new(),
            assumed: Vec::new(),
            walked: BTreeSet::new(),
            wraps: false,
        }
    }

    pub(super) fn frame(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    pub(super) fn dead(&self) -> bool {
        self.t.known_bool(self.live) == Some(false)
    }

    pub(super) fn alloc(&mut self, value: Value) -> usize {
        self.mem.push(value);
        self.mem.len() - 1
    }

    /// A new variable outside of functions.
    pub(super) fn place(&mut self, value: Value) -> Value {
        let slot = self.alloc(value);
        Value::Ref(Place { slot, path: Vec::new() })
    }

    pub(super) fn read(&self, place: &Place) -> Result<Value> {
        let start = self.mem.get(place.slot).ok_or("a variable that is gone")?;
        place.path.iter().try_fold(start, |value, field| value.field(field)).cloned()
    }

    pub(super) fn write(&mut self, place: &Place, value: Value) -> Result<()> {
        let ty = self.read(place)?.ty();
        let value = value.typed(&ty, &mut self.t);
        let mut at = self.mem.get_mut(place.slot).ok_or("a variable that is gone")?;
        for field in &place.path {
            at = at.field_mut(field)?;
        }
        *at = value;
        Ok(())
    }

    /// The value that references lead to.
    pub(super) fn value(&self, mut value: Value) -> Result<Value> {
        while let Value::Ref(place) = value {
            value = self.read(&place)?;
        }
        Ok(value)
    }

    pub(super) fn bind(&mut self, name: String, value: Value) {
        let slot = self.alloc(value);
        self.frame().vars.push((name, slot));
    }

    fn merge_mem(&mut self, c: Term, a: Vec<Value>, b: Vec<Value>) -> Result<Vec<Value>> {
        a.into_iter().zip(b).map(|(a, b)| Value::merge(c, a, b, &mut self.t)).collect()
    }

    /// Executes both branches of a condition.
    pub(super) fn branch(
        &mut self,
        c: Term,
        yes: impl FnOnce(&mut Self) -> Result<Value>,
        no: impl FnOnce(&mut Self) -> Result<Value>,
    ) -> Result<Value> {
        let vars = self.frame().vars.clone();
        if let Some(known) = self.t.known_bool(c) {
            let value = if known { yes(self) } else { no(self) };
            self.frame().vars = vars;
            return value;
        }
        let (live, mem) = (self.live, self.mem.clone());
        let not = self.t.not(c);
        let (live_yes, live_no) = (self.t.and(live, c), self.t.and(live, not));
        self.live = live_yes;
        let a = yes(self)?;
        let (end_yes, mut mem_yes) = (self.live, std::mem::replace(&mut self.mem, mem.clone()));
        self.frame().vars.clone_from(&vars);
        self.live = live_no;
        let b = no(self)?;
        self.frame().vars = vars;
        if self.t.known_bool(end_yes) == Some(false) {
            self.mem.truncate(mem.len());
            return Ok(b);
        }
        mem_yes.truncate(mem.len());
        if self.dead() {
            (self.mem, self.live) = (mem_yes, end_yes);
            return Ok(a);
        }
        let mut mem_no = std::mem::take(&mut self.mem);
        mem_no.truncate(mem.len());
        self.mem = self.merge_mem(c, mem_yes, mem_no)?;
        let untouched = end_yes == live_yes && self.live == live_no;
        self.live = if untouched { live } else { self.t.or(end_yes, self.live) };
        Value::merge(c, a, b, &mut self.t)
    }

    /// Merges the branches that reach a place: the current one, and those that ended early.
    pub(super) fn join(&mut self, value: Value, base: usize, ended: Vec<Ended>) -> Result<Value> {
        self.mem.truncate(base);
        let mut out = (!self.dead()).then(|| (value, self.mem.clone()));
        for (c, value, mut mem) in ended.into_iter().rev() {
            mem.truncate(base);
            out = Some(match out {
                None => (value, mem),
                Some((v, m)) => {
                    (Value::merge(c, value, v, &mut self.t)?, self.merge_mem(c, mem, m)?)
                }
            });
        }
        let (value, mem) = out.ok_or("nothing comes back")?;
        self.mem = mem;
        Ok(value)
    }

    /// Calls a function of the source.
    pub(super) fn call(&mut self, key: &str, known: Known, args: Vec<Value>) -> Result<Value> {
        if let Some(contract) = self.contracts.get(key).copied() {
            return contract(self, &args);
        }
        let source = self.source;
        let function = source.functions.get(key).ok_or_else(|| format!("no function {key}"))?;
        self.walked.insert(key.to_owned());
        let owner = function.owner.clone();
        let mut frame = Frame { owner, ..Frame::default() };
        frame.consts.extend(function.consts.iter().cloned().zip(known.owner));
        let own = function.sig.generics.const_params().map(|p| p.ident.to_string());
        frame.consts.extend(own.zip(known.own));
        self.infer_all(function, &args, &known.expected, &mut frame)?;
        self.frames.push(frame);
        let (live, base) = (self.live, self.mem.len());
        self.live = self.t.bool(true);
        let result = match &function.sig.output {
            syn::ReturnType::Default => None,
            syn::ReturnType::Type(_, ty) => Some(self.ty(ty)),
        };
        self.frame().result.clone_from(&result);
        self.bind_args(function, args)?;
        let value = self.block(&function.block, result.as_ref())?;
        let value = result.iter().fold(value, |v, ty| v.typed(ty, &mut self.t));
        let ended = std::mem::take(&mut self.frame().returns);
        let value = self.join(value, base, ended)?;
        self.frames.pop();
        self.live = live;
        Ok(value)
    }

    fn bind_args(&mut self, function: &super::source::Function, args: Vec<Value>) -> Result<()> {
        for (param, arg) in function.sig.inputs.iter().zip(args) {
            match param {
                FnArg::Receiver(r) => {
                    let by_ref = r.reference.is_some();
                    let arg = if by_ref { arg } else { self.value(arg)? };
                    self.bind("self".to_owned(), arg);
                }
                FnArg::Typed(p) => {
                    let ty = self.ty(&p.ty);
                    let arg = arg.typed(&ty, &mut self.t);
                    let (_, vars) = self.matches(&p.pat, arg)?;
                    self.frame().vars.extend(vars);
                }
            }
        }
        Ok(())
    }

    /// Infers constants from arguments or the expected type.
    fn infer_all(
        &mut self,
        function: &super::source::Function,
        args: &[Value],
        expected: &Option<Ty>,
        frame: &mut Frame,
    ) -> Result<()> {
        let own = |name: &str| function.owner.as_deref() == Some(name) || name == "Self";
        let mut told = |ty: &Ty, declared: &Type| tell(declared, ty, &function.consts, &own, frame);
        for (param, arg) in function.sig.inputs.iter().zip(args) {
            let ty = self.value(arg.clone())?.ty();
            match param {
                FnArg::Typed(p) => told(&ty, &p.ty),
                FnArg::Receiver(_) => told(&ty, &syn::parse_quote!(Self)),
            }
        }
        if let (Some(expected), syn::ReturnType::Type(_, ty)) = (expected, &function.sig.output) {
            told(expected, ty);
        }
        Ok(())
    }

    /// The constants of a type's arguments.
    pub(super) fn consts_of(&mut self, args: &syn::PathArguments) -> Vec<u32> {
        let syn::PathArguments::AngleBracketed(args) = args else { return Vec::new() };
        let consts = &self.frame().consts;
        let value = |arg: &GenericArgument| match arg {
            GenericArgument::Type(Type::Path(p)) => consts.get(&p.path.get_ident()?.to_string()),
            _ => None,
        };
        args.args
            .iter()
            .filter_map(|arg| match arg {
                GenericArgument::Const(syn::Expr::Lit(lit)) => match &lit.lit {
                    syn::Lit::Int(n) => n.base10_parse().ok(),
                    _ => None,
                },
                arg => value(arg).copied(),
            })
            .collect()
    }

    pub(super) fn ty(&mut self, ty: &Type) -> Ty {
        match ty {
            Type::Reference(r) => self.ty(&r.elem),
            Type::Tuple(tuple) => Ty::Tuple(tuple.elems.iter().map(|ty| self.ty(ty)).collect()),
            Type::Path(path) => {
                let Some(last) = path.path.segments.last() else { return Ty::Any };
                let name = last.ident.to_string();
                if let Some(int) = Int::of(&name) {
                    return Ty::Int(int);
                }
                if let Some(alias) = self.source.aliases.get(&name) {
                    return self.ty(alias);
                }
                if name == "Option" {
                    let syn::PathArguments::AngleBracketed(args) = &last.arguments else {
                        return Ty::Any;
                    };
                    return match args.args.first() {
                        Some(GenericArgument::Type(ty)) => Ty::Option(Box::new(self.ty(ty))),
                        _ => Ty::Any,
                    };
                }
                let own =
                    if name == "Self" { self.frame().owner.clone() } else { Some(name.clone()) };
                let Some(owner) = own else { return Ty::Any };
                let Some(found) = self.source.structs.get(&owner) else { return Ty::Any };
                let consts = if name == "Self" {
                    let consts = &self.frame().consts;
                    found.consts.iter().filter_map(|n| consts.get(n).copied()).collect()
                } else {
                    self.consts_of(&last.arguments)
                };
                let complete = consts.len() == found.consts.len();
                if complete { Ty::Struct(owner, consts) } else { Ty::Any }
            }
            _ => Ty::Any,
        }
    }
}

/// Infers constants from a type and its declaration.
fn tell(
    declared: &Type,
    ty: &Ty,
    consts: &[String],
    own: &dyn Fn(&str) -> bool,
    frame: &mut Frame,
) {
    match (declared, ty) {
        (Type::Reference(r), ty) => tell(&r.elem, ty, consts, own, frame),
        (Type::Tuple(tuple), Ty::Tuple(types)) => {
            for (declared, ty) in tuple.elems.iter().zip(types) {
                tell(declared, ty, consts, own, frame);
            }
        }
        (Type::Path(path), Ty::Option(ty)) => {
            let Some(last) = path.path.segments.last() else { return };
            if let syn::PathArguments::AngleBracketed(args) = &last.arguments
                && let Some(GenericArgument::Type(declared)) = args.args.first()
            {
                tell(declared, ty, consts, own, frame);
            }
        }
        (Type::Path(path), Ty::Struct(name, values)) => {
            let Some(last) = path.path.segments.last() else { return };
            let declared = last.ident.to_string();
            let names: Vec<String> = if declared == "Self" && own(name) {
                consts.to_vec()
            } else if let (true, syn::PathArguments::AngleBracketed(args)) =
                (declared == *name, &last.arguments)
            {
                let name = |arg: &GenericArgument| match arg {
                    GenericArgument::Type(Type::Path(p)) => Some(p.path.get_ident()?.to_string()),
                    _ => None,
                };
                args.args.iter().map(|arg| name(arg).unwrap_or_default()).collect()
            } else {
                return;
            };
            for (name, value) in names.into_iter().zip(values) {
                frame.consts.entry(name).or_insert(*value);
            }
        }
        _ => {}
    }
}
