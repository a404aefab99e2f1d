//! Edits of the attributes of a load: type, attach type, flags, licence, func and line info, maps.

use skep::btf::{Btf, Endian};
use skep::insn::InsnIdx;
use skep::program::{AttachTarget, FuncInfo, LineInfo, MapDef, Program};
use skep::uapi::{MapFlags, MapType, ProgFlags, ProgType};
use skep_testkit::rng::Rng;
use std::sync::Arc;

/// Types that need a trampoline, which this kernel refuses before verification.
const TRACED: [ProgType; 4] =
    [ProgType::Tracing, ProgType::Lsm, ProgType::Ext, ProgType::StructOps];
/// A type that kernels are often built without.
const ABSENT: ProgType = ProgType::LircMode2;
/// All attach types are below this, apart from a few that no kernel has.
const ATTACH_TYPES: u64 = 64;
const LICENCES: [&str; 6] = ["GPL", "", "Proprietary", "Dual MIT/GPL", "GPL v2", "Apache-2.0"];

/// Changes one attribute of the load.
pub(super) fn load(rng: &mut Rng, program: &mut Program) -> String {
    let traced = TRACED.contains(&program.prog_type);
    match rng.below(10) {
        0..2 if !traced => {
            let types: Vec<ProgType> =
                ProgType::all().filter(|it| !TRACED.contains(it) && *it != ABSENT).collect();
            program.prog_type = rng.pick(&types);
            program.attach = AttachTarget::None;
            format!("type {}", program.prog_type.name())
        }
        2..4 if !traced => {
            program.expected_attach_type = rng.below(ATTACH_TYPES) as u32;
            format!("attach type {}", program.expected_attach_type)
        }
        4..8 => {
            program.prog_flags ^= ProgFlags::from_bits_retain(1 << rng.pick(&BITS));
            format!("flags {:#x}", program.prog_flags.bits())
        }
        _ => {
            program.license = rng.pick(&LICENCES).to_owned();
            format!("licence {:?}", program.license)
        }
    }
}

/// Bits of the flags; those that only affect the verifier's tests are more frequent.
const BITS: [u32; 11] = [0, 1, 2, 3, 3, 3, 4, 4, 5, 6, 7];

/// Changes one row of func or line info.
pub(super) fn records(rng: &mut Rng, program: &mut Program) -> String {
    let delta = rng.pick(&[1u32, 2, u32::MAX, 0x8000_0000, 1000, 0]);
    if rng.chance(40) && !program.func_info.is_empty() {
        let at = rng.below(program.func_info.len() as u64) as usize;
        let info = &mut program.func_info[at];
        return match rng.below(4) {
            0 => {
                info.insn_off = InsnIdx(info.insn_off.0.wrapping_add(delta));
                format!("func info {at} at {}", info.insn_off)
            }
            1 => {
                info.type_id = info.type_id.wrapping_add(delta);
                format!("func info {at} type {}", info.type_id)
            }
            2 => {
                program.func_info.remove(at);
                format!("func info {at} gone")
            }
            _ => {
                let FuncInfo { insn_off, type_id } = *info;
                program.func_info.insert(at, FuncInfo { insn_off, type_id });
                format!("func info {at} twice")
            }
        };
    }
    if program.line_info.is_empty() {
        return load(rng, program);
    }
    let at = rng.below(program.line_info.len() as u64) as usize;
    line(rng, &mut program.line_info, at, delta)
}

fn line(rng: &mut Rng, rows: &mut Vec<LineInfo>, at: usize, delta: u32) -> String {
    let row = &mut rows[at];
    match rng.below(5) {
        0 => row.insn_off = InsnIdx(row.insn_off.0.wrapping_add(delta)),
        1 => row.file_name_off = row.file_name_off.wrapping_add(delta),
        2 => row.line_off = row.line_off.wrapping_add(delta),
        3 => row.line_col = row.line_col.wrapping_add(delta << 10),
        _ => {
            rows.remove(at);
            return format!("line info {at} gone");
        }
    }
    format!("line info {at}: {:?}", rows[at])
}

/// Changes one map definition; the caller creates the maps again.
pub(super) fn maps(rng: &mut Rng, program: &mut Program) -> String {
    let mut maps: Vec<MapDef> = program.maps.to_vec();
    if maps.is_empty() {
        return load(rng, program);
    }
    let at = rng.below(maps.len() as u64) as usize;
    let map = &mut maps[at];
    let size = rng.pick(&[0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 63, 64, 65, 256, 4096]);
    let text = match rng.below(7) {
        0 => {
            let types: Vec<MapType> = MapType::all().collect();
            map.map_type = rng.pick(&types);
            format!("type {}", map.map_type.name())
        }
        1 => {
            map.key_size = size;
            format!("key {size}")
        }
        2 | 3 => {
            map.value_size = size;
            map.contents.truncate(size as usize);
            format!("value {size}")
        }
        4 => {
            map.max_entries = size;
            format!("entries {size}")
        }
        5 => {
            map.map_flags ^= MapFlags::from_bits_retain(1 << rng.pick(&[0, 3, 4, 7, 8, 10]));
            format!("flags {:#x}", map.map_flags.bits())
        }
        _ => {
            map.frozen ^= true;
            format!("frozen {}", map.frozen)
        }
    };
    let text = format!("map {at} {text}");
    program.maps = Arc::from(maps);
    text
}

/// Bytes of the header of BTF.
const BTF_HEADER: usize = 24;

/// Changes words of types in the program's BTF; the caller loads it again. If the result cannot be
/// parsed, it is left unchanged.
pub(super) fn btf(rng: &mut Rng, program: &mut Program) -> String {
    let Some(btf) = &program.btf else { return load(rng, program) };
    let mut bytes = btf.to_bytes(Endian::NATIVE);
    let words = btf.type_words().len() as u64;
    if words == 0 {
        return load(rng, program);
    }
    let mut text = "BTF".to_owned();
    for _ in 0..1 + rng.below(2) {
        let word = rng.below(words) as usize;
        let at = BTF_HEADER + 4 * word;
        let Some(Ok(was)) = bytes.get(at..at + 4).map(<[u8; 4]>::try_from) else { continue };
        let was = u32::from_ne_bytes(was);
        let new = match rng.below(5) {
            0 => was.wrapping_add(1),
            1 => was.wrapping_sub(1),
            2 => was ^ 1 << rng.below(32),
            3 => rng.below(u64::from(btf.end_id().0)) as u32,
            _ => rng.pick(&[0, 1, 4, 8, 32, 64, u32::MAX]),
        };
        bytes[at..at + 4].copy_from_slice(&new.to_ne_bytes());
        text.push_str(&format!(" {word}: {was:#x} -> {new:#x}"));
    }
    match Btf::parse(&bytes) {
        Ok(btf) => program.btf = Some(Arc::new(btf)),
        Err(_) => text.push_str(" (not readable)"),
    }
    text
}
