//! `LoadedObject`: an object whose programs can run.

use crate::runtime::{Instance, LoadOptions, ObjectMaps, Runtime};
use crate::{Error, Session, VerifyOptions};
use skep_object::Object;

/// The maps and programs of an object, loaded.
#[derive(Debug)]
pub struct LoadedObject {
    maps: ObjectMaps,
    programs: Vec<Instance>,
}

/// Options for loading an object.
#[derive(Debug, Clone, Default)]
pub struct LoadAllOptions {
    /// Options of the verifier.
    pub verify: VerifyOptions,
    /// How they run.
    pub load: LoadOptions,
}

impl Session {
    /// Verifies all programs of an object and loads them with its maps, except those marked as not
    /// autoloaded (`SEC("?...")`).
    ///
    /// # Errors
    ///
    /// For the first program that is rejected, gets no verdict, or cannot be loaded into the
    /// runtime; nothing is loaded then. [`source`](std::error::Error::source) gives the cause.
    pub fn load_all(
        &self,
        object: &Object,
        runtime: &Runtime,
        options: &LoadAllOptions,
    ) -> Result<LoadedObject, Error> {
        let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
        let wanted = object.programs.iter().filter(|entry| entry.autoload);
        let programs = wanted.map(|entry| {
            let verified = self.accept(object.program(&entry.name)?, &options.verify)?;
            Ok(runtime.load(&verified, &maps, &options.load)?)
        });
        let programs = programs.collect::<Result<_, Error>>()?;
        Ok(LoadedObject { maps, programs })
    }
}

impl LoadedObject {
    /// The maps, by name.
    pub fn maps(&self) -> &ObjectMaps {
        &self.maps
    }

    /// The programs, in the order of the object.
    pub fn programs(&self) -> &[Instance] {
        &self.programs
    }

    /// The program with that name.
    ///
    /// # Errors
    ///
    /// There is none, or it is not autoloaded.
    pub fn program(&self, name: &str) -> Result<&Instance, Error> {
        let found = self.programs.iter().find(|program| program.name() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.programs.iter().map(Instance::name).collect();
            Error::plain(format!("no program '{name}'; loaded are: {}", names.join(", ")))
        })
    }
}
