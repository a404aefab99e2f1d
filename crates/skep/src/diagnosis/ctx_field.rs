//! A field of the context that exists, but not for this access: read-only, of another attach type
//! or program type, or accessed together with its neighbour.

use crate::Refusal;
use crate::btf::{Kind, TypeId};
use crate::diagnosis::note::{Note, counted};
use crate::insn::Insn;
use crate::insn::code::{BPF_LDX, BPF_MEMSX, BPF_ST, BPF_STX};
use crate::object::section_names;
use crate::program::{AttachTarget, Program, SourcePlace};
use crate::uapi::ctx::{CtxField, CtxLayout, CtxRange, ctx_struct};
use crate::uapi::{AttachType, ProgType};

/// More names would not help.
const SHOWN: usize = 4;

/// What is known of the field at a refused offset.
pub(crate) fn note(refusal: &Refusal, program: &Program) -> Option<Note> {
    let at = accessed(refusal)?;
    if let Some(text) = beyond_arguments(at, program).or_else(|| part_of_argument(at, program)) {
        return Some(Note { text, at: None });
    }
    let insn = program.insns.get(refusal.insn_idx?)?;
    let is_store = matches!(insn.class(), BPF_ST | BPF_STX);
    let (prog_type, attach) = (program.prog_type, program.expected_attach_type);
    let of = ctx_struct(prog_type)?;
    let layout = CtxLayout::find(prog_type, attach)?;
    let read_only = is_store.then(|| layout.load(at, false)).flatten();
    let place = refusal.insn_idx.and_then(|idx| program.source_place(idx));
    let text = of_other_types(of, program);
    let text = text.or_else(|| beyond_elements(of, at, layout, place.as_ref()?));
    let text = text.or_else(|| place.and_then(|place| as_other(of, at, &place)));
    let text = text.or_else(|| read_only.map(|it| read_only_text(of, it.field, layout)));
    let text = text.or_else(|| sign_extended(of, at, insn, layout));
    let text = text.or_else(|| elsewhere(of, at, is_store, prog_type));
    let text = text.or_else(|| parted(of, at, layout));
    let whole = CtxRange { off: at.off & !3, size: 4 };
    let text = text.or_else(|| elsewhere(of, whole, is_store, prog_type));
    let text = text.or_else(|| beyond_end(of, at, layout));
    Some(Note { text: text?, at: None })
}

/// The context of a traced function is an array of its arguments, and those are all.
fn beyond_arguments(at: CtxRange, program: &Program) -> Option<String> {
    let AttachTarget::Kernel { btf_id, name } = &program.attach else { return None };
    let target = program.kernel_btf.as_ref()?.get(TypeId(*btf_id))?;
    let count = (target.kind() == Kind::Func).then(|| target.target().params().count())?;
    let is_beyond = usize::try_from(at.off).is_ok_and(|off| off / 8 >= count);
    let arguments = counted(count, "argument");
    is_beyond.then(|| format!("`{name}` has {arguments}; the access is beyond them"))
}

/// An argument of a traced function that is read in part.
fn part_of_argument(at: CtxRange, program: &Program) -> Option<String> {
    let AttachTarget::Kernel { btf_id, .. } = &program.attach else { return None };
    let target = program.kernel_btf.as_ref()?.get(TypeId(*btf_id))?;
    let is_part = at.size < 8 || at.off % 8 != 0;
    (target.kind() == Kind::Func && is_part).then(|| {
        "the access is not that of a whole argument: the context has 8 bytes for each".to_owned()
    })
}

/// That the program declares its parameter as the context of programs of other types.
fn of_other_types(of: &str, program: &Program) -> Option<String> {
    let (functions, btf) = program.source_functions();
    let main = btf?.get(TypeId(functions.first()?.type_id))?;
    let mut declared = btf?.get(main.target().params().next()?.ty)?;
    while matches!(declared.kind(), Kind::Ptr | Kind::Const | Kind::Volatile | Kind::Typedef) {
        declared = declared.target();
    }
    let name = declared.name();
    let types: Vec<_> = ProgType::all().filter(|&ty| ctx_struct(ty) == Some(name)).collect();
    let shown: Vec<_> = types.iter().take(SHOWN).map(|ty| ty.name()).collect();
    (name != of && !types.is_empty()).then(|| {
        format!(
            "`{}` declares its context as struct {name}, that of programs of type {}; here it is \
             struct {of}",
            program.name,
            shown.join(", ")
        )
    })
}

/// The place in the context that is accessed.
fn accessed(refusal: &Refusal) -> Option<CtxRange> {
    let of = |name: &str| refusal.number(name).filter(|_| refusal.kind == "no-such-context-field");
    Some(CtxRange { off: of("off")?.try_into().ok()?, size: of("size")?.try_into().ok()? })
}

/// That the line names a field of the context, and accesses another place of it: the pointer has
/// the type of another structure.
fn as_other(of: &str, at: CtxRange, place: &SourcePlace) -> Option<String> {
    let member = member_at(place)?;
    let types = ProgType::all().filter(|&ty| ctx_struct(ty) == Some(of));
    let attach = || AttachType::all().map(AttachType::number).chain([0]);
    let layouts = types.flat_map(|ty| attach().filter_map(move |of| CtxLayout::find(ty, of)));
    let named = layouts.flat_map(|layout| layout.fields()).filter(|field| field.name == member);
    let mut named = named.peekable();
    named.peek()?;
    let has = |field: &CtxField| (field.off..field.off + field.size as i32).contains(&at.off);
    let off = at.off;
    (!named.any(has)).then(|| {
        format!(
            "`{member}` of struct {of}, the context, is not at {off}: the pointer is used as that \
             of another structure"
        )
    })
}

