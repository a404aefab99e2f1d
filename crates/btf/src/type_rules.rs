//! Which types BPF_BTF_LOAD takes: the shape of each kind, what may refer to what, and no type
//! within itself. libbpf passes no BTF of an object that the kernel does not take.
//!
//! Source: `Documentation/bpf/btf.rst`. Kernel: 6.18; `crates/kernel/tests/it/btf_types.rs` changes
//! every word of a type of every kind.

use crate::layout::DEPTH_MAX;
use crate::{Btf, Error, Kind, Member, Type, TypeId};

/// Bits of the second word that are not used.
const INFO_UNUSED: u32 = 0x60ff_0000;
/// Bits of an `INT`'s data that are not used.
const INT_UNUSED: u32 = !0x0fff_ffff;
const INT_BITS_MAX: u32 = 128;

/// The first type that the kernel does not take, and why.
pub(crate) fn first_refused(btf: &Btf) -> Option<(TypeId, Error)> {
    let refused = |ty: Type<'_>| Some((ty.id(), shape(ty).err()?));
    let resolved = || Resolver::new(btf).run();
    let sized = || btf.iter().find_map(|ty| Some((ty.id(), sizes(ty).err()?)));
    btf.iter().find_map(refused).or_else(resolved).or_else(sized)
}

type Check = Result<(), Error>;

fn ensure(holds: bool, text: &str) -> Check {
    if holds { Ok(()) } else { Err(Error::new(text)) }
}

/// What can be checked of a type by itself.
fn shape(ty: Type<'_>) -> Check {
    use Kind::*;
    let kind = ty.kind();
    let with_flag = matches!(kind, Struct | Union | Fwd | Enum | Enum64 | DeclTag | TypeTag);
    ensure(with_flag || !ty.kflag(), "its flag is set")?;
    ensure(ty.word(1) & INFO_UNUSED == 0, "unused bits are set, or it is within itself")?;
    let with_parts = matches!(kind, Struct | Union | Enum | Enum64 | Func | FuncProto | Datasec);
    ensure(with_parts || ty.vlen() == 0, "it has a number of parts")?;
    let anonymous = matches!(kind, Ptr | Array | Volatile | Const | Restrict | FuncProto);
    ensure(!anonymous || ty.name_off() == 0, "it has a name")?;
    let refers = matches!(kind, Var | DeclTag);
    ensure(!refers || ty.target_id() != TypeId::VOID, "it refers to no type")?;
    let size = ty.stated_size().unwrap_or(0);
    match kind {
        Int => int(ty, size),
        Array => ensure(ty.word(2) == 0, "it has a size"),
        Struct | Union => ty
            .members()
            .try_for_each(|member| {
                let bytes = member.bit_offset.div_ceil(8);
                ensure(member.ty != TypeId::VOID, "a member has no type")?;
                ensure(kind == Struct || member.bit_offset == 0, "a member is not at the start")?;
                ensure(bytes <= size, "a member is beyond its size")
            })
            .and_then(|()| {
                let offsets = ty.members().map(|member| member.bit_offset);
                ensure(offsets.is_sorted(), "its members are not in order")
            }),
        Enum | Enum64 => ensure(matches!(size, 1 | 2 | 4 | 8), "its size is not that of an enum"),
        Fwd => ensure(ty.word(2) == 0, "it refers to a type"),
        Func => ensure(ty.vlen() <= 1, "its linkage is neither static nor global"),
        Var => ensure(ty.var_linkage() <= 1, "its linkage is neither static nor global"),
        Datasec => datasec(ty, size),
        Float => ensure(matches!(size, 2 | 4 | 8 | 12 | 16), "its size is not that of a float"),
        DeclTag => ensure(ty.word(3) as i32 >= -1, "its component is negative"),
        _ => Ok(()),
    }
}

fn int(ty: Type<'_>, size: u32) -> Check {
    let data = ty.word(3);
    let bits = (data & 0xff) + (data >> 16 & 0xff);
    ensure(data & INT_UNUSED == 0, "unused bits of its encoding are set")?;
    ensure(bits <= INT_BITS_MAX, "it has more than 128 bits")?;
    ensure(bits.div_ceil(8) <= size, "its bits are more than its size")?;
    ensure(matches!(data >> 24 & 0xf, 0 | 1 | 2 | 4), "its encoding has several meanings")
}

fn datasec(ty: Type<'_>, size: u32) -> Check {
    ensure(size != 0, "its size is 0")?;
    let mut end = 0u64;
    for var in ty.vars() {
        ensure(var.ty != TypeId::VOID, "a variable has no type")?;
        ensure(u64::from(var.offset) >= end && var.offset < size, "a variable is out of order")?;
        ensure(var.size != 0 && var.size <= size, "the size of a variable is out of range")?;
        end = u64::from(var.offset) + u64::from(var.size);
        ensure(end <= u64::from(size), "a variable ends beyond it")?;
    }
    Ok(())
}

/// Whether a type may only be referred to by its own kind of section or tag.
fn is_no_target(ty: Type<'_>) -> bool {
    matches!(ty.kind(), Kind::Var | Kind::Datasec | Kind::DeclTag)
}

