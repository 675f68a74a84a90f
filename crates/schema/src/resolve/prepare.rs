//! Steps before a trial, at one level.

use super::workload::Used;
use super::{Scope, template};
use crate::catalog::WorkloadFolder;
use crate::def::{ExperimentDef, TopicDef};
use crate::plan::Preparation;
use crate::problem::hint;
use crate::yaml::Node;

/// The steps that an experiment asks for and that can be planned; the others keep their names only.
pub(super) fn steps(
    scope: &mut Scope<'_>,
    root: &Node,
    def: &ExperimentDef,
    folder: &WorkloadFolder,
    used: &Used,
) -> Vec<Preparation> {
    let mut all = Vec::new();
    for (index, name) in def.prepare.iter().enumerate() {
        let topic = folder
            .def
            .prepare
            .get(name)
            .and_then(|step| step.topic.as_ref());
        match topic.map(|topic| self::topic(name, topic, folder, used)) {
            None => {}
            Some(Ok(step)) => all.push(step),
            Some(Err(said)) => {
                let said = format!("step \"{name}\" of the workload: {said}");
                scope.problem(root.place(&["prepare", &index.to_string()]), said);
            }
        }
    }
    all
}

fn topic(
    step: &str,
    def: &TopicDef,
    folder: &WorkloadFolder,
    used: &Used,
) -> Result<Preparation, String> {
    if !folder.def.parts.contains_key(&def.part) {
        let known = folder.def.parts.keys().map(|name| name.0.as_str());
        return Err(format!(
            "unknown part \"{}\"{}",
            def.part,
            hint(&def.part, known)
        ));
    }
    let fill = |text: &str| template::fill(text, &used.settings);
    let number = |text: &str| -> Result<u32, String> {
        let filled = fill(text)?;
        filled
            .parse()
            .ok()
            .filter(|number| *number > 0)
            .ok_or_else(|| format!("\"{filled}\" is no number above 0"))
    };
    Ok(Preparation::Topic {
        step: step.to_owned(),
        part: def.part.0.clone(),
        port: def.port.clone(),
        topic: fill(&def.name)?,
        partitions: number(&def.partitions)?,
        replicas: u16::try_from(number(&def.replicas)?).map_err(|error| error.to_string())?,
    })
}