/// That a line accesses an element beyond the last one of a field.
fn beyond_elements(
    of: &str,
    at: CtxRange,
    layout: CtxLayout,
    place: &SourcePlace,
) -> Option<String> {
    let (before, _) = place.text.split_once('[')?;
    let (_, name) = before.rsplit_once("->")?;
    let fields = layout.fields().iter().filter(|field| field.name == name);
    let end = fields.map(|field| i64::from(field.off) + i64::from(field.size)).max()?;
    (i64::from(at.off) >= end).then(|| {
        format!("the index is too large: `{name}` of struct {of} ends at {end} in the context")
    })
}

/// The member that a line accesses through a pointer at its column: `len` of `skb->len`.
fn member_at(place: &SourcePlace) -> Option<&str> {
    let from = place.column?.get() as usize - 1;
    let (before, rest) = place.text.split_at_checked(from)?;
    let is_of_name = |c: char| c == '_' || c.is_alphanumeric();
    let member = rest.split(|c| !is_of_name(c)).next().filter(|name| !name.is_empty())?;
    before.trim_end().ends_with("->").then_some(member)
}

fn read_only_text(of: &str, field: &CtxField, layout: CtxLayout) -> String {
    let is_writable =
        |it: &&CtxField| layout.store(CtxRange { off: it.off, size: it.unit }).is_some();
    let mut writable: Vec<_> =
        layout.fields().iter().filter(is_writable).map(|it| format!("`{}`", it.name)).collect();
    // Some types have a row for each of their parts.
    writable.dedup();
    let name = field.name;
    let others = match writable.is_empty() {
        true => "; no field of this context can be written".to_owned(),
        false => format!("; those that can are {}", writable.join(", ")),
    };
    format!("`{name}` of struct {of} can be read here, but not written{others}")
}

/// That a pointer is loaded as a number with a sign; other loads of the field are allowed.
fn sign_extended(of: &str, at: CtxRange, insn: &Insn, layout: CtxLayout) -> Option<String> {
    let is_signed = insn.class() == BPF_LDX && insn.mode() == BPF_MEMSX;
    let access = layout.load(at, false).filter(|_| is_signed && layout.load(at, true).is_none())?;
    let name = access.field.name;
    Some(format!("`{name}` of struct {of} is a pointer, but a load that extends the sign reads it"))
}

/// Where the access would be allowed.
fn elsewhere(of: &str, at: CtxRange, is_store: bool, prog_type: ProgType) -> Option<String> {
    let allowed = |ty: ProgType, attach: u32| {
        let layout = CtxLayout::find(ty, attach)?;
        let access = if is_store { layout.store(at) } else { layout.load(at, false) };
        access.map(|access| access.field.name)
    };
    let may = if is_store { "written" } else { "read" };
    // Other types take 0 for one that is not named.
    let is_named = |it: &AttachType| it.number() != 0 || prog_type == ProgType::CgroupSkb;
    let of_attach: Vec<_> = AttachType::all()
        .filter(is_named)
        .filter_map(|attach| Some((allowed(prog_type, attach.number())?, attach.name())))
        .collect();
    if let Some((name, _)) = of_attach.first() {
        let section = |of: &str| section_names().find(|it| it.replace('/', "_") == of);
        let which = of_attach.iter().take(SHOWN).map(|(_, of)| match section(of) {
            Some(section) => format!("SEC(\"{section}\")"),
            None => (*of).to_owned(),
        });
        let which = which.collect::<Vec<_>>().join(", ");
        return Some(format!("`{name}` of struct {of} can only be {may} if attached as {which}"));
    }
    let of_types: Vec<_> = ProgType::all()
        .filter(|&ty| ctx_struct(ty) == Some(of))
        .filter_map(|ty| Some((allowed(ty, 0)?, ty)))
        .collect();
    let (name, _) = of_types.first()?;
    let types: Vec<_> = of_types.iter().take(SHOWN).map(|(_, ty)| ty.name()).collect();
    let types = types.join(", ");
    Some(format!("`{name}` of struct {of} can be {may} by programs of other types: {types}"))
}

/// That there are no fields so far from the start.
fn beyond_end(of: &str, at: CtxRange, layout: CtxLayout) -> Option<String> {
    let end = |off: i32, size: u32| i64::from(off) + i64::from(size);
    let last = layout.fields().iter().max_by_key(|it| end(it.off, it.size))?;
    let ends = end(last.off, last.size);
    let name = last.name;
    (i64::from(at.off) >= ends).then(|| {
        format!("the access is beyond the last field of struct {of}, `{name}`: it ends at {ends}")
    })
}

/// The field that is accessed in part, or with its neighbour.
fn parted(of: &str, at: CtxRange, layout: CtxLayout) -> Option<String> {
    let end = |off: i32, size: u32| i64::from(off) + i64::from(size);
    let overlaps = |it: &&CtxField| {
        i64::from(at.off) < end(it.off, it.size) && i64::from(it.off) < end(at.off, at.size)
    };
    let field = layout.fields().iter().find(overlaps)?;
    let CtxField { name, unit, off, .. } = field;
    let bytes = counted(unit, "byte");
    Some(format!(
        "the access is not that of a whole field: `{name}` of struct {of} has {bytes} at {off}"
    ))
}
