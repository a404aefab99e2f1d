//! A finding as a file that can be judged again: all inputs of the load.

use super::compare::{Difference, Loader};
use serde::{Deserialize, Serialize};
use skep::btf::Btf;
use skep::insn::{Endian, InsnIdx, NoNames, decode_all, encode_all, write_insn};
use skep::program::{AttachTarget, FuncInfo, LineInfo, MapDef, Program};
use skep::uapi::{MapFlags, MapType, ProgFlags, ProgType};
use skep_testkit::exec::hex;
use std::sync::Arc;

/// The file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Case {
    /// The program from which it was made, and the edits.
    pub(super) base: String,
    pub(super) edits: Vec<String>,
    pub(super) difference: Difference,
    pub(super) loader: Loader,
    pub(super) prog_type: u32,
    pub(super) attach_type: u32,
    pub(super) attach: Option<(u32, String)>,
    pub(super) flags: u32,
    pub(super) license: String,
    pub(super) kern_version: u32,
    /// For readers.
    pub(super) listing: Vec<String>,
    insns: String,
    btf: String,
    func_info: Vec<[u32; 2]>,
    line_info: Vec<[u32; 4]>,
    maps: Vec<Map>,
}

/// A map definition, without what the kernel does not get.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Map {
    name: String,
    map_type: u32,
    /// Key, value, entries, flags.
    shape: [u32; 4],
    map_extra: u64,
    numa_node: u32,
    /// Key, value, value in the kernel's BTF.
    btf: [u32; 3],
    contents: String,
    frozen: bool,
    inner: Option<Box<Map>>,
}

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let pair = |at: usize| text.get(at..at + 2).and_then(|p| u8::from_str_radix(p, 16).ok());
    let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(pair).collect();
    bytes.ok_or_else(|| "bad hexadecimal digits".to_owned())
}

/// The insns, one a line.
pub(crate) fn listing(program: &Program) -> Vec<String> {
    let line = |i: usize| {
        let mut text = format!("{i}: ");
        let _ = write_insn(&mut text, &program.insns[i..], &NoNames, true);
        text
    };
    (0..program.insns.len()).map(line).collect()
}

impl Case {
    pub(super) fn new(
        base: &str,
        edits: &[String],
        program: &Program,
        loader: Loader,
        difference: Difference,
    ) -> Case {
        let attach = match &program.attach {
            AttachTarget::Kernel { btf_id, name } => Some((*btf_id, name.clone())),
            _ => None,
        };
        let btf = program.btf.as_ref().map(|btf| btf.to_bytes(skep::btf::Endian::NATIVE));
        let func_info = program.func_info.iter().map(|f| [f.insn_off.0, f.type_id]);
        let line_info = program
            .line_info
            .iter()
            .map(|l| [l.insn_off.0, l.file_name_off, l.line_off, l.line_col]);
        Case {
            base: base.to_owned(),
            edits: edits.to_vec(),
            difference,
            loader,
            prog_type: program.prog_type.number(),
            attach_type: program.expected_attach_type,
            attach,
            flags: program.prog_flags.bits(),
            license: program.license.clone(),
            kern_version: program.kern_version,
            listing: listing(program),
            insns: hex(&encode_all(&program.insns, Endian::Little)),
            btf: hex(&btf.unwrap_or_default()),
            func_info: func_info.collect(),
            line_info: line_info.collect(),
            maps: program.maps.iter().map(Map::new).collect(),
        }
    }

    /// The program, for a kernel with this BTF.
    pub(super) fn program(&self, kernel_btf: Option<Arc<Btf>>) -> Result<Program, String> {
        let btf = match unhex(&self.btf)? {
            bytes if bytes.is_empty() => None,
            bytes => Some(Arc::new(Btf::parse(&bytes).map_err(|e| e.to_string())?)),
        };
        let attach = match &self.attach {
            Some((btf_id, name)) => AttachTarget::Kernel { btf_id: *btf_id, name: name.clone() },
            None => AttachTarget::None,
        };
        let maps: Vec<MapDef> = self.maps.iter().map(Map::def).collect::<Result<_, _>>()?;
        let func_info =
            self.func_info.iter().map(|&[at, type_id]| FuncInfo { insn_off: InsnIdx(at), type_id });
        let line_info = self.line_info.iter().map(|&[at, file_name_off, line_off, line_col]| {
            LineInfo { insn_off: InsnIdx(at), file_name_off, line_off, line_col }
        });
        let insns = decode_all(&unhex(&self.insns)?, Endian::Little).map_err(|e| e.to_string())?;
        Ok(Program {
            name: "mutant".to_owned(),
            prog_type: ProgType::from_number(self.prog_type).unwrap_or_default(),
            expected_attach_type: self.attach_type,
            attach,
            prog_flags: ProgFlags::from_bits_retain(self.flags),
            license: self.license.clone(),
            kern_version: self.kern_version,
            autoload: true,
            insns,
            maps: maps.into(),
            btf,
            func_info: func_info.collect(),
            line_info: line_info.collect(),
            kernel_btf,
            ..Program::default()
        })
    }
}

impl Map {
    fn new(def: &MapDef) -> Map {
        Map {
            name: def.name.clone(),
            map_type: def.map_type.number(),
            shape: [def.key_size, def.value_size, def.max_entries, def.map_flags.bits()],
            map_extra: def.map_extra,
            numa_node: def.numa_node,
            btf: [def.btf_key_type_id, def.btf_value_type_id, def.btf_vmlinux_value_type_id],
            contents: hex(&def.contents),
            frozen: def.frozen,
            inner: def.inner.as_deref().map(|inner| Box::new(Map::new(inner))),
        }
    }

    fn def(&self) -> Result<MapDef, String> {
        let [key_size, value_size, max_entries, flags] = self.shape;
        let inner = self.inner.as_deref().map(Map::def).transpose()?;
        Ok(MapDef {
            name: self.name.clone(),
            map_type: MapType::from_number(self.map_type).unwrap_or_default(),
            key_size,
            value_size,
            max_entries,
            map_flags: MapFlags::from_bits_retain(flags),
            map_extra: self.map_extra,
            numa_node: self.numa_node,
            inner: inner.map(Box::new),
            btf_key_type_id: self.btf[0],
            btf_value_type_id: self.btf[1],
            btf_vmlinux_value_type_id: self.btf[2],
            contents: unhex(&self.contents)?,
            frozen: self.frozen,
            autocreate: true,
            ..MapDef::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::generate;

    #[test]
    fn a_file_gives_the_program_back() {
        let program = generate::program(7);
        let case = Case::new("a", &[], &program, Loader::Root, Difference::none());
        let text = serde_json::to_string(&case).expect("written");
        let read: Case = serde_json::from_str(&text).expect("read");
        let again = read.program(None).expect("a program");
        assert_eq!((&again.insns, again.prog_type), (&program.insns, program.prog_type));
        assert_eq!((&again.maps, again.prog_flags), (&program.maps, program.prog_flags));
        assert!(unhex("0").is_err() && unhex("zz").is_err());
    }
}
