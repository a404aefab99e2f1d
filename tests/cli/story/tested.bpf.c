/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: what is tested is not what is needed, or not what is used. mended/tested.bpf.c does what the
 * helps say. Built with the flags of tests/programs/build.sh. */
#include "../../programs/include/packet.h"

struct text_of_256 {
	char bytes[256];
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct text_of_256);
} texts SEC(".maps");

#ifdef MENDED
#define TOO_LONG(n) || (n) >= 256
#else
#define TOO_LONG(n)
#endif

SEC("kprobe")
int length_of_sign(struct pt_regs *regs)
{
	u32 zero = 0;
	struct text_of_256 *t = map_lookup_elem(&texts, &zero);
	s64 len = regs->dx;

	if (!t)
		return 0;
	if (len < 0 TOO_LONG(len))
		return 0;
	return probe_read_kernel(t->bytes, len, (void *)regs->si);
}

SEC("kprobe")
int index_of_sign(struct pt_regs *regs)
{
	u32 zero = 0;
	struct text_of_256 *t = map_lookup_elem(&texts, &zero);
	s64 at = regs->dx;

	if (!t)
		return 0;
	if (at < 0 TOO_LONG(at))
		return 0;
	t->bytes[at] = 1;
	return 0;
}

static long (*const read_kernel_str)(void *dst, u32 size, const void *from) = (void *)115;

#ifdef MENDED
#define AS_LONG s64
#else
#define AS_LONG int
#endif

/* The lower half of the result is compared, all of it is used. */
SEC("kprobe")
int last_of_text(struct pt_regs *regs)
{
	char path[64];
	AS_LONG n = read_kernel_str(path, sizeof(path), (void *)regs->di);

	return n > 0 && n < 64 && path[n] == '/';
}

struct bpf_sock {
	u32 bound_dev_if;
	u32 family;
};

/* The end of struct __sk_buff. */
struct with_socket {
	u8 before[168];
	struct bpf_sock *sk;
};

static struct bpf_sock *(*const sk_fullsock)(struct bpf_sock *sk) = (void *)95;

#define READ_SOCKET(skb) (((volatile struct with_socket *)(skb))->sk)
#ifdef MENDED
#define AGAIN(skb) sk
#else
#define AGAIN(skb) READ_SOCKET(skb)
#endif

/* Each read of the context is another pointer. */
SEC("cgroup_skb/egress")
int socket_read_again(struct __sk_buff *skb)
{
	struct bpf_sock *sk = READ_SOCKET(skb);

	if (!sk)
		return 1;
	return AGAIN(skb)->family == 2;
}

SEC("cgroup_skb/egress")
int socket_passed(struct __sk_buff *skb)
{
	struct bpf_sock *sk = READ_SOCKET(skb);

	if (!sk)
		return 1;
	return sk_fullsock(AGAIN(skb)) != 0;
}

LICENSE_GPL;
