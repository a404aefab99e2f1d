//! Witnesses of rules (`uapi::BEHAVIOURS`) written for skep: objects of `tests/kernels/witnesses`,
//! gzip-compressed, each preceded by a line with its name and size.
//!
//! Written by `cargo xtask kernels probe --write-witnesses`; a test compares it with those objects.

use super::answers::Answers;
use super::judged::Judge;
use super::known;
use crate::Host;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use skep_object::{Loader, Object, OpenOptions};
use skep_uapi::Behaviour;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;

const PACKED: &[u8] = include_bytes!("witnesses.gz");

/// Objects by name, in the format of this file: the same objects give the same bytes.
pub fn packed(objects: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    for (name, bytes) in objects {
        // Writing into memory does not fail.
        let _ = packed.write_all(format!("{name} {}\n", bytes.len()).as_bytes());
        let _ = packed.write_all(bytes);
    }
    packed.finish().unwrap_or_default()
}

fn unpacked() -> BTreeMap<String, Vec<u8>> {
    let mut all = Vec::new();
    let mut objects = BTreeMap::new();
    // Embedded data: a test reads all of them.
    let _ = GzDecoder::new(PACKED).read_to_end(&mut all);
    let mut rest = &all[..];
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let Some((name, size)) = head.split_once(' ') else { break };
        let size = size.parse().unwrap_or(usize::MAX);
        let Some((object, after)) = rest[end + 1..].split_at_checked(size) else { break };
        objects.insert(name.to_owned(), object.to_vec());
        rest = after;
    }
    objects
}

/// Probes these rules by their witnesses, opened for this host.
pub(super) fn ask(host: &Host, rules: &[&Behaviour], answers: &mut Answers, judge: &mut Judge<'_>) {
    for (name, bytes) in unpacked() {
        let of_object: Vec<_> = rules.iter().filter(|row| row.witness.object == name).collect();
        if of_object.is_empty() {
            continue;
        }
        // A kfunc that is not there concerns only the programs that call it.
        let options = OpenOptions { loader: Loader::Any, ..host.open_options(Path::new(&name)) };
        let Ok(object) = Object::open(&bytes, &options) else { continue };
        for row in of_object {
            let entry = object.programs.iter().find(|entry| entry.name == row.witness.program);
            let Some(Ok(program)) = entry.map(|entry| &entry.program) else { continue };
            let told = judge(program);
            if told.judged {
                answers.say_rule(row.name, known::holds(row, &told));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_uapi::BEHAVIOURS;

    #[test]
    fn every_object_that_is_packed_has_a_witness_in_it() {
        let objects = unpacked();
        assert!(!objects.is_empty());
        for name in objects.keys() {
            assert!(BEHAVIOURS.iter().any(|row| row.witness.object == *name), "{name}");
        }
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let objects: Vec<_> = unpacked().into_iter().collect();
        let mut plain = Vec::new();
        GzDecoder::new(&packed(&objects)[..]).read_to_end(&mut plain).expect("ours");
        let mut committed = Vec::new();
        GzDecoder::new(PACKED).read_to_end(&mut committed).expect("ours");
        assert_eq!(plain, committed);
    }
}
