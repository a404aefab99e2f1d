//! What people type: filters, statistics to print and to sort by, CSV to compare with, and values
//! of global variables.
//!
//! The input is split at its lines: filter, emit, sort, `-G`, glob, and CSV is what remains.

use skep_cli::{Streams, run as skep};
use skep_report::{
    EmitSpec, Filters, SortSpec, Style, glob_matches, join, printable, read_csv, sort_joined,
    sort_rows, write_csv,
};

const OBJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/programs/loops.bpf.o");
const OBJECT_OF_CRATES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/loops.bpf.o");

/// No panic; a wrong argument is an error of the command line, told in printable lines.
pub(crate) fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.splitn(6, '\n');
    let [filter, emit, sort, preset, glob] = [(); 5].map(|()| parts.next().unwrap_or(""));
    let rest = parts.next().unwrap_or("");
    let mut filters = Filters::default();
    let _ = filters.add(filter);
    let _ = filters.add_list(rest);
    let _ = (filters.wants("loops.bpf.o", Some("main")), filters.wants(glob, None));
    let _ = (glob_matches(glob, "xdp_count.bpf.o"), glob_matches(glob, filter));
    assert!(!printable(&text).contains(['\n', '\x1b']));
    let (emit, sort) = (EmitSpec::parse(emit), SortSpec::parse(sort));
    if let Ok(mut rows) = read_csv(rest.as_bytes()) {
        if let Ok(sort) = &sort {
            sort_rows(&mut rows.rows, sort);
            sort_joined(&mut join(&rows.rows, &rows.rows), sort);
        }
        if let Ok(emit) = &emit {
            write_csv(&mut Vec::new(), &rows.rows, emit).expect("memory takes all");
        }
        for row in &rows.rows {
            let _ = filters.shows(row);
        }
    }
    set_global(preset);
}

fn set_global(preset: &str) {
    // `@FILE` would read a file of this machine.
    if preset.is_empty() || preset.contains('\0') || preset.trim().starts_with('@') {
        return;
    }
    let object = if std::path::Path::new(OBJECT).exists() { OBJECT } else { OBJECT_OF_CRATES };
    let preset = format!("-G{preset}");
    let args = ["skep", "stat", "--btf", "none", "--jobs", "1", "-f", "*/none", &preset, object];
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams =
        Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
    let exit = skep(args.map(Into::into), &mut streams).expect("memory takes all");
    assert!(exit.code() <= 2);
    assert_eq!(exit.code() == 2, !err.is_empty(), "{}", String::from_utf8_lossy(&err));
}
