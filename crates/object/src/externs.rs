//! Externs: `.kconfig` values and `.ksyms` symbols, and what they resolve to.
//!
//! An extern that cannot be resolved is an error of the programs that use it, not of the object. A
//! weak one is 0, and a call of it becomes a call of a helper that no kernel has.

use crate::elf::{Binding, Elf, SymbolKind};
use crate::error::{Context, Error, Result};
use crate::kconfig;
use crate::loader::LoadClass;
use crate::options::OpenOptions;
use rustc_hash::FxHashMap;
use skep_btf::{Btf, FuncLinkage, Kind, Type, TypeId, VarLinkage, core};

pub(crate) const KCONFIG: &str = ".kconfig";
pub(crate) const KSYMS: &str = ".ksyms";

/// A symbol declared here and defined elsewhere. In libbpf's order: kconfig externs by alignment,
/// size and name, then kernel symbols by name.
pub(crate) struct Extern {
    pub(crate) name: String,
    pub(crate) weak: bool,
    /// Its `VAR` or `FUNC` in the object's BTF.
    pub(crate) btf_id: TypeId,
    pub(crate) kind: ExternKind,
    pub(crate) value: Result<Value>,
}

/// The section that declares an extern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExternKind {
    /// `.kconfig`: its layout in the map, in bytes.
    Kconfig { align: u32, size: u32, offset: u32 },
    /// `.ksyms`.
    Ksym,
    /// Without BTF.
    Unknown,
}

/// What an extern resolves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Offset in the `.kconfig` map.
    Kconfig(u32),
    /// An address: of an untyped symbol, or 0 for a weak one that does not exist.
    Address(u64),
    /// BTF id in the kernel: a variable's or a function's.
    KernelBtf(TypeId),
}

/// All externs of an object.
#[derive(Default)]
pub(crate) struct Externs {
    pub(crate) list: Vec<Extern>,
    by_symbol: FxHashMap<usize, usize>,
    pub(crate) kconfig: Kconfig,
}

/// The `.kconfig` map.
#[derive(Default)]
pub(crate) struct Kconfig {
    /// Its contents; without the zeros after the last value if it is large.
    pub(crate) contents: Vec<u8>,
    /// Its size, bytes; 0 if there is none.
    pub(crate) size_bytes: u32,
}

impl Externs {
    /// Finds the undefined symbols and resolves them.
    pub(crate) fn read(elf: &Elf<'_>, btf: Option<&Btf>, options: &OpenOptions) -> Externs {
        let declared = btf.map(Declared::read).unwrap_or_default();
        let mut list = Vec::new();
        for (symbol_index, symbol) in elf.symbols.iter().enumerate() {
            let declares = symbol.undefined && symbol.kind == SymbolKind::NoType;
            let visible = matches!(symbol.binding, Binding::Global | Binding::Weak);
            if !declares || !visible || symbol.name.is_empty() {
                continue;
            }
            let (btf_id, kind) = match btf {
                Some(btf) => declared.kind_of(btf, &symbol.name),
                None => (TypeId::VOID, ExternKind::Unknown),
            };
            let value = Err(Error::new(""));
            let name = symbol.name.clone().into_owned();
            let weak = symbol.binding == Binding::Weak;
            list.push((symbol_index, Extern { name, weak, btf_id, kind, value }));
        }
        list.sort_by(|(_, a), (_, b)| rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(&b.name)));
        let mut externs = Externs::default();
        for (index, (symbol_index, external)) in list.into_iter().enumerate() {
            externs.by_symbol.insert(symbol_index, index);
            externs.list.push(external);
        }
        externs.lay_out_kconfig();
        let reader = kconfig::Reader::new(elf.endian, btf, options);
        let mut addressed = FxHashMap::default();
        for external in &mut externs.list {
            let resolved = resolve(external, btf, options, &reader, &mut externs.kconfig);
            external.value = only_first(external, resolved, &mut addressed);
        }
        let whole = externs.kconfig.size_bytes as usize;
        if whole <= KCONFIG_BYTES_MAX {
            externs.kconfig.contents.resize(whole, 0);
        }
        externs
    }

    /// Index of the extern that a symbol declares.
    pub(crate) fn of_symbol(&self, symbol: usize) -> Option<usize> {
        self.by_symbol.get(&symbol).copied()
    }

    fn lay_out_kconfig(&mut self) {
        let mut end: u32 = 0;
        for external in &mut self.list {
            if let ExternKind::Kconfig { align, size, offset } = &mut external.kind {
                *offset = end.checked_next_multiple_of((*align).max(1)).unwrap_or(end);
                end = offset.saturating_add(*size);
            }
        }
        self.kconfig.size_bytes = end;
    }
}

