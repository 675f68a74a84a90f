//! The error rates that the verdicts promise, counted in simulated runs with known truth.

use tare_stats::outcome::{MoreBlocks, Outcome};
use tare_stats::paired::{BaselineCopies, Comparisons, Family, Question, Standing, Table};
use tare_stats::power::{Design, detectable, power};
use tare_stats::random::Random;
use tare_stats::unpaired;

const RUNS: usize = 1000;
const SEED: u64 = 20_181_114;
const ARMS: usize = 3;

/// The truth behind a simulated table.
#[derive(Clone, Copy)]
struct Truth {
    blocks: usize,
    copies: BaselineCopies,
    noise: f64,
    /// Ratio of the last arm to the baseline; the others equal it.
    slowdown: f64,
    /// How much noisier the last arm is.
    uneven: f64,
}

const A_A: Truth = Truth {
    blocks: 5,
    copies: BaselineCopies::Two,
    noise: 0.02,
    slowdown: 1.0,
    uneven: 1.0,
};

fn table(truth: Truth, random: &mut Random) -> Table {
    let columns = truth.copies.count() + ARMS;
    let rows: Vec<Vec<Option<f64>>> = (0..truth.blocks)
        .map(|_| {
            // Blocks differ by far more than trials within them.
            let block = 0.1 * random.normal();
            (0..columns)
                .map(|column| {
                    let last = column + 1 == columns;
                    let noise = truth.noise * if last { truth.uneven } else { 1.0 };
                    let shift = if last { truth.slowdown.ln() } else { 0.0 };
                    Some((13.0 + block + shift + noise * random.normal()).exp())
                })
                .collect()
        })
        .collect();
    Table::new(truth.copies, ARMS, &rows).unwrap_or_else(|error| panic!("{error}"))
}

fn compare(family: &Family, table: &Table) -> Comparisons {
    family.compare(&Question {
        table,
        standing: Standing::Primary,
        margin: None,
        resolution: 0.0,
        trials: &[],
    })
}

fn differs(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Differs { .. })
}

/// Of [`RUNS`] runs of so many cells, how many call at least one difference in an arm that `counts`.
fn runs_that_call(
    truth: Truth,
    cells: usize,
    family: &Family,
    counts: impl Fn(usize) -> bool,
) -> usize {
    let mut random = Random::from_seed(SEED);
    (0..RUNS)
        .filter(|_| {
            // Every cell is drawn, whatever the earlier ones said.
            let called: Vec<bool> = (0..cells)
                .map(|_| {
                    let comparisons = compare(family, &table(truth, &mut random));
                    comparisons
                        .arms
                        .iter()
                        .any(|c| counts(c.arm) && differs(c.outcome))
                })
                .collect();
            called.contains(&true)
        })
        .count()
}

#[test]
fn at_most_five_percent_of_runs_without_a_difference_call_one() {
    let family = Family::new(ARMS, 2, 3);
    let called = runs_that_call(A_A, 6, &family, |_| true);
    println!("{called} of {RUNS} runs without a difference call one");
    // The metrics are independent here, the case in which Bonferroni gives least away; 20 is far below chance.
    assert!((20..=50).contains(&called), "{called} of {RUNS} runs");
}

#[test]
fn a_slowdown_of_five_percent_under_two_percent_noise_is_found_in_nine_runs_of_ten() {
    let slow = Truth {
        slowdown: 1.05,
        ..A_A
    };
    let last = |arm| arm + 1 == ARMS;
    // One primary metric at one level, three arms.
    let found = runs_that_call(slow, 1, &Family::new(ARMS, 1, 1), last);
    println!("one cell: {found} of {RUNS} find the slowdown");
    assert!(found >= 900, "one cell: {found} of {RUNS}");
    // Six cells, slow in all of them, as a slow arm is: found in at least one.
    let found = runs_that_call(slow, 6, &Family::new(ARMS, 2, 3), last);
    assert!(found >= 990, "six cells: {found} of {RUNS}");
    // And nothing is called in the arms that are not slow.
    let wrong = runs_that_call(slow, 6, &Family::new(ARMS, 2, 3), |arm| !last(arm));
    assert!(wrong <= 50, "{wrong} of {RUNS} runs blame another arm");
}

