//! The layout of the context in memory while a program runs: skep's own layout, one row per kind of
//! context.
//!
//! Programs are compiled against the uapi structs, in which a packet pointer has 32 bits. At run
//! time it has 64. A struct with such pointers is therefore represented by the pointers, followed
//! by a *mirror* of the uapi struct, byte for byte, from which everything else is read. The other
//! structs are used as they are.
//!
//! ```text
//!   xdp    0 data  8 data_end  16 data_meta                           24 struct xdp_md, 24 bytes
//!   skb    0 data  8 data_end  16 data_meta  24 flow_keys  32 sk      40 struct __sk_buff, 192
//! ```
//!
//! # Invariants
//! 1. A load of a field of the mirror has the offset of the uapi access plus [`RunCtx::mirror`],
//!    and the same size, except for partial loads of narrow fields ([`RunNarrow`]).
//! 2. Nothing is read from the parts of the mirror where the uapi struct has the pointers.

use crate::ProgType;

/// A field whose value is a 64-bit pointer stored before the mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunPointer {
    /// Name in the kernel's headers.
    pub name: &'static str,
    /// Offset in the uapi struct, bytes.
    pub uapi_off: u32,
    /// Offset in the run's context, bytes.
    pub run_off: u32,
}

/// The effect of a 32-bit store to a field of which the kernel keeps only 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreRule {
    /// The upper half is lost.
    Low16,
    /// The same, but a store of 0xffff or more changes nothing: compared as an unsigned 64-bit
    /// register, or as a signed immediate (so that -1 is stored).
    Low16UnlessMax,
}

/// A field with a [`StoreRule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunStore {
    /// Name in the kernel's headers.
    pub name: &'static str,
    /// Offset in the uapi struct, bytes.
    pub uapi_off: u32,
    /// The rule.
    pub rule: StoreRule,
}

/// A field that the kernel stores in fewer bytes than programs see. A partial load of at least that
/// many bytes gives the field's value, wherever in the field it is.
///
/// Seen on 6.18: `tests/exec/skb_narrow.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunNarrow {
    /// Name in the kernel's headers.
    pub name: &'static str,
    /// Offset in the uapi struct, in bytes; the field has 4 bytes there.
    pub uapi_off: u32,
    /// Bytes in the kernel: 1 or 2.
    pub bytes: u32,
}

/// A context in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunCtx {
    /// The uapi struct.
    pub name: &'static str,
    /// Fields that are pointers stored before the mirror.
    pub pointers: &'static [RunPointer],
    /// Fields with rules for stores.
    pub stores: &'static [RunStore],
    /// Fields with a rule for partial loads.
    pub narrow: &'static [RunNarrow],
    /// Offset of the mirror of the uapi struct, in bytes.
    pub mirror: u32,
    /// Total size in bytes; 0 if it differs between programs (`Xlated::ctx_bytes`).
    pub bytes: u32,
}

/// Location of a field of the uapi struct in the context at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunPlace {
    /// A pointer of 8 bytes at this offset.
    Pointer(u32),
    /// The same bytes at this offset.
    Mirror(u32),
}

const fn at(name: &'static str, uapi_off: u32, run_off: u32) -> RunPointer {
    RunPointer { name, uapi_off, run_off }
}

const fn store(name: &'static str, uapi_off: u32, rule: StoreRule) -> RunStore {
    RunStore { name, uapi_off, rule }
}

const fn narrow(name: &'static str, uapi_off: u32, bytes: u32) -> RunNarrow {
    RunNarrow { name, uapi_off, bytes }
}

/// `struct xdp_md`.
pub static XDP: RunCtx = RunCtx {
    name: "xdp_md",
    pointers: &[at("data", 0, 0), at("data_end", 4, 8), at("data_meta", 8, 16)],
    stores: &[],
    narrow: &[],
    mirror: 24,
    bytes: 48,
};

/// `struct __sk_buff`.
pub static SKB: RunCtx = RunCtx {
    name: "__sk_buff",
    pointers: &[
        at("data", 76, 0),
        at("data_end", 80, 8),
        at("data_meta", 140, 16),
        at("flow_keys", 144, 24),
        at("sk", 168, 32),
    ],
    stores: &[
        store("queue_mapping", 12, StoreRule::Low16UnlessMax),
        store("tc_index", 44, StoreRule::Low16),
        store("tc_classid", 72, StoreRule::Low16),
    ],
    narrow: &[
        narrow("pkt_type", 4, 1),
        narrow("queue_mapping", 12, 2),
        narrow("protocol", 16, 2),
        narrow("vlan_tci", 24, 2),
        narrow("vlan_proto", 28, 2),
        narrow("tc_index", 44, 2),
        narrow("tc_classid", 72, 2),
        narrow("gso_segs", 164, 2),
        narrow("gso_size", 176, 2),
        narrow("family", 88, 2),
    ],
    mirror: 40,
    bytes: 232,
};

