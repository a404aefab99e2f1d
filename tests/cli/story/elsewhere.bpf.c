/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Refused: a variable is defined in another object, with which this one is not linked. Built with
 * the flags of tests/programs/build.sh. */
#include "../../programs/include/skep_bpf.h"

extern u64 elsewhere;

SEC("tc")
int counts(struct __sk_buff *skb)
{
	elsewhere += skb->len;
	return 0;
}

LICENSE_GPL;
