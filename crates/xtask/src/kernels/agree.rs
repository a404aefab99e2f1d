//! How far skep agrees with other kernels, according to the committed tables: no kernel is booted.
//!
//! A kernel's BTF is not committed: it is in the folder of answers. Programs are verified with the
//! kernel's own rules as far as `uapi::BEHAVIOURS` contains them, so this measures what is not
//! modelled. Of a release between tested ones the rules of all of these are tried, and must agree.

use super::folder::{ANSWERS, answered};
use crate::answers::{self, LOGGED_INSNS_MAX};
use crate::kernel_diff::{
    Class, Entry, OTHER_INSNS, OTHER_STATES, Pool, Row, read_baseline, shape, worse_than,
    write_baseline,
};
use crate::objects;
use crate::outcome::Ended;
use crate::packed;
use serde::Serialize;
use serde::de::DeserializeOwned;
use skep::kernel::ASKED;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Object files, and folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Folder of answers: `RELEASE/facts` of each kernel.
    #[arg(long)]
    out: PathBuf,
    /// Compare with `RELEASE/answers.csv` of that folder instead, which `kernels ask` wrote:
    /// kernels and objects that have no table.
    #[arg(long, conflicts_with = "write")]
    answers: bool,
    /// Only this kernel.
    #[arg(long, value_name = "RELEASE")]
    kernel: Vec<String>,
    /// Record the agreement.
    #[arg(long)]
    write: bool,
    /// Log level for the comparison of walks: 0 counts and messages only.
    #[arg(long, short, default_value_t = 2)]
    level: u32,
    /// Number of processes.
    #[arg(long, short, default_value_t = 2)]
    jobs: usize,
    /// Number of differences shown for each kernel.
    #[arg(long, default_value_t = 12)]
    shown: usize,
    /// Write all rows of each kernel into this folder.
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Write our logs of programs that differ to this folder, by release.
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
}

/// Both refuse with the same message.
pub(super) const OTHER_INSNS_REFUSED: &str = "other insns, and the same message";

/// Suffix of the tables' file names, after the release.
pub(super) const END: &str = ".csv.gz";
const BASELINE: &str = ".baseline";
const BASELINE_END: &str = ".baseline.csv.gz";

/// Folder of tables and baselines.
pub(super) fn folder() -> PathBuf {
    crate::root().join("tests/kernels/asked")
}

/// The rows of a kernel's table, whose file name is the release plus `end`.
pub(super) fn read_rows<R: DeserializeOwned>(
    release: &str,
    end: &str,
) -> Result<Vec<R>, Box<dyn Error>> {
    let text = packed::read(&folder().join(format!("{release}{end}")))?;
    let mut csv = csv::Reader::from_reader(text.as_bytes());
    Ok(csv.deserialize().collect::<Result<_, _>>()?)
}

/// Writes a table for [`read_rows`].
pub(super) fn write_rows<R: Serialize>(
    release: &str,
    end: &str,
    rows: &[R],
) -> Result<(), Box<dyn Error>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| csv.serialize(row))?;
    fs::create_dir_all(folder())?;
    Ok(packed::write(&folder().join(format!("{release}{end}")), &csv.into_inner()?)?)
}

/// Its name, `6.12` of `6.12.117+deb12-cloud-amd64`.
pub(super) fn short(release: &str) -> &str {
    ASKED.iter().find(|(_, it)| *it == release).map_or(release, |(name, _)| name)
}

/// The releases with a table, oldest first.
pub(super) fn releases() -> Vec<String> {
    releases_with(END).into_iter().filter(|name| !name.ends_with(BASELINE)).collect()
}

