//! Rules for public signatures: no long tuples, no raw addresses; and the types in them.

use syn::visit::{self, Visit};
use syn::{FnArg, ReturnType, Signature, Type};

/// Maximum number of elements of a tuple.
const PARTS_MAX: usize = 2;

/// The rule that a signature violates, if any.
pub(super) fn of_signature(signature: &Signature) -> Option<&'static str> {
    let mut seen = Seen::default();
    seen.visit_signature(signature);
    if seen.long_tuple {
        return Some(LONG_TUPLE);
    }
    let is_address = seen.pointer
        || is_named_address(&signature.ident.to_string(), &signature.output)
        || signature.inputs.iter().any(is_address);
    (is_address && signature.unsafety.is_none()).then_some(ADDRESS)
}

/// The rule that the type of a field, constant or alias violates, if any.
pub(super) fn of_type(ty: &Type) -> Option<&'static str> {
    let mut seen = Seen::default();
    seen.visit_type(ty);
    match (seen.long_tuple, seen.pointer) {
        (true, _) => Some(LONG_TUPLE),
        (_, true) => Some(ADDRESS),
        _ => None,
    }
}

/// The rule that the name and type of a field violate, if any.
pub(super) fn of_field(name: &str, ty: &Type) -> Option<&'static str> {
    (says_address(name) && is_number(ty)).then_some(ADDRESS)
}

/// The paths of the types in a signature.
pub(super) fn types_of_signature(signature: &Signature) -> Vec<Vec<String>> {
    let mut seen = Types::default();
    seen.visit_signature(signature);
    seen.0
}

/// The paths of the types in a type.
pub(super) fn types_of_type(ty: &Type) -> Vec<Vec<String>> {
    let mut seen = Types::default();
    seen.visit_type(ty);
    seen.0
}

#[derive(Default)]
struct Types(Vec<Vec<String>>);

impl<'ast> Visit<'ast> for Types {
    fn visit_type_path(&mut self, ty: &'ast syn::TypePath) {
        let names = ty.path.segments.iter().map(|segment| segment.ident.to_string());
        self.0.push(names.collect());
        visit::visit_type_path(self, ty);
    }
}

pub(super) const LONG_TUPLE: &str = "a tuple of more than two: a struct gives its parts names";
const ADDRESS: &str = "a raw address in what is safe to call: a handle, or an `unsafe fn`";

#[derive(Default)]
struct Seen {
    long_tuple: bool,
    pointer: bool,
}

impl<'ast> Visit<'ast> for Seen {
    fn visit_type(&mut self, ty: &'ast Type) {
        match ty {
            Type::Tuple(tuple) => self.long_tuple |= tuple.elems.len() > PARTS_MAX,
            Type::Ptr(_) => self.pointer = true,
            _ => {}
        }
        visit::visit_type(self, ty);
    }
}

fn is_address(argument: &FnArg) -> bool {
    match argument {
        FnArg::Typed(argument) => match &*argument.pat {
            syn::Pat::Ident(name) => {
                says_address(&name.ident.to_string()) && is_number(&argument.ty)
            }
            _ => false,
        },
        FnArg::Receiver(_) => false,
    }
}

fn is_named_address(name: &str, output: &ReturnType) -> bool {
    matches!(output, ReturnType::Type(_, ty) if says_address(name) && is_number(ty))
}

fn says_address(name: &str) -> bool {
    name.split('_').any(|word| ["addr", "address", "base", "ptr", "pointer"].contains(&word))
}

/// Whether a type is a number of 64 bits, or has one among its parts: `Option<u64>`.
fn is_number(ty: &Type) -> bool {
    let of_types = types_of_type(ty);
    of_types.iter().any(|path| matches!(&path[..], [name] if name == "u64" || name == "usize"))
}
