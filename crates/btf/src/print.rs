//! The name of a type as C would write it, for messages.

use crate::{Btf, Kind, TypeId};

impl Btf {
    /// The type in C notation: `struct task_struct *`, `const char [16]`, `int (*)(void)`.
    pub fn type_name(&self, id: TypeId) -> String {
        let t = self.ty(id);
        match t.kind() {
            Kind::Struct => format!("struct {}", t.name()),
            _ => t.name().to_string(),
        }
    }
}
