//! Registers, types and numbers in the log.
//!
//! Kernel: `print_reg_state`, `reg_type_str`, `print_scalar_ranges` (6.18).

use crate::env::Facts;
use crate::state::reg::{BPF_ADD_CONST, DynptrKind, Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::TypeId;
use skep_domain::{Scalar, Tnum};
use std::fmt::{self, Write};

/// `(0x0; 0xff)`.
pub(crate) fn tnum_text(t: Tnum) -> String {
    format!("({:#x}; {:#x})", t.value, t.mask)
}

/// A signed number in the format of the log: small ones in decimal, others in hex.
pub(crate) struct Snum(pub(crate) i64);

impl fmt::Display for Snum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match i16::try_from(self.0) {
            Ok(n) => n.fmt(f),
            Err(_) => write!(f, "{:#x}", self.0),
        }
    }
}

/// An unsigned number in the format of the log.
pub(crate) struct Unum(pub(crate) u64);

impl fmt::Display for Unum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u16::try_from(self.0) {
            Ok(n) => n.fmt(f),
            Err(_) => write!(f, "{:#x}", self.0),
        }
    }
}

/// Name of a base type.
pub(crate) fn base_str(base: Base) -> &'static str {
    match base {
        Base::NotInit => "?",
        Base::Scalar => "scalar",
        Base::Ctx => "ctx",
        Base::ConstMapPtr => "map_ptr",
        Base::MapValue => "map_value",
        Base::MapKey => "map_key",
        Base::Stack => "fp",
        Base::PacketMeta => "pkt_meta",
        Base::Packet => "pkt",
        Base::PacketEnd => "pkt_end",
        Base::FlowKeys => "flow_keys",
        Base::Socket => "sock",
        Base::SockCommon => "sock_common",
        Base::TcpSock => "tcp_sock",
        Base::TpBuffer => "tp_buffer",
        Base::XdpSock => "xdp_sock",
        Base::BtfId => "ptr_",
        Base::Mem => "mem",
        Base::Arena => "arena",
        Base::Buf => "buf",
        Base::Func => "func",
        Base::ConstDynptr => "dynptr_ptr",
    }
}

/// Name of a type with its modifiers.
pub(crate) fn type_str(ty: RegType) -> String {
    const PREFIXES: [(TypeFlag, &str); 7] = [
        (TypeFlag::MEM_RDONLY, "rdonly_"),
        (TypeFlag::MEM_RINGBUF, "ringbuf_"),
        (TypeFlag::MEM_USER, "user_"),
        (TypeFlag::MEM_PERCPU, "percpu_"),
        (TypeFlag::MEM_RCU, "rcu_"),
        (TypeFlag::PTR_UNTRUSTED, "untrusted_"),
        (TypeFlag::PTR_TRUSTED, "trusted_"),
    ];
    let mut text = String::new();
    for (flag, name) in PREFIXES {
        if ty.has(flag) {
            text.push_str(name);
        }
    }
    text.push_str(base_str(ty.base));
    if ty.may_be_null() {
        text.push_str(if ty.base == Base::BtfId { "or_null_" } else { "_or_null" });
    }
    text
}

impl fmt::Display for RegType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&type_str(*self))
    }
}

/// Name of a kind of dynptr.
pub(crate) fn dynptr_str(kind: DynptrKind) -> &'static str {
    match kind {
        DynptrKind::Invalid => "<invalid>",
        DynptrKind::Local => "local",
        DynptrKind::Ringbuf => "ringbuf",
        DynptrKind::Skb => "skb",
        DynptrKind::Xdp => "xdp",
        DynptrKind::SkbMeta => "skb_meta",
    }
}

/// Writes parts separated by `,`.
struct Parts<'s> {
    out: &'s mut String,
    any: bool,
}

impl Parts<'_> {
    fn add(&mut self, part: fmt::Arguments<'_>) {
        if std::mem::replace(&mut self.any, true) {
            self.out.push(',');
        }
        let _ = self.out.write_fmt(part);
    }
}

