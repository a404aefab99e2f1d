//! Relocation of one function: CO-RE first, then maps, data, externs and call targets.
//!
//! # Invariants
//! 1. `Relocated::calls` is sorted by slot; each entry is an insn with a relative offset to a
//!    subprog, to be set when the subprog has a position.

use crate::elf::{Relocation, Symbol};
use crate::error::{Context, Error, Result};
use crate::ext_info::within;
use crate::externs::Value;
use crate::functions::Function;
use crate::image::Image;
use crate::loader::LoadClass;
use crate::sections::SectionKind;
use skep_btf::core::{self, CoreOutcome};
use skep_insn::code::*;
use skep_insn::{INSN_BYTES, Insn};
use skep_program::{MapIdx, Missing};
use skep_uapi::MapType;
use std::sync::Arc;

/// libbpf's number for a call of a weak kfunc that does not exist, plus the extern's index.
const POISON_CALL_KFUNC_BASE: i32 = 2_002_000_000;
/// libbpf's number for a reference to a map that is not created, plus the map's index.
const POISON_LDIMM64_MAP_BASE: i32 = 2_001_000_000;
/// Maximum number of insns of all functions, or of all programs, together: more indicate a hostile
/// file.
pub(crate) const INSNS_MAX: usize = 16 << 20;
/// A call of any kind.
pub(crate) const CALL: u8 = BPF_JMP | BPF_CALL;

/// A function whose insns are final except for offsets to its subprogs.
pub(crate) struct Relocated {
    pub(crate) insns: Vec<Insn>,
    /// Slot of a call or of a function's address, and the function's index.
    pub(crate) calls: Vec<(usize, usize)>,
    /// Slots with unresolved references, and why.
    pub(crate) unresolved: Vec<(usize, Missing, String)>,
}

/// Relocates functions of an object, those that are called once.
pub(crate) struct Relocator<'i, 'a> {
    pub(crate) image: &'i Image<'a>,
    done: Vec<Option<Result<Arc<Relocated>>>>,
    insns_left: usize,
}

impl<'i, 'a> Relocator<'i, 'a> {
    pub(crate) fn new(image: &'i Image<'a>) -> Self {
        let done = image.functions.list.iter().map(|_| None).collect();
        Relocator { image, done, insns_left: INSNS_MAX }
    }

    /// The relocated function of this index.
    pub(crate) fn function(&mut self, index: usize) -> Result<Arc<Relocated>> {
        let missing = || Error::new(format!("function {index} does not exist"));
        let function = self.image.functions.list.get(index).ok_or_else(missing)?;
        if let Some(Some(done)) = self.done.get(index) {
            return done.clone();
        }
        self.insns_left = self.insns_left.checked_sub(function.range.len()).ok_or_else(|| {
            Error::new(format!("functions have more than {INSNS_MAX} insns together"))
        })?;
        let made = relocate(self.image, index)
            .context(|| format!("relocate function {}", function.name))
            .map(Arc::new);
        // A program is linked once.
        if !function.entry {
            self.done[index] = Some(made.clone());
        }
        made
    }
}

