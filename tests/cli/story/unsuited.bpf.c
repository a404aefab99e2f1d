/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused, each with a help that mended/unsuited.bpf.c follows. Built with the flags of
 * tests/programs/build.sh. */
#include "../../programs/include/packet.h"
#include "drawn.h"

struct sock_tuple {
	u32 addresses[2];
	u16 ports[2];
};

struct sock;

static struct sock *(*const sk_lookup_tcp)(void *ctx, struct sock_tuple *tuple, u32 size, u64 netns,
					   u64 flags) = (void *)84;

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 16);
	TYPE(key, u32);
	TYPE(value, u64);
} counts SEC(".maps");

u32 places[64], asked;
s64 wanted;
char text[48];

static long (*const load_bytes)(const void *skb, u32 off, void *to, s64 len) = (void *)26;

/* The pointer to the packet is read as a negative number would be: r2 = *(s32 *)(r1 + 76), which
 * compilers make for cpu=v4 of a cast to int. */
SEC("tc")
int signed_data(struct __sk_buff *skb)
{
	u64 data;

	asm volatile("r1 = %[skb]; .8byte 0x4c1281; %[data] = r2"
		     : [data] "=r"(data)
		     : [skb] "r"(skb)
		     : "r1", "r2");
	return data > 0;
}

/* The end of the packet instead of its start. */
SEC("tc")
int end_as_memory(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	if (data + 8 > end)
		return 0;
	return csum_diff(end, 4, 0, 0, 0);
}

/* The register of an argument is used after the call that released what it held. */
SEC("tc")
int released_socket(struct __sk_buff *skb)
{
	struct sock_tuple tuple = {};
	struct sock *sk = sk_lookup_tcp(skb, &tuple, sizeof(tuple), -1, 0);
	u64 family;

	if (!sk)
		return 0;
	asm volatile("r1 = %[sk]; call 86; %[family] = *(u32 *)(r1 + 4)"
		     : [family] "=r"(family)
		     : [sk] "r"(sk)
		     : "r0", "r1", "r2", "r3", "r4", "r5");
	return family;
}

/* The function begins with what is inlined from a header. */
SEC("tc")
int begins_elsewhere(void *ctx)
{
	u32 at = drawn();

	return places[at + asked];
}

/* The first comparison allows too much. */
SEC("tc")
int too_long(struct __sk_buff *skb)
{
	s64 len = wanted;

	if (len > 64)
		return 0;
	asm volatile("" : "+r"(len));
	if (len < 1)
		return 0;
	return load_bytes(skb, 0, text, len);
}

/* The index is added to the address before the loop. */
SEC("tc")
int before_loop(struct __sk_buff *skb)
{
	u64 at = (u64)wanted;
	char *place = &text[at];

	asm volatile("" : "+r"(place));
	for (int i = 0; i < 4; i++)
		get_prandom_u32();
	return *place;
}

/* The address is rounded down. */
SEC("tc")
int rounded(struct __sk_buff *skb)
{
	u32 key = 0;
	u64 *value = map_lookup_elem(&counts, &key);

	asm volatile("%[value] &= -8" : [value] "+r"(value));
	if (!value)
		return 0;
	return *value;
}

LICENSE_GPL;
