//! A type as its BTF stores it: a view of a few words, with accessors by kind.
//!
//! # Invariants
//! 1. `words` contains all words of the type (ensured by `Btf::parse`): accessors of an absent part
//!    return zero or nothing, and never panic.

use crate::{Btf, Error, IntEncoding, Kind, TypeId};
use std::fmt;

/// One type. Cheap to copy; borrows its [`Btf`].
#[derive(Clone, Copy)]
pub struct Type<'a> {
    pub(crate) btf: &'a Btf,
    pub(crate) id: TypeId,
    pub(crate) words: &'a [u32],
}

/// The body of an `ARRAY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayInfo {
    /// Type of an element.
    pub elem: TypeId,
    /// Type of the index.
    pub index: TypeId,
    /// Number of elements; 0 for a flexible array.
    pub nelems: u32,
}

/// A member of a struct or union.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    btf: &'a Btf,
    name_offset: u32,
    /// Its type.
    pub ty: TypeId,
    /// Bits from the start of the struct.
    pub bit_offset: u32,
    /// Width in bits of a bitfield in a struct with `kflag`; 0 otherwise.
    pub bitfield_size: u8,
}

impl<'a> Member<'a> {
    /// Name, empty for an anonymous member. Read from the string section by each call: walks over
    /// large structs need few of the names.
    pub fn name(self) -> &'a str {
        self.btf.str(self.name_offset)
    }

    /// Whether this is its name; cheaper than a comparison with [`Member::name`].
    pub fn is_named(self, name: &str) -> bool {
        self.btf.str_is(self.name_offset, name)
    }
}

impl fmt::Debug for Member<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("name", &self.name())
            .field("ty", &self.ty)
            .field("bit_offset", &self.bit_offset)
            .field("bitfield_size", &self.bitfield_size)
            .finish()
    }
}

/// A value of an enum, widened to 64 bits (sign-extended when the enum is signed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enumerator<'a> {
    /// Name of the value.
    pub name: &'a str,
    /// The value; to be read as i64 when [`Type::is_signed_enum`].
    pub value: u64,
}

/// A parameter of a function prototype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param<'a> {
    /// Name; may be empty.
    pub name: &'a str,
    /// Its type; void in the last place means `...`.
    pub ty: TypeId,
}

/// A variable in a `DATASEC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecVar {
    /// A `VAR` (or, in `.ksyms`, a `FUNC`).
    pub ty: TypeId,
    /// Bytes from the start of the section.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

impl Btf {
    /// The type of an id, if there is one. Id 0 is void.
    pub fn get(&self, id: TypeId) -> Option<Type<'_>> {
        if id == TypeId::VOID {
            return Some(Type { btf: self, id, words: &[] });
        }
        if id.0 < self.first_id {
            return self.base.as_ref()?.get(id);
        }
        let n = (id.0 - self.first_id) as usize;
        let (&start, &end) = (self.starts.get(n)?, self.starts.get(n + 1)?);
        Some(Type { btf: self, id, words: &self.words[start as usize..end as usize] })
    }

    /// The type of an id found in this BTF; an id that does not exist is treated as void.
    pub fn ty(&self, id: TypeId) -> Type<'_> {
        self.get(id).unwrap_or(Type { btf: self, id: TypeId::VOID, words: &[] })
    }

    /// The type of an id from elsewhere: an error if there is none.
    pub fn require(&self, id: TypeId) -> Result<Type<'_>, Error> {
        self.get(id).ok_or_else(|| {
            Error::new(format!("type id {id} is out of range (ids end at {})", self.end_id()))
        })
    }

    /// All types stored here, in id order; not void, not the base's.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Type<'_>> {
        self.starts.windows(2).enumerate().map(|(n, w)| Type {
            btf: self,
            id: TypeId(self.first_id + n as u32),
            words: &self.words[w[0] as usize..w[1] as usize],
        })
    }
}

