//! Generates BTF for a case: a function for each subprog, a struct for each map value with fields.

use super::options::{FuncOptions, MapOptions, Options};
use skep::btf::{Btf, BtfBuilder, FuncLinkage, IntEncoding, MemberDef, TypeId};
use skep::insn::InsnIdx;
use skep::insn::asm::Assembly;
use skep::insn::code::BPF_PSEUDO_FUNC;
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
const KERNEL_TYPES: [(&str, u32, u32); 10] = [
    ("bpf_spin_lock", 4, 4),
    ("bpf_res_spin_lock", 4, 4),
    ("bpf_timer", 16, 8),
    ("bpf_wq", 16, 8),
    ("bpf_task_work", 8, 8),
    ("bpf_refcount", 4, 4),
    ("bpf_list_head", 16, 8),
    ("bpf_list_node", 24, 8),
    ("bpf_rb_root", 16, 8),
    ("bpf_rb_node", 32, 8),
];
/// Tags of pointers to objects.
const OBJECT_TAGS: [&str; 3] = ["kptr", "percpu_kptr", "kptr_untrusted"];

/// Generates what the options or insns require; nothing if they require nothing.
pub(super) fn build(options: &Options, assembly: &Assembly) -> Result<CaseBtf, String> {
    let names_func = |insn: &skep::insn::Insn| insn.is_ld_imm64() && insn.src == BPF_PSEUDO_FUNC;
    let wants_funcs =
        options.btf || !options.func.is_empty() || assembly.insns.iter().any(names_func);
    let with_fields: Vec<_> = options.map.iter().filter(|(_, m)| !m.fields.is_empty()).collect();
    let mut made = CaseBtf::default();
    if !wants_funcs && with_fields.is_empty() && options.r#struct.is_empty() {
        return Ok(made);
    }
    let mut types = Types::of_structs(options)?;
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

/// The text with ids for `type[NAME]`.
pub(super) fn with_type_ids(bpf: &str, options: &Options) -> Result<String, String> {
    let types = Types::of_structs(options)?;
    let names = options.r#struct.keys().filter_map(|name| Some((name, types.known.get(name)?)));
    Ok(names.fold(bpf.to_owned(), |text, (name, id)| {
        text.replace(&format!("type[{name}]"), &id.0.to_string())
    }))
}

/// First insn and name of each subprog, ascending.
fn subprogs(options: &Options, assembly: &Assembly) -> Vec<(u32, String)> {
    let mut starts = vec![0u32];
    for name in options.func.values().flat_map(|func| &func.exception_callbacks) {
        let label = assembly.labels.iter().find(|label| label.name == *name);
        starts.extend(label.map(|label| label.insn.0));
    }
    for (at, insn) in (0i64..).zip(&assembly.insns) {
        let call = insn.is_pseudo_call();
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
    /// The structs that are asked for come first, so that nothing else decides their ids.
    fn of_structs(options: &Options) -> Result<Types, String> {
        let mut types = Types { builder: BtfBuilder::new(), known: BTreeMap::new() };
        for (name, fields) in &options.r#struct {
            types.with_members(name, fields)?;
        }
        Ok(types)
    }

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
        let (value, size) = self.with_members(&format!("{name}_value"), &map.fields)?;
        let key = match map.key {
            8 => self.int("u64")?,
            _ => self.int("u32")?,
        };
        Ok((key, value, size))
    }

    /// A struct with these fields, and its size.
    fn with_members(&mut self, name: &str, fields: &[String]) -> Result<(TypeId, u32), String> {
        let mut members = Vec::new();
        let mut contents = Vec::new();
        let (mut at, mut align_max) = (0u32, 1);
        for (index, field) in (0u32..).zip(fields) {
            let (field, type_name) = field.split_once(':').ok_or("a field is `name: type`")?;
            let type_name = type_name.trim();
            let (type_name, of) = match type_name.split_once(' ') {
                Some((root, of)) if root.starts_with("bpf_") => (root, Some(of)),
                _ => (type_name, None),
            };
            let (id, size, align) = self.field(type_name)?;
            at = at.next_multiple_of(align);
            members.push(MemberDef::new(field.trim(), id, at * 8));
            contents.extend(of.map(|of| (index, format!("contains:{of}"))));
            at += size;
            align_max = align_max.max(align);
        }
        let size = at.next_multiple_of(align_max);
        let id = self.builder.struct_(name, size, &members);
        for (index, tag) in contents {
            self.builder.decl_tag(&tag, id, Some(index));
        }
        self.known.insert(name.to_owned(), id);
        Ok((id, size))
    }

    /// A type of the kernel, once: it looks for fields of the first of a name.
    fn of_kernel(&mut self, name: &str, size: u32, align: u32) -> Result<TypeId, String> {
        if let Some(&id) = self.known.get(name) {
            return Ok(id);
        }
        let word = self.int(if align == 4 { "u32" } else { "u64" })?;
        let index = self.int("u32")?;
        let array = self.builder.array(word, index, size / align);
        let id = self.builder.struct_(name, size, &[MemberDef::new("opaque", array, 0)]);
        self.known.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Type, size and alignment of a field: an integer, an array of them, a type of the kernel, a
    /// `kptr` to a struct, to the value of a map before it (`m_value`), or to a new struct with one
    /// number.
    fn field(&mut self, name: &str) -> Result<(TypeId, u32, u32), String> {
        let tagged = name.split_once(' ').filter(|(tag, _)| OBJECT_TAGS.contains(tag));
        if let Some((tag, object)) = tagged {
            let object = match self.known.get(object) {
                Some(&value) => value,
                None => {
                    let number = MemberDef::new("number", self.int("u64")?, 0);
                    self.builder.struct_(object, 8, &[number])
                }
            };
            let tagged = self.builder.type_tag(tag, object);
            return Ok((self.builder.ptr(tagged), 8, 8));
        }
        if let Some(&(name, size, align)) = KERNEL_TYPES.iter().find(|row| row.0 == name) {
            return Ok((self.of_kernel(name, size, align)?, size, align));
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
