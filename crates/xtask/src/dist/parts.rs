//! The contents of the packages and their destinations: the tarball can be unpacked anywhere, the
//! `.deb` is installed system-wide.

use super::licences;
use super::tools::{Result, answer};
use crate::targets::MUSL;
use clap::CommandFactory;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Files of the repository that are included.
const DOCUMENTS: [&str; 5] =
    ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "NOTICE"];
/// Shells, names of the completions in the tarball, and their paths in a system.
const COMPLETIONS: [(&str, &str, &str); 3] = [
    ("bash", "skep.bash", "usr/share/bash-completion/completions/skep"),
    ("zsh", "_skep", "usr/share/zsh/vendor-completions/_skep"),
    ("fish", "skep.fish", "usr/share/fish/vendor_completions.d/skep.fish"),
];
/// A file of a package: path and contents.
pub(super) struct Entry {
    /// Relative to the unpacked folder, or to the root of a system.
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) mode: u32,
}

impl Entry {
    fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Entry {
        Entry { path: path.into(), bytes: bytes.into(), mode: 0o644 }
    }

    fn binary(path: &str, bytes: &[u8]) -> Entry {
        Entry { path: path.to_owned(), bytes: bytes.to_vec(), mode: 0o755 }
    }
}

/// The contents of both packages.
pub(super) struct Parts {
    binary: Vec<u8>,
    /// Name, such as `skep-stat.1`, and text.
    pages: Vec<(String, Vec<u8>)>,
    /// In the order of [`COMPLETIONS`].
    completions: Vec<Vec<u8>>,
    documents: Vec<(&'static str, Vec<u8>)>,
    /// The licences of linked crates.
    licences: String,
}

impl Parts {
    pub(super) fn of(binary: &Path) -> Result<Parts> {
        let printed = |arguments: &[&str]| answer(Command::new(binary).args(arguments));
        let mut pages = Vec::new();
        for path in commands(&skep_cli::Cli::command()) {
            let words: Vec<&str> = path.iter().map(String::as_str).collect();
            let name = [&["skep"], &*words].concat().join("-");
            pages.push((format!("{name}.1"), printed(&[&["man"], &*words].concat())?));
        }
        let completions = COMPLETIONS.iter().map(|(shell, ..)| printed(&["completions", shell]));
        let document = |name: &&'static str| Ok((*name, fs::read(name)?));
        Ok(Parts {
            binary: fs::read(binary)?,
            pages,
            completions: completions.collect::<Result<_>>()?,
            documents: DOCUMENTS.iter().map(document).collect::<Result<_>>()?,
            licences: licences::of("skep-cli", MUSL)?,
        })
    }

    pub(super) fn tarball(&self) -> Vec<Entry> {
        let mut files = vec![Entry::binary("skep", &self.binary)];
        files.extend(self.documents.iter().map(|(name, text)| Entry::new(*name, text.clone())));
        files.push(Entry::new("THIRD-PARTY", self.licences.clone()));
        let page =
            |(name, text): &(String, Vec<u8>)| Entry::new(format!("man/man1/{name}"), text.clone());
        files.extend(self.pages.iter().map(page));
        for ((_, name, _), text) in COMPLETIONS.iter().zip(&self.completions) {
            files.push(Entry::new(format!("completions/{name}"), text.clone()));
        }
        files
    }

    pub(super) fn deb(&self, version: &str) -> Vec<Entry> {
        let mut files = vec![Entry::binary("usr/bin/skep", &self.binary)];
        let document = |name: &str| format!("usr/share/doc/skep/{name}");
        files.extend(self.documents.iter().map(|(n, text)| Entry::new(document(n), text.clone())));
        let copyright = |name: &&(&str, Vec<u8>)| ["NOTICE", "LICENSE-MIT"].contains(&name.0);
        let texts = self.documents.iter().filter(copyright).map(|(_, text)| &text[..]);
        let mut text: Vec<u8> = texts.collect::<Vec<_>>().join(&b'\n');
        text.extend(
            b"\nThe text of the Apache License is in /usr/share/doc/skep/LICENSE-APACHE.\n\n",
        );
        text.extend(self.licences.as_bytes());
        files.push(Entry::new(document("copyright"), text));
        let page = |(name, text): &(String, Vec<u8>)| {
            Entry::new(format!("usr/share/man/man1/{name}"), text.clone())
        };
        files.extend(self.pages.iter().map(page));
        for ((_, _, path), text) in COMPLETIONS.iter().zip(&self.completions) {
            files.push(Entry::new(*path, text.clone()));
        }
        let kib = files.iter().map(|file| file.bytes.len().div_ceil(1024)).sum();
        files.push(Entry::new("DEBIAN/control", control(version, kib)));
        files
    }
}

/// The control file of the Debian package. A static binary has no dependencies.
fn control(version: &str, installed_kib: usize) -> String {
    format!(
        "Package: skep\nVersion: {version}\nArchitecture: amd64\nSection: devel\n\
         Priority: optional\nMaintainer: The skep authors\nInstalled-Size: {installed_kib}\n\
         Description: Linux's eBPF verifier and runtime in userspace\n \
         Verifies eBPF objects as the kernel would, without root: verdicts, logs and\n \
         counts. Explains refusals, compares builds, and runs programs in a process.\n"
    )
}

/// The commands with a man page: `[]` for the whole, `["prog", "show"]`.
fn commands(command: &clap::Command) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let name = below.get_name().to_owned();
        let deeper = commands(below).into_iter();
        all.extend(deeper.map(|rest| [vec![name.clone()], rest].concat()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let all = commands(&skep_cli::Cli::command());
        for wanted in [&[][..], &["stat"], &["prog", "show"], &["baseline", "check"]] {
            assert!(all.iter().any(|path| path == wanted), "{wanted:?} of {all:?}");
        }
    }

    #[test]
    fn the_packages_hold_the_same_and_know_their_places() {
        let parts = Parts {
            binary: b"x".to_vec(),
            pages: vec![("skep.1".to_owned(), b"page".to_vec())],
            completions: vec![b"c".to_vec(); 3],
            documents: DOCUMENTS.iter().map(|name| (*name, b"d".to_vec())).collect(),
            licences: "MIT".to_owned(),
        };
        let (tarball, deb) = (parts.tarball(), parts.deb("1.2.3"));
        // The copyright and `control` files exist only in the .deb; `THIRD-PARTY` is part of the
        // former.
        assert_eq!(tarball.len() + 1, deb.len());
        let find = |path: &str| deb.iter().find(|file| file.path == path).expect("is there");
        assert_eq!(find("usr/bin/skep").mode, 0o755);
        assert!(find("usr/share/doc/skep/copyright").bytes.ends_with(b"MIT"));
        let control = String::from_utf8(find("DEBIAN/control").bytes.clone()).unwrap();
        assert!(control.contains("Version: 1.2.3\n") && !control.contains("\n\n"), "{control}");
    }
}
