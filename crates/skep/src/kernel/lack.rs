//! What a program needs that a kernel does not have, and what is unknown about it.

use super::calls::allowed_since;
use super::item::{INSN_REFUSED, field_needed, helper_call_after, insn_needed, refused_address};
use super::{Item, Kernel, Need, Needs, Source, fit};
use crate::catalogue::NOT_ON_THIS_KERNEL;
use crate::host::has_field;
use crate::verification::{Refusal, Settled, Verdict, Verification};
use skep_btf::{FieldKind, SpecialField};
use skep_object::LoadClass;
use skep_program::{AttachTarget, Program};
use skep_uapi::helper::{HelperId, HookKey};
use skep_uapi::kfunc::Kfunc;
use skep_uapi::since::Release;
use skep_uapi::{AttachType, ProgType, asked_around, attaches_to_btf, errno, since};
use std::fmt;

/// Where a program is rejected, and the code.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a> {
    /// The insn.
    pub insn_idx: Option<usize>,
    /// `no-such-helper`.
    pub kind: &'a str,
}

/// The first missing item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The insn that needs it; `None` if the program as a whole does.
    pub insn_idx: Option<usize>,
    /// `bpf_loop: helper since 5.17`.
    pub what: String,
    /// Whether it is known for certain: from the kernel's BTF, a kernel of this release, or the
    /// upstream release itself.
    pub is_sure: bool,
    /// The kernel's own message, if known.
    pub said: Option<String>,
}

