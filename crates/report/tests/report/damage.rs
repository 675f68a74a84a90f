//! Damaged, partial and killed runs are read as far as they go.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tare_record::checksums::{Checksums, TRIAL_FILES};
use tare_record::metric::Metric;
use tare_record::plan::Plan;
use tare_record::record::{RunProgress, TrialStatus};
use tare_record::view::{SentenceKind, ViewState};
use tare_report::figures::StoredFigures;

use crate::fixture::{SampleRun, write_json};
use crate::{in_memory, overhead, sentences, view_of};

#[test]
fn a_killed_run_reports_its_whole_blocks_as_if_it_had_never_been_killed() {
    let place = in_memory();
    let killed = SampleRun {
        progress: RunProgress::Running,
        ..SampleRun::sidecar()
    };
    let folder = killed.write(place.path()).unwrap();
    // The kill came in the middle of block 5: its last trials are not there and one record is half-written.
    for number in 46..=50 {
        fs::remove_dir_all(folder.join(format!("trials/{number:04}"))).unwrap();
    }
    let half = folder.join("trials/0045/record.json");
    let text = fs::read(&half).unwrap();
    fs::write(&half, &text[..text.len() / 2]).unwrap();
    let view = tare_report::view(&tare_report::read(&folder).unwrap());
    let never = view_of(&SampleRun {
        blocks: 4,
        ..SampleRun::sidecar()
    });
    assert_eq!(
        (view.run.blocks_complete, view.run.state),
        (4, ViewState::Partial)
    );
    assert_eq!(view.levels, never.levels);
    assert_eq!(view.overheads, never.overheads);
    assert!(
        view.unreadable_files
            .iter()
            .any(|s| s.starts_with("trials/0045/record.json: ")),
        "{:?}",
        view.unreadable_files
    );
    let warnings = sentences(&view, SentenceKind::Warning);
    assert!(
        warnings
            .iter()
            .any(|w| w.contains("not finished, or was killed: 4 of 5 blocks")),
        "{warnings:?}"
    );
}

#[test]
fn trials_of_a_block_that_was_measured_again_do_not_count() {
    let place = in_memory();
    let folder = SampleRun::sidecar().write(place.path()).unwrap();
    let before = tare_report::view(&tare_report::read(&folder).unwrap());
    // An absurd first attempt at block 3, superseded when the run was resumed.
    let extra = folder.join("trials/0051");
    fs::create_dir_all(&extra).unwrap();
    for name in ["latency.hlog", "lateness.hlog"] {
        fs::copy(folder.join("trials/0021").join(name), extra.join(name)).unwrap();
    }
    let text = fs::read_to_string(folder.join("trials/0021/record.json")).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    record["trial"] = 51.into();
    record["superseded"] = true.into();
    record["instances"][0]["cpu_ns"] = 1.into();
    fs::write(extra.join("record.json"), record.to_string()).unwrap();
    let after = tare_report::view(&tare_report::read(&folder).unwrap());
    assert_eq!(after.overheads, before.overheads);
    assert_eq!(after.levels, before.levels);
    assert_eq!(after.trials.last().unwrap().status, "superseded");
}

#[test]
fn broken_files_are_named_and_left_out_and_nothing_panics() {
    let place = in_memory();
    let folder = SampleRun::sidecar().write(place.path()).unwrap();
    fs::write(folder.join("trials/0001/latency.hlog"), b"\xff\x00 no log").unwrap();
    fs::remove_file(folder.join("trials/0002/lateness.hlog")).unwrap();
    fs::write(folder.join("trials/0003/record.json"), "").unwrap();
    fs::write(folder.join("trials/0004/record.json"), "{\"version\": 99}").unwrap();
    fs::remove_file(folder.join("environment.json")).unwrap();
    fs::write(folder.join("run.json"), "[]").unwrap();
    fs::write(folder.join("trials/notes.txt"), "a stray file").unwrap();
    let view = tare_report::view(&tare_report::read(&folder).unwrap());
    for start in [
        "environment.json: ",
        "run.json: ",
        "trials/0003/record.json: ",
        "trials/0004/record.json: written by a Tare of another format",
        "trials/0001/latency.hlog: ",
        "trials/0002/lateness.hlog: ",
    ] {
        assert!(
            view.unreadable_files.iter().any(|s| s.starts_with(start)),
            "{start} in {:?}",
            view.unreadable_files
        );
    }
    assert_eq!(
        view.unreadable_files.len(),
        6,
        "{:?}",
        view.unreadable_files
    );
    assert!(
        sentences(&view, SentenceKind::Warning)
            .iter()
            .any(|w| w.starts_with("6 files could not be read"))
    );
}

