//! `BTF.ext`: which insn is which function, source line, and CO-RE relocation.

use crate::{Btf, Endian, Error, TypeId};

/// A parsed `.BTF.ext`; strings live in the object's [`Btf`].
#[derive(Clone, Debug, Default)]
pub struct BtfExt {
    /// Functions, by ELF section.
    pub funcs: Vec<ExtSection<FuncInfo>>,
    /// Source lines, by ELF section.
    pub lines: Vec<ExtSection<LineInfo>>,
    /// CO-RE relocations, by ELF section.
    pub core_relos: Vec<ExtSection<CoreRelo>>,
}

/// The records of one ELF section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtSection<T> {
    /// Offset of the ELF section's name in the BTF strings.
    pub name_off: u32,
    /// In the order of the file.
    pub records: Vec<T>,
}

/// A function begins here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FuncInfo {
    /// Bytes from the start of the ELF section.
    pub insn_off: u32,
    /// A `FUNC`.
    pub type_id: TypeId,
}

/// The insns from here on come from this source line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// Bytes from the start of the ELF section.
    pub insn_off: u32,
    /// Name of the source file, in the BTF strings.
    pub file_name_off: u32,
    /// Text of the source line, in the BTF strings.
    pub line_off: u32,
    /// Line number and column: see [`LineInfo::line`] and [`LineInfo::column`].
    pub line_col: u32,
}

impl LineInfo {
    /// Line number, from 1.
    pub fn line(self) -> u32 {
        self.line_col >> 10
    }
    /// Column, from 1.
    pub fn column(self) -> u32 {
        self.line_col & 0x3ff
    }
    /// Name of the source file.
    pub fn file_name(self, btf: &Btf) -> &str {
        btf.str(self.file_name_off)
    }
    /// Text of the source line.
    pub fn line_text(self, btf: &Btf) -> &str {
        btf.str(self.line_off)
    }
}

/// A CO-RE relocation as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreRelo {
    /// Bytes from the start of the ELF section.
    pub insn_off: u32,
    /// The root type, in the object's BTF.
    pub type_id: TypeId,
    /// The access string (`0:1:2`), in the BTF strings.
    pub access_str_off: u32,
    /// Number of a [`crate::core::ReloKind`].
    pub kind: u32,
}

impl BtfExt {
    /// Parses a `.BTF.ext` section of either byte order.
    pub fn parse(bytes: &[u8]) -> Result<BtfExt, Error> {
        let _: Endian = crate::btf::sniff_endian(bytes)?;
        Err(Error::new("BTF.ext is not supported yet"))
    }
}
