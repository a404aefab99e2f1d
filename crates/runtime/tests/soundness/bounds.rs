//! Limits on the memory that one run can use, and on what users may do.

use super::{ENGINES, map, of_type, runtime};
use skep_program::MapDef;
use skep_runtime::map::UpdateFlags;
use skep_runtime::{Ctx, Errno, LoadOptions};
use skep_uapi::{MapFlags, MapType, ProgType};
use std::sync::Arc;

/// Clones its packet 6,000 times; returns the result of the last call.
const CLONES: &str = "
    r6 = r1
    r7 = 6000
again:
    r1 = r6
    r2 = 1
    r3 = 0
    call bpf_clone_redirect
    r7 += -1
    if r7 != 0 goto again
    exit
";

#[test]
fn clones_of_a_run_are_bounded() {
    let none: Arc<[MapDef]> = Arc::from([]);
    let program = of_type(ProgType::SchedCls, CLONES, &none);
    for engine in ENGINES {
        let runtime = runtime();
        let maps = runtime.create_maps(&none, None);
        let options = LoadOptions { engine, ..LoadOptions::default() };
        let instance = runtime.load(&program, &maps, &options).unwrap();
        let before = runtime.memory_bytes();
        let mut ctx = Ctx::packet(ProgType::SchedCls, &[0; 4000]).unwrap();
        for _ in 0..2 {
            assert_eq!(instance.run(&mut ctx).unwrap().r0 as i32, -12);
            let (clones, lost) = (ctx.clones(), ctx.clones_lost());
            assert_eq!(clones.len() as u64 + lost, 6000);
            assert!((3000..4500).contains(&clones.len()), "{}", clones.len());
            assert!(clones.iter().all(|clone| *clone == (1, vec![0; 4000])));
            assert!((12 << 20..=16 << 20).contains(&(runtime.memory_bytes() - before)));
        }
        // A shorter packet is cloned each time, and the long clones are gone.
        ctx.set_packet(&[0; 64]).unwrap();
        assert_eq!(instance.run(&mut ctx).unwrap().r0, 0);
        assert_eq!((ctx.clones().len(), ctx.clones_lost()), (6000, 0));
        drop(ctx);
        assert_eq!(runtime.memory_bytes(), before);
    }
}

/// As in bpf(2): 8 is `BPF_F_RDONLY`, 16 `BPF_F_WRONLY`.
#[test]
fn who_may_not_read_or_write_may_not_pop() {
    let runtime = runtime();
    let queue = |map_flags, frozen| {
        let def = MapDef { map_flags, frozen, ..map("q", MapType::Queue, 0, 8, 4) };
        let queue = runtime.create_map(&def, None).unwrap();
        let pushed = queue.update(&[], &[1; 8], UpdateFlags::Any);
        (pushed, queue.lookup(&[]).err(), queue.pop().err())
    };
    let (yes, no, none) = (None, Some(Errno::EPERM), Some(Errno::ENOENT));
    assert_eq!(queue(MapFlags::empty(), false), (Ok(()), yes, yes));
    assert_eq!(queue(MapFlags::RDONLY, false), (Err(Errno::EPERM), none, no));
    assert_eq!(queue(MapFlags::WRONLY, false), (Ok(()), no, no));
    assert_eq!(queue(MapFlags::empty(), true), (Err(Errno::EPERM), none, no));
    let bloom = MapDef { map_flags: MapFlags::WRONLY, ..map("b", MapType::BloomFilter, 0, 8, 4) };
    let bloom = runtime.create_map(&bloom, None).unwrap();
    assert_eq!(bloom.update(&[], &[1; 8], UpdateFlags::Any), Ok(()));
    assert_eq!(bloom.holds(&[1; 8]), Err(Errno::EPERM));
}
