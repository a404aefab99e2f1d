//! `--target FILE[:PROG]`: the program whose functions `freplace` programs replace.

use crate::flags::InputFlags;
use crate::judge_files::{Plan, not_loaded};
use skep::Session;
use skep::object::ObjectProgram;
use std::path::Path;

impl Plan {
    /// The session that the flags of `check`, `stat` and `skep-bench verify` ask for.
    ///
    /// # Errors
    ///
    /// One line: kernel BTF or a target that the user named and that cannot be used.
    pub(crate) fn session_of(flags: &InputFlags) -> Result<Session, String> {
        let session = Plan::session(flags.btf.as_deref(), flags.loader)?;
        let Some(target) = &flags.target else { return Ok(session) };
        with_target(session, target).map_err(|why| format!("--target: {why}"))
    }
}

fn with_target(session: Session, target: &str) -> Result<Session, String> {
    let (file, name) = split(target, |file| Path::new(file).exists());
    let path = Path::new(file);
    let bytes = session.read(path).map_err(|e| e.to_string())?;
    let object = session.open(path, &bytes).map_err(|e| e.to_string())?;
    let entry = choose(&object.programs, name).map_err(|why| format!("{file}: {why}"))?;
    let here = |why: String| format!("{file}: {why}");
    let program = entry
        .program
        .as_ref()
        .map_err(|e| here(format!("program '{}': {}", entry.name, not_loaded(e))))?;
    session.with_target(program).map_err(|e| here(e.to_string()))
}

/// File and program: a file whose name has a colon is itself.
fn split(target: &str, exists: impl Fn(&str) -> bool) -> (&str, Option<&str>) {
    match target.rsplit_once(':') {
        Some((file, name)) if !exists(target) => (file, Some(name)),
        _ => (target, None),
    }
}

/// The program of that name, or the only one.
fn choose<'a>(
    programs: &'a [ObjectProgram],
    name: Option<&str>,
) -> Result<&'a ObjectProgram, String> {
    let names = || programs.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
    match (name, programs) {
        (None, [only]) => Ok(only),
        (None, []) => Err("no program in it".to_owned()),
        (None, _) => Err(format!("several programs in it; name one: {}", names())),
        (Some(name), _) => {
            let found = programs.iter().find(|it| it.name == name);
            found.ok_or_else(|| format!("no program '{name}' in it, but: {}", names()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_file_may_have_a_colon() {
        let none = |_: &str| false;
        assert_eq!(split("a.o:main", none), ("a.o", Some("main")));
        assert_eq!(split("a.o", none), ("a.o", None));
        assert_eq!(split("a:b.o", |file| file == "a:b.o"), ("a:b.o", None));
        assert_eq!(split("a:b.o:main", |file| file == "a:b.o"), ("a:b.o", Some("main")));
    }
}
