//! Bytecode that nobody compiled: any insns, with maps, of any program type.
//!
//! The input: program type, flags ([`RAW`] and those that follow), insns.

use skep_insn::{Endian, Insn, InsnIdx, Opcode, code, decode_all};
use skep_program::{MapDef, Program};
use skep_uapi::{KernelProfile, MapType, ProgFlags, ProgType};
use skep_verifier::{Config, Privileges, Verdict, verify};
use std::sync::{Arc, LazyLock};

/// Insns are taken as they are; else registers, jumps and maps are brought into range.
const RAW: u8 = 1;
const UNPRIVILEGED: u8 = 2;
const STATE_FREQ: u8 = 4;
/// The other bits of the flags if there is a log: seldom, for one at level 2 takes longer than the
/// walk that it tells of, by far.
const LOGGED: u8 = 8;
const LOG_BITS: u8 = !(RAW | UNPRIVILEGED | STATE_FREQ);
/// Most insns walked, so that each input ends soon.
const INSNS_MAX: u32 = 1_500;
const INSNS_LOGGED_MAX: u32 = 500;
const LOG_BYTES_MAX: usize = 1 << 14;

/// The same for all: most inputs end before the walk looks at one of them.
static MAPS: LazyLock<Arc<[MapDef]>> = LazyLock::new(|| maps().into());

/// No panic, no bug, an end, a bounded log; a refusal has words.
pub(crate) fn run(data: &[u8]) {
    let Some((&[prog_type, flags], bytes)) = data.split_first_chunk() else { return };
    let maps = MAPS.clone();
    let Ok(mut insns) = decode_all(&bytes[..bytes.len() / 8 * 8], Endian::Little) else { return };
    if flags & RAW == 0 {
        tame(&mut insns, maps.len() as u32);
    }
    let prog_type = u32::from(prog_type) % 33;
    let program = Program {
        name: "fuzz".into(),
        prog_type: ProgType::from_number(prog_type).unwrap_or_default(),
        prog_flags: match flags & STATE_FREQ {
            0 => ProgFlags::empty(),
            _ => ProgFlags::TEST_STATE_FREQ,
        },
        license: "GPL".into(),
        insns,
        maps,
        ..Program::default()
    };
    let logged = flags & LOG_BITS == LOGGED;
    let insns_max = if logged { INSNS_LOGGED_MAX } else { INSNS_MAX };
    let profile = KernelProfile { insns_max, ..KernelProfile::v6_18() };
    let config = Config {
        privileges: match flags & UNPRIVILEGED {
            0 => Privileges::PRIVILEGED,
            _ => Privileges::UNPRIVILEGED,
        },
        log_level: if logged { 2 | 4 } else { 0 },
        log_bytes_max: LOG_BYTES_MAX,
        ..Config::privileged(profile)
    };
    let outcome = verify(&program, &config);
    assert!(outcome.log.len() <= LOG_BYTES_MAX, "a log of {} bytes", outcome.log.len());
    match outcome.verdict {
        Verdict::OutOfMemory => panic!("there is no limit"),
        Verdict::Bug(what) => panic!("a bug: {what}"),
        Verdict::Unsupported(what) => assert!(!what.is_empty()),
        Verdict::Accepted(_) | Verdict::Rejected(_) => {}
    }
}

/// Brings most insns into a shape that the first passes let through.
fn tame(insns: &mut Vec<Insn>, maps: u32) {
    let len = insns.len() as i64;
    let mut second = false;
    for (at, insn) in insns.iter_mut().enumerate() {
        if second {
            *insn = Insn { imm: insn.imm, ..Insn::default() };
            second = false;
            continue;
        }
        insn.dst %= 11;
        if insn.is_ld_imm64() {
            insn.off = 0;
            insn.src %= 7;
            if insn.src != 0 {
                insn.imm = (insn.imm as u32 % maps) as i32;
            }
            second = true;
            continue;
        }
        insn.src %= 11;
        let class = insn.class();
        let jumps = class == code::BPF_JMP || class == code::BPF_JMP32;
        if jumps && insn.op() != code::BPF_CALL && insn.op() != code::BPF_EXIT && len > 0 {
            let to = (InsnIdx(at as u32).index() as i64 + 1 + i64::from(insn.off)).rem_euclid(len);
            insn.off = (to - at as i64 - 1) as i16;
        }
        if Opcode::of(*insn).is_none() {
            *insn = Insn { code: code::BPF_ALU64 | code::BPF_MOV, src: 0, off: 0, ..*insn };
        }
    }
    insns.push(Insn { code: code::BPF_ALU64 | code::BPF_MOV, ..Insn::default() });
    insns.push(Insn { code: code::BPF_JMP | code::BPF_EXIT, ..Insn::default() });
}

/// One map of each type that programs use most.
fn maps() -> Vec<MapDef> {
    let map = |name: &str, map_type, key_size, value_size, max_entries| MapDef {
        name: name.into(),
        map_type,
        key_size,
        value_size,
        max_entries,
        autocreate: true,
        ..MapDef::default()
    };
    let inner = map("inner", MapType::Array, 4, 16, 4);
    vec![
        map("array", MapType::Array, 4, 64, 8),
        map("hash", MapType::Hash, 8, 24, 8),
        map("ringbuf", MapType::Ringbuf, 0, 0, 4096),
        map("progs", MapType::ProgArray, 4, 4, 4),
        MapDef { inner: Some(Box::new(inner)), ..map("maps", MapType::ArrayOfMaps, 4, 4, 4) },
        map("events", MapType::PerfEventArray, 4, 4, 4),
        map("queue", MapType::Queue, 0, 8, 4),
        map("stacks", MapType::StackTrace, 4, 64, 4),
        map("lpm", MapType::LpmTrie, 8, 8, 4),
    ]
}
