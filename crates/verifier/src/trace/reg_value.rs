//! `RegValue`: what a register holds, to keep.

use crate::log::reg_view::{Bounds, Pointee, RegView};
use crate::state::reg_type::RegType;
use std::fmt;

/// What a register holds, as far as the kernel's log shows it; displayed in the log's notation.
/// [`RegValue::view`] has the parts.
///
/// Paths keep many of these: known numbers, which are most, take no memory beyond the value itself.
#[derive(Clone, PartialEq, Eq)]
pub struct RegValue(Form);

#[derive(Clone, PartialEq, Eq)]
enum Form {
    Constant { number: u64, precise: bool },
    Number(Box<Number>),
    Pointer(Box<Pointer>),
}

#[derive(Clone, PartialEq, Eq)]
struct Number {
    bounds: Bounds,
    id: u32,
    added: Option<i32>,
    ref_obj_id: u32,
    precise: bool,
}

#[derive(Clone, PartialEq, Eq)]
struct Pointer {
    ty: RegType,
    id: u32,
    ref_obj_id: u32,
    off: i32,
    pointee: Pointee<Box<str>>,
    /// The variable offset; none if it is 0.
    moved_by: Option<Box<Bounds>>,
    shows_reference_as_id: bool,
}

impl RegValue {
    /// The parts.
    pub fn view(&self) -> RegView<'_> {
        match &self.0 {
            &Form::Constant { number, precise } => {
                RegView { precise, ..RegView::number(Bounds::constant(number)) }
            }
            Form::Number(number) => {
                let Number { bounds, id, added, ref_obj_id, precise } = **number;
                RegView { id, added, ref_obj_id, precise, ..RegView::number(bounds) }
            }
            Form::Pointer(pointer) => {
                let Pointer { ty, id, ref_obj_id, off, shows_reference_as_id, .. } = **pointer;
                let pointee = pointer.pointee.with_name(|name| &**name);
                let moved_by = pointer.moved_by.as_deref().copied();
                RegView {
                    id,
                    ref_obj_id,
                    off,
                    bounds: moved_by.unwrap_or(Bounds::constant(0)),
                    shows_reference_as_id,
                    ..RegView::pointer(ty, pointee)
                }
            }
        }
    }

    /// The bytes that it takes beyond its own size.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Constant { .. } => 0,
            Form::Number(_) => size_of::<Number>(),
            Form::Pointer(pointer) => {
                let name = match &pointer.pointee {
                    Pointee::Map { name, .. } | Pointee::Type { name } => name.len(),
                    _ => 0,
                };
                let moved_by = pointer.moved_by.as_ref().map_or(0, |_| size_of::<Bounds>());
                size_of::<Pointer>() + name + moved_by
            }
        }
    }
}

impl From<RegView<'_>> for RegValue {
    fn from(view: RegView<'_>) -> RegValue {
        let RegView { ty, id, added, ref_obj_id, off, bounds, precise, .. } = view;
        if let Some(number) = view.constant() {
            return RegValue(Form::Constant { number, precise });
        }
        if view.is_number() {
            return RegValue(Form::Number(Box::new(Number {
                bounds,
                id,
                added,
                ref_obj_id,
                precise,
            })));
        }
        RegValue(Form::Pointer(Box::new(Pointer {
            ty,
            id,
            ref_obj_id,
            off,
            pointee: view.pointee.with_name(|&name| name.into()),
            moved_by: (bounds.const_value() != Some(0)).then(|| Box::new(bounds)),
            shows_reference_as_id: view.shows_reference_as_id,
        })))
    }
}

impl fmt::Display for RegValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

impl fmt::Debug for RegValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}
