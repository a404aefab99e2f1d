//! Results of `skep-bench run`.

use super::families::Row;
use crate::run::compute::Computed;
use crate::run::coverage::Covered;
use crate::run::maps::Operation;
use crate::run::passes::Pass;
use crate::run::tails::{Chained, Prologues};
use crate::run::whole_object::ProgTimes;
use serde::Serialize;

/// All results; a table that was not requested is absent.
#[derive(Default, Serialize)]
pub(super) struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) compiler: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) compute: Vec<Computed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) families: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) prologues: Vec<Prologues>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) passes: Vec<Pass>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) coverage: Vec<Covered>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tails: Vec<Chained>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) maps: Vec<Operation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) given: Vec<(String, Vec<ProgTimes>)>,
}
