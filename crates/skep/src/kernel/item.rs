//! `Item`: one feature of a kernel; `Needs`: the items that a program needs.

use skep_insn::Insn;
use skep_insn::code::{
    BPF_ATOMIC, BPF_FETCH, BPF_JA, BPF_JMP32, BPF_LDX, BPF_PSEUDO_FUNC, BPF_PSEUDO_MAP_FD,
    BPF_PSEUDO_MAP_VALUE, BPF_ST, BPF_STX,
};
use skep_program::Program;
use skep_uapi::ctx::{CtxLayout, CtxRange, LATER_FIELDS, LaterField, ctx_struct};
use skep_uapi::helper::HelperId;
use skep_uapi::since::{self, Fields, InsnFeature, Release, Source};
use skep_uapi::{AttachType, MapType, ProgFlags, ProgType, attach_types};
use skep_verifier::VerifiedProgram;
use std::fmt;

/// Something that a kernel has or does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A helper.
    Helper(HelperId),
    /// A map type.
    Map(MapType),
    /// A program type.
    Prog(ProgType),
    /// An attach type.
    Attach(AttachType),
    /// Insns introduced together.
    Insn(InsnFeature),
    /// A field of a context.
    Field(LaterField),
}

impl Item {
    /// All items added after the first kernels with BPF, by kind.
    pub fn all() -> impl Iterator<Item = Item> {
        let helpers = HelperId::all().skip(1).map(Item::Helper);
        let maps = MapType::all().skip(1).map(Item::Map);
        let progs = ProgType::all().skip(1).map(Item::Prog);
        let attaches = AttachType::all().map(Item::Attach);
        let types = maps.chain(progs).chain(attaches);
        let fields = LATER_FIELDS.into_iter().map(Item::Field);
        helpers.chain(types).chain(since::insns().map(Item::Insn)).chain(fields)
    }

    /// Its kind, in one or two words.
    pub fn kind(self) -> &'static str {
        match self {
            Item::Helper(_) => "helper",
            Item::Map(_) => "map type",
            Item::Prog(_) => "program type",
            Item::Attach(_) => "attach type",
            Item::Insn(_) => "insn",
            Item::Field(_) => "field",
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Item::Helper(id) => id.name(),
            Item::Map(of) => of.name(),
            Item::Prog(of) => of.name(),
            Item::Attach(of) => of.name(),
            Item::Insn(feature) => feature.name,
            Item::Field(field) => field.name,
        }
    }

    /// The upstream release that added it.
    pub fn since(self) -> Option<Release> {
        match self {
            Item::Helper(id) => since::helper(id),
            Item::Map(of) => since::map_type(of),
            Item::Prog(of) => since::prog_type(of),
            Item::Attach(of) => since::attach_type(of),
            Item::Insn(feature) => Some(feature.since),
            Item::Field(field) => Some(field.since),
        }
    }

    /// What states that release.
    pub fn source(self) -> Option<Source> {
        match self {
            Item::Helper(id) => Some(since::helper_source(id)),
            Item::Map(of) => Some(since::map_type_source(of)),
            Item::Prog(of) => Some(since::prog_type_source(of)),
            Item::Attach(of) => since::attach_type_source(of),
            Item::Insn(feature) => Some(feature.source()),
            Item::Field(field) => Some(Source::Commit(field.title)),
        }
    }

    /// The enum in the kernel's BTF that numbers it, and the number; insns and fields have none.
    pub(super) fn listed(self) -> Option<Listed> {
        let listed = |list, number| Some(Listed { list, number });
        match self {
            Item::Helper(id) => listed("bpf_func_id", id as u32),
            Item::Map(of) => listed("bpf_map_type", of as u32),
            Item::Prog(of) => listed("bpf_prog_type", of as u32),
            Item::Attach(of) => listed("bpf_attach_type", of as u32),
            Item::Insn(_) | Item::Field(_) => None,
        }
    }
}

/// A value of an enum in the kernel's BTF.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    pub(super) list: &'static str,
    pub(super) number: u32,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.kind())?;
        self.since().map_or(Ok(()), |since| write!(f, " since {since}"))
    }
}

/// An item that a program needs, and the insn that needs it; `None` if the program as a whole does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// What.
    pub item: Item,
    /// Where first.
    pub insn_idx: Option<usize>,
}

/// What a program needs of a kernel: first for its type and maps, then for insns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub(super) needs: Vec<Need>,
    /// Who calls its helpers.
    pub(super) prog_type: ProgType,
    pub(super) attach_type: u32,
    pub(super) may_sleep: bool,
}

impl Needs {
    /// What an accepted program needs. Unreachable code needs nothing.
    pub fn of(verified: &VerifiedProgram) -> Needs {
        let program = verified.program();
        Needs::at(program, (0..program.insns.len()).filter(|&at| verified.was_walked(at)))
    }

    /// Like [`Needs::of`], but ignoring maps that the program does not refer to.
    pub fn alone(verified: &VerifiedProgram) -> Needs {
        let program = verified.program();
        let named = |insn: &Insn| {
            let of_map = matches!(insn.src, BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_VALUE);
            let at = usize::try_from(insn.imm).ok().filter(|_| insn.is_ld_imm64() && of_map)?;
            program.maps.get(at).map(|map| map.map_type)
        };
        let named: Vec<MapType> = program.insns.iter().filter_map(named).collect();
        let mut needs = Needs::of(verified);
        needs.needs.retain(|need| match need.item {
            Item::Map(of) => named.contains(&of),
            _ => true,
        });
        needs
    }

    /// The needs of one insn.
    pub fn of_insn(program: &Program, idx: usize) -> Needs {
        Needs::at(program, idx..idx + 1)
    }