fn relocate(image: &Image<'_>, index: usize) -> Result<Relocated> {
    let function = &image.functions.list[index];
    let section = image.functions.insns.get(function.section);
    let insns = section.and_then(|s| s.get(function.range.clone())).unwrap_or(&[]);
    let mut out = Relocated { insns: insns.to_vec(), calls: Vec::new(), unresolved: Vec::new() };
    if !image.options.as_in_file {
        relocate_core(image, index, &mut out)?;
    }
    let all = &image.section(function.section).relocations;
    let bytes = |slot: usize| (slot * INSN_BYTES) as u64;
    let start = all.partition_point(|r| r.offset < bytes(function.range.start));
    let end = all.partition_point(|r| r.offset < bytes(function.range.end));
    let mut relocated = vec![false; out.insns.len()];
    let slot_of = |relocation: &Relocation| relocation.offset / INSN_BYTES as u64;
    for of_insn in all.get(start..end).unwrap_or(&[]).chunk_by(|a, b| slot_of(a) == slot_of(b)) {
        let offset = of_insn[0].offset;
        if !image.gives(function.section, offset, index) {
            continue;
        }
        let slot = slot_of(&of_insn[0]) as usize - function.range.start;
        let place = || {
            let section = image.section(function.section);
            format!("section {}, offset {offset:#x}", section.name)
        };
        if out.unresolved.iter().any(|row| row.0 == slot && row.1 == Missing::Core) {
            let text = "not supported yet: another relocation of an insn without its field";
            return Err(Error::new(text)).context(place);
        }
        let mut ones = of_insn.iter().map(|relocation| One { image, slot, relocation });
        let done = match of_insn.len() > 1 && !image.options.as_in_file {
            true => several(ones.collect(), &mut out),
            false => ones.try_for_each(|one| one.apply(&mut out)),
        };
        done.context(place).map_err(|error| error.placed(image.place(function.section, offset)))?;
        relocated[slot] = true;
    }
    local_calls(image, function, &mut out, &relocated)?;
    raw_descriptors(&mut out.insns, &relocated);
    out.calls.sort_unstable();
    out.unresolved.sort_unstable_by_key(|row| row.0);
    Ok(out)
}

fn relocate_core(image: &Image<'_>, index: usize, out: &mut Relocated) -> Result<()> {
    let function = &image.functions.list[index];
    let (Some(btf), Some(info)) = (&image.btf, image.info.get(function.section)) else {
        return Ok(());
    };
    let kernel = image.options.kernel_btf.as_deref();
    let mut relocator = core::Relocator::new(btf, kernel.as_slice());
    for relo in within(&info.core_relos, &function.range, |r| r.insn_off) {
        if !image.gives(function.section, relo.insn_off.into(), index) {
            continue;
        }
        let slot = relo.insn_off as usize / INSN_BYTES - function.range.start;
        let wide = out.insns.get(slot).is_some_and(|insn| insn.is_ld_imm64());
        let done = relocator.relocate(&mut out.insns, slot, relo).map_err(|error| {
            let place = image.place(function.section, relo.insn_off.into());
            let error = Error::from(error).placed(place);
            if kernel.is_some() { error.of_class(LoadClass::Core) } else { error }
        });
        let outcome = done.context(|| {
            let section = &image.section(function.section).name;
            format!("CO-RE, section {section}, offset {:#x}", relo.insn_off)
        })?;
        if outcome == CoreOutcome::Poisoned {
            let why = relocator.explain(relo);
            let slots = slot..=slot + usize::from(wide);
            out.unresolved.extend(slots.map(|slot| (slot, Missing::Core, why.clone())));
        }
    }
    Ok(())
}

/// Calls that the compiler could encode itself: to functions of the same section. libbpf looks for
/// them in `.text`, and does not know such addresses.
fn local_calls(
    image: &Image<'_>,
    function: &Function,
    out: &mut Relocated,
    relocated: &[bool],
) -> Result<()> {
    let of_libbpf = image.options.as_libbpf();
    for (slot, insn) in out.insns.iter().enumerate() {
        let call = links(*insn);
        let address = insn.is_ld_imm64() && insn.src == BPF_PSEUDO_FUNC;
        if relocated[slot] || !(call || address) {
            continue;
        }
        let here = (function.range.start + slot) as i64;
        let place = || {
            let section = &image.section(function.section).name;
            format!("section {section}, offset {:#x}", here * INSN_BYTES as i64)
        };
        if of_libbpf && address {
            let text = "the address of a function has no relocation";
            return Err(Error::load(LoadClass::Open, text)).context(place);
        }
        let section = match image.text().filter(|_| of_libbpf) {
            None if of_libbpf => {
                let text = "a function is called, but there is no section .text";
                return Err(Error::load(LoadClass::Open, text)).context(place);
            }
            text => text.unwrap_or(function.section),
        };
        let target = usize::try_from(here + 1 + i64::from(insn.imm)).unwrap_or(usize::MAX);
        out.calls.push((slot, image.function_at(section, target).context(place)?));
    }
    Ok(())
}

