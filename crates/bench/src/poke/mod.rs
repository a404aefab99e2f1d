//! Switching sites while threads run them: how long it takes, what it costs those who run, and
//! whether any execution ever went wrong; beside other ways to do the same.
//!
//! Reading order: [`Sites`] (what threads run), [`Mechanism`] (how it is switched; the int3
//! protocol with its signal handler exists here only), [`toggled`] and [`checked`] (under load),
//! [`library`] (what embedders call), [`control`] (how it must not be done), [`off`], [`cost`] and
//! [`sharing`] (what sites, statistics and counters cost), [`estimate`] (how far estimated times
//! are from exact ones).

mod code;
pub mod control;
pub mod cost;
pub mod estimate;
mod int3;
pub mod library;
mod load;
mod mechanism;
pub mod off;
pub mod sharing;
mod together;

pub use code::{STATES, Shape, Site, Sites};
pub use load::{Checked, Seen, Toggled, checked, toggled};
pub use mechanism::{ALL_KINDS, Kind, MECHANISMS, Mechanism, Switched, Switcher};
