/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: the function is in no section of its own, and its declaration has no line. Built with the
 * flags of tests/programs/build.sh. */
#include "../../programs/include/skep_bpf.h"

int in_no_section(void *ctx)
{
	return 0;
}

LICENSE_GPL;
