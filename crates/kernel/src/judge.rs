//! Judges a [`Program`] with the host kernel: the maps are created from their definitions, map
//! indices become descriptors, the BTF and the program are loaded, and everything is closed again.
//!
//! # Invariants
//! 1. The kernel gets the program's insns, except for the descriptors of maps.
//! 2. [`Answer::NotJudged`] means that the verifier did not run: it is neither agreement nor
//!    disagreement.

use crate::bpf::{self, Errno, ProgLoad, Records, errno_name};
use crate::kernel_log::KernelStats;
use crate::maps::{Maps, refers_to_map};
use crate::modules::{Modules, Named};
pub use crate::not_judged::NotJudged;
use skep_insn::{Endian, Insn, encode_all};
use skep_program::{AttachTarget, MapDef, Program};
use skep_uapi::ProgType;
use std::borrow::Cow;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;

/// The host's byte order.
const NATIVE: Endian = if cfg!(target_endian = "little") { Endian::Little } else { Endian::Big };

/// The kernel's result for a program.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The verifier ran.
    Judged(Judgement),
    /// The verifier did not run.
    NotJudged(NotJudged),
}

/// The verifier's answer.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The program was accepted.
    pub accepted: bool,
    /// errno of a rejection, else 0.
    pub errno: i32,
    /// The log at the requested level.
    pub log: String,
    /// Only the end of the log is there (longer than 1 GiB).
    pub log_truncated: bool,
    /// The numbers in the log's last lines; absent if the kernel rejected the program before
    /// counting.
    pub stats: Option<KernelStats>,
    /// `verified_insns` of the program's info, 0 if rejected.
    pub verified_insns: u32,
    /// Insns after all rewrites, 0 if rejected.
    pub xlated_insns: u32,
}

/// Loads `program` into the host kernel at `log_level` (1 or 2, + 4 for statistics) and closes it
/// again.
pub fn judge(program: &Program, log_level: u32) -> Answer {
    Prepared::new(program).map_or_else(Answer::NotJudged, |prepared| prepared.load(log_level))
}

/// The program as libbpf would load it: without BTF, and without references to it, if the kernel
/// rejects the BTF (only struct_ops programs need it). An inaccessible kernel rejects nothing.
pub fn as_loaded(program: &Program) -> Cow<'_, Program> {
    let takes_btf = || load_btf(program).is_ok() || bpf::available().is_err();
    if program.prog_type == ProgType::StructOps || takes_btf() {
        return Cow::Borrowed(program);
    }
    Cow::Owned(without_btf(program))
}

/// The program without its BTF and references to it.
pub fn without_btf(program: &Program) -> Program {
    let without = |map: &MapDef| MapDef {
        btf_key_type_id: 0,
        btf_value_type_id: 0,
        inner: map.inner.as_deref().map(|inner| {
            Box::new(MapDef { btf_key_type_id: 0, btf_value_type_id: 0, ..inner.clone() })
        }),
        ..map.clone()
    };
    Program {
        btf: None,
        func_info: Vec::new(),
        line_info: Vec::new(),
        maps: program.maps.iter().map(without).collect(),
        ..program.clone()
    }
}

/// A program whose maps and BTF are in the kernel: it can be loaded repeatedly.
///
/// Everything is closed on drop.
#[derive(Debug)]
pub struct Prepared<'a> {
    program: &'a Program,
    modules: Modules,
    /// The program whose function this one replaces, and the function.
    replaced: Option<(OwnedFd, u32)>,
    btf: Option<Rc<OwnedFd>>,
    /// Kept open, because `insns` contains their descriptors.
    _maps: Rc<Maps>,
    insns: Vec<u8>,
    func_info: Vec<u8>,
    line_info: Vec<u8>,
}

