//! The licences of the crates that are linked into a binary, with their texts, which most licences
//! require to be included.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The output of `cargo metadata` about dependencies.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    /// The registry; absent for packages of this repository.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// Absent for linked crates; otherwise `dev` or `build`.
    kind: Option<String>,
}

/// The licences of everything that a package is linked with on a platform. Identical texts appear
/// once.
pub(super) fn of(package: &str, target: &str) -> Result<String, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut asked = Command::new(cargo);
    asked.args(["metadata", "--format-version=1", "--locked", "--quiet"]);
    let output = asked.args(["--filter-platform", target]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for package in metadata.linked(package) {
        let Some(licence) = &package.license else {
            return Err(format!("{} says no licence", package.name).into());
        };
        let title = format!("{} {}: {licence}", package.name, package.version);
        found.push((title, texts(&package.manifest_path)?));
    }
    Ok(written(&found))
}

impl Metadata {
    /// Third-party packages linked into `root`, by name.
    fn linked(&self, root: &str) -> Vec<&Package> {
        let by_id: BTreeMap<&str, &Package> =
            self.packages.iter().map(|package| (&*package.id, package)).collect();
        let nodes: BTreeMap<&str, &Node> =
            self.resolve.nodes.iter().map(|node| (&*node.id, node)).collect();
        let root = self.packages.iter().find(|p| p.name == root && p.source.is_none());
        let mut next: Vec<&str> = root.map(|package| &*package.id).into_iter().collect();
        let mut seen = BTreeMap::new();
        while let Some(id) = next.pop() {
            let (Some(package), Some(node)) = (by_id.get(id), nodes.get(id)) else { continue };
            if seen.insert((&*package.name, &*package.version), *package).is_none() {
                let links = |edge: &&Edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none());
                next.extend(node.deps.iter().filter(links).map(|edge| &*edge.pkg));
            }
        }
        seen.into_values().filter(|package| package.source.is_some()).collect()
    }
}

/// The licence texts beside a manifest.
fn texts(manifest: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let folder = manifest.parent().ok_or("a manifest without a folder")?;
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"]
            .iter()
            .any(|start| name.starts_with(start));
        if is_licence && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    let text = |path: &PathBuf| Ok(fs::read_to_string(path)?.trim().replace("\r\n", "\n"));
    files.iter().map(text).collect()
}

/// All crates, then each text with the crates that use it.
fn written(found: &[(String, Vec<String>)]) -> String {
    let mut out =
        String::from("The binary holds code of these crates, under the licences that follow:\n\n");
    let mut owners: Vec<(&str, Vec<&str>)> = Vec::new();
    for (title, texts) in found {
        out += &format!("  {title}\n");
        for text in texts {
            match owners.iter_mut().find(|(known, _)| known == text) {
                Some((_, names)) => names.push(title),
                None => owners.push((text, vec![title])),
            }
        }
    }
    for (text, names) in owners {
        let names: Vec<&str> =
            names.iter().map(|title| title.split(':').next().unwrap_or(title)).collect();
        out += &format!("\n{}\n{}\n\n{text}\n", "-".repeat(100), names.join(", "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_several_have_is_there_once() {
        let of = |name: &str, texts: &[&str]| {
            (format!("{name} 1.0: MIT"), texts.iter().map(|text| (*text).to_owned()).collect())
        };
        let text = written(&[of("a", &["same"]), of("b", &["same", "other"])]);
        assert_eq!(text.matches("same").count(), 1, "{text}");
        assert!(text.contains("\na 1.0, b 1.0\n\nsame\n"), "{text}");
        assert!(text.contains("\nb 1.0\n\nother\n"), "{text}");
    }
}
