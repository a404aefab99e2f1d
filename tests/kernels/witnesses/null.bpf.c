// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels know of pointers that are not NULL: each program reads address 0 where a kernel does
// not know that the jump is taken.
#include "../../programs/include/skep_bpf.h"
#include "walked_first.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64[8]);
} values SEC(".maps");

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} ring SEC(".maps");

SEC("socket") __attribute__((naked)) int stack(void)
{
	asm volatile("r1 = r10;"
		     "if r1 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int context(void)
{
	asm volatile("if r1 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int map(void)
{
	asm volatile("r1 = %[values] ll;"
		     "if r1 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int map_value(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "if r0 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("xdp") __attribute__((naked)) int packet(void)
{
	asm volatile("r2 = *(u32 *)(r1 + 0);"
		     "if r2 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("xdp") __attribute__((naked)) int packet_end(void)
{
	asm volatile("r2 = *(u32 *)(r1 + 4);"
		     "if r2 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("tp_btf/task_newtask") __attribute__((naked)) int task(void)
{
	asm volatile("r1 = *(u64 *)(r1 + 0);"
		     "if r1 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("tp_btf/task_newtask") __attribute__((naked)) int current_task(void)
{
	asm volatile("call 158;"
		     "if r0 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("tc") __attribute__((naked)) int full_socket(void)
{
	asm volatile("r6 = r1;"
		     "r1 = *(u64 *)(r6 + 168);"
		     "if r1 == 0 goto 1f;"
		     "call 95;"
		     "if r0 == 0 goto 1f;"
		     "if r0 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int half_of_stack(void)
{
	asm volatile("r1 = r10;"
		     "if w1 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int half_of_context(void)
{
	asm volatile("if w1 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("socket") __attribute__((naked)) int half_of_map(void)
{
	asm volatile("r1 = %[values] ll;"
		     "if w1 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int half_of_map_value(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "if w0 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("xdp") __attribute__((naked)) int half_of_packet(void)
{
	asm volatile("r2 = *(u32 *)(r1 + 0);"
		     "if w2 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("xdp") __attribute__((naked)) int half_of_packet_end(void)
{
	asm volatile("r2 = *(u32 *)(r1 + 4);"
		     "if w2 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("tp_btf/task_newtask") __attribute__((naked)) int half_of_task(void)
{
	asm volatile("r1 = *(u64 *)(r1 + 0);"
		     "if w1 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("tp_btf/task_newtask") __attribute__((naked)) int half_of_current_task(void)
{
	asm volatile("call 158;"
		     "if w0 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("tc") __attribute__((naked)) int half_of_full_socket(void)
{
	asm volatile("r6 = r1;"
		     "r1 = *(u64 *)(r6 + 168);"
		     "if r1 == 0 goto 1f;"
		     "call 95;"
		     "if r0 == 0 goto 1f;"
		     "if w0 != 0 goto 1f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// Memory of a ring buffer is given back, whatever is known of it.

SEC("socket") __attribute__((naked)) int ring_memory(void)
{
	asm volatile("r1 = %[ring] ll;"
		     "r2 = 8;"
		     "r3 = 0;"
		     "call 131;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "r1 = r0;"
		     "r2 = 0;"
		     "if r6 != 0 goto 2f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "2: call 133;"
		     "1: r0 = 0;"
		     "exit" :: [ring] "i"(&ring) : "memory");
}

SEC("socket") __attribute__((naked)) int half_of_ring_memory(void)
{
	asm volatile("r1 = %[ring] ll;"
		     "r2 = 8;"
		     "r3 = 0;"
		     "call 131;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "r1 = r0;"
		     "r2 = 0;"
		     "if w6 != 0 goto 2f;"
		     "r0 = 0;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "2: call 133;"
		     "1: r0 = 0;"
		     "exit" :: [ring] "i"(&ring) : "memory");
}

// On one path NULL is passed with no size, on the other, walked later, a number.
SEC("tc") __attribute__((naked)) int number_for_null(void)
{
	asm volatile(WALKED_FIRST(0, 5)
		     "r1 = r6;"
		     "r2 = 0;"
		     "r3 = r10;"
		     "r3 += -8;"
		     "*(u64 *)(r10 - 8) = 0;"
		     "r4 = 8;"
		     "r5 = 0;"
		     "call 28;" // bpf_csum_diff
		     "r0 = 0;"
		     "exit" ::: "memory");
}

// A value that may be NULL, where NULL is taken.
SEC("tc") __attribute__((naked)) int value_or_null(void)
{
	asm volatile("r1 = 0;"
		     "*(u32 *)(r10 - 4) = r1;"
		     "r2 = r10;"
		     "r2 += -4;"
		     "r1 = %[array] ll;"
		     "call 1;" // bpf_map_lookup_elem
		     "r1 = r0;"
		     "r2 = 4;"
		     "r3 = 0;"
		     "r4 = 0;"
		     "r5 = 0;"
		     "call 28;" // bpf_csum_diff
		     "r0 = 0;"
		     "exit" :: [array] "i"(&values) : "memory");
}

// The value of an iterator's map is NULL when the iterator ends.
SEC("iter/bpf_map_elem") __attribute__((naked)) int unchecked_buffer(void)
{
	asm volatile("r2 = *(u64 *)(r1 + 24);"
		     "r1 = *(u32 *)(r2 + 0);"
		     "r0 = 0;"
		     "exit" ::: "memory");
}
