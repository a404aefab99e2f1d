//! Helpers for the tunnel that a packet is to be sent through: what the program says is recorded
//! with the run (`Ctx::tunnel`), and given back to who asks.
//!
//! Kernel: `bpf_skb_set_tunnel_key` and siblings (6.18), compared with its test runs. What it gives
//! back is what the other end would see: the addresses change places.

use super::call::{Call, ret};
use crate::{Errno, current};

/// `struct bpf_tunnel_key`: offsets of its fields.
mod key {
    pub(super) const REMOTE: usize = 4;
    pub(super) const EXT: usize = 22;
    pub(super) const LABEL: usize = 24;
    pub(super) const LOCAL: usize = 28;
    pub(super) const BYTES: usize = 44;
    /// Sizes that the struct has had.
    pub(super) const SIZES: [usize; 5] = [BYTES, LOCAL, LABEL, EXT, REMOTE + 4];
}

/// `BPF_F_TUNINFO_IPV6`, and the other flags of `bpf_skb_set_tunnel_key`.
const IPV6: u64 = 1;
const ZERO_CSUM_TX: u64 = 2;
const DONT_FRAGMENT: u64 = 4;
const SEQ_NUMBER: u64 = 8;
const NO_TUNNEL_KEY: u64 = 16;
const SET_FLAGS: u64 = 31;
/// `BPF_F_TUNINFO_FLAGS` of `bpf_skb_get_tunnel_key`.
const TUNINFO_FLAGS: u64 = 16;
/// Largest flow label of IPv6.
const LABEL_MAX: u32 = 0xfffff;
/// `IP_TUNNEL_OPTS_MAX`.
const OPTIONS_MAX: usize = 255;

/// The tunnel that a program chose for its packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// `struct bpf_tunnel_key` as the program gave it, padded with zeros.
    pub key: [u8; key::BYTES],
    /// Flags of `bpf_skb_set_tunnel_key`.
    pub flags: u64,
    /// What `bpf_skb_set_tunnel_opt` added.
    pub options: Vec<u8>,
}

impl Tunnel {
    fn is_v6(&self) -> bool {
        self.flags & IPV6 != 0
    }

    /// `TUNNEL_*` in network order.
    fn tunnel_flags(&self) -> u16 {
        let when = |yes: bool, bit: u16| if yes { bit } else { 0 };
        // TUNNEL_NOCACHE, and what the flags say.
        0x2000
            | when(self.flags & ZERO_CSUM_TX == 0, 0x01)
            | when(self.flags & NO_TUNNEL_KEY == 0, 0x04)
            | when(self.flags & SEQ_NUMBER != 0, 0x08)
            | when(self.flags & DONT_FRAGMENT != 0, 0x0100)
    }

    /// The key as the other end has it.
    fn seen(&self, flags: u64) -> [u8; key::BYTES] {
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

/// Gives the run's tunnel to `work`.
fn with_tunnel<T>(work: impl FnOnce(&mut Option<Tunnel>) -> Result<T, Errno>) -> Result<T, Errno> {
    let done = current::with(|current| work(&mut current.ctx.effects.tunnel.borrow_mut()));
    done.unwrap_or(Err(Errno::EINVAL))
}

/// `long bpf_skb_set_tunnel_key(skb, key, size, flags)`.
pub(super) fn set_key(call: &Call) -> u64 {
    let (size, flags) = (call.arg(2) as u32 as usize, call.arg(3));
    if flags & !SET_FLAGS != 0 || !key::SIZES.contains(&size) {
        return Errno::EINVAL.as_ret();
    }
    let mut given = [0; key::BYTES];
    given[..size].copy_from_slice(&call.bytes(1, size));
    let label = given[key::LABEL..key::LOCAL].iter().rev();
    let label = label.fold(0u32, |label, byte| label << 8 | u32::from(*byte));
    if given[key::EXT..key::LABEL] != [0, 0] || (label != 0 && flags & IPV6 == 0) {
        return Errno::EINVAL.as_ret();
    }
    given[key::LABEL..key::LOCAL].copy_from_slice(&(label & LABEL_MAX).to_ne_bytes());
    ret(with_tunnel(|tunnel| {
        *tunnel = Some(Tunnel { key: given, flags, options: Vec::new() });
        Ok(())
    }))
}

/// `long bpf_skb_get_tunnel_key(skb, key, size, flags)`.
pub(super) fn get_key(call: &Call) -> u64 {
    let (size, flags) = (call.arg(2) as u32 as usize, call.arg(3));
    let got = with_tunnel(|tunnel| {
        let tunnel = tunnel.as_ref().ok_or(Errno::EINVAL)?;
        if flags & !(IPV6 | TUNINFO_FLAGS) != 0 || !key::SIZES.contains(&size) {
            return Err(Errno::EINVAL);
        }
        if tunnel.is_v6() != (flags & IPV6 != 0) {
            return Err(Errno::EPROTO);
        }
        if tunnel.is_v6() && size < key::EXT {
            return Err(Errno::EINVAL);
        }
        call.write(1, &tunnel.seen(flags)[..size]);
        Ok(())
    });
    if got.is_err() {
        call.zero(1, size);
    }
    ret(got)
}

/// `long bpf_skb_set_tunnel_opt(skb, opt, size)`.
pub(super) fn set_options(call: &Call) -> u64 {
    let size = call.arg(2) as u32 as usize;
    ret(with_tunnel(|tunnel| {
        let tunnel = tunnel.as_mut().ok_or(Errno::EINVAL)?;
        if !size.is_multiple_of(4) {
            return Err(Errno::EINVAL);
        }
        if size > OPTIONS_MAX {
            return Err(Errno::ENOMEM);
        }
        tunnel.options = call.bytes(1, size).to_vec();
        Ok(())
    }))
}

/// `long bpf_skb_get_tunnel_opt(skb, opt, size)`: how many bytes there are.
pub(super) fn get_options(call: &Call) -> u64 {
    let size = call.arg(2) as u32 as usize;
    let got = with_tunnel(|tunnel| {
        let options = tunnel.as_ref().map_or(&[][..], |tunnel| &tunnel.options);
        match options.len() {
            0 => Err(Errno::ENOENT),
            len if len > size => Err(Errno::ENOMEM),
            len => {
                call.zero(1, size);
                call.write(1, options);
                Ok(len as u64)
            }
        }
    });
    got.unwrap_or_else(|errno| {
        call.zero(1, size);
        errno.as_ret()
    })
}

/// `long bpf_skb_get_xfrm_state(skb, index, state, size, flags)`: a packet here went through no
/// transformation.
pub(super) fn get_xfrm_state(call: &Call) -> u64 {
    call.zero(2, call.arg(3) as u32 as usize);
    Errno::EINVAL.as_ret()
}
