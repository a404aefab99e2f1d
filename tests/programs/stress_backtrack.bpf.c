/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stress shape "backtrack": a map value goes through dependent ALU operations, then 600 pairs of
 * "equal n: add 1 / equal n+1: subtract 1", then 500 unrolled equality tests. Each prune makes the
 * verifier mark precise, which walks the history backwards. */
#include "include/skep_bpf.h"

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} seed SEC(".maps");

#define PAIR(n)                                                                                    \
	asm volatile("if %[x] != %[a] goto +1; %[x] += 1; if %[x] != %[b] goto +1; %[x] += -1"     \
		     : [x] "+r"(x) : [a] "i"(n), [b] "i"(n + 1));
#define TEST(n)                                                                                    \
	asm volatile("if %[x] != %[a] goto +1; %[y] += 1" : [y] "+r"(y) : [x] "r"(x), [a] "i"(n));
#define TEN(M, n)                                                                                  \
	M(n) M(n + 1) M(n + 2) M(n + 3) M(n + 4) M(n + 5) M(n + 6) M(n + 7) M(n + 8) M(n + 9)
#define HUNDRED(M, n)                                                                              \
	TEN(M, n) TEN(M, n + 10) TEN(M, n + 20) TEN(M, n + 30) TEN(M, n + 40)                      \
	TEN(M, n + 50) TEN(M, n + 60) TEN(M, n + 70) TEN(M, n + 80) TEN(M, n + 90)

SEC("tc")
int backtrack(struct __sk_buff *skb)
{
	u32 key = 0;
	u64 *value = map_lookup_elem(&seed, &key);
	u64 x, y = 0;

	if (!value)
		return TC_ACT_OK;
	x = *value;
	x += 7;
	x ^= x << 3;
	x += 11;
	x ^= x >> 5;
	x *= 13;
	x += 17;
	x ^= x << 7;
	x -= 19;
	x &= 0xffff;
	HUNDRED(PAIR, 0) HUNDRED(PAIR, 100) HUNDRED(PAIR, 200)
	HUNDRED(PAIR, 300) HUNDRED(PAIR, 400) HUNDRED(PAIR, 500)
	HUNDRED(TEST, 1000) HUNDRED(TEST, 1100) HUNDRED(TEST, 1200)
	HUNDRED(TEST, 1300) HUNDRED(TEST, 1400)
	return y & 1;
}

LICENSE_GPL;
