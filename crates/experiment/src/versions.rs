//! Experiments over versions: every arm that uses a target is measured once per version of it.

use tare_record::plan::Plan;
use tare_record::topology::VERSION_SETTING;

use crate::problem::{Problems, list};
use crate::resolve::ExperimentSource;
use crate::yaml::{self, Mark, Node, Value};

/// Keys of an experiment that name its arms, and so make no sense for others.
const KEYS_ABOUT_ARMS: [&str; 3] = ["published", "assert", "waterfall"];

/// Number of blocks of a pair, and the half width of the interval that ends it: below the default margin, 5 %.
const BLOCKS_MIN: u32 = 5;
const BLOCKS_MAX: u32 = 60;
const HALF_WIDTH: &str = "4%";

/// A target and the versions to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionArms {
    /// The target.
    pub target: String,
    /// Versions in the order of comparison.
    pub versions: Vec<NamedVersion>,
    /// Whether a single arm is measured, and which one; the default is the last one that uses the target.
    pub only: Only,
}

/// A version with its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedVersion {
    /// Value of the setting `version`.
    pub version: String,
    /// Words for people: the version, or the path of a program.
    pub words: String,
    /// Name of the arm, if there is one arm per version.
    pub arm: String,
}

/// Which arms are measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Only {
    /// All arms; those that use the target once per version.
    All,
    /// The named one, or the last one that uses the target.
    One {
        /// Name of the arm.
        arm: Option<String>,
        /// Which levels are measured.
        levels: PairLevels,
    },
}

/// Levels at which two versions are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairLevels {
    /// The last one, which answers the question of the experiment.
    Last,
    /// All.
    All,
}

impl VersionArms {
    /// The experiment with an arm per version; `plan` is the plan of the experiment as it is written.
    ///
    /// # Errors
    /// No arm uses the target; the named one does not, or does not exist.
    pub fn apply(
        &self,
        source: &ExperimentSource,
        plan: &Plan,
    ) -> Result<ExperimentSource, Problems> {
        let wrong = |message: String| Problems::one(&source.file, Mark::START, message);
        let mut root = yaml::parse(&source.file, &source.text)?;
        let using = self.using(plan).map_err(wrong)?;
        let items = root.get("arms").map_or(&[][..], Node::items).to_vec();
        let mut arms = Vec::new();
        let mut sequences = Vec::new();
        for item in &items {
            let name = item.get("name").and_then(Node::text).unwrap_or_default();
            match (using.contains(&name), &self.only) {
                (true, _) => {
                    let made: Vec<Node> = self.arms_of(item, name).collect();
                    sequences.push((name.to_owned(), names_of(&made)));
                    arms.extend(made);
                }
                (false, Only::All) => arms.push(item.clone()),
                (false, Only::One { .. }) => {}
            }
        }
        let mark = root.mark;
        for key in KEYS_ABOUT_ARMS {
            root.remove(key);
        }
        if let Some(quick) = root.get_mut("quick") {
            quick_arms(quick, &sequences, matches!(self.only, Only::All));
        }
        root.set(&["arms"], mark, list_at(mark, arms));
        if let Only::One { levels, .. } = self.only {
            only_the_pair(&mut root, levels);
        }
        let words: Vec<String> = self.versions.iter().map(|one| one.words.clone()).collect();
        let question = format!("How do {} {} differ?", self.target, list(&words));
        root.set(&["question"], mark, Node::text_at(mark, &question));
        let suffix = match self.only {
            Only::All => "versions",
            Only::One { .. } => "ab",
        };
        Ok(ExperimentSource {
            experiment: format!("{}-{suffix}", source.experiment),
            file: source.file.clone(),
            text: root.to_json().to_string(),
        })
    }

