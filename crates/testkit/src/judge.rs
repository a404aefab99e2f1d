//! A [`Program`] in, the host kernel's answer out: the maps are made as their definitions say, map
//! indices become descriptors, the BTF is loaded, the program is loaded, and everything is closed
//! again.
//!
//! # Invariants
//! 1. The insns that the kernel gets are the program's, but for the descriptors of maps.
//! 2. [`Answer::NotJudged`] means that the verifier did not look at the program: it is neither
//!    agreement nor disagreement.

use crate::kernel::{self, Errno, Map, MapCreate, ProgLoad, errno_name};
use crate::kernel_log::KernelStats;
use skep::insn::code::{BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE};
use skep::insn::{Endian, Insn, encode_all};
use skep::program::{AttachTarget, MapDef, Program};
use skep::uapi::{MapType, ProgType};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// The host's byte order.
const NATIVE: Endian = if cfg!(target_endian = "little") { Endian::Little } else { Endian::Big };

/// What the kernel says of a program.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The verifier looked at it.
    Judged(Judgement),
    /// It did not come to that.
    NotJudged {
        /// In a few words, the same for the same cause, so that reasons can be counted.
        reason: String,
        /// What is particular to this program; may be empty.
        detail: String,
    },
}

/// The verifier's answer.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The program was accepted.
    pub accepted: bool,
    /// errno of a refusal, else 0.
    pub errno: i32,
    /// The log at the level asked for.
    pub log: String,
    /// Only the end of the log is there (longer than 1 GiB).
    pub log_truncated: bool,
    /// The numbers of the log's last lines; absent where the kernel refused before counting.
    pub stats: Option<KernelStats>,
    /// `verified_insns` of the program's info, 0 if refused.
    pub verified_insns: u32,
}

/// A map made for a program, with its inner map where it has one.
struct Made {
    map: Map,
    _inner: Option<Map>,
}

/// Loads `program` into the host kernel at `log_level` (1 or 2, + 4 for statistics) and closes it
/// again.
pub fn judge(program: &Program, log_level: u32) -> Answer {
    match try_judge(program, log_level) {
        Ok(judgement) => Answer::Judged(judgement),
        Err((reason, detail)) => Answer::NotJudged { reason, detail },
    }
}

/// The program as libbpf would load it: without BTF, and what refers to it, if the kernel refuses
/// the BTF (only struct_ops programs cannot do without).
pub fn as_loaded(program: &Program) -> Cow<'_, Program> {
    if program.prog_type == ProgType::StructOps || load_btf(program).is_ok() {
        return Cow::Borrowed(program);
    }
    let without = |map: &MapDef| MapDef {
        btf_key_type_id: 0,
        btf_value_type_id: 0,
        inner: map.inner.as_deref().map(|inner| {
            Box::new(MapDef { btf_key_type_id: 0, btf_value_type_id: 0, ..inner.clone() })
        }),
        ..map.clone()
    };
    Cow::Owned(Program {
        btf: None,
        func_info: Vec::new(),
        line_info: Vec::new(),
        maps: program.maps.iter().map(without).collect(),
        ..program.clone()
    })
}

/// Reason and detail of a program that is not judged.
type NotJudged = (String, String);

fn try_judge(program: &Program, log_level: u32) -> Result<Judgement, NotJudged> {
    let attach_btf_id = match &program.attach {
        AttachTarget::None => 0,
        AttachTarget::Kernel { btf_id, .. } => *btf_id,
        AttachTarget::Unresolved(name) => {
            return Err(("attach target absent".to_owned(), name.clone()));
        }
    };
    let btf = load_btf(program)?;
    let btf_fd = btf.as_ref().map(AsRawFd::as_raw_fd);
    let maps = make_maps(program, btf_fd)?;
    let insns = encode_all(&insns_with_fds(&program.insns, &maps), NATIVE);
    let (func_info, line_info) = debug_info(program, btf_fd);
    let loaded = kernel::prog_load(&ProgLoad {
        prog_type: program.prog_type as u32,
        expected_attach_type: program.expected_attach_type,
        prog_flags: program.prog_flags.bits(),
        name: program.kernel_name(),
        license: &program.license,
        kern_version: program.kern_version,
        insns: &insns,
        btf: btf_fd,
        func_info: (&func_info, 8),
        line_info: (&line_info, 16),
        attach_btf_id,
        attach_obj: None,
        fd_array: &[],
        log_level,
    });
    if let (Err(errno), true) = (&loaded.result, loaded.log.is_empty() && log_level != 0) {
        return Err((refused_without_log(*errno), String::new()));
    }
    let verified_insns =
        loaded.result.as_ref().ok().and_then(|prog| kernel::verified_insns(prog).ok());
    Ok(Judgement {
        accepted: loaded.result.is_ok(),
        errno: loaded.result.as_ref().map_or_else(|e| e.errno, |_| 0),
        stats: KernelStats::parse(&loaded.log),
        log: loaded.log,
        log_truncated: loaded.log_truncated,
        verified_insns: verified_insns.unwrap_or(0),
    })
}

