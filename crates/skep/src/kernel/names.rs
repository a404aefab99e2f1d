//! The message for a name that is neither a kernel nor a file.

use super::asked::{ASKED, DISTRIBUTIONS, FROM_TABLE};
use crate::catalogue::did_you_mean;
use skep_uapi::since::Release;

const NOT_BUILT_IN: &str = "no such file or kernel; it is not one of the distributions whose \
                            kernels are built in: skep kernel probe (on such a machine) or skep \
                            kernel import (its package) makes a file of one, see docs/kernels.md, \
                            'Kernels of other distributions'; skep kernel list shows the names";

/// The most similar names: those spelled similarly, else those of the same major version. There are
/// none for a file, or a kernel of a distribution.
pub(super) fn unknown(name: &str) -> String {
    match name.contains('/') || name.ends_with(".kernel") {
        true => "no such kernel file".to_owned(),
        false => of_kernels(name),
    }
}

/// The built-in kernels, the oldest first.
fn built_in() -> Vec<(Release, &'static str)> {
    let names = ASKED.iter().map(|(name, _)| *name).chain(FROM_TABLE.iter().map(|it| it.name));
    let mut all: Vec<_> = names.filter_map(|name| Some((name.parse().ok()?, name))).collect();
    all.sort_unstable();
    all
}

/// The built-in kernels of the same series, which are other builds than the one that is named.
fn of_series(name: &str, all: &[(Release, &str)]) -> Option<String> {
    let version: Release = name.parse().ok()?;
    let same = all.iter().filter(|(of, _)| *of == version);
    let same: Vec<String> = same
        .map(|(_, name)| match ASKED.iter().find(|(short, _)| short == name) {
            Some((_, release)) => format!("{name} ({release})"),
            None => format!("{name} (not tested)"),
        })
        .collect();
    (!same.is_empty()).then(|| {
        let same = same.join(", ");
        format!(
            "no such file or kernel; of this series there are {same}; skep kernel probe (where it \
             runs) or skep kernel import (its package) makes a file of another build, see \
             docs/kernels.md, 'Kernels of other distributions'"
        )
    })
}

/// The names of distributions' kernels.
fn distributions() -> impl Iterator<Item = &'static str> {
    DISTRIBUTIONS.iter().map(|it| it.0).chain(FROM_TABLE.iter().map(|it| it.name))
}

/// The built-in kernels of a distribution that is named, by its name or in an `uname -r` of it.
fn of_distribution(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let letters = |name: &str| name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
    // `5.14.0-427.13.1.el9_4.x86_64`, `el8`, `6.1.34-59.116.amzn2023.x86_64`.
    let marks = [(".el", "rhel"), (".amzn", "amzn"), (".azl", "azurelinux")];
    let of_uname = marks.iter().find(|(mark, _)| format!(".{lower}").contains(mark));
    let stem = of_uname.map_or(&lower[..letters(&lower)], |(_, of)| of);
    let same = distributions().filter(|it| !stem.is_empty() && it[..letters(it)] == *stem);
    let same: Vec<&str> = same.collect();
    if same.is_empty() || same.contains(&lower.as_str()) {
        let distance = |it: &&str| strsim::damerau_levenshtein(it, &lower);
        let nearest = distributions().filter(|it| letters(it) > 0).min_by_key(distance);
        let meant = nearest.filter(|it| !stem.is_empty() && distance(it) <= 2)?;
        return Some(format!("no such kernel; {}", did_you_mean(&[meant])));
    }
    let same = same.join(", ");
    Some(format!(
        "no such file or kernel; of {stem} there are {same}; skep kernel probe (on such a machine) \
         or skep kernel import (its package) makes a file of another, see docs/kernels.md, 'Kernels \
         of other distributions'"
    ))
}

fn of_kernels(name: &str) -> String {
    let all = built_in();
    let is_version = name.parse::<Release>().is_ok();
    let names = || all.iter().map(|(_, it)| *it);
    let alike = |it: &&str| strsim::damerau_levenshtein(it, name) == 1;
    let meant: Vec<&str> = names().filter(alike).collect();
    if !meant.is_empty() && !is_version {
        return format!("no such kernel; {}", did_you_mean(&meant));
    }
    if let Some(alike) = of_distribution(name) {
        return alike;
    }
    if let Some(series) = of_series(name, &all) {
        return series;
    }
    // `6.8.0-32-generic` is not 6.8.
    let is_plain = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_plain {
        return NOT_BUILT_IN.to_owned();
    }
    let major = name.split('.').next().and_then(|number| number.parse().ok());
    let series = all.iter().filter(|(version, name)| version.to_string() == *name);
    let near = series.clone().filter(|(version, _)| Some(version.major) == major);
    let mut known: Vec<&str> = near.map(|(_, it)| *it).collect();
    if known.is_empty() {
        known = series.map(|(_, it)| *it).collect();
    }
    let known = known.join(", ");
    format!("no such file or kernel; known kernels: {known} (skep kernel list)")
}

#[cfg(test)]
mod tests {
    use crate::Kernel;

    fn told(name: &str) -> String {
        Kernel::open(name).expect_err("unknown").to_string()
    }

    #[test]
    fn an_unknown_kernel_is_told_its_neighbours() {
        let known = told("6.13");
        assert!(known.contains("known kernels: 6.1, 6.2, 6.5, 6.6, 6.8, 6.11, 6.12"), "{known}");
        assert!(told("v6.12").ends_with("did you mean 6.12?"), "{}", told("v6.12"));
        assert!(told("612").ends_with("did you mean 6.2 or 6.12?"), "{}", told("612"));
        assert!(told("4.4").contains("known kernels: 5.4, 5.10, 5.13, 5.15"), "{}", told("4.4"));
    }

    #[test]
    fn another_build_is_told_the_one_of_its_series() {
        for name in ["5.10.0-46", "5.10.12", "5.10.0-31-cloud-amd64"] {
            let (told, name) = (told(name), "5.10 (5.10.0-46-cloud-amd64)");
            assert!(told.contains("5.10.0-30-cloud-amd64") && told.contains(name), "{told}");
        }
        assert!(told("6.6.56").contains("there are 6.6 (not tested)"), "{}", told("6.6.56"));
        let of_rhel = ["5.14.0-503.el9.x86_64", "6.12.0-55.9.1.el10_0.x86_64", "el9", "rhel8"];
        assert!(
            of_rhel.iter().all(|name| told(name).contains("of rhel there are rhel9.2, rhel9.3"))
        );
        for (typo, meant) in
            [("rehl9.4", "rhel9.4"), ("RHEL9.4", "rhel9.4"), ("amz2023-6.1", "amzn2023-6.1")]
        {
            assert!(
                told(typo).contains("did you mean") && told(typo).contains(meant),
                "{}",
                told(typo)
            );
        }
    }

    #[test]
    fn a_distributions_kernel_is_told_how_to_get_it() {
        let names = ["rhel9", "ubuntu-21.04", "cos-121", "amzn2023", "5.14.0-503.el9.x86_64"];
        assert!(told("rhel9").contains("rhel9.3, rhel9.4"), "{}", told("rhel9"));
        for name in names.into_iter().chain(["6.8.0-32-generic", "el8"]) {
            let told = told(name);
            let says = |what: &str| told.contains(what);
            assert!(says("skep kernel import") && says("skep kernel probe"), "{told}");
            assert!(says("docs/kernels.md") && !says("known kernels"), "{told}");
        }
        let file = told("build/mine.kernel");
        assert!(file.ends_with("no such kernel file"), "{file}");
    }
}