/// Whether libbpf links the function that is called. What is set besides is the verifier's to
/// refuse.
fn links(insn: Insn) -> bool {
    insn.is_pseudo_call() && (insn.dst, insn.off) == (0, 0)
}

/// Map descriptors given by number in the file: not one of our maps (`Program`, invariant 1).
fn raw_descriptors(insns: &mut [Insn], relocated: &[bool]) {
    for (insn, relocated) in insns.iter_mut().zip(relocated) {
        let names_map = matches!(insn.src, BPF_PSEUDO_MAP_FD | BPF_PSEUDO_MAP_VALUE);
        if insn.is_ld_imm64() && names_map && !relocated {
            insn.imm = !insn.imm | i32::MIN;
        }
    }
}

/// What a relocation refers to. libbpf applies those of one insn in this order, and those of one
/// kind in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Map,
    Data,
    Extern,
    Code,
}

/// Applies several relocations of one insn: what the last one sets is what matters. The address of
/// data keeps what was set before it, the number of a descriptor, as an offset; and which of
/// several functions libbpf finds depends on its search.
///
/// Behaviour: libbpf 1.5 and 1.7, asked with all pairs of a map, data, an extern, a kfunc, a
/// function that is called and one whose address is taken.
fn several(mut ones: Vec<One<'_, '_>>, out: &mut Relocated) -> Result<()> {
    ones.sort_by_key(One::target);
    let (Some(first), Some(last)) = (ones.first(), ones.last()) else { return Ok(()) };
    let insn = out.insns[last.slot];
    let loads = insn.is_ld_imm64();
    if loads && first.target() != last.target() && last.target() == Target::Code {
        let text = "the address of a function and something else are to be here";
        return Err(Error::load(LoadClass::Open, text));
    }
    let image = last.image;
    let same = ones.iter().all(|one| one.relocation.symbol == last.relocation.symbol);
    let external = image.externs.of_symbol(last.relocation.symbol);
    let value = external.map(|index| &image.externs.list[index].value);
    let supported = match last.target() {
        Target::Data => false,
        _ if same => true,
        Target::Code => ones.iter().all(|one| {
            one.target() == Target::Code && one.callee(insn).ok() == last.callee(insn).ok()
        }),
        // Such an address leaves the source register alone.
        Target::Extern if matches!(value, Some(Ok(Value::Address(_)))) => false,
        // A map that is not created replaces the insn.
        Target::Map | Target::Extern => loads && image.maps.defs.iter().all(|def| def.autocreate),
    };
    match supported {
        true => last.apply(out),
        false => Err(Error::new("not supported yet: several relocations of one insn")),
    }
}

/// One relocation of a function.
struct One<'i, 'a> {
    image: &'i Image<'a>,
    /// Slot in the function.
    slot: usize,
    relocation: &'i Relocation,
}

