//! What a register holds, in words: a value of map `m`, or NULL.

use crate::diagnosis::note::counted;
use crate::uapi::TypeFlag;
use crate::verifier::{Base, Bounds, Pointee, RegView};

/// A description of a value; constants, and what has none, are in the notation of the log.
pub(crate) fn in_words(value: &RegView<'_>) -> String {
    let words = match (value.is_number(), value.constant()) {
        (_, Some(number)) => negative_int(number),
        (true, None) => Some(number(&value.bounds)),
        (false, None) => pointer(value),
    };
    words.unwrap_or_else(|| {
        let mut plain = *value;
        plain.precise = false;
        plain.to_string()
    })
}

/// A constant that is a small negative number in 32 bits, such as an errno.
fn negative_int(number: u64) -> Option<String> {
    const SMALL: u64 = 4096;
    let below = (1_u64 << 32).checked_sub(number)?;
    (1..=SMALL).contains(&below).then(|| format!("{number:#x} (-{below} as an int)"))
}

fn pointer(value: &RegView<'_>) -> Option<String> {
    let modifiers = value.ty.flags.difference(TypeFlag::PTR_MAYBE_NULL | TypeFlag::NON_OWN_REF);
    let has = |modifier: TypeFlag| modifiers == modifier;
    let map = match value.pointee {
        Pointee::Map { name, .. } if !name.is_empty() => Some(format!("map `{name}`")),
        _ => None,
    };
    let what = match value.ty.base {
        Base::BtfId => return object(value, modifiers),
        Base::Mem if has(TypeFlag::MEM_RDONLY) => format!("read-only memory of {}", size(value)?),
        Base::Mem if has(TypeFlag::MEM_RINGBUF) => {
            format!("a ring buffer's record of {}", size(value)?)
        }
        Base::Buf if has(TypeFlag::MEM_RDONLY) => "a buffer".to_owned(),
        _ if !modifiers.is_empty() => return None,
        Base::Arena => return Some("a pointer into an arena".to_owned()),
        Base::Packet => return Some(packet(value)),
        Base::Stack => return Some(stack(value)),
        Base::Ctx => "the context".to_owned(),
        Base::PacketEnd => "the packet's end".to_owned(),
        Base::PacketMeta => "a pointer to the packet's metadata".to_owned(),
        Base::MapValue => {
            format!("a value ({}) of {}", size(value)?, map.as_deref().unwrap_or("map"))
        }
        Base::MapKey => "a key of the map".to_owned(),
        Base::ConstMapPtr => map.unwrap_or("a map".to_owned()),
        Base::Buf | Base::TpBuffer => "a buffer".to_owned(),
        Base::FlowKeys => "the flow keys".to_owned(),
        Base::Socket | Base::SockCommon | Base::TcpSock | Base::XdpSock => "a socket".to_owned(),
        Base::Mem => format!("memory of {}", size(value)?),
        _ => return None,
    };
    Some(format!("{what}{}{}", moved(value), or_null(value)))
}

