//! Fair benchmarks: the cost of a verification, compared with another setting or with the host
//! kernel, and how reliable the ratio is.
//!
//! A time from one machine means little; a ratio from one run, in which both sides alternate, is
//! meaningful. Reading order: [`Cost`] (metrics), [`Meter`] (how they are counted), [`interleave`]
//! (the order of runs), [`Ratio`] (its interval), then what is measured: [`verification`],
//! [`KernelComparison`], [`Totals`] of several processes, [`callgrind`]; and [`run`]: the speed of
//! programs. [`command`] is the command line, `skep-bench`.

#![deny(unsafe_code)]

pub mod callgrind;
pub mod command;
mod cost;
mod interleave;
mod kernel_comparison;
mod meter;
pub mod poke;
mod ratio;
pub mod run;
mod saturate;
mod threads;
pub mod verification;

pub use cost::{Centre, Cost, METRICS, Metric, MetricDef, Unit};
pub use interleave::{Rounds, interleave};
pub use kernel_comparison::{KernelComparison, NotJudged};
pub use meter::Meter;
pub use ratio::{Ratio, Spread, geometric_mean};
pub use saturate::{Report, Totals};
