//! Running programs in the host kernel with BPF_PROG_TEST_RUN: loaded with their maps, with the
//! slots of prog arrays and outer maps filled as in the definitions.
//!
//! Nothing is attached: a run is one call with input and output buffers.

use crate::bpf::{self, Errno, Map, RunInput, TestRun, errno_name};
use crate::judge::{NotJudged, Prepared, load_btf};
use crate::maps::Maps;
use crate::modules::Modules;
use skep_program::{Program, SlotTarget};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use thiserror::Error as ThisError;

/// Programs in the kernel; closed on drop.
#[derive(Debug)]
pub struct Loaded {
    progs: Vec<OwnedFd>,
    maps: Rc<Maps>,
}

/// Why programs are not in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum LoadError {
    /// None were given.
    #[error("no program")]
    NoProgram,
    /// Their maps or their BTF are not, or a type in a module is not found.
    #[error(transparent)]
    NotJudged(#[from] NotJudged),
    /// The verifier refused one.
    #[error("{program}: refused: {}\n{log}", errno_name(errno.errno))]
    Refused {
        /// Its name.
        program: String,
        /// The kernel's error.
        #[source]
        errno: Errno,
        /// The log at level 2.
        log: String,
    },
    /// A slot of a prog array or an outer map cannot be filled.
    #[error("slot {index}: {errno}")]
    Slot {
        /// Which.
        index: u32,
        /// The kernel's error.
        #[source]
        errno: Errno,
    },
}

impl Loaded {
    /// Loads programs that share their maps; the first is the one to run, the others are targets of
    /// its tail calls, by name.
    ///
    /// # Errors
    ///
    /// What the kernel rejected, with its log.
    pub fn new(programs: &[Program]) -> Result<Loaded, LoadError> {
        let first = programs.first().ok_or(LoadError::NoProgram)?;
        let btf = load_btf(first)?.map(Rc::new);
        let maps = Maps::make_all(programs, btf.as_ref().map(|btf| btf.as_raw_fd()))?;
        let mut loaded = Loaded { progs: Vec::new(), maps: Rc::new(maps) };
        for program in programs {
            let modules = Modules::find(program).unwrap_or_default();
            // Types of objects in map values must be from the program's own BTF.
            let shares = match (&program.btf, &first.btf) {
                (Some(own), Some(firsts)) => Arc::ptr_eq(own, firsts),
                _ => false,
            };
            let own_btf = match btf.as_ref().filter(|_| shares) {
                Some(btf) => Some(Rc::clone(btf)),
                None => load_btf(program)?.map(Rc::new),
            };
            let maps = Rc::clone(&loaded.maps);
            let prepared = Prepared::with_maps(program, modules, own_btf, maps);
            let answer = prepared.load_open(0);
            let prog = answer.result.map_err(|errno| LoadError::Refused {
                program: program.name.clone(),
                errno,
                log: prepared.load_open(2).log,
            })?;
            loaded.progs.push(prog);
        }
        loaded.fill_slots(programs)?;
        Ok(loaded)
    }

    fn fill_slots(&self, programs: &[Program]) -> Result<(), LoadError> {
        let defs = programs.first().map(|program| Rc::new(&program.maps));
        for index in self.maps.indices() {
            let def = defs.as_ref().and_then(|defs| defs.get(index as usize));
            for slot in def.map_or(&[][..], |def| &def.slots) {
                // As a loader omits programs that it did not load.
                let Some(fd) = self.target(&slot.target, programs) else { continue };
                let Some(map) = self.map(index) else { continue };
                map.update(&slot.index.to_ne_bytes(), &fd.to_ne_bytes())
                    .map_err(|errno| LoadError::Slot { index: slot.index, errno })?;
            }
        }
        Ok(())
    }

    fn target(&self, target: &SlotTarget, programs: &[Program]) -> Option<RawFd> {
        match target {
            SlotTarget::Map(map) => self.maps.fd(map.0),
            SlotTarget::Prog(name) => {
                let at = programs.iter().position(|program| program.name == *name)?;
                self.progs.get(at).map(AsRawFd::as_raw_fd)
            }
        }
    }

    /// Runs the first program.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn run(&self, input: &RunInput<'_>) -> Result<TestRun, Errno> {
        let einval = Errno { command: "BPF_PROG_TEST_RUN", errno: libc::EINVAL };
        bpf::test_run(self.progs.first().ok_or(einval)?, input)
    }

    /// A map, if some insn or slot refers to it.
    pub fn map(&self, index: u32) -> Option<&Map> {
        self.maps.get(index)
    }
}
