//! Tests of the workflows and of the action, which otherwise run only after a push. Also runs
//! `actionlint` where it is installed.

use clap::Parser;
use std::fs;
use std::path::PathBuf;
use yaml_rust2::{Yaml, YamlLoader};

fn read(path: &PathBuf) -> Yaml {
    let text = fs::read_to_string(path).expect("readable");
    let mut documents = YamlLoader::load_from_str(&text)
        .unwrap_or_else(|e| panic!("{}: not YAML: {e}", path.display()));
    assert_eq!(documents.len(), 1, "{}", path.display());
    documents.remove(0)
}

fn workflows() -> Vec<PathBuf> {
    let folder = fs::read_dir(crate::root().join(".github/workflows")).expect("readable");
    folder.map(|entry| entry.expect("readable").path()).collect()
}

/// The shell lines of steps, each of which must run something or use an action with a version.
fn scripts(steps: &Yaml) -> Vec<String> {
    let mut scripts = Vec::new();
    for step in steps.as_vec().expect("steps are a list") {
        match (step["run"].as_str(), step["uses"].as_str()) {
            (Some(script), None) => scripts.push(script.to_owned()),
            (None, Some(action)) => assert!(action.contains("@v"), "{action}: of no version"),
            _ => panic!("a step runs something or uses something: {step:?}"),
        }
    }
    scripts
}

/// The xtask commands in a script exist and accept their arguments.
fn names_our_commands(script: &str) {
    for line in script.lines() {
        let Some((_, arguments)) = line.split_once("cargo xtask ") else { continue };
        let words = std::iter::once("xtask").chain(arguments.split_whitespace());
        assert!(crate::Args::try_parse_from(words).is_ok(), "{line}: no such command");
    }
}

#[test]
fn workflows_run_what_exists() {
    let all = workflows();
    assert!(all.len() >= 2, "{all:?}");
    for path in all {
        let workflow = read(&path);
        let shown = path.display();
        assert!(workflow["name"].as_str().is_some(), "{shown}: no name");
        assert!(workflow["on"].as_hash().is_some(), "{shown}: runs on nothing");
        assert!(workflow["permissions"].as_hash().is_some(), "{shown}: may do anything");
        for (name, job) in workflow["jobs"].as_hash().expect("jobs") {
            assert!(job["runs-on"].as_str().is_some(), "{shown}: {name:?}: runs nowhere");
            assert!(job["timeout-minutes"].as_i64().is_some(), "{shown}: {name:?}: has no end");
            for script in scripts(&job["steps"]) {
                names_our_commands(&script);
                let file = script.split_whitespace().next().unwrap_or_default();
                let is_ours = file.starts_with('.') || file.starts_with("crates/");
                assert!(!is_ours || crate::root().join(file).is_file(), "{shown}: no {file}");
            }
        }
    }
}

#[test]
fn the_action_runs_what_exists() {
    let action = read(&crate::root().join("action.yml"));
    assert!(action["name"].as_str().is_some() && action["description"].as_str().is_some());
    assert_eq!(action["runs"]["using"].as_str(), Some("composite"));
    for step in action["runs"]["steps"].as_vec().expect("steps") {
        assert_eq!(step["shell"].as_str(), Some("bash"), "{step:?}");
        for (_, value) in step["env"].as_hash().into_iter().flatten() {
            let input = value.as_str().and_then(|text| text.strip_prefix("${{ inputs."));
            let input = input.and_then(|rest| rest.strip_suffix(" }}")).expect("an input");
            assert!(action["inputs"][input].as_hash().is_some(), "no input {input}");
        }
    }
    for script in scripts(&action["runs"]["steps"]) {
        for rest in script.split("$GITHUB_ACTION_PATH/").skip(1) {
            let path = rest.split('"').next().unwrap_or_default();
            assert!(crate::root().join(path).exists(), "no {path}");
        }
    }
}
