/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A signed length is compared from above only. */
#include "packet.h"

volatile s64 length;

SEC("tp/sched/sched_switch")
int refused(void *ctx)
{
	u8 bytes[16] = {};
	s64 len = length;

	if (len > 16)
		return 0;
	probe_read_kernel(bytes, (u64)len, ctx);
	return ((volatile u8 *)bytes)[0];
}

SEC("tp/sched/sched_switch")
int mended(void *ctx)
{
	u8 bytes[16] = {};
	s64 len = length;

	if (len < 0 || len > 16)
		return 0;
	probe_read_kernel(bytes, (u64)len, ctx);
	return ((volatile u8 *)bytes)[0];
}

LICENSE_GPL;
