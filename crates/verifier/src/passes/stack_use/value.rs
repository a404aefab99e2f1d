//! The contents of a register or a stack slot, as far as they are stack addresses.

use skep_uapi::limits::MAX_CALL_FRAMES;

/// Maximum number of offsets tracked per value; beyond that, the value may point anywhere in the
/// frame.
const MAX_PLACES: usize = 4;

/// A set of offsets from a frame pointer, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places {
    len: u8,
    offs: [i16; MAX_PLACES],
}

impl Places {
    fn one(off: i16) -> Places {
        Places { len: 1, offs: [off, 0, 0, 0] }
    }

    pub(super) fn as_slice(&self) -> &[i16] {
        &self.offs[..usize::from(self.len)]
    }

    /// The offset, if there is only one.
    pub(super) fn only(&self) -> Option<i32> {
        match self.as_slice() {
            [off] => Some(i32::from(*off)),
            _ => None,
        }
    }

    /// `None` if there are too many.
    fn with(self, other: &[i16]) -> Option<Places> {
        let mut all = self;
        for &off in other {
            let Err(at) = all.as_slice().binary_search(&off) else { continue };
            if usize::from(all.len) == MAX_PLACES {
                return None;
            }
            all.offs.copy_within(at..usize::from(all.len), at + 1);
            all.offs[at] = off;
            all.len += 1;
        }
        Some(all)
    }

    /// All offsets moved; `None` if one leaves the range.
    fn moved(self, by: i64) -> Option<Places> {
        let mut moved = self;
        for off in &mut moved.offs[..usize::from(self.len)] {
            *off = i16::try_from(i64::from(*off).checked_add(by)?).ok()?;
        }
        Some(moved)
    }
}

/// The possible contents of a register or slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Value {
    /// Not a stack address.
    #[default]
    Other,
    /// This number.
    Number(i64),
    /// The map with this index in the program's list.
    Map(u32),
    /// The address of the function that begins at this insn.
    Function(u32),
    /// One of these offsets in a frame (or not a stack address).
    At(u8, Places),
    /// Any address in the frame.
    Somewhere(u8),
    /// Any address in one of the frames in this bit mask.
    Among(u8),
}

impl Value {
    /// The frame pointer of frame `frame`.
    pub(super) fn frame_pointer(frame: usize) -> Value {
        Value::At(frame as u8, Places::one(0))
    }

    /// The frames to which it may point, as a bit mask.
    pub(super) fn frames(self) -> u8 {
        match self {
            Value::Other | Value::Number(_) | Value::Map(_) | Value::Function(_) => 0,
            Value::At(frame, _) | Value::Somewhere(frame) => 1 << frame,
            Value::Among(frames) => frames,
        }
    }

    pub(super) fn leads_to_stack(self) -> bool {
        self.frames() != 0
    }

    /// Any address in these frames.
    pub(super) fn among(frames: u8) -> Value {
        match frames.count_ones() {
            0 => Value::Other,
            1 => Value::Somewhere(frames.trailing_zeros() as u8),
            _ => Value::Among(frames),
        }
    }

    /// The value plus a constant.
    pub(super) fn plus(self, by: i64) -> Value {
        match self {
            Value::At(frame, places) => match places.moved(by) {
                Some(places) => Value::At(frame, places),
                None => Value::Somewhere(frame),
            },
            Value::Number(n) => Value::Number(n.wrapping_add(by)),
            Value::Map(_) | Value::Function(_) => Value::Other,
            other => other,
        }
    }

    /// Either of the two. Joined with offsets in a frame, a value that is not a stack address
    /// counts as a frame pointer: the kernel prints it so, and nothing can be read at a frame
    /// pointer itself.
    pub(super) fn join(self, other: Value) -> Value {
        if self == other {
            return self;
        }
        match (self, other) {
            (Value::At(f, a), Value::At(g, b)) if f == g => match a.with(b.as_slice()) {
                Some(places) => Value::At(f, places),
                None => Value::Somewhere(f),
            },
            (a, b) if a.frames() == 0 && b.frames() == 0 => Value::Other,
            (Value::At(f, a), b) | (b, Value::At(f, a)) if b.frames() == 0 => match a.with(&[0]) {
                Some(places) => Value::At(f, places),
                None => Value::Somewhere(f),
            },
            (a, b) => Value::among(a.frames() | b.frames()),
        }
    }
}

/// Any address in the frames up to `depth`.
pub(super) fn anywhere(depth: usize) -> Value {
    Value::among(((1_u16 << (depth + 1).min(MAX_CALL_FRAMES)) - 1) as u8)
}
