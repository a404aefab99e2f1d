/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A function of a header, of which nothing is refused. */
#pragma once
#include "../../programs/include/skep_bpf.h"

INLINE u32 drawn(void)
{
	return get_prandom_u32() & 7;
}
