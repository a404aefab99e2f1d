//! `cargo xtask load-diff`: opens every object with the real libbpf and with skep, as a whole and
//! program by program; compares which are loaded, and at which step the others are refused.
//!
//! libbpf is a C library that calls the kernel: `oracle.c` is linked with it, handles BPF_PROG_LOAD
//! itself and passes the rest to the kernel. For loaded programs, type, attach type, flags, target,
//! number of insns, and unresolved insns are compared. The verifier's verdict is compared by
//! `kernel-diff`.

mod answer;
mod edit;
mod oracle;
mod table;

use crate::objects;
use crate::outcome::Ended;
use answer::Answer;
use oracle::Theirs;
use skep::object::{Error, Object, ObjectProgram};
use skep::{LoadClass, Session};
use skep_testkit::rng::Rng;
use std::path::{Path, PathBuf};
use table::{Table, WHOLE};

/// Larger objects are not changed, bytes.
const MUTANT_BYTES_MAX: usize = 256 << 10;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Object files, and folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Folder with libbpf's sources; default: those of the corpus, or else the system's library.
    #[arg(long)]
    libbpf: Option<PathBuf>,
    /// Compare this many changed copies of the objects instead
    #[arg(long, default_value_t = 0)]
    mutants: usize,
    /// Seed of the changes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only changes of this class
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(edit::names()))]
    edit: Option<String>,
    /// Folder for the changed copies, whose names say what was changed
    #[arg(long, default_value = "target/load-diff")]
    out: PathBuf,
    /// Print every program, not only those that differ.
    #[arg(long, short)]
    verbose: bool,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    if let Err(why) = skep_kernel::bpf::available() {
        return Ok(Ended::Skipped(why.to_string()));
    }
    let oracle = match oracle::build(args.libbpf.as_deref())? {
        Ok(oracle) => oracle,
        Err(why) => return Ok(Ended::Skipped(why)),
    };
    let mut files = objects::find(&args.paths)?;
    if args.mutants > 0 {
        files = mutants(args, &files)?;
    }
    // As `oracle.c` does.
    let session = Session { completes: true, ..Session::new(objects::host()?) };
    let mut table = Table::default();
    let version = oracle.ask(&files, |file, theirs| compare(&session, file, theirs, &mut table))?;
    if version < oracle::VERSION_MIN {
        let (major, minor) = version;
        return Ok(Ended::Skipped(format!("libbpf {major}.{minor} is too old")));
    }
    println!("libbpf {}.{}, {} objects", version.0, version.1, files.len());
    print!("{}", table.text(args.verbose));
    Ok(table.agrees().into())
}

