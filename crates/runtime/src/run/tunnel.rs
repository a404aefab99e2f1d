//! `Tunnel`: the tunnel through which a program wants to send its packet.

/// `struct bpf_tunnel_key`: offsets of its fields.
pub(crate) mod key {
    pub(crate) const REMOTE: usize = 4;
    pub(crate) const EXT: usize = 22;
    pub(crate) const LABEL: usize = 24;
    pub(crate) const LOCAL: usize = 28;
    pub(crate) const BYTES: usize = 44;
    /// Sizes of the struct in kernel versions.
    pub(crate) const SIZES: [usize; 5] = [BYTES, LOCAL, LABEL, EXT, REMOTE + 4];
}

/// `BPF_F_TUNINFO_IPV6`, and other flags of `bpf_skb_set_tunnel_key`.
pub(crate) const IPV6: u64 = 1;
const ZERO_CSUM_TX: u64 = 2;
const DONT_FRAGMENT: u64 = 4;
const SEQ_NUMBER: u64 = 8;
const NO_TUNNEL_KEY: u64 = 16;
/// `BPF_F_TUNINFO_FLAGS` of `bpf_skb_get_tunnel_key`.
pub(crate) const TUNINFO_FLAGS: u64 = 16;

/// `TUNNEL_*_OPT` of all kinds of tunnels: which kind the options belong to is not known.
const OPTIONS_PRESENT: u16 = 0xd800;

/// The tunnel that a program chose for its packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// `struct bpf_tunnel_key` as passed by the program, padded with zeros.
    pub key: [u8; key::BYTES],
    /// Flags of `bpf_skb_set_tunnel_key`.
    pub flags: u64,
    /// What `bpf_skb_set_tunnel_opt` added.
    pub options: Vec<u8>,
}

impl Tunnel {
    pub(crate) fn is_v6(&self) -> bool {
        self.flags & IPV6 != 0
    }

    /// `TUNNEL_*` in network order.
    fn tunnel_flags(&self) -> u16 {
        let when = |yes: bool, bit: u16| if yes { bit } else { 0 };
        // TUNNEL_NOCACHE, and the effects of the flags.
        0x2000
            | when(!self.options.is_empty(), OPTIONS_PRESENT)
            | when(self.flags & ZERO_CSUM_TX == 0, 0x01)
            | when(self.flags & NO_TUNNEL_KEY == 0, 0x04)
            | when(self.flags & SEQ_NUMBER != 0, 0x08)
            | when(self.flags & DONT_FRAGMENT != 0, 0x0100)
    }

    /// The key as seen by the other end.
    pub(crate) fn seen(&self, flags: u64) -> [u8; key::BYTES] {
        let (mut seen, address) = (self.key, if self.is_v6() { 16 } else { 4 });
        seen[key::REMOTE..key::REMOTE + 16].fill(0);
        seen[key::EXT..].fill(0);
        let (remote, local) = (&self.key[key::REMOTE..], &self.key[key::LOCAL..]);
        seen[key::REMOTE..][..address].copy_from_slice(&local[..address]);
        seen[key::LOCAL..][..address].copy_from_slice(&remote[..address]);
        if self.is_v6() {
            let label = &self.key[key::LABEL..key::LOCAL];
            seen[key::LABEL..key::LOCAL].copy_from_slice(label);
        }
        if flags & TUNINFO_FLAGS != 0 {
            seen[key::EXT..key::LABEL].copy_from_slice(&self.tunnel_flags().to_be_bytes());
        }
        seen
    }
}
