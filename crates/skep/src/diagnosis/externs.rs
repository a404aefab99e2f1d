//! Externs that the kernel lacks, or declares otherwise: since which release it has a kfunc, and
//! the two prototypes; functions of the kernel that the program does not declare as such.
//!
//! `externs/kfuncs.csv` has the kfuncs of `docs/kernels.md`: name, newest kernel without it before
//! the oldest one with it (the newest of all without it, if it is gone), that one.

use crate::btf::{Btf, Kind};
use crate::diagnosis::near::between;
use crate::diagnosis::note::Note;
use crate::uapi::helper::HelperId;
use crate::uapi::since::Release;

const KFUNCS: &str = include_str!("externs/kfuncs.csv");

/// Notes about the extern that a loader's error names.
pub(crate) fn notes(message: &str, object: Option<&Btf>, kernel: Option<&Btf>) -> Vec<Note> {
    let plain = |text: String| Note { text, at: None };
    if let Some(text) = since_of(message) {
        return vec![plain(text)];
    }
    if let Some(name) = between(message, "extern ", ": libbpf only supports externs in ") {
        return undeclared(name, kernel).map(plain).into_iter().collect();
    }
    let differs = message.contains("': incompatible with the kernel's type ");
    let Some(name) = between(message, "extern '", "': ").filter(|_| differs) else {
        return Vec::new();
    };
    let ours = object.and_then(|btf| declared(btf, name, name));
    let theirs = kernel.and_then(|btf| declared(btf, essential(name), name));
    let sides = [("the program declares", ours), ("the kernel has", theirs)];
    let told = sides.into_iter().filter_map(|(who, what)| Some(format!("{who} `{}`", what?)));
    told.map(plain).collect()
}

/// A function of the kernel that the program calls without a declaration, or with one that does not
/// say whose it is.
fn undeclared(name: &str, kernel: Option<&Btf>) -> Option<String> {
    if HelperId::from_name(name).is_some() {
        return Some(format!("`{name}` is a helper"));
    }
    let there = kernel.and_then(|btf| declared(btf, name, name));
    let is_kfunc = KFUNCS.lines().any(|row| row.split(',').next() == Some(name));
    match there.filter(|_| is_kfunc) {
        Some(prototype) => Some(format!("`{name}` is a kfunc: `extern {prototype} __ksym;`")),
        None => is_kfunc.then(|| format!("`{name}` is a kfunc")),
    }
}

/// Since which release the kfunc is there that a loader's error says is not.
pub(crate) fn since_of(message: &str) -> Option<String> {
    const MISSING: [[&str; 2]; 2] = [
        ["(func ksym) '", "': not found in kernel BTF"],
        ["the kernel has no kfunc ", " (a weak extern)"],
    ];
    let name = MISSING.iter().find_map(|[before, after]| between(message, before, after))?;
    since(essential(name))
}

/// Since which release a kfunc is there.
fn since(name: &str) -> Option<String> {
    let row = KFUNCS.lines().find_map(|row| row.strip_prefix(name)?.strip_prefix(','))?;
    let (without, with) = row.split_once(',')?;
    let older = |without: &Release| with.parse().is_ok_and(|with: Release| *without < with);
    Some(match without.parse::<Release>().ok().filter(older) {
        Some(without) => {
            format!("Linux {with} has `{name}`, Linux {without}, as it was tested, does not")
        }
        None => format!("Linux {with} has `{name}`"),
    })
}

/// The prototype, or the type of a variable.
fn declared(btf: &Btf, name: &str, shown: &str) -> Option<String> {
    let found =
        [Kind::Func, Kind::Var].into_iter().find_map(|kind| btf.find_by_name_kind(name, kind));
    let text = btf.declaration(btf.ty(found?).target_id(), shown);
    // As libbpf, the loader names parameters that have no name.
    Some(text.replace(" dummy_ksym", "").replace("dummy_ksym", ""))
}

/// Without the suffix of a variant.
fn essential(name: &str) -> &str {
    name.split_once("___").map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_that_has_a_kfunc() {
        let said = |name: &str| {
            let message = format!("extern (func ksym) '{name}': not found in kernel BTF");
            notes(&message, None, None).first().map(|note| note.text.clone())
        };
        let text =
            "Linux 7.0.0-14 has `bpf_stream_print_stack`, Linux 6.19, as it was tested, does not";
        assert_eq!(said("bpf_stream_print_stack").as_deref(), Some(text));
        assert_eq!(said("bpf_stream_print_stack___v2").as_deref(), Some(text));
        assert_eq!(said("bpf_stream_print"), None);
        let weak = "load error: the kernel has no kfunc bpf_iter_num_new (a weak extern)";
        let text = "Linux 6.5 has `bpf_iter_num_new`, Linux 6.2, as it was tested, does not";
        assert_eq!(since_of(weak).as_deref(), Some(text));
        // One that is gone from later kernels.
        assert_eq!(
            said("bpf_kfunc_call_test1").as_deref(),
            Some("Linux 5.13 has `bpf_kfunc_call_test1`")
        );
    }

    #[test]
    fn a_function_of_the_kernel_that_is_not_declared() {
        let said = |name: &str| {
            let text = "libbpf only supports externs in .kconfig and .ksyms with BTF";
            let notes = notes(&format!("extern {name}: {text}"), None, None);
            notes.first().map(|note| note.text.clone())
        };
        let of_kfunc = said("bpf_dynptr_from_skb");
        assert_eq!(of_kfunc.as_deref(), Some("`bpf_dynptr_from_skb` is a kfunc"));
        let of_helper = said("bpf_map_lookup_elem");
        assert_eq!(of_helper.as_deref(), Some("`bpf_map_lookup_elem` is a helper"));
        assert_eq!(said("elsewhere"), None);
    }

    #[test]
    fn the_rows_are_those_of_the_document() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/kernels.md");
        let Ok(text) = std::fs::read_to_string(path) else { return };
        let table = text.split("| kfunc | flags |").nth(1).unwrap();
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let told: Vec<String> = rows
            .map(|row| {
                let cells: Vec<_> = row.split('|').map(str::trim).collect();
                format!("{},{},{}", cells[1].trim_matches('`'), cells[5], cells[6])
            })
            .collect();
        assert_eq!(told.join("\n") + "\n", KFUNCS);
    }
}
