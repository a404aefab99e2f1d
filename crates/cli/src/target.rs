//! `--target FILE[:PROG]`: the program whose functions `freplace` programs replace.

use crate::Error;
use crate::flags::{AgainstFlags, InputFlags};
use crate::inputs::os_string;
use crate::judge_files::{Plan, not_loaded};
use crate::kernels;
use skep::Session;
use skep::object::ObjectProgram;
use std::ffi::{OsStr, OsString};
use std::path::Path;

impl Plan {
    /// The session specified by the flags of `check`, `stat` and `skep-bench verify`.
    ///
    /// # Errors
    ///
    /// One line: kernel BTF or a target that the user named and that cannot be used.
    pub(crate) fn session_of(flags: &InputFlags) -> Result<Session, Error> {
        match (kernels::only(&flags.kernel, flags.loader)?, &flags.target) {
            (Some(_), Some(_)) => {
                return Err("not supported yet: --target with --kernel".into());
            }
            (Some(session), None) => return Ok(session),
            (None, _) => {}
        }
        let session = Plan::session(flags.btf.as_deref(), flags.loader)?;
        let Some(target) = &flags.target else { return Ok(session) };
        with_target(session, target).map_err(|why| Error::at("--target", why))
    }

    /// The sessions specified by the flags of `stat`: one for each kernel.
    ///
    /// # Errors
    ///
    /// As for [`Plan::session_of`], but for the number of kernels.
    pub(crate) fn sessions_of(flags: &InputFlags) -> Result<Vec<Session>, Error> {
        match kernels::is_one(&flags.kernel) || flags.target.is_some() {
            true => Ok(vec![Plan::session_of(flags)?]),
            false => kernels::sessions(&flags.kernel, flags.loader),
        }
    }

    /// The session specified by the flags of commands with one object.
    ///
    /// # Errors
    ///
    /// One line: a kernel or kernel BTF that the user named and that cannot be used.
    pub(crate) fn session_against(flags: &AgainstFlags) -> Result<Session, Error> {
        match kernels::only(&flags.kernel, flags.loader)? {
            Some(session) => Ok(session),
            None => Plan::session(flags.btf.as_deref(), flags.loader),
        }
    }
}

fn with_target(session: Session, target: &OsStr) -> Result<Session, Error> {
    let (file, name) = split(target, |file| Path::new(file).exists());
    let path = Path::new(&file);
    let bytes = session.read(path).map_err(Error::caused)?;
    let object = session.open(path, &bytes).map_err(Error::caused)?;
    let here = |why: Error| Error::at(path.display(), why);
    let entry = choose(&object.programs, name).map_err(here)?;
    let program = entry
        .program
        .as_ref()
        .map_err(|e| here(format!("program '{}': {}", entry.name, not_loaded(e)).into()))?;
    session.with_target(program).map_err(|e| here(Error::caused(e)))
}

/// File and program; a colon may also be part of an existing file's name.
fn split(target: &OsStr, exists: impl Fn(&OsStr) -> bool) -> (OsString, Option<&str>) {
    let bytes = target.as_encoded_bytes();
    let colon = bytes.iter().rposition(|byte| *byte == b':');
    match colon.map(|at| (&bytes[..at], std::str::from_utf8(&bytes[at + 1..]))) {
        Some((file, Ok(name))) if !exists(target) => (os_string(file), Some(name)),
        _ => (target.to_owned(), None),
    }
}

/// The program with that name, or the only one.
fn choose<'a>(
    programs: &'a [ObjectProgram],
    name: Option<&str>,
) -> Result<&'a ObjectProgram, Error> {
    let names = || programs.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
    match (name, programs) {
        (None, [only]) => Ok(only),
        (None, []) => Err("it has no program".into()),
        (None, _) => Err(format!("it has several programs; name one: {}", names()).into()),
        (Some(name), _) => {
            let found = programs.iter().find(|it| it.name == name);
            found.ok_or_else(|| format!("no program '{name}' in it, but: {}", names()).into())
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_file_may_have_a_colon() {
        let split = |target: &str, there: &str| {
            let (file, name) = super::split(target.as_ref(), |file| file == there);
            (file.into_string().unwrap(), name.map(str::to_owned))
        };
        let answer = |file: &str, name: Option<&str>| (file.to_owned(), name.map(str::to_owned));
        assert_eq!(split("a.o:main", ""), answer("a.o", Some("main")));
        assert_eq!(split("a.o", ""), answer("a.o", None));
        assert_eq!(split("a:b.o", "a:b.o"), answer("a:b.o", None));
        assert_eq!(split("a:b.o:main", "a:b.o"), answer("a:b.o", Some("main")));
    }
}
