/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Packet headers as their RFCs draw them, and byte order. BPF objects here are little endian.
 */
#pragma once
#include "skep_bpf.h"

#define be16(x) ((u16)__builtin_bswap16((u16)(x)))
#define be32(x) ((u32)__builtin_bswap32((u32)(x)))

enum { ETHERTYPE_IPV4 = 0x0800, ETHERTYPE_VLAN = 0x8100, ETHERTYPE_IPV6 = 0x86dd };
enum { PROTO_ICMP = 1, PROTO_TCP = 6, PROTO_UDP = 17 };

struct eth_hdr {
	u8 dst[6];
	u8 src[6];
	u16 type;
} __attribute__((packed));

struct vlan_hdr {
	u16 tci;
	u16 type;
} __attribute__((packed));

struct ipv4_hdr {
	u8 version_ihl;
	u8 tos;
	u16 total_len;
	u16 id;
	u16 frag_off;
	u8 ttl;
	u8 proto;
	u16 check;
	u32 src;
	u32 dst;
};

struct ipv6_hdr {
	u32 version_class_flow;
	u16 payload_len;
	u8 next;
	u8 hop_limit;
	u8 src[16];
	u8 dst[16];
};

struct tcp_hdr {
	u16 src;
	u16 dst;
	u32 seq;
	u32 ack;
	u16 offset_flags;
	u16 window;
	u16 check;
	u16 urgent;
};

struct udp_hdr {
	u16 src;
	u16 dst;
	u16 len;
	u16 check;
};
