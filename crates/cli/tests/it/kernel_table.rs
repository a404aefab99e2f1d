//! `skep stat` prints for the shipped programs what the kernel said about them.
//!
//! `tests/programs/kernel-6.18.csv` was recorded from Linux 6.18.44 through `bpf(2)`, each program
//! loaded alone by libbpf with the statistics of its verifier log.

use skep_report::{EmitSpec, Row, Stat, Style, read_csv};
use std::fs;

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs");

/// The arguments of the first command of README.md, without the program.
fn first_command() -> Vec<String> {
    let readme = fs::read_to_string(format!("{PROGRAMS}/../../README.md")).expect("the README");
    let command = readme.lines().find_map(|line| line.strip_prefix("$ cargo run --release -- "));
    let command = command.expect("a command").split(" #").next().unwrap_or_default();
    command.split_whitespace().map(str::to_owned).collect()
}

/// It works on every host: none of its objects needs the types of a kernel.
#[test]
fn the_first_command_of_the_readme_needs_no_kernel() {
    let command = first_command();
    let (name, files) = command.split_first().expect("arguments");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams =
        skep_cli::Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    let files = files.iter().map(|file| format!("{PROGRAMS}/../../{file}"));
    let args = ["skep", name, "--btf", "none"].map(str::to_owned).into_iter().chain(files);
    let exit = skep_cli::run(args.map(Into::into), &mut streams).expect("memory takes all");
    assert_eq!(String::from_utf8_lossy(&err), "");
    assert_eq!(exit, skep_cli::Exit::Success);
    let rows =
        String::from_utf8_lossy(&out).lines().filter(|line| line.contains("success")).count();
    assert!(rows > 20, "{rows} programs accepted");
}

fn ours(columns: &str) -> Vec<Row> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams =
        skep_cli::Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    // Not the folders below.
    let objects = format!("{PROGRAMS}/*.bpf.o");
    // None of them needs the kernel's types, and the host's kernel may be another one.
    let args =
        ["skep", "stat", "--btf", "none", "-o", "csv", "-e", columns, &objects].map(Into::into);
    skep_cli::run(args, &mut streams).expect("memory takes all");
    read_csv(out.as_slice()).expect("our own CSV").rows
}

#[test]
fn verdicts_and_counts_are_the_kernels() {
    let text = fs::read_to_string(format!("{PROGRAMS}/kernel-6.18.csv")).expect("the record");
    let columns = text.lines().next().expect("a header");
    let kernel = read_csv(text.as_bytes()).expect("the record").rows;
    let ours = ours(columns);
    let name = |row: &Row| (row.file.clone(), row.prog.clone());
    assert_eq!(
        ours.iter().map(name).collect::<Vec<_>>(),
        kernel.iter().map(name).collect::<Vec<_>>()
    );
    let counts = EmitSpec::parse(columns).expect("statistics").stats;
    let counts: Vec<Stat> = counts.into_iter().filter(|stat| !stat.is_text()).collect();
    let mut differences = Vec::new();
    for (ours, kernel) in ours.iter().zip(&kernel) {
        assert_eq!(ours.verdict, kernel.verdict, "{}: {:?}", ours.prog, ours.reason);
        for &stat in &counts {
            let (our, their) = (ours.get(stat), kernel.get(stat));
            if our != their {
                let (prog, header) = (&ours.prog, stat.def().header);
                differences.push(format!("{prog}: {header}: {our}, the kernel says {their}"));
            }
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}
