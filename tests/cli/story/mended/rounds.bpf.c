/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The programs of ../rounds.bpf.c, as the helps ask for. Accepted. */
#define MENDED
#include "../rounds.bpf.c"
