/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Programs may not decide this. */
#include "../../programs/kfuncs/kfuncs.h"

SEC("lsm/getprocattr")
int refused(u64 *ctx)
{
	return 0;
}

SEC("lsm/bpf")
int mended(u64 *ctx)
{
	return 0;
}

LICENSE_GPL;
