//! The Markdown suites: a file is a suite, a heading with a `bpf` block is a case.
//!
//! ````markdown
//! # Scalars                       headings nest; a case is named by the headings above it
//!
//! ```toml                         options, inherited by the headings below
//! prog_type = "xdp"
//! ```
//!
//! ## Overwriting the copy breaks the link
//!
//! ```bpf
//!     r1 = 200                    ; r1=200
//!     r0 = *(u8 *)(r10 - 8)       //~ reject: invalid read from stack
//!     exit
//! ```
//! ````
//!
//! `; key=value ...` to the right of an insn is a claim about the state after it; `//~ reject:
//! text` says that the program is rejected there. Both are written by hand. Blocks `log`, `stats`,
//! and `run` (see [`crate::exec`]) are transcripts; [`bless`] rewrites them from the kernel's
//! result, and nothing else.
//!
//! Tests: the suites themselves, `tests/suites.rs`.

mod bless;
mod build;
mod case;
mod case_btf;
mod check;
mod claims;
mod folder;
mod options;
mod read;
mod run;

pub use bless::{Answered, bless};
pub(crate) use build::bytes;
pub use build::{assembled, program, programs};
pub use case::{Case, Transcript, TranscriptKind};
pub use check::{Evidence, check};
pub use claims::{Claims, Fact, Reject};
pub use folder::{Suite, read_folder};
pub use options::{FuncOptions, Loader, MapOptions, Options};
pub use read::read;
pub use run::{names_types_of_kernel, on_kernel, on_ours, privileges};
