//! The pages under test: the commands' output for our programs, and made-up pages.

use super::browser::Failure;
use skep_cli::Streams;
use skep_report::{
    Advice, CheckedProgram, Diagnostic, Note, Severity, SourceSpot, Style, check_page, write_html,
};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Programs of the large page.
pub(super) const MANY: usize = 10_000;
/// A malicious name.
pub(super) const HOSTILE: &str = "</script><img src=x onerror=window.taken=1>\u{1b}[2J\u{202e}";

/// The objects of the lists, by name: new files in the folder should not change the pictures.
const REFUSED: [&str; 14] = [
    "argument_not_constant",
    "argument_of_other_type",
    "arithmetic_before_null_check",
    "arithmetic_on_fixed_pointer",
    "beyond_map_value",
    "beyond_memory",
    "beyond_packet",
    "beyond_stack",
    "callback_not_static",
    "infinite_loop",
    "leaked_reference",
    "result_out_of_range",
    "unbounded_access",
    "unlock_without_lock",
];

/// The page's name, and the command that writes it; with the objects above if none is named. None
/// depends on the machine.
const COMMANDS: [(&str, &[&str]); 6] = [
    ("coverage", &["run", "--btf=none", "tests/programs/xdp_parse.bpf.o", "xdp_parse"]),
    ("check", &["check", "--btf=none"]),
    ("compare", &["stat", "--compare", "tests/cli/base.csv", "tests/cli/comp.csv"]),
    ("matrix", &["check", "--kernel=5.10,6.1,6.12,6.18"]),
    ("profile", &["profile", "--btf=none", "tests/programs/stress_parser.bpf.o"]),
    ("stat", &["stat", "--replay", "tests/cli/base.csv"]),
];

/// Where the pages are.
pub(super) struct Pages {
    folder: PathBuf,
}

impl Pages {
    /// Pages that the commands wrote.
    pub(super) const NAMES: [&str; 6] =
        ["check", "compare", "coverage", "matrix", "profile", "stat"];

    pub(super) fn write(folder: &Path) -> Result<Pages, Failure> {
        let pages = Pages { folder: folder.to_owned() };
        std::env::set_current_dir(crate::root())?;
        let lists = REFUSED.map(|name| format!("tests/refusals/{name}.bpf.o"));
        for (name, command) in COMMANDS {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut streams =
                Streams { out: &mut out, err: &mut err, style: Style::Plain, progress: false };
            let html = format!("--html={}", pages.path(name).display());
            let objects = if command[0] == "check" { &lists[..] } else { &[] };
            let arguments = std::iter::once(&"skep").chain(command).map(Into::into);
            let more = objects.iter().chain([&html]).map(Into::into);
            skep_cli::run(arguments.chain(more), &mut streams)?;
            if !pages.path(name).exists() {
                return Err(format!("{name}: {}", String::from_utf8_lossy(&err)).into());
            }
        }
        let many: Vec<_> = (0..MANY).map(|at| refused(&format!("prog_{at}"), at)).collect();
        pages.made_up("many", &many)?;
        pages.made_up("hostile", &[refused(HOSTILE, 3), refused("tame", 4)])?;
        Ok(pages)
    }

    fn made_up(&self, name: &str, programs: &[CheckedProgram]) -> Result<(), Failure> {
        let mut out = BufWriter::new(File::create(self.path(name))?);
        write_html(&mut out, &check_page(programs, |_| Some("Why.")))?;
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.html"))
    }

    pub(super) fn url(&self, name: &str) -> String {
        format!("file://{}", self.path(name).display())
    }
}

fn refused(name: &str, at: usize) -> CheckedProgram {
    let spot = |line: usize| SourceSpot {
        file: format!("{name}.c"),
        line: u32::try_from(line).unwrap_or(1),
        column: None,
        text: format!("\tdo_something({name});"),
    };
    let diagnostic = Diagnostic {
        severity: Severity::Error,
        rule: "leaked-reference".to_owned(),
        message: format!("Unreleased reference id={at} alloc_insn={at}"),
        object: format!("object_{}.bpf.o", at / 10),
        prog: name.to_owned(),
        insn_idx: Some(at),
        insn: Some("exit".to_owned()),
        at: Some(spot(at + 2)),
        notes: vec![Note { text: format!("{name} is taken"), at: Some(spot(at + 1)) }],
        advice: Some(Advice { title: "A leak".to_owned(), help: "Release it.".to_owned() }),
    };
    CheckedProgram {
        object: diagnostic.object.clone(),
        prog: name.to_owned(),
        verdict: "refused",
        insns: (at as u64).wrapping_mul(7919) % 100_003,
        why: Some(diagnostic),
    }
}
