//! Time spent on tables that are made when they are first needed, so that whoever measures a
//! program's verification can leave them out: it is not the program's, but the first one's bad
//! luck.
//!
//! # Invariants
//! 1. Time is that of this thread, also if it only waits for another one that makes the table.
//! 2. A table that is made while another one is made counts once.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::Duration;
#[cfg(not(target_family = "wasm"))]
use std::time::Instant;

thread_local! {
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// How long this thread has waited for tables so far.
pub fn waited() -> Duration {
    WAITED.get()
}

/// The table, which is made if there is none yet.
pub fn made_once<T>(table: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    match table.get() {
        Some(table) => table,
        None => timed(|| table.get_or_init(make)),
    }
}

#[cfg(not(target_family = "wasm"))]
fn timed<T>(work: impl FnOnce() -> T) -> T {
    let (before, started) = (WAITED.get(), Instant::now());
    let done = work();
    WAITED.set(before + started.elapsed());
    done
}

/// WebAssembly itself has no clock.
#[cfg(target_family = "wasm")]
fn timed<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    const LONG: Duration = Duration::from_millis(20);

    #[test]
    fn what_is_made_inside_of_another_counts_once() {
        let (inner, outer) = (OnceLock::new(), OnceLock::new());
        let before = waited();
        let started = Instant::now();
        let made = made_once(&outer, || {
            sleep(LONG);
            *made_once(&inner, || {
                sleep(LONG);
                7
            })
        });
        let (took, counted) = (started.elapsed(), waited() - before);
        assert_eq!(*made, 7);
        assert!(counted >= 2 * LONG && counted <= took, "{counted:?} of {took:?}");
        let before = waited();
        assert_eq!(*made_once(&outer, || 8), 7);
        assert_eq!(waited(), before, "it is made");
    }
}
