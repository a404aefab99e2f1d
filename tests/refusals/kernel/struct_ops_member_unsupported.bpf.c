/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The kernel asks no program for this member of its operations. */
#include "../../programs/include/skep_bpf.h"

struct tcp_congestion_ops {
	u32 (*ssthresh)(void *sk);
	u32 (*get_info)(void *sk);
	char name[16];
};

SEC("struct_ops")
u32 mended(u64 *ctx)
{
	return 2;
}

SEC("struct_ops")
u32 refused(u64 *ctx)
{
	return 0;
}

SEC(".struct_ops") struct tcp_congestion_ops ops = {
	.ssthresh = (void *)mended,
	.get_info = (void *)refused,
	.name = "mended",
};

LICENSE_GPL;