    /// Names of the arms to repeat.
    fn using<'p>(&self, plan: &'p Plan) -> Result<Vec<&'p str>, String> {
        let uses = |arm: &&tare_record::plan::Arm| {
            let mut instances = arm.topology.instances.iter();
            instances.any(|instance| instance.target == self.target)
        };
        let using: Vec<&str> = plan
            .arms
            .iter()
            .filter(uses)
            .map(|arm| arm.name.as_str())
            .collect();
        let Some(last) = using.last() else {
            return Err(format!(
                "no arm of {} uses the target \"{}\"",
                plan.experiment, self.target
            ));
        };
        match &self.only {
            Only::All => Ok(using),
            Only::One { arm: None, .. } => Ok(vec![last]),
            Only::One { arm: Some(arm), .. } => match using.iter().find(|name| *name == arm) {
                Some(name) => Ok(vec![name]),
                None => {
                    let known: Vec<String> = using.iter().map(|&name| name.to_owned()).collect();
                    let known = list(&known);
                    let target = &self.target;
                    Err(format!(
                        "no arm \"{arm}\" that uses the target \"{target}\": there are {known}"
                    ))
                }
            },
        }
    }

    /// An arm once per version.
    fn arms_of<'a>(&'a self, arm: &'a Node, name: &'a str) -> impl Iterator<Item = Node> + 'a {
        self.versions.iter().map(move |version| {
            let mark = arm.mark;
            let text = |text: &str| Node::text_at(mark, text);
            let label = match self.only {
                Only::All => format!("{name}-{}", version.arm),
                Only::One { .. } => version.arm.clone(),
            };
            let software = format!("{} {}", self.target, version.words);
            let mut arm = arm.clone();
            arm.set(&["name"], mark, text(&label));
            arm.set(&["about"], mark, text(&format!("{name} with {software}")));
            let subject = match self.only {
                Only::All => format!("{name} with {software}"),
                Only::One { .. } => software,
            };
            arm.set(&["subject"], mark, text(&subject));
            let setting = ["targets", &self.target, VERSION_SETTING];
            arm.set(&setting, mark, text(&version.version));
            arm
        })
    }
}

/// Part of an arm's name for a version: names have no dots.
#[must_use]
pub fn arm_of_version(version: &str) -> String {
    let lower = version.to_ascii_lowercase();
    let plain = lower.chars().map(|one| match one.is_ascii_alphanumeric() {
        true => one,
        false => '-',
    });
    plain.collect()
}

/// The wanted levels, no second measurement of the old version, and as many blocks as it takes.
fn only_the_pair(root: &mut Node, levels: PairLevels) {
    let mark = root.mark;
    let metric = root.descend(&["primary", "0"]).text().unwrap_or("median");
    let mut until = Node::map(mark);
    until.set(&["metric"], mark, Node::text_at(mark, metric));
    until.set(&["half_width"], mark, Node::text_at(mark, HALF_WIDTH));
    let mut blocks = Node::map(mark);
    for (key, number) in [("min", BLOCKS_MIN), ("max", BLOCKS_MAX)] {
        let value = Value::Number(number.into());
        blocks.set(&[key], mark, Node { mark, value });
    }
    blocks.set(&["until"], mark, until);
    let value = Value::Bool(false);
    root.set(&["aa_check"], mark, Node { mark, value });
    root.set(&["blocks"], mark, blocks);
    root.remove("per_request_level");
    if let Some(quick) = root.get_mut("quick") {
        quick.remove("blocks");
        quick.remove("aa_check");
        if levels == PairLevels::Last {
            last_values(quick);
        }
    }
    if levels == PairLevels::Last {
        last_values(root);
    }
}

/// Keeps the last value of every factor.
fn last_values(root: &mut Node) {
    let Some(Value::Map(factors)) = root.get_mut("factors").map(|factors| &mut factors.value)
    else {
        return;
    };
    for factor in factors {
        if let Value::List(values) = &mut factor.value.value {
            let all = values.len();
            values.drain(..all.saturating_sub(1));
        }
    }
}

fn names_of(arms: &[Node]) -> Vec<String> {
    let names = arms.iter().filter_map(|arm| arm.get("name")?.text());
    names.map(str::to_owned).collect()
}

fn list_at(mark: Mark, items: Vec<Node>) -> Node {
    let value = Value::List(items);
    Node { mark, value }
}

/// The arms of the quick form: those of the versions in place of the arm that they come from.
fn quick_arms(quick: &mut Node, sequences: &[(String, Vec<String>)], keeps_others: bool) {
    let Some(arms) = quick.get("arms").cloned() else {
        return;
    };
    if !keeps_others {
        quick.remove("arms");
        return;
    }
    let mark = arms.mark;
    let names = arms.items().iter().filter_map(Node::text);
    let names = names.flat_map(|name| {
        let made = sequences.iter().find(|(from, _)| from == name);
        made.map_or_else(|| vec![name.to_owned()], |(_, made)| made.clone())
    });
    let names = names.map(|name| Node::text_at(mark, &name)).collect();
    quick.set(&["arms"], mark, list_at(mark, names));
}
