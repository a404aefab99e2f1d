//! Load, verify, inspect and run eBPF objects in userspace: the library for embedders.
//!
//! [`Session`] opens object files against a [`Host`] and verifies their programs. The underlying
//! crates are re-exported as modules, as far as embedders need them.
//!
//! ```no_run
//! use skep::{Host, KernelBtf, Refusal, Session, Verdict, VerifyOptions};
//!
//! fn main() -> Result<(), skep::Error> {
//!     // The host's BTF, symbols and configuration: read once, shared by all objects.
//!     let session = Session::new(Host::read(&KernelBtf::Running)?);
//!     let object = session.open_file("prog.bpf.o")?;
//!     for entry in &object.programs {
//!         let program = match &entry.program {
//!             Ok(program) => program,
//!             // What libbpf or the kernel does not load: maps, externs, attach targets.
//!             Err(error) => {
//!                 let class = Refusal::of_load(error).and_then(|refusal| refusal.load);
//!                 println!("{}: {class:?}: {error}", entry.name);
//!                 continue;
//!             }
//!         };
//!         let options = VerifyOptions { log_level: 1, ..VerifyOptions::default() };
//!         let verification = session.verify(program, &options);
//!         match &verification.verdict {
//!             Verdict::Accepted(_) => println!("{}: accepted", entry.name),
//!             Verdict::Rejected(why) => println!("{}: {}", entry.name, why.message),
//!             Verdict::OutOfMemory => println!("{}: over the memory limit", entry.name),
//!             Verdict::Unsupported(what) => println!("{}: not supported yet: {what}", entry.name),
//!             Verdict::Bug(what) => println!("{}: bug in skep: {what}", entry.name),
//!         }
//!         println!("{} insns", verification.counts.insns_processed);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! Accepted programs run in this process, without root:
//!
//! ```
//! use skep::runtime::{Ctx, Options, Runtime};
//! use skep::{LoadAllOptions, Session};
//!
//! fn main() -> Result<(), skep::Error> {
//!     // An `Object` has the file's programs and maps.
//!     let session = Session::default();
//!     let object = session.open_file("../../tests/programs/xdp_count.bpf.o")?;
//!
//!     // Maps and programs live in a runtime, which threads share.
//!     let runtime = Runtime::new(Options::default())?;
//!     let loaded = session.load_all(&object, &runtime, &LoadAllOptions::default())?;
//!     let instance = loaded.program("xdp_count")?;
//!
//!     // One context serves many packets.
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
//!     // Map handles can be typed, by types of [`zerocopy`]; this map has a value for each CPU.
//!     let packets = loaded.maps().get("packets")?.typed::<u32, u64>()?;
//!     assert_eq!(packets.get_percpu(&17)?.iter().sum::<u64>(), 3);
//!     Ok(())
//! }
//! ```
//!
//! For a step-by-step guide, see `docs/embedding.md`. To count and time runs, see
//! [`runtime::Runtime::enable_stats`].
//!
//! # Features
//!
//! - `runtime` (default): running programs; on Linux only. Without it the library opens, verifies
//!   and explains.
//! - `metrics`: statistics as OpenMetrics text, and an HTTP server on loopback for Prometheus.
//!
//! # Stability
//!
//! The crate follows SemVer, except for the modules that are other crates under shorter names:
//! [`btf`], [`insn`], [`object`], [`program`] and [`uapi`] may change in any release.

#![forbid(unsafe_code)]

pub mod catalogue;
pub mod diagnosis;
mod error;
mod error_injection;
mod host;
#[doc(hidden)]
pub mod insn_text;
mod kallsyms;
pub mod kernel;
#[cfg(all(feature = "runtime", target_os = "linux"))]
mod loaded;
#[cfg(all(feature = "metrics", target_os = "linux"))]
pub mod metrics;
mod path;
pub mod profile;
#[cfg(all(feature = "runtime", target_os = "linux"))]
pub mod runtime;
mod session;
mod stopwatch;
mod under;
mod verification;
pub mod verifier;

pub use diagnosis::Diagnosis;
pub use error::Error;
#[doc(hidden)]
pub use error::io_text;
pub use host::{Host, KernelBtf};
#[doc(hidden)]
pub use host::{host_facts, possible_cpus};
pub use kernel::Kernel;
#[cfg(all(feature = "runtime", target_os = "linux"))]
pub use loaded::{LoadAllOptions, LoadedObject};
pub use path::{Register, Step, WalkedPath};
pub use profile::Profile;
pub use session::Session;
#[doc(hidden)]
pub use session::{Panicked, contain_panic, panic_text};
pub use skep_btf as btf;
pub use skep_insn as insn;
pub use skep_object as object;
pub use skep_object::{LoadClass, Loader};
pub use skep_program as program;
pub use skep_uapi as uapi;
pub use verification::{
    Counts, NotAccepted, Reason, Refusal, Verdict, Verification, VerifyOptions,
};
/// Its traits determine which types may be keys and values of [`runtime::map::TypedMap`]. For
/// derives on your own structs, use `#[zerocopy(crate = "skep::zerocopy")]`.
#[cfg(all(feature = "runtime", target_os = "linux"))]
pub use zerocopy;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// So does the code of the guide.
#[cfg(all(doctest, feature = "runtime", target_os = "linux"))]
#[doc = include_str!("../../../docs/embedding.md")]
struct Embedding;
