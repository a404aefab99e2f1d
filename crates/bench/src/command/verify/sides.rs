//! The sides of a comparison: `--a` and `--b`.

use serde::Serialize;
use skep_cli::Error;
use skep_verifier::Tuning;

/// One side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Side {
    /// `A` or `B`.
    pub(super) name: &'static str,
    /// Its settings as given; empty for the defaults.
    pub(super) settings: Vec<String>,
    #[serde(skip)]
    pub(super) tuning: Tuning,
}

impl Side {
    fn new(name: &'static str, settings: &[String]) -> Result<Side, Error> {
        let flag = name.to_ascii_lowercase();
        let tuning =
            skep_cli::tuning::read(settings).map_err(|e| Error::at(format!("--{flag}"), e))?;
        Ok(Side { name, settings: settings.to_vec(), tuning })
    }

    /// `A: idmap_reset=memset`.
    pub(super) fn title(&self) -> String {
        match self.settings.is_empty() {
            true => format!("{}: defaults", self.name),
            false => format!("{}: {}", self.name, self.settings.join(",")),
        }
    }
}

/// The side of a process that measures only one.
pub(super) fn alone(a: &[String]) -> Result<Vec<Side>, Error> {
    Ok(vec![Side::new("A", a)?])
}

/// One side, or two where settings are given.
pub(super) fn read(a: &[String], b: &[String]) -> Result<Vec<Side>, Error> {
    let first = Side::new("A", a)?;
    if a.is_empty() && b.is_empty() {
        return Ok(vec![first]);
    }
    let second = Side::new("B", b)?;
    match first.tuning == second.tuning {
        true => Err(format!("A and B are the same settings; {}", skep_cli::tuning::keys()).into()),
        false => Ok(vec![first, second]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_differ_or_there_is_one() {
        let list = |text: &str| vec![text.to_owned()];
        assert_eq!(read(&[], &[]).unwrap().len(), 1);
        let two = read(&list("state_alloc=heap"), &[]).unwrap();
        assert_eq!(two[0].title(), "A: state_alloc=heap");
        assert_eq!(two[1].title(), "B: defaults");
        assert!(read(&list("state_alloc=arena"), &[]).is_err(), "the default");
        assert!(
            read(&[], &list("x=y"))
                .unwrap_err()
                .to_string()
                .starts_with("--b: no such tuning: x=y")
        );
    }
}
