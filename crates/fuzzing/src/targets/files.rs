//! Files: definitions, requests, records and logs of a run, schemas of Protocol Buffers. Reading them returns a value or an error.

use std::path::Path;
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use tare_experiment::catalog::Catalog;
use tare_experiment::def::{ExperimentDef, MeshDef, WorkloadDef};
use tare_experiment::find::Library;
use tare_experiment::resolve::{ExperimentSource, ResolveOptions, resolve};
use tare_experiment::target::TargetDef;
use tare_experiment::{document, script};
use tare_proto::ServiceDescriptors;
use tare_record::load::LoadPlan;
use tare_record::plan::{Form, Plan};
use tare_record::record::{EnvironmentRecord, TrialRecord};
use tare_record::view::View;
use tare_stats::hlog::Reader;
use tare_stats::{Latencies, Range};

/// Intervals of a log that are read: each may take megabytes.
const INTERVALS: usize = 4;

/// The text behind the first byte, which chooses.
fn chosen(data: &[u8]) -> Option<(u8, &str)> {
    let (choice, text) = data.split_first()?;
    Some((*choice, std::str::from_utf8(text).ok()?))
}

/// Definitions of experiments, workloads, targets and meshes.
pub(super) fn definitions(data: &[u8]) {
    let Some((choice, text)) = chosen(data) else {
        return;
    };
    let _ = match choice % 4 {
        0 => document::read::<ExperimentDef>("fuzz.yaml", text).err(),
        1 => document::read::<WorkloadDef>("fuzz.yaml", text).err(),
        2 => document::read::<TargetDef>("fuzz.yaml", text).err(),
        _ => document::read::<MeshDef>("fuzz.yaml", text).err(),
    }
    .map(|problems| problems.to_string());
}

/// An experiment, resolved with the workloads and targets of the checkout.
pub(super) fn experiment(data: &[u8]) {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        Library::in_directory(&checkout, tare_load::protocols::infos()).catalog
    });
    let Some((choice, text)) = chosen(data) else {
        return;
    };
    let form = match choice % 2 {
        0 => Form::Quick,
        _ => Form::Full,
    };
    let source = ExperimentSource {
        experiment: String::from("fuzz/fuzz"),
        file: String::from("fuzz.yaml"),
        text: text.to_owned(),
    };
    match resolve(&source, &CATALOG, &ResolveOptions::new(form, vec![0, 1])) {
        Ok(plan) => assert!(plan.arms.len() <= 1000, "a plan is of a size to be run"),
        Err(problems) => assert!(!problems.is_empty(), "a refusal has a reason"),
    }
}

/// Files of requests and sessions, and their data.
pub(super) fn requests(data: &[u8]) {
    let Some((choice, text)) = chosen(data) else {
        return;
    };
    let nowhere = Path::new("/proc/self/fdinfo/none");
    let _ = match choice % 4 {
        0 => script::requests_of("fuzz.yaml", nowhere, text)
            .err()
            .map(|one| one.to_string()),
        1 => script::session_of("fuzz.yaml", nowhere, text)
            .err()
            .map(|one| one.to_string()),
        2 => script::rows(text, "csv").err(),
        _ => script::rows(text, "jsonl").err(),
    };
}

fn parse<T: DeserializeOwned>(data: &[u8]) -> bool {
    serde_json::from_slice::<T>(data).is_ok()
}

/// JSON files of a run.
pub(super) fn records(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else {
        return;
    };
    let _ = match choice % 5 {
        0 => parse::<TrialRecord>(data),
        1 => parse::<Plan>(data),
        2 => parse::<EnvironmentRecord>(data),
        3 => parse::<View>(data),
        _ => parse::<LoadPlan>(data),
    };
}

/// Interval logs of histograms.
pub(super) fn hlog(data: &[u8]) {
    let Ok(mut sum) = Latencies::new(Range::default()) else {
        return;
    };
    for interval in Reader::new(data).take(INTERVALS) {
        let Ok(interval) = interval else {
            return;
        };
        if sum.merge(&interval.latencies).is_err() {
            return;
        }
        let _ = sum.quantile(0.99);
        let sparse = sum.sparse();
        assert!(sum.merge_sparse(&sparse).is_ok(), "a part of itself");
    }
}

/// Sets of file descriptors, and answers of a server to reflection.
pub(super) fn protobuf(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else {
        return;
    };
    if choice % 2 == 0 {
        let _ = ServiceDescriptors::from_set(data);
        return;
    }
    // Each answer has its length before it.
    let mut rest = data;
    let mut answer = |_: &[Vec<u8>]| -> Result<Vec<Vec<u8>>, String> {
        let (length, behind) = rest.split_first().ok_or("it ended")?;
        let (one, behind) = behind
            .split_at_checked(usize::from(*length))
            .ok_or("it ended")?;
        rest = behind;
        Ok(vec![one.to_vec()])
    };
    let _ = ServiceDescriptors::from_server("fuzz.Service", &mut answer);
}
