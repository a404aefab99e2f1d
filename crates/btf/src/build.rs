//! Building BTF by hand, and editing parsed BTF.
//!
//! Tests and suites build small BTFs; the object loader sets what a compiler cannot know (sizes of
//! `DATASEC`s, offsets in them, linkage) and replaces kinds that an old kernel does not support.

use crate::btf::encode;
use crate::{Btf, Endian, Error, FuncLinkage, IntEncoding, Kind, SecVar, TypeId, VarLinkage};
use rustc_hash::FxHashMap;

/// BTF under construction: types as words, strings stored once each.
///
/// Ids are assigned in order, starting with 1. References are only checked by
/// [`BtfBuilder::build`], so types may refer to ids of later types.
#[derive(Clone, Debug)]
pub struct BtfBuilder {
    pub(crate) types: Vec<Vec<u32>>,
    strings: Vec<u8>,
    offsets: FxHashMap<Vec<u8>, u32>,
}

impl Default for BtfBuilder {
    fn default() -> Self {
        BtfBuilder::new()
    }
}

/// A member to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberDef<'a> {
    /// Its name; empty if it has none.
    pub name: &'a str,
    /// Its type.
    pub ty: TypeId,
    /// Where it is, in bits.
    pub bit_offset: u32,
    /// Its width in bits if it is a bitfield, else 0.
    pub bit_size: u8,
}

