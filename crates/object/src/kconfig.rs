//! `.kconfig`: values of the kernel's configuration, and the few that libbpf defines itself.

use crate::error::{Error, Result};
use crate::loader::LoadClass;
use crate::options::OpenOptions;
use rustc_hash::FxHashMap;
use skep_btf::{Btf, Kind, TypeId};
use skep_insn::Endian;
use std::cell::OnceCell;

/// The type of a configuration extern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Bool,
    /// Signed?
    Char(bool),
    /// `enum libbpf_tristate`.
    Tristate,
    /// Signed?
    Int(bool),
    CharArray,
}

/// Values of options, by name.
pub(crate) struct Reader<'a> {
    endian: Endian,
    btf: Option<&'a Btf>,
    /// The configuration as text.
    text: &'a str,
    /// Parsed on first use: few objects have externs of it.
    parsed: OnceCell<FxHashMap<&'a str, &'a str>>,
    kernel_version: u32,
    has_bpf_cookie: Option<bool>,
}

impl<'a> Reader<'a> {
    /// Reads the configuration that the options hold, if any.
    pub(crate) fn new(endian: Endian, btf: Option<&'a Btf>, options: &'a OpenOptions) -> Self {
        let text = options.kconfig.as_deref().unwrap_or("");
        let OpenOptions { kernel_version, has_bpf_cookie, .. } = *options;
        Reader { endian, btf, text, parsed: OnceCell::new(), kernel_version, has_bpf_cookie }
    }

