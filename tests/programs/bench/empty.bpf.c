/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a call costs. */
#include "bench.h"

BENCH_ENTRY(empty)
{
	return 2;
}
LICENSE_GPL;
