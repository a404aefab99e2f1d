// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Loops in loops, which older kernels tell apart by the states in which they were entered.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define KFUNC extern __attribute__((section(".ksyms")))

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));
KFUNC int bpf_iter_num_new(struct bpf_iter_num *it, int from, int to);
KFUNC int *bpf_iter_num_next(struct bpf_iter_num *it);
KFUNC void bpf_iter_num_destroy(struct bpf_iter_num *it);

#define numbers(i, from, to)                                                         \
	for (struct bpf_iter_num it __attribute__((cleanup(bpf_iter_num_destroy))),  \
	     *begun __attribute__((unused)) =                                        \
		     (bpf_iter_num_new(&it, (from), (to)), (void *)0);               \
	     ({                                                                      \
		     int *next = bpf_iter_num_next(&it);                             \
		     next ? ((i) = *next, (i) >= (from) && (i) < (to)) : 0;          \
	     });)

u64 seen[64];
int some = 10, more = 20, few = 5;

// The innermost loop begins anew in the state in which the one around it did.
SEC("raw_tp") int sums_three_deep(void *ctx)
{
	u64 sum = 0, left = 0;
	int i, j, k;

	numbers(i, 0, 10) {
		if (i > 7)
			continue;
		numbers(j, 0, some) {
			numbers(k, j, more)
				sum += seen[i & 63];
			if (seen[0] == 5)
				break;
			if (left > 8)
				sum -= left;
		}
	}
	return sum;
}

// Paths that leave the loop come after one that goes round in it.
SEC("raw_tp") int leaves_at_five(void *ctx)
{
	u64 sum = seen[some & 63];
	int i, j;

	numbers(i, 0, few) {
		numbers(j, 0, 10)
			seen[1]++;
		seen[5]++;
		if (seen[1] == 5)
			break;
	}
	return sum;
}
