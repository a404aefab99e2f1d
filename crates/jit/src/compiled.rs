//! `Compiled`: the machine code of a program before relocation.

use crate::asm::AbsCall;
use crate::pc_map::PcMap;
use crate::sites::{PatchKind, PatchSite, SwitchSite, TailCallSite};
use crate::stats::StatsSites;
use crate::{PokeMode, Prologue};

/// A function of a program, as machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Name in the program's BTF; may be empty.
    pub name: String,
    /// Offset in the code.
    pub off: u32,
    /// Length in bytes.
    pub len: u32,
}

/// The machine code of a program, to be relocated by [`Relocations::apply`].
#[derive(Debug)]
pub struct Compiled {
    /// The bytes, before relocation.
    pub code: Vec<u8>,
    /// Relocations of the bytes.
    pub relocations: Relocations,
    /// Information about the bytes.
    pub info: CodeInfo,
}

/// Relocations: bytes that depend on the code's address, or on the addresses of its flags.
#[derive(Debug, Default)]
pub struct Relocations {
    pub(crate) calls: Vec<AbsCall>,
    /// Offsets in the code of the addresses of flags, by number.
    pub(crate) flags: Vec<u32>,
}

impl Relocations {
    /// Number of flags that the code tests: bytes in memory, in code that is not patched.
    pub fn flags(&self) -> u32 {
        self.flags.len() as u32
    }

    /// Relocates `code`, which will be at `address`; `flag` returns the address of each flag, by
    /// number. Calls reach their targets from every address in the range for which
    /// [`crate::compile`] was given the reach.
    pub fn apply(&self, code: &mut [u8], address: u64, flag: impl Fn(u32) -> u64) {
        for call in &self.calls {
            let at = call.disp_off as usize;
            let next = address + u64::from(call.disp_off) + 4;
            let disp = call.address.wrapping_sub(next) as i32;
            code[at..at + 4].copy_from_slice(&disp.to_le_bytes());
        }
        for (number, at) in (0..).zip(&self.flags) {
            let at = *at as usize;
            code[at..at + 8].copy_from_slice(&flag(number).to_le_bytes());
        }
    }
}

/// Information about machine code: entries, sites, and the insn of each byte. Offsets are those in
/// the code.
#[derive(Debug)]
pub struct CodeInfo {
    /// Entry point for the host.
    pub entry: u32,
    /// Entry point for tail calls.
    pub tail_entry: u32,
    /// The insn of each byte of the code.
    pub pc_map: PcMap,
    pub(crate) stats: StatsSites,
    /// Patched tail calls: those with a constant index whose arrays were linked as
    /// [`crate::ProgArrayLink::patched`]. All are vacant at first.
    pub tail_calls: Vec<TailCallSite>,
    /// How the switches are implemented, which may differ from the request.
    pub poke: PokeMode,
    /// The functions, in order, and the stubs of the statistics.
    pub symbols: Vec<Symbol>,
    /// The kind of prologue, which may differ from the request.
    pub prologue: Prologue,
    /// Whether fuel is counted.
    pub fuel: bool,
}

impl CodeInfo {
    /// The switch at the entry that enables counting of runs, if there is one.
    pub fn stats_entry(&self) -> Option<SwitchSite> {
        self.stats.entry
    }

    /// The switches that end the time of a run at a tail call.
    pub fn stats_tail_calls(&self) -> &[SwitchSite] {
        &self.stats.tail_calls
    }

    /// All patch sites, in code order.
    pub fn patch_sites(&self) -> Vec<PatchSite> {
        let site = |site: &SwitchSite, kind| PatchSite { off: site.off(), kind };
        let entry = self.stats.entry.iter().map(|s| site(s, PatchKind::StatsEntry));
        let ends = self.stats.tail_calls.iter().map(|s| site(s, PatchKind::StatsTailCall));
        let calls = self.tail_calls.iter().flat_map(|call| {
            let vacant = site(&call.vacant, PatchKind::TailCallVacant(call.map, call.index));
            let kind = PatchKind::TailCallJump(call.map, call.index);
            [vacant, PatchSite { off: call.jump.disp_off() - 1, kind }]
        });
        let mut sites: Vec<PatchSite> = entry.chain(ends).chain(calls).collect();
        sites.sort_unstable();
        sites
    }
}
