//! The order of rows (`-s`): keys in turn, then file and program name.

use crate::join::JoinedRow;
use crate::row::{Row, Value};
use crate::spec::{SortKey, SortSpec, Variant};
use std::cmp::Ordering;

/// Sorts rows in place; stable.
pub fn sort_rows(rows: &mut [Row], spec: &SortSpec) {
    rows.sort_by(|a, b| {
        let by = |key: &SortKey| {
            let order = match (a.get(key.of.stat), b.get(key.of.stat)) {
                (Value::Number(a), Value::Number(b)) if key.of.absolute => {
                    a.unsigned_abs().cmp(&b.unsigned_abs())
                }
                (a, b) => a.order(b),
            };
            directed(order, key)
        };
        first_difference(&spec.keys, by).then_with(|| a.by_turn(b))
    });
}

/// Sorts compared pairs in place; stable. Pairs without the number asked for come as the smallest.
pub fn sort_joined(rows: &mut [JoinedRow<'_>], spec: &SortSpec) {
    rows.sort_by(|a, b| {
        let by = |key: &SortKey| directed(joined_order(a, b, key), key);
        first_difference(&spec.keys, by).then_with(|| match (a.named(), b.named()) {
            (Some(a), Some(b)) => a.by_key(b),
            _ => Ordering::Equal,
        })
    });
}

fn joined_order(a: &JoinedRow<'_>, b: &JoinedRow<'_>, key: &SortKey) -> Ordering {
    let stat = key.of.stat;
    if stat.is_text() && matches!(key.of.variant, Variant::A | Variant::B) {
        let side = |row: &JoinedRow<'_>| match (stat.is_key(), key.of.variant) {
            (true, _) => row.named().map(|r| text_of(r, key)),
            (false, Variant::B) => row.comp.map(|r| text_of(r, key)),
            (false, _) => row.base.map(|r| text_of(r, key)),
        };
        return side(a).cmp(&side(b));
    }
    let number = |row: &JoinedRow<'_>| row.number(key.of).unwrap_or(f64::NEG_INFINITY);
    number(a).total_cmp(&number(b))
}

fn text_of(row: &Row, key: &SortKey) -> String {
    row.get(key.of.stat).to_string()
}

fn directed(order: Ordering, key: &SortKey) -> Ordering {
    if key.ascending { order } else { order.reverse() }
}

fn first_difference(keys: &[SortKey], by: impl Fn(&SortKey) -> Ordering) -> Ordering {
    keys.iter().map(by).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::join;
    use crate::row::RowVerdict;
    use crate::stat::Stat;

    fn row(prog: &str, insns: i64) -> Row {
        Row::new("a.o", prog, RowVerdict::Success).with(Stat::TotalInsns, insns)
    }

    #[test]
    fn keys_then_names() {
        let mut rows = [row("b", 5), row("a", 5), row("c", 9)];
        sort_rows(&mut rows, &SortSpec::parse("insns").unwrap());
        assert_eq!(rows.each_ref().map(|r| r.prog.as_str()), ["c", "a", "b"]);
    }

    /// Not as text, where 10 is before 9.
    #[test]
    fn a_sweep_keeps_its_order() {
        let of = |prog: &str, n: &str, turn| {
            let mut row = row(&format!("{prog} [n={n}]"), 1);
            (row.globals, row.turn) = (vec![("n".into(), n.into())], turn);
            row
        };
        let mut rows = [of("q", "9", 0), of("p", "9", 0), of("q", "10", 1), of("p", "10", 1)];
        sort_rows(&mut rows, &SortSpec::default());
        let names = rows.each_ref().map(|row| row.prog.as_str());
        assert_eq!(names, ["p [n=9]", "p [n=10]", "q [n=9]", "q [n=10]"]);
    }

    #[test]
    fn by_size_of_the_difference() {
        let base = [row("p", 100), row("q", 100), row("r", 100), row("gone", 1)];
        let comp = [row("p", 50), row("q", 110), row("r", 100)];
        let mut joined = join(&base, &comp);
        sort_joined(&mut joined, &SortSpec::parse("|insns_diff|").unwrap());
        let order: Vec<&str> = joined.iter().map(|j| j.base.unwrap().prog.as_str()).collect();
        assert_eq!(order, ["p", "q", "r", "gone"]);
    }
}
