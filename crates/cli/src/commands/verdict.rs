//! The exit code of `tare run` and `tare report`, from the verdicts of a run.

use tare_record::view::{AssertionOutcome, Family, Outcome, View};

use crate::exit::Exit;
use crate::screen::say;

/// What scripts ask for.
#[derive(Debug, clap::Args)]
pub struct VerdictArgs {
    /// Exit with code 1 also when an assertion or a primary comparison is undecided.
    #[arg(long)]
    require_verdict: bool,
}

impl VerdictArgs {
    /// The exit code; prints the reason when it is not 0.
    pub fn exit(&self, view: &View) -> Exit {
        let assertions = |outcome| {
            view.assertions
                .iter()
                .filter(move |one| one.outcome == outcome)
        };
        if let Some(failed) = assertions(AssertionOutcome::Failed).next() {
            say(format_args!(
                "assertion failed: {}: {}",
                failed.text, failed.reason
            ));
            return Exit::Failed;
        }
        if !self.require_verdict {
            return Exit::Done;
        }
        if is_empty(view) {
            say("undecided: no trial counts (--require-verdict)");
            return Exit::Failed;
        }
        let asserted = assertions(AssertionOutcome::Undecided)
            .map(|one| format!("{}: {}", one.text, one.reason));
        let compared = view
            .overheads
            .iter()
            .filter(|one| is_undecided(one))
            .map(|one| {
                let (arm, level, metric) = (&one.arm, &one.level, one.metric.label());
                format!("{metric} of {arm} at {level}")
            });
        match asserted.chain(compared).next() {
            Some(open) => {
                say(format_args!("undecided: {open} (--require-verdict)"));
                Exit::Failed
            }
            None => Exit::Done,
        }
    }
}

/// Whether no trial is fit.
pub fn is_empty(view: &View) -> bool {
    let mut cells = view.levels.iter().flat_map(|level| &level.cells);
    cells.all(|cell| cell.trials_fit == 0)
}

/// Whether a primary comparison has no verdict.
fn is_undecided(overhead: &tare_record::view::Overhead) -> bool {
    overhead.family == Family::Primary
        && matches!(
            overhead.outcome,
            Outcome::Undecided { .. } | Outcome::None { .. }
        )
}