impl Lack {
    fn verdict(&self) -> Verdict {
        if !self.is_sure {
            let why = "it is not known whether this kernel has it";
            return Verdict::Unsupported(format!("{self}; {why}"));
        }
        Verdict::Rejected(Refusal {
            insn_idx: self.insn_idx,
            load: None,
            kind: NOT_ON_THIS_KERNEL.to_owned(),
            led_to: Vec::new(),
            registers: Vec::new(),
            operands: Vec::new(),
            errno: errno::EINVAL,
            message: self.to_string(),
        })
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Kernel {
    /// The verdict for this kernel, if it differs from that for the session's host: the kernel
    /// lacks something, or the rejection depends on something unknown.
    pub fn verdict(&self, program: &Program, verification: &Verification) -> Option<Verdict> {
        let Some(under) = &verification.under else {
            return self.verdict_for(program, &verification.verdict);
        };
        let here = |verdict: &Verdict| self.verdict_for(program, verdict);
        let found = under.verdicts.iter().map(|it| here(it).unwrap_or_else(|| it.clone()));
        let found: Vec<Verdict> = found.collect();
        match under.settle(&found) {
            Settled::As(at) => found.into_iter().nth(at),
            Settled::NotKnown(why) => Some(Verdict::Unsupported(why)),
        }
    }

    fn verdict_for(&self, program: &Program, verdict: &Verdict) -> Option<Verdict> {
        let found = match verdict {
            Verdict::Accepted(verified) => {
                self.verdict_on(&Needs::of(verified)).or_else(|| self.accepted_by_newer())
            }
            Verdict::Rejected(refusal) => {
                let refused = Refused { insn_idx: refusal.insn_idx, kind: &refusal.kind };
                let lack = self.lacks_refused(program, &refused);
                lack.map(|lack| lack.verdict()).or_else(|| self.verdict_not_known(refusal))
            }
            Verdict::Unsupported(what) if self.btf.is_none() => {
                let is_for_btf = attaches_to_kernel(program) || what.contains("kernel's BTF");
                let lack =
                    is_for_btf.then(|| self.lacks(&Needs::at(program, std::iter::empty())))?;
                Some(lack.map_or_else(needs_btf, |lack| lack.verdict()))
            }
            _ => return None,
        };
        // What it attaches to decides its arguments, its result, and whether it loads at all; what
        // the kernel lacks is refused in any case.
        let is_refused = matches!(found, Some(Verdict::Rejected(_)));
        let depends = || attaches_to_kernel(program) || self.may_refuse_btf(program);
        let is_missed = !is_refused && self.btf.is_none() && depends();
        if is_missed { Some(needs_btf()) } else { found }
    }

    /// Whether its types decide if it takes the object's BTF: its nodes of lists and trees must
    /// have the size of those in the object, and something must release what pointers in a struct
    /// point to.
    fn may_refuse_btf(&self, program: &Program) -> bool {
        if self.version < STRUCT_METAS {
            return false;
        }
        let may_be_small = asked_around(&self.rules).iter().any(|it| SMALL_NODES.contains(it));
        let Some(metas) = program.btf.as_ref().map(|btf| btf.struct_metas()) else { return false };
        // No struct of the kernel has nodes for programs.
        let is_own = |field: &SpecialField| field.target.is_some_and(|id| metas.contains_key(&id));
        metas.values().flatten().any(|field| match field.kind {
            FieldKind::ListNode | FieldKind::RbNode => may_be_small,
            FieldKind::KptrRef => !is_own(field),
            _ => false,
        })
    }

    /// What the oldest tested kernel accepts is not known to be accepted by those before it:
    /// Ubuntu's 5.4 refuses 61 of 281 such programs, mostly because it has no variable offsets into
    /// the stack.
    fn accepted_by_newer(&self) -> Option<Verdict> {
        let name = self.newer_rules()?;
        Some(Verdict::Unsupported(format!(
            "a verdict for this kernel: {name}, the oldest that was tested, accepts the program"
        )))
    }

    /// The first number that no helper of the kernel has, if known.
    pub(super) fn helpers_end(&self) -> Option<u32> {
        let absent =
            |id: &HelperId| self.knows(Item::Helper(*id)).is_some_and(|(is_there, _)| !is_there);
        HelperId::all().skip(1).find(absent).map(|id| id as u32)
    }

    /// The same for attach types.
    pub(super) fn attach_end(&self) -> Option<u32> {
        let absent =
            |of: &AttachType| self.knows(Item::Attach(*of)).is_some_and(|(is_there, _)| !is_there);
        AttachType::all().find(absent).map(AttachType::number)
    }

    /// The same for an accepted program that needs this.
    pub fn verdict_on(&self, needs: &Needs) -> Option<Verdict> {
        self.lacks(needs).map(|lack| lack.verdict())
    }

    /// A rejection that depends on the kernel's BTF, configuration or symbols is meaningless if
    /// they are unknown.
    pub fn verdict_not_known(&self, refusal: &Refusal) -> Option<Verdict> {
        let has_btf = self.btf.is_some();
        let is_known = match refusal.load {
            Some(LoadClass::Extern) => {
                let says = |what: &str| refusal.message.contains(what);
                let by_config = says("extern CONFIG_") && self.kconfig.is_some();
                by_config || (has_btf && names_core_kfunc(&refusal.message))
            }
            Some(LoadClass::Core) => has_btf,
            _ => true,
        };
        let what = if has_btf { "symbols and modules are" } else { "BTF is" };
        let message = refusal.message.trim_end();
        let why = || Verdict::Unsupported(format!("{message}; the kernel's {what} not known"));
        (!is_known).then(why)
    }

    /// What the program needs and this kernel does not have.
    pub fn lacks(&self, needs: &Needs) -> Option<Lack> {
        needs.needs.iter().find_map(|need| {
            self.lacks_item(need.item, need.insn_idx).or_else(|| self.lacks_for_type(needs, need))
        })
    }

    fn lacks_item(&self, item: Item, insn_idx: Option<usize>) -> Option<Lack> {
        let (is_there, is_sure) = self.knows(item)?;
        let (what, said) = (item.to_string(), said_of(item));
        (!is_there).then_some(Lack { insn_idx, what, is_sure, said })
    }

    /// What a rejected program lacks, if that is why the kernel rejects it.
    pub fn lacks_refused(&self, program: &Program, refused: &Refused<'_>) -> Option<Lack> {
        if let Some(lack) = self.lacks_map(program) {
            return Some(lack);
        }
        if let Some(at) = refused_address(program, refused.kind, refused.insn_idx) {
            return self.lacks_callbacks(program, at);
        }
        match refused.kind {
            "no-such-helper" | "helper-not-for-program-type" => {
                self.lacks(&Needs::at(program, refused.insn_idx.into_iter()))
            }
            "no-such-context-field" => self.lacks_field(program, refused.insn_idx?),
            kind if INSN_REFUSED.contains(&kind) => {
                let insn_idx = refused.insn_idx?;
                let needed = insn_needed(program.insns.get(insn_idx)?)?;
                self.lacks_item(needed, Some(insn_idx))
            }
            _ => None,
        }
    }

    /// A map that cannot be created there: maps are created before a program is loaded.
    fn lacks_map(&self, program: &Program) -> Option<Lack> {
        let created = program.maps.iter().filter(|map| map.autocreate);
        let mut lacks = created.filter_map(|map| self.lacks_item(Item::Map(map.map_type), None));
        lacks.find(|lack| lack.is_sure)
    }

    /// The helper that is passed the address of a function at `idx`, or that there are callbacks at
    /// all: without the helper, that would not suffice.
    fn lacks_callbacks(&self, program: &Program, idx: usize) -> Option<Lack> {
        let call = helper_call_after(program, idx);
        let of_call = self.lacks(&Needs::at(program, call.into_iter()));
        of_call.or_else(|| self.lacks_item(Item::Insn(since::CALLBACKS), Some(idx)))
    }

    /// The rejected context field, if it was added later.
    fn lacks_field(&self, program: &Program, insn_idx: usize) -> Option<Lack> {
        let item = Item::Field(field_needed(program, insn_idx)?);
        let (is_there, is_sure) = self.knows(item)?;
        let insn = &program.insns[insn_idx];
        let (off, size) = (insn.off, insn.size_bytes());
        let said = Some(format!("invalid bpf_context access off={off} size={size}"));
        let insn_idx = Some(insn_idx);
        (!is_there).then(|| Lack { insn_idx, what: item.to_string(), is_sure, said })
    }

    /// A helper that exists, but for programs of other types.
    fn lacks_for_type(&self, needs: &Needs, need: &Need) -> Option<Lack> {
        let Item::Helper(id) = need.item else { return None };
        let Needs { prog_type, attach_type, may_sleep, .. } = *needs;
        let hook = HookKey { prog_type, attach_type, target: "" };
        let calls = self.calls();
        let is_refused = calls.refuse(&hook, id, may_sleep);
        // Of a kernel between two that were asked: what both refuse it refuses, too.
        let is_sure = match calls.answered(&hook, id) {
            Some(_) => true,
            None => self.source != Source::File && calls.refused_around(&hook, id) == [true; 2],
        };
        let is_member = prog_type == ProgType::StructOps;
        let when = if self.version > REFERENCE { "any more" } else { "yet" };
        let since = || match allowed_since(&self.rules, &hook, id) {
            Some(release) if self.version <= REFERENCE => format!(" (since {release})"),
            _ => String::new(),
        };
        let what =
            || format!("{}: not for {} programs {when}{}", id.name(), needs.prog_type, since());
        is_refused.then(|| Lack {
            insn_idx: need.insn_idx,
            what: what(),
            is_sure: is_sure && !is_member,
            said: None,
        })
    }

    /// Whether the kernel has an item; `None` if unknown.
    pub fn has(&self, item: Item) -> Option<bool> {
        self.knows(item).filter(|(_, is_sure)| *is_sure).map(|(is_there, _)| is_there)
    }

    /// Whether its BTF lists the item, if it lists such items.
    fn lists(&self, item: Item) -> Option<bool> {
        fit::lists(self.btf.as_ref()?, item.listed()?)
    }

    /// Whether the kernel has an item, and whether that is certain.
    pub(super) fn knows(&self, item: Item) -> Option<(bool, bool)> {
        let since = item.since()?;
        if let Some(is_there) = self.answers().and_then(|answers| answers.has(item)) {
            return Some((is_there, true));
        }
        if let Some(is_there) = self.lists(item) {
            return Some((is_there, true));
        }
        if let (Item::Field(field), Some(btf)) = (item, &self.btf)
            && let Some(is_there) = has_field(btf, &field)
        {
            return Some((is_there, true));
        }
        let is_backported = since::is_backported(&self.rules, item.name());
        let is_there = since <= self.version || is_backported;
        // A distribution may have more than the release that it is composed of.
        let is_sure = is_there || !(self.is_composed() || self.source == Source::File);
        Some((is_there, is_sure))
    }
}

/// The first release that looks for special fields in the structs of an object's BTF.
const STRUCT_METAS: Release = Release { major: 6, minor: 2 };

/// Tested kernels whose nodes of lists and trees lack the field for their owner.
const SMALL_NODES: [&str; 2] = ["6.2.0-39-", "6.5.0-45-"];

/// Why a program has no verdict on a kernel without BTF.
pub const NEEDS_BTF: &str =
    "needs the kernel's BTF (skep kernel import makes a kernel file with it)";

fn needs_btf() -> Verdict {
    Verdict::Unsupported(NEEDS_BTF.to_owned())
}

/// Whether its load names a type of the kernel (`attach_btf_id`).
fn attaches_to_kernel(program: &Program) -> bool {
    let is_replacement = program.prog_type == ProgType::Ext;
    let of_program = matches!(program.attach, AttachTarget::Function(_));
    attaches_to_btf(program.prog_type) && !is_replacement && !of_program
}

/// The program types whose calls are not rejected.
const REFERENCE: Release = Release { major: 6, minor: 18 };

/// The kernel's message about something that it does not know.
fn said_of(item: Item) -> Option<String> {
    Some(match item {
        Item::Helper(id) => format!("invalid func unknown#{}", id.number()),
        _ => return None,
    })
}

/// A kfunc of the kernel itself, not of a module: either its BTF has it, or the kernel does not.
fn names_core_kfunc(message: &str) -> bool {
    let mut words = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| Kfunc::find(word).is_some_and(|it| !it.name.contains("test")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_insn::Insn;
    use skep_insn::code::{BPF_DW, BPF_LDX, BPF_MEM, BPF_PSEUDO_FUNC, BPF_W};
    use skep_program::{MapDef, Program};
    use skep_uapi::MapType;

    fn program(insns: &[(u8, i16, i32)]) -> Program {
        let insn = |&(code, off, imm): &(u8, i16, i32)| Insn { code, off, imm, ..Insn::default() };
        Program {
            prog_type: ProgType::Xdp,
            insns: insns.iter().map(insn).collect(),
            ..Program::default()
        }
    }

    fn told(kernel: &str, program: &Program) -> Option<String> {
        let kernel = Kernel::open(kernel).expect("asked");
        let needs = Needs::at(program, 0..program.insns.len());
        kernel.lacks(&needs).map(|lack| lack.to_string())
    }

    #[test]
    fn what_is_missing_is_told_with_its_release() {
        let calls_loop = program(&[(0xb7, 0, 0), (0x85, 0, 181)]);
        assert_eq!(told("5.10", &calls_loop).as_deref(), Some("bpf_loop: helper since 5.17"));
        assert_eq!(told("6.1", &calls_loop), None);
        let extends = program(&[(0xbf, 8, 0)]);
        assert_eq!(told("6.1", &extends).as_deref(), Some("movsx: insn since 6.6"));
        assert_eq!(told("6.12", &extends), None);
        let jumps = program(&[(0x06, 0, 0)]);
        assert_eq!(told("5.10", &jumps).as_deref(), Some("gotol: insn since 6.6"));
        assert_eq!(told("6.1", &jumps), None, "by an update");
        let syscall = Program { prog_type: ProgType::Syscall, ..Program::default() };
        assert_eq!(told("5.10", &syscall).as_deref(), Some("syscall: program type since 5.14"));
        let map = |autocreate| MapDef { map_type: MapType::Arena, autocreate, ..MapDef::default() };
        let mapped = Program { maps: vec![map(true)].into(), ..program(&[]) };
        assert_eq!(told("6.1", &mapped).as_deref(), Some("arena: map type since 6.9"));
        let optional = Program { maps: vec![map(false)].into(), ..program(&[]) };
        assert_eq!(told("6.1", &optional), None, "it is not created");
    }

    #[test]
    fn a_later_field_is_told_with_its_release() {
        let program = Program {
            prog_type: ProgType::SchedCls,
            ..program(&[(BPF_LDX | BPF_MEM | BPF_DW, 184, 0), (BPF_LDX | BPF_MEM | BPF_W, 0, 0)])
        };
        let told = |kernel: &str, insn_idx| {
            let kernel = Kernel::open(kernel).expect("known");
            let refused = Refused { insn_idx: Some(insn_idx), kind: "no-such-context-field" };
            kernel.lacks_refused(&program, &refused).map(|lack| lack.to_string())
        };
        assert_eq!(told("5.10", 0).as_deref(), Some("__sk_buff.hwtstamp: field since 5.16"));
        assert_eq!(told("5.15", 0).as_deref(), Some("__sk_buff.hwtstamp: field since 5.16"));
        assert_eq!(told("6.1", 0), None);
        assert_eq!(told("5.10", 1), None, "every kernel has it");
    }

    #[test]
    fn what_is_not_reached_is_not_missed() {
        let program = program(&[(0xb7, 0, 0), (0x85, 0, 181)]);
        let kernel = Kernel::open("5.10").expect("asked");
        let lacks = |end| kernel.lacks(&Needs::at(&program, 0..end));
        assert_eq!(lacks(1), None);
        assert_eq!(lacks(2).and_then(|lack| lack.insn_idx), Some(1));
    }

    #[test]
    fn an_lsm_program_needs_its_attach_type() {
        let hook = Program {
            prog_type: ProgType::Lsm,
            expected_attach_type: AttachType::LsmCgroup.number(),
            ..program(&[])
        };
        assert_eq!(told("5.10", &hook).as_deref(), Some("lsm_cgroup: attach type since 6.0"));
        assert_eq!(told("6.1", &hook), None);
    }

    /// 5.10, 6.1 and 6.12 answer `unknown func bpf_get_cgroup_classid#17` for `tcp_congestion_ops`.
    #[test]
    fn members_of_struct_ops_call_what_tracing_programs_may() {
        let member = Program { prog_type: ProgType::StructOps, ..program(&[(0x85, 0, 17)]) };
        for name in ["5.10", "6.1", "6.12"] {
            let said = told(name, &member);
            let missing = "bpf_get_cgroup_classid: not for struct_ops programs yet (since a \
                           release after 6.14.0-37 and up to 6.16.12)";
            assert_eq!(said.as_deref(), Some(missing), "{name}");
        }
        assert_eq!(told("6.16", &member), None);
    }

    #[test]
    fn a_rejected_insn_is_missed_if_it_came_later() {
        let address = Insn { code: 0x18, dst: 2, src: BPF_PSEUDO_FUNC, ..Insn::default() };
        let swap = Insn { code: 0xd7, imm: 16, ..Insn::default() };
        let program = Program { insns: vec![address, Insn::default(), swap], ..program(&[]) };
        let told = |kernel: &str, insn_idx, kind| {
            let kernel = Kernel::open(kernel).expect("asked");
            let lack = kernel.lacks_refused(&program, &Refused { insn_idx, kind });
            lack.map(|lack| lack.to_string())
        };
        let called_back = Some("callback: insn since 5.13".to_owned());
        assert_eq!(told("5.10", Some(0), "unknown-wide-constant"), called_back);
        assert_eq!(told("5.10", None, "function-info-count"), called_back);
        assert_eq!(told("6.1", Some(0), "unknown-wide-constant"), None);
        let swapped = Some("bswap: insn since 6.6".to_owned());
        assert_eq!(told("6.1", Some(2), "unknown-opcode"), swapped);
        assert_eq!(told("6.1", Some(2), "uninitialized-register"), None);
        assert_eq!(told("6.12", Some(2), "unknown-opcode"), None);
    }

    /// 6.1 does not know the cast of an address in the arena either, but is not asked.
    #[test]
    fn a_map_is_missed_before_an_insn() {
        let map = |autocreate| MapDef { map_type: MapType::Arena, autocreate, ..MapDef::default() };
        let told = |kernel: &str, autocreate| {
            let kernel = Kernel::open(kernel).expect("asked");
            let cast = program(&[(0xbf, 1, 1)]);
            let program = Program { maps: vec![map(autocreate)].into(), ..cast };
            let refused = Refused { insn_idx: Some(0), kind: "reserved-fields" };
            kernel.lacks_refused(&program, &refused).map(|lack| lack.to_string())
        };
        let arena = Some("arena: map type since 6.9".to_owned());
        assert_eq!(told("6.1", true), arena);
        assert_ne!(told("6.1", false), arena, "it is not created");
        assert_eq!(told("6.12", true), None);
    }

    #[test]
    fn the_newest_need_decides_the_oldest_release() {
        let program = program(&[(0x85, 0, 181), (0x85, 0, 1), (0xbf, 8, 0)]);
        let newest = Needs::at(&program, 0..3).newest().map(|(item, _)| item.to_string());
        assert_eq!(newest.as_deref(), Some("movsx: insn since 6.6"));
    }

    #[test]
    fn a_kernel_of_the_table_is_as_upstream() {
        let calls_loop = program(&[(0x85, 0, 181)]);
        assert_eq!(told("5.15", &calls_loop).as_deref(), Some("bpf_loop: helper since 5.17"));
        assert_eq!(told("6.6", &calls_loop), None);
        let kernel = Kernel::open("6.6").expect("in the table");
        assert!(!kernel.was_asked());
    }
}
