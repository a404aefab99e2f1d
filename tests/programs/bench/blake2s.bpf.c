/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The compression function of BLAKE2s on one block, from RFC 7693. */
#include "bench.h"

#define MIX(a, b, c, d, x, y)                                                                  \
	v[a] += v[b] + m[x], v[d] = rotl32(v[d] ^ v[a], 16);                                   \
	v[c] += v[d], v[b] = rotl32(v[b] ^ v[c], 20);                                          \
	v[a] += v[b] + m[y], v[d] = rotl32(v[d] ^ v[a], 24);                                   \
	v[c] += v[d], v[b] = rotl32(v[b] ^ v[c], 25)
#define ROUND(a, b, c, d, e, f, g, h, i, j, k, l, n, o, p, q)                                  \
	MIX(0, 4, 8, 12, a, b);                                                                \
	MIX(1, 5, 9, 13, c, d);                                                                \
	MIX(2, 6, 10, 14, e, f);                                                               \
	MIX(3, 7, 11, 15, g, h);                                                               \
	MIX(0, 5, 10, 15, i, j);                                                               \
	MIX(1, 6, 11, 12, k, l);                                                               \
	MIX(2, 7, 8, 13, n, o);                                                                \
	MIX(3, 4, 9, 14, p, q)

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 v[16], m[16];

	for (int i = 0; i < 16; i++) {
		m[i] = load32(in + 4 * i);
		v[i] = load32(in + 64 + 4 * i);
	}
	ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
	ROUND(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4);
	ROUND(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8);
	ROUND(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13);
	ROUND(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9);
	return v[0] ^ v[5] ^ v[10] ^ v[15] ^ v[3] ^ v[8];
}

BENCH(blake2s);
