//! Diagnoses of programs of this repository.

use skep::diagnosis::Severity;
use skep::object::Object;
use skep::{Diagnosis, Session, VerifyOptions};

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/");

fn open(session: &Session, file: &str) -> Object {
    session.open_file(format!("{TESTS}{file}")).expect("an object of the repository opens")
}

fn diagnosis(file: &str, prog: &str, options: &VerifyOptions) -> Option<Diagnosis> {
    let session = Session::default();
    let object = open(&session, file);
    let program = object.program(prog).expect("a program of the object");
    session.diagnose(program, &session.verify(program, options), options)
}

#[test]
fn a_read_behind_the_checked_part_of_a_packet() {
    let options = VerifyOptions::default();
    let told = diagnosis("refusals/beyond_packet.bpf.o", "refused", &options).expect("refused");
    assert_eq!((told.severity, told.code.as_str()), (Severity::Error, "beyond-packet"));
    assert_eq!(told.title, "The packet access is not covered by a comparison with data_end");
    assert!(told.message.starts_with("invalid access to packet, off=23 size=1"), "{told:?}");
    let at = told.at.as_ref().expect("a line");
    assert!(at.file.ends_with("beyond_packet.bpf.c"), "{at:?}");
    assert!(at.line == 14 && at.text.trim_start().starts_with("return ip->proto"), "{at:?}");
    // The values of registers, and the comparison that was meant, with its line.
    assert!(told.notes[0].text.starts_with("R1 is the packet's start, where 14 "), "{told:?}");
    let compared = told.notes.last().expect("a note");
    let says = "the access needs 24 bytes, but only 14 were compared with the packet's end, at";
    assert!(compared.text.starts_with(says), "{told:?}");
    assert_eq!(compared.at.as_ref().map(|at| at.line), Some(12));
    assert!(told.help.contains("`if ((void *)(ip + 1) > data_end)`"), "{told:?}");
    assert_eq!(diagnosis("refusals/beyond_packet.bpf.o", "mended", &options), None);
}

#[test]
fn the_path_is_found_again_if_it_was_not_kept() {
    for (file, prog) in [
        ("refusals/leaked_reference.bpf.o", "refused"),
        ("refusals/too_many_insns.bpf.o", "refused"),
        ("refusals/beyond_packet.bpf.o", "refused"),
    ] {
        let kept = VerifyOptions { path_bytes_max: Some(16 << 20), ..VerifyOptions::default() };
        let with = diagnosis(file, prog, &kept).expect("refused");
        let without = diagnosis(file, prog, &VerifyOptions::default()).expect("refused");
        assert_eq!(with, without, "{file}");
        assert!(!with.notes.is_empty(), "{file}");
    }
}

#[test]
fn what_is_not_loaded_has_a_line_and_the_names_that_were_meant() {
    let session = Session::default();
    let object = open(&session, "refusals/load_error_section.bpf.o");
    let entry = object.programs.iter().find(|it| it.name == "refused").expect("the program");
    let told = session.diagnose_load(entry, object.btf.as_deref()).expect("it is not loaded");
    assert_eq!(told.code, "load_error_section");
    assert!(told.message.starts_with("load error: "), "{told:?}");
    assert_eq!(told.at.as_ref().map(|at| at.line), Some(8));
    assert_eq!(told.similar_names, ["xdp"]);
    let loaded = object.programs.iter().find(|it| it.name == "mended").expect("the program");
    assert_eq!(session.diagnose_load(loaded, object.btf.as_deref()), None);
}

/// All of a program without a verdict is what the catalogue knows.
#[test]
fn no_verdict_is_a_warning() {
    let options = VerifyOptions { mem_bytes_max: Some(1), ..VerifyOptions::default() };
    let told = diagnosis("programs/xdp_count.bpf.o", "xdp_count", &options).expect("no verdict");
    assert_eq!((told.severity, told.code.as_str()), (Severity::Warning, "out-of-memory"));
    assert_eq!(told.to_string().lines().count(), 3, "{told}");
}

/// A parameter that points to a structure of the kernel is memory, unless it is tagged.
#[test]
fn a_parameter_of_a_structure_that_the_kernel_has_too() {
    let file = "cli/story/theirs.bpf.o";
    let btf = open(&Session::default(), file).btf;
    let without = Session::default();
    let host = skep::Host { kernel_btf: btf, ..skep::Host::default() };
    let (options, with) = (VerifyOptions::default(), Session::new(host));
    for (prog, code, ours) in [
        ("unchecked", "not-a-pointer-to-memory", "Check `task` for NULL in the function"),
        ("beyond", "beyond-memory", "Declare `task` as a pointer to a structure or array"),
    ] {
        for (session, help) in [(&without, ours), (&with, "Declare `task` `__arg_trusted`")] {
            let object = open(session, file);
            let program = object.program(prog).expect("a program of the object");
            let verified = session.verify(program, &options);
            let told = session.diagnose(program, &verified, &options).expect("refused");
            assert_eq!(told.code.as_str(), code);
            assert!(told.help.starts_with(help), "{told:?}");
        }
    }
}
