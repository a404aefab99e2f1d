/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The kernel has no such function. */
#include "../../programs/kfuncs/kfuncs.h"

KSYM int no_such_function(void);

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	return no_such_function();
}

LICENSE_GPL;
