//! Generates BTF for a case: a function for each subprog, a struct for each map value with fields.

use super::options::{FuncOptions, MapOptions, Options};
use skep::btf::{Btf, BtfBuilder, FuncLinkage, IntEncoding, MemberDef, TypeId};
use skep::insn::InsnIdx;
use skep::insn::asm::Assembly;
use skep::insn::code::{BPF_CALL, BPF_JMP, BPF_PSEUDO_CALL, BPF_PSEUDO_FUNC};
use skep::program::FuncInfo;
use std::collections::{BTreeMap, BTreeSet};

/// The result.
#[derive(Default)]
pub(super) struct CaseBtf {
    pub(super) btf: Option<Btf>,
    pub(super) func_info: Vec<FuncInfo>,
    /// Key and value type, and size of the value, of maps with fields.
    pub(super) maps: BTreeMap<String, (TypeId, TypeId, u32)>,
}

/// Kernel types allowed for fields: name, size and alignment in bytes.
const KERNEL_TYPES: [(&str, u32, u32); 5] = [
    ("bpf_spin_lock", 4, 4),
    ("bpf_res_spin_lock", 4, 4),
    ("bpf_timer", 16, 8),
    ("bpf_wq", 16, 8),
    ("bpf_refcount", 4, 4),
];

/// Generates what the options or insns require; nothing if they require nothing.
pub(super) fn build(options: &Options, assembly: &Assembly) -> Result<CaseBtf, String> {
    let names_func = |insn: &skep::insn::Insn| insn.is_ld_imm64() && insn.src == BPF_PSEUDO_FUNC;
    let wants_funcs =
        options.btf || !options.func.is_empty() || assembly.insns.iter().any(names_func);
    let with_fields: Vec<_> = options.map.iter().filter(|(_, m)| !m.fields.is_empty()).collect();
    let mut made = CaseBtf::default();
    if !wants_funcs && with_fields.is_empty() {
        return Ok(made);
    }
    let mut types = Types { builder: BtfBuilder::new(), known: BTreeMap::new() };
    if wants_funcs {
        let mut named = BTreeSet::new();
        for (start, name) in subprogs(options, assembly) {
            let func = options.func.get(&name).cloned().unwrap_or_default();
            let type_id = types.func(&name, &func, &options.prog_type)?;
            made.func_info.push(FuncInfo { insn_off: InsnIdx(start), type_id: type_id.0 });
            named.insert(name);
        }
        for (name, func) in options.func.iter().filter(|(name, _)| !named.contains(*name)) {
            types.func(name, func, &options.prog_type)?;
        }
    }
    for (name, map) in with_fields {
        made.maps.insert(name.clone(), types.map(name, map)?);
    }
    made.btf = Some(types.builder.build().map_err(|e| e.to_string())?);
    Ok(made)
}

/// First insn and name of each subprog, ascending.
fn subprogs(options: &Options, assembly: &Assembly) -> Vec<(u32, String)> {
    let mut starts = vec![0u32];
    for name in options.func.values().flat_map(|func| &func.exception_callbacks) {
        let label = assembly.labels.iter().find(|label| label.name == *name);
        starts.extend(label.map(|label| label.insn.0));
    }
    for (at, insn) in (0i64..).zip(&assembly.insns) {
        let call = insn.code == BPF_JMP | BPF_CALL && insn.src == BPF_PSEUDO_CALL;
        let func = insn.is_ld_imm64() && insn.src == BPF_PSEUDO_FUNC;
        if call || func {
            starts.push((at + 1 + i64::from(insn.imm)) as u32);
        }
    }
    starts.sort_unstable();
    starts.dedup();
    let name = |start: u32| {
        let label = assembly.labels.iter().find(|label| label.insn.0 == start);
        let label = label.map(|label| label.name.clone()).filter(|_| start != 0);
        label.unwrap_or_else(|| if start == 0 { "main".into() } else { format!("func{start}") })
    };
    starts.into_iter().map(|start| (start, name(start))).collect()
}

struct Types {
    builder: BtfBuilder,
    known: BTreeMap<String, TypeId>,
}

impl Types {
    fn int(&mut self, name: &str) -> Result<TypeId, String> {
        let (size, encoding) = match name {
            "int" => (4, IntEncoding::SIGNED),
            "char" | "s8" => (1, IntEncoding::SIGNED),
            "u8" => (1, IntEncoding::NONE),
            "u16" => (2, IntEncoding::NONE),
            "u32" => (4, IntEncoding::NONE),
            "u64" => (8, IntEncoding::NONE),
            "s64" => (8, IntEncoding::SIGNED),
            other => return Err(format!("no such type: {other}")),
        };
        if let Some(&id) = self.known.get(name) {
            return Ok(id);
        }
        let id = self.builder.int(name, size, encoding);
        self.known.insert(name.to_owned(), id);
        Ok(id)
    }

    fn func(&mut self, name: &str, func: &FuncOptions, prog_type: &str) -> Result<TypeId, String> {
        let ret = if func.void { TypeId::VOID } else { self.int("int")? };
        let mut params = Vec::new();
        let mut tags = Vec::new();
        for (i, arg) in (0u32..).zip(&func.args) {
            let mut words = arg.split_whitespace();
            let id = self.arg(words.next().unwrap_or_default(), prog_type)?;
            params.push((format!("a{i}"), id));
            tags.extend(words.map(|tag| (i, format!("arg:{tag}"))));
        }
        let params: Vec<(&str, TypeId)> = params.iter().map(|(n, id)| (n.as_str(), *id)).collect();
        let proto = self.builder.func_proto(ret, &params);
        let linkage = if func.global { FuncLinkage::Global } else { FuncLinkage::Static };
        let id = self.builder.func(name, proto, linkage);
        for (arg, tag) in tags {
            self.builder.decl_tag(&tag, id, Some(arg));
        }
        for callback in &func.exception_callbacks {
            self.builder.decl_tag(&format!("exception_callback:{callback}"), id, None);
        }
        Ok(id)
    }

