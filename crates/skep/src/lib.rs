//! The library that embedders depend on: load, verify, inspect and run BPF objects.
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
//!             Verdict::OutOfMemory => println!("{}: over the memory limit", entry.name),
//!             Verdict::Unsupported(what) => println!("{}: not supported yet: {what}", entry.name),
//!             Verdict::Bug(what) => println!("{}: our fault: {what}", entry.name),
//!         }
//!         println!("{} insns", verification.counts.insns_processed);
//!     }
//!     Ok(())
//! }
//! ```

//!
//! What is accepted can run here, without root:
//!
//! ```
//! use skep::runtime::{Ctx, LoadOptions, Options, Runtime};
//! use skep::{Host, Session, VerifyOptions};
//! use std::path::Path;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Object: the file's programs and maps.
//!     let session = Session { host: Host::default() };
//!     let path = Path::new("../../tests/programs/xdp_count.bpf.o");
//!     let object = session.open(path, &session.read(path)?)?;
//!     let entry = object.programs.iter().find(|entry| entry.name == "xdp_count").unwrap();
//!     let program = entry.program.as_ref().map_err(Clone::clone)?;
//!
//!     // Program to VerifiedProgram: only the verifier makes one.
//!     let verified = session.accept(program, &VerifyOptions::default())?;
//!
//!     // Maps and programs live in a runtime; threads share it.
//!     let runtime = Runtime::new(Options::default())?;
//!     let maps = runtime.create_maps(&object.maps, object.btf.as_ref());
//!     let instance = runtime.load(&verified, &maps, &LoadOptions::default())?;
//!
//!     // A context is made once and used for many packets.
//!     let mut packet = [0u8; 60];
//!     packet[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
//!     packet[14 + 9] = 17;
//!     let mut ctx = Ctx::packet(instance.prog_type(), &packet)?;
//!     for _ in 0..3 {
//!         ctx.set_packet(&packet)?;
//!         let result = instance.run(&mut ctx)?;
//!         assert_eq!(result.retval, 2 /* XDP_PASS */);
//!     }
//!
//!     // Maps have typed handles; this one has a value for each thread that runs programs.
//!     let packets = maps.get("packets")?.typed::<u32, u64>()?;
//!     assert_eq!(packets.get_percpu(&17)?.iter().sum::<u64>(), 3);
//!     Ok(())
//! }
//! ```

//!
//! How often programs run and how long that takes: [`runtime::Runtime::enable_stats`], and
//! [`metrics`] for Prometheus.

#![forbid(unsafe_code)]

mod error;
mod host;
mod kallsyms;
pub mod metrics;
mod session;
mod verification;

pub use error::Error;
pub use host::{Host, KernelBtf, host_symbols, possible_cpus};
pub use session::{Session, contain_panic, panic_text};
pub use skep_btf as btf;
pub use skep_domain as domain;
pub use skep_insn as insn;
pub use skep_jit as jit;
pub use skep_object as object;
pub use skep_program as program;
pub use skep_runtime as runtime;
pub use skep_uapi as uapi;
pub use skep_verifier as verifier;
pub use verification::{Counts, NotAccepted, Refusal, Verdict, Verification, VerifyOptions};
