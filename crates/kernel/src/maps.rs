//! The maps of a program, created in the host kernel from their definitions.

use crate::bpf::{Errno, Map, MapCreate, errno_name};
use crate::not_judged::NotJudged;
use skep_insn::Insn;
use skep_insn::code::{BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE};
use skep_program::{MapDef, Program, SlotTarget};
use skep_uapi::MapType;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::os::fd::RawFd;

/// A map, with its inner map if it has one.
#[derive(Debug)]
struct Created {
    map: Map,
    _inner: Option<Map>,
}

/// The maps that a program's insns refer to, by index.
#[derive(Debug, Default)]
pub(crate) struct Maps(BTreeMap<u32, Created>);

impl Maps {
    /// Creates them; `btf` describes their keys and values.
    pub(crate) fn make(program: &Program, btf: Option<RawFd>) -> Result<Maps, NotJudged> {
        let mut maps = Maps::default();
        maps.add(program, btf)?;
        Ok(maps)
    }

    /// Creates those that the program refers to and that do not exist yet.
    pub(crate) fn add(&mut self, program: &Program, btf: Option<RawFd>) -> Result<(), NotJudged> {
        for insn in program.insns.iter().filter(|insn| refers_to_map(insn)) {
            let index = insn.imm as u32;
            if let (Some(def), Entry::Vacant(slot)) =
                (program.maps.get(index as usize), self.0.entry(index))
            {
                slot.insert(make_map(def, btf)?);
            }
        }
        Ok(())
    }

    /// Creates those that any of the programs, which share their maps, refers to, and fills their
    /// slots.
    pub(crate) fn make_all(programs: &[Program], btf: Option<RawFd>) -> Result<Maps, NotJudged> {
        let mut maps = BTreeMap::new();
        let Some(first) = programs.first() else { return Ok(Maps(maps)) };
        let insns = programs.iter().flat_map(|program| &program.insns);
        let mut wanted: Vec<u32> =
            insns.filter(|insn| refers_to_map(insn)).map(|insn| insn.imm as u32).collect();
        while let Some(index) = wanted.pop() {
            let Some(def) = first.maps.get(index as usize) else { continue };
            let Entry::Vacant(slot) = maps.entry(index) else { continue };
            slot.insert(make_map(def, btf)?);
            wanted.extend(def.slots.iter().filter_map(|slot| match &slot.target {
                SlotTarget::Map(inner) => Some(inner.0),
                SlotTarget::Prog(_) => None,
            }));
        }
        Ok(Maps(maps))
    }

    /// Drops those that bind to the first program that uses them: otherwise a program of another
    /// type would be rejected because of that.
    pub(crate) fn forget_bound(&mut self, program: &Program) {
        let binds = |index: u32| {
            let def = program.maps.get(index as usize);
            def.is_none_or(|def| BOUND.contains(&def.map_type))
        };
        self.0.retain(|&index, _| !binds(index));
    }

    /// A map.
    pub(crate) fn get(&self, index: u32) -> Option<&Map> {
        self.0.get(&index).map(|made| &made.map)
    }

    /// Indices of the created maps, ascending.
    pub(crate) fn indices(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }

    /// The descriptor of a map.
    pub(crate) fn fd(&self, index: u32) -> Option<RawFd> {
        self.0.get(&index).map(|made| made.map.fd())
    }
}

/// Maps that contain programs, and those that belong to one.
const BOUND: [MapType; 6] = [
    MapType::ProgArray,
    MapType::Devmap,
    MapType::DevmapHash,
    MapType::Cpumap,
    MapType::CgroupStorage,
    MapType::PercpuCgroupStorage,
];

/// Whether the insn refers to a map by its index.
pub(crate) fn refers_to_map(insn: &Insn) -> bool {
    insn.is_ld_imm64() && matches!(insn.src, BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_VALUE)
}

fn make_map(def: &MapDef, btf: Option<RawFd>) -> Result<Created, NotJudged> {
    let inner = match &def.inner {
        Some(inner) => Some(create(inner, btf, None)?),
        None => None,
    };
    let map = create(def, btf, inner.as_ref().map(Map::fd))?;
    let filled =
        !def.contents.is_empty() && !matches!(def.map_type, MapType::StructOps | MapType::Arena);
    let refused = |what: &str, errno: Errno| {
        let reason = format!("map {what} refused: {}", errno_name(errno.errno));
        NotJudged::new(reason, format!("{} {}", def.map_type.name(), def.name))
    };
    if filled {
        map.update(&[0; 4], &def.contents).map_err(|errno| refused("contents", errno))?;
    }
    if def.frozen {
        map.freeze().map_err(|errno| refused("freeze", errno))?;
    }
    Ok(Created { map, _inner: inner })
}

/// A mapping address for arenas without one: the verifier only needs some address.
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
        NotJudged::new(reason, &*def.name)
    };
    Map::create(&with_btf).map_err(refused)
}
