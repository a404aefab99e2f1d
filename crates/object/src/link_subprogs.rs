//! Appends the functions that a program calls, and sets the offsets of its calls.
//!
//! Order, as in libbpf: depth first, each function at its first call; last the exception callback
//! named by an `exception_callback:` declaration tag.

use crate::error::{Error, Result};
use crate::loader::LoadClass;
use crate::relocate::{INSNS_MAX, Relocated, Relocator};
use rustc_hash::FxHashMap;
use skep_btf::{Btf, FuncLinkage, Kind};
use skep_insn::{INSN_BYTES, Insn, InsnIdx};
use skep_program::{FuncInfo, LineInfo, Unresolved};
use std::sync::Arc;

/// A linked program.
#[derive(Default)]
pub(crate) struct Linked {
    pub(crate) insns: Vec<Insn>,
    pub(crate) func_info: Vec<FuncInfo>,
    pub(crate) line_info: Vec<LineInfo>,
    pub(crate) unresolved: Vec<Unresolved>,
}

/// Links the programs of an object one after the other.
pub(crate) struct Linker<'i, 'a> {
    relocator: Relocator<'i, 'a>,
    insns_total: usize,
    exception_callbacks: Callbacks,
    /// The first function with each name that is not an entry.
    subprogs_by_name: FxHashMap<&'i str, usize>,
}

/// A function being linked: its position, and how many of its calls are done.
struct Frame {
    code: Arc<Relocated>,
    start: usize,
    next_call: usize,
}

impl<'i, 'a> Linker<'i, 'a> {
    pub(crate) fn new(relocator: Relocator<'i, 'a>) -> Self {
        let exception_callbacks =
            relocator.image.btf.as_ref().map(Callbacks::read).unwrap_or_default();
        let mut subprogs_by_name = FxHashMap::default();
        for (index, function) in relocator.image.functions.list.iter().enumerate() {
            if !function.entry {
                subprogs_by_name.entry(function.name.as_str()).or_insert(index);
            }
        }
        Linker { relocator, insns_total: 0, exception_callbacks, subprogs_by_name }
    }

    /// The first CO-RE relocation of a subprog that fails. libbpf applies those of all, whichever
    /// program is loaded.
    pub(crate) fn failed_subprog(&mut self) -> Option<Error> {
        let functions = &self.relocator.image.functions.list;
        let mut subprogs = (0..functions.len()).filter(|&index| !functions[index].entry);
        subprogs.find_map(|index| {
            let error = self.relocator.function(index).err()?;
            (error.class() == Some(LoadClass::Core)).then_some(error)
        })
    }

    /// Links the program whose entry is the function `entry`.
    pub(crate) fn link(&mut self, entry: usize) -> Result<Linked> {
        let mut linked = Linked::default();
        let mut places = FxHashMap::default();
        self.append_with_callees(&mut linked, &mut places, entry)?;
        if let Some(callback) = self.exception_callback(entry)?
            && !places.contains_key(&callback)
        {
            self.append_with_callees(&mut linked, &mut places, callback)?;
        }
        Ok(linked)
    }

    fn append_with_callees(
        &mut self,
        linked: &mut Linked,
        places: &mut FxHashMap<usize, usize>,
        function: usize,
    ) -> Result<()> {
        let mut stack = vec![self.append(linked, places, function)?];
        while let Some(frame) = stack.last_mut() {
            let Some(&(slot, callee)) = frame.code.calls.get(frame.next_call) else {
                stack.pop();
                continue;
            };
            let at = frame.start + slot;
            if let Some(&place) = places.get(&callee) {
                frame.next_call += 1;
                let distance = place as i64 - at as i64 - 1;
                if let Some(insn) = linked.insns.get_mut(at) {
                    insn.imm = distance as i32;
                }
            } else {
                stack.push(self.append(linked, places, callee)?);
            }
        }
        Ok(())
    }

    fn append(
        &mut self,
        linked: &mut Linked,
        places: &mut FxHashMap<usize, usize>,
        function: usize,
    ) -> Result<Frame> {
        let code = self.relocator.function(function)?;
        let start = linked.insns.len();
        places.insert(function, start);
        linked.insns.extend_from_slice(&code.insns);
        let unresolved = code.unresolved.iter().map(|(slot, missing, what)| Unresolved {
            insn: InsnIdx((start + slot) as u32),
            missing: *missing,
            what: what.clone(),
        });
        linked.unresolved.extend(unresolved);
        let lines = linked.line_info.len();
        self.append_info(linked, function, start)?;
        self.insns_total += code.insns.len() + linked.line_info.len() - lines;
        if self.insns_total > 2 * INSNS_MAX {
            return Err(Error::new(format!("programs have more than {INSNS_MAX} insns together")));
        }
        Ok(Frame { code, start, next_call: 0 })
    }

