//! What the kernel's types require of pointers in the object's types: a `__kptr` to one of the
//! kernel's structs needs a destructor, a `__uptr` leads to a struct that is the object's own.
//!
//! Behaviour: 6.18, asked by `cargo xtask load-diff` with each kind of pointer to structs of the
//! kernel and of the object, of several sizes (`tests/object/kptr_*.bpf.c`, `uptr_*.bpf.c`).

use crate::error::Error;
use crate::options::OpenOptions;
use skep_btf::{Btf, FieldKind, Kind, SpecialField, Type};
use std::cell::OnceCell;

/// The end of a destructor's name; without it, it is the name of the kfunc that releases.
const DESTRUCTOR: &str = "_dtor";

/// The kernel's types, if they are known.
pub(crate) struct KernelTypes<'a> {
    btf: Option<&'a Btf>,
    page_bytes: u64,
    /// The structs that have a destructor.
    destroyed: OnceCell<Vec<&'a str>>,
}

impl<'a> KernelTypes<'a> {
    pub(crate) fn new(options: &'a OpenOptions) -> KernelTypes<'a> {
        let btf = options.kernel_btf.as_deref();
        KernelTypes { btf, page_bytes: options.page_size(), destroyed: OnceCell::new() }
    }

    /// Why the kernel refuses all of an object's BTF: for a struct with such a pointer.
    pub(crate) fn refuses_structs(&self, btf: &Btf) -> Option<Error> {
        let mut metas: Vec<_> = btf.struct_metas().iter().collect();
        metas.sort_by_key(|(id, _)| **id);
        metas.into_iter().find_map(|(id, fields)| {
            let why = |field| self.lacks_destructor(field, btf).or_else(|| self.differs(field));
            let why = fields.iter().find_map(why)?;
            Some(Error::new(why).context(format!("special fields of '{}'", btf.ty(*id).name())))
        })
    }

    /// Why the kernel does not take a struct for a special field: its own is of another size, as
    /// nodes of lists and trees are before 6.8.
    fn differs(&self, field: &SpecialField) -> Option<String> {
        let kernel = self.btf.filter(|_| !field.kind.is_pointer())?;
        let (name, size) = (field.kind.name(), field.kind.size());
        let bytes = kernel.ty(kernel.find_by_name_kind(name, Kind::Struct)?).stated_size()?;
        (bytes != size).then(|| format!("{name} has {size} bytes, and {bytes} in the kernel"))
    }

    /// Whether the kernel refuses the BTF of a map with this field in its values.
    pub(crate) fn refuses_in_map(&self, field: &SpecialField, btf: &Btf) -> bool {
        let target = field.target.filter(|_| field.kind == FieldKind::Uptr).map(|id| btf.ty(id));
        target.is_some_and(|target| {
            let bytes = u64::from(target.stated_size().unwrap_or(0));
            self.has(target) || bytes == 0 || bytes > self.page_bytes
        })
    }

    /// Why nothing can release what the field points to.
    pub(crate) fn lacks_destructor(&self, field: &SpecialField, btf: &Btf) -> Option<String> {
        let target = field.target.filter(|_| field.kind == FieldKind::KptrRef)?;
        let (target, kernel) = (btf.ty(target), self.btf?);
        let known = self.destroyed.get_or_init(|| destroyed(kernel));
        // If none of these names exist, nothing can be concluded from them.
        let name = target.name();
        let lacks = !known.is_empty() && !known.contains(&name) && self.has(target);
        lacks.then(|| format!("the kernel has no destructor for struct {name}"))
    }

    fn has(&self, target: Type<'_>) -> bool {
        let named = |btf: &Btf| btf.find_by_name_kind(target.name(), Kind::Struct).is_some();
        self.btf.is_some_and(named)
    }
}

/// Those that are destructors themselves, or whose destructor has no entry in the BTF.
const FIRST_DESTRUCTORS: [&str; 7] = [
    "bpf_task_release",
    "bpf_cgroup_release",
    "bpf_cpumask_release",
    OWN_DESTRUCTOR,
    "bpf_kfunc_call_test_release",
    "bpf_kfunc_call_memb_release",
    "bpf_testmod_ctx_release",
];
/// One that is a destructor itself on kernels where the others have one beside them.
const OWN_DESTRUCTOR: &str = "bpf_crypto_ctx_release";

/// The structs whose releasing kfunc has a destructor beside it.
fn destroyed(kernel: &Btf) -> Vec<&str> {
    let has = |name: &str| kernel.find_by_name_kind(name, Kind::Func).is_some();
    let functions = kernel.iter().filter(|ty| ty.kind() == Kind::Func);
    let mut releases: Vec<&str> =
        functions.filter_map(|ty| ty.name().strip_suffix(DESTRUCTOR)).collect();
    // Of BTF with that of modules, only the functions of the last one are seen.
    if has(FIRST_DESTRUCTORS[0]) {
        releases.extend(FIRST_DESTRUCTORS);
    }
    let first = |name: &str| {
        let release = kernel.ty(kernel.find_by_name_kind(name, Kind::Func)?);
        let param = release.target().params().next()?;
        let pointer = kernel.skip_modifiers(param.ty);
        let target = kernel.skip_modifiers(pointer.target_id());
        (pointer.kind() == Kind::Ptr && target.kind() == Kind::Struct).then(|| target.name())
    };
    let mut structs: Vec<&str> = releases.into_iter().filter_map(first).collect();
    if !structs.is_empty() {
        structs.extend(first(OWN_DESTRUCTOR));
    }
    structs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_creation::check_pointers;
    use skep_btf::{BtfBuilder, FuncLinkage, IntEncoding, MemberDef, TypeId};
    use skep_program::MapDef;
    use std::sync::Arc;

    /// Loaded by 6.18: a struct whose pointers are in an array is taken, whatever they point to.
    #[test]
    fn what_nothing_can_release_is_not_supported_where_the_kernel_takes_it() {
        let mut kernel = BtfBuilder::new();
        let int = kernel.int("int", 4, IntEncoding::SIGNED);
        let [task, _] = ["task_struct", "socket"]
            .map(|name| kernel.struct_(name, 4, &[MemberDef::new("member", int, 0)]));
        let task = kernel.ptr(task);
        let proto = kernel.func_proto(TypeId::VOID, &[("p", task)]);
        let context = kernel.struct_("bpf_crypto_ctx", 4, &[MemberDef::new("member", int, 0)]);
        let context = kernel.ptr(context);
        let of_context = kernel.func_proto(TypeId::VOID, &[("p", context)]);
        for name in ["bpf_task_release", "bpf_task_release_dtor"] {
            kernel.func(name, proto, FuncLinkage::Static);
        }
        // Linux 6.14 has no destructor beside it, and takes pointers to its struct.
        kernel.func("bpf_crypto_ctx_release", of_context, FuncLinkage::Static);
        let kernel_btf = Some(Arc::new(kernel.build().unwrap()));
        let options = OpenOptions { kernel_btf, ..OpenOptions::default() };
        let kernel = KernelTypes::new(&options);
        let structs =
            [("task_struct", true), ("bpf_crypto_ctx", true), ("own", true), ("socket", false)];
        for (name, is_taken) in structs {
            let mut object = BtfBuilder::new();
            let int = object.int("int", 4, IntEncoding::SIGNED);
            let to = object.struct_(name, 4, &[MemberDef::new("member", int, 0)]);
            let tagged = object.type_tag("kptr", to);
            let pointer = object.ptr(tagged);
            let pair = object.array(pointer, int, 2);
            let value = object.struct_("value", 16, &[MemberDef::new("pair", pair, 0)]);
            let btf = object.build().unwrap();
            let def = MapDef { btf_value_type_id: value.0, ..MapDef::default() };
            assert!(kernel.refuses_structs(&btf).is_none(), "{name}");
            let checked = check_pointers(&def, Some(&btf), &kernel);
            assert_eq!(checked.is_ok(), is_taken, "{name}");
        }
    }

    /// Asked: Linux 6.5, whose nodes of lists have 16 bytes, refuses the BTF of an object for 6.18.
    #[test]
    fn nodes_of_another_size_than_the_kernels_are_none() {
        let with_node = |bytes| {
            let mut types = BtfBuilder::new();
            let int = types.int("unsigned long", 8, IntEncoding::NONE);
            let words = types.array(int, int, bytes / 8);
            let node = [MemberDef::new("words", words, 0)];
            let node = types.struct_("bpf_list_node", bytes, &node);
            types.struct_("entry", bytes, &[MemberDef::new("node", node, 0)]);
            types.build().unwrap()
        };
        for (bytes, is_refused) in [(16, true), (24, false)] {
            let kernel_btf = Some(Arc::new(with_node(bytes)));
            let options = OpenOptions { kernel_btf, ..OpenOptions::default() };
            let refused = KernelTypes::new(&options).refuses_structs(&with_node(24));
            assert_eq!(refused.is_some(), is_refused, "{refused:?}");
        }
    }

    /// Loaded by 6.2 and 6.5: they refuse an object with a `struct file __kptr *` in a map's value.
    #[test]
    fn other_functions_with_such_names_are_no_destructors() {
        let mut kernel = BtfBuilder::new();
        let int = kernel.int("int", 4, IntEncoding::SIGNED);
        let member = [MemberDef::new("member", int, 0)];
        let task = kernel.struct_("task_struct", 4, &member);
        kernel.struct_("file", 4, &member);
        let task = kernel.ptr(task);
        let proto = kernel.func_proto(TypeId::VOID, &[("p", task)]);
        for name in ["bpf_task_release", "socket_dtor"] {
            kernel.func(name, proto, FuncLinkage::Static);
        }
        assert_eq!(destroyed(&kernel.build().unwrap()), ["task_struct"]);
    }
}
