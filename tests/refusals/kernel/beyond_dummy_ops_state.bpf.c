/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A test operation writes behind its state. */
#include "../../programs/include/skep_bpf.h"

struct bpf_dummy_ops_state {
	int val;
};

struct bpf_dummy_ops {
	int (*test_1)(struct bpf_dummy_ops_state *state);
	int (*test_sleepable)(struct bpf_dummy_ops_state *state);
};

SEC("struct_ops")
int refused(u64 *ctx)
{
	struct bpf_dummy_ops_state *state = (void *)ctx[0];

	if (state)
		*(u64 *)&state->val = 1;
	return 0;
}

SEC("struct_ops.s")
int mended(u64 *ctx)
{
	struct bpf_dummy_ops_state *state = (void *)ctx[0];

	if (state)
		state->val = 1;
	return 0;
}

SEC(".struct_ops") struct bpf_dummy_ops ops = {
	.test_1 = (void *)refused,
	.test_sleepable = (void *)mended,
};

LICENSE_GPL;
