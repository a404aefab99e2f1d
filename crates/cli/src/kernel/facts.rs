//! What is said of a kernel, as text and as JSON.

use skep::Kernel;
use skep::kernel::{Item, Source};

/// Kinds of what there is on a kernel, as `Item::kind` has them.
pub(super) const KINDS: [&str; 5] = ["helper", "map type", "program type", "attach type", "insn"];

/// What is said of a kernel wherever JSON names it.
pub(crate) fn source(kernel: &Kernel) -> &'static str {
    match kernel.source() {
        Source::Asked => "asked",
        Source::Table => "table",
        Source::File => "file",
    }
}

/// How many options its configuration sets, if that is known.
pub(super) fn options(kernel: &Kernel) -> Option<usize> {
    let is_set = |line: &&str| line.starts_with("CONFIG_");
    kernel.kconfig().map(|text| text.lines().filter(is_set).count())
}

/// Names of what 6.18 has and this kernel has not.
pub(super) fn lacking(kernel: &Kernel, kind: &str) -> Vec<&'static str> {
    let lacks = |item: &Item| item.kind() == kind && kernel.has(*item) == Some(false);
    Item::all().filter(lacks).map(Item::name).collect()
}
