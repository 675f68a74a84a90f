//! The table of failures: a row per comparison in which they affect a verdict.

use tare_schema::view::{FailedShare, View};

use super::{Grid, MISSING};

/// Every comparison with too many failures, or significantly more on one side.
pub fn failures(view: &View) -> Grid {
    let heads = [
        "level",
        "arm",
        "against",
        "failed",
        "there",
        "difference",
        "no verdict on",
    ];
    let mut grid = Grid::new(&heads, 3);
    for one in &view.failures {
        let against = match one.against_level == one.level {
            true => &one.against,
            false => &one.against_level,
        };
        let metrics: Vec<&str> = one.no_verdict.iter().map(|metric| metric.label()).collect();
        grid.rows.push(vec![
            one.level.clone(),
            one.arm.clone(),
            against.clone(),
            share(&one.failed),
            share(&one.against_failed),
            one.difference_text.clone(),
            match metrics.is_empty() {
                true => MISSING.into(),
                false => metrics.join(", "),
            },
        ]);
    }
    grid
}

fn share(failed: &FailedShare) -> String {
    match failed.classes.as_str() {
        "" => failed.text.clone(),
        classes => format!("{} ({classes})", failed.text),
    }
}
