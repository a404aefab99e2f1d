//! Patching under load: how long it takes, how much it slows running threads, and whether any
//! execution ever went wrong; compared with other mechanisms.
//!
//! Reading order: [`Sites`] (what threads run), [`Mechanism`] (how sites are changed; the int3
//! protocol with its signal handler exists here only), [`toggled`] and [`checked`] (under load),
//! [`library`] (the library's calls), [`control`] (incorrect patching), [`off`], [`cost`] and
//! [`sharing`] (the cost of sites, statistics and counters), [`estimate`] (the error of estimated
//! times).

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
pub use load::{Checked, Load, Seen, Toggled, checked, toggled};
pub use mechanism::{ALL_KINDS, Kind, MECHANISMS, Mechanism, Switched, Switcher};