/// Every other context: as the program was compiled for it. Its pointers have 64 bits.
pub static AS_IT_IS: RunCtx =
    RunCtx { name: "", pointers: &[], stores: &[], narrow: &[], mirror: 0, bytes: 0 };

/// The context of a program type.
pub fn run_ctx(prog_type: ProgType) -> &'static RunCtx {
    match prog_type {
        ProgType::Xdp => &XDP,
        ProgType::SocketFilter
        | ProgType::SchedCls
        | ProgType::SchedAct
        | ProgType::CgroupSkb
        | ProgType::LwtIn
        | ProgType::LwtOut
        | ProgType::LwtXmit
        | ProgType::LwtSeg6local
        | ProgType::SkSkb
        | ProgType::FlowDissector => &SKB,
        _ => &AS_IT_IS,
    }
}

impl RunCtx {
    /// Location that a load of `size` bytes at `uapi_off` reads.
    pub fn place(&self, uapi_off: u32, size: u32) -> RunPlace {
        let start = uapi_off & !3;
        let narrow = self.narrow.iter().find(|row| row.uapi_off == start);
        let uapi_off = match narrow {
            Some(row) if size < 4 && size >= row.bytes => start,
            _ => uapi_off,
        };
        match self.pointers.iter().find(|p| p.uapi_off == uapi_off) {
            Some(pointer) => RunPlace::Pointer(pointer.run_off),
            None => RunPlace::Mirror(self.mirror.saturating_add(uapi_off)),
        }
    }

    /// The rule for stores at `uapi_off`.
    pub fn store_rule(&self, uapi_off: u32) -> Option<StoreRule> {
        self.stores.iter().find(|row| row.uapi_off == uapi_off).map(|row| row.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctx::{CtxLayout, CtxValue};

    fn layouts() -> impl Iterator<Item = (ProgType, CtxLayout)> {
        ProgType::all().filter_map(|ty| Some((ty, CtxLayout::find(ty, 0)?)))
    }

    #[test]
    fn every_narrow_pointer_has_a_row_and_every_row_a_field() {
        for (prog_type, layout) in layouts() {
            let ctx = run_ctx(prog_type);
            for field in layout.fields() {
                let row = ctx.pointers.iter().find(|p| p.uapi_off as i32 == field.off);
                if field.value != CtxValue::Scalar && field.size == 4 {
                    assert!(row.is_some(), "{prog_type}: {}", field.name);
                }
                if let Some(row) = row {
                    assert_eq!(row.name, field.name, "{prog_type}");
                    assert_ne!(field.value, CtxValue::Scalar, "{prog_type}: {}", field.name);
                }
            }
        }
    }

    #[test]
    fn fields_lie_inside() {
        for (prog_type, layout) in layouts() {
            let ctx = run_ctx(prog_type);
            for field in layout.fields().iter().filter(|_| ctx.bytes > 0) {
                assert!(field.off as u32 + field.size + ctx.mirror <= ctx.bytes, "{prog_type}");
            }
            for pointer in ctx.pointers {
                assert!(pointer.run_off + 8 <= ctx.mirror && pointer.run_off % 8 == 0);
            }
            assert_eq!(ctx.mirror % 8, 0);
        }
    }

    #[test]
    fn rules_are_of_fields() {
        // Between them, these two may load every field.
        let layouts = [ProgType::SchedCls, ProgType::CgroupSkb]
            .map(|prog_type| CtxLayout::find(prog_type, 0).expect("a layout"));
        let rows = SKB.stores.iter().map(|row| (row.name, row.uapi_off));
        for (name, off) in rows.chain(SKB.narrow.iter().map(|row| (row.name, row.uapi_off))) {
            let mut fields = layouts.iter().flat_map(|layout| layout.fields());
            let field = fields.find(|f| f.off as u32 == off);
            assert_eq!(field.map(|f| f.name), Some(name));
        }
    }
}
