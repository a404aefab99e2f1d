/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Smoothed round-trip times and timeouts of 16 connections, 160 samples. */
#include "bench.h"

struct conn {
	u32 srtt, rttvar, rto, least;
	u8 backoff, samples;
};
struct conn bench_conns[16] __attribute__((visibility("hidden"))) = { { 1, 1, 1, 1, 1, 1 } };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 sum = 0;

	for (int i = 0; i < 16; i++)
		bench_conns[i] = (struct conn){ 0, 0, 1000, ~0u, 0, 0 };
	for (int n = 0; n < 160; n++) {
		struct conn *conn = &bench_conns[in[n] >> 4];
		u32 rtt = 20 + in[n + 160] + (in[n + 320] & 3) * 50;

		if (in[n + 480] < 8) {
			if (conn->backoff < 6) {
				conn->backoff++;
				conn->rto *= 2;
			}
			continue;
		}
		conn->backoff = 0;
		if (rtt < conn->least)
			conn->least = rtt;
		if (!conn->samples) {
			conn->srtt = rtt << 3;
			conn->rttvar = rtt << 1;
		} else {
			int error = (int)rtt - (int)(conn->srtt >> 3);

			conn->srtt += error;
			if (error < 0)
				error = -error;
			conn->rttvar += error - (int)(conn->rttvar >> 2);
		}
		conn->rto = (conn->srtt >> 3) + (conn->rttvar < 4 ? 4 : conn->rttvar);
		if (conn->rto < 200)
			conn->rto = 200;
		else if (conn->rto > 60000)
			conn->rto = 60000;
		conn->samples++;
	}
	for (int i = 0; i < 16; i++)
		sum = sum * 31 + bench_conns[i].rto + bench_conns[i].least;
	return sum;
}

BENCH(rtt);
