//! Suggestions for misspelled names in a loader's error.

use crate::btf::{Btf, Kind};
use crate::diagnosis::note::Note;
use crate::object::section_names;

/// Maximum number of suggestions.
const SHOWN: usize = 3;
/// A shorter name is part of too many others.
const PART_MIN: usize = 4;

/// Names similar to the one that a message reports as missing: of sections, or of types and
/// functions in `btf`, the kernel's.
pub(crate) fn names(message: &str, btf: Option<&Btf>) -> Vec<String> {
    match between(message, "program type from section name '", "'") {
        Some(section) => sections(section),
        None => btf.and_then(|btf| of_kernel(message, btf)).unwrap_or_default(),
    }
}

/// The note that names them.
pub(crate) fn note(near: &[String]) -> Option<Note> {
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    let text = || format!("near to it: {}", near.join(", "));
    (!near.is_empty()).then(|| Note { text: text(), at: None })
}

/// Known sections, with the target of the unknown one.
fn sections(section: &str) -> Vec<String> {
    let (kind, target) = section.split_at(section.find('/').unwrap_or(section.len()));
    let near = nearest(kind, section_names());
    near.into_iter().map(|kind| format!("{kind}{target}")).collect()
}

fn of_kernel(message: &str, btf: &Btf) -> Option<Vec<String>> {
    if let Some(name) = between(message, "(func ksym) '", "': not found in kernel BTF") {
        return Some(named(btf, Kind::Func, name));
    }
    if let Some((_, name)) = message.split_once("the kernel's BTF has no function ") {
        return Some(named(btf, Kind::Func, name.trim_end()));
    }
    if let Some((_, name)) = message.split_once("the kernel's BTF has no typedef ") {
        return Some(named(btf, Kind::Typedef, name.trim_end()));
    }
    if let Some((_, missing)) = message.split_once(": the kernel has no ") {
        let (kind, name) = missing.trim_end().split_once(' ')?;
        let kind = match kind {
            "struct" => Kind::Struct,
            "union" => Kind::Union,
            "enum" => Kind::Enum,
            _ => Kind::Typedef,
        };
        return Some(named(btf, kind, name));
    }
    let (of, member) = message.split_once(" has no member ")?;
    let (_, of) = of.rsplit_once("the kernel's ")?;
    let of = of.rsplit(' ').next()?;
    let ty = btf.find_by_name(of).find(|ty| matches!(ty.kind(), Kind::Struct | Kind::Union))?;
    Some(nearest(member.trim_end(), ty.members().map(|member| member.name())))
}

fn named(btf: &Btf, kind: Kind, name: &str) -> Vec<String> {
    let names = btf.iter().filter(|ty| ty.kind() == kind).map(|ty| ty.name());
    nearest(name, names)
}

fn nearest<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let most = (asked.chars().count() / 4).max(1);
    let far = |name: &str| {
        // Most names of a kernel differ in length, so compare that first.
        let apart = name.len().abs_diff(asked.len());
        // Two swapped letters count as one error.
        (apart <= most).then(|| strsim::osa_distance(asked, name))
    };
    let bare = asked.trim_start_matches('_');
    // The kernel puts underscores before a name that it changes, or a word more.
    let rank = |name: &str| match name.trim_start_matches('_') {
        _ if name.is_empty() || name == asked => None,
        same if same == bare => Some((0, 0)),
        _ if bare.len() >= PART_MIN && has_part(name, bare) => Some((1, name.len())),
        _ => Some((2, far(name).filter(|far| *far <= most)?)),
    };
    let ranked = names.filter_map(|name| Some((rank(name)?, name)));
    let mut found: Vec<((u8, usize), &str)> = ranked.collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(SHOWN).map(|(_, name)| name.to_owned()).collect()
}

/// Whether a name has the words of another one, between its underscores.
fn has_part(name: &str, part: &str) -> bool {
    let ends = |text: &str| text.is_empty() || text.starts_with('_') || text.ends_with('_');
    let is_word = |(at, _): (usize, &str)| ends(&name[..at]) && ends(&name[at + part.len()..]);
    name.match_indices(part).any(is_word)
}

/// What stands between two words of a message.
pub(crate) fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_what_was_meant() {
        let said = |message: &str| note(&names(message, None)).map(|note| note.text);
        let of_section = |name: &str| {
            said(&format!("libbpf cannot derive a program type from section name '{name}'"))
        };
        assert_eq!(of_section("xpd"), Some("near to it: `xdp`".to_owned()));
        assert_eq!(of_section("kprob/vfs_read"), Some("near to it: `kprobe/vfs_read`".to_owned()));
        assert_eq!(of_section("nothing_like_it"), None);
        assert_eq!(said("extern (func ksym) 'f': not found in kernel BTF"), None);
        let names = ["do_unlinkat", "do_unlink", "vfs_unlink", ""];
        assert_eq!(nearest("do_unlinkatt", names.into_iter()), ["do_unlinkat", "do_unlink"]);
        assert_eq!(nearest("x", names.into_iter()), [""; 0]);
    }

    #[test]
    fn what_the_kernel_put_before_a_name_is_nearest() {
        let of_task = ["stats", "exit_state", "__state", "static_prio", "estates"];
        assert_eq!(nearest("state", of_task.into_iter()), ["__state", "exit_state", "stats"]);
        assert_eq!(nearest("__state", ["state", "__stats"].into_iter()), ["state", "__stats"]);
        let functions = ["bpf_task_from_pid", "bpf_task_from_vpid", "task"];
        assert_eq!(nearest("task_from_pid", functions.into_iter()), ["bpf_task_from_pid"]);
    }
}
