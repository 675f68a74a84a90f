//! Resolves the steps of a session script.

use tare_record::load::TemplateMode;
use tare_record::load::session::{
    Branch, CAPTURE_BYTES, Capture, CaptureSource, Condition, RequestStep, SessionStep, StepAction,
};
use tare_record::load::template::is_name;
use tare_record::units::Period;

use super::Scope;
use super::def::{CaptureDef, SessionStepDef};
use super::request::{check_text, of_step, ordered, request};
use crate::problem::hint;
use crate::yaml::{Mark, Node};

/// Greatest number of passes of a `while` without `loop`.
const WHILE_TIMES: u32 = 1000;
/// Greatest number of passes of a loop.
const TIMES_MAX: u32 = 1_000_000;
/// Largest body that values can be captured from.
const CAPTURE_BYTES_MAX: u64 = 64 << 20;

/// Resolves a list of steps.
pub(super) fn steps(
    scope: &mut Scope<'_>,
    defs: &[SessionStepDef],
    list: &Node,
) -> Vec<SessionStep> {
    let steps = defs.iter().zip(list.items());
    let steps = steps.filter_map(|(def, node)| step(scope, def, node));
    steps.collect()
}

fn step(scope: &mut Scope<'_>, def: &SessionStepDef, node: &Node) -> Option<SessionStep> {
    let condition = def.condition.as_ref();
    let condition = condition.and_then(|text| self::condition(scope, text, node.mark_at(&["if"])));
    let actions = actions(scope, def, node)?;
    let always = |action| SessionStep {
        probability: 1.0,
        condition: None,
        action,
    };
    let mut actions: Vec<SessionStep> = actions.into_iter().map(always).collect();
    let probability = def.probability.map_or(1.0, |share| share.0);
    // The thinking time of a request depends on the same probability and condition as the request.
    let action = match actions.len() {
        1 => actions.remove(0).action,
        _ => StepAction::Group { steps: actions },
    };
    Some(SessionStep {
        probability,
        condition,
        action,
    })
}

fn actions(scope: &mut Scope<'_>, def: &SessionStepDef, node: &Node) -> Option<Vec<StepAction>> {
    let is_loop = def.times.is_some() || def.whilst.is_some();
    let kinds = [
        (def.path.is_some() || def.name.is_some(), "a request"),
        (def.set.is_some(), "set"),
        (is_loop, "loop"),
        (def.item.is_some() || def.list.is_some(), "for"),
        (def.choose.is_some(), "choose"),
    ];
    let written: Vec<&str> = kinds
        .iter()
        .filter(|kind| kind.0)
        .map(|kind| kind.1)
        .collect();
    if written.len() > 1 {
        let message = format!(
            "a step does one thing, and this one does {}",
            crate::problem::list(&written)
        );
        return scope.reject(node.mark, message);
    }
    match written.first().copied() {
        Some("a request") => return request_actions(scope, def, node),
        Some("set") => return Some(vec![set(scope, def, node)]),
        Some("choose") => return choose(scope, def, node).map(|action| vec![action]),
        _ => {}
    }
    if let Some(text) = def.think.as_ref().filter(|_| def.steps.is_none()) {
        return think(scope, text, node).map(|action| vec![action]);
    }
    let (Some(defs), Some(list)) = (&def.steps, node.get("steps")) else {
        let message = "this step does nothing: give it a name and a path, or set, think, loop, while, for, choose or steps";
        return scope.reject(node.mark, message);
    };
    let mut actions = vec![match written.first() {
        Some(&"for") => each(scope, def, node, list)?,
        Some(_) => repeated(scope, def, node, list)?,
        None => StepAction::Group {
            steps: steps(scope, defs, list),
        },
    }];
    if let Some(text) = &def.think {
        actions.push(think(scope, text, node)?);
    }
    Some(actions)
}

