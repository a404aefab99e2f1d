//! The memory that a verification uses, by purpose.

/// Size in bytes up to which a table grows by doubling.
const SMALL_TABLE: usize = 1 << 17;

/// Appends to a table that may become large, and returns the index. Large tables grow by a quarter
/// instead of doubling.
pub(crate) fn push_tight<T>(items: &mut Vec<T>, item: T) -> u32 {
    if items.len() == items.capacity() {
        let is_small = items.len() * size_of::<T>() < SMALL_TABLE;
        items.reserve_exact(if is_small { items.len().max(16) } else { items.len() / 4 });
    }
    items.push(item);
    items.len() as u32 - 1
}

/// Bytes allocated by a vector.
pub(crate) fn capacity_bytes<T>(items: &Vec<T>) -> u64 {
    (items.capacity() * size_of::<T>()) as u64
}