impl One<'_, '_> {
    fn apply(&self, out: &mut Relocated) -> Result<()> {
        let image = self.image;
        let missing = || Error::new(format!("symbol {} does not exist", self.relocation.symbol));
        let symbol = image.elf.symbols.get(self.relocation.symbol).ok_or_else(missing)?;
        let insn = out.insns[self.slot];
        let is_call = insn.code == CALL;
        if !is_call && !insn.is_ld_imm64() {
            return Err(Error::new(format!(
                "relocation of symbol {} at an insn with opcode {:#x}, which does not support it",
                symbol.name, insn.code
            )));
        }
        if let Some(index) = image.externs.of_symbol(self.relocation.symbol) {
            if image.options.as_in_file {
                return Ok(());
            }
            return if is_call {
                self.kfunc_call(out, index)
            } else {
                self.is_plain(out)?;
                self.external(out, index)
            };
        }
        let Some(section) = symbol.section else {
            return Err(Error::new(format!("symbol {} is not defined", symbol.name)));
        };
        if is_call {
            return self.call(out);
        }
        let kind = image.kinds.get(section);
        if kind != Some(&SectionKind::Code) {
            self.is_plain(out)?;
        }
        match kind {
            Some(SectionKind::Code) => self.function_address(out),
            Some(SectionKind::BtfMaps | SectionKind::LegacyMaps | SectionKind::StructOps) => {
                self.map(out, symbol, section)
            }
            _ => self.data(out, symbol, section),
        }
    }

    fn target(&self) -> Target {
        let number = self.relocation.symbol;
        let section = self.image.elf.symbols.get(number).and_then(|symbol| symbol.section);
        match section.and_then(|of| self.image.kinds.get(of)) {
            _ if self.image.externs.of_symbol(number).is_some() => Target::Extern,
            Some(SectionKind::Code) => Target::Code,
            Some(SectionKind::BtfMaps | SectionKind::LegacyMaps | SectionKind::StructOps) => {
                Target::Map
            }
            _ => Target::Data,
        }
    }

    /// The function that an insn of the file calls, or whose address it has.
    fn callee(&self, insn: Insn) -> Result<usize> {
        let symbol = self.image.elf.symbols.get(self.relocation.symbol);
        let found = symbol.and_then(|symbol| Some((symbol, symbol.section?)));
        let (symbol, section) = found.ok_or_else(|| Error::new("the symbol is not defined"))?;
        let slot = match insn.code {
            // -1 for the first insn of the symbol.
            CALL => (symbol.value / INSN_BYTES as u64) as i64 + i64::from(insn.imm) + 1,
            _ => symbol.referred(insn.imm) as i64 / INSN_BYTES as i64,
        };
        self.image.function_at(section, usize::try_from(slot).unwrap_or(usize::MAX))
    }

    /// Checks that the insn is not marked as loading the address of a function.
    fn is_plain(&self, out: &Relocated) -> Result<()> {
        if out.insns[self.slot].src != BPF_PSEUDO_FUNC || self.image.options.as_in_file {
            return Ok(());
        }
        let text = "an insn that has the address of a function is relocated by something else";
        Err(Error::load(LoadClass::Open, text))
    }

