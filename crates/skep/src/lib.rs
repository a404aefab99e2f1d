//! The library that embedders depend on: load, verify and inspect BPF objects.
//!
//! [`Session`] opens files against a [`Host`] and verifies their programs; the crates of the
//! pipeline are re-exported under their own names.
//!
//! ```no_run
//! use skep::{Host, KernelBtf, Session, Verdict, VerifyOptions};
//! use std::path::Path;
//!
//! fn main() -> Result<(), skep::Error> {
//!     // What objects are loaded against: read once, shared by all.
//!     let session = Session { host: Host::read(&KernelBtf::Running)? };
//!     let path = Path::new("prog.bpf.o");
//!     let object = session.open(path, &session.read(path)?)?;
//!     for entry in &object.programs {
//!         let Ok(program) = &entry.program else { continue };
//!         let options = VerifyOptions { log_level: 1, ..VerifyOptions::default() };
//!         let verification = session.verify(program, &options);
//!         match &verification.verdict {
//!             Verdict::Accepted => println!("{}: accepted", entry.name),
//!             Verdict::Rejected(why) => println!("{}: {}", entry.name, why.message),
//!             Verdict::Unsupported(what) => println!("{}: not supported yet: {what}", entry.name),
//!             Verdict::Bug(what) => println!("{}: our fault: {what}", entry.name),
//!         }
//!         println!("{} insns", verification.counts.insns_processed);
//!     }
//!     Ok(())
//! }
//! ```

#![forbid(unsafe_code)]

mod error;
mod host;
mod session;
mod verification;

pub use error::Error;
pub use host::{Host, KernelBtf, host_symbols, possible_cpus};
pub use session::{Session, contain_panic, panic_text};
pub use skep_btf as btf;
pub use skep_domain as domain;
pub use skep_insn as insn;
pub use skep_object as object;
pub use skep_program as program;
pub use skep_uapi as uapi;
pub use skep_verifier as verifier;
pub use verification::{Counts, Refusal, Verdict, Verification, VerifyOptions};
