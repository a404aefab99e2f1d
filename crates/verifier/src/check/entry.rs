//! Registers at the entry of the main program or of a global function that is walked on its own.

use crate::env::Env;
use crate::rejection::{Check, unsupported};
use crate::state::reg::Reg;
use crate::state::reg_type::{Base, RegType};

/// Sets up the argument registers of subprog `subprogno`.
pub(crate) fn prepare_args(env: &mut Env<'_>, subprogno: u32) -> Check {
    if subprogno != 0 {
        return unsupported("global functions");
    }
    env.set_reg(1, Reg::pointer(RegType::of(Base::Ctx)));
    Ok(())
}
