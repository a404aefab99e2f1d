//! A verification with a listener.

use super::Listener;
use crate::Config;
use crate::check::replaced::as_replaced;
use crate::env::{Setup, Trace};
use crate::judge::{Outcome, judge};
use skep_program::Program;

/// Verifies `program` and reports the events of the walk to `listener`.
pub fn verify_traced(program: &Program, config: &Config, listener: &mut dyn Listener) -> Outcome {
    let program = as_replaced(program);
    let trace = Trace::new(config).with_listener(listener);
    judge(Setup::new(&program, config, false, trace)).0
}
