//! Registers, types and numbers in the log.
//!
//! Kernel: `print_reg_state`, `reg_type_str`, `print_scalar_ranges` (6.18).

use super::reg_view::{Bounds, Pointee, RegView};
use crate::env::Facts;
use crate::state::reg::{BPF_ADD_CONST, DynptrKind, Extra, Reg};
use crate::state::reg_type::{Base, RegType, TypeFlag};
use skep_btf::TypeId;
use std::fmt::{self, Display, Write};

/// A signed number in the format of the log: small ones in decimal, others in hex.
struct Snum(i64);

impl Display for Snum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match i16::try_from(self.0) {
            Ok(n) => n.fmt(f),
            Err(_) => write!(f, "{:#x}", self.0),
        }
    }
}

/// An unsigned number in the format of the log.
struct Unum(u64);

impl Display for Unum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u16::try_from(self.0) {
            Ok(n) => n.fmt(f),
            Err(_) => write!(f, "{:#x}", self.0),
        }
    }
}

/// Name of a base type.
fn base_str(base: Base) -> &'static str {
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
impl Display for RegType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PREFIXES: [(TypeFlag, &str); 7] = [
            (TypeFlag::MEM_RDONLY, "rdonly_"),
            (TypeFlag::MEM_RINGBUF, "ringbuf_"),
            (TypeFlag::MEM_USER, "user_"),
            (TypeFlag::MEM_PERCPU, "percpu_"),
            (TypeFlag::MEM_RCU, "rcu_"),
            (TypeFlag::PTR_UNTRUSTED, "untrusted_"),
            (TypeFlag::PTR_TRUSTED, "trusted_"),
        ];
        for (_, name) in PREFIXES.iter().filter(|(flag, _)| self.has(*flag)) {
            f.write_str(name)?;
        }
        f.write_str(base_str(self.base))?;
        match (self.may_be_null(), self.base) {
            (false, _) => Ok(()),
            (true, Base::BtfId) => f.write_str("or_null_"),
            (true, _) => f.write_str("_or_null"),
        }
    }
}

/// The modifiers that the log shows.
const SHOWN: TypeFlag = TypeFlag::PTR_MAYBE_NULL
    .union(TypeFlag::MEM_RDONLY)
    .union(TypeFlag::MEM_RINGBUF)
    .union(TypeFlag::MEM_USER)
    .union(TypeFlag::MEM_PERCPU)
    .union(TypeFlag::MEM_RCU)
    .union(TypeFlag::PTR_UNTRUSTED)
    .union(TypeFlag::PTR_TRUSTED)
    .union(TypeFlag::NON_OWN_REF);

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

impl Facts<'_> {
    /// The register as the log shows it in frame `frameno`.
    pub(crate) fn reg_view(&self, reg: &Reg, frameno: u32, precise: bool) -> RegView<'_> {
        let is_linked = reg.id & BPF_ADD_CONST != 0;
        let number = RegView {
            id: reg.id & !BPF_ADD_CONST,
            added: is_linked.then_some(reg.off),
            ref_obj_id: reg.ref_obj_id,
            precise,
            ..RegView::number(Bounds::of(&reg.val))
        };
        if reg.is_scalar() {
            return number;
        }
        RegView {
            ty: RegType { base: reg.ty.base, flags: reg.ty.flags.intersection(SHOWN) },
            off: reg.off,
            pointee: self.pointee(reg, frameno),
            shows_reference_as_id: self.config.profile.words.references_are_ids(),
            ..number
        }
    }

    fn pointee(&self, reg: &Reg, frameno: u32) -> Pointee<&str> {
        match (reg.ty.base, reg.extra) {
            (Base::Stack, _) if reg.ty.is(Base::Stack) => {
                Pointee::Stack { frame: Some(reg.frameno()).filter(|&frame| frame != frameno) }
            }
            (Base::Packet | Base::PacketMeta, _) if reg.ty.is_packet() => {
                Pointee::Packet { range: reg.range() }
            }
            (Base::ConstMapPtr | Base::MapKey | Base::MapValue, Extra::Map { map, .. }) => {
                let def = self.maps[map as usize].def;
                let (key_size, value_size) = (def.key_size, def.value_size);
                Pointee::Map { name: self.map_name(map), key_size, value_size }
            }
            (Base::BtfId, Extra::Btf { id, in_prog }) => {
                let btf = if in_prog { &self.prog.btf } else { &self.prog.kernel_btf };
                let ty = btf.as_ref().and_then(|btf| btf.get(TypeId(id)));
                Pointee::Type { name: ty.map_or("", |ty| ty.name()) }
            }
            (Base::Mem, _) => Pointee::Mem { size: reg.mem_size() },
            (Base::ConstDynptr, Extra::Dynptr { kind, .. }) => {
                Pointee::Dynptr { kind: dynptr_str(kind) }
            }
            _ => Pointee::Other,
        }
    }
}

/// Writes parts separated by `,`.
struct Parts<'p, 'f> {
    out: &'p mut fmt::Formatter<'f>,
    any: bool,
}

