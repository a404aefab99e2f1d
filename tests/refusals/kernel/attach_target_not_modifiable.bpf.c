/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The result of this function may not be changed. */
#include "../../programs/kfuncs/kfuncs.h"

SEC("fmod_ret/do_nanosleep")
int refused(u64 *ctx)
{
	return 0;
}

SEC("fexit/do_nanosleep")
int mended(u64 *ctx)
{
	return 0;
}

LICENSE_GPL;
