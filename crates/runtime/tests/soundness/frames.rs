//! Helpers can read the run's frames on the stack, but not those of functions around them; and CPU
//! numbers used as indices are in range.

use super::{map, of_type, program, runtime};
use skep_program::MapDef;
use skep_runtime::map::UpdateFlags;
use skep_runtime::{Ctx, ErrorKind, LoadOptions, Options, Runtime};
use skep_uapi::{MapType, ProgType};
use std::sync::Arc;

/// Reads 8 bytes at an offset from its frame given by the context: 0, or EFAULT.
const READS: &str = "
    r7 = *(u64 *)(r1 + 0)
    r7 <<= 48
    r7 s>>= 48
    r3 = r10
    r3 += r7
    r1 = r10
    r1 += -64
    r2 = 8
    call bpf_probe_read_kernel
    exit
";

#[test]
fn probe_read_reads_the_frames_of_machine_code_only() {
    let maps: Arc<[MapDef]> = [].into();
    let runtime = runtime();
    let object = runtime.create_maps(&maps, None);
    let reads = of_type(ProgType::RawTracepoint, READS, &maps);
    let reads = runtime.load(&reads, &object, &LoadOptions::default()).unwrap();
    let can_read = |off: i64| {
        let mut ctx = Ctx::raw(ProgType::RawTracepoint, &off.to_ne_bytes()).unwrap();
        reads.run(&mut ctx).unwrap().r0 == 0
    };
    let readable: Vec<i64> =
        (-3000..3000).map(|word| 8 * word).filter(|off| can_read(*off)).collect();
    // Its 64 bytes, with some registers that machine code saves around them.
    assert!((-64..0).step_by(8).all(|off| readable.contains(&off)), "{readable:?}");
    assert!(readable.iter().all(|off| (-128..128).contains(off)), "{readable:?}");
}

#[test]
fn a_runtime_has_no_more_cpus_than_a_program_was_verified_for_that_asks() {
    let maps: Arc<[MapDef]> = [map("m", MapType::Array, 4, 8, 1)].into();
    let asks = program("call bpf_get_smp_processor_id\nexit", &maps);
    let other = program("r0 = 0\nexit", &maps);
    for (cpus, fits) in [(asks.nr_cpu_ids(), true), (asks.nr_cpu_ids() + 1, false)] {
        let runtime = Runtime::new(Options { cpus, ..Options::default() }).unwrap();
        let object = runtime.create_maps(&maps, None);
        assert!(runtime.load(&other, &object, &LoadOptions::default()).is_ok());
        let loaded = runtime.load(&asks, &object, &LoadOptions::default());
        assert_eq!(
            loaded.map(drop).map_err(|why| why.kind()),
            [Err(ErrorKind::Input), Ok(())][usize::from(fits)]
        );
    }
}

const CALLS: &str = "r2 = map[jumps]\nr3 = 1\ncall bpf_tail_call\nr0 = 7\nexit";

#[test]
fn a_slot_is_filled_with_a_program_of_the_same_runtime() {
    let jumps = MapDef { max_entries: 2, ..map("jumps", MapType::ProgArray, 4, 4, 2) };
    let maps: Arc<[MapDef]> = [jumps, map("array", MapType::Array, 4, 4, 2)].into();
    let load = |text: &str, runtime: &Runtime| {
        let object = runtime.create_maps(&maps, None);
        let loaded = runtime.load(&program(text, &maps), &object, &LoadOptions::default());
        (loaded.unwrap(), object)
    };
    let (here, there) = (runtime(), runtime());
    let (calls, object) = load(CALLS, &here);
    let ((two, _), (three, _)) = (load("r0 = 2\nexit", &here), load("r0 = 3\nexit", &there));
    let run = || calls.run(&mut Ctx::packet(ProgType::Xdp, &[0; 64]).unwrap()).unwrap().r0;

    object.set_program("jumps", 1, &two).unwrap();
    let slots = object.get("jumps").unwrap();
    assert_eq!((run(), slots.program(1), slots.program(0)), (2, Ok(Some(two.id())), Ok(None)));
    let refused =
        |map: &str, slot, what| object.set_program(map, slot, what).unwrap_err().to_string();
    assert!(refused("jumps", 1, &three).contains("different runtimes"));
    assert!(refused("jumps", 2, &two).contains("E2BIG"));
    assert!(refused("array", 0, &two).contains("EINVAL"));
    assert!(refused("others", 0, &two).contains("no map 'others'"));
    assert_eq!((run(), slots.program(9)), (2, Ok(None)));
    slots.clear_program(1).unwrap();
    assert_eq!((run(), slots.clear_program(1).is_err()), (7, true));
    // As bpf(2) has it, by number.
    slots.update(&[1, 0, 0, 0], &two.id().to_ne_bytes(), UpdateFlags::Any).unwrap();
    assert_eq!(run(), 2);
}
