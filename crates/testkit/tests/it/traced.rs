//! Programs that trace functions, with the words that a trampoline would pass. The kernel only runs
//! them when they are attached, and its test run attaches nothing: the expected results follow from
//! the description of each helper in `bpf-helpers(7)`.

use skep_runtime::{Ctx, Engine, LoadOptions, Options, Runtime};
use skep_testkit::{engine, suite};

const FENTRY: &str = "# Arguments

`bpf_fentry_test3(char a, int b, u64 c)`, `bpf_fentry_test7(struct bpf_fentry_test_t *arg)`.

```toml
prog_type = \"tracing\"
attach_type = \"trace_fentry\"
attach = \"bpf_fentry_test3\"
[map.out]
type = \"array\"
value = 64
```

## Each argument, and none behind the last

```bpf
    r6 = r1
    call bpf_get_func_arg_cnt
    r9 = map_value[out]+0
    *(u64 *)(r9 + 0) = r0
    r8 = 0
again:
    r1 = r6
    r2 = r8
    r3 = r10
    r3 += -8
    call bpf_get_func_arg
    if r0 != 0 goto none
    r1 = *(u64 *)(r10 - 8)
    r9 += 8
    *(u64 *)(r9 + 0) = r1
    r8 += 1
    if r8 < 4 goto again
none:
    r9 = map_value[out]+0
    *(u64 *)(r9 + 40) = r0
    *(u64 *)(r9 + 48) = r8
    r1 = r6
    r2 = 0x100000000 ll
    r3 = r10
    r3 += -8
    call bpf_get_func_arg
    r1 = *(u64 *)(r10 - 8)
    *(u64 *)(r9 + 56) = r1
    r0 = 0
    exit
```

## No result before the function

```bpf
    r2 = r10
    r2 += -8
    *(u64 *)(r10 - 8) = 5
    call bpf_get_func_ret
    r9 = map_value[out]+0
    *(u64 *)(r9 + 0) = r0
    r0 = 0
    exit
```

## The result

```toml
attach_type = \"trace_fexit\"
```

```bpf
    r6 = r1
    r2 = r10
    r2 += -8
    call bpf_get_func_ret
    r9 = map_value[out]+0
    *(u64 *)(r9 + 0) = r0
    r0 = *(u64 *)(r10 - 8)
    *(u64 *)(r9 + 8) = r0
    r0 = *(u64 *)(r6 + 24)
    *(u64 *)(r9 + 16) = r0
    r0 = 0
    exit
```

## A struct

```toml
attach = \"bpf_fentry_test7\"
```

```bpf
    r6 = *(u64 *)(r1 + 0)
    r0 = *(u64 *)(r6 + 0)
    r9 = map_value[out]+0
    *(u64 *)(r9 + 0) = r0
    r0 = 0
    exit
```

## A hook of a security module

`bpf_lsm_file_mprotect(struct vm_area_struct *vma, unsigned long reqprot, unsigned long prot)`.

```toml
prog_type = \"lsm\"
attach_type = \"lsm_mac\"
attach = \"bpf_lsm_file_mprotect\"
```

```bpf
    r6 = r1
    call bpf_get_func_arg_cnt
    r9 = map_value[out]+0
    *(u64 *)(r9 + 0) = r0
    r1 = r6
    r2 = 2
    r3 = r10
    r3 += -8
    call bpf_get_func_arg
    r1 = *(u64 *)(r10 - 8)
    *(u64 *)(r9 + 8) = r1
    r1 = *(u64 *)(r6 + 0)
    r1 = *(u64 *)(r1 + 8)
    *(u64 *)(r9 + 16) = r1
    r1 = r6
    r2 = r10
    r2 += -8
    call bpf_get_func_ret
    *(u64 *)(r9 + 24) = r0
    r0 = 0
    exit
```

## Two structs

`struct bpf_fentry_test_t { struct bpf_fentry_test_t *a; }`: the pointer in the struct, and what it
leads to, read by a helper.

```toml
attach = \"bpf_fentry_test7\"
```

```bpf
    r6 = *(u64 *)(r1 + 0)
    r7 = *(u64 *)(r6 + 0)
    r0 = *(u64 *)(r7 + 0)
    r9 = map_value[out]+0
    *(u64 *)(r9 + 0) = r0
    r1 = r9
    r1 += 8
    r2 = 8
    r3 = r7
    call bpf_probe_read_kernel
    *(u64 *)(r9 + 16) = r0
    r0 = 0
    exit
```

## Memory of a process

```toml
prog_type = \"lsm\"
attach_type = \"lsm_mac\"
attach = \"bpf_lsm_file_open\"
flags = [\"sleepable\"]
```