impl Facts<'_> {
    /// The register as the log shows it in frame `frameno`.
    pub(crate) fn write_reg(&self, out: &mut String, reg: &Reg, frameno: u32, precise: bool) {
        if reg.is_scalar() {
            if precise {
                out.push('P');
            }
            return write_scalar(out, reg);
        }
        out.push_str(&type_str(reg.ty));
        if reg.ty.is(Base::Arena) {
            return;
        }
        if reg.ty.is(Base::Stack) {
            if reg.frameno() != frameno {
                let _ = write!(out, "[{}]", reg.frameno());
            }
            if reg.val.is_const() {
                let off = (reg.val.var_off.value as i64).wrapping_add(i64::from(reg.off));
                let _ = write!(out, "{}", Snum(off));
                return;
            }
        }
        if let (Base::BtfId, Extra::Btf { id, in_prog }) = (reg.ty.base, reg.extra) {
            let btf = if in_prog { &self.prog.btf } else { &self.prog.kernel_btf };
            let name = btf.as_ref().and_then(|b| b.get(TypeId(id))).map_or("", |t| t.name());
            out.push_str(name);
        }
        out.push('(');
        let mut parts = Parts { out, any: false };
        if self.config.profile.words.references_are_ids() && reg.ref_obj_id != 0 {
            write_identity(&mut parts, &Reg { id: reg.ref_obj_id, ref_obj_id: 0, ..*reg });
        } else {
            write_identity(&mut parts, reg);
        }
        self.write_object(&mut parts, reg);
        if let Some(value) = reg.val.const_value() {
            if value != 0 {
                parts.add(format_args!("imm={}", Snum(value as i64)));
            }
        } else {
            write_value(&mut parts, &reg.val);
        }
        out.push(')');
    }

    /// What a pointer points to.
    fn write_object(&self, parts: &mut Parts<'_>, reg: &Reg) {
        let is_map = matches!(reg.ty.base, Base::ConstMapPtr | Base::MapKey | Base::MapValue);
        if let Some(map) = reg.map().filter(|_| is_map) {
            let def = self.maps[map as usize].def;
            let name = self.map_name(map);
            if !name.is_empty() {
                parts.add(format_args!("map={name}"));
            }
            parts.add(format_args!("ks={},vs={}", def.key_size, def.value_size));
        }
        if reg.off != 0 {
            parts.add(format_args!("off={}", Snum(i64::from(reg.off))));
        }
        if reg.ty.is_packet() {
            parts.add(format_args!("r={}", Unum(i64::from(reg.range()) as u64)));
        }
        if reg.ty.base == Base::Mem {
            parts.add(format_args!("sz={}", Unum(u64::from(reg.mem_size()))));
        }
        if let (Base::ConstDynptr, Extra::Dynptr { kind, .. }) = (reg.ty.base, reg.extra) {
            parts.add(format_args!("type={}", dynptr_str(kind)));
        }
    }
}

/// A scalar as the log shows it, in any frame of any program.
pub(crate) fn write_scalar(out: &mut String, reg: &Reg) {
    if reg.val.is_const() {
        let _ = write!(out, "{}", Snum(reg.val.var_off.value as i64));
        return;
    }
    out.push_str(&type_str(reg.ty));
    out.push('(');
    let mut parts = Parts { out, any: false };
    write_identity(&mut parts, reg);
    write_value(&mut parts, &reg.val);
    out.push(')');
}

fn write_identity(parts: &mut Parts<'_>, reg: &Reg) {
    if reg.id != 0 {
        parts.add(format_args!("id={}", reg.id & !BPF_ADD_CONST));
    }
    if reg.id & BPF_ADD_CONST != 0 {
        let _ = write!(parts.out, "{:+}", reg.off);
    }
    if reg.ref_obj_id != 0 {
        parts.add(format_args!("ref_obj_id={}", reg.ref_obj_id));
    }
    if reg.ty.has(TypeFlag::NON_OWN_REF) {
        parts.add(format_args!("non_own_ref"));
    }
}

/// A value that is not constant.
fn write_value(parts: &mut Parts<'_>, value: &Scalar) {
    write_ranges(parts, value);
    if !value.var_off.is_unknown() {
        parts.add(format_args!("var_off={}", tnum_text(value.var_off)));
    }
}

fn write_ranges(parts: &mut Parts<'_>, v: &Scalar) {
    // A 32-bit value printed in hex is printed without sign extension.
    let half = |n: i32| if i16::try_from(n).is_ok() { i64::from(n) } else { i64::from(n as u32) };
    let mut rows: [(&str, i64, bool); 8] = [
        ("smin", v.smin, v.smin == i64::MIN),
        ("smax", v.smax, v.smax == i64::MAX),
        ("umin", v.umin as i64, v.umin == 0),
        ("umax", v.umax as i64, v.umax == u64::MAX),
        ("smin32", half(v.s32_min), v.s32_min == i32::MIN),
        ("smax32", half(v.s32_max), v.s32_max == i32::MAX),
        ("umin32", i64::from(v.u32_min), v.u32_min == 0),
        ("umax32", i64::from(v.u32_max), v.u32_max == u32::MAX),
    ];
    let negative = |name: &str, n: i64| name.starts_with('s') && n < 0;
    for i in 0..rows.len() {
        let (name, value, omit) = rows[i];
        if omit {
            continue;
        }
        parts.add(format_args!("{name}="));
        for other in rows[i..].iter_mut().skip(2).step_by(2) {
            let same =
                !other.2 && other.1 == value && negative(other.0, other.1) == negative(name, value);
            if same {
                other.2 = true;
                let _ = write!(parts.out, "{}=", other.0);
            }
        }
        let _ = if name.starts_with('s') {
            write!(parts.out, "{}", Snum(value))
        } else {
            write!(parts.out, "{}", Unum(value as u64))
        };
    }
}