    /// Both slots of the `ld_imm64`.
    fn pair<'o>(&self, out: &'o mut Relocated) -> Result<&'o mut [Insn; 2]> {
        let rest = out.insns.get_mut(self.slot..).unwrap_or_default();
        rest.first_chunk_mut::<2>().ok_or_else(|| Error::new("ld_imm64 is truncated"))
    }

    fn call(&self, out: &mut Relocated) -> Result<()> {
        let insn = out.insns[self.slot];
        if !links(Insn { src: BPF_PSEUDO_CALL, ..insn }) {
            return Ok(());
        }
        let callee = self.callee(insn)?;
        out.insns[self.slot].src = BPF_PSEUDO_CALL;
        out.calls.push((self.slot, callee));
        Ok(())
    }

    fn function_address(&self, out: &mut Relocated) -> Result<()> {
        let pair = self.pair(out)?;
        let callee = self.callee(pair[0])?;
        pair[0].src = BPF_PSEUDO_FUNC;
        out.calls.push((self.slot, callee));
        Ok(())
    }

    fn map(&self, out: &mut Relocated, symbol: &Symbol<'_>, section: usize) -> Result<()> {
        let offset = symbol.referred(self.pair(out)?[0].imm);
        let missing = || Error::new(format!("no map is defined at offset {offset:#x}"));
        let map = self.image.maps.of_variable(section, offset).ok_or_else(missing)?;
        if self.poison_missing_map(out, map)? {
            return Ok(());
        }
        let pair = self.pair(out)?;
        pair[0].src = BPF_PSEUDO_MAP_FD;
        pair[0].imm = map.0 as i32;
        Ok(())
    }

    fn data(&self, out: &mut Relocated, symbol: &Symbol<'_>, section: usize) -> Result<()> {
        let image = self.image;
        let name = &image.section(section).name;
        let map = match image.kinds.get(section) {
            Some(SectionKind::PerCpu) => {
                return Err(Error::new("not supported yet: variables of each CPU"));
            }
            Some(SectionKind::JumpTables) => {
                return Err(Error::new("not supported yet: jump tables"));
            }
            Some(SectionKind::Arena) => {
                let arena = image.maps.defs.iter().position(|d| d.map_type == MapType::Arena);
                arena.map(|index| MapIdx(index as u32))
            }
            _ => image.maps.of_section(section),
        };
        let map = map.ok_or_else(|| Error::new(format!("section {name} has no map")))?;
        if self.poison_missing_map(out, map)? {
            return Ok(());
        }
        let pair = self.pair(out)?;
        pair[0].src = BPF_PSEUDO_MAP_VALUE;
        pair[1].imm = pair[0].imm.wrapping_add(symbol.value as i32);
        pair[0].imm = map.0 as i32;
        Ok(())
    }

    /// A map that is not created may only be referred to by unreachable insns.
    fn poison_missing_map(&self, out: &mut Relocated, map: MapIdx) -> Result<bool> {
        let def = self.image.maps.defs.get(map.0 as usize).filter(|def| !def.autocreate);
        let Some(def) = def else { return Ok(false) };
        let imm = POISON_LDIMM64_MAP_BASE.wrapping_add(map.0 as i32);
        *self.pair(out)? = [Insn { code: CALL, imm, ..Insn::default() }; 2];
        let why = format!("map {} is not created: autocreate is off in the object", def.name);
        let slots = self.slot..=self.slot + 1;
        out.unresolved.extend(slots.map(|slot| (slot, Missing::Map, why.clone())));
        Ok(true)
    }

    fn external(&self, out: &mut Relocated, index: usize) -> Result<()> {
        let external = &self.image.externs.list[index];
        let value = external.value.clone()?;
        let kconfig = self.image.maps.of_kconfig();
        let pair = self.pair(out)?;
        match value {
            Value::Kconfig(offset) => {
                let map = kconfig.ok_or_else(|| Error::new("section .kconfig has no map"))?;
                pair[0].src = BPF_PSEUDO_MAP_VALUE;
                pair[0].imm = map.0 as i32;
                pair[1].imm = offset as i32;
            }
            Value::Address(address) => {
                pair[0].imm = address as u32 as i32;
                pair[1].imm = (address >> 32) as u32 as i32;
            }
            Value::KernelBtf(id) => {
                pair[0].src = BPF_PSEUDO_BTF_ID;
                pair[0].imm = id.0 as i32;
                pair[1].imm = 0;
            }
        }
        Ok(())
    }

    fn kfunc_call(&self, out: &mut Relocated, index: usize) -> Result<()> {
        let external = &self.image.externs.list[index];
        let insn = &mut out.insns[self.slot];
        match external.value.clone()? {
            Value::KernelBtf(id) => {
                insn.src = BPF_PSEUDO_KFUNC_CALL;
                insn.imm = id.0 as i32;
                insn.off = 0;
            }
            Value::Address(0) => {
                let imm = POISON_CALL_KFUNC_BASE.wrapping_add(index as i32);
                *insn = Insn { code: CALL, imm, ..Insn::default() };
                let why = format!("the kernel has no kfunc {} (a weak extern)", external.name);
                out.unresolved.push((self.slot, Missing::Kfunc, why));
            }
            _ => return Err(Error::new(format!("extern {} is not a function", external.name))),
        }
        Ok(())
    }
}
