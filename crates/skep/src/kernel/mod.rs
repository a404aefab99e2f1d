//! `Kernel`: a kernel other than the running one, as far as it is known: its release, its BTF, and
//! its features (helpers, map types, program types, insns).
//!
//! Verifier rules are those of 6.18 except for those in `uapi::Behaviours`. A program rejected
//! because a feature is missing is rejected by that kernel; one that is accepted may still be
//! rejected by it ([`Kernel::promise`]). A release between tested kernels has a verdict if
//! the rules of all give the same one.
//!
//! # Invariants
//! 1. If the BTF is known, it determines which helpers and types exist; otherwise the table of
//!    releases (`uapi::since`) does.
//! 2. Anything determined neither by the BTF nor by a tested kernel of that release gives no
//!    verdict ([`Lack::is_sure`]).

mod agreement;
#[doc(hidden)]
pub mod ask;
mod asked;
pub(crate) mod build;
mod calls;
mod fault;
mod file;
mod fit;
mod item;
mod lack;
mod names;
mod probe;
mod release;

pub use agreement::Agreement;
pub use ask::{Answers, AskError, Judged};
use asked::taken_over;
pub use asked::{ASKED, DISTRIBUTIONS, FROM_TABLE, FromTable};
pub use calls::Calls;
pub use item::{Item, Need, Needs};
pub use lack::{Lack, NEEDS_BTF, Refused};
pub use probe::Probed;

use crate::error::Error;
use crate::error_injection;
use crate::host::Host;
use skep_btf::{Btf, Kind};
use skep_uapi::ctx::CtxFields;
use skep_uapi::helper::HelperId;
use skep_uapi::since::{Insns, Release};
use skep_uapi::words::Words;
use skep_uapi::{Behaviour, Behaviours, Neighbour, patch_level};
use skep_verifier::ErrorInjection;
use std::path::Path;
use std::sync::Arc;

/// A kernel that programs are checked against.
#[derive(Clone, Debug)]
pub struct Kernel {
    release: String,
    /// The release whose features and rules it has: usually its own.
    rules: String,
    version: Release,
    btf: Option<Arc<Btf>>,
    kconfig: Option<Arc<str>>,
    source: Source,
    /// Results of probing it, if it was probed.
    answers: Option<Arc<Answers>>,
}

/// The source of a kernel's features, where its BTF does not list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This kernel was tested: it is built in, or its BTF is that of the tested kernel.
    Asked,
    /// The table of releases: an upstream kernel, or one of a distribution that is composed of one.
    Table,
    /// The table of releases, for a custom kernel, which may have more than the table says.
    File,
}

/// BTF kinds, and since when kernels know them.
const BTF_KINDS: [(Kind, Release); 4] = [
    (Kind::Float, Release { major: 5, minor: 13 }),
    (Kind::DeclTag, Release { major: 5, minor: 16 }),
    (Kind::TypeTag, Release { major: 5, minor: 17 }),
    (Kind::Enum64, Release { major: 6, minor: 0 }),
];

impl Kernel {
    fn built_in(release: &str, rules: &str, source: Source) -> Result<Kernel, Error> {
        let kernel = Kernel::new(release, None, of_release(rules)?);
        Ok(Kernel { source, rules: rules.to_owned(), ..kernel })
    }

    /// One that is described by a file, or running.
    fn new(release: &str, btf: Option<Arc<Btf>>, version: Release) -> Kernel {
        let is_asked = btf.as_ref().is_some_and(|btf| fit::is_asked(release, btf));
        let source = if is_asked { Source::Asked } else { Source::File };
        let rules = taken_over(release).unwrap_or(release);
        let version = rules.parse().unwrap_or(version);
        let (release, rules) = (release.to_owned(), rules.to_owned());
        Kernel { release, rules, version, btf, kconfig: None, source, answers: None }
    }

    /// All built-in kernels, oldest first: of some series several builds.
    pub fn builds() -> Vec<Kernel> {
        let names = ASKED.iter().map(|(name, _)| *name);
        let names = names.chain(FROM_TABLE.iter().map(|it| it.name));
        let mut all: Vec<Kernel> = names.filter_map(|name| Kernel::open(name).ok()).collect();
        all.sort_by_key(|kernel| kernel.version);
        all
    }

    /// One of each series, oldest first.
    pub fn all() -> Vec<Kernel> {
        let mut all = Kernel::builds();
        all.retain(|kernel| kernel.version.to_string() == kernel.name());
        all
    }

    /// The tested ones of those, oldest first.
    pub fn all_asked() -> Vec<Kernel> {
        Kernel::all().into_iter().filter(Kernel::was_asked).collect()
    }

    /// `6.12` if it has such a name, else its release.
    pub fn name(&self) -> &str {
        let named = match self.source {
            Source::Asked => ASKED.iter().find(|(_, it)| *it == self.release).map(|it| it.0),
            Source::Table => self.from_table().map(|it| it.name),
            Source::File => None,
        };
        named.unwrap_or(&self.release)
    }

