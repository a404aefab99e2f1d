//! Accessibility according to axe: every page, its list and an opened program, in both colour
//! schemes.

use super::browser::{Browser, Failure};
use super::pages::Pages;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

const PACKAGE: &str = "axe-core@4.11.0";
const SHA256: &str = "e9e5863c33a874f09bc01acd9234b7e3c871479f5eef8802fa582544465e6d01";
const RUN: &str = "axe.run(document, { resultTypes: ['violations'] }).then(found => \
    found.violations.map(it => it.id + ': ' + it.nodes.map(node => node.html.slice(0, 120) + ' ' + \
    node.failureSummary).slice(0, 3).join(' | ')))";

/// The findings of axe, one per line; an error if it could not run.
pub(super) fn check(
    browser: &mut Browser,
    pages: &Pages,
) -> Result<Result<Vec<String>, String>, Failure> {
    let script = match script() {
        Ok(script) => script,
        Err(why) => return Ok(Err(why)),
    };
    let (mut found, mut asked) = (Vec::new(), 0);
    for name in Pages::NAMES {
        for (width, is_dark) in [(1400, false), (1400, true), (400, false)] {
            for place in ["", "#0"] {
                browser.dress(width, is_dark)?;
                browser.open(&format!("{}{place}", pages.url(name)))?;
                browser.value(&script)?;
                let violations = browser.value(RUN)?;
                asked += 1;
                for violation in violations.as_array().into_iter().flatten() {
                    let scheme = if is_dark { "dark" } else { "light" };
                    let line = format!("axe: {name}{place}, {width} px, {scheme}: {violation}");
                    found.push(line);
                }
            }
        }
    }
    println!("html: axe: {} violations in {asked} views", found.len());
    Ok(Ok(found))
}

/// axe's source, fetched once.
fn script() -> Result<String, String> {
    let folder = crate::root().join("target/axe");
    let path = folder.join("node_modules/axe-core/axe.min.js");
    if !path.exists() {
        fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-save", "--ignore-scripts", "--silent", PACKAGE]);
        npm.arg("--prefix").arg(&folder).stdin(Stdio::null());
        npm.stdout(Stdio::null()).stderr(Stdio::null());
        let status = npm.status().map_err(|e| format!("npm: {e}"))?;
        if !status.success() {
            return Err(format!("npm cannot fetch {PACKAGE}"));
        }
    }
    let script = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut digest = String::new();
    // Writing to a String cannot fail.
    Sha256::digest(&script).iter().for_each(|byte| _ = write!(digest, "{byte:02x}"));
    match digest == SHA256 {
        true => Ok(script),
        false => Err(format!("{}: not the axe that is known", path.display())),
    }
}
