//! Sequences of arms for waterfalls: checks that the arms exist, each once, and that there are at least two.

use std::collections::BTreeMap;

use tare_record::plan::{Arm, Compare, Sequence};

use super::{Input, Scope};

/// All sequences, without arms that the quick form lacks or that cannot run here.
pub(super) fn sequences(
    scope: &mut Scope<'_>,
    Input { root, def, .. }: Input<'_>,
    arms: &[Arm],
    compare: Compare,
) -> Vec<Sequence> {
    let known: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    let can_run = |name: &str| {
        arms.iter()
            .any(|arm| arm.name == name && arm.requires.is_none())
    };
    if compare == Compare::Levels && !def.waterfall.is_empty() {
        let message = "a waterfall shows arms, but levels are compared: leave one of the two out";
        scope.problem(root.key_mark_at(&["waterfall"]), message);
    }
    let mut all: Vec<Sequence> = Vec::new();
    for (index, sequence) in def.waterfall.iter().enumerate() {
        let index = index.to_string();
        if all.iter().any(|other| other.name == sequence.name.0) {
            let message = format!("two sequences are called \"{}\"", sequence.name);
            scope.problem(root.mark_at(&["waterfall", &index, "name"]), message);
        }
        let mut kept: Vec<String> = Vec::new();
        let mut adds = BTreeMap::new();
        for (place, written) in sequence.arms.iter().enumerate() {
            let at = root.mark_at(&["waterfall", &index, "arms", &place.to_string()]);
            let (arm, adding) = written.parts();
            if kept.contains(&arm.0) {
                let message = format!("duplicate arm \"{arm}\" in this sequence");
                scope.problem(at, message);
            } else if known.contains(&arm.0.as_str()) {
                if can_run(arm) {
                    kept.push(arm.0.clone());
                    adds.extend(adding.map(|adds| (arm.0.clone(), adds.subject())));
                }
            } else {
                scope.unknown(at, ("arm", arm), &known);
            }
        }
        if kept.len() > 1 {
            all.push(Sequence {
                name: sequence.name.0.clone(),
                arms: kept,
                adds,
            });
        }
    }
    all
}
