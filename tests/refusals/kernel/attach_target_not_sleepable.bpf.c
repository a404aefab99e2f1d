/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The hook is in a place that cannot sleep. */
#include "../../programs/kfuncs/kfuncs.h"

SEC("fentry.s/do_nanosleep")
int refused(u64 *ctx)
{
	return 0;
}

SEC("fentry/do_nanosleep")
int mended(u64 *ctx)
{
	return 0;
}

LICENSE_GPL;
