//! `Session`: opens objects and verifies programs against a host.

use crate::error::Error;
use crate::host::Host;
use crate::host::read_bounded;
use crate::kernel::Kernel;
use crate::path::WalkedPath;
use crate::profile::Profile;
use crate::stopwatch::Stopwatch;
use crate::verification::{NotAccepted, Verification, VerifyOptions};
use skep_object::{Loader, Object, OpenOptions};
use skep_program::Program;
use skep_verifier::VerifiedProgram;
use skep_verifier::trace::verify_traced;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Larger files are not read: real objects are below a hundredth of it.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Opens objects and verifies programs against one host; can be shared by threads.
#[derive(Clone, Default)]
pub struct Session {
    /// What objects are loaded against.
    pub host: Host,
    /// The loader whose rules apply; libbpf by default.
    pub loader: Loader,
    /// The program, verified before, whose functions `freplace` programs replace: set by
    /// [`Session::with_target`].
    pub target: Option<Arc<Program>>,
    /// Complete objects as veristat does: maps without capacity get one entry, `freplace` programs
    /// without a target the type that their context suggests. libbpf alone loads neither.
    pub completes: bool,
    /// The target kernel, if it is not 6.18: programs that need something it lacks are rejected.
    pub kernel: Option<Arc<Kernel>>,
}

impl Session {
    /// A session with libbpf's rules.
    pub fn new(host: Host) -> Session {
        Session { host, ..Session::default() }
    }

    /// A session for another kernel: objects are loaded against what is known about it, and
    /// programs that need something it lacks are rejected. The other verifier rules are those of
    /// 6.18: see [`Kernel::promise`].
    pub fn for_kernel(kernel: Kernel) -> Session {
        Session { host: kernel.host(), kernel: Some(Arc::new(kernel)), ..Session::default() }
    }

    /// Adds the program whose functions `freplace` programs replace; it is verified first. Objects
    /// opened from now on use its type for such programs.
    ///
    /// # Errors
    ///
    /// The program is rejected or gets no verdict.
    pub fn with_target(self, target: &Program) -> Result<Session, NotAccepted> {
        self.accept(target, &VerifyOptions::default())?;
        Ok(Session { target: Some(Arc::new(target.clone())), ..self })
    }

