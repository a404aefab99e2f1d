//! Repeats what Linux 6.18 answered to BPF_MAP_CREATE (`map_probe.txt`).

use skep_uapi::{MapFlags, MapShape, MapType, map_rule};
use std::collections::HashMap;

fn numbers(words: &[&str]) -> Vec<u32> {
    words.iter().map(|w| w.parse().unwrap()).collect()
}

fn shape(base: &[u32]) -> MapShape {
    MapShape {
        key_size: base[0],
        value_size: base[1],
        max_entries: base[2],
        flags: MapFlags::from_bits_retain(base[3]),
    }
}

fn vary(base: &[u32], what: &str, value: u32) -> MapShape {
    let mut shape = shape(base);
    match what {
        "key" => shape.key_size = value,
        "value" => shape.value_size = value,
        "entries" => shape.max_entries = value,
        _ => shape.flags.toggle(MapFlags::from_bits_retain(1 << value)),
    }
    shape
}

#[test]
fn every_answer_of_the_kernel_is_repeated() {
    let text = include_str!("map_probe.txt");
    let mut tried: HashMap<&str, Vec<u32>> = HashMap::from([("flags", (0..20).collect())]);
    let mut base = Vec::new();
    let mut answers = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["#", "tried", what @ ("key" | "value" | "entries"), ..] => {
                tried.insert(what, numbers(&words[3..]));
            }
            ["#", ..] => {}
            [_, "base", ..] => base = numbers(&words[2..]),
            [name, what, ..] => {
                let rule = map_rule(MapType::from_name(name).unwrap()).unwrap();
                let yes = numbers(&words[2..]);
                for value in &tried[what] {
                    let ours = rule.check(&vary(&base, what, *value));
                    assert_eq!(ours.is_ok(), yes.contains(value), "{name} {what} {value} {ours:?}");
                    answers += 1;
                }
            }
            _ => unreachable!("{line}"),
        }
    }
    assert!(answers > 2500, "{answers}");
}
