//! Whether BTF is that of an x86-64 kernel of the release that is claimed for it.
//!
//! Bare BTF states no release, and `--release` can say anything. What can be seen: the byte order,
//! the registers, and the enums of helpers and types, which only ever grow.

use super::asked::ASKED;
use super::fault::Fault;
use super::item::{Item, Listed};
use skep_btf::{Btf, Endian, Kind};
use skep_uapi::since::Release;

/// Hashes of the BTF of tested kernels, in the order of [`ASKED`]: of what `skep kernel import`
/// finds in their packages.
const HASHES: [u64; ASKED.len()] = [
    0x7b69_51bf_9bad_c4a8,
    0x0e70_2c97_d6a6_2cf2,
    0xc9b3_fc5e_8f18_d541,
    0xfe94_aaca_460d_408f,
    0xcfcb_e735_86e1_86c1,
    0xb44c_6846_04b8_26a5,
    0xf01b_1264_cfed_7cf2,
    0xa1ca_706f_6076_fdca,
    0xa9db_0bf2_5719_588a,
    0x18ce_0e6d_ea48_446a,
    0xa157_8fd2_cc27_4698,
    0x55d6_00ad_7bf6_f483,
    0xb82e_662a_e59f_6d20,
    0x82e6_7d2b_eb7e_9237,
    0x3220_cb25_ddfd_8d17,
    0x3a04_6f86_51fb_55ad,
    0xc927_2eb4_5ed9_98da,
    0xde13_9f21_a0cf_1b27,
    0x83d3_03e3_c723_475f,
    0x00c9_2ce0_dd95_de29,
    0xc368_1a2e_e7b2_ac70,
    0xe137_9e9a_b801_64ae,
    0xc4cc_848a_fcb5_c976,
    0x9757_17d0_f970_d30a,
    0x0554_1d41_dd08_cabe,
    0x145c_bed0_d4dd_444d,
    0xb353_79f4_6373_bbb2,
    0x173b_eda3_c1d0_e3f2,
    0xe2fb_5ebd_6f91_3893,
    0x078c_6073_6198_6146,
    0x53c3_989a_533a_6a16,
    0x9b2f_f36e_325b_cf1b,
    0xfed8_170f_da5c_bc50,
    0x3855_54f7_2b9b_9df3,
    0xb280_dd82_0d77_fa1c,
];

/// Registers that only x86-64 has under these names.
const REGISTERS: [&str; 4] = ["r15", "di", "orig_ax", "sp"];

/// Whether this is the BTF of the tested kernel of that release.
pub(super) fn is_asked(release: &str, btf: &Btf) -> bool {
    let at = ASKED.iter().position(|(_, asked)| *asked == release);
    at.is_some_and(|at| HASHES[at] == hash(btf))
}