    /// Reads a file, up to a size limit.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not a regular file, or is too large for an object.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, Error> {
        const STEP: &str = "reading the file";
        let metadata = std::fs::metadata(path).map_err(|e| Error::io(path, STEP, e))?;
        if metadata.is_dir() {
            return Err(Error::new(path, STEP, "is a directory"));
        }
        // A pipe or device might never end.
        if !metadata.is_file() {
            return Err(Error::new(path, STEP, "not a regular file"));
        }
        // Files in /proc have no size; reading some of them blocks for ever.
        if metadata.len() == 0 {
            return Ok(Vec::new());
        }
        if metadata.len() > FILE_BYTES_MAX {
            let cause = format!("too large for an object file ({} bytes)", metadata.len());
            return Err(Error::new(path, STEP, cause));
        }
        read_bounded(path, FILE_BYTES_MAX).map_err(|e| Error::io(path, STEP, e))
    }

    /// Reads, parses and relocates the object in a file.
    ///
    /// # Errors
    ///
    /// As for [`Session::read`] and [`Session::open`].
    pub fn open_file(&self, path: impl AsRef<Path>) -> Result<Object, Error> {
        let path = path.as_ref();
        self.open(path, &self.read(path)?)
    }

    /// Parses and relocates the object in `bytes`; `path` is used in errors and for its name. A
    /// program rejected by the loader, or by the kernel before verification, is an error of that
    /// program: see [`Refusal::of_load`](crate::Refusal::of_load).
    ///
    /// # Errors
    ///
    /// The bytes are not a BPF object, or a malformed one.
    pub fn open(&self, path: &Path, bytes: &[u8]) -> Result<Object, Error> {
        let (loader, target) = (self.loader, self.target.clone());
        let mut options = OpenOptions { loader, target, ..self.host.open_options(path) };
        if !self.completes && loader == Loader::Libbpf {
            (options.empty_map_entries, options.guess_ext_types) = (0, false);
        }
        Object::open(bytes, &options).map_err(|e| Error::opening(path, e))
    }

    /// Parses the object in `bytes` without relocating it against a kernel: CO-RE relocations and
    /// externs stay as they are in the file, and nothing is rejected. For inspection, not for
    /// verification.
    ///
    /// # Errors
    ///
    /// The bytes are not a BPF object, or a malformed one.
    pub fn open_as_in_file(&self, path: &Path, bytes: &[u8]) -> Result<Object, Error> {
        let host = Host::default();
        let options = OpenOptions { as_in_file: true, ..host.open_options(path) };
        Object::open(bytes, &options).map_err(|e| Error::opening(path, e))
    }

    /// The verifier's configuration for this host.
    pub fn config(&self, options: &VerifyOptions) -> skep_verifier::Config {
        self.host.configure(options.config())
    }

    /// Verifies one program. If the verifier panics, only this program gets
    /// [`Verdict::Bug`](crate::Verdict::Bug).
    pub fn verify(&self, program: &Program, options: &VerifyOptions) -> Verification {
        let config = self.config(options);
        let started = Stopwatch::start();
        let judged = contain_panic(|| {
            let mut path = options.path_bytes_max.map(WalkedPath::new);
            let outcome = match &mut path {
                None => skep_verifier::verify(program, &config),
                Some(path) => verify_traced(program, &config, path),
            };
            let verification = Verification::new(program, outcome, started.elapsed());
            let verification = Verification { path, ..verification };
            self.for_its_kernel(program, options, verification)
        });
        judged.unwrap_or_else(|panic| Verification::broken(program, panic.0, started.elapsed()))
    }

    /// Verifies one program, and reports where verification spends its insns and states.
    pub fn profile(&self, program: &Program, options: &VerifyOptions) -> (Verification, Profile) {
        let config = self.config(options);
        let started = Stopwatch::start();
        let judged = contain_panic(|| {
            let mut profile = Profile::new(program);
            let outcome = verify_traced(program, &config, &mut profile);
            let verification = Verification::new(program, outcome, started.elapsed());
            profile.finish(&verification.counts);
            (self.for_its_kernel(program, options, verification), profile)
        });
        judged.unwrap_or_else(|panic| {
            (Verification::broken(program, panic.0, started.elapsed()), Profile::new(program))
        })
    }

    /// The verification, with the verdict for the session's kernel.
    fn for_its_kernel(
        &self,
        program: &Program,
        options: &VerifyOptions,
        verification: Verification,
    ) -> Verification {
        let verification = match &*self.host.neighbours {
            [] => verification,
            of => self.under_all(program, options, verification, of),
        };
        let Some(kernel) = &self.kernel else { return verification };
        match kernel.verdict(program, &verification) {
            Some(verdict) => Verification { verdict, under: None, ..verification },
            None => Verification { under: None, ..verification },
        }
    }

    /// Verifies one program so that it can run.
    ///
    /// # Errors
    ///
    /// The program is rejected or gets no verdict; the error says why in one line.
    pub fn accept(
        &self,
        program: &Program,
        options: &VerifyOptions,
    ) -> Result<VerifiedProgram, NotAccepted> {
        self.verify(program, options).into_verified()
    }
}

/// A panic, by its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked(pub String);

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Panicked {}

/// Runs `work`.
///
/// # Errors
///
/// It panicked.
pub fn contain_panic<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    // A partially modified state is dropped after a panic: `work` owns or only reads its state.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Panicked(panic_text(panic.as_ref())))
}

/// The message that a panic carries.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panic: {}", text.unwrap_or("without a message"))
}