/// Gives a run the checksums that `tare run` writes.
fn with_checksums(folder: &Path) {
    let write = |folder: &Path, names: &[&str]| {
        let mut sums = Checksums::default();
        for name in names {
            sums.add_file(folder, name).unwrap();
        }
        sums.write(folder).unwrap();
    };
    write(folder, &["plan.json", "environment.json"]);
    for trial in fs::read_dir(folder.join("trials")).unwrap() {
        let names = [&["record.json"], TRIAL_FILES.as_slice()].concat();
        write(&trial.unwrap().path(), &names);
    }
}

/// Changes the last bit of the last digit of a file.
fn change_a_bit(path: &Path) {
    let mut text = fs::read(path).unwrap();
    let at = text.iter().rposition(u8::is_ascii_digit).unwrap();
    text[at] ^= 1;
    fs::write(path, text).unwrap();
}

#[test]
fn a_changed_bit_in_a_record_or_a_log_leaves_out_its_trial_with_the_reason() {
    let place = in_memory();
    let folder = short().write(place.path()).unwrap();
    with_checksums(&folder);
    let whole = tare_report::read(&folder).unwrap();
    assert_eq!((whole.trials.len(), whole.skipped.len()), (5, 0));
    for name in ["record.json", "latency.hlog", "lateness.hlog"] {
        let path = folder.join("trials/0003").join(name);
        let was = fs::read(&path).unwrap();
        change_a_bit(&path);
        let run = tare_report::read(&folder).unwrap();
        assert_eq!(run.trials.len(), 4, "{name}");
        let start = format!("trials/0003/{name}: it is not what was written");
        assert!(run.skipped[0].starts_with(&start), "{:?}", run.skipped);
        let view = tare_report::view(&run);
        assert_eq!(view.unreadable_files, run.skipped, "the report says so");
        fs::write(&path, was).unwrap();
    }
    let sums = folder.join("trials/0003/SHA256SUMS");
    let was = fs::read(&sums).unwrap();
    for text in ["", "no checksums"] {
        fs::write(&sums, text).unwrap();
        assert_eq!(
            tare_report::read(&folder).unwrap().trials.len(),
            4,
            "{text}"
        );
    }
    fs::remove_file(&sums).unwrap();
    let run = tare_report::read(&folder).unwrap();
    assert!(
        run.skipped[0].contains("0003/record.json: SHA256SUMS has no checksum"),
        "{:?}",
        run.skipped
    );
    fs::write(&sums, was).unwrap();
    // A file that was added.
    let trial = folder.join("trials/0003");
    let text = fs::read_to_string(&sums).unwrap();
    let without = text.lines().filter(|line| !line.contains("samples.csv"));
    let without: String = without.map(|line| format!("{line}\n")).collect();
    fs::write(&sums, without).unwrap();
    let run = tare_report::read(&folder).unwrap();
    let said = "0003/samples.csv: SHA256SUMS has no checksum";
    assert!(run.skipped[0].contains(said), "{:?}", run.skipped);
    fs::remove_file(trial.join("samples.csv")).unwrap();
    assert_eq!(tare_report::read(&folder).unwrap().trials.len(), 5);
    // A run of an earlier version has none.
    for trial in fs::read_dir(folder.join("trials")).unwrap() {
        fs::remove_file(trial.unwrap().path().join("SHA256SUMS")).unwrap();
    }
    fs::remove_file(folder.join("SHA256SUMS")).unwrap();
    assert_eq!(tare_report::read(&folder).unwrap().trials.len(), 5);
}

