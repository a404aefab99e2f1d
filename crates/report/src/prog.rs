//! `ProgRow`: a loaded program as `bpftool prog show` prints it, as text and as JSON.
//!
//! Source: bpftool-prog(8), EXAMPLES.

use crate::json_text::{JsonForm, write_json_text};
use crate::{counted, printable};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::fmt::Write as _;
use std::io::{self, Write};

/// One program; the fields are those of bpftool's JSON, in its order, and two that mark its time as
/// an estimate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProgRow {
    /// Number.
    pub id: u32,
    /// Name of the type.
    #[serde(rename = "type")]
    pub prog_type: String,
    /// Name of the program.
    pub name: String,
    /// Hex digits.
    pub tag: String,
    /// Whether the licence is compatible.
    pub gpl_compatible: bool,
    /// Time of all runs; omitted if 0, as in bpftool.
    #[serde(skip_serializing_if = "is_zero")]
    pub run_time_ns: u64,
    /// Runs; shown if they took time, as in bpftool.
    #[serde(skip_serializing_if = "is_zero")]
    pub run_cnt: u64,
    /// Number of timed runs, if not all were timed: the time is an estimate. Shown with it.
    #[serde(flatten, serialize_with = "estimate")]
    pub estimated_from: Option<u64>,
    /// Runs that were skipped; omitted if 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub recursion_misses: u64,
    /// Seconds since 1970.
    pub loaded_at: u64,
    /// User who loaded it.
    pub uid: u32,
    /// Bytes of insns after the rewrites.
    pub bytes_xlated: u64,
    /// Whether there is machine code.
    pub jited: bool,
    /// Bytes of it.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes_jited: u64,
    /// Bytes of memory.
    pub bytes_memlock: u64,
    /// Maps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub map_ids: Vec<u32>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// `"run_time_is_estimate":true,"timed_cnt":16`.
fn estimate<S: Serializer>(timed: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    if let Some(timed) = timed {
        map.serialize_entry("run_time_is_estimate", &true)?;
        map.serialize_entry("timed_cnt", timed)?;
    }
    map.end()
}

impl ProgRow {
    /// The first line: `1: xdp  name pass  tag ...  gpl run_time_ns 70 run_cnt 2`.
    pub fn headline(&self) -> String {
        let ProgRow { id, prog_type, tag, .. } = self;
        let mut line = format!("{id}: {prog_type}  name {}  tag {tag}", printable(&self.name));
        if self.gpl_compatible {
            line.push_str("  gpl");
        }
        // Writing to a String cannot fail.
        if self.run_time_ns > 0 {
            let _ = write!(line, " run_time_ns {} run_cnt {}", self.run_time_ns, self.run_cnt);
            if let Some(timed) = self.estimated_from {
                let _ = write!(line, " (estimate: {} timed)", counted(timed, "run"));
            }
        }
        if self.recursion_misses > 0 {
            let _ = write!(line, " recursion_misses {}", self.recursion_misses);
        }
        line
    }

    /// The row as printed: runs only together with their time, as in the text.
    pub fn shown(mut self) -> ProgRow {
        if self.run_time_ns == 0 {
            (self.run_cnt, self.estimated_from) = (0, None);
        }
        self
    }

    fn text(&self) -> String {
        let mut text = self.headline();
        let (loaded, uid) = (utc(self.loaded_at), self.uid);
        let _ = write!(text, "\n\tloaded_at {loaded}  uid {uid}\n\txlated {}B", self.bytes_xlated);
        match self.jited {
            true => drop(write!(text, "  jited {}B", self.bytes_jited)),
            false => text.push_str("  not jited"),
        }
        let _ = write!(text, "  memlock {}B", self.bytes_memlock);
        if !self.map_ids.is_empty() {
            let ids: Vec<String> = self.map_ids.iter().map(u32::to_string).collect();
            let _ = write!(text, "  map_ids {}", ids.join(","));
        }
        text.push('\n');
        text
    }
}

/// The output format of programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgFormat {
    /// For people.
    #[default]
    Text,
    /// An array of objects, in one line.
    Json,
    /// The same, indented.
    PrettyJson,
}

/// Prints programs.
///
/// # Errors
///
/// Those of the stream.
pub fn write_progs(out: &mut dyn Write, rows: &[ProgRow], format: ProgFormat) -> io::Result<()> {
    let shown = || rows.iter().cloned().map(ProgRow::shown).collect::<Vec<_>>();
    match format {
        ProgFormat::Text => rows.iter().try_for_each(|row| out.write_all(row.text().as_bytes())),
        ProgFormat::Json => {
            write_json_text(out, &shown(), JsonForm::Line)?;
            writeln!(out)
        }
        ProgFormat::PrettyJson => {
            write_json_text(out, &shown(), JsonForm::Pretty)?;
            writeln!(out)
        }
    }
}

