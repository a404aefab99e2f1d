/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The programs of ../unloaded.bpf.c, with the field that the struct lacks. Accepted. */
#define MENDED
#include "../unloaded.bpf.c"
