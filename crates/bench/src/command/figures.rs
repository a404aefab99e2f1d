//! Numbers as text, with their significant digits only.

use crate::{Centre, MetricDef, Ratio, Spread, Unit};
use indicatif::{HumanCount, HumanFloatCount};

/// In place of a value that was not counted.
pub(super) const NOT_COUNTED: &str = "not counted here";
/// In place of a ratio whose interval contains 1.
const NO_DIFFERENCE: &str = "no measurable difference";

/// `12,345`.
pub(super) fn count(count: u64) -> String {
    HumanCount(count).to_string()
}

/// A value of a metric: whole numbers from 100 up, three digits below.
pub(super) fn value(value: f64, unit: Unit) -> String {
    let value = if unit == Unit::Bytes { value / 1024.0 } else { value };
    let decimals = if value.abs() >= 100.0 || value == 0.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    let scale = 10f64.powi(decimals);
    HumanFloatCount((value * scale).round() / scale).to_string()
}

/// A metric's name with its unit, and the statistic shown for it.
pub(super) fn metric(def: &MetricDef) -> String {
    let unit = match def.unit {
        Unit::Micros => ", us",
        Unit::Bytes => ", KiB",
        Unit::Count => "",
    };
    let mean = if def.centre == Centre::Mean { " (mean)" } else { "" };
    format!("{}{unit}{mean}", def.name)
}

/// `median ±half the interquartile range`, or the mean alone.
pub(super) fn spread(spread: &Spread, def: &MetricDef) -> String {
    let centre = value(spread.centre(def.centre), def.unit);
    let half = (spread.upper_quartile - spread.lower_quartile) / 2.0;
    match def.centre {
        Centre::Median => format!("{centre} ±{}", value(half, def.unit)),
        Centre::Mean => centre,
    }
}

/// `1.234`.
pub(super) fn ratio(ratio: f64) -> String {
    if ratio >= 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.3}") }
}

/// `1.021 to 1.034`.
pub(super) fn interval(of: &Ratio) -> String {
    format!("{} to {}", ratio(of.low), ratio(of.high))
}

/// `-3.1 %`, or that there is no measurable difference.
pub(super) fn conclusion(ratio: &Ratio) -> String {
    match ratio.holds_one() {
        true => NO_DIFFERENCE.to_owned(),
        false => format!("{:+.1} %", (ratio.value - 1.0) * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_mean_something() {
        assert_eq!(value(1_234_567.8, Unit::Micros), "1,234,568");
        assert_eq!(value(12.345, Unit::Micros), "12.3");
        assert_eq!(value(1.234, Unit::Count), "1.23");
        assert_eq!(value(0.0, Unit::Count), "0");
        assert_eq!(value(2048.0 * 1024.0, Unit::Bytes), "2,048");
    }

    #[test]
    fn a_ratio_whose_interval_holds_one_is_no_difference() {
        let same = Ratio::of(&[1.0, 2.0, 3.0], &[3.0, 1.0, 2.0]).unwrap();
        assert_eq!(conclusion(&same), NO_DIFFERENCE);
        let half = Ratio::of(&[5.0; 9], &[10.0; 9]).unwrap();
        assert_eq!(conclusion(&half), "-50.0 %");
        assert_eq!(interval(&half), "0.500 to 0.500");
    }
}
