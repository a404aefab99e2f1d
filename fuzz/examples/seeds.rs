//! Writes the first inputs of each target, made of our own objects, suites and tables only.
//!
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds -- FOLDER` makes `FOLDER/TARGET/...`.

use skep_btf::BtfExt;
use skep_insn::{Endian, NoNames, encode_all, table::OPCODES, write_insn};
use skep_insn::{INSN_BYTES, Insn};
use skep_object::{Object, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn main() -> io::Result<()> {
    let out = std::env::args_os().nth(1).map(PathBuf::from);
    let out = out.ok_or_else(|| io::Error::other("usage: seeds FOLDER"))?;
    let mut seeds = Seeds { out };
    for folder in ["tests/programs", "tests/object"] {
        for path in files(folder, "o")? {
            seeds.object(&name(&path), &std::fs::read(&path)?)?;
            seeds.stripped(&path)?;
        }
    }
    for path in files("tests/verifier", "md")? {
        seeds.suite(&name(&path), &std::fs::read_to_string(&path)?)?;
    }
    seeds.tables()?;
    for (n, line) in CLI.iter().enumerate() {
        seeds.write("cli_args", &format!("line{n}"), line.as_bytes())?;
    }
    Ok(())
}

/// Filter, statistics, sort, `-G`, glob, CSV.
const CLI: [&str; 9] = [
    "xdp*/main*\nfile,prog,verdict,insns\ninsns^,file\nlimit = 3\n*.bpf.o\nfile_name,prog_name,verdict,total_insns\na.o,p,success,12\n",
    "!insns>=100\ntotal_states_diff,verdict_a\n|states_pct|v,prog\nx.y[2].z = -0x10\n[a-z]*\n",
    "verdict=failure\nsize,jited,stack,attach_type\nstack!\nbig = true\n?oo\nfile,prog\n",
    "a/b\ndur\n-\nlimits[1] = 0777\n**\n",
    "stack_a<=5%\ninsns_b\nduration_pct^\nrounds = false\n{a,b}\n",
    "total_insns != 3\n\n\ncount = RED\n\n",
    "\n\n\ntable[1] = --170141183460469231731687303715884105728\n\n",
    "\n\n\ntable[63] = --5\n\n",
    "\n\n\ntable[0] = 0x-5\n\n",
];

struct Seeds {
    out: PathBuf,
}

impl Seeds {
    fn write(&mut self, target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let folder = self.out.join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(name), bytes)
    }

    /// The object without debug information, which says nothing to us, if LLVM's tool is there.
    fn stripped(&mut self, path: &Path) -> io::Result<()> {
        let to = self.out.join("object_open").join(format!("{}-stripped", name(path)));
        let strip = |tool: &str| {
            let mut command = std::process::Command::new(tool);
            command.arg("-g").arg(path).arg("-o").arg(&to).status().is_ok_and(|s| s.success())
        };
        if !["llvm-strip", "llvm-strip-19"].into_iter().any(strip) {
            eprintln!("seeds: no llvm-strip, the objects stay large");
        }
        Ok(())
    }

    fn object(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write("object_open", name, bytes)?;
        if let Some(btf) = section(bytes, b".BTF\0") {
            self.write("btf_parse", name, btf)?;
        }
        if let Some(ext) = section(bytes, b".BTF.ext\0") {
            assert!(BtfExt::parse(ext).is_ok(), "{name}");
            let relo = |ty: u8, kind: u8, insn: u8, access: &[u8]| {
                ([ty, kind, insn, access.len() as u8], access.to_vec())
            };
            let relos = [
                relo(7, 0, 2, b"0:0:1"),
                relo(4, 1, 0, b"0:1"),
                relo(8, 11, 6, b"1"),
                relo(7, 8, 0, b"0"),
            ];
            let heads = relos.iter().flat_map(|r| r.0);
            let texts = relos.iter().flat_map(|r| r.1.clone());
            let all: Vec<u8> = [relos.len() as u8].into_iter().chain(heads).chain(texts).collect();
            self.write("btf_ext_parse", name, &[&all, ext].concat())?;
        }
        let options = OpenOptions { name: "seed".into(), ..OpenOptions::default() };
        let Ok(object) = Object::open(bytes, &options) else { return Ok(()) };
        for entry in &object.programs {
            let Ok(program) = &entry.program else { continue };
            let insns = encode_all(&program.insns, Endian::Little);
            let insns = &insns[..insns.len().min(256 * INSN_BYTES)];
            let name = format!("{name}-{}", entry.name);
            self.write("insn_decode", &name, insns)?;
            let head = [program.prog_type.number() as u8, 0];
            self.write("verify_bytecode", &name, &[&head, insns].concat())?;
        }
        Ok(())
    }

    fn suite(&mut self, name: &str, text: &str) -> io::Result<()> {
        for case in skep_testkit::suite::read(text).map_err(io::Error::other)? {
            let Ok((program, _)) = skep_testkit::suite::program(&case, None) else { continue };
            let head = [program.prog_type.number() as u8, 0];
            let insns = encode_all(&program.insns, Endian::Little);
            let name = format!("{name}-{}", case.line);
            self.write("verify_bytecode", &name, &[&head, &insns[..]].concat())?;
        }
        let mut blocks = text.split("```").skip(1).step_by(2);
        // A head, and one case each.
        let options = blocks.clone().find(|block| block.starts_with("toml\n")).unwrap_or("toml\n");
        let mut n = 0;
        blocks.try_for_each(|block| {
            let Some(bpf) = block.strip_prefix("bpf\n") else { return Ok(()) };
            n += 1;
            self.write("asm_parse", &format!("{name}-{n}"), bpf.as_bytes())?;
            let suite = format!("# S\n\n```{options}```\n\n## A\n\n```{block}```\n");
            self.write("suite_parse", &format!("{name}-{n}"), suite.as_bytes())
        })
    }

    /// Each opcode once, as bytes and as text.
    fn tables(&mut self) -> io::Result<()> {
        let (mut insns, mut text) = (Vec::new(), String::new());
        for row in OPCODES {
            let insn = Insn { code: row.code, dst: 1, src: 2, off: 1, imm: 16 };
            let line = text.len();
            let slots = [insn, Insn::default()];
            write_insn(&mut text, &slots, &NoNames, true).expect("strings take all");
            if text.len() > line {
                text.push('\n');
            }
            insns.extend(&slots[..1 + usize::from(insn.is_ld_imm64())]);
        }
        self.write("insn_decode", "opcodes", &encode_all(&insns, Endian::Little))?;
        self.write("insn_decode", "opcodes_be", &encode_all(&insns, Endian::Big))?;
        self.write("asm_parse", "opcodes", text.as_bytes())?;
        let lines = "out: r1 = map[m]\nr2 = map_value[m]+8\nr3 = ksym[k]\nr4 = func[out] ; c\n\
            call kfunc[f]\n.insn 0x07 1 0 0 -8\nif w1 s> -5 goto out\ncall out\nr0 = 7 ll\n";
        self.write("asm_parse", "symbols", lines.as_bytes())
    }
}

/// The contents of a section, by a walk over the section headers of a little-endian ELF file.
fn section<'a>(bytes: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let number = |at: usize, len: usize| {
        let field = bytes.get(at..at + len)?;
        Some(field.iter().rev().fold(0usize, |sum, &byte| sum << 8 | usize::from(byte)))
    };
    let table = number(40, 8)?;
    let names = number(table + 64 * number(62, 2)? + 24, 8)?;
    (0..number(60, 2)?).find_map(|n| {
        let header = table + 64 * n;
        let name = bytes.get(names + number(header, 4)?..)?;
        let at = number(header + 24, 8)?;
        let data = bytes.get(at..at + number(header + 32, 8)?)?;
        name.starts_with(wanted).then_some(data)
    })
}

fn files(folder: &str, extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(Path::new(ROOT).join(folder))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
