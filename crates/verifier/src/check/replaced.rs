//! A program that replaces a function of another program (`freplace`).
//!
//! It is verified with that program's type and attach type, with any arguments that match its
//! prototype, and may return what such a program may.
//!
//! Kernel: `bpf_check_attach_target`, `btf_check_type_match` (6.18).

use crate::env::{Env, SubprogInfo};
use crate::log::reject;
use crate::passes::call_facts::is_kfunc_call;
use crate::rejection::{Check, FuncFault, Stop, unsupported};
use skep_btf::{FuncLinkage, Kind, Type, TypeId};
use skep_program::{AttachTarget, Program, TargetFunction};
use skep_uapi::helper::HookKey;
use skep_uapi::kfunc::Kfunc;
use skep_uapi::{AttachType, ProgType};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

/// The program as one of its target's type, if it replaces a function.
pub(crate) fn as_replaced(program: &Program) -> Cow<'_, Program> {
    match &program.attach {
        AttachTarget::Function(target)
            if program.prog_type == ProgType::Ext && program.expected_attach_type == 0 =>
        {
            Cow::Owned(Program {
                prog_type: target.program.prog_type,
                expected_attach_type: target.program.expected_attach_type,
                ..program.clone()
            })
        }
        _ => Cow::Borrowed(program),
    }
}

/// The type that the program is loaded as, by which some rules go that come before its target.
pub(crate) fn loaded_type(program: &Program) -> ProgType {
    match program.attach {
        AttachTarget::Function(_) => ProgType::Ext,
        _ => program.prog_type,
    }
}

/// Types of targets that are not modelled.
pub(crate) fn check_may_be_replaced(env: &Env<'_>) -> Check {
    let not_modelled = match env.prog.prog_type {
        ProgType::Unspec | ProgType::Lsm | ProgType::StructOps | ProgType::Ext => true,
        ProgType::Tracing => !matches!(
            env.prog.attach_type(),
            Some(AttachType::TraceFentry | AttachType::TraceFexit)
        ),
        _ => false,
    };
    if env.is_replacement() && not_modelled {
        let prog_type = env.prog.prog_type;
        return unsupported(format!("replacing functions of {prog_type} programs"));
    }
    Ok(())
}

impl Env<'_> {
    /// The program replaces a function of another.
    pub(crate) fn is_replacement(&self) -> bool {
        matches!(self.prog.attach, AttachTarget::Function(_))
    }
}

/// Refuses a function that the program cannot replace.
pub(crate) fn check_replaced(env: &mut Env<'_>, target: &Arc<TargetFunction>) -> Check {
    let Some(btf) = target.program.btf.clone() else {
        return unsupported("replacing functions of programs without BTF");
    };
    let id = TypeId(target.btf_id);
    let Some(func) = btf.get(id).filter(|ty| ty.kind() == Kind::Func) else {
        return unsupported(format!("replacing type {id}, which is no function"));
    };
    let rows = &target.program.func_info;
    let Some(subprogno) = rows.iter().position(|row| row.type_id == id.0) else {
        reject!(env, EINVAL, FuncFault::NoSuchSubprog { name: func.name().into() });
    };
    let replaced = replaced_subprog(env, target, subprogno)?;
    if replaced.is_exception_cb {
        return unsupported("replacing an exception callback");
    }
    if replaced.unreliable {
        reject!(env, EINVAL, FuncFault::ReplacesStatic);
    }
    if env.subprogs[0].changes_pkt_data && !replaced.changes_pkt_data {
        reject!(env, EINVAL, FuncFault::ReplacementChangesPacket);
    }
    if env.subprogs[0].might_sleep && !replaced.might_sleep {
        return unsupported("replacing a function that does not sleep by one that does");
    }
    if let Some(name) = kfunc_of_the_type(env) {
        return unsupported(format!("kfunc {name} in a program that replaces a function"));
    }
    if env.prog.prog_type == ProgType::Tracing {
        reject!(env, EINVAL, FuncFault::ReplacesTracing);
    }
    let own = env.prog.func_info.first().zip(env.prog.btf.clone());
    let Some((row, own)) = own.map(|(row, btf)| (row.type_id, btf)) else {
        return unsupported("replacing a function by a program without BTF");
    };
    for func in [own.ty(TypeId(row)), func] {
        if func.func_linkage() != FuncLinkage::Global as u16 {
            reject!(env, EINVAL, FuncFault::NotGlobal { name: func.name().into() });
        }
    }
    check_prototype(env, own.ty(TypeId(row)), func)
}

