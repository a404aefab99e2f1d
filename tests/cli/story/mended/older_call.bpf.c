/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* ../older_call.bpf.c with a helper that programs of this type may call on each kernel. */
#include "../../../programs/include/packet.h"

static u64 (*const get_current_uid_gid)(void) = (void *)15;

volatile u64 opened_by;

SEC("cgroup/dev")
int who_opens(void *ctx)
{
	opened_by = (u32)get_current_uid_gid();
	return 1;
}

LICENSE_GPL;