/// Whether values of a type have a size.
fn has_size(btf: &Btf, id: TypeId) -> bool {
    use Kind::*;
    let kind = btf.skip_modifiers(id).kind();
    matches!(kind, Int | Ptr | Array | Struct | Union | Enum | Float | Enum64)
}

/// What a type needs of those to which it refers.
fn sizes(ty: Type<'_>) -> Check {
    use Kind::*;
    let btf = ty.btf();
    match ty.kind() {
        Ptr | Typedef | Volatile | Const | Restrict | TypeTag => refers(ty),
        Array => array(ty),
        Struct | Union => ty.members().try_for_each(|it| member(ty, it)),
        Func => ensure(ty.target().kind() == FuncProto, "it refers to no prototype"),
        FuncProto => proto(ty),
        Var => ensure(
            !is_no_target(ty.target()) && has_size(btf, ty.target_id()),
            "its type has no size",
        ),
        Datasec => ty.vars().try_for_each(|var| {
            let of = btf.ty(var.ty);
            ensure(of.kind() == Var, "it has something that is no variable")?;
            // The size of a variable that comes later is not yet known.
            let size = btf.size_of(of.target_id())?;
            let fits = size <= var.size || of.id() > ty.id();
            ensure(fits, "a variable is larger than its place")
        }),
        DeclTag => decl_tag(ty),
        _ => Ok(()),
    }
}

fn refers(ty: Type<'_>) -> Check {
    let of = ty.target();
    ensure(!is_no_target(of), "it refers to a variable, section or tag")?;
    let tags = matches!(ty.kind(), Kind::Ptr | Kind::TypeTag);
    ensure(tags || of.kind() != Kind::TypeTag, "its type tags do not come first")
}

fn array(ty: Type<'_>) -> Check {
    let btf = ty.btf();
    let Some(array) = ty.array() else { return Ok(()) };
    let index = btf.skip_modifiers(array.index);
    let is_index = index.kind() == Kind::Int && is_plain_int(index);
    ensure(is_index && !is_no_target(btf.ty(array.index)), "its index is no integer")?;
    let elem = btf.ty(array.elem);
    ensure(!is_no_target(elem) && has_size(btf, array.elem), "its elements have no size")?;
    let bitfield = btf.skip_modifiers(array.elem);
    ensure(bitfield.kind() != Kind::Int || is_plain_int(bitfield), "its elements are bits")?;
    btf.size_of(ty.id()).map(|_| ())
}

/// Whether an integer has the bits of one of a machine.
fn is_plain_int(ty: Type<'_>) -> bool {
    ty.int_bit_offset() == 0 && matches!(ty.int_bits(), 8 | 16 | 32 | 64 | 128)
}

fn member(of: Type<'_>, member: Member<'_>) -> Check {
    let btf = of.btf();
    let struct_bytes = of.stated_size().unwrap_or(0);
    ensure(!is_no_target(btf.ty(member.ty)) && has_size(btf, member.ty), "a member has no size")?;
    let ty = btf.skip_modifiers(member.ty);
    let size = btf.size_of(member.ty)?;
    let offset = member.bit_offset;
    let bits = u32::from(member.bitfield_size);
    let end = match ty.kind() {
        Kind::Int if bits == 0 && !of.kflag() => {
            let at = u64::from(offset) + u64::from(ty.int_bit_offset());
            let within = at % 8 + u64::from(ty.int_bits());
            ensure(within <= u64::from(INT_BITS_MAX), "a member has more than 128 bits")?;
            at / 8 + within.div_ceil(8)
        }
        Kind::Int | Kind::Enum | Kind::Enum64 if bits != 0 => {
            let plain = ty.kind() != Kind::Int || is_plain_int(ty);
            ensure(plain && bits <= size.saturating_mul(8), "a member has too many bits")?;
            let within = u64::from(offset % 8 + bits);
            ensure(within <= u64::from(INT_BITS_MAX), "a member has more than 128 bits")?;
            u64::from(offset / 8) + within.div_ceil(8)
        }
        _ => {
            let plain = ty.kind() != Kind::Int || is_plain_int(ty);
            ensure(bits == 0 && plain, "a member that is no integer has bits")?;
            ensure(offset.is_multiple_of(8), "a member is not at a byte")?;
            u64::from(offset / 8) + u64::from(size)
        }
    };
    ensure(end <= u64::from(struct_bytes), "a member ends beyond it")
}

fn proto(ty: Type<'_>) -> Check {
    let btf = ty.btf();
    let is_value = |id: TypeId| !is_no_target(btf.ty(id)) && has_size(btf, id);
    let returned = ty.target_id();
    ensure(returned == TypeId::VOID || is_value(returned), "it returns what has no size")?;
    let count = ty.params().len();
    ty.params().enumerate().try_for_each(|(n, param)| match param.ty {
        // More arguments.
        TypeId::VOID => ensure(n + 1 == count && param.name.is_empty(), "a parameter has no type"),
        id => ensure(is_value(id), "a parameter has no size"),
    })
}

