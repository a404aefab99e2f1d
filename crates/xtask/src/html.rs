//! `cargo xtask html`: tests the pages of `--html` in a headless Chromium: by keyboard, in both
//! colour schemes, and with axe.
//!
//! Chromium is a package of the distribution. axe-core is under the MPL: it is fetched from npm for
//! the test and not distributed. If either is missing, the command says what was not tested.

mod args;
mod axe;
mod browser;
mod pages;
mod pictures;
mod steps;

use crate::outcome::{Ended, Outcome};
pub(crate) use args::Args;
use browser::Browser;
use pages::Pages;

pub(crate) fn run(args: &Args) -> Outcome {
    let scratch = tempfile::tempdir()?;
    let folder = args.keep.clone().unwrap_or_else(|| scratch.path().to_owned());
    std::fs::create_dir_all(&folder)?;
    let pages = Pages::write(&folder.canonicalize()?)?;
    let Some(name) = browser::find() else {
        return Ok(Ended::Skipped("no Chromium (Debian: apt-get install chromium)".to_owned()));
    };
    let mut browser = Browser::start(name, &scratch.path().join("profile"))?;
    let mut failed = Vec::new();
    for (name, step) in steps::STEPS {
        browser.dress(1400, false)?;
        let result =
            step(&mut browser, &pages).and_then(|said| match browser.complaints.drain(..).next() {
                Some(complaint) => Err(complaint.into()),
                None => Ok(said),
            });
        match result {
            Ok(said) => println!("html: {name}: ok{said}"),
            Err(why) => failed.push(format!("{name}: {why}")),
        }
    }
    let accessible = axe::check(&mut browser, &pages)?;
    let alike = pictures::compare(&mut browser, &pages, args)?;
    failed.extend(alike);
    failed.extend(accessible.as_ref().ok().into_iter().flatten().cloned());
    for line in &failed {
        println!("html: failed: {line}");
    }
    Ok(match (failed.is_empty(), accessible) {
        (true, Err(why)) => Ended::Skipped(format!("accessibility: {why}")),
        (in_order, _) => in_order.into(),
    })
}
