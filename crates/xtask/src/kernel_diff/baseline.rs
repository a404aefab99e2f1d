//! The committed agreement by program: programs that agreed must still agree.
//!
//! A baseline holds names, classes and reasons; no text of the programs.

use super::row::{Class, Row};
use crate::packed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// One line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) object: String,
    pub(crate) program: String,
    pub(crate) class: Class,
    pub(crate) reason: String,
}

impl Row {
    /// The baseline's line for a row.
    pub(crate) fn entry(&self) -> Entry {
        Entry {
            object: self.object.clone(),
            program: self.program.clone(),
            class: self.class,
            reason: self.reason.clone(),
        }
    }
}

type Entries = BTreeMap<(String, String), Entry>;

fn read(path: &Path) -> Result<Entries, csv::Error> {
    let mut entries = Entries::new();
    let text = packed::read(path)?;
    for entry in csv::Reader::from_reader(text.as_bytes()).deserialize() {
        let entry: Entry = entry?;
        entries.insert((entry.object.clone(), entry.program.clone()), entry);
    }
    Ok(entries)
}

/// All lines of the file.
pub(crate) fn read_all(path: &Path) -> Result<Vec<Entry>, csv::Error> {
    Ok(read(path)?.into_values().collect())
}

/// A line for each program that agrees less than in the file. Programs that the kernel does not
/// judge now are ignored, unless skep crashed on them; logs of walks of more than `logged_insns`
/// were not compared.
pub(crate) fn worse_than(
    path: &Path,
    rows: &[Row],
    logged_insns: u64,
) -> Result<Vec<String>, csv::Error> {
    let old = read(path)?;
    let worse = |row: &Row| {
        let was = old.get(&(row.object.clone(), row.program.clone()))?;
        let best = if row.insns() > logged_insns { Class::Counts } else { Class::Log };
        let wanted = was.class.rank().min(best.rank());
        let less = row.class.rank() < wanted && row.class != Class::NotJudged;
        let (was, now) = (was.class.name(), row.class.name());
        less.then(|| format!("{}:{}: {was}, now {now} {}", row.object, row.program, row.reason))
    };
    Ok(rows.iter().filter_map(worse).collect())
}

/// Writes the rows to the file; lines of programs that were not compared are kept.
pub(crate) fn write(path: &Path, rows: &[Row]) -> Result<(), csv::Error> {
    let mut entries = if path.exists() { read(path)? } else { Entries::new() };
    for row in rows {
        entries.insert((row.object.clone(), row.program.clone()), row.entry());
    }
    let mut csv = csv::Writer::from_writer(Vec::new());
    entries.values().try_for_each(|entry| csv.serialize(entry))?;
    let bytes = csv.into_inner().map_err(|why| why.into_error())?;
    Ok(packed::write(path, &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(program: &str, class: Class) -> Row {
        Row::without("v3/a.bpf.o", program, class, String::new())
    }

    #[test]
    fn less_agreement_is_worse_and_more_is_not() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::remove_file(file.path()).expect("removed");
        write(file.path(), &[row("a", Class::Counts), row("b", Class::Unsupported)])
            .expect("written");
        let worse =
            |a, b| worse_than(file.path(), &[row("a", a), row("b", b)], 9).expect("read").len();
        assert_eq!(worse(Class::Counts, Class::Unsupported), 0);
        assert_eq!(worse(Class::Log, Class::FalseReject), 0);
        assert_eq!(worse(Class::Verdict, Class::Log), 1);
        assert_eq!(worse(Class::Bug, Class::Bug), 1);
        assert_eq!(worse(Class::NotJudged, Class::NotJudged), 0);
    }

    #[test]
    fn a_log_that_is_not_wanted_is_not_missed() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::remove_file(file.path()).expect("removed");
        write(file.path(), &[row("a", Class::Log)]).expect("written");
        let worse = |class, insns_ours| {
            let row = Row { insns_ours, ..row("a", class) };
            worse_than(file.path(), &[row], 9).expect("read").len()
        };
        assert_eq!(worse(Class::Counts, 9), 1);
        assert_eq!(worse(Class::Counts, 10), 0);
        assert_eq!(worse(Class::Verdict, 10), 1);
    }

    #[test]
    fn programs_that_were_not_seen_keep_their_line() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::remove_file(file.path()).expect("removed");
        write(file.path(), &[row("a", Class::Log)]).expect("written");
        write(file.path(), &[row("b", Class::Log)]).expect("written");
        assert_eq!(read(file.path()).expect("read").len(), 2);
    }
}