#[test]
fn a_changed_bit_in_the_plan_is_an_error_and_in_the_environment_a_file_that_cannot_be_read() {
    let place = in_memory();
    let folder = short().write(place.path()).unwrap();
    with_checksums(&folder);
    change_a_bit(&folder.join("environment.json"));
    let run = tare_report::read(&folder).unwrap();
    assert!(run.environment.is_none());
    assert!(
        run.skipped[0].starts_with("environment.json: it is not what was written"),
        "{:?}",
        run.skipped
    );
    change_a_bit(&folder.join("plan.json"));
    let said = tare_report::read(&folder).unwrap_err().to_string();
    assert!(
        said.contains("plan.json cannot be used: it is not what was written"),
        "{said}"
    );
}

#[test]
fn changed_figures_are_made_again() {
    let place = in_memory();
    let folder = short().write(place.path()).unwrap();
    with_checksums(&folder);
    let run = tare_report::read(&folder).unwrap();
    let state = run.state.clone().unwrap();
    let figures = StoredFigures::of(&tare_report::view(&run).levels, Some(&state));
    figures.write(&folder).unwrap();
    assert_eq!(
        StoredFigures::read(&folder, &state).as_ref(),
        Some(&figures)
    );
    assert_eq!(tare_report::read(&folder).unwrap().trials.len(), 5);
    change_a_bit(&folder.join("figures.json"));
    assert_eq!(StoredFigures::read(&folder, &state), None);
}

#[test]
fn the_trial_that_is_being_measured_is_no_file_that_could_not_be_read() {
    let running = RunProgress::Running;
    for (progress, trial, expected) in [
        (running, "0005", 0),
        (running, "0004", 1),
        (RunProgress::Complete, "0005", 1),
    ] {
        let place = in_memory();
        let run = SampleRun {
            progress,
            ..short()
        };
        let folder = run.write(place.path()).unwrap();
        fs::remove_file(folder.join(format!("trials/{trial}/record.json"))).unwrap();
        let run = tare_report::read(&folder).unwrap();
        assert_eq!(run.trials.len(), 4);
        assert_eq!(run.skipped.len(), expected, "{:?}", run.skipped);
    }
}

#[test]
fn a_file_cut_at_any_byte_is_named_and_everything_else_is_read() {
    let place = in_memory();
    // Two trials, and files without blanks: each is read for every byte of one.
    let mut run = SampleRun {
        aa_check: false,
        ..short()
    };
    run.arms.truncate(2);
    let folder = run.write(place.path()).unwrap();
    for (name, is_of_trial) in [
        ("trials/0001/record.json", true),
        ("run.json", false),
        ("environment.json", false),
    ] {
        let path = folder.join(name);
        let value: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let text = value.to_string();
        for cut in 0..text.len() {
            fs::write(&path, &text.as_bytes()[..cut]).unwrap();
            let run = tare_report::read(&folder).unwrap();
            let [skipped] = run.skipped.as_slice() else {
                panic!("{name} cut at {cut}: {:?}", run.skipped);
            };
            assert!(skipped.starts_with(&format!("{name}: ")), "{skipped}");
            let trials = if is_of_trial { 1 } else { 2 };
            assert_eq!(run.trials.len(), trials, "{name} cut at {cut}");
        }
        fs::write(&path, &text).unwrap();
    }
    // A latency log is read for the view: wherever it ends, the other trial has its own.
    let path = folder.join("trials/0001/latency.hlog");
    let text = fs::read(&path).unwrap();
    for cut in (0..text.len()).step_by(61) {
        fs::write(&path, &text[..cut]).unwrap();
        let view = tare_report::view(&tare_report::read(&folder).unwrap());
        let about_others = view.unreadable_files.iter().filter(|s| !s.contains("0001"));
        assert_eq!(about_others.count(), 0, "cut at {cut}");
        assert_eq!(view.trials.len(), 2, "cut at {cut}");
    }
}

