//! What the renderers show of a run.

use std::sync::LazyLock;

use tare_record::plan::Plan;
use tare_record::record::TrialStatus;
use tare_record::view::View;
use tare_report::terminal::{Colour, Screen, terminal};

use crate::fixture::SampleRun;
use crate::{in_memory, view_of};

/// A run with something of everything, and the same figures on every machine.
fn sample() -> View {
    static SAMPLE: LazyLock<View> = LazyLock::new(measured);
    SAMPLE.clone()
}

fn measured() -> View {
    let run = SampleRun::sidecar().edit(|record, _| {
        if record.trial == 17 {
            record.status = TrialStatus::Unfit {
                reasons: vec!["only 989 of 1000 intended starts were released".into()],
            };
        }
    });
    view_of(&run)
}

fn plain(width: u16) -> Screen {
    Screen {
        width,
        colour: Colour::Off,
    }
}

#[test]
fn a_terminal_of_80_columns_shows_everything_within_them() {
    let text = terminal(&sample(), plain(80));
    for line in text.lines() {
        assert!(
            line.chars().count() <= 80,
            "{} columns: {line}",
            line.chars().count()
        );
    }
    insta::assert_snapshot!("terminal-80", text);
}

#[test]
fn a_terminal_of_120_columns_shows_everything_within_them() {
    let text = terminal(&sample(), plain(120));
    for line in text.lines() {
        assert!(
            line.chars().count() <= 120,
            "{} columns: {line}",
            line.chars().count()
        );
    }
    insta::assert_snapshot!("terminal-120", text);
}

#[test]
fn a_provisional_table_is_labelled_so() {
    let view = view_of(&SampleRun {
        blocks: 1,
        ..SampleRun::sidecar()
    });
    let text = terminal(&view, plain(100));
    assert!(text.contains("PROVISIONAL: fewer than 3 blocks"));
    assert!(text.contains("2000/s (provisional)"));
    insta::assert_snapshot!("terminal-provisional", text);
}

#[test]
fn colour_changes_nothing_but_colour() {
    let view = sample();
    let coloured = terminal(
        &view,
        Screen {
            width: 120,
            colour: Colour::On,
        },
    );
    assert!(coloured.contains("\u{1b}["));
    let mut stripped = String::new();
    let mut inside = false;
    for c in coloured.chars() {
        match (inside, c) {
            (false, '\u{1b}') => inside = true,
            (true, 'm') => inside = false,
            (false, c) => stripped.push(c),
            (true, _) => {}
        }
    }
    let trimmed = |text: &str| {
        text.lines()
            .map(|l| l.trim_end().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(trimmed(&stripped), trimmed(&terminal(&view, plain(120))));
    assert!(!terminal(&view, plain(120)).contains('\u{1b}'));
}

#[test]
fn every_width_from_60_to_200_is_kept() {
    let view = sample();
    for width in (60..=200).step_by(7) {
        let widest = terminal(&view, plain(width))
            .lines()
            .max_by_key(|l| l.chars().count())
            .unwrap()
            .to_string();
        assert!(
            widest.chars().count() <= usize::from(width),
            "on {width}: {widest}"
        );
    }
}

#[test]
fn markdown_reads_verdict_first() {
    let text = tare_report::markdown::markdown(&sample());
    assert!(text.find("Both sidecars with mTLS").unwrap() < text.find("| arm |").unwrap());
    insta::assert_snapshot!("markdown", text);
}

#[test]
fn csv_has_one_value_a_line() {
    let view = sample();
    let text = tare_report::csv::csv(&view);
    let values = view
        .levels
        .iter()
        .flat_map(|l| &l.cells)
        .flat_map(|c| &c.figures);
    let known: usize = values.map(|f| f.by_block.iter().flatten().count()).sum();
    let host = view.tables.iter().filter(|table| table.id == "host-usage");
    let rows = host.flat_map(|table| &table.rows);
    let machine: usize = rows
        .map(|row| row.cells[1..].iter().filter(|c| c.text != "–").count())
        .sum();
    assert!(machine > 0);
    let failed: usize = view.levels.iter().map(|level| level.cells.len()).sum();
    assert_eq!(text.lines().count(), known + failed + machine + 1);
    let head: String = text
        .lines()
        .take(40)
        .map(|line| format!("{line}\n"))
        .collect();
    insta::assert_snapshot!("csv-head", head);
}

#[test]
fn json_reads_back_as_the_same_view() {
    let view = sample();
    let back: View = serde_json::from_str(&tare_report::json(&view).unwrap()).unwrap();
    assert!(back == view);
}

#[test]
fn the_page_holds_the_whole_view_and_no_address_to_load_from() {
    let view = sample();
    let page = tare_report::html::html(&view).unwrap();
    let start = page.find("id=\"tare-view\"").unwrap();
    let data = &page[start..];
    let data = &data[data.find('>').unwrap() + 1..data.find("</script>").unwrap()];
    let back: View = serde_json::from_str(data).unwrap();
    assert!(back == view);
    for loading in ["src=\"http", "href=\"http", "@import", "src=\"//"] {
        assert!(!page.contains(loading), "{loading}");
    }
}

#[test]
fn the_plan_is_shown_whole_as_yaml() {
    let place = in_memory();
    let folder = SampleRun::sidecar().write(place.path()).unwrap();
    let run = tare_report::read(&folder).unwrap();
    let view = tare_report::view(&run);
    let back: Plan = serde_saphyr::from_str(&view.plan_text).unwrap();
    assert_eq!(back, run.plan);
}
