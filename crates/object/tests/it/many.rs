//! Objects with very many of something: time and memory grow with the file, not with its square.

use rustix::time::{ClockId, clock_gettime};
use skep_btf::BTF_MAGIC;
use skep_object::{Loader, Object, OpenOptions};
use std::time::Duration;

const SYMBOLS: usize = 60_000;
/// Linear work takes well under a second; the square of it took a minute.
const TIME_MAX: Duration = Duration::from_secs(10);
/// `r0 = 0; exit`.
const EXIT: [u8; 16] = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];

/// A symbol of the section `xdp`: name (in the strings), type, offset, size.
type Symbol = (u32, u8, u64, u64);

/// An object with a section `xdp` of code, symbols, and maybe BTF.
fn elf(code: &[u8], symbols: &[Symbol], names: &[u8], btf: &[u8]) -> Vec<u8> {
    const SECTION_NAMES: &[u8] = b"\0xdp\0.symtab\0.strtab\0.BTF\0";
    let mut table = vec![0; 24];
    for &(name, kind, value, size) in symbols {
        table.extend(name.to_le_bytes());
        table.extend([1 << 4 | kind, 0, 1, 0]);
        table.extend(value.to_le_bytes());
        table.extend(size.to_le_bytes());
    }
    let strings = [names, SECTION_NAMES].concat();
    let named = |text: &[u8]| {
        let at = SECTION_NAMES.windows(text.len()).position(|part| part == text).unwrap();
        (names.len() + at) as u32
    };
    // Name, type, flags, contents, link, info, entry size.
    #[allow(clippy::type_complexity, reason = "a table of section headers")]
    let sections: [(u32, u32, u64, &[u8], u32, u32, u64); 5] = [
        (0, 0, 0, &[], 0, 0, 0),
        (named(b"xdp\0"), 1, 6, code, 0, 0, 0),
        (named(b".symtab\0"), 2, 0, &table, 3, 1, 24),
        (named(b".strtab\0"), 3, 0, &strings, 0, 0, 0),
        (named(b".BTF\0"), 1, 0, btf, 0, 0, 0),
    ];
    let mut file = vec![0; 64];
    let mut headers = Vec::new();
    for (name, kind, flags, data, link, info, entry) in sections {
        let offset = file.len() as u64;
        headers.extend([name, kind].map(u32::to_le_bytes).concat());
        headers.extend([flags, 0, offset, data.len() as u64].map(u64::to_le_bytes).concat());
        headers.extend([link, info].map(u32::to_le_bytes).concat());
        headers.extend([8, entry].map(u64::to_le_bytes).concat());
        file.extend(data);
        file.resize(file.len().next_multiple_of(8), 0);
    }
    let head = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\xf7\0\x01\0\0\0";
    file[..24].copy_from_slice(head);
    let at = file.len() as u64;
    file[40..48].copy_from_slice(&at.to_le_bytes());
    for (at, value) in [(52, 64u16), (58, 64), (60, 5), (62, 3)] {
        file[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    file.extend(headers);
    file
}

/// The CPU time of this thread, whatever else the machine does.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn open_in_time(file: &[u8]) -> Result<Object, String> {
    let begun = cpu_time();
    // libbpf takes untyped symbols for no programs.
    let options = OpenOptions { loader: Loader::Any, ..OpenOptions::default() };
    let object = Object::open(file, &options).map_err(|e| e.to_string());
    let taken = cpu_time() - begun;
    assert!(taken < TIME_MAX, "{taken:?}");
    object
}

#[test]
fn untyped_symbols_at_one_place() {
    let symbols = vec![(1, 0, 0, 0); SYMBOLS];
    let object = open_in_time(&elf(&EXIT, &symbols, b"\0f\0", b"")).unwrap();
    assert_eq!(object.programs.len(), SYMBOLS);
    let ends: Vec<Symbol> = vec![(1, 0, 16, 0), (1, 0, 0, 0), (1, 0, 0, 0)];
    let object = open_in_time(&elf(&EXIT.repeat(2), &ends, b"\0f\0", b"")).unwrap();
    let lens = object.programs.iter().map(|p| p.program.as_ref().unwrap().insns.len());
    assert_eq!(lens.collect::<Vec<_>>(), [2, 2, 2], "each goes on to the next place");
}

#[test]
fn functions_that_are_the_whole_section() {
    let code = EXIT.repeat(20_000);
    let symbols = vec![(1, 2, 0, 0); SYMBOLS];
    let object = open_in_time(&elf(&code, &symbols, b"\0f\0", b"")).unwrap();
    let mut failed = object.programs.iter().filter_map(|p| p.program.as_ref().err());
    assert!(failed.next_back().unwrap().to_string().contains("insns together"));
}

#[test]
fn exception_callbacks_that_do_not_exist() {
    // `f` is a function with the tag.
    let strings = b"\0f\0exception_callback:x\0";
    let types = [0, 13 << 24, 0, 1, 12 << 24 | 1, 1, 3, 17 << 24, 2, u32::MAX];
    let header = [1 << 16 | u32::from(BTF_MAGIC), 24, 0, 40, 40, strings.len() as u32];
    let btf = [&header[..], &types].concat().into_iter().flat_map(u32::to_le_bytes);
    let btf: Vec<u8> = btf.chain(*strings).collect();
    let symbols: Vec<_> = (0..SYMBOLS as u64).map(|n| (1, 2, 16 * n, 16)).collect();
    let object = open_in_time(&elf(&EXIT.repeat(SYMBOLS), &symbols, b"\0f\0", &btf)).unwrap();
    let error = object.programs[0].program.as_ref().unwrap_err().to_string();
    assert!(error.ends_with("exception callback: function x does not exist"), "{error}");
}

#[test]
fn names_that_share_their_bytes() {
    let names = [b"\0".as_slice(), &b"n".repeat(5000), b"\0"].concat();
    let symbols: Vec<_> = (0..SYMBOLS as u64).map(|n| (1, 2, 16 * n, 16)).collect();
    let error = open_in_time(&elf(&EXIT.repeat(SYMBOLS), &symbols, &names, b"")).unwrap_err();
    assert_eq!(error, "read symbols: the names are longer than the file");
}
