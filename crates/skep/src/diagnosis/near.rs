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
    (!near.is_empty()).then(|| Note { text: crate::catalogue::did_you_mean(&near), at: None })
}

/// Known sections, with the target of the unknown one; for one that is a known name with more after
/// it (`socket/tail`, `xdp_mine`), that name.
fn sections(section: &str) -> Vec<String> {
    let (kind, target) = section.split_at(section.find('/').unwrap_or(section.len()));
    let near = nearest(kind, section_names());
    let ends = |rest: &str| rest.starts_with(|c: char| !c.is_ascii_alphanumeric());
    let begins = |name: &&str| section.strip_prefix(name).is_some_and(ends);
    match section_names().filter(begins).max_by_key(|name| name.len()) {
        Some(known) if known == kind || near.is_empty() => vec![known.to_owned()],
        _ => near.into_iter().map(|kind| format!("{kind}{target}")).collect(),
    }
}

/// The member, value or type that a failed CO-RE relocation asks for.
pub(crate) fn asked_of_core(message: &str) -> Option<&str> {
    let asked = between(message, "CO-RE relocation <", ": ")?;
    let (_, path) = asked.split_once("> of ")?;
    let is_of_name = |c: char| c == '_' || c.is_alphanumeric();
    path.rsplit(|c| !is_of_name(c)).find(|name| name.starts_with(|c: char| !c.is_ascii_digit()))
}

fn of_kernel(message: &str, btf: &Btf) -> Option<Vec<String>> {
    if let Some(name) = between(message, "(func ksym) '", "': not found in kernel BTF") {
        return Some(named(btf, Kind::Func, name));
    }
    for (has_no, kind) in [("function", Kind::Func), ("typedef", Kind::Typedef)] {
        if let Some((said, name)) =
            message.split_once(&format!("the kernel's BTF has no {has_no} "))
        {
            let name = name.trim_end();
            return Some(as_in_section(said, name, named(btf, kind, name)));
        }
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

/// Names of targets as a section has them: without what the kernel's have before that (`bpf_lsm_`,
/// `bpf_iter_`, `btf_trace_`).
fn as_in_section(said: &str, asked: &str, near: Vec<String>) -> Vec<String> {
    let before = between(said, "attach target '", "'").and_then(|named| asked.strip_suffix(named));
    let Some(before) = before.filter(|before| !before.is_empty()) else { return near };
    near.iter().filter_map(|name| Some(name.strip_prefix(before)?.to_owned())).collect()
}

fn named(btf: &Btf, kind: Kind, name: &str) -> Vec<String> {
    let names = btf.iter().filter(|ty| ty.kind() == kind).map(|ty| ty.name());
    nearest(name, names)
}

fn nearest<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let most = (asked.chars().count() / 4).max(1);
    let letters = Letters::of(asked);
    let far = |name: &str| {
        // Most names of a kernel differ in length or letters, so compare these first.
        let is_far = name.len().abs_diff(asked.len()) > most || letters.differ_by(name) > most;
        // Two swapped letters count as one error.
        (!is_far).then(|| strsim::osa_distance(asked, name))
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

/// How often each byte is in a name; bytes that differ in the first bit only are one.
struct Letters([i32; 128]);

impl Letters {
    fn of(name: &str) -> Letters {
        let mut counts = [0; 128];
        name.bytes().for_each(|byte| counts[usize::from(byte & 0x7f)] += 1);
        Letters(counts)
    }

    /// How many bytes another name has, or lacks, at least: so many errors are between them.
    fn differ_by(&self, other: &str) -> usize {
        let mut counts = self.0;
        other.bytes().for_each(|byte| counts[usize::from(byte & 0x7f)] -= 1);
        let sum = |sign: i32| counts.iter().map(|it| (it * sign).max(0) as usize).sum();
        let (lacks, has): (usize, usize) = (sum(1), sum(-1));
        lacks.max(has)
    }
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
    fn names_have_at_least_as_many_errors_as_other_letters() {
        let names =
            ["", "a", "bpf_task_acquire", "bpf_task_aquire", "bpf_tsak_acquire", "pbf", "_ä"];
        for asked in names {
            for name in names {
                let errors = strsim::osa_distance(asked, name);
                // A letter that is no ASCII may be several bytes.
                let is_ascii = asked.is_ascii() && name.is_ascii();
                let differ = Letters::of(asked).differ_by(name);
                assert!(!is_ascii || differ <= errors, "{asked} {name}: {differ}, {errors}");
            }
        }
        assert_eq!(Letters::of("bpf_task_acquire").differ_by("bpf_tsak_acquire"), 0);
        assert_eq!(Letters::of("bpf_task_acquire").differ_by("bpf_task_aquire"), 1);
    }

    #[test]
    fn a_slip_of_the_pen_finds_what_was_meant() {
        let said = |message: &str| note(&names(message, None)).map(|note| note.text);
        let of_section = |name: &str| {
            said(&format!("libbpf cannot derive a program type from section name '{name}'"))
        };
        assert_eq!(of_section("xpd"), Some("did you mean `xdp`?".to_owned()));
        assert_eq!(
            of_section("kprob/vfs_read"),
            Some("did you mean `kprobe/vfs_read`?".to_owned())
        );
        assert_eq!(of_section("nothing_like_it"), None);
        let more = ["socket/tail", "socket_filter/types", "sk_lookup/", "xdp_mine", "xdp-root"];
        let known = ["socket", "socket", "sk_lookup", "xdp", "xdp"];
        for (more, known) in more.iter().zip(known) {
            assert_eq!(of_section(more), Some(format!("did you mean `{known}`?")));
        }
        assert_eq!(said("extern (func ksym) 'f': not found in kernel BTF"), None);
        let names = ["do_unlinkat", "do_unlink", "vfs_unlink", ""];
        assert_eq!(nearest("do_unlinkatt", names.into_iter()), ["do_unlinkat", "do_unlink"]);
        assert_eq!(nearest("x", names.into_iter()), [""; 0]);
    }

    #[test]
    fn targets_are_named_as_in_a_section() {
        let near = || ["bpf_iter_bpf_prog", "bpf_task"].map(str::to_owned).to_vec();
        let said = "attach target 'bpf_program': ";
        assert_eq!(as_in_section(said, "bpf_iter_bpf_program", near()), ["bpf_prog"]);
        assert_eq!(as_in_section("attach target 'f': ", "f", near()), near());
        assert_eq!(as_in_section("", "f", near()), near());
    }

    #[test]
    fn what_a_relocation_asks_for() {
        let asked = |of: &str| {
            let message = format!("CO-RE relocation <byte_off> of {of}: the kernel has no such");
            asked_of_core(&message).map(str::to_owned)
        };
        assert_eq!(asked("struct s.m.gone").as_deref(), Some("gone"));
        assert_eq!(asked("struct s.list[2]").as_deref(), Some("list"));
        assert_eq!(asked("enum e::GONE").as_deref(), Some("GONE"));
        assert_eq!(asked("struct s").as_deref(), Some("s"));
        assert_eq!(asked_of_core("invalid func"), None);
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
