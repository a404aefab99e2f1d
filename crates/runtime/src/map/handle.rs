//! The embedder's view of a map: bpf(2)'s map commands, and typed access on top of them.

use super::prog_registry::{ProgRegistry, TailTarget};
use super::{Map, Sample};
use crate::{Errno, Error};
use skep_mem::epoch;
use skep_uapi::{MapFlags, MapType};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Flags of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u64)]
pub enum UpdateFlags {
    /// `BPF_ANY`: create or replace.
    #[default]
    Any = 0,
    /// `BPF_NOEXIST`: create only.
    NoExist = 1,
    /// `BPF_EXIST`: replace only.
    Exist = 2,
}

/// A handle to a map, usable from any thread.
#[derive(Clone, Debug)]
pub struct MapHandle(Arc<Map>);

/// What user space may do with a map with these flags.
fn user_may(flags: MapFlags, write: bool) -> Result<(), Errno> {
    let forbidden = if write { MapFlags::RDONLY } else { MapFlags::WRONLY };
    if flags.contains(forbidden) { Err(Errno::EPERM) } else { Ok(()) }
}

impl MapHandle {
    pub(crate) fn new(map: Arc<Map>) -> MapHandle {
        MapHandle(map)
    }

    pub(crate) fn shared(&self) -> &Arc<Map> {
        &self.0
    }

    /// Sets a value as the loader does, even if the map is frozen for everyone else.
    pub(crate) fn fill(&self, key: &[u8], value: &[u8]) -> Result<(), Errno> {
        self.sized(key)?;
        if value.len() != self.value_len() {
            return Err(Errno::EINVAL);
        }
        let _run = self.enter()?;
        self.0.kind().write(key, value, 0)
    }

    /// The map itself: its type, name, sizes and flags.
    pub fn map(&self) -> &Map {
        &self.0
    }

    /// Size of a value as used by these methods; for a per-CPU map, that of the values of all CPUs,
    /// each rounded up to 8 bytes.
    pub fn value_len(&self) -> usize {
        self.0.kind().user_value_size(self.0.shape())
    }

    fn sized(&self, key: &[u8]) -> Result<(), Errno> {
        if key.len() == self.0.shape.key_size as usize { Ok(()) } else { Err(Errno::EINVAL) }
    }

    /// Memory read from the map stays valid while this is held.
    fn enter(&self) -> Result<Option<epoch::Guard>, Errno> {
        let run = epoch::enter().map_err(|_| Errno::EAGAIN)?;
        Ok(Some(run).filter(|_| !self.0.kind().waits_for_runs()))
    }

    /// BPF_MAP_LOOKUP_ELEM: a copy of the value. For a queue or stack, what would be popped.
    ///
    /// # Errors
    ///
    /// `ENOENT`: no such key. `EINVAL`: the key's length does not match the map's key size.
    /// `EPERM`: `BPF_F_WRONLY`.
    pub fn lookup(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        self.sized(key)?;
        user_may(self.0.shape.flags, false)?;
        let _run = epoch::enter().map_err(|_| Errno::EAGAIN)?;
        self.0.kind().read(key)
    }

    /// BPF_MAP_UPDATE_ELEM. For a queue, stack or bloom filter, a push.
    ///
    /// # Errors
    ///
    /// The kernel's errno; also `EINVAL` if a slice does not match the map's key or value size.
    pub fn update(&self, key: &[u8], value: &[u8], flags: UpdateFlags) -> Result<(), Errno> {
        self.update_raw(key, value, flags as u64)
    }

    pub(crate) fn update_raw(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        self.sized(key)?;
        if value.len() != self.value_len() {
            return Err(Errno::EINVAL);
        }
        user_may(self.0.shape.flags, true)?;
        if self.0.is_frozen() {
            return Err(Errno::EPERM);
        }
        let _run = self.enter()?;
        self.0.kind().write(key, value, flags)
    }

