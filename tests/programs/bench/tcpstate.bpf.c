/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The states of a connection, 256 events. */
#include "bench.h"

enum { CLOSED, LISTEN, SYN_SENT, SYN_RCVD, ESTABLISHED, FIN_WAIT, CLOSE_WAIT, LAST_ACK };
enum { PASSIVE, SYN, ACK, FIN, RST, CLOSE };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 state = CLOSED, opened = 0, closed = 0;

	for (int i = 0; i < 256; i++) {
		u32 event = in[i] & 7;

		if (event == RST) {
			state = CLOSED;
			continue;
		}
		switch (state) {
		case CLOSED:
			state = event == PASSIVE ? LISTEN : event == SYN ? SYN_SENT : CLOSED;
			break;
		case LISTEN:
			if (event == SYN)
				state = SYN_RCVD;
			break;
		case SYN_SENT:
			if (event == SYN || event == ACK)
				state = event == SYN ? SYN_RCVD : ESTABLISHED;
			break;
		case SYN_RCVD:
			if (event == ACK) {
				state = ESTABLISHED;
				opened++;
			}
			break;
		case ESTABLISHED:
			if (event == FIN)
				state = CLOSE_WAIT;
			else if (event == CLOSE)
				state = FIN_WAIT;
			break;
		case FIN_WAIT:
		case LAST_ACK:
			if (event == ACK || event == FIN) {
				state = CLOSED;
				closed++;
			}
			break;
		case CLOSE_WAIT:
			if (event == CLOSE)
				state = LAST_ACK;
			break;
		}
	}
	return state | opened << 8 | closed << 16;
}

BENCH(tcpstate);
