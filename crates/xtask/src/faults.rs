//! `cargo xtask faults`: seeded faults, and which test detects which of them.
//!
//! A fault is a row of `tests/faults/*.toml`: a place in the verifier or its domain, and the wrong
//! code to put there. The sources are not changed: in a copy of the tree, every row becomes a
//! branch on a number from the environment, so that one build contains all faults and no shipped
//! crate contains any. Then the tests run once for each fault, cheapest first; an undetected fault
//! shows where a test is missing.
//!
//! Reading order: [`table`], [`tree`] (the copy), [`finders`], [`found`] (the record, and
//! `docs/faults.md`).

mod finders;
mod found;
mod table;
mod tree;

use crate::outcome::Ended;
use finders::{Finder, TestResult};
use found::{Found, Record};
use std::time::Instant;
use table::Fault;
use tree::Tree;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Faults by name; by default all.
    names: Vec<String>,
    /// Those that were not detected in their last run, and those that never ran.
    #[arg(long)]
    open: bool,
    /// Run every test for each fault, instead of stopping at the first that detects it.
    #[arg(long)]
    every: bool,
    /// Run nothing: fail if a row matches no place in the sources, or if the record is not up to
    /// date.
    #[arg(long)]
    check: bool,
    /// Only write and build the copy of the tree with all faults.
    #[arg(long)]
    build: bool,
}

/// Minimum percentage of detected faults.
const FOUND_PERCENT_MIN: usize = 95;

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let root = crate::root();
    let faults = table::read(&root)?;
    let mut record = Record::read(&root)?;
    if args.check {
        let wrong = wrong(&root, &faults, &record);
        wrong.iter().for_each(|line| println!("{line}"));
        return Ok(wrong.is_empty().into());
    }
    let chosen = chosen(args, &faults, &record)?;
    let tree = Tree::write(&root, &faults)?;
    let finders = Finder::all(&tree.build()?)?;
    if args.build {
        return Ok(Ended::Passed);
    }
    let finders = finders::sound(finders, &tree)?;
    let start = Instant::now();
    for (i, fault) in chosen.iter().enumerate() {
        let found = find(fault, &finders, &tree, args.every)?;
        println!("{}/{} {}: {}", i + 1, chosen.len(), fault.name(), found::in_words(&found));
        record.set(fault, found);
        record.write(&root)?;
    }
    record.keep(&faults);
    record.write(&root)?;
    std::fs::write(root.join(found::DOCUMENT), found::document(&faults, &record))?;
    let total = faults.iter().filter(|fault| record.is_found(fault)).count();
    let seconds = start.elapsed().as_secs();
    println!("{total} of {} faults found; {} run, {seconds} s", faults.len(), chosen.len());
    Ok((total * 100 >= faults.len() * FOUND_PERCENT_MIN).into())
}

/// The faults selected by the command line.
fn chosen<'a>(args: &Args, faults: &'a [Fault], record: &Record) -> Result<Vec<&'a Fault>, String> {
    if let Some(name) = args.names.iter().find(|name| faults.iter().all(|f| f.name() != **name)) {
        return Err(format!("no fault {name}"));
    }
    let named = |f: &&Fault| args.names.is_empty() || args.names.iter().any(|n| n == f.name());
    let open = |f: &&Fault| !args.open || !record.is_found(f);
    Ok(faults.iter().filter(named).filter(open).collect())
}

/// The tests that detect the fault.
fn find(
    fault: &Fault,
    finders: &[finders::Sound],
    tree: &Tree,
    every: bool,
) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    for finder in finders.iter().filter(|finder| finder.concerns(fault)) {
        if let TestResult::Fails { first, count } = finder.run(fault.number, tree)? {
            found.push(Found { finder: finder.name().to_owned(), first, count });
            if !every {
                break;
            }
        }
    }
    Ok(found)
}

/// Inconsistencies between rows, sources, record and document.
fn wrong(root: &std::path::Path, faults: &[Fault], record: &Record) -> Vec<String> {
    let mut wrong = Vec::new();
    for (file, edits) in table::by_file(faults) {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        wrong.extend(table::edited(&text, &edits).err());
    }
    let command = "cargo xtask faults";
    for fault in faults {
        let name = fault.name();
        match (record.is_found(fault), fault.row.survives.is_empty()) {
            _ if !record.is_of(fault) => {
                wrong.push(format!("{name}: nobody looked for it; run `{command} {name}`"));
            }
            (false, true) => wrong.push(format!("{name}: survives; say why, or write the test")),
            (true, false) => wrong.push(format!("{name}: is found; remove `survives`")),
            _ => {}
        }
    }
    let total = faults.iter().filter(|fault| record.is_found(fault)).count();
    if total * 100 < faults.len() * FOUND_PERCENT_MIN {
        wrong.push(format!("{total} of {} faults are found: too few", faults.len()));
    }
    let document = std::fs::read_to_string(root.join(found::DOCUMENT)).unwrap_or_default();
    if document != found::document(faults, record) {
        wrong.push(format!("{}: out of date; run `{command} --open`", found::DOCUMENT));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_its_place_and_was_looked_for() {
        let root = crate::root();
        let faults = table::read(&root).expect("the rows are read");
        let record = Record::read(&root).expect("the record is read");
        assert_eq!(wrong(&root, &faults, &record), Vec::<String>::new());
        assert!(faults.len() >= 60);
    }
}
