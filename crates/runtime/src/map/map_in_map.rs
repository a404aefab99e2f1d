//! `BPF_MAP_TYPE_ARRAY_OF_MAPS` and `BPF_MAP_TYPE_HASH_OF_MAPS`: values that are maps.
//!
//! A program gets the inner map itself; user space stores and reads its id.
//!
//! Kernel: `array_of_maps_map_ops`, `htab_of_maps_map_ops`, `bpf_map_meta_equal` (6.18).

use super::Map;
use super::hash::Hash;
use super::kind::{BPF_EXIST, MapKind, index, next_index, shape};
use super::registry::Registry;
use super::setup::Setup;
use super::slots::Slots;
use super::value::ValueLayout;
use super::verified_as::Template;
use crate::{Errno, Error};
use skep_mem::Region;
use skep_mem::epoch;
use skep_mem::epoch::RetireList;
use skep_program::MapDef;
use skep_uapi::MapType;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The template of inner maps, and the runtime that contains them.
struct Inner {
    template: Template,
    registry: Arc<Registry>,
}

impl Inner {
    fn of(def: &MapDef, setup: &Setup) -> Result<Inner, Error> {
        let inner = def.inner.as_deref();
        let inner = inner.ok_or_else(|| Error::input("no inner map template"))?;
        // What a program may tail call is determined when it is loaded, before inner maps are
        // added.
        if inner.map_type == MapType::ProgArray {
            return Err(Error::input(format!("{}: inner prog arrays", Errno::ENOTSUPP))
                .because(Errno::ENOTSUPP));
        }
        if matches!(inner.map_type, MapType::ArrayOfMaps | MapType::HashOfMaps) {
            return Err(Error::input(format!("{}: maps of maps of maps", Errno::EINVAL))
                .because(Errno::EINVAL));
        }
        if inner.frozen {
            // The verifier would treat the template's constants as those of every inner map.
            return Err(Error::input("the template of its inner maps is frozen"));
        }
        let template = Template::of((inner, setup.btf.as_ref()));
        Ok(Inner { template, registry: setup.registry.clone() })
    }

    /// The map with the id in `value`, if it matches the template.
    fn find(&self, value: &[u8]) -> Result<Arc<Map>, Errno> {
        let map = self.registry.map(index(value)).ok_or(Errno::EBADF)?;
        if self.template.allows(map.template()) { Ok(map) } else { Err(Errno::EINVAL) }
    }
}

/// The value that programs receive for a map.
fn handle(map: &Arc<Map>) -> u64 {
    Arc::as_ptr(map) as u64
}

pub(super) struct ArrayOfMaps {
    slots: Slots<Map>,
    inner: Inner,
    count: u32,
}

impl ArrayOfMaps {
    pub(super) fn new(def: &MapDef, setup: &Setup) -> Result<ArrayOfMaps, Error> {
        let slots = Slots::new(def.max_entries, &setup.resources.budget)?;
        Ok(ArrayOfMaps { slots, inner: Inner::of(def, setup)?, count: def.max_entries })
    }
}

impl MapKind for ArrayOfMaps {
    fn lookup(&self, key: &[u8]) -> u64 {
        let index = index(key);
        if index < self.count { self.slots.word(index) } else { 0 }
    }

    fn update(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        if flags != 0 {
            return Err(Errno::EINVAL);
        }
        if index(key) >= self.count {
            return Err(Errno::E2BIG);
        }
        let map = self.inner.find(value)?;
        let word = handle(&map);
        self.slots.set(index(key), Some((map, word)));
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        self.slots.delete(index(key), self.count)
    }

    fn next_key(&self, key: Option<&[u8]>, next: &mut [u8]) -> Result<(), Errno> {
        next_index(key, self.count, next)
    }

    fn read(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let map = self.slots.get(index(key)).ok_or(Errno::ENOENT)?;
        Ok(map.id().to_ne_bytes().to_vec())
    }

    fn waits_for_runs(&self) -> bool {
        true
    }

    fn settle(&self) {
        self.slots.settle();
    }

    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        self.slots.locate(addr, size)
    }
}

pub(super) struct HashOfMaps {
    handles: Hash,
    /// The inner maps by key; this lock protects changes to `handles`.
    owners: Mutex<HashMap<Vec<u8>, Arc<Map>>>,
    replaced: RetireList<Arc<Map>>,
    inner: Inner,
}

impl HashOfMaps {
    pub(super) fn new(def: &MapDef, setup: &Setup) -> Result<HashOfMaps, Error> {
        let layout = ValueLayout::plain(8);
        Ok(HashOfMaps {
            handles: Hash::new(MapType::Hash, &shape(def), layout, &setup.resources)?,
            owners: Mutex::new(HashMap::new()),
            replaced: RetireList::new(),
            inner: Inner::of(def, setup)?,
        })
    }
}

impl MapKind for HashOfMaps {
    fn lookup(&self, key: &[u8]) -> u64 {
        let mut word = [0; 8];
        match self.handles.read_into(key, &mut word) {
            true => u64::from_ne_bytes(word),
            false => 0,
        }
    }

    fn update(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        if flags > BPF_EXIST {
            return Err(Errno::EINVAL);
        }
        let map = self.inner.find(value)?;
        let run = epoch::enter().map_err(|_| Errno::EAGAIN)?;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        self.handles.update(key, &handle(&map).to_ne_bytes(), flags)?;
        let old = owners.insert(key.to_vec(), map);
        drop((owners, run));
        old.into_iter().for_each(|old| self.replaced.retire(old));
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        let run = epoch::enter().map_err(|_| Errno::EAGAIN)?;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        self.handles.delete(key)?;
        let old = owners.remove(key);
        drop((owners, run));
        old.into_iter().for_each(|old| self.replaced.retire(old));
        Ok(())
    }

    fn next_key(&self, key: Option<&[u8]>, next: &mut [u8]) -> Result<(), Errno> {
        self.handles.next_key(key, next)
    }

    fn read(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let map = owners.get(key).ok_or(Errno::ENOENT)?;
        Ok(map.id().to_ne_bytes().to_vec())
    }

    fn waits_for_runs(&self) -> bool {
        true
    }

    fn settle(&self) {
        self.replaced.settle();
    }

    fn locate(&self, addr: u64, size: usize) -> Option<(&Region, usize)> {
        self.handles.locate(addr, size)
    }
}