    fn values(&self) -> &FxHashMap<&'a str, &'a str> {
        let option = |line: &'a str| {
            let (name, value) = line.split_once('=')?;
            name.starts_with("CONFIG_").then_some((name, value.trim_end()))
        };
        self.parsed.get_or_init(|| self.text.lines().filter_map(option).collect())
    }

    /// The value of an option as it lies in memory, of `size` bytes; those after it are 0. `None`
    /// if there is no such option. A `weak` one of libbpf's own that it does not know is 0.
    pub(crate) fn read(
        &self,
        name: &str,
        weak: bool,
        ty: TypeId,
        size: u32,
    ) -> Result<Option<Vec<u8>>> {
        let form = self.btf.and_then(|btf| form_of(btf, ty));
        let form = match size {
            0 => Err(Error::load(LoadClass::Open, "its type has no size")),
            _ => form.ok_or_else(|| Error::load(LoadClass::Open, "type is not supported")),
        };
        let found = form.and_then(|form| self.read_as(name, weak, form, size as usize));
        found.map_err(|error| {
            error.of_class(LoadClass::Extern).context(format!("extern (kcfg) '{name}'"))
        })
    }

    fn read_as(&self, name: &str, weak: bool, form: Form, size: usize) -> Result<Option<Vec<u8>>> {
        let virtual_value = match name {
            "LINUX_KERNEL_VERSION" => Some(u64::from(self.kernel_version)),
            "LINUX_HAS_BPF_COOKIE" => Some(u64::from(self.has_bpf_cookie())),
            "LINUX_HAS_SYSCALL_WRAPPER" => Some(u64::from(self.has_syscall_wrapper())),
            _ if name.starts_with("LINUX_") && weak => Some(0),
            _ if name.starts_with("CONFIG_") => None,
            _ => return Err(Error::new("libbpf defines no such extern")),
        };
        if let Some(value) = virtual_value {
            if form == Form::Tristate {
                return Err(Error::new(format!("value '{value}' does not fit its type")));
            }
            return self.number(value, form, size).map(Some);
        }
        self.values().get(name).map(|value| self.bytes_of(value, form, size)).transpose()
    }

    /// `bpf_get_attach_cookie` was added in 5.15; a kernel without a version is assumed to be
    /// newer.
    fn has_bpf_cookie(&self) -> bool {
        let by_version = self.kernel_version == 0 || self.kernel_version >= 0x05_0f_00;
        self.has_bpf_cookie.unwrap_or(by_version)
    }

    /// libbpf tests this by placing a kprobe: a kernel without kprobes appears to have no wrappers.
    fn has_syscall_wrapper(&self) -> bool {
        self.values().is_empty() || self.values().get("CONFIG_KPROBES") == Some(&"y")
    }

    fn bytes_of(&self, text: &str, form: Form, size: usize) -> Result<Vec<u8>> {
        let unfit = || Error::new(format!("value '{text}' does not fit its type"));
        if let Some(string) = text.strip_prefix('"') {
            if form != Form::CharArray {
                return Err(unfit());
            }
            let string = string.strip_suffix('"').unwrap_or(string).as_bytes();
            let last = size.checked_sub(1).ok_or_else(unfit)?;
            return Ok(string.get(..last).unwrap_or(string).to_vec());
        }
        let tristate = match text {
            "y" => Some(1),
            "m" => Some(2),
            "n" => Some(0),
            _ => None,
        };
        match (form, tristate) {
            (Form::Char(_), Some(_)) => self.number(u64::from(text.as_bytes()[0]), form, size),
            (Form::Bool, Some(2)) => Err(unfit()),
            (Form::Bool | Form::Tristate, Some(value)) => self.number(value, form, size),
            (_, Some(_)) => Err(unfit()),
            (_, None) => {
                let value = parse_number(text).ok_or_else(unfit)?;
                if !matches!(form, Form::Int(_) | Form::Char(_)) {
                    return Err(unfit());
                }
                self.number(value, form, size)
            }
        }
    }

    fn number(&self, value: u64, form: Form, size: usize) -> Result<Vec<u8>> {
        let bits = size * 8;
        let signed = matches!(form, Form::Int(true) | Form::Char(true));
        if !matches!(size, 1 | 2 | 4 | 8) || form == Form::CharArray {
            return Err(Error::new("value does not fit its type"));
        }
        if bits < 64 {
            let limit = 1u64 << bits;
            let fits = if signed { value.wrapping_add(limit / 2) < limit } else { value < limit };
            if !fits {
                return Err(Error::new(format!("value '{value}' does not fit in {size} bytes")));
            }
        }
        Ok(match self.endian {
            Endian::Little => value.to_le_bytes()[..size].to_vec(),
            Endian::Big => value.to_be_bytes()[8 - size..].to_vec(),
        })
    }
}

fn parse_number(text: &str) -> Option<u64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    value.ok().map(|v| if negative { v.wrapping_neg() } else { v })
}

fn form_of(btf: &Btf, ty: TypeId) -> Option<Form> {
    let ty = btf.skip_modifiers(ty);
    match ty.kind() {
        Kind::Int if ty.int_encoding().is_bool() => {
            (ty.stated_size() == Some(1)).then_some(Form::Bool)
        }
        Kind::Int if ty.stated_size() == Some(1) => Some(Form::Char(ty.int_encoding().is_signed())),
        Kind::Int if matches!(ty.stated_size(), Some(2 | 4 | 8)) => {
            Some(Form::Int(ty.int_encoding().is_signed()))
        }
        Kind::Enum if ty.name() == "libbpf_tristate" => Some(Form::Tristate),
        Kind::Array => {
            let element = btf.skip_modifiers(ty.array()?.elem);
            let char = element.kind() == Kind::Int && element.stated_size() == Some(1);
            (char && !element.int_encoding().is_bool()).then_some(Form::CharArray)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parse_number;

    #[test]
    fn numbers_are_decimal_or_hexadecimal() {
        assert_eq!(parse_number("250"), Some(250));
        assert_eq!(parse_number("0xdead000000000000"), Some(0xdead_0000_0000_0000));
        assert_eq!(parse_number("-1"), Some(u64::MAX));
        assert_eq!(parse_number("x"), None);
    }
}
