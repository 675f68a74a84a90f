//! The tables of published figures: a row per figure, a column per source, and in the form of a published study.

use tare_schema::view::View;

use super::Grid;
use crate::quantity::MISSING;

/// Published and measured figures.
pub fn figures(view: &View) -> Grid {
    let mut grid = Grid::new(
        &[
            "arm",
            "against",
            "level",
            "metric",
            "published",
            "measured",
            "source",
        ],
        4,
    );
    for row in &view.published {
        grid.rows.push(vec![
            row.arm.clone(),
            row.against.clone(),
            row.level.clone().unwrap_or_else(|| MISSING.into()),
            row.metric.label().into(),
            row.published.clone(),
            row.measured.clone(),
            row.source.clone(),
        ]);
    }
    grid
}

/// Mean ± standard deviation by a published study's rule, and the mean over all blocks; empty without such a rule.
pub fn study_summary(view: &View) -> Grid {
    let heads = [
        "level",
        "arm",
        "metric",
        "mean ± sd",
        "blocks",
        "all blocks (95 %)",
    ];
    let mut grid = Grid::new(&heads, 3);
    let mut before = ("", "");
    for row in view.study_summary.iter().flat_map(|all| &all.rows) {
        let name = (row.level.as_str(), row.arm.as_str());
        let (level, arm) = match before {
            same if same == name => ("", ""),
            (level, _) if level == name.0 => ("", name.1),
            _ => name,
        };
        before = name;
        grid.rows.push(vec![
            level.into(),
            arm.into(),
            row.metric.label().into(),
            row.text.clone(),
            format!("{} of {}", row.blocks, row.blocks_all),
            row.measured_text.clone(),
        ]);
    }
    grid
}

/// The rule of [`study_summary`] with the blocks it dropped, as text.
pub fn as_published_rule(view: &View) -> Option<String> {
    let all = view.study_summary.as_ref()?;
    Some(format!("{}. {}", all.rule, all.dropped_text))
}

/// A column per source and per arm of the run; empty if there is only one source.
pub fn columns(view: &View) -> Grid {
    let Some(all) = &view.published_columns else {
        return Grid::default();
    };
    let mut header = vec!["level".to_owned(), "metric".to_owned()];
    header.extend(all.measured.iter().map(|arm| format!("{arm}, measured")));
    header.extend(all.published.iter().cloned());
    let rows = all.rows.iter().map(|row| {
        let mut cells = vec![row.level.clone(), row.metric.label().to_owned()];
        cells.extend(row.measured.iter().chain(&row.published).cloned());
        cells
    });
    Grid {
        header,
        rows: rows.collect(),
        names: 2,
    }
}
