//! Selection of programs, and values of global variables: `--filter`, `--set-global-vars`,
//! `--fail-if`, with lists in files.

use crate::Error;
use crate::inputs::read_list;
use crate::sweep::Sweep;
use skep_report::{Filters, Gate};

/// A program name that matches nothing is an error; a statistic that matches nothing is a result.
pub(crate) const NO_MATCH: &str = "--filter: no program matches";

/// Reads the conditions of `--fail-if`.
pub(crate) fn read_gate(conditions: &[String]) -> Result<Option<Gate>, Error> {
    let mut gate = Gate::default();
    for text in conditions {
        gate.add(text).map_err(|e| Error::at("--fail-if", e))?;
    }
    Ok(Some(gate).filter(|_| !conditions.is_empty()))
}

/// Reads the filters of the command line, `@` lists included.
pub(crate) fn read_filters(texts: &[String]) -> Result<Filters, Error> {
    let mut filters = Filters::default();
    for text in texts {
        match text.strip_prefix('@') {
            Some(path) => {
                let list = crate::inputs::read_text(path.as_ref()).map_err(|e| {
                    skep::Error::io(path.as_ref(), "reading filters", e).to_string()
                })?;
                filters.add_list(&list).map_err(|e| Error::at(path, e))?;
            }
            None => filters.add(text).map_err(|e| Error::at("--filter", e))?,
        }
    }
    Ok(filters)
}

/// The same for commands that print no statistics: a filter on one would be ignored.
pub(crate) fn read_names(texts: &[String]) -> Result<Filters, Error> {
    let filters = read_filters(texts)?;
    match filters.test_something() {
        true => Err("--filter: only `skep stat` selects by statistics and verdict".into()),
        false => Ok(filters),
    }
}

/// Reads the assignments of `-G`, `@` lists included.
pub(crate) fn read_presets(texts: &[String]) -> Result<Vec<crate::globals::Preset>, Error> {
    let sweep = read_sweep(texts, 1).map_err(|e| match e.to_string().contains("combinations") {
        true => "--set-global-vars: only `skep stat` accepts several values".into(),
        false => e,
    })?;
    Ok(sweep.combinations().into_iter().flat_map(|combination| combination.presets).collect())
}

/// Reads assignments of `-G` that may have several values each, `@` lists included.
pub(crate) fn read_sweep(texts: &[String], max: usize) -> Result<Sweep, Error> {
    let mut assignments = Vec::new();
    for text in texts {
        match text.strip_prefix('@') {
            Some(path) => {
                let list = crate::inputs::read_text(path.as_ref()).map_err(|e| {
                    skep::Error::io(path.as_ref(), "reading global variables", e).to_string()
                })?;
                assignments.extend(read_list(&list).map(str::to_owned));
            }
            None => assignments.push(text.clone()),
        }
    }
    Sweep::parse(&assignments, max).map_err(|e| Error::at("--set-global-vars", e))
}
