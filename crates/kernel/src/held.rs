//! Maps and BTF that stay in the kernel while many programs that share them are judged, except maps
//! that bind to the first program that uses them.

use crate::judge::{Answer, NotJudged, Prepared, load_btf};
use crate::maps::Maps;
use crate::modules::Modules;
use skep_program::Program;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;

/// Kernel objects shared by the programs of one object file; closed on drop.
///
/// # Invariants
/// 1. All programs given to one `Held` have the maps and the BTF of the first: each map is created
///    once, by index.
#[derive(Debug)]
pub struct Held {
    btf: Option<Rc<OwnedFd>>,
    maps: Rc<Maps>,
}

impl Held {
    /// Loads the BTF of `program`.
    ///
    /// # Errors
    ///
    /// The kernel rejects the BTF.
    pub fn new(program: &Program) -> Result<Held, NotJudged> {
        let btf = load_btf(program)?.map(Rc::new);
        Ok(Held { btf, maps: Rc::default() })
    }

    /// Loads `program` at `log_level` and closes it again; its maps stay.
    pub fn judge(&mut self, program: &Program, log_level: u32) -> Answer {
        self.prepare(program).map_or_else(Answer::NotJudged, |prepared| prepared.load(log_level))
    }

    /// A program that can be loaded repeatedly.
    ///
    /// # Errors
    ///
    /// What the kernel rejected.
    pub fn prepare<'a>(&mut self, program: &'a Program) -> Result<Prepared<'a>, NotJudged> {
        let modules = Modules::find(program)?;
        let fd = self.btf.as_ref().map(|btf| btf.as_raw_fd());
        // No one else holds the maps, unless an earlier program is still prepared: then it keeps
        // its own.
        if Rc::get_mut(&mut self.maps).is_none() {
            self.maps = Rc::default();
        }
        if let Some(maps) = Rc::get_mut(&mut self.maps) {
            maps.forget_bound(program);
            maps.add(program, fd)?;
        }
        Ok(Prepared::with_maps(program, modules, self.btf.clone(), Rc::clone(&self.maps)))
    }
}