/// The values of `.kconfig` lie in its first bytes, whatever size it declares.
const KCONFIG_BYTES_MAX: usize = 1 << 20;

impl Kconfig {
    /// Writes the value of an extern.
    fn put(&mut self, value: &[u8], offset: u32) -> Result<()> {
        let Some(last) = value.iter().rposition(|byte| *byte != 0) else { return Ok(()) };
        let start = offset as usize;
        let end = start.saturating_add(last + 1);
        if end > KCONFIG_BYTES_MAX {
            // The kernel does not create a larger map.
            if self.size_bytes > i32::MAX as u32 {
                return Ok(());
            }
            let text = format!("section {KCONFIG}, offset {offset:#x}: a value this far into it");
            return Err(Error::new(format!("not supported yet: {text}")));
        }
        self.contents.resize(self.contents.len().max(end), 0);
        self.contents[start..end].copy_from_slice(&value[..=last]);
        Ok(())
    }
}

fn rank(external: &Extern) -> (u8, std::cmp::Reverse<u32>, u32) {
    match external.kind {
        ExternKind::Kconfig { align, size, .. } => (0, std::cmp::Reverse(align), size),
        ExternKind::Ksym => (1, std::cmp::Reverse(0), 0),
        ExternKind::Unknown => (2, std::cmp::Reverse(0), 0),
    }
}

/// Extern declarations of a BTF, by name.
#[derive(Default)]
struct Declared {
    /// Of the first variable or function of a name, if that is extern.
    ids: FxHashMap<String, Option<TypeId>>,
    sections: FxHashMap<TypeId, TypeId>,
}

impl Declared {
    fn read(btf: &Btf) -> Declared {
        let mut declared = Declared::default();
        for ty in btf.iter() {
            let external = match ty.kind() {
                Kind::Var => ty.var_linkage() == VarLinkage::Extern as u32,
                Kind::Func => ty.func_linkage() == FuncLinkage::Extern as u16,
                Kind::Datasec => {
                    for var in ty.vars() {
                        declared.sections.entry(var.ty).or_insert(ty.id());
                    }
                    continue;
                }
                _ => continue,
            };
            let id = external.then(|| ty.id());
            declared.ids.entry(ty.name().to_owned()).or_insert(id);
        }
        declared
    }

    fn kind_of(&self, btf: &Btf, name: &str) -> (TypeId, ExternKind) {
        let Some(&Some(id)) = self.ids.get(name) else {
            return (TypeId::VOID, ExternKind::Unknown);
        };
        let section = self.sections.get(&id).map_or("", |&section| btf.ty(section).name());
        let kind = match section {
            KCONFIG => {
                let target = btf.ty(id).target_id();
                let align = btf.align_of(target).unwrap_or(1);
                ExternKind::Kconfig { align, size: btf.size_of(target).unwrap_or(0), offset: 0 }
            }
            KSYMS => ExternKind::Ksym,
            _ => ExternKind::Unknown,
        };
        (id, kind)
    }
}

fn resolve(
    external: &Extern,
    btf: Option<&Btf>,
    options: &OpenOptions,
    reader: &kconfig::Reader<'_>,
    kconfig: &mut Kconfig,
) -> Result<Value> {
    let name = &external.name;
    match (external.kind, btf) {
        (ExternKind::Kconfig { size, offset, .. }, Some(btf)) => {
            let ty = btf.ty(external.btf_id).target_id();
            let value = reader.read(name, external.weak, ty, size)?;
            let found = value.is_some();
            if !found && options.is_partial && options.kconfig.is_none() {
                return Err(Error::new(format!("extern {name}: needs the kernel's configuration")));
            }
            if !found && !external.weak {
                return absent(format!("extern {name} (strong): not resolved"));
            }
            kconfig.put(&value.unwrap_or_default(), offset).context(|| format!("extern {name}"))?;
            Ok(Value::Kconfig(offset))
        }
        (ExternKind::Ksym, Some(btf)) => resolve_ksym(external, btf.ty(external.btf_id), options),
        _ => Err(Error::new(format!("extern {name}: no BTF declares it"))),
    }
}

