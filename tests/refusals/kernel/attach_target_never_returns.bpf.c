/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The function never returns. */
#include "../../programs/kfuncs/kfuncs.h"

SEC("fexit/do_exit")
int refused(u64 *ctx)
{
	return 0;
}

SEC("fentry/do_exit")
int mended(u64 *ctx)
{
	return 0;
}

LICENSE_GPL;