    fn arg(&mut self, name: &str, prog_type: &str) -> Result<TypeId, String> {
        let target = match name {
            _ if name.starts_with("ctx:") => {
                let of = name.trim_start_matches("ctx:");
                self.builder.struct_(ctx_struct(of)?, 0, &[])
            }
            _ if name.starts_with("kernel:") => {
                self.builder.struct_(name.trim_start_matches("kernel:"), 0, &[])
            }
            "ctx" => self.builder.struct_(ctx_struct(prog_type)?, 0, &[]),
            "void*" => TypeId::VOID,
            _ => match (name.strip_prefix("mem:"), name.strip_suffix('*')) {
                (Some(size), _) => self.mem(size)?,
                (None, Some(pointee)) => self.int(pointee)?,
                (None, None) => return self.int(name),
            },
        };
        Ok(self.builder.ptr(target))
    }

    /// A struct of this many bytes.
    fn mem(&mut self, size: &str) -> Result<TypeId, String> {
        let bytes: u32 = size.parse().map_err(|_| format!("mem:{size}: not a size"))?;
        let (byte, index) = (self.int("u8")?, self.int("u32")?);
        let array = self.builder.array(byte, index, bytes);
        Ok(self.builder.struct_(
            &format!("mem{bytes}"),
            bytes,
            &[MemberDef::new("bytes", array, 0)],
        ))
    }

    fn map(&mut self, name: &str, map: &MapOptions) -> Result<(TypeId, TypeId, u32), String> {
        let mut members = Vec::new();
        let (mut at, mut align_max) = (0u32, 1);
        for field in &map.fields {
            let (field, type_name) = field.split_once(':').ok_or("a field is `name: type`")?;
            let (id, size, align) = self.field(type_name.trim())?;
            at = at.next_multiple_of(align);
            members.push(MemberDef::new(field.trim(), id, at * 8));
            at += size;
            align_max = align_max.max(align);
        }
        let size = at.next_multiple_of(align_max);
        let type_name = format!("{name}_value");
        let value = self.builder.struct_(&type_name, size, &members);
        self.known.insert(type_name, value);
        let key = match map.key {
            8 => self.int("u64")?,
            _ => self.int("u32")?,
        };
        Ok((key, value, size))
    }

    /// Type, size and alignment of a field: an integer, an array of integers, a kernel type, a
    /// `kptr` to the value of an earlier map (`m_value`), or to a struct with one number.
    fn field(&mut self, name: &str) -> Result<(TypeId, u32, u32), String> {
        if let Some(object) = name.strip_prefix("kptr ") {
            let object = match self.known.get(object) {
                Some(&value) => value,
                None => {
                    let number = MemberDef::new("number", self.int("u64")?, 0);
                    self.builder.struct_(object, 8, &[number])
                }
            };
            let tagged = self.builder.type_tag("kptr", object);
            return Ok((self.builder.ptr(tagged), 8, 8));
        }
        if let Some(&(name, size, align)) = KERNEL_TYPES.iter().find(|row| row.0 == name) {
            let word = self.int(if align == 4 { "u32" } else { "u64" })?;
            let index = self.int("u32")?;
            let array = self.builder.array(word, index, size / align);
            let id = self.builder.struct_(name, size, &[MemberDef::new("opaque", array, 0)]);
            return Ok((id, size, align));
        }
        let (element, count) = match name.strip_suffix(']').and_then(|n| n.split_once('[')) {
            Some((element, count)) => (element, Some(count)),
            None => (name, None),
        };
        let id = self.int(element)?;
        let size = match element {
            "char" | "s8" | "u8" => 1,
            "u16" => 2,
            "u64" | "s64" => 8,
            _ => 4,
        };
        let Some(count) = count else { return Ok((id, size, size)) };
        let count: u32 = count.parse().map_err(|_| format!("{name}: not a number of elements"))?;
        let index = self.int("u32")?;
        Ok((self.builder.array(id, index, count), size * count, size))
    }
}

/// The name of the context struct for this program type.
fn ctx_struct(prog_type: &str) -> Result<&'static str, String> {
    Ok(match prog_type {
        "xdp" => "xdp_md",
        "socket_filter" | "sched_cls" | "sched_act" | "cgroup_skb" | "sk_skb" | "lwt_in"
        | "lwt_out" | "lwt_xmit" => "__sk_buff",
        "cgroup_sock" => "bpf_sock",
        "cgroup_sock_addr" => "bpf_sock_addr",
        "sock_ops" => "bpf_sock_ops",
        "sk_msg" => "sk_msg_md",
        "sk_reuseport" => "sk_reuseport_md",
        "sk_lookup" => "bpf_sk_lookup",
        "cgroup_sysctl" => "bpf_sysctl",
        "cgroup_sockopt" => "bpf_sockopt",
        "perf_event" => "bpf_perf_event_data",
        "kprobe" => "pt_regs",
        other => return Err(format!("no name of the context of {other}")),
    })
}
