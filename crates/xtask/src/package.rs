//! `cargo xtask package`: checks that the public crates can be published, in the order of their
//! dependencies.
//!
//! Works without network: cargo packages the crates together, so that each finds the others as
//! packages. `--build` then compiles the packages in a separate project outside of this repository.

use crate::outcome::{Ended, Outcome};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also compile the packages, outside of the repository.
    #[arg(long)]
    build: bool,
}

/// Files that every package contains, in addition to its sources.
const FILES: [&str; 5] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "NOTICE", "README.md"];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// A package of the workspace, from `cargo metadata`.
#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// The registries to which it may be published; absent: any.
    publish: Option<Vec<String>>,
    description: Option<String>,
    license: Option<String>,
    readme: Option<PathBuf>,
    rust_version: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
    dependencies: Vec<Dependency>,
    metadata: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    path: Option<PathBuf>,
    req: String,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let metadata: Metadata = serde_json::from_slice(&asked(&["metadata", "--no-deps"])?)?;
    let packages = &metadata.packages;
    let public: Vec<&Package> = packages.iter().filter(|package| package.is_public()).collect();
    let names: BTreeSet<&str> = public.iter().map(|package| package.name.as_str()).collect();
    let mut breaches: Vec<String> = public.iter().flat_map(|p| p.breaches(&names)).collect();
    for package in &public {
        let listed = asked(&["package", "--list", "--allow-dirty", "-p", &package.name])?;
        breaches.extend(unlisted(&package.name, &String::from_utf8(listed)?));
    }
    breaches.iter().for_each(|breach| println!("{breach}"));
    if !breaches.is_empty() {
        return Ok(Ended::Failed);
    }
    let order = in_order(&public)?;
    let target = crate::root().join("target/package");
    if let Some(why) = packaged(&order, &target)? {
        println!("{why}");
        return Ok(Ended::Failed);
    }
    let of = |package: &&Package| format!("{} {}", package.name, package.version);
    println!("packaged: {}", order.iter().map(of).collect::<Vec<_>>().join(", "));
    match args.build {
        true => built(&order, &target.join("package")),
        false => Ok(Ended::Passed),
    }
}

impl Package {
    fn is_public(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }

    /// Missing metadata that a registry or its users need.
    fn breaches(&self, public: &BTreeSet<&str>) -> Vec<String> {
        let rules = [
            (self.description.is_some(), "a description"),
            (self.license.is_some(), "a licence"),
            (self.readme.is_some(), "a readme"),
            (self.rust_version.is_some(), "a rust-version"),
            (!self.keywords.is_empty() && !self.categories.is_empty(), "keywords and categories"),
            (
                self.metadata.as_ref().is_some_and(|m| m["docs"]["rs"].is_object()),
                "docs.rs settings",
            ),
        ];
        let missing = rules.into_iter().filter(|(holds, _)| !holds);
        let mut found: Vec<String> =
            missing.map(|(_, what)| format!("{}: {what} is missing", self.name)).collect();
        let ours = self.dependencies.iter().filter(|on| on.path.is_some());
        for on in ours.filter(|on| on.kind.as_deref() != Some("dev")) {
            if !public.contains(on.name.as_str()) {
                let (name, on) = (&self.name, &on.name);
                found.push(format!("{name}: depends on {on}, which says `publish = false`"));
            } else if !on.req.starts_with('=') {
                let (name, on) = (&self.name, &on.name);
                found.push(format!("{name}: its dependency on {on} names no exact version"));
            }
        }
        found
    }
}

/// Files that are missing in a package's file list, or should not be there.
fn unlisted(name: &str, listed: &str) -> Vec<String> {
    let files: BTreeSet<&str> = listed.lines().collect();
    let missing = FILES.iter().filter(|file| !files.contains(*file));
    let mut found: Vec<String> =
        missing.map(|file| format!("{name}: {file} is not packaged")).collect();
    // cargo generates these itself.
    let made = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml.orig"];
    let known = |file: &str| {
        FILES.contains(&file)
            || made.contains(&file)
            || file.starts_with("src/")
            || file.starts_with("examples/")
    };
    let other = files.iter().filter(|file| !known(file));
    found.extend(other.map(|file| format!("{name}: {file} is packaged")));
    found
}

/// The packages in publishing order: each after those on which it depends.
fn in_order<'a>(public: &[&'a Package]) -> Result<Vec<&'a Package>, Box<dyn Error>> {
    let mut waiting: BTreeMap<&str, &Package> =
        public.iter().map(|package| (package.name.as_str(), *package)).collect();
    let mut order = Vec::new();
    while !waiting.is_empty() {
        let waits = |package: &&Package| {
            let mut needs = package.dependencies.iter().filter(|on| on.kind.is_none());
            needs.any(|on| waiting.contains_key(on.name.as_str()))
        };
        let next = waiting.values().copied().find(|package| !waits(package));
        let next = next.ok_or("the public crates depend on each other in a circle")?;
        waiting.remove(next.name.as_str());
        order.push(next);
    }
    Ok(order)
}

