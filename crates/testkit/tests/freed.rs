//! A program that makes Linux 6.18 read what it has freed (`docs/kernel-findings.md`). It is never
//! loaded into a kernel, so that no suite can hold it.

use skep_testkit::judge::Judge;
use skep_testkit::{engine, suite};

/// Each round of the callback enters the iterator's loop again, behind states of the round before.
const ROUNDS: &str = r#"# Rounds

```toml
flags = ["test_state_freq"]
[map.m]
type = "array"
value = 64
```

## What is stored needs to be precise

```bpf
    *(u64 *)(r10 - 104) = 0
    r1 = 3
    r2 = func[round]
    r3 = r10
    r3 += -104
    r4 = 0
    call bpf_loop
    r3 = *(u64 *)(r10 - 104)
    r5 = map_value[m]
    r5 += r3
    exit
round:
    r6 = r2
    r8 = r1
    r9 = *(u64 *)(r6 + 0)
    r3 = 1
    if r8 > 9 goto far
    r3 = 40
far:
    r5 = map_value[m]
    r5 += r3
    r1 = r10
    r1 += -40
    r2 = 0
    call kfunc[bpf_iter_num_new]
again:
    r1 = r10
    r1 += -40
    call kfunc[bpf_iter_num_next]
    if r0 == 0 goto done
    r9 = *(u32 *)(r0 + 0)
    goto again
done:
    r1 = r10
    r1 += -40
    call kfunc[bpf_iter_num_destroy]
    r9 += 1
    *(u64 *)(r6 + 0) = r9
    r0 = 0
    exit
```
"#;

#[test]
fn what_reads_a_freed_state_is_never_loaded() {
    let judge = Judge::here();
    let cases = suite::read(ROUNDS).expect("a suite");
    if judge.lacks_types_of(&cases[0]) {
        return;
    }
    let (program, _) = suite::program(&cases[0], judge.btf()).expect("a program");
    assert_eq!(engine::verify(&program, 0).must_not_load(), Some("a freed state is read"));
}