    /// BPF_MAP_DELETE_ELEM.
    ///
    /// # Errors
    ///
    /// The kernel's errno.
    pub fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        self.sized(key)?;
        user_may(self.0.shape.flags, true)?;
        if self.0.is_frozen() {
            return Err(Errno::EPERM);
        }
        let _run = self.enter()?;
        self.0.kind().delete(key)
    }

    /// BPF_MAP_GET_NEXT_KEY: the key after this one; the first for `None` or an absent key.
    ///
    /// # Errors
    ///
    /// `ENOENT`: it was the last. The kernel's errno for maps without keys.
    pub fn next_key(&self, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        user_may(self.0.shape.flags, false)?;
        if let Some(key) = key {
            self.sized(key)?;
        }
        let mut next = vec![0; self.0.shape.key_size as usize];
        let _run = epoch::enter().map_err(|_| Errno::EAGAIN)?;
        self.0.kind().next_key(key, &mut next)?;
        Ok(next)
    }

    /// Pops the next value of a queue or stack.
    ///
    /// # Errors
    ///
    /// `ENOENT`: it is empty. `EPERM`: `BPF_F_RDONLY` or `BPF_F_WRONLY`, or it is frozen.
    pub fn pop(&self) -> Result<Vec<u8>, Errno> {
        user_may(self.0.shape.flags, false)?;
        user_may(self.0.shape.flags, true)?;
        if self.0.is_frozen() {
            return Err(Errno::EPERM);
        }
        let mut value = vec![0; self.value_len()];
        let _run = epoch::enter().map_err(|_| Errno::EAGAIN)?;
        self.0.kind().pop(&mut value, false)?;
        Ok(value)
    }

    /// Stores the program with that name, of the runtime with these programs, in a slot of a prog
    /// array: `MapHandle::set_program`.
    pub(crate) fn set_target(
        &self,
        slot: u32,
        name: &str,
        target: Arc<dyn TailTarget>,
        progs: &Arc<ProgRegistry>,
    ) -> Result<(), Error> {
        let doing = || format!("program '{name}' into slot {slot} of map '{}'", self.0.name());
        let refused = |errno: Errno| Error::input(format!("{}: {errno}", doing()));
        let array = self.0.prog_array().ok_or_else(|| refused(Errno::EINVAL))?;
        if !array.is_of(progs) {
            return Err(Error::input(format!("{}: they belong to different runtimes", doing())));
        }
        user_may(self.0.shape.flags, true).map_err(refused)?;
        if self.0.is_frozen() {
            return Err(refused(Errno::EPERM));
        }
        let _run = self.enter().map_err(refused)?;
        array.store(slot, target).map_err(refused)
    }

    /// The id of the program in a slot of a prog array ([`crate::Instance::id`]); `None` if it is
    /// empty.
    ///
    /// # Errors
    ///
    /// `EINVAL`: the map is not a prog array.
    pub fn program(&self, slot: u32) -> Result<Option<u32>, Errno> {
        let array = self.0.prog_array().ok_or(Errno::EINVAL)?;
        let _run = epoch::enter().map_err(|_| Errno::EAGAIN)?;
        Ok((slot < self.0.shape.max_entries)
            .then(|| array.target(slot))
            .flatten()
            .map(|prog| prog.id()))
    }

    /// Clears a slot of a prog array.
    ///
    /// # Errors
    ///
    /// As for [`MapHandle::delete`].
    pub fn clear_program(&self, slot: u32) -> Result<(), Errno> {
        self.0.prog_array().ok_or(Errno::EINVAL)?;
        self.delete(&slot.to_ne_bytes())
    }

    /// Whether a bloom filter probably holds `value`.
    ///
    /// # Errors
    ///
    /// The map is not a bloom filter, or `value` does not match its value size.
    pub fn holds(&self, value: &[u8]) -> Result<bool, Errno> {
        if self.0.map_type != MapType::BloomFilter || value.len() != self.value_len() {
            return Err(Errno::EINVAL);
        }
        user_may(self.0.shape.flags, false)?;
        match self.0.kind().pop(&mut value.to_vec(), true) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Adds a sample to a user ring buffer, for `bpf_user_ringbuf_drain`.
    ///
    /// # Errors
    ///
    /// `EINVAL`: not a user ring buffer. `ENOSPC`: it is full. `E2BIG`: larger than the buffer.
    pub fn user_ringbuf_write(&self, data: &[u8]) -> Result<(), Errno> {
        self.0.user_ringbuf().ok_or(Errno::EINVAL)?.write(data)
    }

    /// Consumes the committed records of a ring buffer, in order, until `each` returns false.
    /// Records that are added meanwhile are left for the next call. Returns the number consumed.
    ///
    /// # Errors
    ///
    /// `EINVAL`: the map is not a ring buffer. `EBUSY`: called from within `each`.
    pub fn consume(&self, mut each: impl FnMut(&[u8]) -> bool) -> Result<usize, Errno> {
        let ringbuf = self.0.ringbuf().ok_or(Errno::EINVAL)?;
        ringbuf.consume(&mut each)
    }

    /// Like [`MapHandle::consume`], but waits up to `timeout` for a first record. Returns 0 if
    /// there was none.
    ///
    /// # Errors
    ///
    /// `EINVAL`: the map is not a ring buffer. `EBUSY`: called from within `each`.
    pub fn poll(
        &self,
        timeout: Duration,
        mut each: impl FnMut(&[u8]) -> bool,
    ) -> Result<usize, Errno> {
        let ringbuf = self.0.ringbuf().ok_or(Errno::EINVAL)?;
        let now = Instant::now();
        // About a year, if the clock cannot represent the sum.
        let until = now.checked_add(timeout).unwrap_or(now + Duration::from_secs(1 << 25));
        while ringbuf.wait(until) {
            // Discarded records are skipped.
            let count = ringbuf.consume(&mut each)?;
            if count > 0 {
                return Ok(count);
            }
        }
        Ok(0)
    }

    /// Takes the samples of a perf event array, and the number of lost ones.
    ///
    /// # Errors
    ///
    /// `EINVAL`: the map is not a perf event array.
    pub fn take_samples(&self) -> Result<(Vec<Sample>, u64), Errno> {
        Ok(self.0.perf_event_array().ok_or(Errno::EINVAL)?.take())
    }

    /// All keys and values, in the map's order; concurrent changes may or may not be seen.
    pub fn entries(&self) -> Entries<'_> {
        // Concurrent changes might make the iteration cycle, as in the kernel.
        let left = self.0.shape.max_entries as usize;
        Entries { handle: self, key: None, left }
    }

    /// Typed access to keys and values: integers, arrays of them, and `#[repr(C)]` structs that
    /// derive the traits of [`crate::zerocopy`]. On a per-CPU map, [`TypedMap::set`] gives every
    /// CPU the same value.
    ///
    /// # Errors
    ///
    /// The types do not match the map's key and value sizes.
    pub fn typed<K, V>(&self) -> Result<TypedMap<K, V>, Error>
    where
        K: IntoBytes + FromBytes + Immutable,
        V: IntoBytes + FromBytes + Immutable,
    {
        let (key, value) = (size_of::<K>(), size_of::<V>());
        let shape = self.0.shape();
        if key != shape.key_size as usize || value != shape.value_size as usize {
            return Err(Error::input(format!(
                "map '{}' has keys of {} and values of {} bytes, not {key} and {value}",
                self.0.name(),
                shape.key_size,
                shape.value_size
            )));
        }
        Ok(TypedMap { handle: self.clone(), types: PhantomData })
    }
}

