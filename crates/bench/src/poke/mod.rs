//! Switching sites while threads run them: how long it takes, what it costs those who run, and
//! whether any execution ever went wrong; beside other ways to do the same.
//!
//! Reading order: [`Sites`] (what threads run), [`Mechanism`] (how it is switched; the int3
//! protocol with its signal handler exists here only), [`toggled`] and [`checked`] (under load),
//! [`control`] (how it must not be done), [`cost`] and [`sharing`] (what statistics and counters
//! cost).

mod code;
pub mod control;
pub mod cost;
mod int3;
mod load;
mod mechanism;
pub mod sharing;

pub use code::{Shape, Sites};
pub use load::{Checked, Seen, Toggled, checked, toggled};
pub use mechanism::{MECHANISMS, Mechanism, Switched, Switcher};
