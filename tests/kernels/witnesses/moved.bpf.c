// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What is left of pointers when that to which they point may have moved, or was given up.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms")))

struct {
	UINT(type, 3);
	UINT(max_entries, 4);
	UINT(key_size, 4);
	UINT(value_size, 4);
} programs SEC(".maps");

// A packet is read after a tail call that failed.
SEC("tc") __attribute__((naked)) int packet_after_tail_call(void)
{
	asm volatile("r6 = r1;"
		     "r7 = *(u32 *)(r6 + 76);"
		     "r8 = *(u32 *)(r6 + 80);"
		     "r2 = r7;"
		     "r2 += 16;"
		     "if r2 > r8 goto 1f;"
		     "r1 = r6;"
		     "r2 = %[programs] ll;"
		     "r3 = 1;"
		     "call 12;"
		     "r0 = *(u8 *)(r7 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [programs] "i"(&programs) : "memory");
}

u64 room[8];

// Memory of a dynptr that was overwritten.
SEC("tc") __attribute__((naked)) int data_after_overwrite(void)
{
	asm volatile("r1 = %[room] ll;"
		     "r2 = 64;"
		     "r3 = 0;"
		     "r4 = r10;"
		     "r4 += -16;"
		     "call 197;"
		     "r1 = r10;"
		     "r1 += -16;"
		     "r2 = 0;"
		     "r3 = 8;"
		     "call 203;"
		     "if r0 == 0 goto 1f;"
		     "r1 = 0;"
		     "*(u64 *)(r10 - 16) = r1;"
		     "r1 = *(u64 *)(r0 + 0);"
		     "1: r0 = 0;"
		     "exit" :: [room] "i"(room) : "memory");
}

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct sk_buff {
	unsigned int len;
};

KFUNC int bpf_dynptr_from_skb(struct sk_buff *skb, u64 flags, struct bpf_dynptr *dynptr);

SEC("tp_btf/kfree_skb") int dynptr_of_traced(u64 *ctx)
{
	struct bpf_dynptr dynptr;

	bpf_dynptr_from_skb((void *)ctx[0], 0, &dynptr);
	return 0;
}
