//! The part of `docs/kernels.md` on licences: what kernels keep from programs that are not under
//! the GPL.

use super::fields::Row;
use super::{agree, licence};
use skep::kernel::Item;
use skep::uapi::helper::HelperId;
use skep::uapi::since;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;

const HEAD: &str = "
## Licences

What a kernel refuses to programs whose `license` section is not compatible with the GPL, asked of each kernel with a small
program under another licence (`cargo xtask kernels licence`). What is not listed is open to every program: of the helpers
that some program other than those of LSM may call, and of the program types.
";

const TABLE: &str = "
| name | | since | tested: open on | kept on |
|---|---|--:|--:|--:|
";

/// What kernels answered, oldest first: their names and rows.
type Asked = Vec<(String, Vec<Row>)>;

pub(super) fn table() -> Result<String, Box<dyn Error>> {
    let mut asked: Asked = Vec::new();
    for release in agree::releases_with(licence::END) {
        asked.push((agree::short(&release).to_owned(), licence::read(&release)?));
    }
    let rows = || asked.iter().flat_map(|it| &it.1).filter(|row| row.says == "yes");
    let mut text = HEAD.to_owned();
    let licences: BTreeSet<String> =
        rows().filter(|row| row.kind == "licence").map(|row| format!("`{}`", row.name)).collect();
    let licences: Vec<String> = licences.into_iter().collect();
    let _ = writeln!(text, "Compatible, on all of them: {}.", licences.join(", "));
    text.push_str(TABLE);
    let kept: BTreeSet<(&str, &str)> = rows()
        .filter(|row| row.kind != "licence")
        .map(|row| (row.name.as_str(), row.kind.as_str()))
        .collect();
    for (name, kind) in kept {
        let (open, kept) = between(&asked, name, kind);
        let since = since_of(name, kind).unwrap_or_else(|| "-".to_owned());
        let name = if name.is_empty() { "any".to_owned() } else { format!("`{name}`") };
        let _ = writeln!(text, "| {name} | {kind} | {since} | {open} | {kept} |");
    }
    Ok(text)
}

/// The newest kernel where it is there and open, and the oldest where it is kept.
fn between<'a>(asked: &'a Asked, name: &str, kind: &str) -> (&'a str, &'a str) {
    let says = |rows: &[Row], yes: &str| {
        rows.iter().any(|row| row.name == name && row.kind == kind && row.says == yes)
    };
    let open = asked.iter().rfind(|it| says(&it.1, "no"));
    let kept = asked.iter().find(|it| says(&it.1, "yes"));
    (open.map_or("-", |it| it.0.as_str()), kept.map_or("-", |it| it.0.as_str()))
}

/// The release that brought what is kept.
fn since_of(name: &str, kind: &str) -> Option<String> {
    let own = name.split('/').next_back()?;
    let since = match kind {
        "helper" => since::helper(HelperId::all().find(|id| id.name() == name)?),
        _ => {
            let of_name =
                |item: &Item| matches!(item, Item::Prog(_) | Item::Attach(_)) && item.name() == own;
            Item::all().find(of_name)?.since()
        }
    };
    since.map(|it| it.to_string())
}