/// Iterator over a map's keys and values.
pub struct Entries<'a> {
    handle: &'a MapHandle,
    key: Option<Vec<u8>>,
    left: usize,
}

impl Iterator for Entries<'_> {
    type Item = (Vec<u8>, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        while self.left > 0 {
            self.left -= 1;
            let key = self.handle.next_key(self.key.as_deref()).ok()?;
            self.key = Some(key.clone());
            if let Ok(value) = self.handle.lookup(&key) {
                return Some((key, value));
            }
        }
        None
    }
}

/// A map whose keys and values are plain Rust types.
#[derive(Clone, Debug)]
pub struct TypedMap<K, V> {
    handle: MapHandle,
    types: PhantomData<fn(K) -> V>,
}

impl<K, V> TypedMap<K, V>
where
    K: IntoBytes + FromBytes + Immutable,
    V: IntoBytes + FromBytes + Immutable,
{
    /// The value, or `None` if the key is absent; for a per-CPU map, the value of CPU 0.
    ///
    /// # Errors
    ///
    /// As for [`MapHandle::lookup`], except that an absent key is `None`.
    pub fn get(&self, key: &K) -> Result<Option<V>, Errno> {
        Ok(self.get_percpu(key)?.into_iter().next())
    }

    /// The values of all CPUs; one if the map is not per-CPU, none if the key is absent.
    ///
    /// # Errors
    ///
    /// As for [`MapHandle::lookup`].
    pub fn get_percpu(&self, key: &K) -> Result<Vec<V>, Errno> {
        let bytes = match self.handle.lookup(key.as_bytes()) {
            Ok(bytes) => bytes,
            Err(Errno::ENOENT) => return Ok(Vec::new()),
            Err(errno) => return Err(errno),
        };
        let stride = match self.handle.map().is_percpu() {
            true => size_of::<V>().next_multiple_of(8),
            false => size_of::<V>(),
        };
        let values = bytes.chunks(stride.max(1)).map(|value| V::read_from_prefix(value));
        values.map(|value| value.map(|(v, _)| v).map_err(|_| Errno::EINVAL)).collect()
    }

    /// Sets the value, for all CPUs if the map is per-CPU.
    ///
    /// # Errors
    ///
    /// As for [`MapHandle::update`].
    pub fn set(&self, key: &K, value: &V, flags: UpdateFlags) -> Result<(), Errno> {
        let bytes = value.as_bytes();
        let all: Vec<u8>;
        let bytes = match self.handle.map().is_percpu() {
            true => {
                let mut one = bytes.to_vec();
                one.resize(bytes.len().next_multiple_of(8), 0);
                all = one.repeat(self.handle.value_len() / one.len().max(1));
                &all
            }
            false => bytes,
        };
        self.handle.update(key.as_bytes(), bytes, flags)
    }

    /// Removes the key.
    ///
    /// # Errors
    ///
    /// As for [`MapHandle::delete`].
    pub fn remove(&self, key: &K) -> Result<(), Errno> {
        self.handle.delete(key.as_bytes())
    }
}
