//! What is said of a name that is neither that of a kernel nor a file.

use super::{Kernel, STEP};
use crate::error::Error;
use skep_uapi::since::Release;
use std::path::Path;

/// Kernels of distributions have backports: no name stands for one of them.
const NOT_BUILT_IN: &str = "no such file or kernel; kernels of distributions are not built in: skep \
                            kernel probe (on such a machine) or skep kernel import (its package) \
                            makes a file of one, see docs/kernels.md, 'Kernels of other \
                            distributions'; skep kernel list shows the names";

/// The most similar names: those spelled similarly, else those of the same major version. There are
/// none for a file, or a kernel of a distribution.
pub(super) fn unknown(name: &str) -> Error {
    let why = match () {
        () if name.contains('/') || name.ends_with(".kernel") => "no such kernel file".to_owned(),
        () => of_kernels(name),
    };
    Error::new(Path::new(name), STEP, why)
}

fn of_kernels(name: &str) -> String {
    let all = Kernel::all();
    let is_version = name.parse::<Release>().is_ok();
    let alike = |kernel: &&Kernel| strsim::damerau_levenshtein(kernel.name(), name) == 1;
    let meant: Vec<&str> = all.iter().filter(alike).map(Kernel::name).collect();
    if !meant.is_empty() && !is_version {
        return format!("no such kernel; did you mean {}?", meant.join(" or "));
    }
    // `6.8.0-31-generic` is not 6.8, nor is `rhel9` anything of Linux's.
    let is_plain = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_plain {
        return NOT_BUILT_IN.to_owned();
    }
    let major = name.split('.').next().and_then(|number| number.parse().ok());
    let near = |kernel: &&Kernel| Some(kernel.version().major) == major;
    let mut known: Vec<&str> = all.iter().filter(near).map(Kernel::name).collect();
    if known.is_empty() {
        known = all.iter().map(Kernel::name).collect();
    }
    let known = known.join(", ");
    format!("no such file or kernel; known kernels: {known} (skep kernel list)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str) -> String {
        Kernel::open(name).expect_err("unknown").to_string()
    }

    #[test]
    fn an_unknown_kernel_is_told_its_neighbours() {
        assert!(told("6.13").contains("known kernels: 6.1, 6.6, 6.8, 6.12"), "{}", told("6.13"));
        assert!(told("v6.12").ends_with("did you mean 6.12?"), "{}", told("v6.12"));
        assert!(told("612").ends_with("did you mean 6.12?"), "{}", told("612"));
        assert!(told("4.4").contains("known kernels: 5.4, 5.10, 5.15"), "{}", told("4.4"));
    }

    #[test]
    fn a_distributions_kernel_is_told_how_to_get_it() {
        let names = ["rhel9", "ubuntu-22.04", "cos-113", "amzn2023", "5.14.0-503.el9.x86_64"];
        for name in names.into_iter().chain(["6.8.0-31-generic", "el8"]) {
            let told = told(name);
            let says = |what: &str| told.contains(what);
            assert!(says("skep kernel import") && says("skep kernel probe"), "{told}");
            assert!(says("docs/kernels.md") && !says("known kernels"), "{told}");
        }
        let file = told("build/mine.kernel");
        assert!(file.ends_with("no such kernel file"), "{file}");
    }
}