fn decl_tag(ty: Type<'_>) -> Check {
    use Kind::*;
    let of = ty.target();
    let tagged = matches!(of.kind(), Struct | Union | Func | Var | Typedef);
    ensure(tagged, "it tags a type that cannot be tagged")?;
    let Some(component) = ty.component_idx() else { return Ok(()) };
    let count = match of.kind() {
        Struct | Union => usize::from(of.vlen()),
        Func => of.target().params().len(),
        _ => 0,
    };
    ensure((component as usize) < count, "it tags a component that is not there")
}

/// Follows references as the kernel does: in the order of ids, each type once, not deeper than
/// [`DEPTH_MAX`], and back to none that is being followed.
struct Resolver<'a> {
    btf: &'a Btf,
    /// By id.
    states: Vec<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

impl<'a> Resolver<'a> {
    fn new(btf: &'a Btf) -> Self {
        Resolver { btf, states: vec![State::New; btf.end_id().index()] }
    }

    fn run(&mut self) -> Option<(TypeId, Error)> {
        let btf = self.btf;
        let refused = btf.iter().find_map(|ty| {
            // A prototype has its types resolved, which are not within it for that.
            let returned = (ty.kind() == Kind::FuncProto).then(|| ty.target());
            let params = ty.params().map(|param| btf.ty(param.ty));
            let mut firsts = [ty].into_iter().chain(returned).chain(params);
            firsts.find_map(|first| Some((ty.id(), self.resolve(first, ty.id()).err()?)))
        });
        refused.or_else(|| self.pointer_to_itself())
    }

    /// A pointer that comes to itself by way of others and forms of types, of which a struct may
    /// have made `Done`.
    fn pointer_to_itself(&mut self) -> Option<(TypeId, Error)> {
        self.states.fill(State::New);
        let mut way = Vec::new();
        for mut ty in self.btf.iter() {
            while ty.kind() == Kind::Ptr || ty.kind().is_modifier_or_typedef() {
                match self.states[ty.id().index()] {
                    State::Done => break,
                    State::Open => return Some((ty.id(), Error::new("it is within itself"))),
                    State::New => self.states[ty.id().index()] = State::Open,
                }
                way.push(ty.id());
                ty = ty.target();
            }
            way.drain(..).for_each(|id| self.states[id.index()] = State::Done);
        }
        None
    }

    /// Follows a type's references, while all types up to the one `at` hand are resolved.
    fn resolve(&mut self, first: Type<'a>, at: TypeId) -> Check {
        // What lies behind a pointer is not in a struct, nor what is in a struct behind a pointer.
        let of_pointers = first.kind() == Kind::Ptr;
        let mut stack: Vec<(Type<'a>, usize)> = Vec::new();
        self.open(&mut stack, first)?;
        while let Some((ty, next)) = stack.last_mut() {
            let Some(id) = reference(*ty, *next) else {
                self.states[ty.id().index()] = State::Done;
                stack.pop();
                continue;
            };
            *next += 1;
            let of = self.btf.ty(id);
            let within = |is_it: fn(Kind) -> bool| stack.iter().any(|(ty, _)| is_it(ty.kind()));
            let is_whole = |kind: Kind| kind.is_composite() || kind == Kind::Array;
            let of_pointers = of_pointers || within(|kind| kind == Kind::Ptr);
            if of.kind() == Kind::Func {
                // Its validity is not checked through a pointer.
                let known = of.id() <= at || self.states[of.id().index()] == State::Done;
                ensure(known || !of_pointers, "it points to a function that comes later")?;
                self.states[of.id().index()] = State::Done;
            }
            let ends = match of.kind() {
                Kind::Ptr => !of_pointers && within(is_whole),
                kind => of_pointers && is_whole(kind),
            };
            if !ends {
                self.open(&mut stack, of)?;
            }
        }
        Ok(())
    }

    /// Begins with a type, unless it is done or refers to nothing.
    fn open(&mut self, stack: &mut Vec<(Type<'a>, usize)>, ty: Type<'a>) -> Check {
        if reference(ty, 0).is_none() {
            return Ok(());
        }
        let state = &mut self.states[ty.id().index()];
        match state {
            State::Done => return Ok(()),
            State::Open => return Err(Error::new("it is within itself")),
            State::New => *state = State::Open,
        }
        ensure(stack.len() < DEPTH_MAX, "types are nested too deeply")?;
        stack.push((ty, 0));
        Ok(())
    }
}

/// The types whose size a type needs, by number: read in place, because the iterators of members
/// and variables would begin anew for each.
fn reference(ty: Type<'_>, n: usize) -> Option<TypeId> {
    use Kind::*;
    match ty.kind() {
        Ptr | Typedef | Volatile | Const | Restrict | TypeTag | Var => {
            (n == 0).then(|| ty.target_id())
        }
        Array => ty.array().and_then(|it| [it.index, it.elem].get(n).copied()),
        Struct | Union => (n < usize::from(ty.vlen())).then(|| TypeId(ty.word(4 + 3 * n))),
        Datasec => (n < usize::from(ty.vlen())).then(|| TypeId(ty.word(3 + 3 * n))),
        _ => None,
    }
}
