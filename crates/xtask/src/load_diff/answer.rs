//! The result for a program: loaded with which attributes, or refused at which step.

use skep::LoadClass;
use skep::insn::code::{BPF_CALL, BPF_JMP};
use skep::insn::{INSN_BYTES, Insn};
use skep::object::Error;
use skep::program::{AttachTarget, MapDef, MapIdx, Program};
use skep::uapi::{MapFlags, MapType};
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
const WORDS: [(&str, LoadClass); 19] = [
    ("non-native endianness", LoadClass::Open),
    ("missing BPF prog type", LoadClass::Section),
    ("BTF is mandatory", LoadClass::StructOps),
    ("struct_ops", LoadClass::StructOps),
    ("not found in kernel", LoadClass::Extern),
    ("(strong): not resolved", LoadClass::Extern),
    ("incompatible with", LoadClass::Extern),
    ("incompatible types", LoadClass::Extern),
    ("exception callback", LoadClass::Open),
    ("exception_callback:", LoadClass::Open),
    ("extern (kcfg)", LoadClass::Extern),
    ("no BTF-based attach target", LoadClass::Attach),
    ("failed to find kernel BTF type ID", LoadClass::Attach),
    ("attach_prog_fd", LoadClass::Attach),
    ("failed to create", LoadClass::Map),
    ("failed to relocate calls", LoadClass::Open),
    ("failed to relocate data references", LoadClass::Open),
    ("relo #", LoadClass::Core),
    ("CO-RE", LoadClass::Core),
];

/// What libbpf says at the end.
const FAILED: &str = "failed to load object";

impl Answer {
    /// The result according to libbpf's warnings about a failed load.
    pub(super) fn of_warnings(warnings: &str) -> Answer {
        // The last one has the file's name.
        let said: Vec<&str> = warnings.split('|').filter(|it| !it.contains(FAILED)).collect();
        let said = said.join("|");
        let row = WORDS.iter().find(|(words, _)| said.contains(words));
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
    let funcs = program.func_info.iter().map(|row| [row.insn_off.0, row.type_id]);
    let lines = program.line_info.iter();
    let lines = lines.map(|row| [row.insn_off.0, row.file_name_off, row.line_off, row.line_col]);
    let mut text = format!(
        "type={} attach={} flags={} target={target} insns={}:{:x} funcs={}:{:x} lines={}:{:x} license={} poison=",
        program.prog_type.number(),
        program.expected_attach_type,
        program.prog_flags.bits(),
        program.insns.len(),
        hash_of(program.insns.iter().flat_map(|insn| bytes_of(program, *insn))),
        funcs.len(),
        hash_of(funcs.flatten().flat_map(u32::to_le_bytes)),
        lines.len(),
        hash_of(lines.flatten().flat_map(u32::to_le_bytes)),
        program.license.replace(['\n', '\t'], " "),
    );
    for unresolved in &program.unresolved {
        // Writing to a String cannot fail.
        let _ = write!(text, "{}:{},", unresolved.insn.index(), unresolved.missing);
    }
    text
}

/// An insn as `oracle.c` counts it: a map by its name, what is in a module not at all.
fn bytes_of(program: &Program, insn: Insn) -> [u8; INSN_BYTES] {
    let of_module = insn.code == BPF_JMP | BPF_CALL && insn.src == 2 && insn.off != 0;
    let names_map = insn.is_ld_imm64() && matches!(insn.src, 1 | 2);
    let map = u32::try_from(insn.imm).ok().and_then(|index| program.map(MapIdx(index)));
    let (imm, off) = match map {
        _ if of_module => (0, 0),
        Some(map) if names_map => (hash_of(map.kernel_name().bytes()) as i32, insn.off),
        None if names_map => (-1, insn.off),
        _ => (insn.imm, insn.off),
    };
    let mut bytes = [0; INSN_BYTES];
    bytes[0] = insn.code;
    bytes[1] = insn.dst | insn.src << 4;
    bytes[2..4].copy_from_slice(&off.to_le_bytes());
    bytes[4..].copy_from_slice(&imm.to_le_bytes());
    bytes
}

/// FNV-1a.
fn hash_of(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The flags that the kernel tells: not those of the descriptor; that of device maps, which it sets
/// itself.
fn shown_flags(def: &MapDef) -> MapFlags {
    let devices = matches!(def.map_type, MapType::Devmap | MapType::DevmapHash);
    let set = if devices { MapFlags::RDONLY_PROG } else { MapFlags::empty() };
    let of_descriptor = MapFlags::RDONLY | MapFlags::WRONLY;
    (def.map_flags - of_descriptor) | set
}

/// The maps as the kernel has them, in the format of `oracle.c`.
pub(super) fn maps(defs: &[MapDef]) -> String {
    let mut text = String::new();
    for def in defs.iter().filter(|def| def.autocreate) {
        // Data sections have names with a dot. libbpf keeps no value that is not mapped.
        let named = def.map_type == MapType::Array && def.name.contains('.');
        let of_data = named && def.mmap_size_bytes != 0;
        // How many CPUs there are is no matter.
        let counted = def.map_type != MapType::PerfEventArray;
        let entries = if counted { def.max_entries } else { 0 };
        let value = 0..def.value_size as usize * usize::from(of_data);
        let bytes = value.filter_map(|at| def.initial_byte(at));
        let hash = if of_data { hash_of(bytes) } else { 0 };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "{}:{}:{}:{}:{}:{:x}:{:x}:{}:{}:{hash:x} ",
            def.kernel_name(),
            def.map_type as u32,
            def.key_size,
            def.value_size,
            entries,
            shown_flags(def).bits(),
            def.map_extra,
            def.btf_key_type_id,
            def.btf_value_type_id,
        );
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
            ("prog 'p': no BTF-based attach target is specified|", LoadClass::Attach),
        ] {
            assert_eq!(Answer::of_warnings(warning).name(), class.name(), "{warning}");
        }
        assert_eq!(Answer::of_warnings("map 'm': pinned|").name(), "other");
    }
}