#[test]
fn every_prefix_of_a_run_has_a_view() {
    let place = in_memory();
    let run = SampleRun {
        blocks: 3,
        window_s: 3,
        progress: RunProgress::Running,
        ..SampleRun::sidecar()
    };
    let folder = run.write(place.path()).unwrap();
    for number in (0..=30).rev() {
        let view = tare_report::view(&tare_report::read(&folder).unwrap());
        assert_eq!(
            view.run.blocks_complete,
            number / 10,
            "after {number} trials"
        );
        let warnings = sentences(&view, SentenceKind::Warning);
        assert!(
            warnings.iter().all(|w| !w.starts_with("No verdict")),
            "after {number} trials: {warnings:?}"
        );
        assert!(!view.verdict.is_empty());
        let trial = folder.join(format!("trials/{number:04}"));
        if number > 0 {
            fs::remove_dir_all(trial).unwrap();
        }
    }
}

#[test]
fn a_last_block_whose_repeat_is_due_is_not_whole() {
    let last = |attempt| {
        SampleRun {
            progress: RunProgress::Interrupted,
            ..SampleRun::sidecar()
        }
        .edit(move |record, _| {
            if record.block == 5 && record.arm == "both-sidecars" {
                record.attempt = attempt;
                record.status = TrialStatus::Unfit {
                    reasons: vec!["late".into()],
                };
            }
        })
    };
    assert_eq!(view_of(&last(0)).run.blocks_complete, 4);
    assert_eq!(view_of(&last(1)).run.blocks_complete, 5);
}

