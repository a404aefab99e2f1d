/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The dynptr is copied into a map. */
#include "packet.h"

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const dynptr_read)(void *dst, u32 len, const struct bpf_dynptr *src, u32 offset,
				 u64 flags) = (void *)201;
static long (*const dynptr_write)(const struct bpf_dynptr *dst, u32 offset, void *src, u32 len,
				  u64 flags) = (void *)202;
static void *(*const dynptr_data)(const struct bpf_dynptr *ptr, u32 offset, u32 len) = (void *)203;
static long (*const ringbuf_reserve_dynptr)(void *ringbuf, u32 size, u64 flags,
					    struct bpf_dynptr *ptr) = (void *)198;
static void (*const ringbuf_submit_dynptr)(struct bpf_dynptr *ptr, u64 flags) = (void *)199;
static void (*const ringbuf_discard_dynptr)(struct bpf_dynptr *ptr, u64 flags) = (void *)200;
static long (*const dynptr_from_mem)(void *data, u32 size, u64 flags,
				     struct bpf_dynptr *ptr) = (void *)197;

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 4096);
} events SEC(".maps");

char room[64];

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 4);
	TYPE(key, u32);
	TYPE(value, struct bpf_dynptr);
} values SEC(".maps");

SEC("xdp")
int refused(struct xdp_md *ctx)
{
	struct bpf_dynptr ptr;
	u32 key = 0;

	dynptr_from_mem(room, sizeof(room), 0, &ptr);
	map_update_elem(&values, &key, &ptr, 0);
	return XDP_PASS;
}

SEC("xdp")
int mended(struct xdp_md *ctx)
{
	struct bpf_dynptr ptr;
	u64 words[2] = {};
	u32 key = 0;

	dynptr_from_mem(room, sizeof(room), 0, &ptr);
	dynptr_read(words, sizeof(words), &ptr, 0, 0);
	map_update_elem(&values, &key, words, 0);
	return XDP_PASS;
}

LICENSE_GPL;