impl<'a> MemberDef<'a> {
    /// A member that is not a bitfield.
    pub fn new(name: &'a str, ty: TypeId, bit_offset: u32) -> MemberDef<'a> {
        MemberDef::bits(name, ty, bit_offset, 0)
    }

    /// A bitfield.
    pub fn bits(name: &'a str, ty: TypeId, bit_offset: u32, bit_size: u8) -> MemberDef<'a> {
        MemberDef { name, ty, bit_offset, bit_size }
    }
}

impl BtfBuilder {
    /// Nothing but void.
    pub fn new() -> BtfBuilder {
        BtfBuilder { types: Vec::new(), strings: vec![0], offsets: FxHashMap::default() }
    }

    /// All types of `btf` under the same ids; for split BTF, the base is not included.
    pub fn from_btf(btf: &Btf) -> BtfBuilder {
        let types = btf.iter().map(|t| t.words.to_vec()).collect();
        BtfBuilder { types, strings: btf.string_bytes().to_vec(), offsets: FxHashMap::default() }
    }

    /// The finished section, in the byte order `endian`.
    pub fn to_bytes(&self, endian: Endian) -> Vec<u8> {
        encode(endian, &self.types.concat(), &self.strings)
    }

    /// The finished BTF; an error if a reference is invalid.
    pub fn build(&self) -> Result<Btf, Error> {
        Btf::parse(&self.to_bytes(Endian::NATIVE))
    }

    /// Id of the next type.
    pub fn next_id(&self) -> TypeId {
        TypeId(self.types.len() as u32 + 1)
    }

    /// Offset of a string in the string section, added if new.
    pub fn string(&mut self, s: &str) -> u32 {
        if s.is_empty() {
            return 0;
        }
        if let Some(&offset) = self.offsets.get(s.as_bytes()) {
            return offset;
        }
        let offset = self.strings.len() as u32;
        self.strings.extend_from_slice(s.as_bytes());
        self.strings.push(0);
        self.offsets.insert(s.as_bytes().to_vec(), offset);
        offset
    }

    fn push(&mut self, name: &str, info: u32, size_or_type: u32, extra: &[u32]) -> TypeId {
        let id = self.next_id();
        let mut words = vec![self.string(name), info, size_or_type];
        words.extend_from_slice(extra);
        self.types.push(words);
        id
    }

    /// An integer of `size` bytes.
    pub fn int(&mut self, name: &str, size: u32, encoding: IntEncoding) -> TypeId {
        let data = u32::from(encoding.0) << 24 | (size * 8) & 0xff;
        self.push(name, info(Kind::Int, 0, false), size, &[data])
    }
    /// A pointer.
    pub fn ptr(&mut self, to: TypeId) -> TypeId {
        self.push("", info(Kind::Ptr, 0, false), to.0, &[])
    }
    /// An array.
    pub fn array(&mut self, elem: TypeId, index: TypeId, nelems: u32) -> TypeId {
        self.push("", info(Kind::Array, 0, false), 0, &[elem.0, index.0, nelems])
    }
    /// A struct; it gets `kflag` if a member is a bitfield.
    pub fn struct_(&mut self, name: &str, size: u32, members: &[MemberDef<'_>]) -> TypeId {
        self.composite(Kind::Struct, name, size, members)
    }
    /// A union; it gets `kflag` if a member is a bitfield.
    pub fn union_(&mut self, name: &str, size: u32, members: &[MemberDef<'_>]) -> TypeId {
        self.composite(Kind::Union, name, size, members)
    }
    fn composite(
        &mut self,
        kind: Kind,
        name: &str,
        size: u32,
        members: &[MemberDef<'_>],
    ) -> TypeId {
        let kflag = members.iter().any(|m| m.bit_size != 0);
        let mut extra = Vec::new();
        for m in members {
            let place = m.bit_offset | u32::from(m.bit_size) << 24;
            extra.extend([self.string(m.name), m.ty.0, place]);
        }
        self.push(name, info(kind, members.len(), kflag), size, &extra)
    }
    /// An enum of up to 32 bits; signed if a value is negative.
    pub fn enum_(&mut self, name: &str, size: u32, values: &[(&str, i32)]) -> TypeId {
        let signed = values.iter().any(|v| v.1 < 0);
        let mut extra = Vec::new();
        for v in values {
            extra.extend([self.string(v.0), v.1 as u32]);
        }
        self.push(name, info(Kind::Enum, values.len(), signed), size, &extra)
    }
    /// An enum of 64 bits.
    pub fn enum64(&mut self, name: &str, signed: bool, values: &[(&str, u64)]) -> TypeId {
        let mut extra = Vec::new();
        for v in values {
            extra.extend([self.string(v.0), v.1 as u32, (v.1 >> 32) as u32]);
        }
        self.push(name, info(Kind::Enum64, values.len(), signed), 8, &extra)
    }
    /// A forward declaration of a struct or union.
    pub fn fwd(&mut self, name: &str, is_union: bool) -> TypeId {
        self.push(name, info(Kind::Fwd, 0, is_union), 0, &[])
    }
    /// A typedef.
    pub fn typedef_(&mut self, name: &str, to: TypeId) -> TypeId {
        self.push(name, info(Kind::Typedef, 0, false), to.0, &[])
    }
    /// `Kind::Const`, `Kind::Volatile` or `Kind::Restrict` of a type.
    pub fn modifier(&mut self, kind: Kind, to: TypeId) -> TypeId {
        self.push("", info(kind, 0, false), to.0, &[])
    }
    /// A function.
    pub fn func(&mut self, name: &str, proto: TypeId, linkage: FuncLinkage) -> TypeId {
        self.push(name, info(Kind::Func, linkage as usize, false), proto.0, &[])
    }
    /// A prototype; a last parameter `("", TypeId::VOID)` is `...`.
    pub fn func_proto(&mut self, ret: TypeId, params: &[(&str, TypeId)]) -> TypeId {
        let mut extra = Vec::new();
        for p in params {
            extra.extend([self.string(p.0), p.1.0]);
        }
        self.push("", info(Kind::FuncProto, params.len(), false), ret.0, &extra)
    }
    /// A variable.
    pub fn var(&mut self, name: &str, ty: TypeId, linkage: VarLinkage) -> TypeId {
        self.push(name, info(Kind::Var, 0, false), ty.0, &[linkage as u32])
    }
    /// A section of variables.
    pub fn datasec(&mut self, name: &str, size: u32, vars: &[SecVar]) -> TypeId {
        let extra: Vec<u32> = vars.iter().flat_map(|v| [v.ty.0, v.offset, v.size]).collect();
        self.push(name, info(Kind::Datasec, vars.len(), false), size, &extra)
    }
    /// A floating-point type.
    pub fn float(&mut self, name: &str, size: u32) -> TypeId {
        self.push(name, info(Kind::Float, 0, false), size, &[])
    }
    /// A tag on a declaration, or on its member or parameter `component`.
    pub fn decl_tag(&mut self, tag: &str, of: TypeId, component: Option<u32>) -> TypeId {
        let extra = [component.unwrap_or(u32::MAX)];
        self.push(tag, info(Kind::DeclTag, 0, false), of.0, &extra)
    }
    /// A type tag, between a pointer and its target.
    pub fn type_tag(&mut self, tag: &str, to: TypeId) -> TypeId {
        self.push(tag, info(Kind::TypeTag, 0, false), to.0, &[])
    }

    /// Builds a type with `make`, but replaces type `id` by it. Other types added by `make` are
    /// kept.
    pub fn overwrite(&mut self, id: TypeId, make: impl FnOnce(&mut Self) -> TypeId) {
        let made = make(self);
        if let Some(words) = self.types.pop_if(|_| made.0 >= 1)
            && let Some(place) = self.words(id)
        {
            *place = words;
        }
    }
    /// Renames a type.
    pub fn set_name(&mut self, id: TypeId, name: &str) {
        let offset = self.string(name);
        self.set_word(id, 0, offset);
    }
    /// Sets the size of a struct, union, int, enum, float or `DATASEC`.
    pub fn set_size(&mut self, id: TypeId, size: u32) {
        self.set_word(id, 2, size);
    }
    /// Sets the type that a type refers to.
    pub fn set_target(&mut self, id: TypeId, to: TypeId) {
        self.set_word(id, 2, to.0);
    }
    /// Sets the linkage of a `VAR`.
    pub fn set_var_linkage(&mut self, id: TypeId, linkage: VarLinkage) {
        self.set_word(id, 3, linkage as u32);
    }
    /// Sets the linkage of a `FUNC`.
    pub fn set_func_linkage(&mut self, id: TypeId, linkage: FuncLinkage) {
        let flag = self.words(id).and_then(|words| words.get(1)).is_some_and(|it| it >> 31 != 0);
        self.set_word(id, 1, info(Kind::Func, linkage as usize, flag));
    }
    /// Sets variable `n` of a `DATASEC`.
    pub fn set_var(&mut self, id: TypeId, n: usize, var: SecVar) {
        for (k, value) in [var.ty.0, var.offset, var.size].into_iter().enumerate() {
            self.set_word(id, 3 + 3 * n + k, value);
        }
    }
    /// Names parameter `n` of a `FUNC_PROTO`.
    pub fn set_param_name(&mut self, id: TypeId, n: usize, name: &str) {
        let offset = self.string(name);
        self.set_word(id, 3 + 2 * n, offset);
    }
    /// Sorts the variables of a `DATASEC` by offset, as the kernel requires.
    pub fn sort_vars(&mut self, id: TypeId) {
        let Some(words) = self.words(id) else { return };
        let Some(tail) = words.get_mut(3..) else { return };
        let mut vars: Vec<[u32; 3]> = tail.chunks_exact(3).map(|v| [v[0], v[1], v[2]]).collect();
        vars.sort_by_key(|v| v[1]);
        for (to, from) in tail.chunks_exact_mut(3).zip(vars) {
            to.copy_from_slice(&from);
        }
    }

    fn words(&mut self, id: TypeId) -> Option<&mut Vec<u32>> {
        self.types.get_mut(id.index().checked_sub(1)?)
    }
    fn set_word(&mut self, id: TypeId, n: usize, value: u32) {
        if let Some(word) = self.words(id).and_then(|w| w.get_mut(n)) {
            *word = value;
        }
    }
}

pub(crate) fn info(kind: Kind, vlen: usize, kflag: bool) -> u32 {
    u32::from(kflag) << 31 | (kind as u32) << 24 | (vlen as u32 & 0xffff)
}