    /// The needs of a program that is rejected (`kind` as in [`crate::Refusal`]) for want of a
    /// helper: those of its call, also if the function that it calls back is rejected before.
    pub fn of_refused(program: &Program, kind: &str, insn_idx: Option<usize>) -> Option<Needs> {
        let call = match kind {
            "no-such-helper" => insn_idx,
            _ => helper_call_after(program, refused_address(program, kind, insn_idx)?),
        };
        Some(Needs::of_insn(program, call?))
    }

    pub(super) fn at(program: &Program, reached: impl Iterator<Item = usize>) -> Needs {
        let whole = |item: Item| Need { item, insn_idx: None };
        let mut needs = vec![whole(Item::Prog(program.prog_type))];
        let maps = program.maps.iter().filter(|map| map.autocreate);
        needs.extend(maps.map(|map| whole(Item::Map(map.map_type))));
        if looks_at_attach(program.prog_type) {
            needs.extend(program.attach_type().map(|of| whole(Item::Attach(of))));
        }
        // The target of a long jump is unknown to a kernel without it, so it is needed even if
        // unreachable.
        let is_long = |insn: &Insn| insn.code == BPF_JMP32 | BPF_JA;
        let long = program.insns.iter().position(is_long);
        let mut reached: Vec<usize> = reached.chain(long).collect();
        reached.sort_unstable();
        for at in reached {
            let Some(item) = program.insns.get(at).and_then(needed_by) else { continue };
            if needs.iter().all(|need| need.item != item) {
                needs.push(Need { item, insn_idx: Some(at) });
            }
        }
        // A function that is only used as a callback is not counted by an older kernel.
        if program.insns.iter().any(takes_address) {
            needs.push(whole(Item::Insn(since::CALLBACKS)));
        }
        let Program { prog_type, expected_attach_type: attach_type, .. } = *program;
        let may_sleep = program.prog_flags.contains(ProgFlags::SLEEPABLE);
        Needs { needs, prog_type, attach_type, may_sleep }
    }

    /// The item added last: no earlier upstream kernel has all.
    pub fn newest(&self) -> Option<(Item, Release)> {
        let dated = self.needs.iter().filter_map(|need| Some((need.item, need.item.since()?)));
        dated.reduce(|newest, it| if it.1 > newest.1 { it } else { newest })
    }
}

/// Whether a kernel checks the attach type of programs of this type. If there was only one attach
/// type at first, it did not check until there were two.
fn looks_at_attach(prog_type: ProgType) -> bool {
    // What these attach to is checked by how they attach: 5.10 has no `lsm_cgroup`.
    if matches!(prog_type, ProgType::Lsm | ProgType::Tracing) {
        return true;
    }
    let takes_any = attach_types(prog_type).contains(u32::MAX);
    !takes_any && !matches!(prog_type, ProgType::SkReuseport | ProgType::StructOps)
}

/// The context field that an insn accesses, if it was added later than others.
pub(super) fn field_needed(program: &Program, insn_idx: usize) -> Option<LaterField> {
    let insn = program.insns.get(insn_idx)?;
    let at = CtxRange { off: i32::from(insn.off), size: insn.size_bytes() };
    let layout = CtxLayout::find(program.prog_type, program.expected_attach_type)?;
    let access = match insn.class() {
        BPF_LDX => layout.load(at, false),
        BPF_ST | BPF_STX => layout.store(at),
        _ => None,
    };
    LaterField::needed(ctx_struct(program.prog_type), access?.field, at.size)
}

/// Whether an insn takes the address of a function of the program.
pub(super) fn takes_address(insn: &Insn) -> bool {
    insn.is_ld_imm64() && insn.src == BPF_PSEUDO_FUNC
}

/// Codes of refusals of an insn that a kernel may lack.
pub(super) const INSN_REFUSED: [&str; 4] =
    ["unknown-opcode", "reserved-fields", "unknown-atomic-opcode", "unknown-wide-constant"];

/// The insn that takes the address of a function, if a program is rejected for it: by a kernel
/// without callbacks, which does not count functions that are only called back either.
pub(super) fn refused_address(
    program: &Program,
    kind: &str,
    insn_idx: Option<usize>,
) -> Option<usize> {
    match kind {
        "function-info-count" => program.insns.iter().position(takes_address),
        kind if INSN_REFUSED.contains(&kind) => {
            insn_idx.filter(|&at| program.insns.get(at).is_some_and(takes_address))
        }
        _ => None,
    }
}

/// The first call of a helper at or after an insn, in the order of the program.
pub(super) fn helper_call_after(program: &Program, idx: usize) -> Option<usize> {
    (idx..program.insns.len()).find(|&at| program.insns[at].is_helper_call())
}

/// What a rejected insn needs to be valid. A kernel with only one atomic operation requires that
/// the field selecting it is zero, whatever the operation.
pub(super) fn insn_needed(insn: &Insn) -> Option<Item> {
    // Atomic insns of one or two bytes have opcodes that came with the first that may be so.
    let is_any = insn.class() == BPF_STX && insn.mode() == BPF_ATOMIC && insn.imm != 0;
    let fields = Fields { code: insn.code, off: insn.off, imm: BPF_FETCH };
    let atomic = since::insn(fields).filter(|_| is_any).map(Item::Insn);
    needed_by(insn).or(atomic)
}

/// The helper that an insn calls, or the insn itself.
fn needed_by(insn: &Insn) -> Option<Item> {
    if insn.is_helper_call() {
        return HelperId::from_number(u32::try_from(insn.imm).ok()?).map(Item::Helper);
    }
    let fields = Fields { code: insn.code, off: insn.off, imm: insn.imm };
    since::insn(fields).map(Item::Insn)
}
