//! Rows as one JSON array; keys are the CSV's column names.

use crate::diagnostic::{Diagnostic, SourceSpot};
use crate::json_text::{JsonForm, write_json_text};
use crate::row::Row;
use crate::spec::EmitSpec;
use serde_json::{Map, Value as Json, json};
use std::io::{self, Write};

/// Writes an array with one object per row: the statistics of `emit`; the reason, if there is one,
/// with its code and source line; in a sweep the values of the globals, and whether they are the
/// most expensive ones.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_json(out: &mut dyn Write, rows: &[Row], emit: &EmitSpec) -> io::Result<()> {
    let objects: Vec<Map<String, Json>> = rows.iter().map(|row| object(row, emit)).collect();
    write_json_text(out, &objects, JsonForm::Pretty)?;
    writeln!(out)
}

/// Writes diagnostics as an array of objects with the fields of [`Diagnostic`].
///
/// # Errors
///
/// Only those of `out`.
pub fn write_diagnostics_json(out: &mut dyn Write, diagnostics: &[Diagnostic]) -> io::Result<()> {
    let spot = |at: &Option<SourceSpot>| {
        at.as_ref().map(
            |at| json!({ "file": at.file, "line": at.line, "column": at.column_or_zero(), "text": at.text }),
        )
    };
    let object = |d: &Diagnostic| {
        let notes: Vec<Json> =
            d.notes.iter().map(|n| json!({ "text": n.text, "at": spot(&n.at) })).collect();
        json!({
            "severity": d.severity.text(),
            "rule": d.rule,
            "code": d.rule,
            "title": d.advice.as_ref().map(|advice| &advice.title),
            "help": d.advice.as_ref().map(|advice| &advice.help),
            "message": d.message,
            "object": d.object,
            "prog": d.prog,
            "insn_idx": d.insn_idx,
            "insn": d.insn,
            "at": spot(&d.at),
            "notes": notes,
        })
    };
    let objects: Vec<Json> = diagnostics.iter().map(object).collect();
    write_json_text(out, &objects, JsonForm::Pretty)?;
    writeln!(out)
}

fn object(row: &Row, emit: &EmitSpec) -> Map<String, Json> {
    let mut object = Map::new();
    for &stat in &emit.stats {
        object.insert(stat.def().names[0].to_owned(), row.get(stat).to_json());
    }
    if let Some(reason) = &row.reason {
        object.insert("reason".to_owned(), Json::from(reason.as_str()));
    }
    if let Some(code) = &row.code {
        object.insert("code".to_owned(), Json::from(code.as_str()));
    }
    if let Some((file, line)) = &row.at {
        object.insert("at".to_owned(), json!({ "file": file, "line": line }));
    }
    if !row.globals.is_empty() {
        let value = |text: &str| text.parse::<i64>().map_or_else(|_| text.into(), Json::from);
        let globals = row.globals.iter().map(|(name, text)| (name.clone(), value(text)));
        object.insert("globals".to_owned(), Json::Object(globals.collect()));
        object.insert("worst".to_owned(), Json::from(row.is_worst));
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::RowVerdict;
    use crate::stat::Stat;

    #[test]
    fn keys_are_csv_columns() {
        let mut row = Row::new("a.o", "p\"q", RowVerdict::Failure).with(Stat::TotalInsns, 3);
        row.reason = Some("R1 invalid".into());
        let mut out = Vec::new();
        write_json(&mut out, &[row], &EmitSpec::parse("file,prog,insns").unwrap()).unwrap();
        let json: Json = serde_json::from_slice(&out).unwrap();
        let expected = serde_json::json!([
            {"file_name": "a.o", "prog_name": "p\"q", "total_insns": 3, "reason": "R1 invalid"}
        ]);
        assert_eq!(json, expected);
    }

    #[test]
    fn a_sweep_has_its_values_and_a_refusal_its_code_and_line() {
        let mut row = Row::new("a.o", "p [n=-1 m=ON]", RowVerdict::Failure);
        row.globals = vec![("n".into(), "-1".into()), ("m".into(), "ON".into())];
        (row.code, row.at) = (Some("back-edge".into()), Some(("a.c".into(), 7)));
        let mut out = Vec::new();
        write_json(&mut out, &[row], &EmitSpec::parse("verdict").unwrap()).unwrap();
        let json: Json = serde_json::from_slice(&out).unwrap();
        let expected = serde_json::json!([{
            "verdict": "failure",
            "code": "back-edge",
            "at": { "file": "a.c", "line": 7 },
            "globals": { "n": -1, "m": "ON" },
            "worst": false,
        }]);
        assert_eq!(json, expected);
    }
}
