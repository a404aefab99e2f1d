//! Statistics of measured values: median and spread of one side, and the ratio of two with its
//! confidence interval.
//!
//! The interval is the middle 95 % of a paired bootstrap: rounds are drawn with replacement, both
//! sides of a round together, because a disturbance affects both.

use crate::cost::Centre;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use statrs::statistics::{Data, Distribution, Max, Min, OrderStatistics};

/// Number of bootstrap samples.
const DRAWS: usize = 2_000;
/// The same values give the same interval.
const SEED: u64 = 0x5ee9;
/// Ends of the interval.
const INTERVAL: (f64, f64) = (0.025, 0.975);

/// The values of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The minimum.
    pub best: f64,
    /// A quarter is below.
    pub lower_quartile: f64,
    /// Half are below.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// A quarter is above.
    pub upper_quartile: f64,
    /// The maximum.
    pub worst: f64,
    /// Number of values.
    pub count: usize,
}

impl Spread {
    /// Of at least one value.
    pub fn of(values: &[f64]) -> Option<Spread> {
        if values.is_empty() {
            return None;
        }
        let mut data = Data::new(values.to_vec());
        Some(Spread {
            best: data.min(),
            lower_quartile: data.lower_quartile(),
            median: data.median(),
            mean: data.mean().unwrap_or(f64::NAN),
            upper_quartile: data.upper_quartile(),
            worst: data.max(),
            count: values.len(),
        })
    }

    /// The statistic of this kind.
    pub fn centre(&self, centre: Centre) -> f64 {
        match centre {
            Centre::Median => self.median,
            Centre::Mean => self.mean,
        }
    }
}

fn centre_of(values: &mut [f64], centre: Centre) -> f64 {
    let mut data = Data::new(values);
    match centre {
        Centre::Median => data.median(),
        Centre::Mean => data.mean().unwrap_or(f64::NAN),
    }
}

/// The ratio of two medians, or of two means.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ratio {
    /// The centre of one side over that of the other.
    pub value: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The bootstrap samples.
    #[serde(skip)]
    draws: Vec<f64>,
}

impl Ratio {
    /// The ratio of medians `over / under` of values measured in the same rounds.
    pub fn of(over: &[f64], under: &[f64]) -> Option<Ratio> {
        Ratio::of_centres(over, under, Centre::Median)
    }

    /// The ratio of centres; `None` without values, or where one would divide by zero. Two sides
    /// that are zero throughout are equal.
    pub fn of_centres(over: &[f64], under: &[f64], centre: Centre) -> Option<Ratio> {
        let rounds = over.len().min(under.len());
        let (over, under) = (over.get(..rounds)?, under.get(..rounds)?);
        if over.iter().chain(under).all(|&value| value == 0.0) && rounds > 0 {
            return Some(Ratio::from_draws(1.0, vec![1.0; DRAWS]));
        }
        let value = Spread::of(over)?.centre(centre) / Spread::of(under)?.centre(centre);
        if !value.is_finite() {
            return None;
        }
        let mut rng = StdRng::seed_from_u64(SEED);
        let mut draws = Vec::with_capacity(DRAWS);
        let (mut a, mut b) = (vec![0.0; rounds], vec![0.0; rounds]);
        for _ in 0..DRAWS {
            for (a, b) in a.iter_mut().zip(&mut b) {
                let round = rng.random_range(0..rounds);
                (*a, *b) = (over[round], under[round]);
            }
            draws.push(centre_of(&mut a, centre) / centre_of(&mut b, centre));
        }
        if draws.iter().any(|draw| !draw.is_finite()) {
            return None;
        }
        Some(Ratio::from_draws(value, draws))
    }

    fn from_draws(value: f64, draws: Vec<f64>) -> Ratio {
        let mut sorted = Data::new(draws.clone());
        let (low, high) = (sorted.quantile(INTERVAL.0), sorted.quantile(INTERVAL.1));
        Ratio { value, low, high, draws }
    }

    /// Whether the interval contains 1: then no difference was measured.
    pub fn holds_one(&self) -> bool {
        self.low <= 1.0 && 1.0 <= self.high
    }
}

/// The geometric mean of ratios, with the interval that their draws give.
pub fn geometric_mean(ratios: &[Ratio]) -> Option<Ratio> {
    let mean = |values: &mut dyn Iterator<Item = f64>| {
        (values.map(f64::ln).sum::<f64>() / ratios.len() as f64).exp()
    };
    let draw =
        |at: usize| mean(&mut ratios.iter().filter_map(|ratio| ratio.draws.get(at)).copied());
    let value = mean(&mut ratios.iter().map(|ratio| ratio.value));
    (!ratios.is_empty()).then(|| Ratio::from_draws(value, (0..DRAWS).map(draw).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(middle: f64, seed: u64) -> Vec<f64> {
        let mut rng = StdRng::seed_from_u64(seed);
        (0..41).map(|_| middle * rng.random_range(0.9..1.1)).collect()
    }

    #[test]
    fn quartiles_of_known_values() {
        let spread = Spread::of(&[5.0, 1.0, 2.0, 4.0, 3.0]).unwrap();
        assert_eq!((spread.best, spread.median, spread.worst), (1.0, 3.0, 5.0));
        assert_eq!(spread.mean, 3.0);
        assert!(spread.lower_quartile < spread.median && spread.median < spread.upper_quartile);
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn noise_is_no_difference_and_a_difference_is_one() {
        let same = Ratio::of(&noisy(100.0, 1), &noisy(100.0, 2)).unwrap();
        assert!(same.holds_one(), "{} {}", same.low, same.high);
        let twice = Ratio::of(&noisy(200.0, 1), &noisy(100.0, 2)).unwrap();
        assert!(!twice.holds_one() && twice.low > 1.8 && twice.high < 2.2);
        assert!(twice.low <= twice.value && twice.value <= twice.high);
    }

    #[test]
    fn the_same_values_give_the_same_interval() {
        let ratio = || Ratio::of(&noisy(3.0, 7), &noisy(4.0, 8)).unwrap();
        assert_eq!(ratio(), ratio());
    }

    #[test]
    fn zeros_do_not_divide() {
        assert_eq!(Ratio::of(&[1.0], &[0.0]), None);
        assert_eq!(Ratio::of(&[], &[]), None);
        assert!(Ratio::of(&[0.0, 0.0], &[0.0, 0.0]).unwrap().holds_one());
    }

    #[test]
    fn the_geometric_mean_of_two_and_eight_is_four() {
        let of = |over| Ratio::of(&[over; 9], &[1.0; 9]).unwrap();
        let mean = geometric_mean(&[of(2.0), of(8.0)]).unwrap();
        assert!((mean.value - 4.0).abs() < 1e-9 && (mean.low - 4.0).abs() < 1e-9);
        assert_eq!(geometric_mean(&[]), None);
    }
}