    /// In libbpf, info that the program lacks is not passed on for its subprogs, and info that it
    /// has must exist for each of them.
    fn append_info(&self, linked: &mut Linked, function: usize, start: usize) -> Result<()> {
        let image = self.relocator.image;
        let Some(function) = image.functions.list.get(function) else { return Ok(()) };
        let Some(info) = image.info.get(function.section) else { return Ok(()) };
        let range = &function.range;
        // What is out of order may be before the function: the numbers wrap, as libbpf's do.
        let moved = (start as u32).wrapping_sub(range.start as u32);
        let place = |bytes: u32| InsnIdx((bytes / INSN_BYTES as u32).wrapping_add(moved));
        let strict = image.options.as_libbpf();
        let tells = |what, of_program: bool, of_function: bool| match () {
            () if start == 0 || !strict => Ok(of_function),
            () if of_program && !of_function => {
                let text = format!("function {}: .BTF.ext has no {what} for it", function.name);
                Err(Error::load(LoadClass::Open, text))
            }
            () => Ok(of_program),
        };
        let funcs = info.funcs.of(range, |r| r.insn_off);
        let tells_funcs = tells("func info", !linked.func_info.is_empty(), !funcs.is_empty())?;
        let funcs = if tells_funcs { funcs } else { &[] };
        linked.func_info.extend(
            funcs.iter().map(|r| FuncInfo { insn_off: place(r.insn_off), type_id: r.type_id.0 }),
        );
        let lines = info.lines.of(range, |r| r.insn_off);
        let tells_lines = tells("line info", !linked.line_info.is_empty(), !lines.is_empty())?;
        let lines = if tells_lines { lines } else { &[] };
        linked.line_info.extend(lines.iter().map(|r| LineInfo {
            insn_off: place(r.insn_off),
            file_name_off: r.file_name_off,
            line_off: r.line_off,
            line_col: r.line_col,
        }));
        Ok(())
    }

    /// The function that the entry's `exception_callback:` tag names.
    fn exception_callback(&self, entry: usize) -> Result<Option<usize>> {
        let image = self.relocator.image;
        let strict = image.options.as_libbpf();
        let refuse = |why| Err(Error::load(LoadClass::Open, format!("exception callback{why}")));
        if let Some(of) = self.exception_callbacks.misplaced.as_ref().filter(|_| strict) {
            return refuse(format!(": the tag of {of} is not one of a global function"));
        }
        let functions = &image.functions.list;
        let tag = functions.get(entry).and_then(|f| self.exception_callbacks.named.get(&f.name));
        let Some(Some(name)) = tag else { return Ok(None) };
        let found = self.subprogs_by_name.get(name.as_str()).copied();
        let Some(index) = found else {
            return refuse(format!(": function {name} does not exist"));
        };
        if strict && functions.get(index).is_some_and(|it| it.local || it.hidden) {
            return refuse(format!(" {name}: it must be global and not hidden"));
        }
        Ok(Some(index))
    }
}

/// The `exception_callback:` tags of an object.
#[derive(Default)]
struct Callbacks {
    /// The value of a function's tag, by the function's name; none if it has several tags, which
    /// the kernel rejects.
    named: FxHashMap<String, Option<String>>,
    /// What has such a tag, and is no global function: libbpf then loads no program.
    misplaced: Option<String>,
}

impl Callbacks {
    fn read(btf: &Btf) -> Callbacks {
        let mut callbacks = Callbacks::default();
        for tag in btf.iter().filter(|t| t.kind() == Kind::DeclTag && t.component_idx().is_none()) {
            let Some(name) = tag.name().strip_prefix("exception_callback:") else { continue };
            let of = tag.target();
            if of.kind() != Kind::Func || of.func_linkage() == FuncLinkage::Static as u16 {
                callbacks.misplaced.get_or_insert_with(|| of.name().to_owned());
            }
            if of.kind() == Kind::Func {
                let named = callbacks.named.entry(of.name().to_owned());
                named.and_modify(|c| *c = None).or_insert_with(|| Some(name.to_owned()));
            }
        }
        callbacks
    }
}