impl<'a> Prepared<'a> {
    /// Creates the maps, loads the BTF.
    ///
    /// # Errors
    ///
    /// What the kernel rejected.
    pub fn new(program: &'a Program) -> Result<Prepared<'a>, NotJudged> {
        Prepared::named(program, Named::of(program)?)
    }

    /// The same for a program whose module references were resolved by the caller.
    pub(crate) fn named(program: &'a Program, named: Named) -> Result<Prepared<'a>, NotJudged> {
        let modules = Modules::open(named)?;
        let btf = load_btf(program)?.map(Rc::new);
        let maps = Maps::make(program, btf.as_ref().map(|btf| btf.as_raw_fd()))?;
        let replaced = replaced(program)?;
        let prepared = Prepared::with_maps(program, modules, btf, Rc::new(maps));
        Ok(Prepared { replaced, ..prepared })
    }

    /// The same with existing maps.
    pub(crate) fn with_maps(
        program: &'a Program,
        modules: Modules,
        btf: Option<Rc<OwnedFd>>,
        maps: Rc<Maps>,
    ) -> Prepared<'a> {
        let mut insns = insns_with_fds(&program.insns, &maps);
        modules.apply(&mut insns);
        let insns = encode_all(&insns, NATIVE);
        let (func_info, line_info) = match btf {
            Some(_) => debug_info(program),
            // They refer to the BTF.
            None => (Vec::new(), Vec::new()),
        };
        let replaced = None;
        Prepared { program, modules, replaced, btf, _maps: maps, insns, func_info, line_info }
    }

    /// The tag that the kernel gives the program; `None` if it rejects it.
    pub fn tag(&self) -> Option<[u8; 8]> {
        bpf::tag(&self.load_open(0).result.ok()?).ok()
    }

    /// Loads the program at `log_level` (1 or 2, + 4 for statistics), and closes it again.
    pub fn load(&self, log_level: u32) -> Answer {
        let loaded = self.load_open(log_level);
        let no_reason = |errno: &Errno| match errno.errno {
            libc::EPERM => gives_no_reason(&loaded.log),
            _ => loaded.log.is_empty(),
        };
        if let Some(errno) =
            loaded.result.as_ref().err().filter(|it| log_level != 0 && no_reason(it))
        {
            return Answer::NotJudged(NotJudged::new(refused_without_log(*errno), ""));
        }
        let of_info = |number: fn(&OwnedFd) -> Result<u32, Errno>| {
            loaded.result.as_ref().ok().and_then(|prog| number(prog).ok()).unwrap_or(0)
        };
        let verified_insns = of_info(bpf::verified_insns);
        let xlated_insns = of_info(bpf::xlated_insns);
        Answer::Judged(Judgement {
            accepted: loaded.result.is_ok(),
            errno: loaded.result.as_ref().map_or_else(|e| e.errno, |_| 0),
            stats: KernelStats::parse(&loaded.log),
            log: loaded.log,
            log_truncated: loaded.log_truncated,
            verified_insns,
            xlated_insns,
        })
    }
}

impl Prepared<'_> {
    /// Loads the program; it lives as long as the descriptor.
    pub(crate) fn load_open(&self, log_level: u32) -> bpf::Loaded {
        let program = self.program;
        let (attach_btf_id, attach_obj) = match &self.replaced {
            Some((fd, id)) => (*id, Some(fd.as_raw_fd())),
            None => self.modules.target(),
        };
        bpf::prog_load(&ProgLoad {
            prog_type: program.prog_type as u32,
            expected_attach_type: program.expected_attach_type,
            prog_flags: program.prog_flags.bits(),
            name: program.kernel_name(),
            license: &program.license,
            kern_version: program.kern_version,
            insns: &self.insns,
            btf: self.btf.as_ref().map(|btf| btf.as_raw_fd()),
            func_info: Records { bytes: &self.func_info, record_bytes: 8 },
            line_info: Records { bytes: &self.line_info, record_bytes: 16 },
            attach_btf_id,
            attach_obj,
            fd_array: &self.modules.fd_array(),
            log_level,
        })
    }
}

/// Loads the program whose function this one replaces, if it replaces one.
fn replaced(program: &Program) -> Result<Option<(OwnedFd, u32)>, NotJudged> {
    let AttachTarget::Function(target) = &program.attach else { return Ok(None) };
    match Prepared::new(&target.program)?.load_open(0).result {
        Ok(fd) => Ok(Some((fd, target.btf_id))),
        Err(errno) => Err(NotJudged::new("target program refused", errno_name(errno.errno))),
    }
}

/// Whether a log says nothing about the program: it is empty, or only has the statistics of no
/// walk, as where a kernel's policy forbids iterators over map elements.
fn gives_no_reason(log: &str) -> bool {
    const STATISTICS: [&str; 3] = ["verification time ", "stack depth ", "processed 0 insns "];
    log.lines().all(|line| STATISTICS.iter().any(|it| line.starts_with(it)))
}

/// EPERM without a log is how this kernel rejects a program that needs a trampoline; other codes
/// indicate attributes that it rejects.
fn refused_without_log(errno: Errno) -> String {
    match errno.errno {
        libc::EPERM => "EPERM without log (trampoline)".to_owned(),
        other => format!("{} without log", errno_name(other)),
    }
}

pub(crate) fn load_btf(program: &Program) -> Result<Option<OwnedFd>, NotJudged> {
    let Some(btf) = &program.btf else { return Ok(None) };
    let bytes = btf.to_bytes(skep_btf::Endian::NATIVE);
    match bpf::btf_load(&bytes) {
        Ok(fd) => Ok(Some(fd)),
        Err((errno, log)) => {
            let line = log.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or_default();
            Err(NotJudged::new(format!("BTF refused: {}", errno_name(errno.errno)), line))
        }
    }
}

/// The insns with descriptors instead of map indices. A negative index is a descriptor given by
/// number in the file (`Program`, invariant 1); any other that refers to no map becomes -1.
fn insns_with_fds(insns: &[Insn], maps: &Maps) -> Vec<Insn> {
    let mut insns = insns.to_vec();
    for insn in insns.iter_mut().filter(|insn| refers_to_map(insn)) {
        let raw = if insn.imm < 0 { !insn.imm } else { -1 };
        insn.imm = maps.fd(insn.imm as u32).unwrap_or(raw);
    }
    insns
}

/// `bpf_func_info` and `bpf_line_info` records.
fn debug_info(program: &Program) -> (Vec<u8>, Vec<u8>) {
    let words = |words: &[u32]| words.iter().flat_map(|w| w.to_ne_bytes()).collect::<Vec<u8>>();
    let func = program.func_info.iter().flat_map(|f| words(&[f.insn_off.0, f.type_id]));
    let line = program
        .line_info
        .iter()
        .flat_map(|l| words(&[l.insn_off.0, l.file_name_off, l.line_off, l.line_col]));
    (func.collect(), line.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_no_reason() {
        let statistics = "verification time 3 usec\nstack depth 0\nprocessed 0 insns (limit 1)\n";
        assert!(gives_no_reason("") && gives_no_reason(statistics));
        assert!(!gives_no_reason("R0 !read_ok\nprocessed 0 insns (limit 1)\n"));
        assert!(!gives_no_reason("processed 1 insns (limit 1)\n"));
    }
}