/// `2017-09-29T20:11:00+0000`.
///
/// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * shifted + 2) / 5 + 1, (shifted + 2) % 12 + 1);
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+0000")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> ProgRow {
        ProgRow {
            id: 10,
            prog_type: "xdp".into(),
            name: "some_prog".into(),
            tag: "005a3d2123620c8b".into(),
            gpl_compatible: true,
            run_time_ns: 81632,
            run_cnt: 10,
            loaded_at: 1_506_715_860,
            bytes_xlated: 528,
            jited: true,
            bytes_jited: 370,
            bytes_memlock: 4096,
            map_ids: vec![10],
            ..ProgRow::default()
        }
    }

    /// The example of bpftool-prog(8).
    #[test]
    fn as_bpftool_prints_it() {
        let mut out = Vec::new();
        write_progs(&mut out, &[row()], ProgFormat::Text).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "10: xdp  name some_prog  tag 005a3d2123620c8b  gpl run_time_ns 81632 run_cnt 10\n\
             \tloaded_at 2017-09-29T20:11:00+0000  uid 0\n\
             \txlated 528B  jited 370B  memlock 4096B  map_ids 10\n"
        );
        let mut out = Vec::new();
        write_progs(&mut out, &[row()], ProgFormat::Json).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                r#"[{"id":10,"type":"xdp","name":"some_prog","tag":"005a3d2123620c8b","#,
                r#""gpl_compatible":true,"run_time_ns":81632,"run_cnt":10,"#,
                r#""loaded_at":1506715860,"uid":0,"bytes_xlated":528,"jited":true,"#,
                r#""bytes_jited":370,"bytes_memlock":4096,"map_ids":[10]}]"#,
                "\n"
            )
        );
    }

    /// Programs that parse bpftool's output find its fields; readers of the others are told that
    /// they are estimates.
    #[test]
    fn an_estimate_is_called_one() {
        let row = ProgRow { run_cnt: 640, estimated_from: Some(10), ..row() };
        let line = "  gpl run_time_ns 81632 run_cnt 640 (estimate: 10 runs timed)";
        assert!(row.headline().ends_with(line), "{}", row.headline());
        let mut out = Vec::new();
        write_progs(&mut out, std::slice::from_ref(&row), ProgFormat::Json).unwrap();
        let text = String::from_utf8(out).unwrap();
        let fields = r#","run_time_ns":81632,"run_cnt":640,"run_time_is_estimate":true,"timed_cnt":10,"loaded_at":"#;
        assert!(text.contains(fields), "{text}");
        let without = ProgRow { run_time_ns: 0, ..row };
        assert!(!without.headline().contains("estimate"));
        let json = serde_json::to_string(&without.shown()).unwrap();
        assert!(!json.contains("estimate") && !json.contains("timed_cnt"), "{json}");
    }

    #[test]
    fn what_is_zero_is_not_shown() {
        let row = ProgRow { run_time_ns: 0, run_cnt: 0, recursion_misses: 3, ..row() };
        let line = "10: xdp  name some_prog  tag 005a3d2123620c8b  gpl recursion_misses 3";
        assert_eq!(row.headline(), line);
        let row = ProgRow { jited: false, map_ids: vec![], gpl_compatible: false, ..row };
        assert!(row.text().ends_with("\txlated 528B  not jited  memlock 4096B\n"));
        assert!(!row.headline().contains("gpl"));
    }

    /// As in bpftool, both are present if there is a time.
    #[test]
    fn both_forms_show_runs_alike() {
        for (run_time_ns, run_cnt, is_shown) in
            [(0, 0, false), (0, 5, false), (7, 5, true), (7, 1, true)]
        {
            let row = ProgRow { run_time_ns, run_cnt, ..row() };
            for format in [ProgFormat::Text, ProgFormat::Json, ProgFormat::PrettyJson] {
                let mut text = Vec::new();
                write_progs(&mut text, std::slice::from_ref(&row), format).unwrap();
                let text = String::from_utf8(text).unwrap();
                for name in ["run_time_ns", "run_cnt"] {
                    assert_eq!(text.contains(name), is_shown, "{text}");
                }
            }
        }
    }

    #[test]
    fn dates() {
        for (seconds, wanted) in [
            (0, "1970-01-01T00:00:00+0000"),
            (951_782_400, "2000-02-29T00:00:00+0000"),
            (1_735_689_599, "2024-12-31T23:59:59+0000"),
            (4_107_542_400, "2100-03-01T00:00:00+0000"),
        ] {
            assert_eq!(utc(seconds), wanted);
        }
    }
}
