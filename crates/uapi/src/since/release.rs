//! `Release`: a release of Linux.

use std::fmt;
use std::str::FromStr;

/// A release of Linux: 5.17.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// 5 of 5.17.
    pub major: u8,
    /// 17 of 5.17.
    pub minor: u8,
}

impl Release {
    pub(super) const fn new(major: u8, minor: u8) -> Release {
        Release { major, minor }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Not `MAJOR.MINOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotARelease;

impl FromStr for Release {
    type Err = NotARelease;

    /// `6.12`, `6.12.117` and `6.12.117+deb12-cloud-amd64` are 6.12.
    fn from_str(text: &str) -> Result<Release, NotARelease> {
        let mut parts = text.split(|c: char| !c.is_ascii_digit());
        let mut next = || parts.next().and_then(|part| part.parse().ok()).ok_or(NotARelease);
        Ok(Release { major: next()?, minor: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_and_ordered() {
        let read = |text: &str| text.parse::<Release>();
        assert_eq!(read("6.12.117+deb12-cloud-amd64"), Ok(Release::new(6, 12)));
        assert_eq!(read("5.17"), Ok(Release::new(5, 17)));
        assert!(Release::new(5, 9) < Release::new(5, 17));
        for text in ["", "6", "six.1", "v6.1"] {
            assert_eq!(read(text), Err(NotARelease), "{text}");
        }
    }
}
