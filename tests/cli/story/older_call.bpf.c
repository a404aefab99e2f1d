/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Not on 5.10: a helper that is there, but not for programs of this type. Built with the flags of
 * tests/programs/build.sh. */
#include "../../programs/include/packet.h"

volatile u64 opened_by;

SEC("cgroup/dev")
int who_opens(void *ctx)
{
	opened_by = get_current_pid_tgid() >> 32;
	return 1;
}

LICENSE_GPL;
