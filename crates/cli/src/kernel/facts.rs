//! The facts about a kernel, as text and as JSON.

use skep::Kernel;
use skep::kernel::{Item, Source};
use skep::uapi::BEHAVIOURS;

/// Kinds of features, as in `Item::kind`.
pub(super) const KINDS: [&str; 5] = ["helper", "map type", "program type", "attach type", "insn"];

/// The description of a kernel in all JSON output.
pub(crate) fn source(kernel: &Kernel) -> &'static str {
    match kernel.source() {
        Source::Asked => "asked",
        Source::Table => "table",
        Source::File => "file",
    }
}

/// Number of options that its configuration sets, if known.
pub(super) fn options(kernel: &Kernel) -> Option<usize> {
    let is_set = |line: &&str| line.starts_with("CONFIG_");
    kernel.kconfig().map(|text| text.lines().filter(is_set).count())
}

/// Names of the features of 6.18 that this kernel lacks.
pub(super) fn lacking(kernel: &Kernel, kind: &str) -> Vec<&'static str> {
    let lacks = |item: &Item| item.kind() == kind && kernel.has(*item) == Some(false);
    Item::all().filter(lacks).map(Item::name).collect()
}

/// Names of those of which it is not known whether this kernel has them: no BTF lists insns, and
/// an older kernel may have received them.
pub(super) fn unknown(kernel: &Kernel, kind: &str) -> Vec<&'static str> {
    let is_unknown = |item: &Item| item.kind() == kind && kernel.has(*item).is_none();
    Item::all().filter(is_unknown).map(Item::name).collect()
}

/// Names of the rules whose answers fit no known value.
pub(super) fn unclear(kernel: &Kernel) -> Vec<&'static str> {
    let answers = kernel.answers();
    let is_unfit = |name: &&str| answers.is_some_and(|answers| answers.is_unfit(name));
    BEHAVIOURS.iter().map(|rule| rule.name).filter(is_unfit).collect()
}
