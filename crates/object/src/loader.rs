//! The loader whose rules apply, and the steps at which loading can fail.

use std::fmt;

/// The loader whose rules apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Loader {
    /// libbpf 1.x: whatever its `bpf_object__open` and `bpf_object__load` reject is rejected.
    /// Where its versions differ, those of 1.8 apply, the newest that was asked.
    #[default]
    Libbpf,
    /// Loaders that complete objects themselves, such as those of Go and Rust: what libbpf alone
    /// would reject is a note, and an error only concerns the affected programs.
    Any,
}

/// The step at which loading fails, before verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadClass {
    /// The loader rejects the file: legacy maps, static entry functions, byte order; or
    /// the kernel a program, for its name.
    Open,
    /// An extern (`.kconfig`, `.ksyms`, kfunc) that the kernel does not have.
    Extern,
    /// A struct_ops map, or a program of one.
    StructOps,
    /// A CO-RE relocation.
    Core,
    /// `BPF_MAP_CREATE`.
    Map,
    /// A section name that does not determine a program type.
    Section,
    /// An attach target that is missing or not named.
    Attach,
}

/// One row per class, in the order of the steps.
const NAMES: [(LoadClass, &str); 7] = [
    (LoadClass::Open, "open"),
    (LoadClass::Extern, "extern"),
    (LoadClass::StructOps, "struct_ops"),
    (LoadClass::Core, "core"),
    (LoadClass::Map, "map"),
    (LoadClass::Section, "section"),
    (LoadClass::Attach, "attach"),
];

impl LoadClass {
    /// All classes, in the order of the steps.
    pub fn all() -> impl Iterator<Item = LoadClass> {
        NAMES.iter().map(|row| row.0)
    }

    /// Short name: `map`, `struct_ops`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }
}

impl fmt::Display for LoadClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order() {
        assert!(LoadClass::all().enumerate().all(|(n, class)| class as usize == n));
    }
}
