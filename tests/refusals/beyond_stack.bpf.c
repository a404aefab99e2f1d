/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A helper is told that its buffer is larger than it is. */
#include "packet.h"

SEC("tp/sched/sched_switch")
int refused(void *ctx)
{
	char comm[8];

	get_current_comm(comm, 16);
	return comm[0] == 'a';
}

SEC("tp/sched/sched_switch")
int mended(void *ctx)
{
	char comm[8];

	get_current_comm(comm, sizeof(comm));
	return comm[0] == 'a';
}

LICENSE_GPL;
