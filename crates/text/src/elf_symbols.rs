//! Machine code for debuggers: an in-memory ELF image that names its functions.
//!
//! The image contains no code itself: its `.text` refers to the memory of the code. Debuggers load
//! such images through gdb's JIT interface (`__jit_debug_descriptor`), which the process must
//! provide, not a library.

use crate::machine_code::MachineCode;
use crate::perf::full_name;

const HEADER_BYTES: u64 = 64;
const SECTION_BYTES: u64 = 64;
const SYMBOL_BYTES: u64 = 24;
/// `ET_EXEC`, `EM_X86_64`.
const KIND: [u16; 2] = [2, 62];
/// `ELFCLASS64`, `ELFDATA2LSB`, `EV_CURRENT`.
const IDENT: [u8; 16] = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0";
/// `STB_GLOBAL`, `STT_FUNC`.
const FUNCTION: u8 = 1 << 4 | 2;
/// `SHT_SYMTAB`, `SHT_STRTAB`, `SHT_NOBITS`.
const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const NOBITS: u32 = 8;
/// `SHF_ALLOC`, `SHF_EXECINSTR`.
const ALLOC: u64 = 2;
const EXECINSTR: u64 = 4;
/// Index of `.text`.
const TEXT: u16 = 1;
/// Names of sections, and the offset of each.
const NAMES: &[u8] = b"\0.text\0.symtab\0.strtab\0";
const TEXT_NAME: u32 = 1;
const SYMTAB_NAME: u32 = 7;
const STRTAB_NAME: u32 = 15;

/// The image for a program.
pub fn elf_symbols(code: &MachineCode, program: &str) -> Vec<u8> {
    let mut names = NAMES.to_vec();
    let mut symbols = vec![0; SYMBOL_BYTES as usize];
    for symbol in code.symbols() {
        symbols.extend((names.len() as u32).to_le_bytes());
        symbols.extend([FUNCTION, 0]);
        symbols.extend(TEXT.to_le_bytes());
        words(&mut symbols, &[code.address() + u64::from(symbol.off), u64::from(symbol.len)]);
        names.extend(full_name(symbol, program).bytes());
        names.push(0);
    }
    let names_off = HEADER_BYTES + symbols.len() as u64;
    let sections_off = (names_off + names.len() as u64).next_multiple_of(8);

    let mut image = IDENT.to_vec();
    KIND.iter().for_each(|half| image.extend(half.to_le_bytes()));
    image.extend(1u32.to_le_bytes());
    words(&mut image, &[0, 0, sections_off]);
    image.extend(0u32.to_le_bytes());
    for half in [HEADER_BYTES as u16, 0, 0, SECTION_BYTES as u16, 4, 3] {
        image.extend(half.to_le_bytes());
    }
    let (symbols_len, names_len) = (symbols.len() as u64, names.len() as u64);
    image.extend(symbols);
    image.extend(names);
    image.resize(sections_off as usize, 0);
    let text = SectionHeader {
        name: TEXT_NAME,
        kind: NOBITS,
        flags: ALLOC | EXECINSTR,
        addr: code.address(),
        size: code.bytes().len() as u64,
        addralign: 16,
        ..SectionHeader::default()
    };
    let symtab = SectionHeader {
        name: SYMTAB_NAME,
        kind: SYMTAB,
        offset: HEADER_BYTES,
        size: symbols_len,
        // The section of names, and the index of the first global symbol.
        link: 3,
        info: 1,
        addralign: 8,
        entsize: SYMBOL_BYTES,
        ..SectionHeader::default()
    };
    let strtab = SectionHeader {
        name: STRTAB_NAME,
        kind: STRTAB,
        offset: names_off,
        size: names_len,
        addralign: 1,
        ..SectionHeader::default()
    };
    for header in [SectionHeader::default(), text, symtab, strtab] {
        header.write(&mut image);
    }
    image
}

/// `Elf64_Shdr`; the default is that of section 0.
#[derive(Default)]
struct SectionHeader {
    name: u32,
    kind: u32,
    flags: u64,
    addr: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    addralign: u64,
    entsize: u64,
}

impl SectionHeader {
    fn write(&self, image: &mut Vec<u8>) {
        [self.name, self.kind].iter().for_each(|word| image.extend(word.to_le_bytes()));
        words(image, &[self.flags, self.addr, self.offset, self.size]);
        [self.link, self.info].iter().for_each(|word| image.extend(word.to_le_bytes()));
        words(image, &[self.addralign, self.entsize]);
    }
}

fn words(image: &mut Vec<u8>, words: &[u64]) {
    words.iter().for_each(|word| image.extend(word.to_le_bytes()));
}
