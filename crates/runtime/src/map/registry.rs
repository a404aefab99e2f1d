//! Maps and programs by id: user space refers to them by id in values of prog arrays and maps of
//! maps. (bpf(2) takes file descriptors there, and returns ids.)

use super::Map;
use super::prog_registry::ProgRegistry;
use crate::objects::Objects;
use skep_mem::Budget;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

pub(crate) struct Registry {
    /// Objects that programs made.
    pub(crate) objects: Arc<Objects>,
    pub(crate) progs: Arc<ProgRegistry>,
    maps: Mutex<HashMap<u32, Weak<Map>>>,
}

impl Registry {
    /// No maps; the memory of objects is charged to the budget.
    pub(crate) fn new(budget: &Arc<Budget>) -> Registry {
        let (progs, maps) = Default::default();
        Registry { objects: Arc::new(Objects::new(budget)), progs, maps }
    }

    pub(crate) fn add_map(&self, map: &Arc<Map>) {
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        maps.insert(map.id(), Arc::downgrade(map));
    }

    pub(crate) fn map(&self, id: u32) -> Option<Arc<Map>> {
        self.maps.lock().unwrap_or_else(PoisonError::into_inner).get(&id)?.upgrade()
    }

    /// All maps that are in use.
    pub(crate) fn maps(&self) -> Vec<Arc<Map>> {
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        maps.retain(|_, map| map.strong_count() > 0);
        maps.values().filter_map(Weak::upgrade).collect()
    }

    /// Frees replaced items that no run can use any more, unless the maps are locked: in a child of
    /// `fork`, possibly by a thread that does not exist in it.
    pub(crate) fn settle(&self) {
        self.objects.settle();
        let Ok(maps) = self.maps.try_lock() else { return };
        let maps: Vec<_> = maps.values().filter_map(Weak::upgrade).collect();
        maps.iter().for_each(|map| map.kind().settle());
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Registry")
    }
}
