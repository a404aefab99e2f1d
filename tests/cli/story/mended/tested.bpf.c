/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The programs of ../tested.bpf.c, as the helps ask for. Accepted. */
#define MENDED
#include "../tested.bpf.c"
