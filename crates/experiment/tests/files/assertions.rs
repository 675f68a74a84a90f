//! What an experiment claims of its result: how it is read, and what is said of what cannot be.

use tare_record::metric::Metric;
use tare_record::plan::{Assertion, AssertionSubject, Comparator, Form};

use crate::bench::{plan, resolved};

/// An experiment with these assertions, and a quick form that leaves an arm and a level out.
fn with(assertions: &[&str]) -> String {
    let quoted: Vec<String> = assertions.iter().map(|text| format!("{text:?}")).collect();
    format!(
        "question: What does it cost?\nworkload: echo\narms:\n  - name: direct\n  - name: one\n    sidecars: {{on: [client], proxy: \
         envoy}}\n  - name: both\n    sidecars: {{on: all, proxy: envoy}}\nload: {{duration: 3s}}\nfactors: {{load.rate: [400, 2000]}}\nassert: \
         [{}]\nquick: {{arms: [direct, both], factors: {{load.rate: [2000]}}}}\n",
        quoted.join(", ")
    )
}

fn read(text: &str) -> Assertion {
    let plan = resolved(&with(&[text]), Form::Full);
    plan.assertions[0].clone()
}

fn refused(text: &str) -> String {
    match plan(&with(&[text]), Form::Full) {
        Ok(_) => panic!("{text} is taken"),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn an_assertion_reads_as_it_is_written() {
    let added = read("both: p99 adds < 2ms at 2000/s");
    assert_eq!(added.arm.as_deref(), Some("both"));
    assert_eq!(added.level.as_deref(), Some("2000/s"));
    assert_eq!(added.of, AssertionSubject::Added(Metric::P99));
    assert_eq!((added.comparison, added.limit), (Comparator::Below, 2e6));
    let share = read("cpu adds <= 10%");
    assert_eq!((share.arm, share.level), (None, None));
    assert_eq!(share.of, AssertionSubject::AddedShare(Metric::Cpu));
    assert_eq!((share.comparison, share.limit), (Comparator::AtMost, 0.1));
    let value = read("one: p99 < 5ms at 400/s");
    assert_eq!(
        (value.of, value.limit),
        (AssertionSubject::Value(Metric::P99), 5e6)
    );
    let errors = read("errors < 0.1%");
    assert_eq!((errors.of, errors.limit), (AssertionSubject::Errors, 0.001));
    assert_eq!(read("throughput >= 1900/s").limit, 1900.0);
    assert_eq!(read("throughput adds > -5%").limit, -0.05);
    assert_eq!(read("median adds > -20us").limit, -20_000.0);
    assert_eq!(read("memory < 60MB").limit, 60e6);
    assert_eq!(read("cpu < 0.4").limit, 0.4);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place_and_the_nearest_word() {
    assert_eq!(
        refused("p98 < 5ms"),
        "case.yaml:11:10: unknown metric \"p98\": did you mean \"p99\"?"
    );
    assert_eq!(
        refused("bth: p99 adds < 5ms"),
        "case.yaml:11:10: unknown arm \"bth\": did you mean \"both\"?"
    );
    let level = refused("both: p99 < 5ms at 200/s");
    assert!(
        level.contains("unknown level \"200/s\": did you mean \"2000/s\"?"),
        "{level}"
    );
    assert!(refused("both: p99").contains("compares nothing"));
    assert!(refused("p99 < 5").contains("no unit"));
    assert!(
        refused("p99 < 5%").contains("write a number with"),
        "{}",
        refused("p99 < 5%")
    );
    assert!(refused("errors < 3").contains('3'));
    assert!(refused("errors adds < 1%").contains("write `errors < 0.1%`"));
    assert!(
        refused("direct: p99 adds < 1ms").contains("direct is what the others are compared with")
    );
}

#[test]
fn what_the_quick_form_leaves_out_is_not_asserted_there() {
    let texts = [
        "one: p99 < 5ms",
        "both: p99 < 5ms at 400/s",
        "both: p99 < 5ms",
        "errors < 1%",
    ];
    let of = |form| {
        let plan = resolved(&with(&texts), form);
        let kept = plan.assertions.into_iter();
        kept.map(|assertion| assertion.text).collect::<Vec<_>>()
    };
    assert_eq!(of(Form::Full), texts);
    assert_eq!(of(Form::Quick), texts[2..]);
    // What is there in neither form is a mistake in both.
    assert!(plan(&with(&["nobody: p99 < 5ms"]), Form::Quick).is_err());
}
