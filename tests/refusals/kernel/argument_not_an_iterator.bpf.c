/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An iterator that is not on the stack. */
#include "../../programs/kfuncs/kfuncs.h"

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));

KSYM int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end);
KSYM int *bpf_iter_num_next(struct bpf_iter_num *it);
KSYM void bpf_iter_num_destroy(struct bpf_iter_num *it);

struct bpf_iter_num it;

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	bpf_iter_num_next(&it);
	return 0;
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	struct bpf_iter_num here;

	bpf_iter_num_new(&here, 0, 10);
	bpf_iter_num_destroy(&here);
	return 0;
}

LICENSE_GPL;
