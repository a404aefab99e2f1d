// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What may be traced and changed, and what programs there may do.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RELAXED __attribute__((preserve_access_index))
#define KFUNC extern __attribute__((section(".ksyms")))
#define READ_NULL "r0 = 0; r0 = *(u64 *)(r0 + 0);"
#define PROGRAM(section, name, body) \
	SEC(section) __attribute__((naked)) int name(void) { asm volatile(body ::: "memory"); }
#define NOTHING "r0 = 0; exit"

// Hooks of security modules.
PROGRAM("lsm/getprocattr", disabled_hook, NOTHING)
PROGRAM("lsm/file_alloc_security", file_alloc, NOTHING)
PROGRAM("lsm/file_open", hook_positive, "r0 = 1; exit")
PROGRAM("lsm.s/inode_rename", hook_sleeps, NOTHING)

// Functions that are there to be changed; system calls.
PROGRAM("fmod_ret/bpf_modify_return_test", changes_test, NOTHING)
PROGRAM("fentry.s/__x64_sys_getpgid", syscall_sleeps, NOTHING)
PROGRAM("uprobe.s", uprobe_sleeps, NOTHING)
PROGRAM("cgroup/bind4", bind_any_port, "r0 = 3; exit")

// A pointer to a number: `loff_t *` of vfs_read.
PROGRAM("fentry/vfs_read", pointer_to_number, "r0 = *(u64 *)(r1 + 24); r0 = 0; exit")

// Eight bytes of a union whose member there has four.
PROGRAM("lsm/bpf", beyond_member, "r2 = *(u64 *)(r1 + 8); r0 = *(u64 *)(r2 + 0); r0 = 0; exit")

// bpf_probe_write_user
PROGRAM("kprobe", writes_user,
	"r1 = 0; r2 = r10; r2 += -8; *(u64 *)(r10 - 8) = r1; r3 = 8; call 36; r0 = 0; exit")

// bpf_get_task_stack of 64 bytes
PROGRAM("iter/task", stack_of_task,
	"r1 = *(u64 *)(r1 + 8);"
	"if r1 == 0 goto 1f;"
	"r2 = r10; r2 += -64; r3 = 64; r4 = 0; call 141;"
	"if r0 s< 0 goto 1f;"
	"if r0 <= 64 goto 1f;" READ_NULL
	"1: r0 = 0; exit")

// A pointer to an object in the stack that bpf_trace_printk is given.
PROGRAM("tp_btf/task_newtask", object_in_stack,
	"r6 = *(u64 *)(r1 + 0);"
	"r2 = 0;"
	"*(u64 *)(r10 - 8) = r6;"
	"*(u64 *)(r10 - 16) = r2;"
	"r1 = r10; r1 += -16; r2 = 16; call 6;"
	"r6 = *(u64 *)(r10 - 8);"
	"r0 = *(u64 *)(r6 + 0);"
	"r0 = 0; exit")

// bpf_trace_printk reads of an object, and of the context.
PROGRAM("tp_btf/task_newtask", object_as_memory, "r1 = *(u64 *)(r1 + 0); r2 = 8; call 6; r0 = 0; exit")
PROGRAM("raw_tp/sys_enter", context_as_memory, "r2 = 8; call 6; r0 = 0; exit")

extern int bpf_fentry_test1(int a) SEC(".ksyms");

SEC("raw_tp/sys_enter") int address_of_function(void *ctx)
{
	volatile u64 address = (u64)&bpf_fentry_test1;
	return address == 1;
}

// bpf_sock_ops.skb_hwtstamp
PROGRAM("sockops", late_field, "r0 = *(u64 *)(r1 + 216); r0 = 0; exit")

struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} per_cpu SEC(".maps");

SEC("lsm.s/bprm_committed_creds") __attribute__((naked)) int sleeps_with_map(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[map] ll;"
		     "call 1;"
		     "r0 = 0;"
		     "exit" :: [map] "i"(&per_cpu) : "memory");
}

// A part of a pointer among a function's arguments, and a read by it.
#define READ_BY "r0 = *(u64 *)(r1 + 0); r0 = 0; exit"
PROGRAM("tp_btf/task_newtask", byte_of_argument, "r1 = *(u8 *)(r1 + 0); r0 = 0; exit")
PROGRAM("tp_btf/task_newtask", byte_of_argument_read_by, "r1 = *(u8 *)(r1 + 0);" READ_BY)
PROGRAM("tp_btf/task_newtask", half_of_argument_read_by, "r1 = *(u16 *)(r1 + 0);" READ_BY)
PROGRAM("tp_btf/task_newtask", word_of_argument_read_by, "r1 = *(u32 *)(r1 + 0);" READ_BY)
PROGRAM("tp_btf/task_newtask", later_byte_of_argument, "r1 = *(u8 *)(r1 + 1); r0 = 0; exit")
PROGRAM("lsm/file_open", byte_of_hook_argument, "r1 = *(u8 *)(r1 + 0);" READ_BY)
PROGRAM("fentry/vfs_read", byte_of_traced_argument, "r1 = *(u8 *)(r1 + 0);" READ_BY)

// What is wrong with the target, and what is wrong with an insn: one is said first.
PROGRAM("fmod_ret/inet_accept", target_and_opcode, ".byte 0xff, 0, 0, 0, 0, 0, 0, 0; r0 = 0; exit")
PROGRAM("fmod_ret/inet_accept", target_and_jump, ".byte 5, 0, 80, 0, 0, 0, 0, 0; r0 = 0; exit")
PROGRAM("fmod_ret/inet_accept", target_and_loop, "r0 = 0; exit; .byte 5, 0, 0xff, 0xff, 0, 0, 0, 0")

// One of the arguments points to a function.
SEC("fentry/smp_call_function_single") __attribute__((naked)) int pointer_to_function(void)
{
	asm volatile("r2 = *(u64 *)(r1 + 8); r0 = 0; exit" ::: "memory");
}
