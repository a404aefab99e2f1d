//! `--kernel`: names and kernel files to kernels.

use crate::flags::InputFlags;
use skep::Kernel;
use std::sync::Arc;

/// The name of all that were asked.
pub(crate) const ALL: &str = "all";

/// The kernels that the flag names, each once, in its order.
///
/// # Errors
///
/// One line: there is no such kernel, or a file is not one.
pub(crate) fn named(names: &[String]) -> Result<Vec<Arc<Kernel>>, String> {
    let mut kernels: Vec<Arc<Kernel>> = Vec::new();
    for name in names {
        let opened = match name.as_str() {
            ALL => Kernel::all_asked(),
            name => vec![Kernel::open(name).map_err(|e| e.to_string())?],
        };
        for kernel in opened {
            let is_new = |known: &Arc<Kernel>| known.release() != kernel.release();
            if kernels.iter().all(is_new) {
                kernels.push(Arc::new(kernel));
            }
        }
    }
    Ok(kernels)
}

/// The kernel that the flags name, if they name one, where there is room for one.
///
/// # Errors
///
/// One line: it is not known, there are several, or `--target` is named beside it.
pub(crate) fn only(flags: &InputFlags) -> Result<Option<Arc<Kernel>>, String> {
    let mut kernels = named(&flags.kernel)?;
    match (kernels.pop(), kernels.is_empty()) {
        (None, _) => Ok(None),
        (Some(_), _) if flags.target.is_some() => {
            Err("not supported yet: --target with --kernel".to_owned())
        }
        (Some(kernel), true) => Ok(Some(kernel)),
        (Some(_), false) => Err("one kernel at a time; skep check takes several".to_owned()),
    }
}
