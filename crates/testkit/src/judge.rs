//! What this machine provides for the suites: the kernel from which their expected values come, and
//! its BTF.
//!
//! A host with another kernel, or without access to bpf(2), provides neither: tests that need them
//! are skipped, never compared with the expected values.

use crate::suite::{self, Case};
use skep::btf::{BTF_MAGIC, Btf, BtfBuilder};
use skep::uapi::KernelProfile;
use skep::{Host, KernelBtf};
use skep_kernel::reference::{self, Absent};
use std::sync::Arc;

/// Names of kernel structs that a module has too, with a different size: a lookup of the kernel's
/// type must not find two.
const TWINS: [&str; 6] = ["task_struct", "sock", "sk_buff", "cgroup", "file", "bpf_cpumask"];

/// The number of additional types in another build of the kernel.
const MOVED_BY: u32 = 1009;

/// The kernel of the suites, as far as it is available.
#[derive(Debug)]
pub struct Judge {
    /// Whether bpf(2) is available with that kernel, or the reason why not.
    pub answers: Result<(), Absent>,
    /// Its BTF, or the reason why there is none.
    pub btf: Result<Arc<Btf>, String>,
}

impl Judge {
    /// Determines what this machine provides.
    pub fn here() -> Judge {
        let profile = KernelProfile::v6_18();
        let btf = match reference::runs(&profile) {
            Err(other) => Err(other.to_string()),
            Ok(()) => match Host::read(&KernelBtf::Running) {
                Ok(host) => host.kernel_btf.ok_or_else(|| "the kernel here has no BTF".to_owned()),
                Err(error) => Err(error.to_string()),
            },
        };
        Judge { answers: reference::answers(&profile), btf }
    }

    /// The BTF, if available.
    pub fn btf(&self) -> Option<&Arc<Btf>> {
        self.btf.as_ref().ok()
    }

    /// The BTF as in another build of the same kernel, in which all ids are different, with a
    /// module that has structs of the same names.
    pub fn renumbered(&self) -> Option<Arc<Btf>> {
        let moved = BtfBuilder::from_btf_behind(MOVED_BY, self.btf()?).build();
        let moved = Arc::new(moved.expect("the same types"));
        let module = twins(moved.end_str());
        Some(Arc::new(Btf::parse_module(moved, "twins", &module).expect("a module's BTF")))
    }

    /// Whether a case refers to kernel types and they are not available.
    pub fn lacks_types_of(&self, case: &Case) -> bool {
        self.btf.is_err() && suite::names_types_of_kernel(case)
    }

    /// What is skipped, one line each.
    pub fn skips(&self) -> Vec<String> {
        let kernel = self.answers.as_ref().err().map(|why| format!("cases [kernel]: {why}"));
        let types = self.btf.as_ref().err().map(|why| format!("cases with kernel types: {why}"));
        kernel.into_iter().chain(types).collect()
    }
}

/// The BTF of a module with empty structs; its strings follow those of the kernel.
fn twins(first_str: u32) -> Vec<u8> {
    const MAGIC: u32 = 1 << 16 | BTF_MAGIC as u32;
    const HEADER_BYTES: u32 = 24;
    const STRUCT: u32 = 4 << 24;
    let mut text = vec![0];
    let mut types = Vec::new();
    for name in TWINS {
        types.extend([first_str + text.len() as u32, STRUCT, 8]);
        text.extend(name.bytes().chain([0]));
    }
    let types_bytes = types.len() as u32 * 4;
    let header = [MAGIC, HEADER_BYTES, 0, types_bytes, types_bytes, text.len() as u32];
    header.into_iter().chain(types).flat_map(u32::to_ne_bytes).chain(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str = "# S\n\n## Plain\n\n```bpf\nr0 = 0\nexit\n```\n\n## Types\n\n```bpf\n\
                         call kfunc[bpf_rcu_read_lock]\nr0 = 0\nexit\n```\n";

    #[test]
    fn without_the_kernels_types_only_cases_that_need_them_are_skipped() {
        let refused = Absent::Other { release: "1.0".to_owned(), wanted: "6.18" };
        let none = Judge { btf: Err(refused.to_string()), answers: Err(refused) };
        let cases = suite::read(SUITE).expect("a suite");
        let lacks: Vec<bool> = cases.iter().map(|case| none.lacks_types_of(case)).collect();
        assert_eq!(lacks, [false, true]);
        let lines = none.skips();
        assert_eq!(lines.len(), 2);
        assert!(
            lines
                .iter()
                .all(|line| line.ends_with("the kernel here is 1.0, what is expected is of 6.18"))
        );
    }

    #[test]
    fn each_thing_that_is_not_here_is_a_line() {
        let types = || Ok(Arc::new(BtfBuilder::new().build().expect("no types")));
        let refused = || Absent::Other { release: "1.0".to_owned(), wanted: "6.18" };
        let lines = |answers, btf| Judge { answers, btf }.skips();
        assert_eq!(lines(Ok(()), types()), [""; 0]);
        let why = "the kernel here is 1.0, what is expected is of 6.18";
        assert_eq!(lines(Err(refused()), types()), [format!("cases [kernel]: {why}")]);
        let none = "the kernel here has no BTF";
        let said = lines(Ok(()), Err(none.to_owned()));
        assert_eq!(said, [format!("cases with kernel types: {none}")]);
    }
}
