/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* libbpf maps the section of a global variable into its memory; the kernel does not map values with
 * a lock. In a section of static variables, a lock may be. */
#include "include/skep_bpf.h"

struct bpf_spin_lock lock;
int value;

static struct bpf_spin_lock hidden_lock SEC(".data.hidden");
static int hidden_value SEC(".data.hidden");

SEC("tc") int prog(struct __sk_buff *skb)
{
	spin_lock(&lock);
	value++;
	spin_unlock(&lock);
	spin_lock(&hidden_lock);
	hidden_value++;
	spin_unlock(&hidden_lock);
	return 0;
}

LICENSE_GPL;
