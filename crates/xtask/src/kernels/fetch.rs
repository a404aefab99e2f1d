//! Downloads kernels from the archives of Debian and Ubuntu and unpacks them, with a separate apt
//! configuration: the machine itself is not changed. The addresses of Debian's archive are those of
//! the machine.

use crate::outcome::Ended;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of packages, lists and unpacked kernels.
    #[arg(long, value_name = "DIR")]
    cache: PathBuf,
    /// Releases, as in the packages' names: `6.12.117+deb12-cloud-amd64`, `6.8.0-151-generic`.
    releases: Vec<String>,
}

/// The suffix of an archive's address, and its suites.
const SUITES: [(&str, &[&str]); 2] = [
    (
        "/debian",
        &[
            "bullseye",
            "bookworm",
            "bookworm-backports",
            "trixie",
            "trixie-backports",
            "forky",
            "sid",
        ],
    ),
    ("/debian-security", &["bullseye-security", "bookworm-security", "trixie-security"]),
];

/// The archive of Ubuntu, and its suites with long support. Asked only where its key is installed
/// (from its package `ubuntu-keyring`).
const UBUNTU: &str = "http://archive.ubuntu.com/ubuntu";
const UBUNTU_KEY: &str = "/usr/share/keyrings/ubuntu-archive-keyring.gpg";
const UBUNTU_SUITES: [&str; 6] =
    ["focal", "focal-updates", "jammy", "jammy-updates", "noble", "noble-updates"];

/// Packages of a kernel: either one with everything, or three with parts; then the single one
/// exists too, but is empty. Ubuntu's have two; what is named as Debian's single one is there the
/// signed image alone. Packages of old releases disappear from the archive one by one: a
/// kernel without modules still boots.
const PACKAGES: [&[&str]; 5] = [
    &["linux-image-unsigned-", "linux-modules-"],
    &["linux-binary-", "linux-modules-", "linux-base-"],
    &["linux-binary-", "linux-modules-"],
    &["linux-binary-"],
    &["linux-image-"],
];

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let apt = Apt { folder: args.cache.join("apt") };
    if !apt.sources().exists() {
        apt.configure()?;
        apt.run("apt-get", &["-qq", "update"], &args.cache)?;
    }
    if args.releases.is_empty() {
        for pattern in ["^linux-image-[0-9].*-cloud-amd64$", "^linux-binary-[0-9].*-cloud-amd64$"] {
            print!("{}", apt.run("apt-cache", &["search", "-n", pattern], &args.cache)?);
        }
    }
    for release in &args.releases {
        if !args.cache.join(release).exists() {
            apt.require(release, &args.cache)?;
        }
        fetch(&apt, release, &args.cache)?;
        println!("{release}: {}", args.cache.join(release).display());
    }
    Ok(Ended::Passed)
}

fn fetch(apt: &Apt, release: &str, cache: &Path) -> Result<(), Box<dyn Error>> {
    let unpacked = cache.join(release);
    if unpacked.exists() {
        return Ok(());
    }
    let named = |start: &&str| format!("{start}{release}");
    let mut found = Err(format!("no package of {release}"));
    for packages in PACKAGES {
        let names: Vec<String> = packages.iter().map(named).collect();
        let mut arguments = vec!["-qq", "download"];
        arguments.extend(names.iter().map(String::as_str));
        if apt.run("apt-get", &arguments, cache).is_ok() {
            found = Ok(names);
            break;
        }
    }
    // Unpacks to a temporary name, so that an incomplete kernel is not mistaken for a complete one.
    let half = cache.join(format!("{release}.part"));
    fs::create_dir_all(&half)?;
    for name in found? {
        let start = format!("{name}_");
        let files = fs::read_dir(cache)?.filter_map(Result::ok).map(|entry| entry.path());
        let of_package = |path: &PathBuf| {
            path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&start))
        };
        let Some(deb) = files.into_iter().find(of_package) else { continue };
        let status = Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&half).status()?;
        if !status.success() {
            return Err(format!("dpkg-deb -x {}: {status}", deb.display()).into());
        }
    }
    Ok(fs::rename(half, unpacked)?)
}

/// apt with its lists and sources in a separate folder.
struct Apt {
    folder: PathBuf,
}

impl Apt {
    fn sources(&self) -> PathBuf {
        self.folder.join("sources.list")
    }

    fn configure(&self) -> Result<(), Box<dyn Error>> {
        for name in ["state/lists/partial", "cache/archives/partial", "parts"] {
            fs::create_dir_all(self.folder.join(name))?;
        }
        let targets = Command::new("apt-get")
            .args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"])
            .output()?;
        let targets = String::from_utf8_lossy(&targets.stdout).into_owned();
        let mut text = String::new();
        for (end, suites) in SUITES {
            let of = |line: &&str| line.trim_end_matches('/').ends_with(end);
            let Some(archive) = targets.lines().find(of) else { continue };
            for suite in suites {
                text.push_str(&format!(
                    "deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
                     {archive} {suite} main\n"
                ));
            }
        }
        if Path::new(UBUNTU_KEY).exists() {
            for suite in UBUNTU_SUITES {
                text.push_str(&format!(
                    "deb [arch=amd64 signed-by={UBUNTU_KEY}] {UBUNTU} {suite} main\n"
                ));
            }
        }
        Ok(fs::write(self.sources(), text)?)
    }

    /// An error unless a package has exactly this release: to apt a part of a name is a pattern,
    /// and it would download all packages that match.
    fn require(&self, release: &str, dir: &Path) -> Result<(), Box<dyn Error>> {
        let mut similar = Vec::new();
        for kind in ["linux-image-", "linux-image-unsigned-", "linux-binary-"] {
            let names = self.run("apt-cache", &["pkgnames", &format!("{kind}{release}")], dir)?;
            similar.extend(names.lines().filter_map(|n| n.strip_prefix(kind)).map(str::to_owned));
        }
        if similar.iter().any(|name| name == release) {
            return Ok(());
        }
        similar.retain(|name| name.ends_with("-cloud-amd64") || name.ends_with("-generic"));
        similar.sort();
        similar.dedup();
        let (there_are, not_asked) = (
            similar.join(", "),
            match Path::new(UBUNTU_KEY).exists() {
                true => String::new(),
                false => format!("; Ubuntu's archive was not asked, as there is no {UBUNTU_KEY}"),
            },
        );
        Err(format!("no package of {release}; there are: {there_are}{not_asked}").into())
    }

    fn run(&self, tool: &str, args: &[&str], dir: &Path) -> Result<String, Box<dyn Error>> {
        let folder = fs::canonicalize(&self.folder)?;
        let at = |name: &str| folder.join(name).display().to_string();
        let settings = [
            format!("Dir::Etc::sourcelist={}", at("sources.list")),
            format!("Dir::Etc::sourceparts={}", at("parts")),
            format!("Dir::State={}", at("state")),
            "Dir::State::status=/var/lib/dpkg/status".to_owned(),
            format!("Dir::Cache={}", at("cache")),
            // Some images turn these off; without them each call parses all lists again.
            "Dir::Cache::pkgcache=pkgcache.bin".to_owned(),
            "Dir::Cache::srcpkgcache=srcpkgcache.bin".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
            "APT::Sandbox::User=root".to_owned(),
        ];
        let mut command = Command::new(tool);
        for setting in &settings {
            command.args(["-o", setting]);
        }
        let output = command.args(args).current_dir(dir).output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
        }
    }
}