fn or_null(value: &RegView<'_>) -> &'static str {
    if value.ty.may_be_null() { ", or NULL" } else { "" }
}

/// The size of memory, or of a map's value.
fn size(value: &RegView<'_>) -> Option<String> {
    match value.pointee {
        Pointee::Map { value_size, .. } => Some(counted(value_size, "byte")),
        Pointee::Mem { size } if size > u16::MAX.into() => Some(format!("{size:#x} bytes")),
        Pointee::Mem { size } => Some(counted(size, "byte")),
        _ => None,
    }
}

/// An address in the stack.
fn stack(value: &RegView<'_>) -> String {
    let of = match value.pointee {
        Pointee::Stack { frame: Some(frame) } => format!(" of frame {frame}"),
        _ => String::new(),
    };
    let off = value.fixed_off();
    match value.bounds.const_value().is_some() {
        // A large one, as in the log.
        true if i16::try_from(off).is_err() => format!("the address fp{off:#x} in the stack{of}"),
        true => format!("the address fp{off} in the stack{of}"),
        false => format!("the address fp{off} plus {} in the stack{of}", range(&value.bounds)),
    }
}

/// A pointer to an object of the kernel or of the program.
fn object(value: &RegView<'_>, modifiers: TypeFlag) -> Option<String> {
    const KINDS: [(TypeFlag, &str); 7] = [
        (TypeFlag::MEM_PERCPU, "a per-CPU pointer to"),
        (TypeFlag::MEM_PERCPU.union(TypeFlag::MEM_RCU), "a per-CPU pointer under RCU to"),
        (TypeFlag::MEM_USER, "a pointer into user memory to"),
        (TypeFlag::PTR_TRUSTED, "a trusted pointer to"),
        (TypeFlag::PTR_UNTRUSTED, "an untrusted pointer to"),
        (TypeFlag::MEM_RCU, "a pointer under RCU to"),
        (TypeFlag::empty(), "a pointer to"),
    ];
    let (_, says) = KINDS.iter().find(|(kind, _)| *kind == modifiers)?;
    let owned = match value.ref_obj_id {
        _ if value.ty.flags.contains(TypeFlag::NON_OWN_REF) => ", not owned",
        0 => "",
        _ => ", owned",
    };
    let name = match value.pointee {
        Pointee::Type { name } if !name.is_empty() => name,
        _ => "an object",
    };
    Some(format!("{says} {name}{}{owned}{}", moved(value), or_null(value)))
}

/// The offset of a pointer.
fn moved(value: &RegView<'_>) -> String {
    let fixed = value.fixed_off();
    let mut text = match fixed {
        0 => String::new(),
        1.. => format!(" plus {fixed}"),
        _ => format!(" minus {}", fixed.unsigned_abs()),
    };
    if value.bounds.const_value().is_none() && value.bounds != Bounds::ANY {
        text += &format!(" plus {}", range(&value.bounds));
    }
    text
}

fn packet(value: &RegView<'_>) -> String {
    let place = format!("the packet's start{}", moved(value));
    let bytes = match value.pointee {
        Pointee::Packet { range: bytes @ 1.. } => bytes,
        Pointee::Packet { range: -1 } => return format!("{place}, at its end or beyond"),
        Pointee::Packet { range: ..=-2 } => return format!("{place}, beyond its end"),
        _ => return format!("{place}, not compared with its end"),
    };
    let has_bits = !matches!(value.bounds.mask, 0 | u64::MAX);
    let is_variable = has_bits || value.id != 0;
    let behind = if is_variable { " from that variable offset on" } else { "" };
    let (unit, are) = if bytes == 1 { ("byte", "is") } else { ("bytes", "are") };
    format!("{place}, where {bytes} {unit}{behind} {are} inside of it")
}

fn number(bounds: &Bounds) -> String {
    match range(bounds) {
        range if range == ANY => "any number".to_owned(),
        range if range == NOT_ZERO => "any number but 0".to_owned(),
        range => format!("a number, {range}"),
    }
}

const ANY: &str = "anything";
const NOT_ZERO: &str = "anything but 0";

/// A number as programmers write it: large ones as powers of two or in hex.
fn shown(number: i128) -> String {
    const DECIMAL_BELOW: u128 = 1 << 20;
    let size = number.unsigned_abs();
    let sign = if number < 0 { "-" } else { "" };
    match size {
        ..DECIMAL_BELOW => number.to_string(),
        _ if size.is_power_of_two() => format!("{sign}2^{}", size.trailing_zeros()),
        _ if (size + 1).is_power_of_two() && number > 0 => {
            format!("2^{}-1", size.trailing_ones())
        }
        _ => format!("{sign}{size:#x}"),
    }
}

/// A bound, if it is not that of its type.
fn bound<T: PartialEq + Into<i128>>(bound: T, of_type: T) -> Option<i128> {
    (bound != of_type).then(|| bound.into())
}

/// The range of a variable value.
fn range(bounds: &Bounds) -> String {
    let (smin, smax) = (bound(bounds.smin, i64::MIN), bound(bounds.smax, i64::MAX));
    let (umin, umax) = (bound(bounds.umin, 0), bound(bounds.umax, u64::MAX));
    let sure = smin.filter(|&min| min >= 0);
    if sure.is_some() || umax.is_some_and(|max| max <= i128::from(i64::MAX)) {
        let min = umin.max(sure).unwrap_or(0);
        let max = umax.into_iter().chain(smax.filter(|&max| max >= 0)).min();
        return match max {
            Some(max) => format!("{} to {}", shown(min), shown(max)),
            None => format!("at least {}", shown(min)),
        };
    }
    match (smin, smax) {
        (Some(min), Some(max)) => format!("{} to {}", shown(min), shown(max)),
        (None, Some(max)) => format!("at most {}, maybe negative", shown(max)),
        (Some(min), None) => format!("at least {}", shown(min)),
        (None, None) => unsigned(umin, umax, bounds),
    }
}

fn unsigned(umin: Option<i128>, umax: Option<i128>, bounds: &Bounds) -> String {
    match (umin, umax) {
        (Some(1), None) => NOT_ZERO.to_owned(),
        (Some(min), Some(max)) => {
            format!("{} to {}, if it is read as unsigned", shown(min), shown(max))
        }
        (Some(min), None) => format!("at least {}, if it is read as unsigned", shown(min)),
        (None, Some(max)) => format!("at most {}, if it is read as unsigned", shown(max)),
        (None, None) => lower_half(bounds),
    }
}

/// The known range of the lower 32 bits.
fn lower_half(bounds: &Bounds) -> String {
    let says = |range: String| format!("of whose lower 32 bits is known: {range}");
    let (smin, smax) = (bound(bounds.smin32, i32::MIN), bound(bounds.smax32, i32::MAX));
    let (umin, umax) = (bound(bounds.umin32, 0), bound(bounds.umax32, u32::MAX));
    let is_signed = smin.is_none_or(|min| min < 0) && umax.is_none();
    match (smin, smax) {
        (Some(min), Some(max)) if is_signed => {
            return says(format!("{} to {}", shown(min), shown(max)));
        }
        (None, Some(max)) if is_signed => {
            return says(format!("at most {}, maybe negative", shown(max)));
        }
        (Some(min), None) if is_signed => return says(format!("at least {}", shown(min))),
        _ => {}
    }
    match (umin.max(smin.filter(|&min| min >= 0)), umax.or(smax.filter(|&max| max >= 0))) {
        (min, Some(max)) => says(format!("{} to {}", shown(min.unwrap_or(0)), shown(max))),
        (Some(min), None) => says(format!("at least {}", shown(min))),
        (None, None) => bits(bounds.value, bounds.mask),
    }
}

/// A value with known bits.
fn bits(known: u64, open: u64) -> String {
    match (known, open) {
        (_, u64::MAX) => ANY.to_owned(),
        (0, open) if open.trailing_zeros() > 0 => {
            format!("a multiple of {}", 1u64 << open.trailing_zeros())
        }
        (known, open) => format!("with the bits {known:#x}, and any of {open:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verifier::{RegType, RegValue};

    fn pointer(base: Base, flags: TypeFlag, pointee: Pointee<&str>) -> RegView<'_> {
        RegView::pointer(RegType { base, flags }, pointee)
    }

    fn plain(base: Base, pointee: Pointee<&str>) -> RegView<'_> {
        pointer(base, TypeFlag::empty(), pointee)
    }

    /// Values up to `max`, with any of the bits of `mask`.
    fn up_to(max: u32, mask: u64) -> Bounds {
        let half = Bounds { umax32: max, umax: max.into(), smin: 0, ..Bounds::ANY };
        let half = Bounds { smax: max.into(), value: 0, mask, ..half };
        match i32::try_from(max) {
            Ok(max) => Bounds { smin32: 0, smax32: max, ..half },
            Err(_) => half,
        }
    }

    fn changed<'v>(mut value: RegView<'v>, change: impl FnOnce(&mut RegView<'v>)) -> RegView<'v> {
        change(&mut value);
        value
    }

    fn check<'v>(rows: impl IntoIterator<Item = (RegView<'v>, &'v str, &'v str)>) {
        for (value, log, said) in rows {
            assert_eq!((&*value.to_string(), &*in_words(&value)), (log, said));
            assert_eq!(RegValue::from(value).to_string(), log);
        }
    }

    #[test]
    fn pointers_to_maps_and_memory() {
        const NULL: TypeFlag = TypeFlag::PTR_MAYBE_NULL;
        let map = |value_size| Pointee::Map { name: "m", key_size: 4, value_size };
        let moved = changed(plain(Base::MapValue, map(64)), |it| {
            (it.off, it.bounds) = (4, up_to(64, 0x7f));
        });
        let record = TypeFlag::MEM_RINGBUF | NULL;
        let mem = |size| Pointee::Mem { size };
        check([
            (
                changed(pointer(Base::MapValue, NULL, map(8)), |it| it.id = 1),
                "map_value_or_null(id=1,map=m,ks=4,vs=8)",
                "a value (8 bytes) of map `m`, or NULL",
            ),
            (
                moved,
                "map_value(map=m,ks=4,vs=64,off=4,smin=smin32=0,smax=umax=smax32=umax32=64,\
                 var_off=(0x0; 0x7f))",
                "a value (64 bytes) of map `m` plus 4 plus 0 to 64",
            ),
            (plain(Base::ConstMapPtr, map(8)), "map_ptr(map=m,ks=4,vs=8)", "map `m`"),
            (
                changed(pointer(Base::Mem, record, mem(68)), |it| (it.id, it.ref_obj_id) = (2, 2)),
                "ringbuf_mem_or_null(id=2,ref_obj_id=2,sz=68)",
                "a ring buffer's record of 68 bytes, or NULL",
            ),
            (plain(Base::Mem, mem(1 << 16)), "mem(sz=0x10000)", "memory of 0x10000 bytes"),
            (
                changed(plain(Base::Mem, mem(1)), |it| it.bounds = Bounds::constant(2)),
                "mem(sz=1,imm=2)",
                "memory of 1 byte plus 2",
            ),
        ]);
    }

    #[test]
    fn pointers_to_what_the_run_owns() {
        let packet =
            |off, range| changed(plain(Base::Packet, Pointee::Packet { range }), |it| it.off = off);
        let variable = changed(packet(14, 0), |it| (it.id, it.bounds) = (1, up_to(60, 0x3c)));
        let stack =
            |frame, off| changed(plain(Base::Stack, Pointee::Stack { frame }), |it| it.off = off);
        check([
            (packet(0, 0), "pkt(r=0)", "the packet's start, not compared with its end"),
            (packet(0, 1), "pkt(r=1)", "the packet's start, where 1 byte is inside of it"),
            (
                packet(14, 34),
                "pkt(off=14,r=34)",
                "the packet's start plus 14, where 34 bytes are inside of it",
            ),
            (
                packet(8, -1),
                "pkt(off=8,r=0xffffffffffffffff)",
                "the packet's start plus 8, at its end or beyond",
            ),
            (
                packet(8, -2),
                "pkt(off=8,r=0xfffffffffffffffe)",
                "the packet's start plus 8, beyond its end",
            ),
            (
                variable,
                "pkt(id=1,off=14,r=0,smin=smin32=0,smax=umax=smax32=umax32=60,var_off=(0x0; 0x3c))",
                "the packet's start plus 14 plus 0 to 60, not compared with its end",
            ),
            (
                changed(plain(Base::Ctx, Pointee::Other), |it| it.off = 24),
                "ctx(off=24)",
                "the context plus 24",
            ),
            (stack(None, -300), "fp-300", "the address fp-300 in the stack"),
            (stack(None, 1 << 29), "fp0x20000000", "the address fp0x20000000 in the stack"),
            (stack(Some(0), -8), "fp[0]-8", "the address fp-8 in the stack of frame 0"),
            (
                changed(stack(None, -16), |it| it.bounds = up_to(8, 8)),
                "fp(off=-16,smin=smin32=0,smax=umax=smax32=umax32=8,var_off=(0x0; 0x8))",
                "the address fp-16 plus 0 to 8 in the stack",
            ),
            (
                changed(stack(Some(0), -72), |it| it.bounds = up_to(63, 0x3f)),
                "fp[0](off=-72,smin=smin32=0,smax=umax=smax32=umax32=63,var_off=(0x0; 0x3f))",
                "the address fp-72 plus 0 to 63 in the stack of frame 0",
            ),
            (plain(Base::Arena, Pointee::Other), "arena", "a pointer into an arena"),
        ]);
    }

    #[test]
    fn pointers_to_objects() {
        const NULL: TypeFlag = TypeFlag::PTR_MAYBE_NULL;
        let object = |flags, name| pointer(Base::BtfId, flags, Pointee::Type { name });
        let per_cpu = TypeFlag::MEM_PERCPU | TypeFlag::MEM_RCU | NULL;
        check([
            (
                changed(object(per_cpu, "count"), |it| it.id = 1),
                "percpu_rcu_ptr_or_null_count(id=1)",
                "a per-CPU pointer under RCU to count, or NULL",
            ),
            (
                changed(object(TypeFlag::PTR_TRUSTED | NULL, "task_struct"), |it| {
                    (it.id, it.ref_obj_id) = (2, 2);
                }),
                "trusted_ptr_or_null_task_struct(id=2,ref_obj_id=2)",
                "a trusted pointer to task_struct, owned, or NULL",
            ),
            (
                changed(object(TypeFlag::NON_OWN_REF, "node"), |it| it.off = 16),
                "ptr_node(non_own_ref,off=16)",
                "a pointer to node plus 16, not owned",
            ),
        ]);
    }

    #[test]
    fn numbers() {
        let any = Bounds::ANY;
        let number = RegView::number;
        check([
            (number(any), "scalar()", "any number"),
            (
                changed(number(up_to(u32::MAX, 0xffff_ffff)), |it| it.id = 3),
                "scalar(id=3,smin=0,smax=umax=0xffffffff,var_off=(0x0; 0xffffffff))",
                "a number, 0 to 2^32-1",
            ),
            (
                number(Bounds { smax32: 255, ..any }),
                "scalar(smax32=255)",
                "a number, of whose lower 32 bits is known: at most 255, maybe negative",
            ),
            (
                number(Bounds { umin: 5, ..any }),
                "scalar(umin=5)",
                "a number, at least 5, if it is read as unsigned",
            ),
            (number(Bounds { umin: 1, ..any }), "scalar(umin=1)", "any number but 0"),
            (
                number(Bounds { smin: 0, smax: 0x3_ffff_fffc, umax: 0x3_ffff_fffc, ..any }),
                "scalar(smin=0,smax=umax=0x3fffffffc)",
                "a number, 0 to 0x3fffffffc",
            ),
            (
                number(Bounds { smin: -8, smax: 7, ..any }),
                "scalar(smin=-8,smax=7)",
                "a number, -8 to 7",
            ),
            (
                number(Bounds { smin: i32::MIN.into(), smax: i32::MAX.into(), ..any }),
                "scalar(smin=0xffffffff80000000,smax=0x7fffffff)",
                "a number, -2^31 to 2^31-1",
            ),
            (
                number(Bounds { value: 0, mask: !7, ..any }),
                "scalar(var_off=(0x0; 0xfffffffffffffff8))",
                "a number, a multiple of 8",
            ),
            (number(Bounds::constant(0xffff_ffff)), "0xffffffff", "0xffffffff (-1 as an int)"),
            (changed(number(any), |it| it.precise = true), "Pscalar()", "any number"),
        ]);
    }

    #[test]
    fn what_has_no_words_is_as_in_the_log() {
        check([
            (RegView::number(Bounds::constant(0xffff)), "0xffff", "0xffff"),
            (changed(RegView::number(Bounds::constant(1)), |it| it.precise = true), "P1", "1"),
            (
                plain(Base::ConstDynptr, Pointee::Dynptr { kind: "local" }),
                "dynptr_ptr(type=local)",
                "dynptr_ptr(type=local)",
            ),
            (plain(Base::Func, Pointee::Other), "func()", "func()"),
        ]);
    }
}
