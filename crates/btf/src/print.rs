//! The name of a type in C notation, for messages.
//!
//! # Invariants
//! 1. Output is bounded: anything beyond [`TYPES_MAX`] types or [`LEN_MAX`] bytes becomes `...`.

use crate::{Btf, Kind, Type, TypeId};

/// Types that one name may visit; also limits recursion.
const TYPES_MAX: usize = 128;
const LEN_MAX: usize = 512;

impl Btf {
    /// The type in C notation: `struct task_struct *`, `const char[16]`, `int (*)(void *)`.
    pub fn type_name(&self, id: TypeId) -> String {
        Printer { btf: self, left: TYPES_MAX }.declare(id, String::new())
    }

    /// The declaration of `name` as this type: `char name[16]`.
    pub fn declaration(&self, id: TypeId, name: &str) -> String {
        Printer { btf: self, left: TYPES_MAX }.declare(id, name.to_string())
    }
}

struct Printer<'a> {
    btf: &'a Btf,
    left: usize,
}

impl Printer<'_> {
    /// C declarations are built from the name outwards: `inner` is the part built so far.
    fn declare(&mut self, id: TypeId, inner: String) -> String {
        if self.left == 0 || inner.len() > LEN_MAX {
            return "...".into();
        }
        self.left -= 1;
        let t = self.btf.ty(id);
        match t.kind() {
            Kind::Ptr => {
                let binds_looser = matches!(t.target().kind(), Kind::Array | Kind::FuncProto);
                let inner = if binds_looser { format!("(*{inner})") } else { format!("*{inner}") };
                self.declare(t.target_id(), inner)
            }
            Kind::Array => {
                let array = t.array().map_or((TypeId::VOID, 0), |a| (a.elem, a.nelems));
                self.declare(array.0, format!("{inner}[{}]", array.1))
            }
            Kind::FuncProto => {
                let params = self.params_text(t);
                self.declare(t.target_id(), format!("{inner}({params})"))
            }
            Kind::Const | Kind::Volatile | Kind::Restrict => self.qualify(t, inner),
            Kind::TypeTag | Kind::Var | Kind::DeclTag => self.declare(t.target_id(), inner),
            _ => join(&base_name(t), &inner),
        }
    }

    /// A qualifier follows the `*` to which it applies, otherwise it comes first.
    fn qualify(&mut self, t: Type<'_>, inner: String) -> String {
        let word = match t.kind() {
            Kind::Const => "const",
            Kind::Volatile => "volatile",
            _ => "restrict",
        };
        if self.btf.skip_modifiers_only(t.target_id()).kind() == Kind::Ptr {
            let inner =
                if inner.is_empty() { format!(" {word}") } else { format!(" {word} {inner}") };
            return self.declare(t.target_id(), inner);
        }
        format!("{word} {}", self.declare(t.target_id(), inner))
    }

    fn params_text(&mut self, proto: Type<'_>) -> String {
        let mut text = String::new();
        for p in proto.params() {
            if !text.is_empty() {
                text.push_str(", ");
            }
            if p.ty == TypeId::VOID || text.len() > LEN_MAX || self.left == 0 {
                text.push_str("...");
                break;
            }
            text.push_str(&self.declare(p.ty, p.name.to_string()));
        }
        if text.is_empty() { "void".into() } else { text }
    }
}

fn base_name(t: Type<'_>) -> String {
    let keyword = match t.kind() {
        Kind::Void => return "void".into(),
        Kind::Struct => "struct",
        Kind::Union => "union",
        Kind::Enum | Kind::Enum64 => "enum",
        Kind::Fwd if t.is_fwd_union() => "union",
        Kind::Fwd => "struct",
        _ => return t.name().into(),
    };
    let name = if t.name().is_empty() { "(anon)" } else { t.name() };
    format!("{keyword} {name}")
}

fn join(base: &str, inner: &str) -> String {
    match inner.chars().next() {
        None => base.into(),
        Some('[' | ' ') => format!("{base}{inner}"),
        Some(_) => format!("{base} {inner}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::{BtfBuilder, IntEncoding, Kind, MemberDef, TypeId};

    #[test]
    fn c_notation() {
        let mut b = BtfBuilder::new();
        let int = b.int("int", 4, IntEncoding::SIGNED);
        let task = b.struct_("task_struct", 8, &[]);
        let tag = b.type_tag("rcu", task);
        let ptr = b.ptr(tag);
        let konst = b.modifier(Kind::Const, int);
        let array = b.array(konst, int, 16);
        let to_array = b.ptr(array);
        let proto = b.func_proto(int, &[("task", ptr), ("", TypeId::VOID)]);
        let callback = b.ptr(proto);
        let const_ptr = b.modifier(Kind::Const, ptr);
        let anon = b.union_("", 4, &[MemberDef::new("a", int, 0)]);
        let void_fn = b.func_proto(TypeId::VOID, &[]);
        let fwd = b.fwd("sock", false);
        let btf = b.build().unwrap();
        for (id, text) in [
            (TypeId::VOID, "void"),
            (int, "int"),
            (ptr, "struct task_struct *"),
            (array, "const int[16]"),
            (to_array, "const int (*)[16]"),
            (callback, "int (*)(struct task_struct *task, ...)"),
            (const_ptr, "struct task_struct * const"),
            (anon, "union (anon)"),
            (void_fn, "void (void)"),
            (fwd, "struct sock"),
        ] {
            assert_eq!(btf.type_name(id), text);
        }
        assert_eq!(btf.declaration(array, "comm"), "const int comm[16]");
    }

    #[test]
    fn prototypes_that_take_themselves_stay_small() {
        let mut b = BtfBuilder::new();
        let me = b.next_id();
        let params = vec![("p", me); 100];
        b.func_proto(me, &params);
        let text = b.build().unwrap().type_name(me);
        assert!(text.len() < 100_000, "{}", text.len());
    }
}
