//! Notes about a rejection besides registers: the section that determined the program type, and the
//! branch by which the path left.

use crate::diagnosis::declared::body_of;
use crate::diagnosis::history::insn::{read_registers, written_register};
use crate::diagnosis::note::Note;
use crate::insn::Insn;
use crate::insn::code::{BPF_CALL, BPF_EXIT, BPF_JMP, BPF_JMP32};
use crate::insn::code::{BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE};
use crate::insn_text::{function_name, insn_with_map};
use crate::program::{MapDef, MapIdx, Program, SourcePlace};
use crate::uapi::helper::{HelperId, HelperRow, HelperUse, HookKey};
use crate::uapi::{
    AttachType, Behaviours, MapType, ProgType, TypeFlag, attach_types, map_func_compatible,
};
use crate::verifier::{Base, Pointee, RegView};
use crate::{Refusal, Step, WalkedPath};

/// A code in the catalogue's section about insns that no kernel knows.
const RESERVED: &str = "reserved-fields";

/// Rejections that another section name, and so another program type, might avoid.
const OF_SECTION: [&str; 24] = [
    "attach-target-missing",
    "attach-target-not-faultable",
    "attach-target-not-modifiable",
    "attach-target-not-sleepable",
    "css-task-iterator-not-here",
    "helper-not-for-attach-type",
    "helper-not-for-program-type",
    "helper-not-in-probe",
    "kernel-function-not-for-program-type",
    "legacy-load-not-for-program-type",
    "lock-in-socket-filter",
    "lsm-hook-disabled",
    "map-not-for-sleepable",
    "map-not-for-tracing",
    "no-such-attach-target",
    "no-such-context-field",
    "packet-given-to-helper",
    "program-type-not-sleepable",
    "result-out-of-range",
    "sleeping-helper",
    "sleeping-kernel-function",
    "sockmap-update-not-here",
    "store-to-packet",
    "struct-ops-member-unsupported",
];

/// R1 to R5, which are uninitialised after a call.
pub(super) const ARGUMENTS: u16 = 0b11_1110;

/// The use of a field or type that the kernel lacks: compilers move the insn that replaces it to
/// the front.
pub(crate) fn used_at(
    idx: usize,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    // The replacement insn does not show which register it set: take one that no other insn set.
    let writes = |set: u16, insn: &Insn| {
        let is_call = insn.class() == BPF_JMP && insn.op() == BPF_CALL;
        let kept = if is_call { set & !ARGUMENTS } else { set };
        kept | written_register(insn).map_or(0, |reg| 1 << reg)
    };
    let mut set = program.insns.get(..idx)?.iter().fold(1 << 1 | 1 << 10, writes);
    let mut holds = 0u16;
    let line = |at: usize| program.source_place(at).map(|spot| spot.line);
    for (at, insn) in program.insns.iter().enumerate().skip(idx + 1) {
        let is_call = insn.class() == BPF_JMP && insn.op() == BPF_CALL;
        let reads = if is_call { vec![1, 2, 3, 4, 5] } else { read_registers(insn) };
        let unset = reads.iter().find(|&reg| !is_call && set >> reg & 1 == 0);
        holds |= unset.filter(|_| holds == 0).map_or(0, |reg| 1 << reg);
        let is_used = reads.iter().any(|reg| holds >> reg & 1 == 1);
        if is_used && line(at) != line(idx) {
            return Some(since("its value is used at", at, describe));
        }
        if matches!(insn.class(), BPF_JMP | BPF_JMP32) && !is_call {
            return None;
        }
        match (written_register(insn).or(is_used.then_some(insn.dst)), is_used) {
            (Some(reg), true) => holds |= 1 << reg,
            (Some(reg), false) => holds &= !(1 << reg),
            _ => {}
        }
        set = writes(set, insn);
    }
    None
}

/// The text of an insn, and its place.
pub(crate) type Described = Option<(String, Option<SourcePlace>)>;

