//! No file, however broken, makes a panic, a hang or a problem without a place.

use std::sync::LazyLock;

use proptest::prelude::*;
use tare_experiment::catalog::Catalog;
use tare_experiment::resolve::{ResolveOptions, resolve};
use tare_record::plan::Form;

use crate::bench::{catalog, sketch, source};

static CATALOG: LazyLock<Catalog> = LazyLock::new(catalog);
static FILES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let sidecar = crate::bench::repository().join("experiments/istio-performance/sidecar.yaml");
    vec![
        std::fs::read_to_string(sidecar).unwrap(),
        sketch("mongodb.yaml"),
        sketch("replicas.yaml"),
        sketch("everything.yaml"),
    ]
});

/// One change of a text.
#[derive(Debug, Clone)]
enum Change {
    Remove {
        at: prop::sample::Index,
        length: usize,
    },
    Insert {
        at: prop::sample::Index,
        text: String,
    },
    SwapLines {
        first: prop::sample::Index,
        second: prop::sample::Index,
    },
    Repeat {
        line: prop::sample::Index,
    },
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<prop::sample::Index>;
    // Words that mean something here reach further than random letters.
    let words = prop::sample::select(vec![
        "null",
        "[]",
        "{}",
        "-1",
        "0",
        "1e400",
        "18446744073709551616",
        ".nan",
        "~",
        "true",
        "*->*",
        "a->b",
        "&a ",
        "*a",
        "!tag ",
        "---\n",
        "\t",
        "\u{0}",
        "é",
        ": ",
        "- ",
        "5%",
        "-3s",
        "3",
        "load.rate",
        "workload.x",
        "targets.envoy.workers",
        "\"",
        "'",
        "{{",
        "}}",
        "#",
        "|\n",
        ">\n",
        "? ",
        "<<: ",
        "\n\n",
        "  ",
    ]);
    prop_oneof![
        (index(), 1..12_usize).prop_map(|(at, length)| Change::Remove { at, length }),
        (index(), words).prop_map(|(at, text)| Change::Insert {
            at,
            text: text.to_owned()
        }),
        (index(), "\\PC{1,6}").prop_map(|(at, text)| Change::Insert { at, text }),
        (index(), index()).prop_map(|(first, second)| Change::SwapLines { first, second }),
        index().prop_map(|line| Change::Repeat { line }),
    ]
}

fn apply(text: &str, change: &Change) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut lines: Vec<&str> = text.lines().collect();
    match change {
        Change::Remove { at, length } => {
            let at = at.index(chars.len() + 1);
            let end = (at + length).min(chars.len());
            chars[..at].iter().chain(&chars[end..]).collect()
        }
        Change::Insert { at, text } => {
            let at = at.index(chars.len() + 1);
            let mut changed: String = chars[..at].iter().collect();
            changed.push_str(text);
            changed.extend(&chars[at..]);
            changed
        }
        Change::SwapLines { first, second } if !lines.is_empty() => {
            let (first, second) = (first.index(lines.len()), second.index(lines.len()));
            lines.swap(first, second);
            lines.join("\n")
        }
        Change::Repeat { line } if !lines.is_empty() => {
            let line = line.index(lines.len());
            lines.insert(line, lines[line]);
            lines.join("\n")
        }
        _ => text.to_owned(),
    }
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let resolved = resolve(
        &source("case.yaml", text),
        &CATALOG,
        &ResolveOptions::new(Form::Full, vec![0, 1]),
    );
    match resolved {
        Ok(plan) => {
            prop_assert_eq!(plan.cells.len(), plan.arms.len() * plan.levels.len());
            prop_assert!(!plan.cells.is_empty());
        }
        Err(problems) => {
            prop_assert!(!problems.is_empty());
            let lines = text.lines().count() + 1;
            for problem in problems.iter() {
                prop_assert_eq!(&problem.file, "case.yaml");
                prop_assert!(
                    problem.mark.line >= 1 && problem.mark.line <= lines + 1,
                    "{}",
                    problem
                );
                prop_assert!(problem.mark.column >= 1, "{}", problem);
                prop_assert!(!problem.text.is_empty());
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_file_is_a_plan_or_problems_with_places(
        file in 0..4_usize,
        changes in prop::collection::vec(change(), 1..5),
    ) {
        let text = changes.iter().fold(FILES[file].clone(), |text, change| apply(&text, change));
        check(&text)?;
    }

    #[test]
    fn any_text_at_all_is_a_plan_or_problems_with_places(text in "\\PC{0,80}(\n\\PC{0,40}){0,6}") {
        check(&text)?;
    }
}
