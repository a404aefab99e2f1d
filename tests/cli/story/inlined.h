/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A function of a header, as libraries for programs have them: the result of the lookup is not checked. */
#pragma once
#include "../../programs/include/skep_bpf.h"

INLINE void count(void *map, u32 key)
{
	u64 *counter = map_lookup_elem(map, &key);

	*counter += 1;
}