/// FNV-1a of the section: only equal or different matters, and nobody gains from a collision.
fn hash(btf: &Btf) -> u64 {
    btf.to_bytes(Endian::Little).iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Checks that BTF can be that of a kernel of this release.
///
/// # Errors
///
/// Why not.
pub(super) fn check(btf: &Btf, version: Release) -> Result<(), Fault> {
    if btf.endian() != Endian::Little {
        return Err(Fault::BigEndian);
    }
    if btf.find_by_name_kind("task_struct", Kind::Struct).is_none() {
        return Err(Fault::NotOfAKernel);
    }
    let regs = btf.find_by_name_kind("pt_regs", Kind::Struct).map(|id| btf.ty(id));
    let has = |name: &str| regs.is_some_and(|regs| regs.members().any(|it| it.name() == name));
    if !REGISTERS.iter().all(|name| has(name)) {
        return Err(Fault::OtherRegisters);
    }
    let due = Item::all().filter(|item| item.since().is_some_and(|since| since <= version));
    for item in due {
        match item.listed().and_then(|it| lists(btf, it)) {
            Some(false) => {
                return Err(Fault::Lacks { version, item });
            }
            None if matches!(item, Item::Helper(_)) => {
                return Err(Fault::NoHelpers);
            }
            _ => {}
        }
    }
    Ok(())
}

/// What BTF has that came after the release: backports, or the BTF is that of another kernel.
pub(super) fn newer(btf: &Btf, version: Release) -> Vec<Item> {
    let later = Item::all().filter(|item| item.since().is_some_and(|since| since > version));
    later.filter(|item| item.listed().and_then(|it| lists(btf, it)) == Some(true)).collect()
}

/// Whether an enum has this value; `None` if there is no such enum. The last value but one is the
/// number of values.
pub(super) fn lists(btf: &Btf, item: Listed) -> Option<bool> {
    let list = btf.ty(btf.find_by_name_kind(item.list, Kind::Enum)?);
    let counts = |name: &str| name.starts_with("__");
    let mut values = list.enumerators().filter(|it| !counts(it.name));
    Some(values.any(|it| it.value == u64::from(item.number)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use skep_btf::{BtfBuilder, IntEncoding, MemberDef};
    use std::sync::Arc;

    const V6_1: Release = Release { major: 6, minor: 1 };

    /// BTF that fits an x86-64 kernel with helpers up to this number.
    pub(in crate::kernel) fn fitting(helpers: i32) -> BtfBuilder {
        with_registers(&REGISTERS, helpers)
    }

    fn with_registers(names: &[&str], helpers: i32) -> BtfBuilder {
        let mut btf = BtfBuilder::new();
        let long = btf.int("long", 8, IntEncoding::SIGNED);
        let member = |(at, name)| MemberDef::new(name, long, 64u32 * at);
        let members: Vec<_> = (0..).zip(names.iter().copied()).map(member).collect();
        btf.struct_("pt_regs", 8 * members.len() as u32, &members);
        btf.struct_("task_struct", 8, &members[..1]);
        let names: Vec<String> = (0..=helpers).map(|at| format!("BPF_FUNC_{at}")).collect();
        let values = names.iter().map(String::as_str).zip(0..);
        let values: Vec<(&str, i32)> = values.chain([("__BPF_FUNC_MAX_ID", helpers + 1)]).collect();
        btf.enum_("bpf_func_id", 4, &values);
        btf
    }

    fn told(bytes: &[u8]) -> Result<(), String> {
        check(&Btf::parse(bytes).expect("BTF"), V6_1).map_err(|why| why.to_string())
    }

    #[test]
    fn each_asked_kernel_has_a_hash() {
        assert!(HASHES.iter().all(|hash| *hash != 0));
        let mut distinct = HASHES.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), ASKED.len());
    }

    #[test]
    fn btf_of_another_machine_is_refused() {
        let whole = fitting(209);
        assert_eq!(told(&whole.to_bytes(Endian::Little)), Ok(()));
        let big = told(&whole.to_bytes(Endian::Big)).expect_err("big-endian");
        assert!(big.contains("big-endian"), "{big}");
        let arm = with_registers(&["regs", "sp", "pc", "pstate", "orig_x0"], 209);
        let arm = told(&arm.to_bytes(Endian::Little)).expect_err("arm64");
        assert!(arm.contains("another architecture"), "{arm}");
    }

    #[test]
    fn a_kernel_has_the_helpers_of_its_release() {
        let told = |helpers| told(&fitting(helpers).to_bytes(Endian::Little));
        assert_eq!(told(211), Ok(()), "backports");
        let older = told(180).expect_err("too old");
        assert!(older.contains("bpf_loop: helper since 5.17"), "{older}");
        let btf = fitting(211).build().expect("valid");
        let newer: Vec<_> = newer(&btf, V6_1).into_iter().map(Item::name).collect();
        assert_eq!(newer, ["bpf_cgrp_storage_get", "bpf_cgrp_storage_delete"]);
        let mut other = BtfBuilder::new();
        let int = other.int("int", 4, IntEncoding::SIGNED);
        let members = REGISTERS.map(|name| MemberDef::new(name, int, 0));
        other.struct_("task_struct", 4, &members[..1]);
        other.struct_("pt_regs", 4, &members);
        let none = check(&other.build().expect("valid"), V6_1).expect_err("no helpers");
        assert_eq!(none, Fault::NoHelpers);
    }

    #[test]
    fn other_btf_is_not_the_asked_kernels() {
        let btf = Arc::new(fitting(211).build().expect("valid"));
        assert!(ASKED.iter().all(|(_, release)| !is_asked(release, &btf)));
    }
}
