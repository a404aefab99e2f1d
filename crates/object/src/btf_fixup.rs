//! Changes that the loader makes to an object's BTF before BPF_BTF_LOAD.
//!
//! The compiler leaves sizes of `DATASEC`s and offsets of variables to the loader; the kernel does
//! not support extern linkage; hidden functions and variables are static for the verifier.

use crate::elf::{Elf, Symbol};
use crate::externs::{ExternKind, Externs, KCONFIG, KSYMS};
use crate::functions::Functions;
use rustc_hash::FxHashMap;
use skep_btf::{Btf, BtfBuilder, Error, FuncLinkage, Kind, SecVar, Type, TypeId, VarLinkage};
use std::sync::Arc;

/// Name of the variable that represents an extern function in `.ksyms`.
const DUMMY_KSYM: &str = "dummy_ksym";

/// The BTF of an object, as passed to the kernel.
pub(crate) fn fix_up(
    elf: &Elf<'_>,
    btf: &Btf,
    externs: &Externs,
    functions: &Functions,
) -> Result<Btf, Error> {
    let mut builder = BtfBuilder::from_btf(btf);
    let symbols = elf.global_variables();
    for datasec in btf.iter().filter(|t| t.kind() == Kind::Datasec) {
        match datasec.name() {
            KCONFIG => fix_kconfig(&mut builder, datasec, externs),
            KSYMS => fix_ksyms(&mut builder, datasec),
            name => {
                if let Some(section) = elf.section(name) {
                    fix_datasec(&mut builder, datasec, section.size_bytes as u32, &symbols);
                }
            }
        }
    }
    hide_functions(&mut builder, btf, functions);
    builder.build()
}

/// The BTF without types of kinds unknown to the kernel.
pub(crate) fn known_to(btf: Arc<Btf>, absent: &[Kind]) -> Result<Arc<Btf>, Error> {
    if absent.is_empty() {
        return Ok(btf);
    }
    let mut builder = BtfBuilder::from_btf(&btf);
    builder.replace_kinds(absent);
    builder.build().map(Arc::new)
}

/// Size from the section, offsets of global variables from the symbols, unless BTF has them.
fn fix_datasec(
    builder: &mut BtfBuilder,
    datasec: Type<'_>,
    size: u32,
    symbols: &FxHashMap<&str, &Symbol<'_>>,
) {
    let sized = datasec.stated_size() != Some(0);
    if !sized {
        builder.set_size(datasec.id(), size);
    }
    for (n, secvar) in datasec.vars().enumerate() {
        let var = datasec.btf().ty(secvar.ty);
        let apart = [VarLinkage::Static as u32, VarLinkage::Extern as u32];
        if var.kind() != Kind::Var || apart.contains(&var.var_linkage()) {
            continue;
        }
        let Some(symbol) = symbols.get(var.name()) else { continue };
        if !sized {
            builder.set_var(datasec.id(), n, SecVar { offset: symbol.value as u32, ..secvar });
        }
        if symbol.hidden {
            builder.set_var_linkage(var.id(), VarLinkage::Static);
        }
    }
    builder.sort_vars(datasec.id());
}

fn fix_kconfig(builder: &mut BtfBuilder, datasec: Type<'_>, externs: &Externs) {
    let mut end = 0;
    let kinds: FxHashMap<TypeId, ExternKind> =
        externs.list.iter().map(|e| (e.btf_id, e.kind)).collect();
    for (n, secvar) in datasec.vars().enumerate() {
        let kind = kinds.get(&secvar.ty).copied();
        let Some(ExternKind::Kconfig { size, offset, .. }) = kind else { continue };
        builder.set_var(datasec.id(), n, SecVar { offset, ..secvar });
        builder.set_var_linkage(secvar.ty, VarLinkage::Global);
        end = end.max(offset.saturating_add(size));
    }
    builder.set_size(datasec.id(), end);
    builder.sort_vars(datasec.id());
}

/// Represents all symbols as adjacent integers, and functions as one variable of that type. The
/// kernel requires parameter names for what is now a global function.
fn fix_ksyms(builder: &mut BtfBuilder, datasec: Type<'_>) {
    const INT_BYTES: u32 = 4;
    let btf = datasec.btf();
    // Without such a type the kernel refuses the BTF.
    let int = btf.iter().find(|t| t.kind() == Kind::Int && t.int_bits() == 32);
    let int = int.map_or(TypeId::VOID, |int| int.id());
    let mut dummy: Option<TypeId> = None;
    let mut offset = 0u32;
    for (n, secvar) in datasec.vars().enumerate() {
        let declared = btf.ty(secvar.ty);
        let ty = if declared.kind() == Kind::Func {
            builder.set_func_linkage(declared.id(), FuncLinkage::Global);
            let proto = declared.target();
            for (n, param) in proto.params().enumerate() {
                if param.name.is_empty() && param.ty != TypeId::VOID {
                    builder.set_param_name(proto.id(), n, DUMMY_KSYM);
                }
            }
            *dummy.get_or_insert_with(|| builder.var(DUMMY_KSYM, int, VarLinkage::Global))
        } else {
            builder.set_var_linkage(declared.id(), VarLinkage::Global);
            builder.set_target(declared.id(), int);
            declared.id()
        };
        builder.set_var(datasec.id(), n, SecVar { ty, offset, size: INT_BYTES });
        offset = offset.saturating_add(INT_BYTES);
    }
    builder.set_size(datasec.id(), offset);
}

/// Global functions with hidden visibility are verified at each call, like static ones.
fn hide_functions(builder: &mut BtfBuilder, btf: &Btf, functions: &Functions) {
    for function in functions.list.iter().filter(|f| f.hidden && !f.entry) {
        if let Some(id) = btf.find_by_name_kind(&function.name, Kind::Func) {
            builder.set_func_linkage(id, FuncLinkage::Static);
        }
    }
}
