//! The state of one run that is below contexts and helpers: the arguments of its calls, its fuel,
//! the resources that it holds, and its side effects.

pub(crate) mod call;
mod effects;
mod env;
mod held;
pub(crate) mod tunnel;

pub(crate) use call::{Call, Func, ret};
pub(crate) use effects::Effects;
pub use effects::Redirect;
pub use env::Interrupter;
pub(crate) use env::{Env, is_stopped, spend, stop, stops_when_interrupted};
pub(crate) use held::Release;
pub use tunnel::Tunnel;
