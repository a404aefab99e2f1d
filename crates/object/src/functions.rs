//! Functions of the executable sections, and which of them are programs.
//!
//! libbpf's rules: each function symbol of a section other than `.text` is a program; functions of
//! `.text` are subprogs, unless the object has only one function. skep accepts more, because real
//! objects need it: static functions may be programs; so may untyped symbols, sections without
//! symbols, and the global functions of an object that only has `.text`.
//!
//! # Invariants
//! 1. Functions are ordered by section, then by offset.
//! 2. `start..end` lies inside the insns of the section and is not empty.

use crate::elf::{Binding, Elf, Symbol, SymbolKind};
use crate::error::{Context, Error, Result};
use crate::sections::{SectionKind, TEXT};
use skep_btf::{Btf, Kind};
use skep_insn::{INSN_BYTES, Insn, decode_all};
use std::ops::Range;

/// A function: an entry program, a subprog, or both.
pub(crate) struct Function {
    pub(crate) name: String,
    /// Index of its section.
    pub(crate) section: usize,
    /// Insns in its section, slots.
    pub(crate) range: Range<usize>,
    /// Entry program.
    pub(crate) entry: bool,
    /// Whether it is local to the object (`static`).
    pub(crate) local: bool,
    /// Whether its symbol is a function symbol, as libbpf requires.
    pub(crate) typed: bool,
    /// A global function with hidden visibility: static for the verifier.
    pub(crate) hidden: bool,
}

/// All code of an object.
pub(crate) struct Functions {
    pub(crate) list: Vec<Function>,
    /// Insns by section index, empty for sections that are not code.
    pub(crate) insns: Vec<Vec<Insn>>,
}

impl Functions {
    /// Finds the functions of an object; `typed_only` if symbols of functions alone define them.
    pub(crate) fn read(
        elf: &Elf<'_>,
        kinds: &[SectionKind],
        btf: Option<&Btf>,
        typed_only: bool,
    ) -> Result<Functions> {
        let mut functions = Functions { list: Vec::new(), insns: Vec::new() };
        let mut symbols: Vec<Vec<&Symbol<'_>>> = vec![Vec::new(); elf.sections.len()];
        for symbol in &elf.symbols {
            if let Some(of) = symbol.section.and_then(|s| symbols.get_mut(s)) {
                of.push(symbol);
            }
        }
        for (section, kind) in elf.sections.iter().zip(kinds) {
            if *kind != SectionKind::Code {
                functions.insns.push(Vec::new());
                continue;
            }
            let of = symbols.get(section.index).map_or(&[][..], |s| s);
            // Bytes after the last whole insn belong to no function.
            let whole = section.data.len() / INSN_BYTES * INSN_BYTES;
            let data = if typed_only { &section.data[..whole] } else { section.data };
            let insns = decode_all(data, elf.endian)
                .map_err(Error::new)
                .context(|| format!("section {}", section.name))?;
            functions.read_section(section.index, &section.name, &insns, of)?;
            functions.insns.push(insns);
        }
        // Of those that begin at one insn, libbpf lists the last symbol first.
        functions.list.reverse();
        functions.list.sort_by_key(|f| (f.section, f.range.start));
        functions.pick_entries(elf, kinds, btf, typed_only);
        Ok(functions)
    }

