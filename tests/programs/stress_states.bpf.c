/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stress shape "states": 1,000 times "if x == n, x++", so 1,000 states and almost no pruning. */
#include "include/skep_bpf.h"

#define STEP(n)                                                                                    \
	asm volatile("if %[x] != %[at] goto +1; %[x] += 1" : [x] "+r"(x) : [at] "i"(n));
#define STEP10(n)                                                                                  \
	STEP(n) STEP(n + 1) STEP(n + 2) STEP(n + 3) STEP(n + 4)                                    \
	STEP(n + 5) STEP(n + 6) STEP(n + 7) STEP(n + 8) STEP(n + 9)
#define STEP100(n)                                                                                 \
	STEP10(n) STEP10(n + 10) STEP10(n + 20) STEP10(n + 30) STEP10(n + 40)                      \
	STEP10(n + 50) STEP10(n + 60) STEP10(n + 70) STEP10(n + 80) STEP10(n + 90)

SEC("tc")
int states(struct __sk_buff *skb)
{
	u64 x = skb->len;

	STEP100(0) STEP100(100) STEP100(200) STEP100(300) STEP100(400)
	STEP100(500) STEP100(600) STEP100(700) STEP100(800) STEP100(900)
	return x & 1;
}

LICENSE_GPL;
