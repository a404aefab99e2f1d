// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Which tracepoints may sleep, and what their programs may do then.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define PROGRAM(section, name, body) \
	SEC(section) __attribute__((naked)) int name(void) { asm volatile(body ::: "memory"); }

#define NOTHING "r0 = 0; exit"
// bpf_copy_from_user, of eight bytes
#define COPY "r1 = r10; r1 += -8; r2 = 8; r3 = 0; call 148; r0 = 0; exit"

PROGRAM("tp_btf.s/sys_enter", btf_enter, NOTHING)
PROGRAM("tp_btf.s/sys_exit", btf_exit, NOTHING)
PROGRAM("tp_btf.s/sched_switch", btf_switch, NOTHING)
PROGRAM("tp_btf.s/sys_enter", btf_copies, COPY)
PROGRAM("tp_btf/sys_enter", btf_copies_awake, COPY)
PROGRAM("tp_btf.s/sys_enter", btf_returns, "r0 = 1; exit")
PROGRAM("tp_btf.s/sys_enter", btf_loads, "r1 = *(u64 *)(r1 + 0); r0 = *(u64 *)(r1 + 0); r0 = 0; exit")
PROGRAM("raw_tp.s/sys_enter", raw_enter, NOTHING)
PROGRAM("raw_tp.s/sched_switch", raw_switch, NOTHING)
PROGRAM("raw_tp.s/sys_enter", raw_copies, COPY)
PROGRAM("raw_tp/sys_enter", raw_copies_awake, COPY)
PROGRAM("tp.s/syscalls/sys_enter_getpid", tp_enter, NOTHING)
PROGRAM("tp.s/sched/sched_switch", tp_switch, NOTHING)
PROGRAM("tp.s/syscalls/sys_enter_getpid", tp_copies, COPY)
PROGRAM("tp/syscalls/sys_enter_getpid", tp_copies_awake, COPY)
PROGRAM("tp.s/syscalls/sys_enter_getpid", tp_prints, "r1 = r10; r1 += -8; r2 = 0; *(u64 *)(r10 - 8) = r2; r2 = 8; call 6; r0 = 0; exit")
PROGRAM("tp.s/syscalls/sys_enter_getpid", tp_stackid, "r2 = 0; r3 = 0; call 35; r0 = 0; exit")

struct {
	int (*type)[4];
	int (*key_size)[4];
	int (*value_size)[4];
} events SEC(".maps");

#define OUTPUT(section, name) \
	SEC(section) __attribute__((naked)) int name(void) \
	{ asm volatile("r2 = 0; *(u64 *)(r10 - 8) = r2; r4 = r10; r4 += -8; r5 = 8; r3 = 0; r2 = %[m] ll; call 25; r0 = 0; exit" \
		:: [m] "i"(&events) : "memory"); }
OUTPUT("tp_btf.s/sys_enter", btf_output)
OUTPUT("raw_tp.s/sys_enter", raw_output)
OUTPUT("tp.s/syscalls/sys_enter_getpid", tp_output)
