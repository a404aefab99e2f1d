//! Prototypes of kfuncs: what our functions take, compared with what the verifier assumed.
//!
//! The verifier relies on the prototype in the kernel's BTF, which may be any file. A function that
//! is called by its name although its prototype differs would take a number for an address, or
//! write an iterator that is larger than the one on the program's stack.
//!
//! The notation is `RESULT (PARAMETER, ...)`. `int` is an integer or enum of any size: those are
//! passed in a whole register, and the verifier knows nothing about them. `*` points to `void`,
//! `*4` to four bytes, `*name` to a struct, `*name/8` to a struct of exactly eight bytes, `*fn` to
//! a function. A parameter ends with the suffix of its name (`__sz`), from which the verifier
//! learns what it is. `A|B` is either.

use skep_btf::{Btf, Kind, TypeId};
use std::fmt;

/// The function has another prototype: this one, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherPrototype(Option<String>);

impl fmt::Display for OtherPrototype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_deref().unwrap_or("none"))
    }
}

impl std::error::Error for OtherPrototype {}

/// Whether the function in the kernel's BTF has that prototype.
pub(crate) fn compare(prototype: &str, btf: &Btf, func: TypeId) -> Result<(), OtherPrototype> {
    let (result, params) = of(btf, func).ok_or(OtherPrototype(None))?;
    let is_same = prototype.strip_suffix(')').and_then(|rest| rest.split_once(" (")).is_some_and(
        |(stated, list)| {
            let list: Vec<&str> = list.split(", ").filter(|param| !param.is_empty()).collect();
            fits(stated, &result)
                && list.len() == params.len()
                && list.iter().zip(&params).all(|(stated, found)| fits(stated, found))
        },
    );
    match is_same {
        true => Ok(()),
        false => Err(OtherPrototype(Some(format!("{result} ({})", params.join(", "))))),
    }
}

/// Whether what was found is one of the alternatives, which may leave the size of a struct open.
fn fits(stated: &str, found: &str) -> bool {
    let without_size = || {
        let (name, rest) = found.split_once('/')?;
        Some([name, rest.trim_start_matches(|c: char| c.is_ascii_digit())].concat())
    };
    stated.split('|').any(|one| one == found || without_size().is_some_and(|it| it == one))
}

/// Result and parameters.
fn of(btf: &Btf, func: TypeId) -> Option<(String, Vec<String>)> {
    let func = btf.get(func).filter(|func| func.kind() == Kind::Func)?;
    let prototype = Some(func.target()).filter(|it| it.kind() == Kind::FuncProto)?;
    let params = prototype.params().map(|param| {
        let suffix = param.name.find("__").map_or("", |at| &param.name[at..]);
        value(btf, param.ty) + suffix
    });
    Some((value(btf, prototype.target_id()), params.collect()))
}

fn value(btf: &Btf, id: TypeId) -> String {
    let t = btf.skip_modifiers(id);
    match (t.kind(), t.stated_size()) {
        (Kind::Void, _) => "void".to_owned(),
        (Kind::Int | Kind::Enum | Kind::Enum64, Some(0..=8)) => "int".to_owned(),
        (Kind::Ptr, _) => format!("*{}", pointee(btf, t.target_id())),
        (other, _) => other.name().to_owned(),
    }
}

fn pointee(btf: &Btf, id: TypeId) -> String {
    let t = btf.skip_modifiers(id);
    match (t.kind(), t.stated_size()) {
        (Kind::Void, _) => String::new(),
        (Kind::Int | Kind::Enum | Kind::Enum64, Some(bytes)) => bytes.to_string(),
        (Kind::FuncProto, _) => "fn".to_owned(),
        (Kind::Struct, Some(bytes)) => {
            // What kernels before 6.11 call it.
            let name = if t.name() == "bpf_dynptr_kern" { "bpf_dynptr" } else { t.name() };
            format!("{name}/{bytes}")
        }
        (other, _) => other.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::KFUNCS;
    use skep_btf::{BtfBuilder, FuncLinkage, IntEncoding};

    #[test]
    fn notation() {
        assert!(fits("*bpf_iter_num/8", "*bpf_iter_num/8"));
        assert!(!fits("*bpf_iter_num/8", "*bpf_iter_num/4"));
        assert!(fits("*bpf_dynptr__uninit", "*bpf_dynptr/16__uninit"));
        assert!(!fits("*bpf_dynptr__uninit", "*bpf_dynptr/16"));
        assert!(!fits("*bpf_dynptr", "*bpf_dynptr/16__ign"));
        assert!(fits("*__opt|*__nullable", "*__nullable") && !fits("*__opt|*__nullable", "*"));
        assert!(fits("int", "int") && !fits("int", "*") && !fits("*", "int"));
    }

    /// A number where our function takes an address, in every kfunc.
    #[test]
    fn no_address_may_be_a_number() {
        for kfunc in KFUNCS.iter().filter(|kfunc| kfunc.prototype.contains("(*")) {
            let mut made = BtfBuilder::new();
            let int = made.int("u64", 8, IntEncoding::default());
            let proto = made.func_proto(int, &[("p", int)]);
            let func = made.func(kfunc.name, proto, FuncLinkage::Global);
            let found = compare(kfunc.prototype, &made.build().unwrap(), func);
            let there = OtherPrototype(Some("int (int)".to_owned()));
            assert_eq!(found, Err(there), "{}", kfunc.name);
        }
    }

    /// The prototypes are those of the kernel.
    #[test]
    fn as_in_the_running_kernel() {
        let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") else { return };
        let btf = Btf::parse(&bytes).unwrap();
        for kfunc in KFUNCS {
            let Some(func) = btf.find_by_name_kind(kfunc.name, Kind::Func) else { continue };
            assert_eq!(compare(kfunc.prototype, &btf, func), Ok(()), "{}", kfunc.name);
        }
    }
}
