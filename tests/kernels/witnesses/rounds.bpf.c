// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Loops whose rounds differ.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms")))

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));
KFUNC int bpf_iter_num_new(struct bpf_iter_num *it, int from, int to);
KFUNC int *bpf_iter_num_next(struct bpf_iter_num *it);
KFUNC void bpf_iter_num_destroy(struct bpf_iter_num *it);

static u32 (*const random)(void) = (void *)7;

// At first any number, later one that lies within.
SEC("tc") int becomes_five(struct __sk_buff *skb)
{
	struct bpf_iter_num it;
	u64 number = 0, next = random();

	bpf_iter_num_new(&it, 0, 10);
	while (bpf_iter_num_next(&it)) {
		number = next;
		next = 5;
		asm volatile("" : "+r"(number), "+r"(next));
	}
	bpf_iter_num_destroy(&it);
	return number + next;
}
