// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Iterators whose `next` is called outside of any loop: once in each call of a callback.
#include "../../programs/include/skep_bpf.h"

#define KFUNC extern __attribute__((section(".ksyms"), weak))

struct bpf_iter_num {
	u64 value;
} __attribute__((aligned(8)));

KFUNC int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end);
KFUNC int *bpf_iter_num_next(struct bpf_iter_num *it);
KFUNC void bpf_iter_num_destroy(struct bpf_iter_num *it);

static long (*bpf_loop)(u32 turns, void *callback, void *ctx, u64 flags) = (void *)181;

char LICENSE[] SEC("license") = "GPL";

u64 numbers;

static long first_number(u32 turn, u64 *last)
{
	struct bpf_iter_num it;
	int *number;

	*last = turn;
	bpf_iter_num_new(&it, 0, 5);
	number = bpf_iter_num_next(&it);
	if (number)
		numbers += *number;
	bpf_iter_num_destroy(&it);
	return 0;
}

SEC("raw_tp")
int next_without_loop(void *ctx)
{
	u64 last = 0;

	bpf_loop(10, first_number, &last, 0);
	return last;
}
