//! The kernel functions that allow error injection: programs that change a function's result, or
//! sleep on its entry, may attach only to those.
//!
//! There are three sources, used in this order: the kernel's own list; its configuration, if error
//! injection is off; its symbols, which include a record for each such function (if the lookup
//! function is missing from the symbols, there are none). If none can be read, nothing is known,
//! and programs that depend on it get no verdict.

use crate::kallsyms::Symbols;
use rustc_hash::FxHashSet;
use std::path::Path;

/// The list, if debugfs is mounted and readable.
pub(crate) const LIST_PATH: &str = "/sys/kernel/debug/error_injection/list";
/// Prefix of the symbol of a function's record.
const RECORD: &str = "_eil_addr_";
/// The function that looks up a record; if it exists, so do the records.
pub(crate) const LOOKUP: &str = "within_error_injection_list";
const OPTION: &str = "CONFIG_FUNCTION_ERROR_INJECTION";

/// The functions, as far as they are known.
#[derive(Debug)]
pub(crate) enum Functions {
    /// All of them.
    Listed(FxHashSet<String>),
    /// Functions with a record among the symbols.
    Recorded,
    /// Nothing is known.
    Unknown,
}

impl Functions {
    /// From a list, symbols and a configuration; each may be absent.
    pub(crate) fn read(list: &Path, symbols: &Symbols, kconfig: Option<&str>) -> Functions {
        if let Ok(text) = std::fs::read_to_string(list) {
            return Functions::listed(&text);
        }
        match kconfig.map(|text| is_set(text, OPTION)) {
            Some(false) => Functions::Listed(FxHashSet::default()),
            _ if symbols.any(|name| name.starts_with(RECORD.as_bytes())) => Functions::Recorded,
            _ if symbols.any(|_| true) && !symbols.any(|name| name == LOOKUP.as_bytes()) => {
                Functions::Listed(FxHashSet::default())
            }
            _ => Functions::Unknown,
        }
    }

    /// Lines `function kind`.
    fn listed(text: &str) -> Functions {
        let names = text.lines().filter_map(|line| line.split_whitespace().next());
        Functions::Listed(names.map(str::to_owned).collect())
    }

    /// Whether the function is one of them, if known.
    pub(crate) fn has(&self, name: &str, symbols: &Symbols) -> Option<bool> {
        match self {
            Functions::Listed(names) => Some(names.contains(name)),
            Functions::Recorded => Some(symbols.address(&format!("{RECORD}{name}")).is_some()),
            Functions::Unknown => None,
        }
    }
}

/// Whether a configuration enables an option.
fn is_set(kconfig: &str, option: &str) -> bool {
    kconfig.lines().any(|line| line.strip_prefix(option).is_some_and(|rest| rest == "=y"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_LIST: &str = "/nonexistent/list";

    #[test]
    fn the_list_decides_then_the_configuration_then_the_symbols() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "should_failslab\tERRNO\nopen_ctree [btrfs]\tERRNO\n").unwrap();
        let symbols = Symbols::parse(&b"ff00 d _eil_addr___x64_sys_read\nff08 T vfs_read"[..]);
        let on = "CONFIG_FUNCTION_ERROR_INJECTION=y\n";
        let off = "# CONFIG_FUNCTION_ERROR_INJECTION is not set\n";
        let ask = |list: &Path, symbols: &Symbols, kconfig, name| {
            Functions::read(list, symbols, kconfig).has(name, symbols)
        };
        assert_eq!(ask(file.path(), &symbols, Some(off), "open_ctree"), Some(true));
        assert_eq!(ask(file.path(), &symbols, None, "__x64_sys_read"), Some(false));
        let none = Path::new(NO_LIST);
        assert_eq!(ask(none, &symbols, Some(off), "__x64_sys_read"), Some(false));
        assert_eq!(ask(none, &symbols, Some(on), "__x64_sys_read"), Some(true));
        assert_eq!(ask(none, &symbols, None, "vfs_read"), Some(false));
        let without = Symbols::parse(&b"ff08 T vfs_read"[..]);
        assert_eq!(ask(none, &without, None, "vfs_read"), Some(false));
        let unlisted = Symbols::parse(&b"ff08 T within_error_injection_list"[..]);
        assert_eq!(ask(none, &unlisted, None, "vfs_read"), None);
        assert_eq!(ask(none, &Symbols::default(), Some(on), "vfs_read"), None);
        assert_eq!(ask(none, &Symbols::default(), Some(""), "vfs_read"), Some(false));
    }
}
