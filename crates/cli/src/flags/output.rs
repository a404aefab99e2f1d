//! `-o`, `--color` and `--html`, which are the same everywhere.

use clap::{Args, ValueEnum};
use skep_report::{JsonForm, Style};
use std::path::PathBuf;

/// A page beside what is printed.
#[derive(Debug, Clone, Default, Args)]
pub struct HtmlFlag {
    /// Also write the results as a page for a browser: one file, which needs no other
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Formats of commands that have text or JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// For people.
    #[default]
    Text,
    /// What --pretty prints.
    Json,
}

/// `-o` of commands that have text or JSON.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct FormatFlag {
    /// Output format
    #[arg(short, long, value_name = "FMT", value_enum, default_value_t)]
    pub output_format: TextFormat,
}

impl FormatFlag {
    pub(crate) fn is_json(self) -> bool {
        self.output_format == TextFormat::Json
    }
}

impl TextFormat {
    /// How JSON is laid out, if that is wanted: by `-o json`, `--json` or `--pretty`.
    pub(crate) fn json_form(self, json: bool, pretty: bool) -> Option<JsonForm> {
        match (self, json, pretty) {
            (TextFormat::Json, _, _) | (_, _, true) => Some(JsonForm::Pretty),
            (_, true, false) => Some(JsonForm::Line),
            (TextFormat::Text, false, false) => None,
        }
    }
}

/// When results are coloured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorFlag {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorFlag {
    /// The style that results have, which would be `found` where nothing is said.
    pub(crate) fn style(self, found: Style) -> Style {
        match self {
            ColorFlag::Auto => found,
            ColorFlag::Always => Style::Coloured,
            ColorFlag::Never => Style::Plain,
        }
    }
}
