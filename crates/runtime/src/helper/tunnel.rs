//! Helpers for the tunnel of a packet: the program's settings are recorded with the run
//! (`Ctx::tunnel`), and returned on request.
//!
//! Kernel: `bpf_skb_set_tunnel_key` and siblings (6.18), compared with its test runs. The key is
//! returned as seen by the other end, with the addresses swapped.

use crate::run::Tunnel;
use crate::run::tunnel::{IPV6, TUNINFO_FLAGS, key};
use crate::run::{Call, ret};
use crate::{Errno, current};

/// All flags of `bpf_skb_set_tunnel_key`.
const SET_FLAGS: u64 = 31;
/// Largest flow label of IPv6.
const LABEL_MAX: u32 = 0xfffff;
/// `IP_TUNNEL_OPTS_MAX`.
const OPTIONS_MAX: usize = 255;

/// Passes the run's tunnel to `work`.
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

/// `long bpf_skb_get_tunnel_opt(skb, opt, size)`: returns the number of bytes.
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

/// `long bpf_skb_get_xfrm_state(skb, index, state, size, flags)`: packets here have no
/// transformations.
pub(super) fn get_xfrm_state(call: &Call) -> u64 {
    call.zero(2, call.arg(3) as u32 as usize);
    Errno::EINVAL.as_ret()
}
