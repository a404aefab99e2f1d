//! The release of each flag of map creation.

use super::release::Release;
use super::source::Source;
use crate::MapFlags;

const fn row(flag: MapFlags, major: u8, minor: u8) -> (MapFlags, Release) {
    (flag, Release::new(major, minor))
}

#[rustfmt::skip]
const FLAGS: [(MapFlags, Release); 19] = [
    row(MapFlags::NO_PREALLOC, 4, 6), row(MapFlags::NO_COMMON_LRU, 4, 10),
    row(MapFlags::NUMA_NODE, 4, 14), row(MapFlags::RDONLY, 4, 15), row(MapFlags::WRONLY, 4, 15),
    row(MapFlags::STACK_BUILD_ID, 4, 17), row(MapFlags::ZERO_SEED, 5, 0),
    row(MapFlags::RDONLY_PROG, 5, 2), row(MapFlags::WRONLY_PROG, 5, 2), row(MapFlags::CLONE, 5, 4),
    row(MapFlags::MMAPABLE, 5, 5), row(MapFlags::PRESERVE_ELEMS, 5, 10),
    row(MapFlags::INNER_MAP, 5, 10), row(MapFlags::LINK, 6, 4), row(MapFlags::PATH_FD, 6, 5),
    row(MapFlags::VTYPE_BTF_OBJ_FD, 6, 9), row(MapFlags::TOKEN_FD, 6, 9),
    row(MapFlags::SEGV_ON_FAULT, 6, 9), row(MapFlags::NO_USER_CONV, 6, 9),
];

/// The release that introduced the flag, for the first type of map that takes it.
pub fn map_flag(flag: MapFlags) -> Option<Release> {
    FLAGS.iter().find(|row| row.0 == flag).map(|row| row.1)
}

/// What states it.
pub fn map_flag_source(flag: MapFlags) -> Option<Source> {
    map_flag(flag)?;
    let (name, _) = flag.iter_names().next()?;
    Some(Source::Page(format!("syscall/BPF_MAP_CREATE/#bpf_f_{}", name.to_lowercase())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_has_a_release_and_its_part_of_a_page() {
        assert!(FLAGS.is_sorted_by(|one, other| one.1 <= other.1));
        for flag in MapFlags::all() {
            assert!(map_flag(flag).is_some(), "{flag:?}");
        }
        let source = map_flag_source(MapFlags::MMAPABLE).expect("a page").to_string();
        let page = "https://docs.ebpf.io/linux/syscall/BPF_MAP_CREATE/";
        assert_eq!(source, format!("{page}#bpf_f_mmapable"));
        assert_eq!(map_flag(MapFlags::from_bits_retain(1 << 19)), None);
    }
}
