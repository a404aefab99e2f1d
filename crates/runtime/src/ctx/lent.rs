//! Memory to which words of a context point: kernel structs for tracing programs. Callers refer to
//! it by handles and never see its address.

use super::{Body, Ctx};
use crate::Error;
use skep_mem::Region;

/// Memory lent to a context by [`Ctx::lend`]; it lives as long as the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent {
    number: usize,
    /// Of no other context's memory.
    addr: u64,
}

impl Ctx {
    /// Memory to which a word of the context may point ([`Ctx::set_pointer`]), or other such memory
    /// ([`Ctx::link`]).
    ///
    /// # Errors
    ///
    /// No memory.
    pub fn lend(&mut self, bytes: &[u8]) -> Result<Lent, Error> {
        // A region is never empty: no two have the same address.
        let region = Region::zeroed(bytes.len(), &self.budget).map_err(Error::no_memory)?;
        region.write(0, bytes);
        let lent = Lent { number: self.lent.len(), addr: region.addr(0) };
        self.lent.push((region, bytes.len()));
        Ok(lent)
    }

    /// Makes word `index` of a raw context point to lent memory, for all further runs.
    ///
    /// # Errors
    ///
    /// There is no such word, the context is that of a packet, or the memory was lent to another
    /// context.
    pub fn set_pointer(&mut self, index: usize, to: Lent) -> Result<(), Error> {
        let (region, _) = self.lent(to)?;
        self.set_word(index, region.addr(0))
    }

    /// Writes a pointer to lent memory into lent memory, at `offset`.
    ///
    /// # Errors
    ///
    /// The offset is out of range, or one of the two was lent to another context.
    pub fn link(&mut self, from: Lent, offset: usize, to: Lent) -> Result<(), Error> {
        let to = self.lent(to)?.0.addr(0);
        let (region, len) = self.lent(from)?;
        if offset > *len || *len - offset < 8 {
            return Err(Error::input(format!("no room for a pointer at {offset} of {len} bytes")));
        }
        region.write_part(offset, &to.to_ne_bytes());
        Ok(())
    }

    /// Sets word `index` of a raw context to a number, for all further runs.
    ///
    /// # Errors
    ///
    /// There is no such word, or the context is that of a packet.
    pub fn set_word(&mut self, index: usize, value: u64) -> Result<(), Error> {
        let at = index.checked_mul(8);
        match (&self.body, at) {
            (Body::Raw(region, len), Some(at)) if at < *len && *len - at >= 8 => {
                region.write(at, &value.to_ne_bytes());
                Ok(())
            }
            _ => Err(Error::input(format!("the context has no word {index}"))),
        }
    }

    fn lent(&self, lent: Lent) -> Result<&(Region, usize), Error> {
        let found = self.lent.get(lent.number).filter(|(region, _)| region.addr(0) == lent.addr);
        found.ok_or_else(|| Error::input("the memory was lent to another context"))
    }
}

#[cfg(test)]
mod tests {
    use skep_uapi::ProgType;

    use super::*;

    #[test]
    fn pointers_lead_into_what_was_lent_to_the_same_context() {
        let mut ctx = Ctx::raw(ProgType::RawTracepoint, &[0; 8]).unwrap();
        let mut other = Ctx::raw(ProgType::RawTracepoint, &[0; 8]).unwrap();
        let (a, b) = (ctx.lend(&[0; 12]).unwrap(), ctx.lend(&[]).unwrap());
        let foreign = other.lend(&[0; 8]).unwrap();
        ctx.link(a, 4, b).unwrap();
        ctx.set_pointer(0, a).unwrap();
        assert_eq!(ctx.raw_bytes(), a.addr.to_ne_bytes());
        assert_eq!(ctx.lent[0].0.to_vec(0, 12)[4..], b.addr.to_ne_bytes());
        assert!(ctx.link(a, 5, b).is_err() && ctx.link(a, usize::MAX, b).is_err());
        assert!(ctx.link(b, 0, a).is_err() && ctx.set_pointer(1, a).is_err());
        assert!(ctx.link(a, 0, foreign).is_err() && ctx.set_pointer(0, foreign).is_err());
    }
}