```bpf
    r9 = map_value[out]+0
    r1 = 5
    *(u64 *)(r9 + 0) = r1
    *(u64 *)(r9 + 8) = r1
    call bpf_get_current_task_btf
    r7 = r0
    r1 = r9
    r2 = 8
    r3 = 0x7000
    r4 = r7
    r5 = 0
    call bpf_copy_from_user_task
    *(u64 *)(r9 + 16) = r0
    r1 = r9
    r1 += 8
    r2 = 8
    r3 = 0x7000
    r4 = r7
    r5 = 1
    call bpf_copy_from_user_task
    *(u64 *)(r9 + 24) = r0
    r0 = 0
    exit
```

## The task

```bpf
    call bpf_get_current_task_btf
    r9 = map_value[out]+0
    r1 = *(u32 *)(r0 + 64)
    *(u64 *)(r9 + 0) = r1
    *(u64 *)(r9 + 8) = r0
    call bpf_get_current_task
    *(u64 *)(r9 + 16) = r0
    r0 = 0
    exit
```
";

/// Runs case `nth` on each engine, and passes on the resulting words.
fn run(nth: usize, words: &[u64], look: impl Fn(&[u64])) {
    run_with(nth, words, |_| {}, look);
}

/// The same with a context that is changed before.
fn run_with(nth: usize, words: &[u64], change: impl Fn(&mut Ctx), look: impl Fn(&[u64])) {
    let host = skep::Host::read(&skep::KernelBtf::Running).ok();
    let Some(btf) = host.and_then(|host| host.kernel_btf) else { return };
    let case = suite::read(FENTRY).unwrap().remove(nth);
    let program = suite::programs(&case, Some(&btf)).unwrap().remove(0);
    for engine in [Engine::Interpreter, Engine::MachineCode] {
        let runtime = Runtime::new(Options { cpus: 1, ..Options::default() }).unwrap();
        let maps = runtime.create_maps(&program.maps, program.btf.as_ref());
        let options = LoadOptions { engine, ..LoadOptions::default() };
        let verified = engine::verified(&program).unwrap();
        let instance = runtime.load(&verified, &maps, &options).unwrap();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut ctx = Ctx::raw(program.prog_type, &bytes).unwrap();
        change(&mut ctx);
        assert_eq!(instance.run(&mut ctx).unwrap().retval, 0);
        let out = maps.get("out").unwrap().lookup(&[0; 4]).unwrap();
        let (chunks, _) = out.as_chunks::<8>();
        let out: Vec<u64> = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
        look(&out);
        if words.len() > 1 {
            let mut short = Ctx::raw(program.prog_type, &bytes[..8]).unwrap();
            let why = instance.run(&mut short).map(|_| ()).map_err(|e| e.to_string());
            assert!(nth == 1 || why.is_err_and(|why| why.contains("bytes, got 8")));
        }
    }
}

const EFAULT: u64 = -14i64 as u64;
const EINVAL: u64 = -22i64 as u64;
const EOPNOTSUPP: u64 = -95i64 as u64;

#[test]
fn arguments_are_words_of_the_context() {
    run(0, &[1, u64::MAX, 7, 99], |out| assert_eq!(out, [3, 1, u64::MAX, 7, 0, EINVAL, 3, 1]));
}

#[test]
fn the_result_is_there_when_the_function_has_returned() {
    run(1, &[1, 2, 3], |out| assert_eq!(out[0], EOPNOTSUPP));
    run(2, &[1, 2, 3, 77], |out| assert_eq!(out[..3], [0, 77, 77]));
    run(4, &[0x7000, 2, 3, 0], |out| assert_eq!(out[..4], [3, 3, 0, EOPNOTSUPP]));
}

#[test]
fn nothing_is_where_no_struct_of_the_kernel_is() {
    for address in [0, 8, 0x7000, 0xffff_8880_0000_0000, u64::MAX] {
        run(3, &[address], |out| assert_eq!(out[0], 0));
    }
    run(6, &[0], |out| assert_eq!(out[..4], [0, 5, EFAULT, EINVAL]));
    run(7, &[0], |out| assert!(out[0] == 0 && out[1] != 0 && out[1] == out[2]));
}

#[test]
fn what_is_lent_is_there() {
    let lend = |ctx: &mut Ctx| {
        let inner = ctx.lend(&77u64.to_le_bytes()).unwrap();
        let outer = ctx.lend(&[0; 8]).unwrap();
        ctx.link(outer, 0, inner).unwrap();
        ctx.set_pointer(0, outer).unwrap();
        assert!(ctx.set_word(1, 0).is_err() && ctx.set_word(usize::MAX, 0).is_err());
    };
    run_with(5, &[0], lend, |out| assert_eq!(out[..3], [77, 77, 0]));
}
