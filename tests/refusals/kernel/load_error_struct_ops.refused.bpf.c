/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The kernel has no operations of this name. */
#include "../../programs/include/skep_bpf.h"

struct no_such_ops {
	u32 (*ssthresh)(void *sk);
};

SEC("struct_ops")
u32 refused(u64 *ctx)
{
	return 2;
}

SEC(".struct_ops") struct no_such_ops ops = {
	.ssthresh = (void *)refused,
};

LICENSE_GPL;
