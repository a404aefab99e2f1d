//! `--kernel`: resolves names and kernel files to kernels.

use crate::flags::LoaderFlag;
use crate::streams::Streams;
use skep::{Kernel, Session};
use std::io;
use std::sync::Arc;

/// The name for all tested kernels.
pub(crate) const ALL: &str = "all";
/// Note for a program that runs and was verified for another kernel.
#[cfg(all(feature = "run", target_os = "linux"))]
pub(crate) const RUNS_AS: &str = "only verification follows that kernel; execution is as on 6.18";

/// The kernels named by the flag, each once, in order.
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
            // A file may say anything of a release that has a name.
            let is_new = |known: &Arc<Kernel>| {
                (known.release(), known.source()) != (kernel.release(), kernel.source())
            };
            if kernels.iter().all(is_new) {
                kernels.push(Arc::new(kernel));
            }
        }
    }
    Ok(kernels)
}

/// A session for the kernel named by the flag, if any, where only one is allowed.
///
/// # Errors
///
/// One line: it is not known, or there are several.
pub(crate) fn only(names: &[String], loader: LoaderFlag) -> Result<Option<Session>, String> {
    let mut kernels = named(names)?;
    match (kernels.pop(), kernels.is_empty()) {
        (None, _) => Ok(None),
        (Some(kernel), true) => {
            let session = Session::for_kernel(Kernel::clone(&kernel));
            Ok(Some(Session { loader: loader.into(), ..session }))
        }
        (Some(_), false) => Err("only one kernel at a time; skep check accepts several".to_owned()),
    }
}

/// The reliability of results for the session's kernel, for output formats without a place for it;
/// and `others`, about results that are not specific to that kernel.
///
/// # Errors
///
/// Only those of the streams.
pub(crate) fn promise(
    session: &Session,
    others: Option<&str>,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let Some(kernel) = &session.kernel else { return Ok(()) };
    let release = kernel.release();
    streams.note(&format!("{release}: {}", kernel.promise()))?;
    match others {
        Some(others) => streams.note(&format!("{release}: {others}")),
        None => Ok(()),
    }
}
