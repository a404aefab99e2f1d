//! One input of a program, ready to run: the part of `skep run` that `skep test` uses.

use super::input::{self, Kind};
use super::plan::{self, Failure, Loaded};
use crate::Error;
use crate::flags::run::RunFlags;
use skep::runtime::{Ctx, Instance, ObjectMaps};

/// A program with its input.
pub(crate) struct Single {
    loaded: Loaded,
    pub(crate) ctx: Ctx,
}

impl Single {
    /// The input that the flags name, which is not a capture.
    ///
    /// # Errors
    ///
    /// Why there is nothing to run.
    pub(crate) fn new(flags: &RunFlags) -> Result<Single, Failure> {
        let loaded = plan::load(flags)?;
        let inputs = input::read(flags, &loaded.instance, loaded.ctx_type.as_ref());
        let inputs = inputs.map_err(Failure::input)?;
        let Kind::One(bytes) = &inputs.kind else { return Err(Failure::input("a capture")) };
        let ctx = inputs.ctx(&loaded.instance, bytes).map_err(Failure::input)?;
        Ok(Single { loaded, ctx })
    }

    pub(crate) fn instance(&self) -> Instance {
        self.loaded.instance.clone()
    }

    /// Puts a program of the object into a slot of a prog array.
    ///
    /// # Errors
    ///
    /// One line: no such program is loaded, or the array does not accept it.
    pub(crate) fn set_program(&self, map: &str, slot: u32, name: &str) -> Result<(), Error> {
        let mut programs = self.loaded.others.iter().chain([&self.loaded.instance]);
        let program = programs.find(|program| program.name() == name);
        let program = program.ok_or_else(|| format!("no program '{name}' is loaded"))?;
        self.loaded.maps.set_program(map, slot, program).map_err(Error::caused)
    }

    pub(crate) fn maps(&self) -> &ObjectMaps {
        &self.loaded.maps
    }
}
