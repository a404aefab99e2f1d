//! Results of `skep-bench poke`.

use crate::poke::control::Control;
use crate::poke::cost::{Cost, Hop};
use crate::poke::estimate::Estimated;
use crate::poke::library::Library;
use crate::poke::off::Off;
use crate::poke::sharing::Counted;
use crate::poke::{Checked, Toggled};
use serde::Serialize;

/// Result of a negative control.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Controlled {
    pub(super) control: Control,
    /// `died of signal 11`, `saw 3 wrong of 9,123 executions`.
    pub(super) outcome: String,
    /// Whether it failed, as it must.
    pub(super) has_failed: bool,
}

/// All results.
#[derive(Default, Serialize)]
pub(super) struct Answer {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) toggles: Vec<Toggled>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) library: Vec<Library>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) off: Vec<Off>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) costs: Vec<Cost>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) hops: Vec<Hop>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) estimates: Vec<Estimated>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) sharing: Vec<Counted>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) controls: Vec<Controlled>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) checked: Vec<Checked>,
}

impl Answer {
    /// Whether any check failed.
    pub(super) fn is_wrong(&self) -> bool {
        let toggled =
            |row: &Toggled| row.seen.wrong > 0 || (row.mechanism.is_bound() && row.seen.late > 0);
        self.toggles.iter().any(toggled)
            || self.library.iter().any(Library::is_wrong)
            || self.costs.iter().any(|row| row.runs != row.run_cnt)
            || self.controls.iter().any(|row| !row.has_failed)
            || self.checked.iter().any(|row| row.seen.wrong + row.seen.late > 0)
    }
}