    /// What is documented of a built-in kernel that was not tested.
    pub fn from_table(&self) -> Option<&'static FromTable> {
        let row = FROM_TABLE.iter().find(|it| it.release == self.release);
        row.filter(|_| self.source == Source::Table)
    }

    /// The Linux release whose features it has.
    pub fn version(&self) -> Release {
        self.version
    }

    /// The release whose rules it has: its own, but for distributions that take over those of a
    /// later one.
    pub fn rules(&self) -> &str {
        &self.rules
    }

    /// The source of its features.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Whether both kernels open objects and verify programs in the same way, except for
    /// `LINUX_KERNEL_VERSION`, so that only their features differ.
    pub fn walks_as(&self, other: &Kernel) -> bool {
        let same_btf = match (&self.btf, &other.btf) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        let same_calls = self.calls().are_those_of(&other.calls());
        let (one, other) = (self.host(), other.host());
        same_btf
            && same_calls
            && self.kconfig == other.kconfig
            && one.absent_btf_kinds == other.absent_btf_kinds
            && one.behaviours == other.behaviours
            && one.neighbours == other.neighbours
            && one.ctx_fields == other.ctx_fields
            && one.insns == other.insns
            && one.words == other.words
            && one.helpers_end == other.helpers_end
            && one.attach_end == other.attach_end
    }

    /// The same kernel with its configuration as text.
    pub fn with_kconfig(self, kconfig: Option<&str>) -> Kernel {
        Kernel { kconfig: kconfig.map(Arc::from), ..self }
    }

    /// Whether it is taken to have the features and rules of another release.
    fn is_composed(&self) -> bool {
        self.rules != self.release
    }

    /// `uname -r` of it.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Its configuration as text, if it is known.
    pub fn kconfig(&self) -> Option<&Arc<str>> {
        self.kconfig.as_ref()
    }

    /// Its BTF, if it is known.
    pub fn btf(&self) -> Option<&Arc<Btf>> {
        self.btf.as_ref()
    }

    /// What its BTF lists although it came after the release: backports, or the BTF is not that of
    /// the release.
    pub fn newer_items(&self) -> Vec<Item> {
        self.btf.as_ref().map_or(Vec::new(), |btf| fit::newer(btf, self.version))
    }

    /// Whether this kernel was tested.
    pub fn was_asked(&self) -> bool {
        self.source == Source::Asked
    }

    /// What objects are loaded against.
    pub fn host(&self) -> Host {
        let answers = self.answers();
        let is_absent =
            |(kind, since): &(Kind, Release)| match answers.map(|it| it.knows_kind(*kind)) {
                Some(Some(is_known)) => !is_known,
                _ => *since > self.version,
            };
        let absent = BTF_KINDS.into_iter().filter(is_absent);
        let (behaviours, neighbours) = self.behaviours();
        let Release { major, minor } = self.release.parse().unwrap_or(self.version);
        Host {
            kernel_btf: self.btf.clone(),
            kconfig: self.kconfig.clone(),
            // As libbpf has it; 0 if it is not known.
            kernel_version: u32::from(major) << 16
                | u32::from(minor) << 8
                | patch_level(&self.release).unwrap_or(0).min(255),
            has_bpf_cookie: self.has(Item::Helper(HelperId::GetAttachCookie)),
            cpus: 1,
            is_partial: true,
            absent_btf_kinds: absent.map(|(kind, _)| kind).collect(),
            behaviours,
            neighbours: neighbours.into(),
            ctx_fields: CtxFields::those(|field| {
                self.knows(Item::Field(*field)).is_none_or(|(is_there, _)| is_there)
            }),
            insns: Insns::those(|feature| {
                self.knows(Item::Insn(feature)).is_none_or(|(is_there, _)| is_there)
            }),
            calls: Some(self.calls()),
            words: Words::of_release(&self.rules),
            // Into which, its BTF does not tell.
            error_injection: (self.injects_errors() == Some(false))
                .then(|| ErrorInjection(Arc::new(|_| Some(false)))),
            helpers_end: self.helpers_end(),
            attach_end: self.attach_end(),
            ..Host::default()
        }
    }
}

impl Kernel {
    /// The calls that it refuses.
    fn calls(&self) -> Calls {
        Calls::of_release(&self.rules).corrected(self.answers.clone())
    }

    /// Its rules; for a kernel between tested ones the last one's, and those of all of them.
    fn behaviours(&self) -> (Behaviours, Vec<Neighbour>) {
        if self.was_asked() && self.answers.is_none() {
            return (Behaviours::of_release(&self.rules), Vec::new());
        }
        build::rules(&self.rules, |rule| self.holds(rule))
    }

    /// The same for a rule that came with a helper: the kernel has both, or neither.
    fn holds_by_helper(&self, rule: &Behaviour) -> Option<bool> {
        let (_, helper) = WITH_HELPER.iter().find(|(name, _)| *name == rule.name)?;
        let is_between = !Neighbour::of_release(&self.rules).is_empty();
        is_between.then(|| self.has(Item::Helper(*helper)))?
    }

    /// The same for a rule that depends on how the kernel was built.
    fn holds_by_build(&self, rule: &Behaviour) -> Option<bool> {
        build::holds(rule, self.btf.as_ref().filter(|_| self.source == Source::File)?)
    }

