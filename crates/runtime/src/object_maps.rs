//! `ObjectMaps`: the maps of one object, by index and name, with what the object puts in.

use crate::instance::Instance;
use crate::map::MapHandle;
use crate::{Error, Runtime};
use skep_btf::Btf;
use skep_program::{MapDef, SlotTarget};
use std::sync::Arc;

/// The maps of one object, which its programs share.
#[derive(Debug)]
pub struct ObjectMaps {
    defs: Arc<[MapDef]>,
    maps: Vec<Result<MapHandle, Error>>,
}

impl ObjectMaps {
    pub(crate) fn new(
        runtime: &Runtime,
        defs: &Arc<[MapDef]>,
        btf: Option<&Arc<Btf>>,
    ) -> ObjectMaps {
        let maps = defs.iter().map(|def| {
            let map = runtime.create_map(def, btf)?;
            if !def.contents.is_empty() {
                let filled = map.fill(&[0; 4], &def.contents);
                filled.map_err(|errno| Error::input(format!("map '{}': {errno}", def.name)))?;
            }
            Ok(map)
        });
        let maps = ObjectMaps { maps: maps.collect(), defs: defs.clone() };
        maps.fill_map_slots();
        maps
    }

    /// Every map, by its index in the object; or why it could not be made.
    pub fn all(&self) -> &[Result<MapHandle, Error>] {
        &self.maps
    }

    /// The map of that name.
    ///
    /// # Errors
    ///
    /// There is none, or it could not be made.
    pub fn get(&self, name: &str) -> Result<&MapHandle, Error> {
        let index = self.defs.iter().position(|def| def.name == name);
        let found = index.and_then(|index| self.maps.get(index));
        let missing = || {
            let names: Vec<&str> = self.defs.iter().map(|def| &*def.name).collect();
            Error::input(format!("no map '{name}'; there are: {}", names.join(", ")))
        };
        found.ok_or_else(missing)?.as_ref().map_err(Clone::clone)
    }

    /// Slots that the object fills with its own maps.
    fn fill_map_slots(&self) {
        for (def, map) in self.defs.iter().zip(&self.maps) {
            let Ok(map) = map else { continue };
            for slot in &def.slots {
                let SlotTarget::Map(inner) = &slot.target else { continue };
                if let Some(Ok(inner)) = self.maps.get(inner.0 as usize) {
                    // A map that does not fit stays out, as one that could not be made does.
                    let _ = map.fill(&slot.index.to_ne_bytes(), &inner.map().id().to_ne_bytes());
                }
            }
        }
    }

    /// Slots that the object fills with the program that was loaded now.
    pub(crate) fn fill_prog_slots(&self, instance: &Instance) -> Result<(), Error> {
        for (def, map) in self.defs.iter().zip(&self.maps) {
            let Ok(map) = map else { continue };
            for slot in &def.slots {
                let SlotTarget::Prog(name) = &slot.target else { continue };
                if name == instance.name() {
                    let id = instance.id().to_ne_bytes();
                    map.fill(&slot.index.to_ne_bytes(), &id).map_err(|errno| {
                        let what = format!("slot {} of map '{}'", slot.index, def.name);
                        Error::input(format!("put program '{name}' into {what}: {errno}"))
                    })?;
                }
            }
        }
        Ok(())
    }
}
