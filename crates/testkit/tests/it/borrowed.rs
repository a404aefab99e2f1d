//! Memory owned by others: accesses that are safe in the kernel because it guarantees its contents
//! have to be made safe here, because nobody guarantees the words of a context.

use skep::program::Program;
use skep_runtime::{Ctx, Engine, Instance, LoadOptions, Options, Runtime};
use skep_testkit::{engine, suite};

const ENGINES: [Engine; 2] = [Engine::Interpreter, Engine::MachineCode];

/// The programs of a suite; none if the host has no BTF.
fn programs(text: &str) -> Vec<Program> {
    let host = skep::Host::read(&skep::KernelBtf::Running).ok();
    let Some(btf) = host.and_then(|host| host.kernel_btf) else { return Vec::new() };
    let cases = suite::read(text).unwrap();
    let first = |case| suite::programs(case, Some(&btf)).unwrap().remove(0);
    cases.iter().map(first).collect()
}

fn load(program: &Program, engine: Engine) -> Result<(Runtime, Instance), String> {
    let runtime = Runtime::new(Options { cpus: 1, ..Options::default() }).unwrap();
    let maps = runtime.create_maps(&program.maps, program.btf.as_ref());
    let options = LoadOptions { engine, ..LoadOptions::default() };
    let verified = engine::verified(program).unwrap();
    let instance = runtime.load(&verified, &maps, &options).map_err(|e| e.to_string())?;
    Ok((runtime, instance))
}

const CALLEE_WRITES: &str = "# A kfunc writes to the context

```toml
prog_type = \"syscall\"
flags = [\"sleepable\"]
```

## All of it

```bpf
    r2 = 4096
    r3 = 0
    r4 = 1
    call kfunc[bpf_copy_from_user_str]
    exit
```
";

/// A kfunc that receives the context as memory accesses as many bytes as its size argument says.
#[test]
fn a_context_is_as_long_as_callees_take_it_for() {
    for program in programs(CALLEE_WRITES) {
        for engine in ENGINES {
            let (_runtime, instance) = load(&program, engine).unwrap();
            let mut short = Ctx::raw(program.prog_type, &[0; 8]).unwrap();
            let refused = instance.run(&mut short).unwrap_err().to_string();
            assert!(refused.contains("needs a context of 4096 bytes, got 8"), "{refused}");
            let mut whole = Ctx::raw(program.prog_type, &[1; 4096]).unwrap();
            assert_eq!(instance.run(&mut whole).unwrap().retval as i32, -14);
            assert_eq!(whole.raw_bytes(), [0; 4096]);
        }
    }
}

const KERNEL_MEM: &str = "# A struct of the kernel as a helper's memory

```toml
prog_type = \"tracing\"
attach_type = \"trace_raw_tp\"
attach = \"btf_trace_task_newtask\"
[map.ring]
type = \"ringbuf\"
key = 0
value = 0
max = 4096
```

## Output of its first bytes

```bpf
    r2 = *(u64 *)(r1 + 0)
    r1 = map[ring]
    r3 = 8
    r4 = 0
    call bpf_ringbuf_output
    r0 = 0
    exit
```

## Output of something else on one path

```bpf
    r6 = *(u64 *)(r1 + 0)
    r7 = *(u64 *)(r1 + 8)
    *(u64 *)(r10 - 8) = 0
    if r7 == 0 goto out
    r6 = r10
    r6 += -8
out:
    r1 = map[ring]
    r2 = r6
    r3 = 8
    r4 = 0
    call bpf_ringbuf_output
    r0 = 0
    exit
```
";

#[test]
fn a_struct_of_the_kernel_is_no_memory_of_a_helper() {
    for program in programs(KERNEL_MEM) {
        for engine in ENGINES {
            let why = load(&program, engine).unwrap_err();
            assert!(why.contains("not supported yet: a struct of the kernel as memory"), "{why}");
        }
    }
}

const MIXED: &str = "# A load that is careful on one path only

```toml
prog_type = \"syscall\"
flags = [\"sleepable\"]
[map.m]
type = \"array\"
value = 8
contents = \"2a00000000000000\"
```

## The map's value first

```bpf
    r9 = r1
    *(u32 *)(r10 - 4) = 0
    r1 = map[m]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r6 = r0
    r1 = *(u64 *)(r9 + 0)
    if r1 == 0 goto load
    r2 = 0
    call kfunc[bpf_rdonly_cast]
    r6 = r0
load:
    r0 = *(u64 *)(r6 + 0)
out:
    exit
```

## The cast first

```bpf
    r9 = r1
    *(u32 *)(r10 - 4) = 0
    r1 = map[m]
    r2 = r10
    r2 += -4
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r6 = r0
    r1 = *(u64 *)(r9 + 0)
    if r1 != 0 goto cast
load:
    r0 = *(u64 *)(r6 + 0)
out:
    exit
cast:
    r2 = 0
    call kfunc[bpf_rdonly_cast]
    r6 = r0
    goto load
```
";

/// The kernel is not compared: it assumes that the load cannot fail.
#[test]
fn a_load_is_careful_if_it_has_to_be_on_any_path() {
    for program in programs(MIXED) {
        for engine in ENGINES {
            let (_runtime, instance) = load(&program, engine).unwrap();
            for (word, wanted) in [(0u64, 42), (0x7000, 0), (u64::MAX - 7, 0), (1 << 63, 0)] {
                let mut ctx = Ctx::raw(program.prog_type, &word.to_le_bytes()).unwrap();
                assert_eq!(instance.run(&mut ctx).unwrap().retval, wanted, "{word:#x}");
            }
        }
    }
}
