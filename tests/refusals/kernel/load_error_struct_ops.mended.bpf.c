/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Operations of the kernel; of their struct only what is used. */
#include "../../programs/include/skep_bpf.h"

struct tcp_congestion_ops {
	u32 (*ssthresh)(void *sk);
	char name[16];
};

SEC("struct_ops")
u32 mended(u64 *ctx)
{
	return 2;
}

SEC(".struct_ops") struct tcp_congestion_ops ops = {
	.ssthresh = (void *)mended,
	.name = "mended",
};

LICENSE_GPL;
