/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Connections of 64 packets in a table with four ways: either direction finds the same entry. */
#include "bench.h"

struct tuple {
	u32 a, b;
	u16 a_port, b_port;
	u32 proto;
};
struct entry {
	struct tuple tuple;
	u32 packets[2], seen;
};
struct entry bench_table[64] __attribute__((visibility("hidden"))) = { { { 1 } } };

INLINE u32 hash_of(const struct tuple *tuple)
{
	u32 h = tuple->a * 0x9e3779b1 ^ rotl32(tuple->b, 13);

	h += ((u32)tuple->a_port << 16 | tuple->b_port) * 0x85ebca77;
	h ^= h >> 15 ^ tuple->proto;
	h *= 0xc2b2ae3d;
	return h ^ h >> 13;
}

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 made = load32(in + 600), evicted = made, sum = 0;

	for (int i = 0; i < 64; i++) {
		bench_table[i].tuple.proto = 255;
		bench_table[i].packets[0] = bench_table[i].packets[1] = bench_table[i].seen = 0;
	}
	for (u32 n = 0; n < 64; n++) {
		const u8 *p = in + 16 * ((n ^ n >> 3) & 15);
		u32 turned = in[n + 400] & 1, source = load32(p), dest = load32(p + 4), set, oldest = 0;
		u16 sport = p[8] << 8 | p[9], dport = p[10] << 8 | p[11];
		struct tuple tuple = { source, dest, sport, dport, p[12] & 1 ? 6 : 17 };
		int found = 0;

		if (turned)
			tuple = (struct tuple){ dest, source, dport, sport, tuple.proto };
		turned = tuple.a > tuple.b || (tuple.a == tuple.b && tuple.a_port > tuple.b_port);
		if (turned)
			tuple = (struct tuple){ tuple.b, tuple.a, tuple.b_port, tuple.a_port, tuple.proto };
		set = hash_of(&tuple) & 15;
		for (u32 way = 0; way < 4; way++) {
			struct entry *entry = &bench_table[4 * set + way];

			if (entry->tuple.a == tuple.a && entry->tuple.b == tuple.b &&
			    entry->tuple.a_port == tuple.a_port && entry->tuple.b_port == tuple.b_port &&
			    entry->tuple.proto == tuple.proto) {
				entry->packets[turned]++;
				entry->seen = n + 1;
				found = 1;
				break;
			}
			if (entry->seen < bench_table[4 * set + oldest].seen)
				oldest = way;
		}
		if (!found) {
			struct entry *entry = &bench_table[4 * set + oldest];

			if (entry->seen)
				evicted++;
			entry->tuple = tuple;
			entry->packets[turned] = 1;
			entry->packets[!turned] = 0;
			entry->seen = n + 1;
			made++;
		}
	}
	for (int i = 0; i < 64; i++)
		sum = sum * 5 + bench_table[i].packets[0] * 16 + bench_table[i].packets[1];
	return sum ^ made << 16 ^ evicted << 24;
}

BENCH(conntrack);
