//! A verification with a listener.

use super::Listener;
use crate::Config;
use crate::check::replaced::as_replaced;
use crate::env::Env;
use crate::judge::{Outcome, judge};
use skep_program::Program;
use std::cell::OnceCell;

/// Verifies `program` and reports the events of the walk to `listener`.
pub fn verify_traced(program: &Program, config: &Config, listener: &mut dyn Listener) -> Outcome {
    let program = as_replaced(program);
    let decided = OnceCell::new();
    let mut env = Env::new(&program, config, &decided);
    env.tells_registers = listener.wants_registers();
    env.tells_runs = !env.tells_registers && !env.log.traces();
    env.listener = Some(listener);
    env.is_followed = true;
    let (outcome, _) = judge(env);
    outcome
}