fn request_actions(
    scope: &mut Scope<'_>,
    def: &SessionStepDef,
    node: &Node,
) -> Option<Vec<StepAction>> {
    let (Some(name), Some(_)) = (&def.name, &def.path) else {
        return scope.reject(node.mark, "a request has a name and a path");
    };
    if def.steps.is_some() {
        scope.problem(
            node.key_mark_at(&["steps"]),
            "a request has no steps: write them behind it",
        );
    }
    let request = request(scope, &of_step(def, name), TemplateMode::Session, node)?;
    let mut captures = Vec::new();
    for (name, capture_def) in &def.capture {
        let mark = node.key_mark_at(&["capture", name]);
        captures.extend(capture(scope, name, capture_def, mark));
    }
    let limit = def
        .capture_limit
        .map_or(u64::from(CAPTURE_BYTES), |size| size.0);
    if limit == 0 || limit > CAPTURE_BYTES_MAX {
        let message = "capture-limit is more than nothing and at most 64MiB";
        scope.problem(node.mark_at(&["capture-limit"]), message);
    }
    let mut actions = vec![StepAction::Request(Box::new(RequestStep {
        request,
        captures,
        capture_bytes_max: limit.min(CAPTURE_BYTES_MAX) as u32,
        on_failure: def.on_failure.unwrap_or_default(),
    }))];
    if let Some(text) = &def.think {
        actions.push(think(scope, text, node)?);
    }
    Some(actions)
}

fn capture(scope: &mut Scope<'_>, name: &str, def: &CaptureDef, mark: Mark) -> Option<Capture> {
    add_variable(scope, name, mark);
    let def = def.clone();
    let skip = def.skip.unwrap_or(0);
    let sources = [
        def.json.map(|pointer| CaptureSource::Json { pointer }),
        def.all
            .map(|pointer| CaptureSource::JsonAll { pointer, skip }),
        def.header.map(|name| CaptureSource::Header { name }),
        def.cookie.map(|name| CaptureSource::Cookie { name }),
        def.regex.map(|pattern| CaptureSource::Regex { pattern }),
        def.body.unwrap_or(false).then_some(CaptureSource::Body),
    ];
    let mut sources = sources.into_iter().flatten();
    let (Some(from), None) = (sources.next(), sources.next()) else {
        let message = "a capture has one source: json, all, header, cookie, regex, or body: true";
        return scope.reject(mark, message);
    };
    let pointer = match &from {
        CaptureSource::Json { pointer } | CaptureSource::JsonAll { pointer, .. } => Some(pointer),
        _ => None,
    };
    if let Some(pointer) = pointer.filter(|text| !text.is_empty() && !text.starts_with('/')) {
        let message = format!(
            "\"{pointer}\" is not a JSON pointer: write /{}",
            pointer.replace('.', "/")
        );
        scope.problem(mark, message);
    }
    Some(Capture {
        name: name.to_owned(),
        from,
        missing: def.missing.unwrap_or_default(),
    })
}

/// Notes that a variable may have a value from here on.
fn add_variable(scope: &mut Scope<'_>, name: &str, mark: Mark) {
    let words = ["uuid", "seq", "date"];
    if !is_name(name) {
        scope.problem(
            mark,
            format!("invalid name \"{name}\": use letters, digits, - and _"),
        );
    } else if words.contains(&name) {
        scope.problem(
            mark,
            format!("\"{name}\" means something already: name it otherwise"),
        );
    } else if !scope.known.iter().any(|known| known == name) {
        scope.known.push(name.to_owned());
    }
}

fn set(scope: &mut Scope<'_>, def: &SessionStepDef, node: &Node) -> StepAction {
    let empty = std::collections::BTreeMap::new();
    let values = ordered(def.set.as_ref().unwrap_or(&empty), node.get("set"));
    for (name, text) in &values {
        check_text(scope, text, TemplateMode::Session, node, &["set", name]);
        add_variable(scope, name, node.key_mark_at(&["set", name]));
    }
    StepAction::Set { values }
}

