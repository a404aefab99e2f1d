//! `--kernel`: resolves names and kernel files to kernels.

use crate::Error;
use crate::flags::LoaderFlag;
use crate::streams::Streams;
use serde::Serialize;
use skep::kernel::Source;
use skep::{Kernel, Session};
use skep_report::{MatrixKernel, Page};
use std::io;
use std::sync::Arc;

/// The name for one build of each series that was tested.
pub(crate) const ALL: &str = "all";
/// The kernel whose rules apply if none is named.
pub(crate) const DEFAULT: &str = "6.18";
/// Note for a program that runs and was verified for another kernel.
#[cfg(all(feature = "run", target_os = "linux"))]
pub(crate) const RUNS_AS: &str = "only verification follows that kernel; execution is as on 6.18";

/// The kernels named by the flag, each once, in order.
///
/// # Errors
///
/// One line: there is no such kernel, a file is not one, or two files are of the same
/// release, which is what distinguishes results.
pub(crate) fn named(names: &[String]) -> Result<Vec<Arc<Kernel>>, Error> {
    let mut kernels: Vec<Arc<Kernel>> = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let opened = match name.as_str() {
            ALL => Kernel::all_asked(),
            name => vec![Kernel::open(name).map_err(Error::caused)?],
        };
        for kernel in opened {
            // A file may say anything of a release that has a name.
            let is_new = |known: &Arc<Kernel>| {
                (known.release(), known.source()) != (kernel.release(), kernel.source())
            };
            if kernels.iter().all(is_new) {
                kernels.push(Arc::new(kernel));
            } else if kernel.source() == Source::File && !names[..i].contains(name) {
                let release = kernel.release();
                return Err(format!(
                    "{name}: another kernel file of the same release ({release}) is given, too: \
                     use one at a time"
                )
                .into());
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
pub(crate) fn only(names: &[String], loader: LoaderFlag) -> Result<Option<Session>, Error> {
    let mut sessions = sessions(names, loader)?;
    match (sessions.pop(), sessions.is_empty()) {
        (only, true) => Ok(only),
        (_, false) => {
            Err("only one kernel at a time; skep check and skep stat accept several".into())
        }
    }
}

/// Whether the flag names at most one kernel.
pub(crate) fn is_one(names: &[String]) -> bool {
    match names {
        [] => true,
        [only] => only != ALL,
        _ => false,
    }
}

/// A session for each of the kernels named by the flag.
///
/// # Errors
///
/// One line: one is not known.
pub(crate) fn sessions(names: &[String], loader: LoaderFlag) -> Result<Vec<Session>, Error> {
    let of = |kernel: Arc<Kernel>| {
        let session = Session::for_kernel(Kernel::clone(&kernel));
        Session { loader: loader.into(), ..session }
    };
    Ok(named(names)?.into_iter().map(of).collect())
}

/// How a kernel is described wherever results for it are shown.
pub(crate) fn described(kernel: &Kernel) -> MatrixKernel {
    MatrixKernel {
        name: kernel.name().to_owned(),
        release: kernel.release().to_owned(),
        source: crate::kernel::source(kernel),
        is_tested: kernel.is_tested(),
        promise: kernel.promise(),
    }
}

/// Its release, or the name of one that stands for many builds.
pub(crate) fn label(kernel: &Kernel) -> &str {
    if kernel.from_table().is_some() { kernel.name() } else { kernel.release() }
}

/// Whether results are those of a kernel that was not tested.
pub(crate) fn is_untested(session: &Session) -> bool {
    session.kernel.as_ref().is_some_and(|kernel| !kernel.is_tested())
}

/// The kernel of an array's item in JSON, as in that of `skep stat`.
#[derive(Clone, Serialize)]
pub(crate) struct OfKernel {
    kernel: String,
    kernel_source: &'static str,
}

impl OfKernel {
    /// What marks results for a kernel that was not tested; others are not marked.
    pub(crate) fn untested(session: &Session) -> Option<OfKernel> {
        let kernel = session.kernel.as_ref().filter(|kernel| !kernel.is_tested())?;
        let kernel_source = crate::kernel::source(kernel);
        Some(OfKernel { kernel: kernel.name().to_owned(), kernel_source })
    }
}

/// The page, with what its results are worth if they are those of a kernel.
pub(crate) fn noted(mut page: Page, session: &Session) -> Page {
    session.kernel.iter().for_each(|kernel| note_on(&mut page, &described(kernel)));
    page
}

/// Puts what results for a kernel are worth on a page.
pub(crate) fn note_on(page: &mut Page, kernel: &MatrixKernel) {
    match kernel.is_tested {
        true => page.note(&kernel.line()),
        false => page.warning(&kernel.line()),
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
    streams.note(&described(kernel).line())?;
    match others {
        Some(others) => streams.note(&format!("{}: {others}", label(kernel))),
        None => Ok(()),
    }
}
