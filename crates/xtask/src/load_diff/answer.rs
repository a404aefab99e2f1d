//! The result for a program: loaded with which attributes, or refused at which step.

use skep::LoadClass;
use skep::object::Error;
use skep::program::{AttachTarget, Program};
use std::fmt::Write;

/// libbpf's answer, or ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// BPF_PROG_LOAD is reached, with these attributes.
    Loaded(String),
    /// Refused at this step, for this reason.
    Refused(LoadClass, String),
    /// Refused in a way that has no class.
    Other(String),
    /// There is no such program.
    Absent,
}

/// libbpf's messages for each class; the first matching row applies.
const WORDS: [(&str, LoadClass); 13] = [
    ("non-native endianness", LoadClass::Open),
    ("struct_ops", LoadClass::StructOps),
    ("not found in kernel", LoadClass::Extern),
    ("(strong): not resolved", LoadClass::Extern),
    ("incompatible with", LoadClass::Extern),
    ("extern (kcfg)", LoadClass::Extern),
    ("missing BPF prog type", LoadClass::Section),
    ("no BTF-based attach target", LoadClass::Attach),
    ("failed to find kernel BTF type ID", LoadClass::Attach),
    ("attach_prog_fd", LoadClass::Attach),
    ("failed to create", LoadClass::Map),
    ("relo #", LoadClass::Core),
    ("CO-RE", LoadClass::Core),
];

impl Answer {
    /// The result according to libbpf's warnings about a failed load.
    pub(super) fn of_warnings(warnings: &str) -> Answer {
        let row = WORDS.iter().find(|(words, _)| warnings.contains(words));
        match row {
            Some(&(_, class)) => Answer::Refused(class, warnings.to_owned()),
            None => Answer::Other(warnings.to_owned()),
        }
    }

    /// Why skep does not load a program.
    pub(super) fn of_error(error: &Error) -> Answer {
        match error.class() {
            Some(class) => Answer::Refused(class, error.to_string()),
            None => Answer::Other(error.to_string()),
        }
    }

    /// As one word.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Answer::Loaded(_) => "loaded",
            Answer::Refused(class, _) => class.name(),
            Answer::Other(_) => "other",
            Answer::Absent => "no program",
        }
    }

    /// Attributes, or the reason.
    pub(super) fn text(&self) -> &str {
        match self {
            Answer::Loaded(text) | Answer::Refused(_, text) | Answer::Other(text) => text,
            Answer::Absent => "",
        }
    }
}

/// The attributes passed to BPF_PROG_LOAD, in the format of `oracle.c`.
pub(super) fn attributes(program: &Program) -> String {
    // Without its target, the type of a program that replaces a function is undetermined.
    if program.section.starts_with("freplace") {
        return "freplace".to_owned();
    }
    let target = match &program.attach {
        AttachTarget::Kernel { btf_id, .. } => *btf_id,
        AttachTarget::None | AttachTarget::Unresolved(_) | AttachTarget::Function(_) => 0,
    };
    let mut text = format!(
        "type={} attach={} flags={} target={target} insns={} poison=",
        program.prog_type.number(),
        program.expected_attach_type,
        program.prog_flags.bits(),
        program.insns.len()
    );
    for unresolved in &program.unresolved {
        // Writing to a String cannot fail.
        let _ = write!(text, "{}:{},", unresolved.insn.index(), unresolved.missing);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of libbpf 1.7.
    #[test]
    fn warnings_have_a_class() {
        for (warning, class) in [
            ("extern (func ksym) 'f': not found in kernel or module BTFs|", LoadClass::Extern),
            ("extern 'CONFIG_X' (strong): not resolved|", LoadClass::Extern),
            ("prog 'p': missing BPF prog type, check ELF section name 'x'|", LoadClass::Section),
            ("prog 'p': failed to find kernel BTF type ID of 'f': -ESRCH|", LoadClass::Attach),
            ("map 'm': failed to create: -EINVAL|", LoadClass::Map),
            (
                "struct_ops init_kern: struct bpf_struct_ops_x is not found in kernel BTF|",
                LoadClass::StructOps,
            ),
            ("object 'x': loading non-native endianness is unsupported|", LoadClass::Open),
        ] {
            assert_eq!(Answer::of_warnings(warning).name(), class.name(), "{warning}");
        }
        assert_eq!(Answer::of_warnings("map 'm': pinned|").name(), "other");
    }
}
