//! Objects of the benchmark, opened and verified.

use skep_cli::Error;
use skep_object::{Object, OpenOptions};
use skep_program::Program;
use skep_uapi::KernelProfile;
use skep_verifier::{Config, Verdict, VerifiedProgram};

/// An object whose programs are all loadable.
#[derive(Debug)]
pub struct Opened {
    /// Maps and BTF.
    pub object: Object,
    /// The programs, relocated.
    pub programs: Vec<Program>,
}

impl Opened {
    /// Opens an object that needs nothing from the host.
    ///
    /// # Errors
    ///
    /// It cannot be read, or a program of it cannot be loaded.
    pub fn new(bytes: &[u8]) -> Result<Opened, Error> {
        let object = Object::open(bytes, &OpenOptions::default()).map_err(Error::caused)?;
        let programs = object.programs.iter().map(|entry| match &entry.program {
            Ok(program) => Ok(program.clone()),
            Err(e) => Err(Error::at(&entry.name, e.clone())),
        });
        let programs = programs.collect::<Result<_, Error>>()?;
        Ok(Opened { programs, object })
    }

    /// The program of that name first, then the others: the order in which the kernel is given
    /// them.
    pub fn with_first(&self, name: &str) -> Vec<Program> {
        let mut programs = self.programs.clone();
        programs.sort_by_key(|program| program.name != name);
        programs
    }
}

/// Verifies a program with root's privileges.
///
/// # Errors
///
/// It is not accepted.
pub fn verify(program: &Program) -> Result<VerifiedProgram, Error> {
    let config = Config::privileged(KernelProfile::v6_18());
    match skep_verifier::verify(program, &config).verdict {
        Verdict::Accepted(verified) => Ok(*verified),
        Verdict::Rejected(why) => Err(format!("{}: refused: {}", program.name, why.message).into()),
        Verdict::Unsupported(what) => {
            Err(format!("{}: not supported yet: {what}", program.name).into())
        }
        Verdict::OutOfMemory => Err(format!("{}: over its memory limit", program.name).into()),
        Verdict::Bug(bug) => Err(format!("{}: {bug}", program.name).into()),
    }
}