impl<'a> Type<'a> {
    /// The BTF that stores this type (for a base type seen through split BTF: the base).
    pub fn btf(self) -> &'a Btf {
        self.btf
    }
    /// Its id.
    pub fn id(self) -> TypeId {
        self.id
    }
    pub(crate) fn word(self, n: usize) -> u32 {
        self.words.get(n).copied().unwrap_or(0)
    }
    /// Its kind.
    pub fn kind(self) -> Kind {
        Kind::from_number((self.word(1) >> 24 & 0x1f) as u8).unwrap_or(Kind::Void)
    }
    /// Number of members, values, parameters or variables.
    pub fn vlen(self) -> u16 {
        self.word(1) as u16
    }
    /// Bit 31 of `info`: bitfield sizes in members, signedness of enums, union-ness of forwards,
    /// "is an attribute" of tags.
    pub fn kflag(self) -> bool {
        self.word(1) >> 31 != 0
    }
    /// Offset of the name in the string section.
    pub fn name_off(self) -> u32 {
        self.word(0)
    }
    /// The name; empty when anonymous.
    pub fn name(self) -> &'a str {
        self.btf.str(self.word(0))
    }
    /// The size in bytes that the type states of itself; see [`Btf::size_of`] for any type.
    pub fn stated_size(self) -> Option<u32> {
        self.kind().has_size().then(|| self.word(2))
    }
    /// The type it refers to: target, aliased, return type, prototype, tagged type.
    pub fn target_id(self) -> TypeId {
        if self.kind().has_type() { TypeId(self.word(2)) } else { TypeId::VOID }
    }
    /// The type of [`Type::target_id`].
    pub fn target(self) -> Type<'a> {
        self.btf.ty(self.target_id())
    }
    /// Encoding of an `INT`.
    pub fn int_encoding(self) -> IntEncoding {
        IntEncoding((self.data(Kind::Int, 0) >> 24 & 0xf) as u8)
    }
    /// Bit offset of an old-style bitfield `INT`.
    pub fn int_bit_offset(self) -> u8 {
        (self.data(Kind::Int, 0) >> 16) as u8
    }
    /// Width of an `INT` in bits.
    pub fn int_bits(self) -> u8 {
        self.data(Kind::Int, 0) as u8
    }
    /// Body of an `ARRAY`.
    pub fn array(self) -> Option<ArrayInfo> {
        (self.kind() == Kind::Array).then(|| ArrayInfo {
            elem: TypeId(self.word(3)),
            index: TypeId(self.word(4)),
            nelems: self.word(5),
        })
    }
    /// Linkage of a `VAR` as stored: see [`crate::VarLinkage`].
    pub fn var_linkage(self) -> u32 {
        self.data(Kind::Var, 0)
    }
    /// Linkage of a `FUNC` as stored: see [`crate::FuncLinkage`].
    pub fn func_linkage(self) -> u16 {
        if self.kind() == Kind::Func { self.vlen() } else { 0 }
    }
    /// Member or parameter to which a `DECL_TAG` applies; none for the whole.
    pub fn component_idx(self) -> Option<u32> {
        Some(self.data(Kind::DeclTag, 0)).filter(|index| *index != u32::MAX)
    }
    /// Whether an `ENUM` or `ENUM64` is signed.
    pub fn is_signed_enum(self) -> bool {
        self.kind().is_any_enum() && self.kflag()
    }
    /// Whether a `FWD` declares a union.
    pub fn is_fwd_union(self) -> bool {
        self.kind() == Kind::Fwd && self.kflag()
    }

    /// Members of a struct or union, in order.
    pub fn members(self) -> impl ExactSizeIterator<Item = Member<'a>> + Clone {
        let kflag = self.kflag();
        let records = self.records(self.kind().is_composite(), 3);
        records.map(move |m| Member {
            btf: self.btf,
            name_offset: m[0],
            ty: TypeId(m[1]),
            bit_offset: if kflag { m[2] & 0xff_ffff } else { m[2] },
            bitfield_size: if kflag { (m[2] >> 24) as u8 } else { 0 },
        })
    }
    /// Values of an enum of either width, in order.
    pub fn enumerators(self) -> impl ExactSizeIterator<Item = Enumerator<'a>> + Clone {
        let signed = self.kflag();
        let wide = self.kind() == Kind::Enum64;
        let records = self.records(self.kind().is_any_enum(), if wide { 3 } else { 2 });
        records.map(move |e| {
            let low = e[1];
            let value = match e.get(2) {
                Some(&high) => u64::from(high) << 32 | u64::from(low),
                None if signed => i64::from(low as i32) as u64,
                None => u64::from(low),
            };
            Enumerator { name: self.btf.str(e[0]), value }
        })
    }
    /// Parameters of a `FUNC_PROTO`, in order.
    pub fn params(self) -> impl ExactSizeIterator<Item = Param<'a>> + Clone {
        let records = self.records(self.kind() == Kind::FuncProto, 2);
        records.map(move |p| Param { name: self.btf.str(p[0]), ty: TypeId(p[1]) })
    }
    /// Variables of a `DATASEC`, in order.
    pub fn vars(self) -> impl ExactSizeIterator<Item = SecVar> + Clone + 'a {
        let records = self.records(self.kind() == Kind::Datasec, 3);
        records.map(|v| SecVar { ty: TypeId(v[0]), offset: v[1], size: v[2] })
    }

    /// The `vlen` records of `words` words each, none unless `applies`.
    fn records(self, applies: bool, words: usize) -> std::slice::ChunksExact<'a, u32> {
        let tail = self.words.get(3..).unwrap_or(&[]);
        (if applies { tail } else { &[] }).chunks_exact(words)
    }
    /// Word `n` after the common three, if the type is of `kind`.
    fn data(self, kind: Kind, n: usize) -> u32 {
        if self.kind() == kind { self.word(3 + n) } else { 0 }
    }
}

impl fmt::Debug for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {} '{}'", self.id, self.kind().name(), self.name())
    }
}
