//! `Session`: a host and a configuration, with which objects are opened and programs verified.

use crate::host::read_bounded;
use crate::verification::{Counts, Verdict, Verification, VerifyOptions};
use crate::{Error, Host};
use skep_object::Object;
use skep_program::Program;
use std::path::Path;
use std::time::Duration;

/// Larger files are not read: real objects are below a hundredth of it.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// What programs are verified for: one per run, shared by threads.
#[derive(Clone, Default)]
pub struct Session {
    /// What objects are loaded against.
    pub host: Host,
}

impl Session {
    /// Reads a file, bounded.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is larger than any object.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, Error> {
        const STEP: &str = "reading the file";
        let metadata = std::fs::metadata(path).map_err(|e| Error::io(path, STEP, &e))?;
        if metadata.is_dir() {
            return Err(Error::new(path, STEP, "is a directory"));
        }
        // A pipe or device might never end.
        if !metadata.is_file() {
            return Err(Error::new(path, STEP, "not a regular file"));
        }
        read_bounded(path, FILE_BYTES_MAX).map_err(|e| Error::io(path, STEP, &e))
    }

    /// Reads and relocates the object in `bytes`; `path` names it.
    ///
    /// # Errors
    ///
    /// The bytes are no BPF object, or a broken one.
    pub fn open(&self, path: &Path, bytes: &[u8]) -> Result<Object, Error> {
        let options = self.host.open_options(path);
        Object::open(bytes, &options).map_err(|e| Error::new(path, "opening the object", e))
    }

    /// Verifies one program.
    pub fn verify(&self, program: &Program, options: &VerifyOptions) -> Verification {
        let _ = (program, options);
        Verification {
            verdict: Verdict::Unsupported("verification".to_owned()),
            counts: Counts::default(),
            log: String::new(),
            duration: Duration::ZERO,
        }
    }
}
