//! The programs of a runtime, by id, and what prog arrays need of them.

use super::ctx_need::{CtxNeed, Needs};
use super::prog_owner::ProgOwner;
use crate::stats::Counters;
use skep_interp::Linked;
use skep_text::poke::Target;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A program that can be tail called.
pub(crate) trait TailTarget: Send + Sync {
    /// Id of the program in this process.
    fn id(&self) -> u32;
    fn owner(&self) -> &ProgOwner;
    /// Length of context that its runs need; `None` if contexts of its type are always long enough.
    fn ctx_need(&self) -> Option<&Arc<CtxNeed>>;
    /// The address to which machine code jumps; 0 if there is none.
    fn tail_entry(&self) -> u64;
    /// The same for jumps that are patched.
    fn tail_target(&self) -> Option<Target>;
    /// What the interpreter continues with.
    fn linked(&self) -> &Arc<Linked>;
    /// Where its runs are counted.
    fn counters(&self) -> &Arc<Counters>;
    /// Whether a function that it passes as a callback has this address.
    fn has_function(&self, addr: u64) -> bool;
    /// Whether its machine code counts fuel.
    fn wants_fuel(&self) -> bool;
}

#[derive(Default)]
pub(crate) struct ProgRegistry {
    /// Of programs and prog arrays.
    pub(super) needs: Needs,
    progs: Mutex<HashMap<u32, Weak<dyn TailTarget>>>,
}

impl ProgRegistry {
    pub(crate) fn add(&self, prog: &Arc<dyn TailTarget>) {
        let mut progs = self.progs.lock().unwrap_or_else(PoisonError::into_inner);
        progs.insert(prog.id(), Arc::downgrade(prog));
    }

    /// The program with a function at `addr`.
    pub(crate) fn at(&self, addr: u64) -> Option<Arc<dyn TailTarget>> {
        let progs = self.progs.lock().unwrap_or_else(PoisonError::into_inner);
        progs.values().filter_map(Weak::upgrade).find(|prog| prog.has_function(addr))
    }

    pub(crate) fn get(&self, id: u32) -> Option<Arc<dyn TailTarget>> {
        self.progs.lock().unwrap_or_else(PoisonError::into_inner).get(&id)?.upgrade()
    }
}