/// EPERM without a log is how this kernel refuses a program that needs a trampoline; other codes
/// are attributes that it does not take.
fn refused_without_log(errno: Errno) -> String {
    match errno.errno {
        libc::EPERM => "EPERM without log (trampoline)".to_owned(),
        other => format!("{} without log", errno_name(other)),
    }
}

fn load_btf(program: &Program) -> Result<Option<OwnedFd>, NotJudged> {
    let Some(btf) = &program.btf else { return Ok(None) };
    let bytes = btf.to_bytes(skep::btf::Endian::NATIVE);
    match kernel::btf_load(&bytes) {
        Ok(fd) => Ok(Some(fd)),
        Err((errno, log)) => {
            let line = log.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or_default();
            Err((format!("BTF refused: {}", errno_name(errno.errno)), line.to_owned()))
        }
    }
}

/// The maps that the insns name, by index.
fn make_maps(program: &Program, btf: Option<RawFd>) -> Result<BTreeMap<u32, Made>, NotJudged> {
    let mut maps = BTreeMap::new();
    for insn in program.insns.iter().filter(|insn| refers_to_map(insn)) {
        let index = insn.imm as u32;
        if let (Some(def), Entry::Vacant(slot)) =
            (program.maps.get(index as usize), maps.entry(index))
        {
            slot.insert(make_map(def, btf)?);
        }
    }
    Ok(maps)
}

fn make_map(def: &MapDef, btf: Option<RawFd>) -> Result<Made, NotJudged> {
    let inner = match &def.inner {
        Some(inner) => Some(create(inner, btf, None)?),
        None => None,
    };
    let map = create(def, btf, inner.as_ref().map(Map::fd))?;
    let filled =
        !def.contents.is_empty() && !matches!(def.map_type, MapType::StructOps | MapType::Arena);
    let refused = |what: &str, errno: Errno| {
        let reason = format!("map {what} refused: {}", errno_name(errno.errno));
        (reason, format!("{} {}", def.map_type.name(), def.name))
    };
    if filled {
        map.update(&[0; 4], &def.contents).map_err(|errno| refused("contents", errno))?;
    }
    if def.frozen {
        map.freeze().map_err(|errno| refused("freeze", errno))?;
    }
    Ok(Made { map, _inner: inner })
}

/// Where user space would have mapped an arena that does not say it: the verifier only wants an
/// address.
const ARENA_ADDRESS: u64 = 1 << 44;

fn create(def: &MapDef, btf: Option<RawFd>, inner_map: Option<RawFd>) -> Result<Map, NotJudged> {
    let no_address = def.map_type == MapType::Arena && def.map_extra == 0;
    let has_btf = def.btf_key_type_id != 0
        || def.btf_value_type_id != 0
        || def.btf_vmlinux_value_type_id != 0;
    let with_btf = MapCreate {
        map_type: def.map_type as u32,
        key_size: def.key_size,
        value_size: def.value_size,
        max_entries: def.max_entries,
        flags: def.map_flags.bits(),
        inner_map,
        numa_node: def.numa_node,
        name: def.kernel_name(),
        btf: btf.filter(|_| has_btf),
        btf_key_type_id: def.btf_key_type_id,
        btf_value_type_id: def.btf_value_type_id,
        btf_vmlinux_value_type_id: def.btf_vmlinux_value_type_id,
        map_extra: if no_address { ARENA_ADDRESS } else { def.map_extra },
    };
    let refused = |errno: Errno| {
        let reason = format!("map refused: {}: {}", def.map_type.name(), errno_name(errno.errno));
        (reason, def.name.clone())
    };
    Map::create(&with_btf).map_err(refused)
}

fn refers_to_map(insn: &Insn) -> bool {
    insn.is_ld_imm64() && matches!(insn.src, BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_VALUE)
}

/// The insns with descriptors for map indices. A negative index is the descriptor which the file
/// holds by number (`Program`, invariant 1); any other that names no map becomes -1.
fn insns_with_fds(insns: &[Insn], maps: &BTreeMap<u32, Made>) -> Vec<Insn> {
    let mut insns = insns.to_vec();
    for insn in insns.iter_mut().filter(|insn| refers_to_map(insn)) {
        let raw = if insn.imm < 0 { !insn.imm } else { -1 };
        insn.imm = maps.get(&(insn.imm as u32)).map_or(raw, |made| made.map.fd());
    }
    insns
}

/// `bpf_func_info` and `bpf_line_info` records; none without BTF, which they refer to.
fn debug_info(program: &Program, btf: Option<RawFd>) -> (Vec<u8>, Vec<u8>) {
    if btf.is_none() {
        return (Vec::new(), Vec::new());
    }
    let words = |words: &[u32]| words.iter().flat_map(|w| w.to_ne_bytes()).collect::<Vec<u8>>();
    let func = program.func_info.iter().flat_map(|f| words(&[f.insn_off.0, f.type_id]));
    let line = program
        .line_info
        .iter()
        .flat_map(|l| words(&[l.insn_off.0, l.file_name_off, l.line_off, l.line_col]));
    (func.collect(), line.collect())
}
