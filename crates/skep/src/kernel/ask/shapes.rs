//! The tables from which probes are made: one row per feature.

use skep_insn::Insn;
use skep_uapi::{AttachType, MapFlags, MapType, ProgType};

const fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn { code, dst, src, off, imm }
}

pub(super) const ZERO: Insn = insn(0xb7, 0, 0, 0, 0);
pub(super) const EXIT: Insn = insn(0x95, 0, 0, 0, 0);
/// `*(u64 *)(r10 - 8) = 0`.
const STACK: Insn = insn(0x7a, 10, 0, -8, 0);

/// Insns added in a release; each program ends with `r0 = 0; exit`.
pub(super) const INSNS: [(&str, &[Insn]); 13] = [
    ("jlt", &[ZERO, insn(0xa5, 0, 0, 0, 1)]),
    ("jmp32", &[ZERO, insn(0x16, 0, 0, 0, 0)]),
    ("atomic fetch", &[STACK, ZERO, insn(0xdb, 10, 0, -8, 0x01)]),
    ("atomic or", &[STACK, ZERO, insn(0xdb, 10, 0, -8, 0x40)]),
    ("atomic cmpxchg", &[STACK, ZERO, insn(0xdb, 10, 0, -8, 0xf1)]),
    ("ldsx", &[STACK, insn(0x91, 0, 10, -8, 0)]),
    ("movsx", &[ZERO, insn(0xbf, 0, 0, 8, 0)]),
    ("bswap", &[ZERO, insn(0xd7, 0, 0, 0, 16)]),
    ("gotol", &[insn(0x06, 0, 0, 0, 0)]),
    ("sdiv", &[ZERO, insn(0x37, 0, 0, 1, 1)]),
    ("may_goto", &[insn(0xe5, 0, 0, 1, 0), ZERO]),
    ("load-acquire", &[STACK, insn(0xdb, 0, 10, -8, 0x100)]),
    ("store-release", &[STACK, ZERO, insn(0xdb, 10, 0, -8, 0x110)]),
];

/// Program types that load on their own, or with a function that every kernel has; and their attach
/// types.
pub(in crate::kernel) const PROGS: [(ProgType, u32); 31] = [
    (ProgType::SocketFilter, 0),
    (ProgType::Kprobe, 0),
    (ProgType::SchedCls, 0),
    (ProgType::SchedAct, 0),
    (ProgType::Tracepoint, 0),
    (ProgType::Xdp, 0),
    (ProgType::PerfEvent, 0),
    (ProgType::CgroupSkb, 0),
    (ProgType::CgroupSock, AttachType::CgroupInetSockCreate as u32),
    (ProgType::LwtIn, 0),
    (ProgType::LwtOut, 0),
    (ProgType::LwtXmit, 0),
    (ProgType::SockOps, AttachType::CgroupSockOps as u32),
    (ProgType::SkSkb, 0),
    (ProgType::CgroupDevice, AttachType::CgroupDevice as u32),
    (ProgType::SkMsg, AttachType::SkMsgVerdict as u32),
    (ProgType::RawTracepoint, 0),
    (ProgType::CgroupSockAddr, AttachType::CgroupInet4Bind as u32),
    (ProgType::LwtSeg6local, 0),
    (ProgType::LircMode2, AttachType::LircMode2 as u32),
    (ProgType::SkReuseport, 0),
    (ProgType::FlowDissector, AttachType::FlowDissector as u32),
    (ProgType::CgroupSysctl, AttachType::CgroupSysctl as u32),
    (ProgType::RawTracepointWritable, 0),
    (ProgType::CgroupSockopt, AttachType::CgroupGetsockopt as u32),
    (ProgType::Tracing, AttachType::TraceFentry as u32),
    (ProgType::Lsm, AttachType::LsmMac as u32),
    (ProgType::SkLookup, AttachType::SkLookup as u32),
    (ProgType::Syscall, 0),
    (ProgType::Netfilter, AttachType::Netfilter as u32),
    (ProgType::Unspec, 0),
];

/// Sizes of key and value, entries, flags.
pub(in crate::kernel) type Shape = (u32, u32, u32, MapFlags);

const PLAIN: Shape = (4, 8, 1, MapFlags::empty());
const SLOTS: Shape = (4, 4, 1, MapFlags::empty());
const STORAGE: Shape = (4, 8, 0, MapFlags::NO_PREALLOC);
const RING: Shape = (0, 0, 4096, MapFlags::empty());

pub(in crate::kernel) const MAPS: [(MapType, Shape); 32] = [
    (MapType::Hash, PLAIN),
    (MapType::Array, PLAIN),
    (MapType::ProgArray, SLOTS),
    (MapType::PerfEventArray, SLOTS),
    (MapType::PercpuHash, PLAIN),
    (MapType::PercpuArray, PLAIN),
    (MapType::StackTrace, (4, 128, 1, MapFlags::empty())),
    (MapType::CgroupArray, SLOTS),
    (MapType::LruHash, PLAIN),
    (MapType::LruPercpuHash, PLAIN),
    (MapType::LpmTrie, (8, 8, 1, MapFlags::NO_PREALLOC)),
    (MapType::ArrayOfMaps, SLOTS),
    (MapType::HashOfMaps, SLOTS),
    (MapType::Devmap, SLOTS),
    (MapType::Sockmap, SLOTS),
    (MapType::Cpumap, SLOTS),
    (MapType::Xskmap, SLOTS),
    (MapType::Sockhash, SLOTS),
    (MapType::CgroupStorage, (8, 8, 0, MapFlags::empty())),
    (MapType::ReuseportSockarray, PLAIN),
    (MapType::PercpuCgroupStorage, (8, 8, 0, MapFlags::empty())),
    (MapType::Queue, (0, 8, 1, MapFlags::empty())),
    (MapType::Stack, (0, 8, 1, MapFlags::empty())),
    (MapType::SkStorage, STORAGE),
    (MapType::DevmapHash, SLOTS),
    (MapType::Ringbuf, RING),
    (MapType::InodeStorage, STORAGE),
    (MapType::TaskStorage, STORAGE),
    (MapType::BloomFilter, (0, 8, 1, MapFlags::empty())),
    (MapType::UserRingbuf, RING),
    (MapType::CgrpStorage, STORAGE),
    (MapType::Arena, (0, 0, 1, MapFlags::MMAPABLE)),
];
