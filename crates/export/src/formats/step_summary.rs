//! Markdown for the summary of a step of GitHub Actions: the report, as `tare report --md` prints it, within the action's limit.

use tare_report::markdown;

use crate::error::ExportError;
use crate::formats::{Format, FormatOptions};
use crate::subject::ExportSubject;

/// Largest summary of a step that GitHub shows; what is larger is not shown at all.
pub const SUMMARY_BYTES_MAX: usize = 1 << 20;
/// Room for the sentence that says what was left out.
const SENTENCE_BYTES: usize = 200;

/// The format.
pub struct StepSummary;

impl Format for StepSummary {
    fn text(&self, subjects: &[ExportSubject], _: FormatOptions) -> Result<String, ExportError> {
        let documents = subjects.iter().map(|subject| {
            let note = subject.note();
            let note = note.map(|note| format!("\n*{}*\n", markdown::escape(&note)));
            markdown::markdown(&subject.view) + &note.unwrap_or_default() + "\n"
        });
        Ok(shortened(documents.collect(), SUMMARY_BYTES_MAX))
    }
}

/// The first sections that fit.
#[must_use]
pub fn shortened(mut text: String, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text;
    }
    let room = text.floor_char_boundary(bytes_max.saturating_sub(SENTENCE_BYTES));
    let end = text[..room].rfind("\n### ").unwrap_or_default();
    text.truncate(end);
    text + "\n\n*Further tables are left out: a summary has at most 1 MiB. `tare report` shows them.*\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_out_by_sections() {
        let section = format!("\n### table ü\n\n{}\n", "| ü |\n".repeat(20));
        let text = format!("## head\n{}", section.repeat(9));
        assert_eq!(shortened(text.clone(), text.len()), text);
        let short = shortened(text.clone(), text.len() - 1);
        assert!(short.len() < text.len() && short.ends_with("shows them.*\n"));
        assert!(short.matches("### table").count() >= 6, "{short}");
        assert!(short.starts_with("## head\n\n### table ü\n"));
    }
}
