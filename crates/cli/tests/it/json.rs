//! What `-o json` prints is what `docs/schema` says, and nothing that it does not say.
//!
//! The schemas use few words of JSON Schema, which are checked here: a word that is not known is an
//! error, so that no schema says more than is tested.

use serde_json::Value;
use skep_report::Style;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The schema of the version that is printed.
fn file(name: &str) -> String {
    let version = if name == "test" { 2 } else { 1 };
    format!("{name}.v{version}.json")
}

fn schema(name: &str) -> Value {
    let path = root().join("docs/schema").join(file(name));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no such type: {other}"),
    }
}

/// What of `value` is not as `schema` says: the first thing, with where it stands.
fn wrong(value: &Value, schema: &Value, at: &str) -> Option<String> {
    let words = schema.as_object().expect("a schema is an object");
    for (word, said) in words {
        let found = match word.as_str() {
            "$schema" | "title" | "required" | "additionalProperties" => None,
            "type" => {
                let any = match said {
                    Value::Array(names) => names.iter().collect::<Vec<_>>(),
                    name => vec![name],
                };
                let fits = any.iter().any(|name| is_of_type(value, name.as_str().unwrap_or("")));
                (!fits).then(|| format!("{at}: {value} is not of type {said}"))
            }
            "const" => (value != said).then(|| format!("{at}: {value} is not {said}")),
            "enum" => {
                let fits = said.as_array().is_some_and(|any| any.contains(value));
                (!fits).then(|| format!("{at}: {value} is not one of {said}"))
            }
            "anyOf" => {
                let mut any = said.as_array().into_iter().flatten();
                let fits = any.any(|schema| wrong(value, schema, at).is_none());
                (!fits).then(|| format!("{at}: {value} is none of those"))
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                items
                    .map(|(index, item)| (format!("{at}[{index}]"), item))
                    .find_map(|(at, item)| wrong(item, said, &at))
            }
            "properties" => wrong_in_object(value, schema, at),
            other => panic!("{at}: '{other}' is not checked"),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

fn wrong_in_object(value: &Value, schema: &Value, at: &str) -> Option<String> {
    let object = value.as_object()?;
    let mut required = schema["required"].as_array().into_iter().flatten();
    let missing = required.find(|name| !object.contains_key(name.as_str().unwrap_or("")));
    if let Some(name) = missing {
        return Some(format!("{at}: {name} is missing"));
    }
    object.iter().find_map(|(name, value)| {
        let at = format!("{at}.{name}");
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => Some(format!("{at}: the schema does not know it")),
            (Value::Null, rest) => wrong(value, rest, &at),
            (known, _) => wrong(value, known, &at),
        }
    })
}

fn printed(args: &[&str]) -> Value {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams =
        skep_cli::Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    let args = ["skep"].iter().chain(args).map(|arg| match arg.strip_prefix("tests/") {
        Some(_) => root().join(arg).into_os_string(),
        None => arg.into(),
    });
    skep_cli::run(args, &mut streams).expect("memory takes all");
    serde_json::from_slice(&out).unwrap_or_else(|e| {
        panic!("{e}: {}{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err))
    })
}

/// Schemas, and commands whose results they are of.
const COMMANDS: &[(&str, &str)] = &[
    ("stat", "stat --btf none tests/programs/refused.bpf.o tests/programs/xdp_count.bpf.o -o json"),
    ("stat", "stat -R tests/cli/base.csv -o json"),
    (
        "stat",
        "stat --btf none tests/programs/globals/budget.bpf.o -G mode={QUIET,LOUD} -G rounds=9..10 -o json",
    ),
    ("compare", "stat -C tests/cli/base.csv tests/cli/comp.csv -o json"),
    (
        "compare",
        "baseline check --btf none -b tests/cli/baseline.csv tests/programs/loops.bpf.o -o json",
    ),
    (
        "check",
        "check --btf none tests/programs/refused.bpf.o tests/programs/xdp_count.bpf.o -o json",
    ),
    ("check", "check --btf none tests/programs/refused.bpf.o --format json"),
    ("check", "check --btf none tests/refusals -o json"),
    (
        "kernels",
        "check --kernel 5.10,6.1 tests/programs/refused.bpf.o tests/programs/xdp_count.bpf.o -o json",
    ),
    ("min-kernel", "check --min-kernel tests/programs/loops.bpf.o -o json"),
    ("min-kernel", "check --min-kernel tests/programs/kfuncs/held.bpf.o -o json"),
    ("min-kernel", "check --min-kernel --kernel 5.10,5.15 tests/programs/loops.bpf.o -o json"),
    ("profile", "profile --btf none tests/programs/refused.bpf.o -o json"),
    ("profile", "profile --btf none tests/programs/loops.bpf.o -o json"),
    ("profile", "profile --btf none tests/programs/stress_parser.bpf.o -o json"),
    ("globals", "globals --btf none tests/programs/globals/budget.bpf.o -o json"),
    ("globals", "globals --btf none tests/programs/map_kinds.bpf.o -o json"),
    ("run", "run --btf none tests/programs/xdp_count.bpf.o xdp_count --profile --stats -o json"),
    ("run", "run --btf none tests/programs/map_kinds.bpf.o use_queue --dump-maps -o json"),
    ("run", "run --btf none tests/programs/xdp_count.bpf.o xdp_count --dump-maps --json"),
    ("run", "run --btf none tests/programs/loops.bpf.o loop_constant --interp --fuel 99 --json"),
    (
        "run",
        "run --btf none tests/programs/xdp_count.bpf.o xdp_count --pcap tests/cli/run/one.pcap \
         --stats-histogram --trace --json",
    ),
    ("run", "run --btf none tests/programs/kprobe_latency.bpf.o on_entry --json"),
    ("test", "test tests/programs/xdp_count.test.toml -o json"),
    ("test", "test tests/cli/suite/failing.test.toml -o json"),
    ("test", "test tests/cli/suite/key.test.toml tests/programs/tc_mark.test.toml -o json"),
    ("prog", "prog show --btf none tests/programs/xdp_count.bpf.o -o json"),
    ("prog", "prog stat --btf none tests/programs/calls.bpf.o --repeat 3 -o json"),
    (
        "dump-xlated",
        "dump --stage xlated --btf none tests/programs/xdp_count.bpf.o xdp_count -o json",
    ),
    ("dump-xlated", "dump --stage xlated --btf none tests/programs/calls.bpf.o -o json"),
    (
        "dump-jited",
        "dump --stage jited --btf none tests/programs/xdp_count.bpf.o xdp_count -o json",
    ),
    ("dump-jited", "dump --stage jited --btf none tests/programs/calls.bpf.o --json"),
    ("stat", "stat --kernel 6.12 tests/programs/xdp_count.bpf.o -o json"),
    ("stat", "stat --kernel 6.6 tests/programs/xdp_count.bpf.o -o json"),
    ("stat", "stat --kernel 5.10,6.6 tests/programs/loops.bpf.o -o json"),
    ("run", "run --kernel 6.6 tests/programs/xdp_count.bpf.o xdp_count -o json"),
    ("profile", "profile --kernel 6.6 tests/programs/loops.bpf.o -o json"),
    ("dump-xlated", "dump --stage xlated --kernel 6.6 tests/programs/xdp_count.bpf.o -o json"),
    ("dump-jited", "dump --stage jited --kernel 6.6 tests/programs/xdp_count.bpf.o -o json"),
    ("kernel-list", "kernel list -o json"),
    ("kernel-show", "kernel show 5.10 -o json"),
    ("kernel-show", "kernel show 6.18 -o json"),
    ("kernel-diff", "kernel diff 5.10 7.3 -o json"),
    ("kernel-diff", "kernel diff 6.6 6.6 -o json"),
    ("explain", "explain --list -o json"),
    ("explain", "explain leaked-reference -o json"),
    ("explain", "explain back-edge from insn 7 to 3 -o json"),
];

#[test]
fn results_are_as_their_schema_says() {
    for (name, command) in COMMANDS {
        // Machine code is x86-64's.
        if command.contains("jited") && !cfg!(target_arch = "x86_64") {
            continue;
        }
        let value = printed(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(wrong(&value, &schema(name), name), None, "skep {command}");
    }
}

/// A document is read without what is on standard error: it says itself that a kernel was not
/// tested.
#[test]
fn results_for_an_untested_kernel_say_so() {
    const FILE: &str = "tests/programs/xdp_count.bpf.o";
    let printed = |command: &str, kernel: &str| {
        let mut args: Vec<&str> = command.split(' ').collect();
        args.extend(["--kernel", kernel, "-o", "json"]);
        printed(&args)
    };
    for command in [format!("run {FILE} xdp_count"), format!("profile {FILE}")] {
        let (untested, tested) = (printed(&command, "6.6"), printed(&command, "6.12"));
        let (untested, tested) = (&untested["kernel"], &tested["kernel"]);
        assert_eq!((&untested["name"], &untested["source"]), (&"6.6".into(), &"table".into()));
        let says = |kernel: &Value, what| {
            kernel["promise"].as_str().is_some_and(|promise| promise.starts_with(what))
        };
        assert!(says(untested, "not tested: ") && says(tested, "tested: "), "{command}");
    }
    for (stage, prog) in
        [("xlated", ""), ("jited", ""), ("xlated", " xdp_count"), ("jited", " xdp_count")]
    {
        if stage == "jited" && !cfg!(target_arch = "x86_64") {
            continue;
        }
        let command = format!("dump --stage {stage} {FILE}{prog}");
        for (kernel, source) in [("6.6", "table".into()), ("6.12", Value::Null)] {
            let items = printed(&command, kernel);
            let items = items.as_array().expect("an array");
            assert!(!items.is_empty());
            assert!(items.iter().all(|it| it["kernel_source"] == source), "{command} {kernel}");
        }
    }
}

/// Calls of one line that are several insns are one stack: two rows would stand in any order.
#[test]
fn a_profile_has_each_stack_once() {
    let file = "tests/programs/stress_frames.bpf.o";
    let value = printed(&["profile", file, "-n", "1000", "-o", "json"]);
    let stacks = value["programs"][0]["stacks"].as_array().expect("stacks");
    let stacks: Vec<String> = stacks.iter().map(|row| row["stack"].to_string()).collect();
    assert!(stacks.len() > 10, "{stacks:?}");
    let unique: BTreeSet<&String> = stacks.iter().collect();
    assert_eq!(unique.len(), stacks.len());
}

#[test]
fn every_schema_is_in_the_document_and_tested() {
    let document = std::fs::read_to_string(root().join("docs/json.md")).expect("docs/json.md");
    let files = std::fs::read_dir(root().join("docs/schema")).expect("docs/schema").flatten();
    let files: BTreeSet<String> =
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    let tested = COMMANDS.iter().map(|(name, _)| file(name));
    assert_eq!(files, tested.collect());
    for file in files {
        assert!(document.contains(&format!("(schema/{file})")), "{file}");
    }
}

#[test]
fn the_schema_of_stat_knows_every_statistic() {
    let schema = schema("stat");
    let known = schema["items"]["properties"].as_object().expect("properties");
    for def in skep_report::STATS {
        assert!(known.contains_key(def.names[0]), "{}", def.names[0]);
    }
    let others = ["reason", "code", "at", "globals", "worst"];
    assert!(others.iter().all(|name| known.contains_key(*name)));
    assert_eq!(known.len(), skep_report::STATS.len() + others.len());
}

#[test]
fn what_a_schema_does_not_say_is_found() {
    let schema = serde_json::json!({
        "type": "object",
        "properties": { "a": { "type": ["integer", "null"] }, "b": { "items": { "const": 1 } } },
        "required": ["a"],
        "additionalProperties": false,
    });
    let wrong = |value: Value| wrong(&value, &schema, "x");
    assert_eq!(wrong(serde_json::json!({ "a": null, "b": [1, 1] })), None);
    assert_eq!(wrong(serde_json::json!({ "b": [] })), Some("x: \"a\" is missing".into()));
    let found = wrong(serde_json::json!({ "a": 1, "b": [1, 2] }));
    assert_eq!(found, Some("x.b[1]: 2 is not 1".into()));
    let found = wrong(serde_json::json!({ "a": 1, "c": 1 }));
    assert_eq!(found, Some("x.c: the schema does not know it".into()));
    assert!(wrong(serde_json::json!({ "a": 1.5 })).is_some());
}
