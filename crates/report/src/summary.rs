//! What a list of runs says of a run: `summary.json` of its folder.

use sha2::{Digest, Sha256};
use tare_record::FORMAT_VERSION;
use tare_record::api::RunSummary;
use tare_record::record::MachineRecord;
use tare_record::view::{SentenceKind, View};

use crate::read::Run;

/// Most sentences of a verdict that a summary has.
const SENTENCES_MAX: usize = 12;

/// The summary of a run, from its view.
#[must_use]
pub fn summary(run: &Run, view: &View) -> RunSummary {
    let sentences = view.verdict.iter();
    let verdict = sentences.filter(|sentence| sentence.kind != SentenceKind::Note);
    let fit = view.trials.iter().filter(|trial| trial.status == "fit");
    RunSummary {
        version: FORMAT_VERSION,
        experiment: view.run.experiment.clone(),
        question: view.run.question.clone(),
        form: view.run.form,
        progress: view.run.progress,
        started_unix_us: run.state.as_ref().map_or(0, |state| state.started_unix_us),
        took_ns: view.run.took_ns,
        verdict: verdict.take(SENTENCES_MAX).cloned().collect(),
        blocks_complete: view.run.blocks_complete,
        blocks_planned: view.run.blocks_planned,
        trials: u32::try_from(view.trials.len()).unwrap_or(u32::MAX),
        trials_fit: u32::try_from(fit.count()).unwrap_or(u32::MAX),
        machine: run
            .environment
            .as_ref()
            .map(|environment| machine(&environment.into()))
            .unwrap_or_default(),
        tare: view.run.tare.clone(),
    }
}

/// The machine in one line.
#[must_use]
pub fn machine(machine: &MachineRecord) -> String {
    format!(
        "{} · {} cores · {:.0} GB",
        machine.cpu_model,
        machine.cores,
        machine.memory_bytes as f64 / 1e9
    )
}

/// Short hash of what makes a machine: ID, processor, cores, and memory to the GB, which varies a little from boot to boot.
#[must_use]
pub fn machine_hash(machine: &MachineRecord) -> String {
    let id = machine.machine_id.as_deref().unwrap_or_default();
    let (model, cores) = (&machine.cpu_model, machine.cores);
    let memory_gb = (machine.memory_bytes as f64 / 1e9).round();
    let digest = Sha256::digest(format!("{id}\n{model}\n{cores}\n{memory_gb}\n"));
    let first = digest.iter().take(4);
    first.map(|byte| format!("{byte:02x}")).collect()
}
