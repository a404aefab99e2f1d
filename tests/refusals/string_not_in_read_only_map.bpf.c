/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The format is a variable and not a constant. */
#include "packet.h"

static long (*const snprintf)(char *to, u32 size, const char *format, u64 *data,
				 u32 data_len) = (void *)165;
char changing[] = "pid %d";
const char constant[] = "pid %d";

SEC("tp/sched/sched_switch")
int refused(void *ctx)
{
	char text[16];
	u64 pid = get_current_pid_tgid();

	return snprintf(text, sizeof(text), changing, &pid, sizeof(pid));
}

SEC("tp/sched/sched_switch")
int mended(void *ctx)
{
	char text[16];
	u64 pid = get_current_pid_tgid();

	return snprintf(text, sizeof(text), constant, &pid, sizeof(pid));
}

LICENSE_GPL;
