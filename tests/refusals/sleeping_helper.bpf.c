/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The program must not sleep where it is attached. */
#include "packet.h"

static long (*const copy_from_user)(void *dst, u32 size, const void *src) = (void *)148;
static long (*const probe_read_user)(void *dst, u32 size, const void *src) = (void *)112;

SEC("kprobe")
int refused(struct pt_regs *regs)
{
	char here[8];

	return copy_from_user(here, sizeof(here), (void *)regs->di);
}

SEC("kprobe")
int mended(struct pt_regs *regs)
{
	char here[8];

	return probe_read_user(here, sizeof(here), (void *)regs->di);
}

LICENSE_GPL;
