//! All compute programs by family: how much slower than native code each is, worst first, and the
//! means of both halves.

use super::cells::{grid, interval, ns, ratio};
use crate::command::flags::RunFlags;
use crate::run::compute::{Computed, Others};
use crate::run::engines::Timed;
use crate::run::families::{Half, Member};
use crate::run::native::Clang;
use crate::run::peer::Peer;
use crate::{Ratio, geometric_mean};
use serde::Serialize;
use skep_cli::Error;

/// Engines, by index.
pub(super) const NATIVE: usize = 0;
pub(super) const SKEP: usize = 1;
const VECTORS: usize = 2;

/// One program.
#[derive(Serialize)]
pub(super) struct Row {
    family: &'static str,
    held: bool,
    /// Held out: not shown, but part of the mean.
    #[serde(skip)]
    hidden: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    computed: Option<Computed>,
    #[serde(skip)]
    sides: Computed,
}

impl Row {
    pub(super) fn new(member: &Member, sides: Computed, show_held: bool) -> Row {
        let held = member.half == Half::Held;
        let hidden = held && !show_held;
        let computed = (!hidden).then(|| sides.clone());
        Row { family: member.family, held, hidden, computed, sides }
    }

    fn over(&self, of: usize, to: usize) -> Option<Ratio> {
        self.sides.engines.get(of)?.over(self.sides.engines.get(to)?)
    }

    /// skep's ratio to native code.
    fn behind(&self) -> f64 {
        self.over(SKEP, NATIVE).map_or(0.0, |ratio| ratio.value)
    }

    /// Engines other than native code that are measurably faster than skep.
    fn faster(&self) -> impl Iterator<Item = &Timed> {
        let skep = &self.sides.engines[SKEP];
        let is_faster = |engine: &&Timed| skep.over(engine).is_some_and(|ratio| ratio.low > 1.0);
        self.sides.engines[VECTORS + 1..].iter().filter(is_faster)
    }
}

/// Native code without vectors, with them, and all the others.
pub(super) fn others(flags: &RunFlags) -> Result<Others, Error> {
    let clang = Clang::or_cc();
    let plain = clang.as_ref().map_or("-O2", Clang::without_vectors).to_owned();
    Ok(Others {
        clang,
        natives: vec![("native, no vectors", plain), ("native", flags.native_flags.clone())],
        peers: flags.peer.iter().map(|text| Peer::start(text)).collect::<Result<_, _>>()?,
        kernel: !flags.no_kernel,
    })
}

/// The table of programs, the table of means, and the engines faster than skep.
pub(super) fn print(rows: &[Row]) -> Vec<String> {
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by(|a, b| b.behind().total_cmp(&a.behind()));
    let engines: Vec<&str> = rows[0].sides.engines.iter().map(|e| &*e.engine).collect();
    vec![each(&rows, &engines), sums(&rows, &engines), faster(&rows), compile_time(&rows)]
}

fn each(rows: &[&Row], engines: &[&str]) -> String {
    let mut headings = vec!["ns per run".to_owned(), "family".to_owned()];
    headings.extend(["native, no vectors", "skep", "ratio"].map(str::to_owned));
    headings.extend(engines[VECTORS..].iter().map(|engine| format!("{engine}, ratio")));
    headings.push("compile time, us".to_owned());
    let mut table = grid(&headings);
    for row in rows.iter().filter(|row| !row.hidden) {
        let of = |at: usize| ns(row.sides.engines[at].median());
        let mut cells = vec![row.sides.program.to_owned(), row.family.to_owned()];
        cells.extend([of(NATIVE), of(SKEP), ratio(row.over(SKEP, NATIVE).as_ref())]);
        let others = VECTORS..engines.len();
        cells.extend(others.map(|at| ratio(row.over(at, NATIVE).as_ref())));
        cells.push(ns(Some(row.sides.compile_us)));
        table.row(cells);
    }
    table.to_string()
}

/// Geometric means, against native code without vectors and with them.
fn sums(rows: &[&Row], engines: &[&str]) -> String {
    let mut headings = vec!["geometric mean of".to_owned(), "programs".to_owned()];
    headings.extend(["skep, no vectors", "95 % interval", "skep, vectors"].map(str::to_owned));
    headings.extend(engines[VECTORS + 1..].iter().map(|engine| format!("{engine}, no vectors")));
    let mut table = grid(&headings);
    let halves = [("those tuned with", Some(false)), ("those held", Some(true)), ("all", None)];
    for (name, held) in halves {
        let is_in = |row: &&&Row| held.is_none_or(|held| row.held == held);
        let rows: Vec<&&Row> = rows.iter().filter(is_in).collect();
        let mean = |of, to| {
            let ratios = rows.iter().filter_map(|row| row.over(of, to));
            geometric_mean(&ratios.collect::<Vec<_>>())
        };
        let skep = mean(SKEP, NATIVE);
        let mut cells = vec![name.to_owned(), rows.len().to_string()];
        cells.extend([ratio(skep.as_ref()), interval(skep.as_ref())]);
        cells.push(ratio(mean(SKEP, VECTORS).as_ref()));
        let rest = VECTORS + 1..engines.len();
        cells.extend(rest.map(|at| ratio(mean(at, NATIVE).as_ref())));
        table.row(cells);
    }
    table.to_string()
}

fn faster(rows: &[&Row]) -> String {
    let shown = |row: &&Row| {
        let engines: Vec<&str> = row.faster().map(|engine| &*engine.engine).collect();
        format!("{} on {}", engines.join(" and "), row.sides.program)
    };
    let all = || rows.iter().copied().filter(|row| row.faster().next().is_some());
    let hidden = all().filter(|row| row.hidden).count();
    let mut parts: Vec<String> = all().filter(|row| !row.hidden).map(|row| shown(&row)).collect();
    if hidden > 0 {
        parts.push(format!("another engine on {hidden} of those held"));
    }
    match parts.is_empty() {
        true => "On no program is skep measurably slower than another engine.".to_owned(),
        false => format!("skep is measurably slower than: {}.", parts.join("; ")),
    }
}

fn compile_time(rows: &[&Row]) -> String {
    let mut times: Vec<f64> = rows.iter().map(|row| row.sides.compile_us).collect();
    times.sort_by(f64::total_cmp);
    let median = ns(Some(times[times.len() / 2]));
    format!("Compile time of skep, all passes: median {median} us.")
}
