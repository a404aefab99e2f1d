// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What some builds accept and later ones of the same series refuse.
#include "../../programs/include/skep_bpf.h"

#define MAP_SOCKMAP 15

char LICENSE[] SEC("license") = "GPL";

struct {
	UINT(type, MAP_SOCKMAP);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u32);
} sockets SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, u64);
} values SEC(".maps");

SEC("raw_tp") int deletes_socket_in_tracepoint(void *ctx)
{
	u32 key = 0;

	map_delete_elem(&sockets, &key);
	return 0;
}

static NOINLINE long names_key(void *map, u32 *key, u64 *value, void *ctx)
{
	((long (*)(void *, u32))16)(key, sizeof(*key));
	return 0;
}

// bpf_get_current_comm writes into the key.
SEC("raw_tp") int helper_writes_key(void *ctx)
{
	for_each_map_elem(&values, names_key, 0, 0);
	return 0;
}

SEC("flow_dissector") __attribute__((naked)) int moves_flow_keys(void)
{
	asm volatile("r7 = *(u64 *)(r1 + 144);"
		     "call 7;"
		     "r0 &= 8;"
		     "r7 += r0;"
		     "r0 = *(u64 *)(r7 + 0);"
		     "r0 = 0;"
		     "exit" ::: "memory");
}

SEC("kprobe") __attribute__((naked)) int reads_coarse_clock(void)
{
	asm volatile("call 160;"
		     "r0 = 0;"
		     "exit" ::: "memory");
}
