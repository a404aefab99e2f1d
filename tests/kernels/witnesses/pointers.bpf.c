// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What kernels know of pointers.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RELAXED __attribute__((preserve_access_index))

struct task_struct {
	void *stack;
} RELAXED;

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64[8]);
} values SEC(".maps");

// A pointer to void in an object of the kernel.
SEC("tp_btf/task_newtask") int void_read(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u64 *stack = task->stack;
	return stack ? *stack != 0 : 0;
}

// A pointer less a constant in a register, and the constant again.
SEC("socket") __attribute__((naked)) int value_less_register(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r1 = 4;"
		     "r0 -= r1;"
		     "r0 = *(u8 *)(r0 + 4);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int value_less_constant(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r0 -= 4;"
		     "r0 = *(u8 *)(r0 + 4);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int value_plus_negative(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r0 += -4;"
		     "r0 = *(u8 *)(r0 + 4);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int value_plus_negative_register(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r1 = -4;"
		     "r0 += r1;"
		     "r0 = *(u8 *)(r0 + 4);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int value_less_and_plus(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r0 -= 4;"
		     "r0 += 4;"
		     "r0 = *(u8 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int value_plus_and_less(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r0 += 8;"
		     "r0 -= 4;"
		     "r0 = *(u8 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int value_less_aligned(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r0 -= 8;"
		     "r0 = *(u64 *)(r0 + 8);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int value_range_less(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r0 &= 7;"
		     "r6 += r0;"
		     "r6 -= 4;"
		     "r0 = *(u8 *)(r6 + 4);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int value_range_plus_negative(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r0 &= 7;"
		     "r6 += r0;"
		     "r6 += -4;"
		     "r0 = *(u8 *)(r6 + 4);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int value_plus_negative_range(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r0 &= 7;"
		     "r0 += -4;"
		     "r6 += r0;"
		     "r0 = *(u8 *)(r6 + 4);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int value_plus_range_and_constant(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r0 &= 7;"
		     "r0 += -4;"
		     "r6 += r0;"
		     "r6 += 4;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

// A number that was a copy plus a constant adds but itself.
SEC("socket") __attribute__((naked)) int forgotten_sum(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += 1000;"
		     "r8 &= 7;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int forgotten_negative_sum(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += -1000;"
		     "r8 &= 7;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int forgotten_narrow_mask(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += -1000;"
		     "w8 &= 7;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int forgotten_after_xor(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += -1000;"
		     "r8 ^= 3000;"
		     "r8 &= 7;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int forgotten_after_call(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += -1000;"
		     "call 5;"
		     "w8 &= 7;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int linked_sum_added(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r0 &= 7;"
		     "r8 = r0;"
		     "r8 += 8;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int stack_less_register(void)
{
	asm volatile("r1 = 8;"
		     "r2 = r10;"
		     "r2 -= r1;"
		     "r0 = 0;"
		     "*(u64 *)(r2 + 0) = r0;"
		     "exit" ::: "memory");
}

SEC("xdp") __attribute__((naked)) int packet_less_constant(void)
{
	asm volatile("r2 = *(u32 *)(r1 + 0);"
		     "r3 = *(u32 *)(r1 + 4);"
		     "r4 = r2;"
		     "r4 += 8;"
		     "if r4 > r3 goto 1f;"
		     "r4 -= 8;"
		     "r0 = *(u8 *)(r4 + 0);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

SEC("xdp") __attribute__((naked)) int packet_below_and_back(void)
{
	asm volatile("r2 = *(u32 *)(r1 + 0);"
		     "r3 = *(u32 *)(r1 + 4);"
		     "r4 = r2;"
		     "r4 += 8;"
		     "if r4 > r3 goto 1f;"
		     "r4 -= 12;"
		     "r0 = *(u8 *)(r4 + 4);"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// What was added is too much for a pointer.
SEC("socket") __attribute__((naked)) int forgotten_large_sum(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += 0x30000000;"
		     "r8 &= 7;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int forgotten_large_negative_sum(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += -0x30000000;"
		     "r8 &= 7;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int forgotten_large_after_xor(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += -0x30000000;"
		     "r8 ^= 3000;"
		     "w8 &= 7;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int forgotten_large_copied(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += -0x30000000;"
		     "r8 &= 7;"
		     "r9 = r8;"
		     "r6 += r9;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int forgotten_large_loaded(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += -0x30000000;"
		     "*(u64 *)(r10 - 16) = r8;"
		     "r8 = *(u64 *)(r10 - 16);"
		     "r8 &= 7;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int forgotten_large_shifted(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += -0x30000000;"
		     "r8 >>= 61;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int forgotten_large_made_const(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += -0x30000000;"
		     "r8 &= 0;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int forgotten_large_moved(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += -0x30000000;"
		     "r8 = 4;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

SEC("socket") __attribute__((naked)) int forgotten_large_loaded_over(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[values] ll;"
		     "call 1;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r8 += -0x30000000;"
		     "r8 = *(u8 *)(r6 + 0);"
		     "r8 &= 7;"
		     "r6 += r8;"
		     "r0 = *(u8 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [values] "i"(&values) : "memory");
}

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} ring SEC(".maps");

// More of a ring buffer than there can be.
SEC("socket") __attribute__((naked)) int reserved_negative(void)
{
	asm volatile("r1 = %[ring] ll;"
		     "r2 = -23;"
		     "r3 = 0;"
		     "call 131;"
		     "if r0 == 0 goto 1f;"
		     "r1 = r0;"
		     "r2 = 0;"
		     "call 133;"
		     "1: r0 = 0;"
		     "exit" :: [ring] "i"(&ring) : "memory");
}

SEC("socket") __attribute__((naked)) int reserved_wide(void)
{
	asm volatile("r1 = %[ring] ll;"
		     "r2 = 0x100000008 ll;"
		     "r3 = 0;"
		     "call 131;"
		     "if r0 == 0 goto 1f;"
		     "r1 = r0;"
		     "r2 = 0;"
		     "call 133;"
		     "1: r0 = 0;"
		     "exit" :: [ring] "i"(&ring) : "memory");
}

struct dev_ifalias {
	char ifalias[0];
} RELAXED;

struct net_device {
	struct dev_ifalias *ifalias;
} RELAXED;

struct sk_buff {
	struct net_device *dev;
} RELAXED;

// An array at the end of a struct, of which nobody says how long it is.
SEC("tp_btf/net_dev_queue") int last_array(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct dev_ifalias *alias = skb->dev->ifalias;
	return alias->ifalias[8] == 'x' ? 1 : 0;
}

// A number that is the least there is, where it is more than another.
SEC("socket") __attribute__((naked)) int contradiction(void)
{
	asm volatile("call 7;"
		     "w6 = w0;"
		     "r7 = -2147483648;"
		     "r9 = r10;"
		     "if w7 s<= w6 goto 1f;"
		     "r9 += r7;"
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// The callee adds its frame pointer to a number, and stores there; the caller's slot is its own.
static __attribute__((noinline)) int writes_own_slot(void *ctx)
{
	asm volatile("r2 = -8;"
		     "r2 += r10;"
		     "*(u64 *)(r2 + 0) = r1" ::: "r2", "memory");
	return 0;
}
SEC("socket") __attribute__((naked)) int frame_of_sum(void)
{
	asm volatile("r6 = 64;"
		     "*(u64 *)(r10 - 8) = r6;"
		     "call %[callee];"
		     "r1 = *(u64 *)(r10 - 8);"
		     "r0 = *(u32 *)(r1 + 0);"
		     "r0 = 0;"
		     "exit" :: [callee] "i"(writes_own_slot) : "memory");
}
