//! Samples written by the embedder, and programs that drain them.

use skep_runtime::{Ctx, Engine, Errno, LoadOptions, Options, Runtime};
use skep_testkit::{engine, suite};

const SUITE: &str = "# Samples

```toml
prog_type = \"syscall\"
flags = [\"sleepable\"]
btf = true
[map.m]
type = \"user_ringbuf\"
key = 0
value = 0
max = 4096
```

## The sum of the first words, until one is 0

```bpf
    r6 = r1
    *(u64 *)(r10 - 8) = 0
    r1 = map[m]
    r2 = func[each]
    r3 = r10
    r3 += -8
    r4 = 0
    call bpf_user_ringbuf_drain
    *(u64 *)(r6 + 0) = r0
    r0 = *(u64 *)(r10 - 8)
    *(u64 *)(r6 + 8) = r0
    r0 = 0
    exit
each:
    r6 = r2
    r7 = r1
    r2 = 0
    r3 = 8
    call bpf_dynptr_data
    if r0 == 0 goto read
    r1 = *(u64 *)(r0 + 0)
    goto add
read:
    *(u64 *)(r10 - 8) = 0
    r1 = r10
    r1 += -8
    r2 = 2
    r3 = r7
    r4 = 0
    r5 = 0
    call bpf_dynptr_read
    r1 = *(u64 *)(r10 - 8)
add:
    r2 = *(u64 *)(r6 + 0)
    r2 += r1
    *(u64 *)(r6 + 0) = r2
    r0 = 0
    if r1 != 0 goto out
    r0 = 1
out:
    exit
```
";

#[test]
fn a_program_sees_what_was_written() {
    let cases = suite::read(SUITE).unwrap();
    let programs = suite::programs(&cases[0], None).unwrap();
    let verified = engine::verified(&programs[0]).unwrap();
    for engine in [Engine::Interpreter, Engine::MachineCode] {
        let runtime = Runtime::new(Options { cpus: 1, ..Options::default() }).unwrap();
        let maps = runtime.create_maps(&programs[0].maps, programs[0].btf.as_ref());
        let options = LoadOptions { engine, ..LoadOptions::default() };
        let instance = runtime.load(&verified, &maps, &options).unwrap();
        let map = maps.get("m").unwrap();
        let drained = || {
            let mut ctx = Ctx::raw(instance.prog_type(), &[0; 16]).unwrap();
            instance.run(&mut ctx).unwrap();
            let bytes = ctx.raw_bytes();
            [0, 8].map(|at| i64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap()))
        };
        assert_eq!(drained(), [0, 0]);
        for n in [5u64, 7, 0, 9] {
            map.user_ringbuf_write(&n.to_ne_bytes()).unwrap();
        }
        // A shorter sample is only read up to its end.
        map.user_ringbuf_write(&[3, 1]).unwrap();
        assert_eq!(drained(), [3, 12]);
        assert_eq!(drained(), [2, 9 + 0x103]);
        assert_eq!(drained(), [0, 0]);
        assert_eq!(map.user_ringbuf_write(&[0; 4096]), Err(Errno::E2BIG));
    }
}
