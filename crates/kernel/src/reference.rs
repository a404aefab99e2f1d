//! Whether the host kernel can be a judge: it is accessible, and of the version that is modelled.
//!
//! Expected values (suites, baselines, recorded tables) are specific to a version; another kernel
//! would differ without either being wrong. Callers that compare with expected values check
//! [`answers`] first; callers that measure, or show a kernel's own results, check
//! [`bpf::available`].

use crate::bpf::{self, Errno};
use skep_uapi::KernelProfile;
use std::fmt;

/// Why the host kernel is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// bpf(2) says no.
    Refused(Errno),
    /// It is another version.
    Other {
        /// `uname -r`.
        release: String,
        /// The version wanted.
        wanted: &'static str,
    },
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Absent::Refused(errno) => write!(f, "the kernel is not accessible ({errno})"),
            Absent::Other { release, wanted } => {
                write!(f, "the kernel here is {release}, what is expected is of {wanted}")
            }
        }
    }
}

impl std::error::Error for Absent {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Absent::Refused(errno) => Some(errno),
            Absent::Other { .. } => None,
        }
    }
}

/// Whether the host kernel is accessible and matches this profile.
///
/// # Errors
///
/// Why it cannot be used.
pub fn answers(profile: &KernelProfile) -> Result<(), Absent> {
    runs(profile)?;
    bpf::available().map_err(Absent::Refused)
}

/// Whether the host runs a kernel of this profile, whose BTF is then as expected, accessible or
/// not.
///
/// # Errors
///
/// It is another version.
pub fn runs(profile: &KernelProfile) -> Result<(), Absent> {
    let release = bpf::release();
    match is_of(&release, profile.name) {
        true => Ok(()),
        false => Err(Absent::Other { release, wanted: profile.name }),
    }
}

/// `6.18.44-1-amd64`, `6.18-rc3` and `6.18` match `6.18`; `6.180` does not.
fn is_of(release: &str, version: &str) -> bool {
    let rest = release.strip_prefix(version);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_of_its_version_alone() {
        for release in ["6.18", "6.18.44", "6.18.44-1-amd64", "6.18-rc3", "6.18+"] {
            assert!(is_of(release, "6.18"), "{release}");
        }
        for release in ["6.180.1", "6.1.18", "6.17.9", "5.6.18", "7.0", ""] {
            assert!(!is_of(release, "6.18"), "{release}");
        }
    }

    #[test]
    fn the_host_has_a_release_and_is_asked_only_as_itself() {
        let release = bpf::release();
        assert!(release.starts_with(|first: char| first.is_ascii_digit()), "{release}");
        let other = KernelProfile { name: "0.1", ..KernelProfile::v6_18() };
        let absent = Absent::Other { release, wanted: "0.1" };
        assert_eq!(answers(&other), Err(absent.clone()));
        assert!(absent.to_string().ends_with("what is expected is of 0.1"));
    }
}
