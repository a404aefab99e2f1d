/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* stress_frames.bpf.c, mended as docs/profile.md tells: functions are global, so that each is verified
 * once instead of once a call path. */
#include "../include/skep_bpf.h"

struct row {
	u64 cell[6];
};

NOINLINE u64 innermost(struct row *out, u32 seed)
{
	u64 sum = 0;

	if (!out)
		return 0;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 4; i++) {
		u32 bits = seed >> i;

		if (bits & 1)
			sum += i + 1;
		else if (bits & 2)
			sum ^= 5;
		out->cell[i % 6] = sum;
	}
	return sum;
}

#define LEVEL(name, inner)                                                                         \
	NOINLINE u64 name(struct row *out, u32 seed)                                               \
	{                                                                                          \
		struct row mine = {{seed, seed & 1, seed & 2, seed & 3, seed & 4, seed & 5}};      \
		u64 sum = inner(&mine, seed);                                                      \
		if (!out)                                                                          \
			return 0;                                                                  \
                                                                                                   \
		if (sum > mine.cell[2])                                                            \
			sum = inner(&mine, seed ^ 1);                                              \
		for (int i = 0; i < 6; i++)                                                        \
			out->cell[i] = mine.cell[5 - i] ^ sum;                                     \
		return sum & 7;                                                                    \
	}

LEVEL(level7, innermost)
LEVEL(level6, level7)
LEVEL(level5, level6)
LEVEL(level4, level5)
LEVEL(level3, level4)
LEVEL(level2, level3)

SEC("tc")
int frames(struct __sk_buff *skb)
{
	struct row mine = {};
	u64 sum = level2(&mine, skb->hash);

	return (sum ^ mine.cell[0] ^ mine.cell[5]) & 1;
}

LICENSE_GPL;
