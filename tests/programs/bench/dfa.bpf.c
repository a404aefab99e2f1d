/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An automaton that counts numbers, words and strings in 512 bytes. */
#include "bench.h"

enum state { SPACE, WORD, NUMBER, STRING };

INLINE u32 compute(const u8 *in, u8 *scratch)
{
	u32 words = 0, numbers = 0, strings = 0;
	enum state state = SPACE;

	for (int i = 0; i < 512; i++) {
		u8 byte = in[i] & 0x7f;

		if (state == STRING) {
			if (byte == '"')
				state = SPACE;
		} else if (byte == '"') {
			state = STRING;
			strings++;
		} else if (byte >= '0' && byte <= '9') {
			if (state == SPACE) {
				state = NUMBER;
				numbers++;
			}
		} else if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') {
			if (state != WORD) {
				state = WORD;
				words++;
			}
		} else {
			state = SPACE;
		}
	}
	return words | numbers << 10 | strings << 20;
}

BENCH(dfa);
