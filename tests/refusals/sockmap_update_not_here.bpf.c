/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A program of this type may not change the map. */
#include "packet.h"

enum { MAP_SOCKMAP = 15 };

struct {
	UINT(type, MAP_SOCKMAP);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
} sockets SEC(".maps");

SEC("kprobe")
int refused(void *ctx)
{
	u32 key = 0;

	map_delete_elem(&sockets, &key);
	return 0;
}

SEC("tc")
int mended(void *ctx)
{
	u32 key = 0;

	map_delete_elem(&sockets, &key);
	return 0;
}

LICENSE_GPL;
