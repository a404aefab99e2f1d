/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* SHA-256 of two blocks, rounds unrolled (FIPS 180-4): more values than registers. */
#include "bench.h"

#define S0(x) (rotl32(x, 30) ^ rotl32(x, 19) ^ rotl32(x, 10))
#define S1(x) (rotl32(x, 26) ^ rotl32(x, 21) ^ rotl32(x, 7))
#define G0(x) (rotl32(x, 25) ^ rotl32(x, 14) ^ (x) >> 3)
#define G1(x) (rotl32(x, 15) ^ rotl32(x, 13) ^ (x) >> 10)
#define ROUND(a, b, c, d, e, f, g, h, k, word)                                                 \
	do {                                                                                   \
		u32 t = h + S1(e) + (g ^ (e & (f ^ g))) + k + (word);                          \
                                                                                               \
		d += t;                                                                        \
		h = t + S0(a) + ((a & b) | (c & (a | b)));                                     \
	} while (0)

INLINE void block(u32 *state, const u8 *in, u32 *w)
{
	u32 a = state[0], b = state[1], c = state[2], d = state[3];
	u32 e = state[4], f = state[5], g = state[6], h = state[7];

	for (int i = 0; i < 16; i++)
		w[i] = load32_be(in + 4 * i);
	for (int i = 16; i < 64; i++)
		w[i] = G1(w[i - 2]) + w[i - 7] + G0(w[i - 15]) + w[i - 16];
	asm volatile("" ::: "memory");

	ROUND(a, b, c, d, e, f, g, h, 0x428a2f98, w[0]);
	ROUND(h, a, b, c, d, e, f, g, 0x71374491, w[1]);
	ROUND(g, h, a, b, c, d, e, f, 0xb5c0fbcf, w[2]);
	ROUND(f, g, h, a, b, c, d, e, 0xe9b5dba5, w[3]);
	ROUND(e, f, g, h, a, b, c, d, 0x3956c25b, w[4]);
	ROUND(d, e, f, g, h, a, b, c, 0x59f111f1, w[5]);
	ROUND(c, d, e, f, g, h, a, b, 0x923f82a4, w[6]);
	ROUND(b, c, d, e, f, g, h, a, 0xab1c5ed5, w[7]);
	ROUND(a, b, c, d, e, f, g, h, 0xd807aa98, w[8]);
	ROUND(h, a, b, c, d, e, f, g, 0x12835b01, w[9]);
	ROUND(g, h, a, b, c, d, e, f, 0x243185be, w[10]);
	ROUND(f, g, h, a, b, c, d, e, 0x550c7dc3, w[11]);
	ROUND(e, f, g, h, a, b, c, d, 0x72be5d74, w[12]);
	ROUND(d, e, f, g, h, a, b, c, 0x80deb1fe, w[13]);
	ROUND(c, d, e, f, g, h, a, b, 0x9bdc06a7, w[14]);
	ROUND(b, c, d, e, f, g, h, a, 0xc19bf174, w[15]);
	ROUND(a, b, c, d, e, f, g, h, 0xe49b69c1, w[16]);
	ROUND(h, a, b, c, d, e, f, g, 0xefbe4786, w[17]);
	ROUND(g, h, a, b, c, d, e, f, 0x0fc19dc6, w[18]);
	ROUND(f, g, h, a, b, c, d, e, 0x240ca1cc, w[19]);
	ROUND(e, f, g, h, a, b, c, d, 0x2de92c6f, w[20]);
	ROUND(d, e, f, g, h, a, b, c, 0x4a7484aa, w[21]);
	ROUND(c, d, e, f, g, h, a, b, 0x5cb0a9dc, w[22]);
	ROUND(b, c, d, e, f, g, h, a, 0x76f988da, w[23]);
	ROUND(a, b, c, d, e, f, g, h, 0x983e5152, w[24]);
	ROUND(h, a, b, c, d, e, f, g, 0xa831c66d, w[25]);
	ROUND(g, h, a, b, c, d, e, f, 0xb00327c8, w[26]);
	ROUND(f, g, h, a, b, c, d, e, 0xbf597fc7, w[27]);
	ROUND(e, f, g, h, a, b, c, d, 0xc6e00bf3, w[28]);
	ROUND(d, e, f, g, h, a, b, c, 0xd5a79147, w[29]);
	ROUND(c, d, e, f, g, h, a, b, 0x06ca6351, w[30]);
	ROUND(b, c, d, e, f, g, h, a, 0x14292967, w[31]);
	ROUND(a, b, c, d, e, f, g, h, 0x27b70a85, w[32]);
	ROUND(h, a, b, c, d, e, f, g, 0x2e1b2138, w[33]);
	ROUND(g, h, a, b, c, d, e, f, 0x4d2c6dfc, w[34]);
	ROUND(f, g, h, a, b, c, d, e, 0x53380d13, w[35]);
	ROUND(e, f, g, h, a, b, c, d, 0x650a7354, w[36]);
	ROUND(d, e, f, g, h, a, b, c, 0x766a0abb, w[37]);
	ROUND(c, d, e, f, g, h, a, b, 0x81c2c92e, w[38]);
	ROUND(b, c, d, e, f, g, h, a, 0x92722c85, w[39]);
	ROUND(a, b, c, d, e, f, g, h, 0xa2bfe8a1, w[40]);
	ROUND(h, a, b, c, d, e, f, g, 0xa81a664b, w[41]);
	ROUND(g, h, a, b, c, d, e, f, 0xc24b8b70, w[42]);
	ROUND(f, g, h, a, b, c, d, e, 0xc76c51a3, w[43]);
	ROUND(e, f, g, h, a, b, c, d, 0xd192e819, w[44]);
	ROUND(d, e, f, g, h, a, b, c, 0xd6990624, w[45]);
	ROUND(c, d, e, f, g, h, a, b, 0xf40e3585, w[46]);
	ROUND(b, c, d, e, f, g, h, a, 0x106aa070, w[47]);
	ROUND(a, b, c, d, e, f, g, h, 0x19a4c116, w[48]);
	ROUND(h, a, b, c, d, e, f, g, 0x1e376c08, w[49]);
	ROUND(g, h, a, b, c, d, e, f, 0x2748774c, w[50]);
	ROUND(f, g, h, a, b, c, d, e, 0x34b0bcb5, w[51]);
	ROUND(e, f, g, h, a, b, c, d, 0x391c0cb3, w[52]);
	ROUND(d, e, f, g, h, a, b, c, 0x4ed8aa4a, w[53]);
	ROUND(c, d, e, f, g, h, a, b, 0x5b9cca4f, w[54]);
	ROUND(b, c, d, e, f, g, h, a, 0x682e6ff3, w[55]);
	ROUND(a, b, c, d, e, f, g, h, 0x748f82ee, w[56]);
	ROUND(h, a, b, c, d, e, f, g, 0x78a5636f, w[57]);
	ROUND(g, h, a, b, c, d, e, f, 0x84c87814, w[58]);
	ROUND(f, g, h, a, b, c, d, e, 0x8cc70208, w[59]);
	ROUND(e, f, g, h, a, b, c, d, 0x90befffa, w[60]);
	ROUND(d, e, f, g, h, a, b, c, 0xa4506ceb, w[61]);
	ROUND(c, d, e, f, g, h, a, b, 0xbef9a3f7, w[62]);
	ROUND(b, c, d, e, f, g, h, a, 0xc67178f2, w[63]);

	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
	state[5] += f;
	state[6] += g;
	state[7] += h;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	block(state, in, (u32 *)scratch);
	block(state, in + 64, (u32 *)scratch);
	return state[0] ^ state[7];
}

BENCH(sha256);
