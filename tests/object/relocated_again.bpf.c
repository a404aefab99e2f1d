/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Two maps, data, and an option of the configuration. The test lets two relocations apply to one insn. */
#include "include/skep_bpf.h"

extern unsigned int CONFIG_HZ __attribute__((section(".kconfig")));

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} first SEC(".maps"), second SEC(".maps");

u64 counter;

SEC("tc") int prog(struct __sk_buff *skb)
{
	u32 key = 0;

	map_lookup_elem(&first, &key);
	map_lookup_elem(&second, &key);
	counter = 1;
	return CONFIG_HZ;
}

LICENSE_GPL;