#[test]
fn a_folder_without_a_plan_is_no_run_and_a_plan_of_another_format_is_called_that() {
    let place = in_memory();
    let error = tare_report::read(place.path()).unwrap_err().to_string();
    assert!(error.contains("plan.json"), "{error}");
    fs::write(place.path().join("plan.json"), "{\"version\": 7}").unwrap();
    let error = tare_report::read(place.path()).unwrap_err().to_string();
    assert!(error.contains("format version 7"), "{error}");
    let error = tare_report::read(&place.path().join("none"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("latest"), "{error}");
}

#[test]
fn an_arm_that_was_not_run_is_listed_as_such_and_harms_no_other() {
    let run = SampleRun {
        plan_edit: Some(|plan| {
            let mut arm = plan.arms[3].clone();
            arm.name = "redirected".into();
            arm.requires = Some("network namespaces".into());
            plan.arms.push(arm);
        }),
        ..SampleRun::sidecar()
    };
    let view = view_of(&run);
    assert_eq!(
        view.arms[4].not_run.as_deref(),
        Some("it needs network namespaces")
    );
    assert!(view.overheads.iter().all(|o| o.arm != "redirected"));
    assert_eq!(
        overhead(&view, "both-sidecars", "direct", "2000/s", Metric::Cpu).pairs,
        5
    );
    assert_eq!(view.run.blocks_complete, 5);
}

#[test]
fn a_slot_with_two_trials_that_count_is_refused_with_both_names() {
    let place = in_memory();
    let run = SampleRun {
        rates_per_s: vec![400],
        window_s: 1,
        ..SampleRun::sidecar()
    };
    let folder = run.write(place.path()).unwrap();
    let (one, two) = (folder.join("trials/0003"), folder.join("trials/0077"));
    fs::create_dir(&two).unwrap();
    for name in ["latency.hlog", "lateness.hlog"] {
        fs::copy(one.join(name), two.join(name)).unwrap();
    }
    let text = fs::read_to_string(one.join("record.json")).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (arm, block) = (record["arm"].clone(), record["block"].clone());
    let mut write = |field: &str, value: serde_json::Value| {
        record[field] = value;
        fs::write(two.join("record.json"), record.to_string()).unwrap();
        tare_report::read(&folder)
    };
    // A repeat is as little a second value as a copied folder.
    for (field, value) in [("trial", 77), ("attempt", 1)] {
        let error = write(field, value.into()).err().unwrap().to_string();
        let arm = arm.as_str().unwrap();
        for wanted in [
            "trials/0003/record.json",
            "trials/0077/record.json",
            &format!("{arm} at 400/s in block {block}"),
            "move the folder",
        ] {
            assert!(error.contains(wanted), "{wanted}: {error}");
        }
    }
    // What was measured again, or did not count, may stand beside it.
    let unfit = serde_json::json!({"status": "unfit", "reasons": ["late"]});
    assert!(write("status", unfit).is_ok());
    write("status", serde_json::json!({"status": "fit"}))
        .err()
        .unwrap();
    assert!(write("superseded", true.into()).is_ok());
    write("superseded", false.into()).err().unwrap();
    // Another copy of the baseline is a slot of its own.
    assert!(write("aa_copy", 7.into()).is_ok());
}

/// One block of five short trials.
fn short() -> SampleRun {
    SampleRun {
        blocks: 1,
        blocks_planned: 1,
        rates_per_s: vec![400],
        window_s: 1,
        ..SampleRun::sidecar()
    }
}

#[test]
fn a_link_among_the_trials_is_no_trial() {
    let place = in_memory();
    let folder = short().write(place.path()).unwrap();
    assert_eq!(tare_report::read(&folder).unwrap().trials.len(), 5);
    let elsewhere = place.path().join("elsewhere");
    fs::rename(folder.join("trials/0003"), &elsewhere).unwrap();
    symlink(&elsewhere, folder.join("trials/0003")).unwrap();
    assert_eq!(tare_report::read(&folder).unwrap().trials.len(), 4);
}

#[test]
fn a_trial_of_an_arm_or_a_level_that_the_plan_has_not_is_named_and_left_out() {
    let place = in_memory();
    let folder = short().write(place.path()).unwrap();
    for (number, field) in [("0002", "arm"), ("0004", "level")] {
        let path = folder.join(format!("trials/{number}/record.json"));
        let text = fs::read_to_string(&path).unwrap();
        let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
        record[field] = "another".into();
        fs::write(&path, record.to_string()).unwrap();
    }
    let run = tare_report::read(&folder).unwrap();
    let reason = "its arm or its level is not in the plan";
    assert_eq!(
        run.skipped,
        ["0002", "0004"].map(|number| format!("trials/{number}/record.json: {reason}"))
    );
    assert_eq!(run.trials.len(), 3);
}

#[test]
fn a_plan_of_more_arms_and_levels_than_any_experiment_has_is_refused() {
    let place = in_memory();
    let folder = short().write(place.path()).unwrap();
    let path = folder.join("plan.json");
    let plan: Plan = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let read = |arms: usize, levels: usize| {
        let mut plan = plan.clone();
        plan.arms = vec![plan.arms[0].clone(); arms];
        plan.levels = vec![plan.levels[0].clone(); levels];
        write_json(&path, &plan).unwrap();
        tare_report::read(&folder)
    };
    for (arms, levels) in [(1001, 1), (1, 1001), (101, 100)] {
        let said = read(arms, levels).unwrap_err().to_string();
        let counts = format!("{arms} arms, {levels} levels and ");
        let is_told = said.contains(&counts) && said.contains("are no plan of ours");
        assert!(is_told, "{said}");
    }
    assert!(read(100, 100).is_ok());
}

#[test]
fn records_of_more_bytes_than_any_run_has_are_left_out() {
    let place = in_memory();
    let folder = short().write(place.path()).unwrap();
    // One record with much white space behind it, under the names of all five.
    let first = folder.join("trials/0001/record.json");
    let text = fs::read_to_string(&first).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    record["superseded"] = true.into();
    let mut text = record.to_string();
    text.push_str(&" ".repeat(52 << 20));
    fs::write(&first, text).unwrap();
    for number in 2..=5 {
        let other = folder.join(format!("trials/{number:04}/record.json"));
        fs::remove_file(&other).unwrap();
        fs::hard_link(&first, &other).unwrap();
    }
    let run = tare_report::read(&folder).unwrap();
    assert_eq!(run.trials.len(), 4);
    let [skipped] = run.skipped.as_slice() else {
        panic!("{:?}", run.skipped);
    };
    assert!(
        skipped.contains("trials/0005/record.json has 545"),
        "{skipped}"
    );
}