/// The releases with a file whose name is the release plus `end`.
pub(super) fn releases_with(end: &str) -> Vec<String> {
    let names = fs::read_dir(folder()).into_iter().flatten().filter_map(Result::ok);
    let mut releases: Vec<String> = names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(end)?.to_owned()))
        .collect();
    let place = |release: &String| ASKED.iter().position(|(_, it)| release.starts_with(it));
    releases.sort_by_key(place);
    releases
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let wanted = |release: &String| args.kernel.is_empty() || args.kernel.contains(release);
    let files = objects::find(&args.paths)?;
    let mut worse = Vec::new();
    let (mut asked, mut absent) = (0, Vec::new());
    let releases = if args.answers { answered(&args.out)? } else { releases() };
    for release in releases.into_iter().filter(wanted) {
        let facts = args.out.join(&release).join("facts");
        if !facts.exists() {
            absent.push(release);
            continue;
        }
        asked += 1;
        let table = match args.answers {
            true => args.out.join(&release).join(ANSWERS),
            false => folder().join(format!("{release}{END}")),
        };
        let rows = rows(args, &release, &table, &files)?;
        let crashed = rows.iter().filter(|row| row.class == Class::Bug);
        worse.extend(crashed.map(|row| format!("{release}: {}", row.line())));
        let baseline = folder().join(format!("{release}{BASELINE_END}"));
        if args.answers {
            // No record of them.
        } else if args.write {
            write_baseline(&baseline, &rows)?;
        } else if baseline.exists() {
            worse.extend(
                worse_than(&baseline, &rows, LOGGED_INSNS_MAX)?
                    .iter()
                    .map(|w| format!("{release}: {w}")),
            );
        }
        if let Some(dir) = &args.csv {
            fs::create_dir_all(dir)?;
            let mut csv = csv::Writer::from_path(dir.join(format!("{release}.rows.csv")))?;
            rows.iter().try_for_each(|row| csv.serialize(row))?;
        }
        let entries: Vec<Entry> = rows.iter().map(Row::entry).collect();
        println!("{}", Agreement::of(&release, &table, &entries)?.text(args.shown));
    }
    worse.iter().for_each(|line| println!("worse: {line}"));
    match (asked, absent.is_empty()) {
        (0, _) => Ok(Ended::Skipped(format!("no facts in {}", args.out.display()))),
        (_, false) => {
            println!("without facts: {}", absent.join(" "));
            Ok(worse.is_empty().into())
        }
        _ => Ok(worse.is_empty().into()),
    }
}

fn rows(
    args: &Args,
    release: &str,
    table: &Path,
    files: &[PathBuf],
) -> Result<Vec<Row>, Box<dyn Error>> {
    let facts = args.out.join(release).join("facts");
    let mut worker_args = vec![
        "kernel-diff-worker".to_owned(),
        format!("--level={}", args.level),
        format!("--logged-insns={LOGGED_INSNS_MAX}"),
        format!("--against={}", table.display()),
        format!("--kernel={}", facts.display()),
    ];
    if let Some(logs) = args.logs.as_ref().map(|dir| dir.join(release)) {
        fs::create_dir_all(&logs)?;
        worker_args.push(format!("--logs={}", logs.display()));
    }
    let timeout = Duration::from_secs(120);
    Ok(Pool { files, jobs: args.jobs.max(1), timeout, worker_args }.run()?)
}

/// A share in percent, as [`skep::kernel::Agreement::percent`]: 100 only if it is the whole.
pub(crate) fn percent(part: u64, whole: u64, decimals: u8) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    let most = 100.0 - 0.1_f64.powi(decimals.into());
    let share = if part == whole { share } else { share.min(most) };
    format!("{share:.*}", decimals.into())
}

/// Agreement with one kernel.
#[derive(Debug, Default)]
pub(crate) struct Agreement {
    pub(crate) release: String,
    /// All programs, those that the kernel's verifier judged, and those that it accepts.
    pub(crate) programs: usize,
    pub(crate) judged: usize,
    pub(crate) accepted: usize,
    /// Programs with the same verdict; of those accepted by both, those with the same number of
    /// insns; of those refused by both, those with the same message.
    pub(crate) verdict: usize,
    pub(crate) both_accept: usize,
    pub(crate) insns: usize,
    pub(crate) both_refuse: usize,
    pub(crate) message: usize,
    /// Accepted although the kernel refuses, the reverse, and undecided.
    pub(crate) classes: BTreeMap<Class, usize>,
    /// Differences without numbers, with their counts: class and reason.
    pub(crate) differences: Vec<(usize, Class, String)>,
}

/// Agreement with every kernel that has a baseline.
pub(crate) fn agreements() -> Result<Vec<Agreement>, Box<dyn Error>> {
    let mut all = Vec::new();
    for release in releases() {
        let path = folder().join(format!("{release}{BASELINE_END}"));
        if path.exists() {
            let table = folder().join(format!("{release}{END}"));
            all.push(Agreement::of(&release, &table, &read_baseline(&path)?)?);
        }
    }
    Ok(all)
}