/// Changed copies of the objects, written to a folder.
fn mutants(args: &Args, files: &[PathBuf]) -> Result<Vec<PathBuf>, Box<dyn std::error::Error>> {
    if files.is_empty() {
        return Err("no objects to change".into());
    }
    std::fs::create_dir_all(&args.out)?;
    let mut rng = Rng::new(args.seed);
    let mut made = Vec::new();
    for _ in 0..args.mutants {
        let file = &files[rng.below(files.len() as u64) as usize];
        let bytes = std::fs::read(file)?;
        if bytes.len() > MUTANT_BYTES_MAX {
            continue;
        }
        let Some((bytes, what)) = edit::edit(&mut rng, &bytes, args.edit.as_deref()) else {
            continue;
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ['_', '.', '-'].contains(&c);
        let what: String = what.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
        let of = file.file_name().unwrap_or_default().to_string_lossy();
        let path = args.out.join(format!("{:05}-{what:.80}-{of}", made.len()));
        std::fs::write(&path, bytes)?;
        made.push(path);
    }
    Ok(made)
}

/// Adds a file's programs, and the file as a whole.
fn compare(session: &Session, file: &Path, theirs: Theirs, table: &mut Table) {
    let name = objects::short_name(file);
    if let Some(fault) = &theirs.fault {
        return table.fault(&name, fault);
    }
    let opened = std::fs::read(file).map_err(|e| e.to_string());
    let opened = opened.and_then(|bytes| session.open(file, &bytes).map_err(|e| e.to_string()));
    let object = match opened {
        Ok(object) => object,
        // A file that cannot be read is refused on opening.
        Err(why) => {
            let ours = Answer::Refused(LoadClass::Open, why);
            return table.add(&name, WHOLE, theirs.open.as_ref().or(theirs.whole.as_ref()), &ours);
        }
    };
    if let Some(refused) = &theirs.open {
        if object.programs.is_empty() {
            table.add(&name, WHOLE, Some(refused), &whole(&object, |_| true));
        }
        for entry in &object.programs {
            table.add(&name, &entry.name, Some(refused), &ours(entry));
        }
        return;
    }
    // libbpf does not load programs of struct_ops maps that it does not create; those without
    // a name are not known from its own.
    let is_not_noted =
        |answer: &Answer| matches!(answer, Answer::Loaded(noted) if noted.is_empty());
    let listed = |entry: &ObjectProgram| {
        let mut of_name = theirs.programs.iter().filter(|it| it.0 == entry.name);
        of_name.any(|it| !is_not_noted(&it.1))
    };
    table.add(&name, WHOLE, theirs.whole.as_ref(), &whole(&object, listed));
    for (at, (program, answer)) in theirs.programs.iter().enumerate() {
        // Several programs may have one name.
        let before = theirs.programs[..at].iter().filter(|it| it.0 == *program).count();
        let entry = object.programs.iter().filter(|entry| entry.name == *program).nth(before);
        if is_not_noted(answer) || entry.is_some_and(reaches_kernel) {
            continue;
        }
        table.add(&name, program, Some(answer), &entry.map_or(Answer::Absent, ours));
    }
    for entry in &object.programs {
        if !theirs.programs.iter().any(|(name, _)| *name == entry.name) {
            table.add(&name, &entry.name, None, &ours(entry));
        }
    }
}

fn ours(entry: &ObjectProgram) -> Answer {
    match &entry.program {
        Ok(program) => Answer::Loaded(answer::attributes(program)),
        Err(_) if lacks_target(entry) => Answer::Loaded("freplace".to_owned()),
        Err(error) => Answer::of_error(error),
    }
}

/// Whether it is the kernel that refuses the program for its name, not libbpf.
fn reaches_kernel(entry: &ObjectProgram) -> bool {
    let opens = entry.program.as_ref().err().and_then(Error::class) == Some(LoadClass::Open);
    opens && !skep::uapi::object_name_is_valid(&entry.name)
}

/// Whether the program's target is missing: `oracle.c` loads programs that replace functions with
/// another type then.
fn lacks_target(entry: &ObjectProgram) -> bool {
    let class = entry.program.as_ref().err().and_then(Error::class);
    entry.section.trim_start_matches('?').starts_with("freplace")
        && class == Some(LoadClass::Attach)
}

/// The result of loading the whole object: the first step that fails. Functions that are not
/// `listed` are no programs for libbpf, and do not keep it from loading the others.
fn whole(object: &Object, listed: impl Fn(&ObjectProgram) -> bool) -> Answer {
    let wanted = object
        .programs
        .iter()
        .filter(|entry| entry.autoload && !lacks_target(entry) && !reaches_kernel(entry));
    let wanted = wanted.filter(|entry| listed(entry));
    let errors: Vec<&Error> = wanted.filter_map(|entry| entry.program.as_ref().err()).collect();
    // Relocations come before maps, calls are linked before any program has a type.
    let of = |class| errors.iter().find(|error| error.class() == Some(class)).copied();
    let relocated = of(LoadClass::Core).or(object.refused.as_ref());
    let first = relocated.or(of(LoadClass::Open)).or(errors.first().copied());
    first.map_or_else(|| Answer::Loaded(answer::maps(&object.maps)), Answer::of_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Our own objects; skipped without libbpf or bpf(2).
    #[test]
    fn our_objects_are_refused_as_libbpf_refuses_them() {
        let tests = crate::root().join("tests");
        let paths = vec![tests.join("object"), tests.join("programs")];
        let (out, verbose) = (PathBuf::new(), false);
        let args = Args { paths, libbpf: None, mutants: 0, seed: 1, edit: None, out, verbose };
        match run(&args).expect("an answer") {
            Ended::Failed => panic!("load-diff tests/object tests/programs"),
            Ended::Skipped(why) => println!("skipped: {why}"),
            Ended::Passed => {}
        }
    }
}
