// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Walks through structs of the kernel.
#include "../../programs/include/skep_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RELAXED __attribute__((preserve_access_index))

struct net_device {
	int ifindex;
} RELAXED;
struct fib_nh_common {
	struct net_device *nhc_dev;
	int nhc_oif;
} RELAXED;
struct fib6_nh {
	struct fib_nh_common nh_common;
} RELAXED;
struct fib6_info {
	struct fib6_nh fib6_nh[0];
} RELAXED;
struct bpf_iter__ipv6_route {
	struct bpf_iter_meta *meta;
	struct fib6_info *rt;
} RELAXED;

// What is read through a pointer that is not trusted may be NULL.
SEC("iter/ipv6_route") int flexible_array(struct bpf_iter__ipv6_route *ctx)
{
	struct fib6_info *rt = ctx->rt;
	struct net_device *device;
	if (!rt)
		return 0;
	device = rt->fib6_nh[0].nh_common.nhc_dev;
	return device && device->ifindex == 3;
}

SEC("iter/ipv6_route") int number_in_flexible_array(struct bpf_iter__ipv6_route *ctx)
{
	struct fib6_info *rt = ctx->rt;
	return rt && rt->fib6_nh[0].nh_common.nhc_oif == 3;
}

// Runs on into the next member.
SEC("iter/ipv6_route") int beyond_member_in_flexible_array(struct bpf_iter__ipv6_route *ctx)
{
	struct fib6_info *rt = ctx->rt;
	return rt && *(volatile u64 *)__builtin_preserve_access_index(&rt->fib6_nh[0].nh_common.nhc_oif);
}