    fn read_section(
        &mut self,
        section: usize,
        section_name: &str,
        insns: &[Insn],
        symbols: &[&Symbol<'_>],
    ) -> Result<()> {
        let before = self.list.len();
        for symbol in symbols.iter().filter(|s| s.kind == SymbolKind::Func) {
            let range = range_of(symbol, insns.len()).ok_or_else(|| {
                let cause = format!("function {} lies outside the section", symbol.name);
                Error::at(section_name, symbol.value, cause)
            })?;
            self.push(symbol, section, range);
        }
        if self.list.len() > before || insns.is_empty() {
            return Ok(());
        }
        self.read_untyped(section, insns.len(), symbols);
        if self.list.len() == before && section_name != TEXT {
            let name = section_name.trim_start_matches('?').replace('/', "_");
            let range = 0..insns.len();
            self.list.push(Function {
                name,
                section,
                range,
                entry: true,
                local: false,
                typed: false,
                hidden: false,
            });
        }
        Ok(())
    }

    /// Untyped global symbols: each extends to the next, the last to the end of the section.
    fn read_untyped(&mut self, section: usize, slots: usize, symbols: &[&Symbol<'_>]) {
        let mut starts: Vec<&&Symbol<'_>> = symbols
            .iter()
            .filter(|s| s.kind == SymbolKind::NoType && s.binding != Binding::Local)
            .filter(|s| s.value.is_multiple_of(INSN_BYTES as u64) && slot(s.value) < slots)
            .collect();
        starts.sort_by_key(|s| s.value);
        // From last to first: `end` is the start of the next one.
        let (mut end, mut above) = (slots, slots);
        let ranges: Vec<Range<usize>> = starts
            .iter()
            .rev()
            .map(|symbol| {
                let start = slot(symbol.value);
                if start < above {
                    (end, above) = (above, start);
                }
                start..end
            })
            .collect();
        for (symbol, range) in starts.iter().zip(ranges.into_iter().rev()) {
            self.push(symbol, section, range);
        }
    }

    fn push(&mut self, symbol: &Symbol<'_>, section: usize, range: Range<usize>) {
        let hidden = symbol.binding != Binding::Local && symbol.hidden;
        let name = symbol.name.clone().into_owned();
        let local = symbol.binding == Binding::Local;
        let typed = symbol.kind == SymbolKind::Func;
        self.list.push(Function { name, section, range, entry: true, local, typed, hidden });
    }

    /// Of several sections `.text`, libbpf takes the last; functions of the others are programs of
    /// no type.
    fn pick_entries(
        &mut self,
        elf: &Elf<'_>,
        kinds: &[SectionKind],
        btf: Option<&Btf>,
        last_only: bool,
    ) {
        // Compilers that give each function a section of its own name it after `.text`; for libbpf,
        // these are unknown.
        let is_part = |name: &str| !last_only && name.starts_with(".text.");
        let is_named = |name: &str| name == TEXT || is_part(name);
        let named = |at: usize| elf.sections.get(at).is_some_and(|s| is_named(&s.name));
        let is_code = |at: &usize| kinds.get(*at) == Some(&SectionKind::Code) && named(*at);
        let last = (0..kinds.len()).rfind(is_code);
        let is_text = |f: &Function| named(f.section) && (!last_only || Some(f.section) == last);
        let only_text = self.list.iter().all(is_text);
        let single = self.list.len() == 1;
        for function in &mut self.list {
            function.entry = single
                || if only_text {
                    !function.local && btf.is_none_or(|btf| takes_context(btf, &function.name))
                } else {
                    !is_text(function)
                };
        }
    }

    /// The function that contains an insn of a section: the last of those that begin before it, as
    /// in libbpf, or none if that ends before it.
    pub(crate) fn find(&self, section: usize, slot: usize) -> Option<usize> {
        let after = self.list.partition_point(|f| (f.section, f.range.start) <= (section, slot));
        let index = after.checked_sub(1)?;
        let found = self.list.get(index)?;
        (found.section == section && found.range.contains(&slot)).then_some(index)
    }
}

/// Whether a function has one parameter, a pointer.
fn takes_context(btf: &Btf, name: &str) -> bool {
    let Some(id) = btf.find_by_name_kind(name, Kind::Func) else { return false };
    let mut params = btf.ty(id).target().params();
    let first = params.next().map(|p| btf.skip_modifiers(p.ty).kind());
    first == Some(Kind::Ptr) && params.next().is_none()
}

fn slot(bytes: u64) -> usize {
    usize::try_from(bytes / INSN_BYTES as u64).unwrap_or(usize::MAX)
}

fn range_of(symbol: &Symbol<'_>, slots: usize) -> Option<Range<usize>> {
    let end = symbol.value.checked_add(symbol.size_bytes)?;
    let aligned = [symbol.value, end].iter().all(|at| at.is_multiple_of(INSN_BYTES as u64));
    let end = if symbol.size_bytes == 0 { slots } else { slot(end) };
    let range = slot(symbol.value)..end;
    (aligned && !range.is_empty() && end <= slots).then_some(range)
}