/// Packages all of them; returns cargo's error output if it fails.
fn packaged(order: &[&Package], target: &Path) -> Result<Option<String>, Box<dyn Error>> {
    let mut command = cargo(&["package", "--no-verify", "--allow-dirty", "--quiet"]);
    command.args(order.iter().flat_map(|package| ["-p", &package.name]));
    let output = command.arg("--target-dir").arg(target).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((!output.status.success()).then_some(said))
}

/// Compiles the packages like a user's project would.
fn built(order: &[&Package], folder: &Path) -> Outcome {
    let project = tempfile::tempdir()?;
    let mut manifest = String::from(
        "[package]\nname = \"stranger\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [lib]\npath = \"lib.rs\"\n\n[dependencies]\nskep = \"*\"\nskep-cli = \"*\"\n\n\
         [patch.crates-io]\n",
    );
    for package in order {
        let name = format!("{}-{}", package.name, package.version);
        let mut tar = Command::new("tar");
        tar.arg("xzf").arg(folder.join(format!("{name}.crate"))).arg("-C").arg(project.path());
        if !tar.status()?.success() {
            return Err(format!("{name}.crate cannot be unpacked").into());
        }
        manifest += &format!("{} = {{ path = \"{name}\" }}\n", package.name);
    }
    fs::write(project.path().join("Cargo.toml"), manifest)?;
    fs::write(project.path().join("lib.rs"), "pub use skep::Session;\n")?;
    // Use the versions of dependencies that are tested here.
    fs::copy(crate::root().join("Cargo.lock"), project.path().join("Cargo.lock"))?;
    let mut check = cargo(&["check", "--quiet", "--release"]);
    check.arg("--manifest-path").arg(project.path().join("Cargo.toml"));
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        check.arg("--target-dir").arg(crate::root().join("target"));
    }
    Ok(check.status()?.success().into())
}

/// cargo in the root, without network.
fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).arg("--offline").current_dir(crate::root());
    command
}

/// The output of cargo.
fn asked(arguments: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
    let output = cargo(arguments).arg("--quiet").stderr(Stdio::inherit()).output()?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("cargo {}: {}", arguments.join(" "), output.status).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, on: &[(&str, &str)]) -> Package {
        let dependency = |&(name, req): &(&str, &str)| Dependency {
            name: name.to_owned(),
            kind: None,
            path: Some(PathBuf::from("x")),
            req: req.to_owned(),
        };
        Package {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            publish: None,
            description: Some("d".to_owned()),
            license: Some("MIT".to_owned()),
            readme: Some(PathBuf::from("README.md")),
            rust_version: Some("1.95".to_owned()),
            keywords: vec!["bpf".to_owned()],
            categories: vec!["compilers".to_owned()],
            dependencies: on.iter().map(dependency).collect(),
            metadata: Some(serde_json::json!({ "docs": { "rs": {} } })),
        }
    }

    #[test]
    fn what_a_registry_would_refuse_is_a_breach() {
        let public = BTreeSet::from(["b"]);
        assert_eq!(package("a", &[("b", "=0.1.0")]).breaches(&public), Vec::<String>::new());
        let loose = package("a", &[("b", "*")]).breaches(&public);
        assert_eq!(loose, ["a: its dependency on b names no exact version"]);
        let internal = package("a", &[("kernel", "*")]).breaches(&public);
        assert_eq!(internal, ["a: depends on kernel, which says `publish = false`"]);
        let bare = Package { license: None, metadata: None, ..package("a", &[]) };
        assert_eq!(
            bare.breaches(&public),
            ["a: a licence is missing", "a: docs.rs settings is missing"]
        );
        assert!(!Package { publish: Some(Vec::new()), ..package("a", &[]) }.is_public());
    }

    #[test]
    fn each_is_published_after_what_it_needs() {
        let (a, b) = (package("a", &[("b", "=0.1.0")]), package("b", &[]));
        let order = in_order(&[&a, &b]).unwrap();
        assert_eq!(order.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        let c = package("b", &[("a", "=0.1.0")]);
        assert!(in_order(&[&a, &c]).is_err());
    }

    #[test]
    fn licences_are_packaged_and_tests_are_not() {
        let good =
            "Cargo.lock\nCargo.toml\nLICENSE-APACHE\nLICENSE-MIT\nNOTICE\nREADME.md\nsrc/lib.rs";
        assert_eq!(unlisted("a", good), Vec::<String>::new());
        let bad = good.replace("NOTICE", "tests/big.o");
        assert_eq!(
            unlisted("a", &bad),
            ["a: NOTICE is not packaged", "a: tests/big.o is packaged"]
        );
    }
}