/// Of several externs of one name, libbpf gives one its address, and finds none for the others;
/// which one depends on how they are sorted.
fn only_first(
    external: &Extern,
    value: Result<Value>,
    addressed: &mut FxHashMap<String, bool>,
) -> Result<Value> {
    let Ok(Value::Address(1..)) = value else { return value };
    let name = &external.name;
    match addressed.insert(name.clone(), external.weak) {
        None => value,
        Some(false) if !external.weak => absent(format!("extern '{name}' (strong): not resolved")),
        Some(_) => Err(Error::new(format!("not supported yet: several externs '{name}'"))),
    }
}

/// The kernel lacks it: the loader rejects the object.
fn absent<T>(text: String) -> Result<T> {
    Err(Error::load(LoadClass::Extern, text))
}

/// The name without `___flavor`.
pub(crate) fn essential(name: &str) -> &str {
    match name.rfind("___") {
        Some(at) if at > 0 && at + 3 < name.len() => &name[..at],
        _ => name,
    }
}

fn resolve_ksym(external: &Extern, declared: Type<'_>, options: &OpenOptions) -> Result<Value> {
    let untyped = declared.kind() == Kind::Var
        && declared.btf().skip_modifiers(declared.target_id()).kind() == Kind::Void;
    if untyped {
        // Only types have flavors.
        let name = &*external.name;
        let has_symbols = options.kallsyms.is_some();
        let address = options.kallsyms.as_ref().and_then(|lookup| lookup(name));
        return match address {
            Some(address) => Ok(Value::Address(address)),
            None if external.weak && (has_symbols || !options.is_partial) => Ok(Value::Address(0)),
            None if options.kallsyms.is_none() => {
                Err(Error::new(format!("extern (ksym) '{name}': no kernel symbols are available")))
            }
            None => absent(format!("extern (ksym) '{name}': not found among the kernel's symbols")),
        };
    }
    let name = essential(&external.name);
    let has_btf = options.kernel_btf.is_some();
    let found = match &options.kernel_btf {
        Some(kernel) => find_typed(external, declared, kernel)?,
        None => None,
    };
    match found {
        Some(id) => Ok(Value::KernelBtf(id)),
        None if external.weak && (has_btf || !options.is_partial) => Ok(Value::Address(0)),
        None => {
            let what = if declared.kind() == Kind::Func { "func" } else { "var" };
            let text = |why: &str| format!("extern ({what} ksym) '{name}': {why}");
            match options.kernel_btf {
                Some(_) => absent(text("not found in kernel BTF")),
                None => Err(Error::new(text("needs kernel BTF"))),
            }
        }
    }
}

/// The kernel's variable or function of that name. If its type differs, a weak function is absent.
fn find_typed(external: &Extern, declared: Type<'_>, kernel: &Btf) -> Result<Option<TypeId>> {
    let name = essential(&external.name);
    let Some(id) = kernel.find_by_name_kind(name, declared.kind()) else { return Ok(None) };
    let local = declared.btf().skip_modifiers(declared.target_id());
    let target = kernel.skip_modifiers(kernel.ty(id).target_id());
    let fits = core::types_fit(local, target)?;
    let may_differ = external.weak && declared.kind() == Kind::Func;
    if !fits && !may_differ {
        return absent(format!("extern '{name}': incompatible with the kernel's type {id}"));
    }
    Ok(fits.then_some(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_btf::{BtfBuilder, SecVar};

    /// libbpf looks no further than to the first of the name.
    #[test]
    fn what_has_the_name_of_an_extern_comes_after_it() {
        let kind_of = |linkages: [VarLinkage; 2]| {
            let mut builder = BtfBuilder::new();
            let vars = linkages.map(|linkage| {
                let ty = builder.var("x", TypeId::VOID, linkage);
                SecVar { ty, offset: 0, size: 0 }
            });
            builder.datasec(KSYMS, 0, &vars);
            let btf = builder.build().expect("well-formed");
            Declared::read(&btf).kind_of(&btf, "x")
        };
        let first = kind_of([VarLinkage::Extern, VarLinkage::Static]);
        assert!(matches!(first, (TypeId(1), ExternKind::Ksym)));
        let second = kind_of([VarLinkage::Static, VarLinkage::Extern]);
        assert!(matches!(second, (TypeId::VOID, ExternKind::Unknown)));
    }

    #[test]
    fn flavors_are_cut() {
        assert_eq!(essential("bpf_task_acquire___one"), "bpf_task_acquire");
        assert_eq!(essential("bpf_task_acquire"), "bpf_task_acquire");
        assert_eq!(essential("___x"), "___x");
    }
}
