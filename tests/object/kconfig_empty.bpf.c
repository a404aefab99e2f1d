/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An extern of the kernel's configuration whose type has no size. */
#include "include/skep_bpf.h"

extern char CONFIG_CC_VERSION_TEXT[]
	__attribute__((section(".kconfig"), weak));

SEC("xdp") int reads_it(void *ctx)
{
	return CONFIG_CC_VERSION_TEXT[0];
}

LICENSE_GPL;