fn choose(scope: &mut Scope<'_>, def: &SessionStepDef, node: &Node) -> Option<StepAction> {
    let list = node.get("choose")?;
    let mut branches = Vec::new();
    for (branch, node) in def.choose.iter().flatten().zip(list.items()) {
        let list = node.get("steps")?;
        branches.push(Branch {
            weight: branch.weight.unwrap_or(1.0),
            steps: steps(scope, &branch.steps, list),
        });
    }
    if branches.is_empty() {
        return scope.reject(list.mark, "there is nothing to choose from");
    }
    Some(StepAction::Choose { branches })
}

fn each(
    scope: &mut Scope<'_>,
    def: &SessionStepDef,
    node: &Node,
    list: &Node,
) -> Option<StepAction> {
    let (Some(item), Some(from)) = (&def.item, &def.list) else {
        return scope.reject(node.mark, "write for: NAME and in: LIST");
    };
    known(scope, from, node.mark_at(&["in"]));
    add_variable(scope, item, node.mark_at(&["for"]));
    Some(StepAction::Each {
        item: item.clone(),
        list: from.clone(),
        steps: steps(scope, def.steps.as_deref().unwrap_or_default(), list),
    })
}

fn repeated(
    scope: &mut Scope<'_>,
    def: &SessionStepDef,
    node: &Node,
    list: &Node,
) -> Option<StepAction> {
    let (least, most) = match &def.times {
        None => (WHILE_TIMES, WHILE_TIMES),
        Some(text) => {
            let text = text.to_string();
            let (least, most) = text.split_once("..").unwrap_or((&text, &text));
            let number = |text: &str| text.trim().parse().ok().filter(|n| *n <= TIMES_MAX);
            match (number(least), number(most)) {
                (Some(least), Some(most)) if least <= most => (least, most),
                _ => {
                    let message = format!(
                        "invalid number of times \"{text}\": write 5 or 2..5 (at most {TIMES_MAX})"
                    );
                    return scope.reject(node.mark_at(&["loop"]), message);
                }
            }
        }
    };
    // What a pass captures is known in the next one.
    let steps = steps(scope, def.steps.as_deref().unwrap_or_default(), list);
    let whilst = def.whilst.as_ref();
    Some(StepAction::Loop {
        least,
        most,
        condition: whilst.and_then(|text| condition(scope, text, node.mark_at(&["while"]))),
        steps,
    })
}

fn think(scope: &mut Scope<'_>, text: &str, node: &Node) -> Option<StepAction> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    match (from.trim().parse::<Period>(), to.trim().parse::<Period>()) {
        (Ok(from), Ok(to)) if from.0 <= to.0 => Some(StepAction::Think {
            from_ns: from.as_ns(),
            to_ns: to.as_ns(),
        }),
        (Err(error), _) | (_, Err(error)) => {
            scope.reject(node.mark_at(&["think"]), format!("{error}, or 1s..5s"))
        }
        _ => scope.reject(
            node.mark_at(&["think"]),
            format!("\"{text}\" ends before it begins"),
        ),
    }
}

fn condition(scope: &mut Scope<'_>, text: &str, mark: Mark) -> Option<Condition> {
    let text = text.trim();
    let (name, condition) = if let Some((name, value)) = text.split_once('=') {
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        (name.clone(), Condition::Is { name, value })
    } else if let Some(name) = text.strip_prefix("not ") {
        let name = name.trim().to_owned();
        (name.clone(), Condition::HasNot(name))
    } else {
        (text.to_owned(), Condition::Has(text.to_owned()))
    };
    known(scope, &name, mark).then_some(condition)
}

fn known(scope: &mut Scope<'_>, name: &str, mark: Mark) -> bool {
    let is_known = scope.known.iter().any(|known| known == name);
    if !is_known {
        let hint = hint(name, &scope.known);
        scope.problem(mark, format!("no step captures or sets \"{name}\"{hint}"));
    }
    is_known
}