impl Agreement {
    fn of(release: &str, table: &Path, entries: &[Entry]) -> Result<Agreement, Box<dyn Error>> {
        let table = answers::read(table)?;
        let mut it = Agreement { release: release.to_owned(), ..Agreement::default() };
        let mut differences: BTreeMap<(Class, String), usize> = BTreeMap::new();
        for entry in entries {
            let key = (entry.object.clone(), entry.program.clone());
            let Some(answer) = table.get(&key) else { continue };
            it.programs += 1;
            *it.classes.entry(entry.class).or_default() += 1;
            if answer.is_judged() {
                it.add(entry, answer.verdict == "accepted");
            }
            if answer.is_judged() && entry.class.rank() < Class::Counts.rank() {
                let same_words = answer.verdict != "accepted" && entry.reason == OTHER_INSNS;
                let reason = if same_words { OTHER_INSNS_REFUSED } else { &entry.reason };
                *differences.entry((entry.class, shape(reason))).or_default() += 1;
            }
        }
        it.differences = differences.into_iter().map(|((class, why), n)| (n, class, why)).collect();
        it.differences.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (a.1, &a.2).cmp(&(b.1, &b.2))));
        Ok(it)
    }

    fn add(&mut self, entry: &Entry, accepted: bool) {
        self.judged += 1;
        self.accepted += usize::from(accepted);
        let agrees = usize::from(entry.class.rank() > 0);
        self.verdict += agrees;
        let counts = entry.class.rank() >= Class::Counts.rank();
        if accepted {
            self.both_accept += agrees;
            self.insns += usize::from(counts || entry.reason == OTHER_STATES) * agrees;
        } else {
            self.both_refuse += agrees;
            let says = entry.reason.starts_with("says: ");
            self.message += agrees * usize::from(!says);
        }
    }

    pub(crate) fn count(&self, class: Class) -> usize {
        self.classes.get(&class).copied().unwrap_or(0)
    }

    /// The cells of a table row, under [`Agreement::COLUMNS`].
    pub(crate) fn cells(&self) -> [String; 9] {
        let share = |part: usize, whole: usize| {
            format!("{part} ({} %)", percent(part as u64, whole as u64, 1))
        };
        [
            self.release.clone(),
            self.programs.to_string(),
            self.judged.to_string(),
            self.accepted.to_string(),
            share(self.verdict, self.judged),
            share(self.insns, self.both_accept),
            share(self.message, self.both_refuse),
            self.count(Class::FalseAccept).to_string(),
            self.count(Class::FalseReject).to_string(),
        ]
    }

    pub(crate) const COLUMNS: [&str; 9] = [
        "kernel",
        "programs",
        "judged",
        "accepted",
        "same verdict",
        "same insns, of both accepted",
        "same message, of both refused",
        "false accepts",
        "false rejects",
    ];

    /// The row as text, then the most frequent differences.
    fn text(&self, shown: usize) -> String {
        let mut text = String::new();
        for (name, cell) in Agreement::COLUMNS.iter().zip(self.cells()) {
            let _ = write!(text, "{name} {cell}; ");
        }
        for (n, class, why) in self.differences.iter().take(shown) {
            let _ = write!(text, "\n{n:>6}  {:<12} {why}", class.name());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_100_percent_only_if_it_is_the_whole() {
        assert_eq!(percent(4873, 4873, 1), "100.0");
        assert_eq!(percent(4871, 4873, 1), "99.9");
        assert_eq!(percent(39_999, 40_000, 2), "99.99");
        assert_eq!(percent(39_000, 40_000, 2), "97.50");
        assert_eq!(percent(0, 0, 1), "0.0");
    }

    #[test]
    fn a_row_says_100_percent_only_if_all_agree() {
        let it = Agreement { judged: 4873, verdict: 4871, ..Agreement::default() };
        assert_eq!(it.cells()[4], "4871 (99.9 %)");
        let it = Agreement { judged: 4873, verdict: 4873, ..Agreement::default() };
        assert_eq!(it.cells()[4], "4873 (100.0 %)");
    }
}
