//! `-o`, `--color` and `--html`, shared by all commands.

use clap::{Args, ValueEnum};
use skep_report::{JsonForm, Style};
use std::path::PathBuf;

/// HTML output in addition to what is printed.
#[derive(Debug, Clone, Default, Args)]
pub struct HtmlFlag {
    /// Also write the results as a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Formats of commands that print text or JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// Human-readable text.
    #[default]
    Text,
    /// JSON, as with --pretty.
    Json,
}

/// `-o` of commands that print text or JSON.
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
    /// The JSON layout selected by `-o json`, `--json` or `--pretty`, if any.
    pub(crate) fn json_form(self, json: bool, pretty: bool) -> Option<JsonForm> {
        match (self, json, pretty) {
            (TextFormat::Json, _, _) | (_, _, true) => Some(JsonForm::Pretty),
            (_, true, false) => Some(JsonForm::Line),
            (TextFormat::Text, false, false) => None,
        }
    }
}

/// When to colour results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorFlag {
    /// If standard output is a terminal and NO_COLOR is not set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorFlag {
    /// The style of results; `found` for `auto`.
    pub(crate) fn style(self, found: Style) -> Style {
        match self {
            ColorFlag::Auto => found,
            ColorFlag::Always => Style::Coloured,
            ColorFlag::Never => Style::Plain,
        }
    }
}
