// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What the first kernels of a series do, and later ones of the same series no longer do.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const strtoul)(const char *buf, u64 len, u64 flags, u64 *to) = (void *)106;
static long (*const dynptr_from_mem)(void *data, u32 size, u64 flags, struct bpf_dynptr *to) = (void *)197;
static void *(*const dynptr_data)(const struct bpf_dynptr *from, u32 offset, u32 len) = (void *)203;

struct {
	int (*type)[2];
	u32 *key;
	u64 (*value)[2];
	int (*max_entries)[1];
} values SEC(".maps");

static void *(*const lookup)(void *map, const void *key) = (void *)1;

// The lower half of a number, sign-extended: what was known of its bits holds no longer.
SEC("tc") __attribute__((naked)) int half_extended(void)
{
	asm volatile("call 7; r3 = r0; r3 &= 15; r3 |= 128;"
		".8byte 0x00000000000837bc;" // w7 = (s8)w3
		"if w7 s< 0xfffffffb goto 1f; r10 = 1; exit; 1: r0 = 0; exit" ::: "memory");
}

// What is known of the lower half bounds the number.
SEC("tc") __attribute__((naked)) int half_bounds_number(void)
{
	asm volatile("call 7; r8 = r0; r8 <<= 32; r8 s>>= 32; r1 = 0; *(u64 *)(r10 - 8) = r1;"
		"if w1 s> w8 goto 1f; if w8 s> 7 goto 1f; r2 = r10; r2 += -8; r2 += r8;"
		"r0 = *(u8 *)(r2 + 0); 1: r0 = 0; exit" ::: "memory");
}

// A number made from the address of the stack, which must be precise.
SEC("tc") __attribute__((naked)) int half_of_frame(void)
{
	asm volatile("r1 = 0; *(u64 *)(r10 - 8) = r1; w1 = w10; w1 &= 3; r2 = r10; r2 += -8; r2 += r1;"
		"r0 = *(u8 *)(r2 + 0); r0 = 0; exit" ::: "memory");
}

SEC("tc") __attribute__((naked)) int half_of_copy_of_frame(void)
{
	asm volatile("r1 = 0; *(u64 *)(r10 - 8) = r1; r3 = r10; w1 = w3; w1 &= 3; r2 = r10; r2 += -8;"
		"r2 += r1; r0 = *(u8 *)(r2 + 0); r0 = 0; exit" ::: "memory");
}

__attribute__((naked, noinline, used)) static u64 half_of_stack(void)
{
	asm volatile("r1 = r10; w0 = w1; exit" ::: "memory");
}

SEC("tc") __attribute__((naked)) int half_of_callees_frame(void)
{
	asm volatile("r1 = 0; *(u64 *)(r10 - 8) = r1; call half_of_stack; r0 &= 3; r2 = r10; r2 += -8;"
		"r2 += r0; r0 = *(u8 *)(r2 + 0); r0 = 0; exit" ::: "memory");
}

__attribute__((naked, noinline, used)) static u64 byte_of_stack(void)
{
	asm volatile("r1 = r10;"
		".8byte 0x00000000000810bf;" // r0 = (s8)r1
		"exit" ::: "memory");
}

SEC("tc") __attribute__((naked)) int byte_of_callees_frame(void)
{
	asm volatile("r1 = 0; *(u64 *)(r10 - 8) = r1; call byte_of_stack; r0 &= 3; r2 = r10; r2 += -8;"
		"r2 += r0; r0 = *(u8 *)(r2 + 0); r0 = 0; exit" ::: "memory");
}

// A number into memory that a dynptr gives.
SEC("cgroup/sysctl") int number_into_slice(void *ctx)
{
	char text[8] = "12";
	struct bpf_dynptr dynptr;
	u32 key = 0;
	u64 *value = lookup(&values, &key);

	if (!value)
		return 1;
	dynptr_from_mem(value, 16, 0, &dynptr);
	u64 *number = dynptr_data(&dynptr, 0, 8);
	if (!number)
		return 1;
	strtoul(text, sizeof(text), 0, number);
	return 1;
}

// Loads from the context that extend the sign.
SEC("xdp") __attribute__((naked)) int packet_loaded_signed(void)
{
	asm volatile(".8byte 0x0000000000001281;" // r2 = *(s32 *)(r1 + 0)
		"r3 = *(u32 *)(r1 + 4); r4 = r2; r4 += 1; if r4 > r3 goto 1f; r0 = *(u8 *)(r2 + 0);"
		"1: r0 = 1; exit" ::: "memory");
}

SEC("tc") __attribute__((naked)) int length_loaded_signed(void)
{
	asm volatile(".8byte 0x0000000000001281;" // r2 = *(s32 *)(r1 + 0)
		"r0 = 0; exit" ::: "memory");
}
