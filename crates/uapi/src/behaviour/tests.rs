//! The table agrees with itself.

use super::to_run::HARMLESS;
use super::*;
use crate::Neighbour;
use crate::column::COLUMNS;

#[test]
fn every_row_has_a_mark_for_each_kernel() {
    for row in BEHAVIOURS {
        assert_eq!(row.marks.len(), COLUMNS.len(), "{}", row.name);
        let both = row.marks.contains(['+', '~', '?']) && row.marks.contains('.');
        assert!(both && row.marks.bytes().all(|it| b"+.-*~?".contains(&it)), "{}", row.name);
    }
}

#[test]
fn harmless_rules_exist_and_are_kept() {
    for (name, why) in HARMLESS {
        assert!(!why.is_empty(), "{name}");
        let mut rules = Behaviours::reference();
        let was = rules.get(name).unwrap_or_else(|| panic!("no rule {name}"));
        rules.set(name, !was);
        assert_eq!(rules.to_run(), rules, "{name}");
    }
    let mut rules = Behaviours::of_release("6.1.0-56-amd64");
    assert_eq!(rules.to_run().no_kfuncs_at_tracepoints, rules.no_kfuncs_at_tracepoints);
    rules = rules.to_run();
    assert!(rules.callbacks_converge && rules.to_run() == rules);
}

#[test]
fn a_release_between_two_has_the_rules_of_neither() {
    assert_eq!(Behaviours::of_release("6.18.44"), Behaviours::reference());
    assert_eq!(Neighbour::of_release("6.18.44"), []);
    let names = |release| -> Vec<&str> {
        Neighbour::of_release(release).iter().map(|it| it.name).collect()
    };
    assert_eq!(names("5.12.19"), ["later kernels", "5.10.0-30", "5.13"]);
    let between = Neighbour::of_release("5.12.19");
    let kfuncs: Vec<bool> = between.iter().map(|it| it.rules.kfuncs).collect();
    assert_eq!(kfuncs, [true, false, true], "no value of a third kernel");
    let row = BEHAVIOURS.iter().find(|row| row.name == "kfuncs").expect("a row");
    assert_eq!(row.known_on("5.12"), None);
    assert!(!Behaviours::of_release("5.12").ranges_decide_jumps, "neither does so");
    assert_eq!(names("6.18.20"), ["6.18.15", "6.18.44"]);
}

/// Later kernels refuse what the newest one refuses; what it accepts they accept if updates did.
#[test]
fn later_builds_may_have_what_was_mended() {
    let neighbours = Neighbour::of_release("6.16.20");
    let with = |rule: &str| -> Vec<(&str, Option<bool>)> {
        neighbours.iter().map(|it| (it.name, it.rules.get(rule))).collect()
    };
    let [later, tested] = ["later kernels", "6.16.12"];
    assert_eq!(with("workqueues_in_place"), [(later, Some(true)), (tested, Some(false))]);
    assert_eq!(with("elements_know_maps"), [(later, Some(true)), (tested, Some(false))]);
    assert_eq!(with("spilled_zeros_read"), [(later, Some(false)), (tested, Some(false))]);
    assert_eq!(Behaviours::of_release("6.16.20"), Behaviours::of_release("6.16.12+deb13"));
}

#[test]
fn what_is_known_of_a_release_holds_on_all_its_neighbours() {
    let releases = [
        "5.11.3",
        "5.14.0-503.el9.x86_64",
        "5.15.0-1028-aws",
        "6.0",
        "6.1.0-0.deb11.21-amd64",
        "6.4.2",
        "6.5.0-1009-aws",
        "6.6",
        "6.8.0-1010-azure",
        "6.9",
        "6.12.0-55.el10",
        "6.13.4",
        "6.15.4-200.fc42",
        "6.17.0-50-generic",
        "7.0.0-rc3",
    ];
    for release in releases {
        let neighbours = Neighbour::of_release(release);
        assert!(neighbours.len() > 1, "{release}");
        for row in BEHAVIOURS {
            let Some(known) = row.known_on(release) else { continue };
            for it in &neighbours {
                assert_eq!(
                    it.rules.get(row.name),
                    Some(known),
                    "{release} {} {}",
                    it.name,
                    row.name
                );
            }
        }
    }
}

/// Packets move in tail calls from updates of 6.8 and 6.11 on, and up to 6.17.
#[test]
fn what_only_some_later_kernels_refuse_counts() {
    let moved = |release| -> Vec<bool> {
        Neighbour::of_release(release).iter().map(|it| it.rules.tail_calls_move_packets).collect()
    };
    assert_eq!(moved("6.6"), [true, false, false]);
}

#[test]
fn rules_beyond_the_tested_kernels_are_not_known() {
    for release in ["5.4", "4.19.0-1", "7.4.1", "8.0"] {
        assert!(BEHAVIOURS.iter().all(|row| row.known_on(release).is_none()), "{release}");
        assert_eq!(Neighbour::of_release(release), []);
    }
    assert_eq!(Behaviours::of_release("5.4"), Behaviours::of_column(0));
    assert_eq!(Behaviours::of_release("8.0"), Behaviours::newest());
    let known = |release| BEHAVIOURS.iter().all(|row| row.known_on(release).is_some());
    assert!(known("6.12.117-generic") && known("7.3.4+deb13") && known("7.3.9"));
    assert!(!known("6.12.118-generic"), "what was mended later may be mended in it, too");
}

#[test]
fn a_rule_tells_since_when_it_holds() {
    let row = |name: &str| BEHAVIOURS.iter().find(|row| row.name == name).expect("a row");
    let early = Some(["6.2.0-39", "6.5.0-45"]);
    let exact = Some(["6.5.0-45", "6.8.0-31"]);
    assert_eq!(row("jumps_trim_edges").changed_after("5.10.0-46-cloud-amd64", false), exact);
    assert_eq!(row("jumps_trim_edges").changed_after("6.6", false), None, "6.8 has it");
    assert_eq!(row("tracing_sleeps").changed_after("6.1.0-56-cloud-amd64", true), early);
}

/// Rules are quoted one at a time.
#[test]
fn no_rule_refers_to_the_one_before_it() {
    for row in BEHAVIOURS {
        let refers = ["The same for", "That ", "It "].iter().any(|it| row.text.starts_with(it));
        assert!(!refers && !row.text.contains(" such a"), "{}: {}", row.name, row.text);
    }
}
