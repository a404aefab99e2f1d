/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A length is not compared with the buffer. */
#include "packet.h"

SEC("tp/sched/sched_switch")
int refused(void *ctx)
{
	u8 bytes[16] = {};
	u32 len = get_prandom_u32();

	probe_read_kernel(bytes, len, ctx);
	return ((volatile u8 *)bytes)[0];
}

SEC("tp/sched/sched_switch")
int mended(void *ctx)
{
	u8 bytes[16] = {};
	u32 len = get_prandom_u32();

	if (len > sizeof(bytes))
		len = sizeof(bytes);
	probe_read_kernel(bytes, len, ctx);
	return ((volatile u8 *)bytes)[0];
}

LICENSE_GPL;