/// The section that determined the program type, if another one would help.
pub(crate) fn of_section(refusal: &Refusal, program: &Program) -> Option<Note> {
    let (section, kind) = (&program.section, program.prog_type.name());
    let of_callback = is_of_callback(refusal);
    let tells = OF_SECTION.contains(&refusal.kind.as_str()) && !section.is_empty() && !of_callback;
    let sleeps = ["sleeping-helper", "sleeping-kernel-function"].contains(&refusal.kind.as_str());
    let never = sleeps && !section.contains(".s") && sleepable_section(program).is_none();
    let more = if never { ", and has no sleepable variant" } else { "" };
    let text = || format!("section `{section}` makes it a program of type {kind}{more}");
    let at = || program.source_place(header(program)?);
    tells.then(|| Note { text: text(), at: at() })
}

/// The program types that may call a helper that this one may not.
pub(crate) fn callers_of_helper(refusal: &Refusal, own: ProgType) -> Option<Note> {
    let helper = refusal.text("name").filter(|_| refusal.kind == "helper-not-for-program-type")?;
    let id = HelperId::from_name(helper)?;
    let may = |ty: ProgType, attach_type: u32| {
        let key = HookKey { prog_type: ty, attach_type, target: "" };
        matches!(HelperRow::find(&key).map(|row| row.helper(id)), Some(HelperUse::May(_)))
    };
    // Loaders give a type that takes every number the one of its name, if there is one.
    let numbers = |ty: ProgType| {
        let taken = attach_types(ty);
        let of_name = AttachType::all().find(|of| of.name().ends_with(ty.name()));
        let of_name = of_name.map_or(0, AttachType::number);
        let numbers = AttachType::all().map(AttachType::number).chain([0]);
        let is_set = move |of: &u32| !taken.contains(u32::MAX) || *of == of_name;
        numbers.filter(move |of| taken.contains(*of) && is_set(of))
    };
    let types = ProgType::all().filter(|&ty| numbers(ty).any(|of| may(ty, of)));
    let named = |ty: ProgType| match ty == own {
        true => format!("{} (attached otherwise)", ty.name()),
        false => ty.name().to_owned(),
    };
    let types: Vec<_> = types.map(named).collect();
    let more = if types.len() > TYPES_SHOWN { ", ..." } else { "" };
    let shown = types.get(..TYPES_SHOWN).unwrap_or(&types).join(", ");
    let text = || format!("programs of these types may call {helper}: {shown}{more}");
    (!types.is_empty()).then(|| Note { text: text(), at: None })
}

/// More would not help.
const TYPES_SHOWN: usize = 8;

/// Whether a rejection is about what a callback returns, for which the program type does not
/// matter.
fn is_of_callback(refusal: &Refusal) -> bool {
    matches!(refusal.text("when"), Some("At callback return" | "At async callback return"))
}

/// The insn of the line that has the program's name, below that of its section.
fn header(program: &Program) -> Option<usize> {
    let end = program.function_range(0).end;
    let rows = program.source_lines().0.iter().map(|row| row.insn_off.index());
    let mut rows = rows.take_while(|&idx| idx < end);
    rows.find(|&idx| {
        let is_of_name = |c: char| c == '_' || c.is_alphanumeric();
        program.source_place(idx).is_some_and(|spot| {
            spot.text.split(|c| !is_of_name(c)).any(|word| word == program.name)
        })
    })
}

/// Where to look if the target is at fault, which is found at the first insn.
pub(crate) fn target(refusal: &Refusal, program: &Program) -> Option<usize> {
    header(program).filter(|_| is_of_target(refusal))
}

/// The same if no line is that of the declaration.
pub(crate) fn without_target(refusal: &Refusal, program: &Program) -> Option<Note> {
    if refusal.kind == "exception-callback-parameters" {
        let start = refusal.insn_idx?;
        let (name, place) = (function_name(program, start), program.source_place(start)?);
        return (!place.has_word(&name)).then(|| body_of(&name));
    }
    let has_line = program.source_place(0).is_some();
    let is_missing = has_line && is_of_target(refusal) && header(program).is_none();
    is_missing.then(|| body_of(&program.name))
}