impl Parts<'_, '_> {
    fn add(&mut self, part: fmt::Arguments<'_>) -> fmt::Result {
        if std::mem::replace(&mut self.any, true) {
            self.out.write_char(',')?;
        }
        self.out.write_fmt(part)
    }
}

impl Display for RegView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_number() && self.precise {
            f.write_char('P')?;
        }
        if let Some(number) = self.constant() {
            return Snum(number as i64).fmt(f);
        }
        self.ty.fmt(f)?;
        if self.ty.is(Base::Arena) {
            return Ok(());
        }
        match self.pointee {
            Pointee::Stack { frame } => {
                if let Some(frame) = frame {
                    write!(f, "[{frame}]")?;
                }
                if self.bounds.const_value().is_some() {
                    return Snum(self.fixed_off()).fmt(f);
                }
            }
            Pointee::Type { name } => f.write_str(name)?,
            _ => {}
        }
        f.write_char('(')?;
        let mut parts = Parts { out: f, any: false };
        self.write_identity(&mut parts)?;
        self.write_object(&mut parts)?;
        match self.bounds.const_value() {
            None => write_value(&mut parts, &self.bounds)?,
            Some(0) => {}
            Some(value) => parts.add(format_args!("imm={}", Snum(value as i64)))?,
        }
        f.write_char(')')
    }
}

impl RegView<'_> {
    fn write_identity(&self, parts: &mut Parts<'_, '_>) -> fmt::Result {
        let is_id = self.shows_reference_as_id && self.ref_obj_id != 0;
        let id = if is_id { self.ref_obj_id } else { self.id };
        if id != 0 {
            parts.add(format_args!("id={id}"))?;
        }
        if let Some(added) = self.added {
            write!(parts.out, "{added:+}")?;
        }
        if self.ref_obj_id != 0 && !is_id {
            parts.add(format_args!("ref_obj_id={}", self.ref_obj_id))?;
        }
        if self.ty.has(TypeFlag::NON_OWN_REF) {
            parts.add(format_args!("non_own_ref"))?;
        }
        Ok(())
    }

    /// What a pointer points to.
    fn write_object(&self, parts: &mut Parts<'_, '_>) -> fmt::Result {
        if let Pointee::Map { name, key_size, value_size } = self.pointee {
            if !name.is_empty() {
                parts.add(format_args!("map={name}"))?;
            }
            parts.add(format_args!("ks={key_size},vs={value_size}"))?;
        }
        if self.off != 0 {
            parts.add(format_args!("off={}", Snum(self.off.into())))?;
        }
        match self.pointee {
            Pointee::Packet { range } => {
                parts.add(format_args!("r={}", Unum(i64::from(range) as u64)))
            }
            Pointee::Mem { size } => parts.add(format_args!("sz={}", Unum(size.into()))),
            Pointee::Dynptr { kind } => parts.add(format_args!("type={kind}")),
            _ => Ok(()),
        }
    }
}

/// A value that is not constant.
fn write_value(parts: &mut Parts<'_, '_>, bounds: &Bounds) -> fmt::Result {
    write_ranges(parts, bounds)?;
    match bounds {
        Bounds { mask: u64::MAX, .. } => Ok(()),
        Bounds { value, mask, .. } => parts.add(format_args!("var_off=({value:#x}; {mask:#x})")),
    }
}

fn write_ranges(parts: &mut Parts<'_, '_>, v: &Bounds) -> fmt::Result {
    // A 32-bit value printed in hex is printed without sign extension.
    let half = |n: i32| if i16::try_from(n).is_ok() { i64::from(n) } else { i64::from(n as u32) };
    let mut rows: [(&str, i64, bool); 8] = [
        ("smin", v.smin, v.smin == i64::MIN),
        ("smax", v.smax, v.smax == i64::MAX),
        ("umin", v.umin as i64, v.umin == 0),
        ("umax", v.umax as i64, v.umax == u64::MAX),
        ("smin32", half(v.smin32), v.smin32 == i32::MIN),
        ("smax32", half(v.smax32), v.smax32 == i32::MAX),
        ("umin32", i64::from(v.umin32), v.umin32 == 0),
        ("umax32", i64::from(v.umax32), v.umax32 == u32::MAX),
    ];
    let negative = |name: &str, n: i64| name.starts_with('s') && n < 0;
    for i in 0..rows.len() {
        let (name, value, omit) = rows[i];
        if omit {
            continue;
        }
        parts.add(format_args!("{name}="))?;
        for other in rows[i..].iter_mut().skip(2).step_by(2) {
            let same =
                !other.2 && other.1 == value && negative(other.0, other.1) == negative(name, value);
            if same {
                other.2 = true;
                write!(parts.out, "{}=", other.0)?;
            }
        }
        if name.starts_with('s') {
            Snum(value).fmt(parts.out)?;
        } else {
            Unum(value as u64).fmt(parts.out)?;
        }
    }
    Ok(())
}
