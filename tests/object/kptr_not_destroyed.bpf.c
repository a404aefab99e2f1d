/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A pointer of the kernel to a struct for which it has no destructor: it does not load the BTF, and
 * libbpf goes on without. */
#include "include/skep_bpf.h"

struct socket {
	int state;
};

struct own {
	int number;
};

struct socket *sock;
struct own *own;

struct value {
	struct socket __attribute__((btf_type_tag("kptr"))) *sock;
	struct own __attribute__((btf_type_tag("kptr"))) *own;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, int);
	TYPE(value, struct value);
} map SEC(".maps");

SEC("socket") int prog(void *ctx)
{
	return 0;
}

LICENSE_GPL;
