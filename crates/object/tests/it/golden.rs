//! Our own objects, loaded as libbpf loads them: `golden.txt` is what libbpf gave to the kernel.

use skep_object::{LoadClass, Loader, Object, ObjectProgram, OpenOptions};
use skep_program::{MapDef, Program, SlotTarget};
use skep_uapi::MapType;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn tests_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

/// What the recording's machine had: Linux 6.18.44, two CPUs.
fn options(file: &str) -> OpenOptions {
    OpenOptions {
        name: Path::new(file).file_name().unwrap().to_str().unwrap().to_owned(),
        kconfig: Some("CONFIG_BPF_SYSCALL=y\n".into()),
        kernel_version: 0x06_12_2c,
        cpus: 2,
        ..OpenOptions::default()
    }
}

fn open(file: &str) -> Object {
    open_for(Loader::Libbpf, file)
}

fn open_for(loader: Loader, file: &str) -> Object {
    let bytes = std::fs::read(tests_dir().join(file)).unwrap();
    let options = OpenOptions { loader, ..options(file) };
    Object::open(&bytes, &options).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn map_lines(lines: &mut Vec<String>, map: &MapDef) {
    if let Some(inner) = &map.inner {
        map_lines(lines, inner);
    }
    lines.push(format!(
        "map {} type={} ks={} vs={} me={} flags={:#x} numa={} ktid={} vtid={} extra={:#x}",
        map.kernel_name(),
        map.map_type.number(),
        map.key_size,
        map.value_size,
        map.max_entries,
        map.map_flags.bits(),
        map.numa_node,
        map.btf_key_type_id,
        map.btf_value_type_id,
        map.map_extra
    ));
}

fn value_lines(lines: &mut Vec<String>, object: &Object) {
    for map in object.maps.iter() {
        if map.map_type == MapType::Array && map.name.contains('.') {
            let mut contents = map.contents.clone();
            contents.resize(map.value_size as usize, 0);
            let hash = fnv(&contents);
            lines.push(format!("value {} {} {hash:016x}", map.kernel_name(), map.value_size));
        }
        for slot in &map.slots {
            if let SlotTarget::Map(target) = slot.target {
                let target = object.maps[target.0 as usize].kernel_name();
                lines.push(format!("slot {}[{}] = {target}", map.kernel_name(), slot.index));
            }
        }
    }
}

fn program_line(program: &Program) -> String {
    let (mut insns, mut funcs, mut lines) = (String::new(), String::new(), String::new());
    for insn in &program.insns {
        let map = if insn.is_ld_imm64() && matches!(insn.src, 1 | 2) { "M" } else { "" };
        let (dst, src) = (insn.dst, insn.src);
        writeln!(insns, "{:02x} {dst} {src} {} {map}{}", insn.code, insn.off, insn.imm).unwrap();
    }
    for func in &program.func_info {
        writeln!(funcs, "{} {}", func.insn_off, func.type_id).unwrap();
    }
    for l in &program.line_info {
        let (file, line) = (l.file_name_off, l.line_off);
        writeln!(lines, "{} {file} {line} {}", l.insn_off, l.line_col).unwrap();
    }
    format!(
        "prog {} type={} attach={} flags={:#x} license={} n={} insns={:016x} funcs={:016x} \
         lines={:016x}",
        program.name,
        program.prog_type.number(),
        program.expected_attach_type,
        program.prog_flags.bits(),
        program.license,
        program.insns.len(),
        fnv(insns.as_bytes()),
        fnv(funcs.as_bytes()),
        fnv(lines.as_bytes())
    )
}

fn program(entry: &ObjectProgram) -> &Program {
    entry.program.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

fn describe(file: &str) -> Vec<String> {
    let object = open(file);
    let mut lines = Vec::new();
    object.maps.iter().for_each(|map| map_lines(&mut lines, map));
    value_lines(&mut lines, &object);
    lines.extend(object.programs.iter().map(|entry| program_line(program(entry))));
    lines
}

#[test]
fn objects_load_as_libbpf_loads_them() {
    let golden = include_str!("golden.txt");
    let mut files = 0;
    for block in golden.split("\n\n").filter(|block| block.contains("file ")) {
        let mut rows = block.lines().skip_while(|line| !line.starts_with("file "));
        let file = rows.next().and_then(|line| line.strip_prefix("file ")).unwrap();
        // libbpf creates the maps that have no inner map first, and fills slots last.
        let wanted: BTreeSet<&str> = rows.collect();
        let described = describe(file);
        let ours: BTreeSet<&str> = described.iter().map(String::as_str).collect();
        assert_eq!(ours, wanted, "{file}");
        files += 1;
    }
    assert_eq!(files, 18, "blocks of golden.txt");
}

#[test]
fn both_byte_orders_load_the_same() {
    for stem in ["externs", "kinds_of_map", "other_loaders"] {
        let little = open_for(Loader::Any, &format!("object/{stem}.bpf.o"));
        let big = open_for(Loader::Any, &format!("object/{stem}.bpf.be.o"));
        assert_eq!(little.programs.len(), big.programs.len(), "{stem}");
        assert_eq!(big.note.map(|note| note.class()), Some(Some(LoadClass::Open)), "{stem}");
        for (a, b) in little.programs.iter().zip(&big.programs) {
            // One has a section that says no type.
            assert_eq!(a.program.is_ok(), b.program.is_ok(), "{stem}: {}", a.name);
            let (Ok(a), Ok(b)) = (&a.program, &b.program) else { continue };
            assert_eq!(a.insns, b.insns, "{stem}: {}", a.name);
            assert_eq!((&a.func_info, &a.line_info), (&b.func_info, &b.line_info), "{stem}");
        }
        for (a, b) in little.maps.iter().zip(big.maps.iter()) {
            let same = MapDef { contents: b.contents.clone(), ..a.clone() };
            assert_eq!(&same, b, "{stem}: {}", a.name);
        }
    }
}
