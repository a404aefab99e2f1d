/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The kernel has no such function. */
#include "../../programs/kfuncs/kfuncs.h"

SEC("fentry/no_such_function")
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
