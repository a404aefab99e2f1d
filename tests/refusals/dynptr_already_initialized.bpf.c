/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the callback gets is made anew. */
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

enum { MAP_USER_RINGBUF = 31 };

struct {
	UINT(type, MAP_USER_RINGBUF);
	UINT(max_entries, 4096);
} samples SEC(".maps");

static long (*const user_ringbuf_drain)(void *map, void *callback, void *ctx,
					u64 flags) = (void *)209;

static long makes(struct bpf_dynptr *ptr, void *ctx)
{
	dynptr_from_mem(room, sizeof(room), 0, ptr);
	return 0;
}

static long reads(struct bpf_dynptr *ptr, void *ctx)
{
	u32 word = 0;

	dynptr_read(&word, sizeof(word), ptr, 0, 0);
	return 0;
}

SEC("tc")
int refused(struct __sk_buff *ctx)
{
	return user_ringbuf_drain(&samples, makes, 0, 0);
}

SEC("tc")
int mended(struct __sk_buff *ctx)
{
	return user_ringbuf_drain(&samples, reads, 0, 0);
}

LICENSE_GPL;
