//! The order of runs: both sides alternate, and each is first equally often, so that drift
//! (temperature, other load, the allocator's state) affects both alike.

use std::time::{Duration, Instant};

/// How long to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// This many rounds.
    Repeat(u32),
    /// As many rounds as fit into this time, but at least seven.
    Time(Duration),
}

/// Fewer rounds give no usable spread.
const ROUNDS_MIN: usize = 7;

/// Runs `run(0..sides)` in rounds and returns the results by side; the first round warms up and is
/// dropped. `progress` is called with the part that is done, 0 to 1.
///
/// # Errors
///
/// The first error of `run`.
pub fn interleave<T, E>(
    rounds: Rounds,
    sides: usize,
    mut run: impl FnMut(usize) -> Result<T, E>,
    mut progress: impl FnMut(f64),
) -> Result<Vec<Vec<T>>, E> {
    for side in 0..sides {
        run(side)?;
    }
    let started = Instant::now();
    let mut results: Vec<Vec<T>> = (0..sides).map(|_| Vec::new()).collect();
    for done in 0.. {
        let part = match rounds {
            Rounds::Repeat(count) => done as f64 / f64::from(count.max(1)),
            Rounds::Time(time) => (started.elapsed().as_secs_f64() / time.as_secs_f64())
                .min(done as f64 / ROUNDS_MIN as f64),
        };
        progress(part.min(1.0));
        if part >= 1.0 {
            break;
        }
        for turn in 0..sides {
            let side = if done % 2 == 0 { turn } else { sides - 1 - turn };
            let result = run(side)?;
            results[side].push(result);
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_take_turns_after_one_warm_up() {
        let mut order = Vec::new();
        let run = |side: usize| {
            order.push(side);
            Ok::<_, ()>(side)
        };
        let results = interleave(Rounds::Repeat(3), 2, run, |_| {}).unwrap();
        assert_eq!(results, [[0, 0, 0], [1, 1, 1]]);
        assert_eq!(order, [0, 1, 0, 1, 1, 0, 0, 1]);
    }

    #[test]
    fn no_time_is_still_the_least_number_of_rounds() {
        let results = interleave(Rounds::Time(Duration::ZERO), 1, Ok::<_, ()>, |_| {}).unwrap();
        assert_eq!(results[0].len(), ROUNDS_MIN);
    }

    #[test]
    fn an_error_ends_it() {
        assert_eq!(interleave(Rounds::Repeat(9), 1, |_| Err::<(), _>("no"), |_| {}), Err("no"));
    }
}
