//! What a program needs that a kernel does not have.

use super::Kernel;
use skep_btf::Kind;
use skep_insn::Insn;
use skep_insn::code::{BPF_CALL, BPF_JMP};
use skep_program::Program;
use skep_uapi::helper::HelperId;
use skep_uapi::since::{self, Fields, Release};
use std::fmt;

/// The first thing that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The insn that needs it; `None` if the program as a whole does.
    pub insn_idx: Option<usize>,
    /// `bpf_loop: helper since 5.17`.
    pub what: String,
    /// The kernel's BTF, or a kernel of this release, says so; else only the table of releases.
    pub is_sure: bool,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Kernel {
    /// What the program needs and this kernel does not have; `reached` are the insns that a walk
    /// comes to: what is never reached is missed by nobody.
    pub fn lacks(&self, program: &Program, reached: impl Iterator<Item = usize>) -> Option<Lack> {
        let whole = self.lacks_type(program).or_else(|| self.lacks_map(program));
        let mut reached: Vec<usize> = reached.collect();
        reached.sort_unstable();
        let in_insns = || {
            reached.into_iter().find_map(|at| {
                let insn = program.insns.get(at)?;
                let lack = self.lacks_helper(insn).or_else(|| self.lacks_insn(insn))?;
                Some(Lack { insn_idx: Some(at), ..lack })
            })
        };
        whole.or_else(in_insns)
    }

    fn lacks_type(&self, program: &Program) -> Option<Lack> {
        let of = program.prog_type;
        let since = since::prog_type(of)?;
        self.lack(("bpf_prog_type", of as u32), since, || (of.name().to_owned(), "program type"))
    }

    fn lacks_map(&self, program: &Program) -> Option<Lack> {
        program.maps.iter().filter(|map| map.autocreate).find_map(|map| {
            let of = map.map_type;
            let since = since::map_type(of)?;
            self.lack(("bpf_map_type", of as u32), since, || (of.name().to_owned(), "map type"))
        })
    }

    fn lacks_helper(&self, insn: &Insn) -> Option<Lack> {
        if insn.code != BPF_JMP | BPF_CALL || insn.src != 0 {
            return None;
        }
        let id = HelperId::from_number(u32::try_from(insn.imm).ok()?)?;
        let since = since::helper(id)?;
        self.lack(("bpf_func_id", id as u32), since, || (id.name().to_owned(), "helper"))
    }

    /// BTF says nothing of insns.
    fn lacks_insn(&self, insn: &Insn) -> Option<Lack> {
        let fields = Fields { code: insn.code, off: insn.off, imm: insn.imm };
        let feature = since::insn(fields).filter(|it| it.since > self.version)?;
        if since::BACKPORTED.contains(&(self.release.as_str(), feature.name)) {
            return None;
        }
        let what = format!("{}: insn since {}", feature.name, feature.since);
        Some(Lack { insn_idx: None, what, is_sure: self.asked })
    }

    /// Whether the kernel lacks the value of one of its enumerations.
    fn lack(
        &self,
        (list, number): (&str, u32),
        since: Release,
        names: impl Fn() -> (String, &'static str),
    ) -> Option<Lack> {
        let by_btf = self.has(list, number);
        if by_btf.unwrap_or(since <= self.version) {
            return None;
        }
        let (name, kind) = names();
        let what = format!("{name}: {kind} since {since}");
        Some(Lack { insn_idx: None, what, is_sure: by_btf.is_some() || self.asked })
    }

    /// Whether an enumeration of the kernel's BTF has this value; `None` if there is none. The last
    /// value but one counts them all.
    fn has(&self, list: &str, number: u32) -> Option<bool> {
        let btf = self.btf.as_ref()?;
        let list = btf.ty(btf.find_by_name_kind(list, Kind::Enum)?);
        let counts = |name: &str| name.starts_with("__");
        let mut values = list.enumerators().filter(|it| !counts(it.name));
        Some(values.any(|it| it.value == u64::from(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_program::MapDef;
    use skep_uapi::{MapType, ProgType};

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
        kernel.lacks(program, 0..program.insns.len()).map(|lack| lack.to_string())
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
    fn what_is_not_reached_is_not_missed() {
        let program = program(&[(0xb7, 0, 0), (0x85, 0, 181)]);
        let kernel = Kernel::open("5.10").expect("asked");
        assert_eq!(kernel.lacks(&program, 0..1), None);
        assert_eq!(kernel.lacks(&program, 0..2).and_then(|lack| lack.insn_idx), Some(1));
    }
}
