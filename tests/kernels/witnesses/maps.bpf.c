// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What may be done with maps and what is in them.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define READ_NULL "r0 = 0; r0 = *(u64 *)(r0 + 0);"
#define LOOKUP(map) \
	"r1 = 0;" \
	"*(u64 *)(r10 - 8) = r1;" \
	"r2 = r10;" \
	"r2 += -8;" \
	"r1 = %[" map "] ll;" \
	"call 1;"

struct {
	UINT(type, 15);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
} sockets SEC(".maps");

SEC("xdp") __attribute__((naked)) int deletes_socket(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10;"
		     "r2 += -8;"
		     "r1 = %[map] ll;"
		     "call 3;"
		     "r0 = 0;"
		     "exit" :: [map] "i"(&sockets) : "memory");
}

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64[8]);
} numbers SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1);
	TYPE(key, u64);
	TYPE(value, u64[8]);
} values SEC(".maps");

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} ring SEC(".maps");

SEC("socket") __attribute__((naked)) int first_of_array(void)
{
	asm volatile("w1 = 0;"
		     "*(u32 *)(r10 - 4) = w1;"
		     "r2 = r10;"
		     "r2 += -4;"
		     "r1 = %[map] ll;"
		     "call 1;"
		     "r0 = *(u64 *)(r0 + 0);"
		     "r0 = 0;"
		     "exit" :: [map] "i"(&numbers) : "memory");
}

// What is reserved of a ring buffer is a key.
SEC("socket") __attribute__((naked)) int reserved_key(void)
{
	asm volatile("r1 = %[ring] ll;"
		     "r2 = 8;"
		     "r3 = 0;"
		     "call 131;"
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "r1 = 0;"
		     "*(u64 *)(r6 + 0) = r1;"
		     "r1 = %[map] ll;"
		     "r2 = r6;"
		     "call 1;"
		     "r1 = r6;"
		     "r2 = 0;"
		     "call 133;"
		     "1: r0 = 0;"
		     "exit" :: [ring] "i"(&ring), [map] "i"(&values) : "memory");
}

// The same of what a dynptr is made of, twice.
SEC("tc") __attribute__((naked)) int dynptr_twice(void)
{
	asm volatile(LOOKUP("map")
		     "if r0 == 0 goto 1f;"
		     "r6 = r0;"
		     "r1 = r6; r2 = 16; r3 = 0; r4 = r10; r4 += -32; call 197;"
		     "r1 = r6; r2 = 16; r3 = 0; r4 = r10; r4 += -32; call 197;"
		     "1: r0 = 0;"
		     "exit" :: [map] "i"(&values) : "memory");
}

// A value in the stack, of which bpf_csum_diff reads.
SEC("tc") __attribute__((naked)) int value_read_by_helper(void)
{
	asm volatile(LOOKUP("map")
		     "if r0 == 0 goto 1f;"
		     "r6 = 1;"
		     "*(u64 *)(r10 - 8) = r0;"
		     "*(u64 *)(r10 - 16) = r6;"
		     "r1 = r10; r1 += -16; r2 = 16; r3 = 0; r4 = 0; r5 = 0; call 28;"
		     "r6 = *(u64 *)(r10 - 8);"
		     "r0 = *(u64 *)(r6 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [map] "i"(&values) : "memory");
}

// A number in the stack, where bpf_fib_lookup writes.
SEC("xdp") __attribute__((naked)) int route_overwrites(void)
{
	asm volatile("r2 = 0; r3 = 5;"
		     "*(u64 *)(r10 - 64) = r2;"
		     "*(u64 *)(r10 - 56) = r2;"
		     "*(u64 *)(r10 - 48) = r2;"
		     "*(u64 *)(r10 - 40) = r2;"
		     "*(u64 *)(r10 - 32) = r2;"
		     "*(u64 *)(r10 - 24) = r2;"
		     "*(u64 *)(r10 - 16) = r2;"
		     "*(u64 *)(r10 - 8) = r3;"
		     "r2 = r10; r2 += -64; r3 = 64; r4 = 0; call 69;"
		     "r1 = *(u64 *)(r10 - 8);"
		     "if r1 == 5 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" ::: "memory");
}

// The second of two values may be NULL; that of the first says nothing of it.
SEC("socket") __attribute__((naked)) int other_value(void)
{
	asm volatile("r1 = 0;"
		     "*(u64 *)(r10 - 8) = r1;"
		     "r2 = r10; r2 += -8; r1 = %[map] ll; call 1;"
		     "r6 = r0;"
		     "call 7;"
		     "r8 = r0;"
		     "r2 = r10; r2 += -8; r1 = %[map] ll; call 1;"
		     "r7 = r0; r0 = 0;"
		     "if r8 == 0 goto 1f;"
		     "r7 = r6;"
		     "1: r8 = 0; if r8 != 0 goto 2f; r8 = 1; r8 = 2; r8 = 3; r8 = 4; if r8 == 0 goto 2f; r8 = 0; r8 = 0;"
		     "2: if r8 == 7 goto 3f;"
		     "3: if r6 == 0 goto 4f;"
		     "r0 = *(u64 *)(r7 + 0);"
		     "4: r0 = 0;"
		     "exit" :: [map] "i"(&values) : "memory");
}

// A tail call that succeeds does not come back here.
struct {
	UINT(type, MAP_PROG_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
} programs SEC(".maps");

static NOINLINE __attribute__((naked)) int leaves(void)
{
	asm volatile("r2 = %[map] ll; r3 = 0; call 12; r0 = 1; exit" :: [map] "i"(&programs) : "memory");
}

SEC("tc") __attribute__((naked)) int function_left(void)
{
	asm volatile("call %[f];"
		     "if r0 == 1 goto 1f;" READ_NULL
		     "1: r0 = 0;"
		     "exit" :: [f] "i"(leaves) : "memory");
}

struct locked {
	struct bpf_spin_lock lock;
	u32 n;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct locked);
} locked SEC(".maps");

static NOINLINE u32 next(u32 n)
{
	asm volatile("%0 += 1" : "+r"(n));
	return n;
}

SEC("tc") int calls_under_lock(struct __sk_buff *skb)
{
	u32 key = 0;
	struct locked *it = map_lookup_elem(&locked, &key);
	if (!it)
		return 0;
	spin_lock(&it->lock);
	it->n = next(it->n);
	spin_unlock(&it->lock);
	return 0;
}

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

struct timed {
	struct bpf_timer timer;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct timed);
} timed SEC(".maps");

static long (*const timer_cancel)(struct bpf_timer *timer) = (void *)172;

SEC("kprobe") int timer_in_kprobe(void *ctx)
{
	u32 key = 0;
	struct timed *it = map_lookup_elem(&timed, &key);
	if (it)
		timer_cancel(&it->timer);
	return 0;
}