fn is_of_target(refusal: &Refusal) -> bool {
    let kind = &*refusal.kind;
    let is_of_target = kind.starts_with("attach-target-")
        || matches!(kind, "lsm-hook-disabled" | "program-type-not-sleepable");
    is_of_target && refusal.insn_idx == Some(0)
}

/// Why an insn is not reached: the insn before it does not continue there.
pub(crate) fn not_reached(
    refusal: &Refusal,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    let before = refusal.insn_idx?.checked_sub(1)?;
    let insn = program.insns.get(before)?;
    let goes_on = !matches!(insn.class(), BPF_JMP | BPF_JMP32) || insn.is_conditional_jump();
    let tells = refusal.kind == "unreachable-insn" && !goes_on && insn.op() != BPF_CALL;
    tells
        .then(|| since("no jump leads to it, and execution does not go on after", before, describe))
}

/// Why a function has no end: the compiler knows that what it calls last does not return.
pub(crate) fn never_returns(
    refusal: &Refusal,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Vec<Note> {
    let last = refusal.insn_idx.filter(|_| refusal.kind == "function-falls-through");
    let Some(called) = called(refusal, program)
        .filter(|_| last.is_some_and(|idx| program.insns[idx].is_pseudo_call()))
    else {
        return Vec::new();
    };
    let name = function_name(program, called);
    let text = format!("the last insn calls `{name}`, which the compiler takes never to return");
    let start = last.map_or(0, |idx| program.function_start(idx));
    let calls = |idx: &usize| {
        let insn = program.insns[*idx];
        insn.is_pseudo_call() && *idx as i64 + 1 + i64::from(insn.imm) == start as i64
    };
    let by = (0..program.insns.len()).find(calls).filter(|_| start > 0);
    let by = by.map(|idx| since("this function is called at", idx, describe));
    [Note { text, at: None }].into_iter().chain(by).collect()
}

/// The name of the map type of which a message has the number.
pub(crate) fn map_type(refusal: &Refusal) -> Option<Note> {
    let is_of_type = OF_MAP_TYPE.contains(&refusal.kind.as_str());
    let number = refusal.number("ty").filter(|_| is_of_type)?.try_into().ok()?;
    let name = MapType::from_number(number)?;
    let accepted = refusal.text("name").and_then(accepted_maps).unwrap_or_default();
    Some(Note { text: format!("map_type {number} is {name}{accepted}"), at: None })
}

/// More would not help.
const MAP_TYPES_SHOWN: usize = 4;

/// The types that a helper accepts, if they are few.
fn accepted_maps(name: &str) -> Option<String> {
    let helper = name.split('#').next()?;
    let id = HelperId::from_name(helper)?;
    let hook = HookKey { prog_type: ProgType::Unspec, attach_type: 0, target: "" };
    let accepts = |ty: &MapType| map_func_compatible(*ty, id, &hook, &Behaviours::newest());
    let types: Vec<_> = MapType::all().filter(accepts).map(MapType::name).collect();
    let is_few = (1..=MAP_TYPES_SHOWN).contains(&types.len());
    is_few.then(|| format!("; {helper} accepts {}", types.join(", ")))
}

/// Rejections of a map of a type that a function does not accept.
pub(crate) const OF_MAP_TYPE: [&str; 2] = ["map-not-for-helper", "sockmap-update-not-here"];

/// The type of a map that is passed to a tail call.
pub(crate) fn tail_call_map(
    refusal: &Refusal,
    passed: Option<RegView<'_>>,
    program: &Program,
) -> Option<Note> {
    let map = map_of(&passed.filter(|_| refusal.kind == NO_PROG_ARRAY)?, program)?;
    let text = format!("map `{}` is of type {}", map.kernel_name(), map.map_type.name());
    (map.map_type != MapType::ProgArray).then_some(Note { text, at: None })
}

/// The type of the map in a rejected insn, if programs that sleep cannot use it.
pub(crate) fn unsuited_map(refusal: &Refusal, program: &Program) -> Option<Note> {
    let insn = refusal.insn_idx.and_then(|idx| program.insns.get(idx))?;
    let is_map = insn.is_ld_imm64() && matches!(insn.src, BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_VALUE);
    let index = u32::try_from(insn.imm).ok().filter(|_| is_map)?;
    let map = program.map(MapIdx(index))?;
    let tells = refusal.kind == "map-not-for-sleepable";
    let text = || format!("map `{}` is of type {}", map.name, map.map_type.name());
    tells.then(|| Note { text: text(), at: None })
}

/// The code of a tail call in another map than a program array.
pub(crate) const NO_PROG_ARRAY: &str = "tail-call-without-prog-array";

/// The map to which a value belongs.
fn map_of<'p>(value: &RegView<'_>, program: &'p Program) -> Option<&'p MapDef> {
    let Pointee::Map { name, .. } = value.pointee else { return None };
    program.maps.iter().find(|map| map.kernel_name() == name)
}

/// That the values of a map are maps, if one is passed that may be NULL.
pub(crate) fn inner_map(
    refusal: &Refusal,
    passed: Option<RegView<'_>>,
    program: &Program,
) -> Option<Note> {
    let is_null = refusal.text("got") == Some("map_value_or_null")
        && refusal.text("expected") == Some("map_ptr");
    let map = map_of(&passed.filter(|_| is_null)?, program)?;
    let text = format!("map `{}` is one whose values are maps", map.kernel_name());
    let of_maps = [MapType::ArrayOfMaps, MapType::HashOfMaps].contains(&map.map_type);
    of_maps.then_some(Note { text, at: None })
}

/// That an argument may be NULL is not all: the call releases what is only read from a field.
pub(crate) fn not_owned(
    refusal: &Refusal,
    passed: Option<RegView<'_>>,
    program: &Program,
    describe: &impl Fn(usize) -> Described,
) -> Option<Note> {
    const OF_FIELD: TypeFlag = TypeFlag::MEM_RCU.union(TypeFlag::PTR_MAYBE_NULL);
    let call = refusal.insn_idx.filter(|_| refusal.kind == "maybe-null-trusted-argument")?;
    let releases = callee(program, call, describe)?.ends_with("_release");
    let is_of_field = passed.is_some_and(|value| {
        let flags = value.ty.flags.difference(TypeFlag::NON_OWN_REF);
        value.ty.base == Base::BtfId && flags == OF_FIELD
    });
    let text = "the program holds no reference to it, which the call would release".to_owned();
    (releases && is_of_field).then_some(Note { text, at: None })
}

/// Why there is no BTF, where it is in the object and only the kernel does not have it.
pub(crate) fn btf_not_loaded(refusal: &Refusal, program: &Program) -> Option<Note> {
    let lacks_btf = ["-without-btf", "-without-function-info", "-needs-function-info"];
    let is_reason = lacks_btf.iter().any(|ending| refusal.kind.ends_with(ending));
    let unloaded = program.unloaded.as_deref().filter(|_| is_reason)?;
    Some(Note { text: unloaded.why.clone(), at: None })
}

/// The licence, if another one would help.
pub(crate) fn of_license(refusal: &Refusal, program: &Program) -> Option<Note> {
    let text = match &*program.license {
        "" => "the object has no licence, which counts as one that is not compatible".to_owned(),
        license => format!("the program's licence is `{license}`"),
    };
    refusal.kind.ends_with("needs-gpl").then_some(Note { text, at: None })
}

/// The section for the sleepable variant of the program, if there is one.
pub(crate) fn sleepable_section(program: &Program) -> Option<String> {
    const KINDS: [&str; 10] = [
        "fentry",
        "fexit",
        "fmod_ret",
        "iter",
        "lsm",
        "struct_ops",
        "uprobe",
        "uprobe.multi",
        "uretprobe",
        "uretprobe.multi",
    ];
    let section = &program.section;
    let (kind, rest) = section.split_at(section.find('/').unwrap_or(section.len()));
    KINDS.contains(&kind).then(|| format!("SEC(\"{kind}.s{rest}\")"))
}

/// The fields of an invalid insn: its text does not show those that should be 0.
pub(crate) fn encoding(refusal: &Refusal, program: &Program) -> Option<Note> {
    let section = crate::catalogue::section(&refusal.kind)?;
    let insn = program.insns.get(refusal.insn_idx?)?;
    let Insn { code, dst, src, off, imm } = insn;
    let text = format!(
        "its fields: code={code:#04x} dst={dst} src={src} off={off} imm={imm}; those that such an \
         insn does not use must be 0"
    );
    section.codes.contains(&RESERVED).then_some(Note { text, at: None })
}

/// The mismatch, if the message only says that there is one; located at the called function.
pub(crate) fn because(text: &str, refusal: &Refusal, program: &Program) -> Note {
    let at = called(refusal, program).and_then(|start| program.source_place(start));
    Note { text: format!("in the called function: {text}"), at }
}

/// The first insn of the function in a rejected call.
pub(crate) fn called(refusal: &Refusal, program: &Program) -> Option<usize> {
    let idx = refusal.insn_idx?;
    let insn = program.insns.get(idx)?;
    let is_call = insn.class() == BPF_JMP && insn.op() == BPF_CALL;
    let start = is_call.then(|| idx as i64 + 1 + i64::from(insn.imm))?;
    usize::try_from(start).ok()
}

/// Rejections at the exit insn, which all returns share.
const OF_END: [&str; 6] = [
    "callback-result-not-a-number",
    "end-inside-section",
    "end-under-lock",
    "leaked-reference",
    "result-not-a-number",
    "result-out-of-range",
];

/// Those of them that are about R0.
const OF_RESULT: [&str; 3] =
    ["callback-result-not-a-number", "result-not-a-number", "result-out-of-range"];

/// The last branch of the path to a rejected exit: compilers merge all returns into one insn, so
/// this shows which one is meant. Not a branch before the insn `after`.
pub(crate) fn left_by(
    refusal: &Refusal,
    path: &WalkedPath,
    program: &Program,
    after: Option<usize>,
) -> Option<usize> {
    let last = path.steps().rev().find_map(insn_idx)?;
    let is_end = program.insns.get(last)?.op() == BPF_EXIT;
    if !OF_END.contains(&refusal.kind.as_str()) || !is_end {
        return None;
    }
    let of_frame = path.steps().rev().filter_map(|step| match step {
        Step::Insn { insn_idx, frame } if *frame == path.frame() => Some(*insn_idx as usize),
        _ => None,
    });
    // An asynchronous callback begins a path of its own, in the first frame.
    let function = program.function_range(last);
    let of_frame = of_frame.take_while(|idx| function.contains(idx));
    let since_then = of_frame.take_while(|&idx| Some(idx) != after);
    let is_branch = |idx: &usize| program.insns[*idx].is_conditional_jump();
    since_then.filter(|&idx| idx < program.insns.len()).find(is_branch)
}

/// Where a result that is refused at the exit was made: at the insn that set R0; for a constant
/// that the compiler set before a branch decided to return it, at that branch.
pub(crate) fn result_made(
    refusal: &Refusal,
    made: usize,
    is_constant: bool,
    path: &WalkedPath,
    program: &Program,
) -> Option<usize> {
    let exit = refusal.insn_idx.filter(|_| OF_RESULT.contains(&refusal.kind.as_str()))?;
    let is_exit = program.insns.get(exit)?.op() == BPF_EXIT;
    let line = |idx| program.source_place(idx).map(|spot| (spot.file, spot.line));
    if !is_exit || line(made) == line(exit) {
        return None;
    }
    // Compilers give what is returned in all cases the place of the function's head.
    let is_of_head = |idx: usize| {
        let starts = program.function_starts();
        starts
            .take_while(|&start| start <= idx)
            .last()
            .is_some_and(|start| line(start) == line(idx))
    };
    if is_of_head(made) && !is_of_head(exit) && !is_end_line(program, exit) {
        return None;
    }
    let branch = left_by(refusal, path, program, Some(made));
    // Compilers give that branch the place of the function's end, if it leads there.
    let is_before = branch.is_some_and(|idx| line(idx) != line(made) && !is_end_line(program, idx));
    Some(branch.filter(|_| is_constant && is_before).unwrap_or(made))
}

/// That the line shown for a constant does not have it: compilers give constants the place of the
/// function's head, or of the branch that decides to return it.
pub(crate) fn constant_without_line(
    refusal: &Refusal,
    shown: usize,
    value: i64,
    program: &Program,
) -> Option<Note> {
    let is_of_result = OF_RESULT.contains(&refusal.kind.as_str());
    let shown = program.source_place(shown).filter(|_| is_of_result)?;
    let text =
        format!("the compiler recorded no line for the constant {value}: look for its `return`");
    (!shown.text.contains("return")).then_some(Note { text, at: None })
}

/// The rejected insn, if the place that is shown is another.
pub(crate) fn without_line(idx: usize, program: &Program) -> Note {
    let insn = insn_with_map(program, idx).unwrap_or_default();
    let text = format!(
        "what is refused is insn {idx}: {insn}, for which the compiler recorded no line but that of \
         a block's end"
    );
    Note { text, at: None }
}

/// Whether an insn's line is that of the end of a block: it shows nothing.
pub(crate) fn is_end_line(program: &Program, idx: usize) -> bool {
    program.source_place(idx).is_some_and(|spot| spot.text.trim() == "}")
}

/// What may be returned.
pub(crate) fn allowed_range(refusal: &Refusal) -> Option<String> {
    let of = |name: &str| refusal.number(name).filter(|_| refusal.kind == "result-out-of-range");
    let (min, max) = (of("min")?, of("max")?);
    Some(match min == max {
        true => format!("`{min}`"),
        false => format!("a value in `[{min}, {max}]`"),
    })
}

/// A note about an insn on the path.
pub(crate) fn since(says: &str, idx: usize, describe: &impl Fn(usize) -> Described) -> Note {
    match describe(idx) {
        Some((insn, at)) => Note { text: format!("{says} insn {idx}: {insn}"), at },
        None => Note { text: format!("{says} insn {idx}"), at: None },
    }
}

/// The name of the helper or kernel function called by an insn.
pub(crate) fn callee(
    program: &Program,
    idx: usize,
    describe: &impl Fn(usize) -> Described,
) -> Option<String> {
    let insn = program.insns.get(idx)?;
    if insn.class() != BPF_JMP || insn.op() != BPF_CALL {
        return None;
    }
    let (text, _) = describe(idx)?;
    let (_, name) = text.split_once("call ")?;
    Some(name.split('#').next().unwrap_or(name).to_owned())
}

/// Where the function of the last insn was called, if it is not the program's own.
pub(crate) fn called_at(path: &WalkedPath, program: &Program) -> Option<Note> {
    let caller = path.frame().checked_sub(1)?;
    let at = path.steps().rev().find_map(|step| match step {
        Step::Insn { insn_idx, frame } if *frame == caller => Some(*insn_idx as usize),
        _ => None,
    })?;
    let describe = |idx| Some((insn_with_map(program, idx)?, program.source_place(idx)));
    Some(since("this function was called at", at, &describe))
}

/// The insn of a step that walks one.
pub(crate) fn insn_idx(step: &Step) -> Option<usize> {
    match step {
        Step::Insn { insn_idx, .. } => Some(*insn_idx as usize),
        _ => None,
    }
}
