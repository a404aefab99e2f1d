//! Diagnostics as SARIF 2.1.0, the format that code-scanning services read.

use crate::diagnostic::{Advice, Diagnostic, SourceSpot};
use crate::json_text::{JsonForm, write_json_text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Writes one SARIF log with one run. `log` contains the lines of the error stream, such as `error:
/// a.bpf.o: not an ELF file`: the notifications of the run.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_sarif(
    out: &mut dyn Write,
    diagnostics: &[Diagnostic],
    log: &str,
    tool_version: &str,
) -> io::Result<()> {
    let kinds: BTreeMap<&str, _> =
        diagnostics.iter().map(|d| (d.rule.as_str(), d.advice.as_ref())).collect();
    let rules: Vec<Value> = kinds.into_iter().map(|(id, advice)| rule(id, advice)).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "skep", "version": tool_version, "rules": rules } },
            "results": diagnostics.iter().map(result).collect::<Vec<_>>(),
            "invocations": [invocation(log)],
        }],
    });
    write_json_text(out, &log, JsonForm::Pretty)?;
    writeln!(out)
}

/// Whether everything was verified, and what was not.
fn invocation(log: &str) -> Value {
    let told: Vec<(&str, &str)> = log
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(level, text)| if level == "note" { ("note", text) } else { ("error", text) })
        .collect();
    let notification =
        |(level, text): &(&str, &str)| json!({ "level": level, "message": { "text": text } });
    json!({
        "executionSuccessful": told.iter().all(|(level, _)| *level == "note"),
        "toolExecutionNotifications": told.iter().map(notification).collect::<Vec<_>>(),
    })
}

fn rule(id: &str, advice: Option<&Advice>) -> Value {
    let Some(Advice { title, help }) = advice else { return json!({ "id": id }) };
    json!({ "id": id, "shortDescription": { "text": title }, "help": { "text": help } })
}

fn result(diagnostic: &Diagnostic) -> Value {
    let whole = json!({ "artifactLocation": { "uri": uri(&diagnostic.object) } });
    let physical = diagnostic.at.as_ref().map_or(whole, physical_location);
    let (object, prog) = (&diagnostic.object, &diagnostic.prog);
    let (name, kind) = match diagnostic.insn_idx {
        _ if prog.is_empty() => (object.clone(), "module"),
        Some(idx) => (format!("{object}:{prog}+{idx}"), "function"),
        None => (format!("{object}:{prog}"), "function"),
    };
    let related: Vec<Value> = diagnostic
        .notes
        .iter()
        .filter_map(|note| {
            let at = note.at.as_ref()?;
            Some(json!({
                "physicalLocation": physical_location(at),
                "message": { "text": note.text },
            }))
        })
        .collect();
    let mut text = diagnostic.headline();
    for line in diagnostic.details() {
        text.push('\n');
        text.push_str(&line);
    }
    json!({
        "ruleId": diagnostic.rule,
        "level": diagnostic.severity.text(),
        "message": { "text": text },
        "locations": [{
            "physicalLocation": physical,
            "logicalLocations": [{ "fullyQualifiedName": name, "kind": kind }],
        }],
        "relatedLocations": related,
    })
}

fn physical_location(spot: &SourceSpot) -> Value {
    let mut region = json!({ "startLine": spot.line.max(1) });
    if let Some(column) = spot.column {
        region["startColumn"] = json!(column);
    }
    if !spot.text.is_empty() {
        region["snippet"] = json!({ "text": spot.text });
    }
    json!({ "artifactLocation": { "uri": uri(&spot.file) }, "region": region })
}

/// A path as a URI reference: percent-encoded, `./` cut; with its scheme if it is absolute.
fn uri(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Note, Severity};

    #[test]
    fn places_and_rules() {
        let spot = SourceSpot {
            file: "./a b.c".into(),
            line: 7,
            column: std::num::NonZeroU32::new(3),
            text: "x".into(),
        };
        let refused = Diagnostic {
            severity: Severity::Error,
            rule: "not-a-pointer-to-memory".into(),
            message: "R0 invalid".into(),
            object: "a.bpf.o".into(),
            prog: "p".into(),
            insn_idx: Some(4),
            insn: Some("exit".into()),
            at: Some(spot.clone()),
            notes: vec![Note { text: "created".into(), at: Some(spot) }],
            advice: Some(Advice { title: "No pointer".into(), help: "Check it.".into() }),
        };
        let mut out = Vec::new();
        let of_object = Diagnostic { prog: String::new(), insn_idx: None, ..refused.clone() };
        let pair = [refused.clone(), Diagnostic { at: None, ..refused }, of_object];
        let told = "error: b.o: not an ELF file\nnote: c.o: none\n";
        write_sarif(&mut out, &pair, told, "1.2.3").unwrap();
        let log: Value = serde_json::from_slice(&out).unwrap();
        let run = &log["runs"][0];
        assert_eq!(log["version"], "2.1.0");
        let rule = json!([{
            "id": "not-a-pointer-to-memory",
            "shortDescription": { "text": "No pointer" },
            "help": { "text": "Check it." },
        }]);
        assert_eq!(run["tool"]["driver"]["rules"], rule);
        let place = &run["results"][0]["locations"][0];
        assert_eq!(place["physicalLocation"]["artifactLocation"]["uri"], "a%20b.c");
        assert_eq!(place["physicalLocation"]["region"]["startLine"], 7);
        assert_eq!(place["logicalLocations"][0]["fullyQualifiedName"], "a.bpf.o:p+4");
        assert_eq!(run["results"][0]["relatedLocations"][0]["message"]["text"], "created");
        let bare = &run["results"][1]["locations"][0]["physicalLocation"];
        assert_eq!(bare["artifactLocation"]["uri"], "a.bpf.o");
        let text = run["results"][0]["message"]["text"].as_str().unwrap();
        assert!(text.starts_with("p: No pointer\nkernel: R0 invalid\n"), "{text}");
        let whole = &run["results"][2]["locations"][0]["logicalLocations"][0];
        assert_eq!(whole, &json!({ "fullyQualifiedName": "a.bpf.o", "kind": "module" }));
        let invocation = &run["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false);
        let told = json!([
            { "level": "error", "message": { "text": "b.o: not an ELF file" } },
            { "level": "note", "message": { "text": "c.o: none" } },
        ]);
        assert_eq!(invocation["toolExecutionNotifications"], told);
        assert_eq!(uri("/usr/a b.h"), "file:///usr/a%20b.h");
    }
}
