//! `ObjectMaps`: the maps of one object, by index and name, with their initial contents.

use crate::Error;
use crate::map::registry::Registry;
use crate::map::{Map, MapHandle, verified_as};
use skep_btf::Btf;
use skep_program::{MapDef, Program, SlotTarget};
use skep_verifier::Xlated;
use std::borrow::Cow;
use std::sync::Arc;

/// The maps of one object, which its programs share.
#[derive(Debug)]
pub struct ObjectMaps {
    defs: Arc<[MapDef]>,
    btf: Option<Arc<Btf>>,
    maps: Vec<Result<MapHandle, Error>>,
    /// The registry of the runtime to which they belong.
    registry: Arc<Registry>,
}

impl ObjectMaps {
    /// Creates a map with `create` for each definition, in the runtime with that registry.
    pub(crate) fn new(
        defs: &Arc<[MapDef]>,
        btf: Option<&Arc<Btf>>,
        registry: &Arc<Registry>,
        create: impl Fn(&MapDef) -> Result<MapHandle, Error>,
    ) -> ObjectMaps {
        let maps = defs.iter().map(|def| {
            let map = create(def)?;
            if !def.contents.is_empty() {
                let mut value = Cow::Borrowed(&def.contents[..]);
                if value.len() < map.value_len() {
                    let (value, len) = (value.to_mut(), map.value_len());
                    value.try_reserve_exact(len - value.len()).map_err(|_| {
                        Error::input(format!("map '{}': no memory for {len} bytes", def.name))
                    })?;
                    value.resize(len, 0);
                }
                let filled = map.fill(&[0; 4], &value);
                filled.map_err(|errno| {
                    Error::input(format!("map '{}': {errno}", def.name)).because(errno)
                })?;
            }
            Ok(map)
        });
        let (maps, registry) = (maps.collect(), registry.clone());
        let maps = ObjectMaps { maps, defs: defs.clone(), btf: btf.cloned(), registry };
        maps.fill_map_slots();
        maps
    }

    /// Every map, by its index in the object, or why it could not be created.
    pub fn all(&self) -> &[Result<MapHandle, Error>] {
        &self.maps
    }

    /// The map of that name.
    ///
    /// # Errors
    ///
    /// There is none, or it could not be created.
    pub fn get(&self, name: &str) -> Result<&MapHandle, Error> {
        let index = self.defs.iter().position(|def| def.name == name);
        let found = index.and_then(|index| self.maps.get(index));
        let missing = || {
            let names: Vec<&str> = self.defs.iter().map(|def| &*def.name).collect();
            Error::input(format!("no map '{name}'; there are: {}", names.join(", ")))
        };
        found.ok_or_else(missing)?.as_ref().map_err(Clone::clone)
    }

    /// Whether they belong to the runtime with this registry.
    pub(crate) fn is_of(&self, registry: &Arc<Registry>) -> bool {
        Arc::ptr_eq(&self.registry, registry)
    }

    /// The maps to which a program's insns refer, by `MapIdx`, checked against those it was
    /// verified with.
    pub(crate) fn used_by(
        &self,
        program: &Program,
        xlated: &Xlated,
    ) -> Result<Vec<Option<Arc<Map>>>, Error> {
        use skep_insn::code::{BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE};
        let mut used = vec![None; program.maps.len()];
        let mut insns = xlated.insns().iter();
        while let Some(insn) = insns.next() {
            if !insn.is_ld_imm64() {
                continue;
            }
            insns.next();
            if !matches!(insn.src, BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_VALUE) {
                continue;
            }
            let index = insn.imm as usize;
            if let Some(slot @ None) = used.get_mut(index) {
                *slot = Some(self.of_program(program, index)?.clone());
            }
        }
        Ok(used)
    }

    /// The map with this index that a program was verified with.
    fn of_program(&self, program: &Program, index: usize) -> Result<&Arc<Map>, Error> {
        let map = self.maps.get(index).ok_or_else(|| Error::input(format!("no map {index}")))?;
        let map = map.as_ref().map_err(Clone::clone)?.shared();
        let (made, verified) = (self.defs.get(index), program.maps.get(index));
        let (Some(made), Some(verified)) = (made, verified) else {
            return Err(Error::bug(format!("map {index} has no definition")));
        };
        let same_btf = match (&self.btf, &program.btf) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        if same_btf && std::ptr::eq(made, verified) {
            return Ok(map);
        }
        match verified_as::difference((made, self.btf.as_ref()), (verified, program.btf.as_ref())) {
            None => Ok(map),
            Some(what) => Err(Error::input(format!(
                "map '{}' is not what the program was verified with: {what}",
                made.name
            ))),
        }
    }

    /// Slots that the object fills with its own maps.
    fn fill_map_slots(&self) {
        for (def, map) in self.defs.iter().zip(&self.maps) {
            let Ok(map) = map else { continue };
            for slot in &def.slots {
                let SlotTarget::Map(inner) = &slot.target else { continue };
                if let Some(Ok(inner)) = self.maps.get(inner.0 as usize) {
                    // A map that does not match is left out, like one that could not be created.
                    let _ = map.fill(&slot.index.to_ne_bytes(), &inner.map().id().to_ne_bytes());
                }
            }
        }
    }

    /// Slots that the object fills with the program just loaded.
    pub(crate) fn fill_prog_slots(&self, loaded: &str, id: u32) -> Result<(), Error> {
        for (def, map) in self.defs.iter().zip(&self.maps) {
            let Ok(map) = map else { continue };
            for slot in &def.slots {
                let SlotTarget::Prog(name) = &slot.target else { continue };
                if name == loaded {
                    map.fill(&slot.index.to_ne_bytes(), &id.to_ne_bytes()).map_err(|errno| {
                        let what = format!("slot {} of map '{}'", slot.index, def.name);
                        let text = format!("storing program '{name}' in {what}: {errno}");
                        Error::input(text).because(errno)
                    })?;
                }
            }
        }
        Ok(())
    }
}
