/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A string on the stack is ended at a place that nobody checked. */
#include "packet.h"

SEC("tp/sched/sched_switch")
int refused(void *ctx)
{
	char name[16] = {};
	u32 end = get_prandom_u32();

	((volatile char *)name)[end] = 0;
	return ((volatile char *)name)[0];
}

SEC("tp/sched/sched_switch")
int mended(void *ctx)
{
	char name[16] = {};
	u32 end = get_prandom_u32();

	if (end >= sizeof(name))
		return 0;
	((volatile char *)name)[end] = 0;
	return ((volatile char *)name)[0];
}

LICENSE_GPL;