#[test]
fn the_planned_power_is_the_power_that_runs_have() {
    for (blocks, copies, cells) in [
        (5, BaselineCopies::Two, 6),
        (5, BaselineCopies::One, 1),
        (8, BaselineCopies::Two, 6),
    ] {
        let family = Family::new(ARMS, cells, 1);
        let design = Design { blocks, copies };
        let slowdown = 1.0 + detectable(A_A.noise, design, &family).expect("enough blocks");
        let planned = power(slowdown - 1.0, A_A.noise, design, &family).expect("enough blocks");
        assert!((planned - 0.8).abs() < 0.002, "{planned}");
        let truth = Truth {
            blocks,
            copies,
            slowdown,
            ..A_A
        };
        let found = runs_that_call(truth, 1, &family, |arm| arm + 1 == ARMS);
        println!(
            "{blocks} blocks, {cells} cells: {:.2} % found by {found}",
            100.0 * (slowdown - 1.0)
        );
        // Three standard deviations of a count around 800.
        assert!(
            (762..=838).contains(&found),
            "{blocks} blocks, {cells} cells: {found}"
        );
    }
    let hopeless = Design {
        blocks: 2,
        copies: BaselineCopies::Two,
    };
    assert_eq!(detectable(0.02, hopeless, &Family::new(3, 2, 3)), None);
}

#[test]
fn an_arm_noisier_than_the_rest_does_not_call_far_more_than_documented() {
    let family = Family::new(ARMS, 2, 3);
    let of = |blocks, uneven| {
        runs_that_call(
            Truth {
                blocks,
                uneven,
                ..A_A
            },
            6,
            &family,
            |_| true,
        )
    };
    let (twice, thrice, long) = (of(5, 2.0), of(5, 3.0), of(10, 3.0));
    println!("noisy arm: twice {twice}, thrice {thrice}, thrice with ten blocks {long}");
    assert!(
        twice <= 120 && thrice <= 165 && long <= 95,
        "{twice} {thrice} {long}"
    );
}

#[test]
fn three_blocks_and_a_single_baseline_keep_the_error_rate_too() {
    let family = Family::new(ARMS, 2, 3);
    let few = runs_that_call(Truth { blocks: 3, ..A_A }, 6, &family, |_| true);
    let single = Truth {
        copies: BaselineCopies::One,
        ..A_A
    };
    let single = runs_that_call(single, 6, &family, |_| true);
    assert!(few <= 55 && single <= 55, "{few} {single}");
}

#[test]
fn same_is_hardly_ever_said_of_an_arm_that_differs_by_the_margin() {
    let mut random = Random::from_seed(SEED);
    let family = Family::new(ARMS, 1, 1);
    // One copy of the baseline, so that the margin is the declared one.
    let truth = Truth {
        copies: BaselineCopies::One,
        noise: 0.005,
        slowdown: 1.02,
        ..A_A
    };
    let same = (0..RUNS)
        .filter(|_| {
            let table = table(truth, &mut random);
            let comparisons = family.compare(&Question {
                table: &table,
                standing: Standing::Descriptive,
                margin: Some(0.02),
                resolution: 0.0,
                trials: &[],
            });
            let arm = &comparisons.arms[ARMS - 1];
            arm.intervals
                .expect("five blocks")
                .ninety
                .inside_margin(0.02)
        })
        .count();
    assert!((10..=70).contains(&same), "{same} of {RUNS}");
}

#[test]
fn as_many_blocks_as_asked_for_mostly_decide() {
    let mut random = Random::from_seed(SEED);
    let family = Family::new(ARMS, 2, 3);
    let truth = Truth {
        slowdown: 1.03,
        ..A_A
    };
    let (mut asked, mut decided) = (0, 0);
    for _ in 0..RUNS {
        let first = compare(&family, &table(truth, &mut random)).arms[ARMS - 1].outcome;
        let Outcome::Undecided {
            more: MoreBlocks::About(more),
        } = first
        else {
            continue;
        };
        asked += 1;
        let again = Truth {
            blocks: 5 + more as usize,
            ..truth
        };
        let second = compare(&family, &table(again, &mut random)).arms[ARMS - 1].outcome;
        decided += usize::from(!matches!(second, Outcome::Undecided { .. }));
    }
    // Planned for 80 %, from an estimate that is itself uncertain.
    assert!(
        asked > 300 && decided * 100 >= asked * 60,
        "{decided} of {asked}"
    );
}

#[test]
fn two_equal_runs_compared_unpaired_differ_in_one_of_twenty_at_most() {
    let mut random = Random::from_seed(SEED);
    let mut run = |slowdown: f64| -> Vec<f64> {
        (0..5)
            .map(|_| slowdown * (13.0 + 0.02 * random.normal()).exp())
            .collect()
    };
    let mut count = |slowdown: f64| {
        (0..RUNS)
            .filter(|_| {
                let (before, after) = (run(1.0), run(slowdown));
                let question = unpaired::Question {
                    before: &before,
                    after: &after,
                    family: 1,
                    margin: None,
                    resolution: 0.0,
                    trials: Default::default(),
                };
                differs(unpaired::compare(&question).expect("positive").outcome)
            })
            .count()
    };
    let (none, some) = (count(1.0), count(1.05));
    assert!((20..=55).contains(&none), "{none} of {RUNS}");
    assert!(some >= 850, "{some} of {RUNS}");
}
