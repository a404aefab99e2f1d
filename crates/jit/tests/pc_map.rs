//! From insns to machine code and back, over programs with unrolled loops, functions, stubs.

use skep_jit::{Linkage, Tuning, compile};
use skep_object::{Object, OpenOptions};
use skep_verifier::{Config, Verdict};

#[test]
fn every_byte_leads_back_to_an_insn() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/bench/");
    for name in ["memcmp", "csum", "calls", "sha256", "tail_calls", "flow", "maps"] {
        let bytes = std::fs::read(format!("{folder}{name}.bpf.o")).unwrap();
        let object = Object::open(&bytes, &OpenOptions::default()).unwrap();
        for entry in &object.programs {
            let program = entry.program.as_ref().unwrap();
            let config = Config::privileged(skep_uapi::KernelProfile::v6_18());
            let Verdict::Accepted(verified) = skep_verifier::verify(program, &config).verdict
            else {
                panic!("{name}: not accepted");
            };
            let xlated = verified.xlated().unwrap();
            let linkage = Linkage::placeholder(xlated, &program.maps);
            let code = compile(xlated, &linkage, &Tuning::default(), 0..0).unwrap();
            let map = &code.info.pc_map;
            assert_eq!(map.len(), xlated.insns().len());
            // In the order of the code, which may differ from that of the insns: blocks are moved.
            let mut places: Vec<_> = (0..map.len())
                .map(|insn| (map.code_of(insn).unwrap(), insn))
                .filter(|((from, to), _)| from != to)
                .collect();
            places.sort_unstable();
            let first = map.code_of(0).unwrap().0;
            let mut end = first;
            for ((from, to), insn) in places {
                assert!(from < to && from == end, "{name}: insn {insn}");
                end = to;
                for off in from..to {
                    if map.insn_at(off).is_none() {
                        assert_eq!(insn, 0, "{name}: {off:#x} is of no insn");
                    }
                }
                // The first insn of an unrolled loop has all of it, and may have none of its own.
                let has_own = (from..to).any(|off| map.insn_at(off) >= Some(insn));
                assert!(insn == 0 || has_own, "{name}: insn {insn} has no code of its own");
            }
            assert_eq!(map.insn_at(end), None);
            assert_eq!(map.insn_at(first.wrapping_sub(1)), None);
        }
    }
}
