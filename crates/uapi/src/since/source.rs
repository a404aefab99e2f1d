//! `Source`: what states since when something is there.
//!
//! Pages are those of docs.ebpf.io: each states the release and names the commit. Helpers, map
//! types and program types have one each.

use crate::helper::HelperId;
use crate::{MapType, ProgType};
use std::fmt;

/// Where the release is stated that introduced something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A page of docs.ebpf.io, by its path: `helper-function/bpf_loop`; with `#`, a part of it.
    Page(String),
    /// The title of the kernel's commit that introduced it.
    Commit(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Page(path) => {
                let end = if path.contains('#') { "" } else { "/" };
                write!(f, "https://docs.ebpf.io/linux/{path}{end}")
            }
            Source::Commit(title) => write!(f, "commit \"{title}\""),
        }
    }
}

/// Helpers whose pages state another release, with the commit. Those for maps are of 3.18, says the
/// page, which had no type of program that may be loaded. Numbers are assigned in order: that of
/// `bpf_get_prandom_u32` is less than one of 4.1, and the page says 4.17.
const CORRECTED: [(HelperId, &str); 3] = [
    (HelperId::MapLookupElem, "bpf: allow eBPF programs to use maps"),
    (HelperId::MapUpdateElem, "bpf: allow eBPF programs to use maps"),
    (HelperId::GetPrandomU32, "ebpf: add prandom helper for packet sampling"),
];

/// What states the release of a helper.
pub fn helper_source(id: HelperId) -> Source {
    let corrected = CORRECTED.iter().find(|row| row.0 == id).map(|row| Source::Commit(row.1));
    corrected.unwrap_or_else(|| Source::Page(format!("helper-function/{}", id.name())))
}

/// What states the release of a map type.
pub fn map_type_source(map_type: MapType) -> Source {
    Source::Page(format!("map-type/{}", map_type.kernel_name()))
}

/// What states the release of a program type.
pub fn prog_type_source(prog_type: ProgType) -> Source {
    Source::Page(format!("program-type/{}", prog_type.kernel_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_an_address() {
        let page = |source: Source| source.to_string();
        let root = "https://docs.ebpf.io/linux/";
        assert_eq!(page(helper_source(HelperId::Loop)), format!("{root}helper-function/bpf_loop/"));
        let array = page(map_type_source(MapType::Array));
        assert_eq!(array, format!("{root}map-type/BPF_MAP_TYPE_ARRAY/"));
        assert!(page(prog_type_source(ProgType::Xdp)).ends_with("BPF_PROG_TYPE_XDP/"));
        let title = helper_source(HelperId::GetPrandomU32).to_string();
        assert_eq!(title, "commit \"ebpf: add prandom helper for packet sampling\"");
    }
}
