/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A weak function is called only where the kernel has it. */
#include "../../programs/kfuncs/kfuncs.h"

KSYM int no_such_function(void) __attribute__((weak));

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	if (no_such_function)
		return no_such_function();
	return 0;
}

LICENSE_GPL;