    /// Whether errors may be injected into some functions, if its BTF tells.
    fn injects_errors(&self) -> Option<bool> {
        let btf = self.btf.as_ref()?;
        Some(btf.find_by_name_kind(error_injection::LOOKUP, Kind::Func).is_some())
    }
}

/// Rules about fields of map values that came in one release with the helpers for them.
const WITH_HELPER: [(&str, HelperId); 2] =
    [("timer_fields", HelperId::TimerInit), ("kptr_fields", HelperId::KptrXchg)];

const STEP: &str = "looking for the kernel";

fn of_release(release: &str) -> Result<Release, Error> {
    release::parse(release).map_err(|why| Error::new(Path::new(release), STEP, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_btf::{BtfBuilder, FuncLinkage, IntEncoding, MemberDef};
    use skep_uapi::BEHAVIOURS;

    #[test]
    fn a_rule_that_came_with_a_helper_is_known_from_it() {
        let version = "5.16".parse().expect("a release");
        let kernel = Kernel { source: Source::Table, ..Kernel::new("5.16", None, version) };
        let neighbours = kernel.host().neighbours;
        assert_eq!(neighbours.len(), 3);
        for Neighbour { name, rules } in neighbours.iter() {
            assert_eq!((rules.timer_fields, rules.kptr_fields), (true, false), "{name}");
        }
        for kernel in Kernel::all_asked() {
            for (name, helper) in WITH_HELPER {
                let row = BEHAVIOURS.iter().find(|row| row.name == name).expect("a rule");
                let holds = kernel.holds(row);
                assert_eq!(holds, kernel.has(Item::Helper(helper)), "{} {name}", kernel.name());
            }
        }
    }

    /// Ubuntu's 6.14 unwinds by frame pointers, and injects errors: it refuses bpf_throw, and takes
    /// bpf_override_return. Debian's kernels around it do the contrary.
    #[test]
    fn rules_of_the_build_are_known_from_it() {
        let kernel = |member: &str, functions: &[&str]| {
            let mut btf = BtfBuilder::new();
            let int = btf.int("int", 4, IntEncoding::SIGNED);
            btf.struct_("unwind_state", 4, &[MemberDef::new(member, int, 0)]);
            let proto = btf.func_proto(int, &[]);
            for name in functions {
                btf.func(name, proto, FuncLinkage::Static);
            }
            let version = "6.14".parse().expect("a release");
            let btf = btf.build().expect("BTF");
            let folder = tempfile::tempdir().expect("a folder");
            let write = |name: &str, bytes: &[u8]| {
                std::fs::write(folder.path().join(name), bytes).expect("written");
            };
            std::fs::create_dir(folder.path().join("btf")).expect("created");
            write("release", b"6.14.0-37-generic\n");
            write("btf/vmlinux", &btf.to_bytes(skep_btf::Endian::Little));
            let facts = Host::read_folder(folder.path()).expect("a folder of facts");
            let host = Kernel::new("6.14.0-37-generic", Some(Arc::new(btf)), version).host();
            assert_eq!(facts.behaviours, host.behaviours);
            let injects = host.error_injection.and_then(|functions| (functions.0)("getname"));
            (host.behaviours.no_exceptions, host.behaviours.results_overridden, injects)
        };
        assert_eq!(kernel("full_regs", &[]), (false, false, Some(false)));
        let functions = ["bpf_override_return", "within_error_injection_list"];
        assert_eq!(kernel("orig_sp", &functions), (true, true, None));
    }

    /// libbpf takes the version from the release, and asks whether the helper is there.
    #[test]
    fn externs_of_libbpf_are_those_of_the_kernel() {
        let told = |name| {
            let host = Kernel::open(name).expect("built in").host();
            let [_, major, minor, patch] = host.kernel_version.to_be_bytes();
            ((major, minor, patch), host.has_bpf_cookie)
        };
        assert_eq!(told("6.12"), ((6, 12, 117), Some(true)));
        assert_eq!(told("5.10"), ((5, 10, 255), Some(false)), "5.10.262");
        assert_eq!(told("5.13"), ((5, 13, 0), Some(false)), "not known");
        assert_eq!(told("rhel9.4"), ((5, 14, 0), Some(true)), "with the BPF of 6.6");
    }

    /// May have been backported: `may_goto` came in 6.9.
    #[test]
    fn what_a_distribution_lacks_is_not_sure() {
        let knows = |name| {
            let kernel = Kernel::open(name).expect("built in");
            let insn = Item::all().find(|it| it.name() == "may_goto").expect("an insn");
            kernel.knows(insn)
        };
        assert_eq!(knows("6.6"), Some((false, true)));
        assert_eq!(knows("rhel9.4"), Some((false, false)));
    }

    #[test]
    fn an_older_kernel_knows_fewer_kinds_of_btf() {
        let kinds = |name| Kernel::open(name).expect("asked").host().absent_btf_kinds.len();
        assert_eq!((kinds("5.10"), kinds("6.1"), kinds("7.3")), (4, 0, 0));
    }
}
