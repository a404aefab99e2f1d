//! A program that replaces a function of another program (`freplace`).
//!
//! It is verified with that program's type and attach type, for any arguments that match its
//! prototype, and may return the values allowed there.
//!
//! Kernel: `bpf_check_attach_target`, `btf_check_type_match` (6.18).

use crate::env::{Env, Facts, Setup, Subprog, Trace};
use crate::passes::call_facts::is_kfunc_call;
use crate::rejection::{Check, FuncFault, reject, unsupported};
use skep_btf::{FuncLinkage, Kind, Type, TypeId};
use skep_program::{AttachTarget, Program, TargetFunction};
use skep_uapi::helper::HookKey;
use skep_uapi::kfunc::Kfunc;
use skep_uapi::{AttachType, ProgType};
use std::borrow::Cow;
use std::sync::Arc;

/// The program with the type of its target, if it replaces a function.
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

/// The type passed to the load, which determines the rules checked before the target is known.
pub(crate) fn loaded_type(program: &Program) -> ProgType {
    match program.attach {
        AttachTarget::Function(_) => ProgType::Ext,
        _ => program.prog_type,
    }
}

/// Refuses types of targets that are not modelled.
pub(crate) fn check_may_be_replaced(facts: &Facts<'_>) -> Check {
    let not_modelled = match facts.prog.prog_type {
        ProgType::Unspec | ProgType::Lsm | ProgType::StructOps | ProgType::Ext => true,
        ProgType::Tracing => !matches!(
            facts.prog.attach_type(),
            Some(AttachType::TraceFentry | AttachType::TraceFexit)
        ),
        _ => false,
    };
    if facts.is_replacement() && not_modelled {
        let prog_type = facts.prog.prog_type;
        return unsupported(format!("replacing functions of {prog_type} programs"));
    }
    Ok(())
}

/// Refuses a function that the program cannot replace.
pub(crate) fn check_replaced(facts: &Facts<'_>, target: &Arc<TargetFunction>) -> Check {
    let Some(btf) = target.program.btf.clone() else {
        return unsupported("replacing functions of programs without BTF");
    };
    let id = TypeId(target.btf_id);
    let Some(func) = btf.get(id).filter(|ty| ty.kind() == Kind::Func) else {
        return unsupported(format!("replacing type {id}, which is no function"));
    };
    let rows = &target.program.func_info;
    let Some(subprogno) = rows.iter().position(|row| row.type_id == id.0) else {
        reject!(EINVAL, FuncFault::NoSuchSubprog { name: func.name().into() });
    };
    let (replaced, unreliable) = replaced_subprog(facts, target, subprogno)?;
    if replaced.is_exception_cb {
        return unsupported("replacing an exception callback");
    }
    if unreliable {
        reject!(EINVAL, FuncFault::ReplacesStatic);
    }
    if facts.subprogs[0].changes_pkt_data && !replaced.changes_pkt_data {
        reject!(EINVAL, FuncFault::ReplacementChangesPacket);
    }
    if facts.subprogs[0].might_sleep && !replaced.might_sleep {
        return unsupported("replacing a function that does not sleep by one that does");
    }
    if let Some(name) = kfunc_of_the_type(facts) {
        return unsupported(format!("kfunc {name} in a program that replaces a function"));
    }
    if facts.prog.prog_type == ProgType::Tracing {
        reject!(EINVAL, FuncFault::ReplacesTracing);
    }
    let own = facts.prog.func_info.first().zip(facts.prog.btf.clone());
    let Some((row, own)) = own.map(|(row, btf)| (row.type_id, btf)) else {
        return unsupported("replacing a function by a program without BTF");
    };
    for func in [own.ty(TypeId(row)), func] {
        if func.func_linkage() != FuncLinkage::Global as u16 {
            reject!(EINVAL, FuncFault::NotGlobal { name: func.name().into() });
        }
    }
    check_prototype(own.ty(TypeId(row)), func)
}

/// The name of a called kfunc that only the target's type may call: the earlier passes did not know
/// it.
fn kfunc_of_the_type(facts: &Facts<'_>) -> Option<String> {
    let hook = HookKey { prog_type: ProgType::Ext, attach_type: 0, target: "" };
    let calls = facts.insns.iter().filter(|insn| is_kfunc_call(insn));
    let mut called = calls.filter_map(|insn| facts.callable.kfuncs.get(insn));
    let narrow = |row: &Kfunc| !row.allowed(&hook, facts.rules());
    called.find(|it| it.allowed && it.row.is_some_and(narrow)).map(|it| it.name.to_owned())
}

/// Verifies the function as part of its program; true if its callers do not match its prototype.
fn replaced_subprog(
    facts: &Facts<'_>,
    target: &TargetFunction,
    subprogno: usize,
) -> Check<(Subprog, bool)> {
    let trace = Trace::new(facts.config);
    let mut setup = Setup::new(&target.program, facts.config, false, trace);
    let shape = setup.check_program_shape();
    let Setup { facts, walk, store, learned, trace } = setup;
    let mut of = Env { facts: &facts, walk, store, learned, trace: trace.for_less() };
    let found = shape.and_then(|()| {
        // Only the walk shows whether the callers of a static function match its prototype.
        let Some(subprog) = facts.subprogs.get(subprogno) else { return Ok(None) };
        if subprogno == 0 || !subprog.is_global {
            of.do_check_main()?;
        }
        Ok(Some((subprog.clone(), of.learned.subprogs[subprogno].unreliable)))
    });
    match found {
        Ok(Some(found)) => Ok(found),
        Err(stop) if stop.as_refused().is_none() => Err(stop),
        Ok(None) | Err(_) => unsupported("replacing functions of a program that is refused"),
    }
}

/// Compares the prototypes.
fn check_prototype(own: Type<'_>, theirs: Type<'_>) -> Check {
    let (f, t) = (own.name(), theirs.name());
    let (own, theirs) = (own.target(), theirs.target());
    let (count, wanted) = (own.params().len(), theirs.params().len());
    if count != wanted {
        reject!(EINVAL, FuncFault::ReplacedArgCount { f: f.into(), count, t: t.into(), wanted });
    }
    let (a, b) = (result(own), result(theirs));
    if form(a) != form(b) {
        let (a, b) = (a.kind().name(), b.kind().name());
        reject!(
            EINVAL,
            FuncFault::ReplacedResult { a: a.into(), f: f.into(), b: b.into(), t: t.into() }
        );
    }
    for (i, (a, b)) in own.params().zip(theirs.params()).enumerate() {
        let a = own.btf().skip_modifiers(a.ty);
        let b = theirs.btf().skip_modifiers(b.ty);
        check_arg(i, a, b, f, t)?;
    }
    Ok(())
}

/// Compares an argument, without modifiers, of the functions with these names.
fn check_arg(i: usize, a: Type<'_>, b: Type<'_>, f: &str, t: &str) -> Check {
    let (kind, wanted) = (a.kind(), b.kind());
    if form(a) != form(b) {
        let (kind, wanted) = (kind.name(), wanted.name());
        reject!(
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
            reject!(EINVAL, FuncFault::ReplacedArgNotCtx { i, name: name.into() });
        }
    }
    let (own, theirs) = (a.name(), b.name());
    if own != theirs {
        reject!(
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

/// What must be equal for two types, apart from names: for enums, the number of values.
fn form(ty: Type<'_>) -> (Kind, u16, bool) {
    (ty.kind(), ty.vlen(), ty.kflag())
}

fn pointee(ptr: Type<'_>) -> Type<'_> {
    ptr.btf().skip_modifiers(ptr.target_id())
}