/// A kfunc that only the target's type has: the passes before did not know of it.
fn kfunc_of_the_type(env: &Env<'_>) -> Option<String> {
    let hook = HookKey { prog_type: ProgType::Ext, attach_type: 0, target: "" };
    let calls = env.insns.iter().filter(|insn| is_kfunc_call(insn));
    let mut called = calls.filter_map(|insn| env.callable.kfuncs.get(insn));
    let narrow = |row: &Kfunc| !row.allowed(&hook, env.rules());
    called.find(|it| it.allowed && it.row.is_some_and(narrow)).map(|it| it.name.to_owned())
}

/// What the target's own passes say of the function.
fn replaced_subprog(
    env: &Env<'_>,
    target: &TargetFunction,
    subprogno: usize,
) -> Check<SubprogInfo> {
    let decided = OnceCell::new();
    let mut of = Env::new(&target.program, env.config, &decided);
    let found = of.check_program_shape().and_then(|()| {
        // Whether callers keep to the prototype of a static function, only the walk shows.
        if of.subprogs.get(subprogno).is_some_and(|it| subprogno == 0 || !it.is_global) {
            of.do_check_main()?;
        }
        Ok(of.subprogs.get(subprogno).cloned())
    });
    match found {
        Ok(Some(subprog)) => Ok(subprog),
        Ok(None) | Err(Stop::Reject(_)) => {
            unsupported("replacing functions of a program that is refused")
        }
        Err(stop) => Err(stop),
    }
}

/// Compares the prototypes.
fn check_prototype(env: &mut Env<'_>, own: Type<'_>, theirs: Type<'_>) -> Check {
    let (f, t) = (own.name(), theirs.name());
    let (own, theirs) = (own.target(), theirs.target());
    let (count, wanted) = (own.params().len(), theirs.params().len());
    if count != wanted {
        reject!(
            env,
            EINVAL,
            FuncFault::ReplacedArgCount { f: f.into(), count, t: t.into(), wanted }
        );
    }
    let (a, b) = (result(own), result(theirs));
    if form(a) != form(b) {
        let (a, b) = (a.kind().name(), b.kind().name());
        reject!(
            env,
            EINVAL,
            FuncFault::ReplacedResult { a: a.into(), f: f.into(), b: b.into(), t: t.into() }
        );
    }
    for (i, (a, b)) in own.params().zip(theirs.params()).enumerate() {
        let a = own.btf().skip_modifiers(a.ty);
        let b = theirs.btf().skip_modifiers(b.ty);
        check_arg(env, i, ((a, f), (b, t)))?;
    }
    Ok(())
}

/// Compares an argument, without modifiers, each with its function's name.
fn check_arg(env: &mut Env<'_>, i: usize, ((a, f), (b, t)): Pair<'_>) -> Check {
    let (kind, wanted) = (a.kind(), b.kind());
    if form(a) != form(b) {
        let (kind, wanted) = (kind.name(), wanted.name());
        reject!(
            env,
            EINVAL,
            FuncFault::ReplacedArgKind {
                i,
                f: f.into(),
                kind: kind.into(),
                t: t.into(),
                wanted: wanted.into()
            }
        );
    }
    if kind == Kind::Int || kind.is_any_enum() {
        let (size, wanted) = (a.stated_size().unwrap_or(0), b.stated_size().unwrap_or(0));
        if size != wanted {
            reject!(
                env,
                EINVAL,
                FuncFault::ReplacedArgSize { i, f: f.into(), size, t: t.into(), wanted }
            );
        }
        return Ok(());
    }
    if kind != Kind::Ptr {
        return unsupported(format!("replacing functions with arguments of kind {}", kind.name()));
    }
    let (a, b) = (pointee(a), pointee(b));
    for (ty, name) in [(a, f), (b, t)] {
        if !ty.kind().is_composite() {
            reject!(env, EINVAL, FuncFault::ReplacedArgNotCtx { i, name: name.into() });
        }
    }
    let (own, theirs) = (a.name(), b.name());
    if own != theirs {
        reject!(
            env,
            EINVAL,
            FuncFault::ReplacedArgStruct {
                i,
                f: f.into(),
                own: own.into(),
                t: t.into(),
                theirs: theirs.into()
            }
        );
    }
    Ok(())
}

fn result(proto: Type<'_>) -> Type<'_> {
    proto.btf().skip_modifiers(proto.target_id())
}

/// What must be equal of two types, whatever their names: an enum has as many values.
fn form(ty: Type<'_>) -> (Kind, u16, bool) {
    (ty.kind(), ty.vlen(), ty.kflag())
}

fn pointee(ptr: Type<'_>) -> Type<'_> {
    ptr.btf().skip_modifiers(ptr.target_id())
}

/// Two types, each with the name of its function.
type Pair<'a> = ((Type<'a>, &'a str), (Type<'a>, &'a str));
