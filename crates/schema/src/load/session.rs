//! A scripted session as an agent gets it: a tree of acts, checked, with every variable named.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::RequestSpec;

/// Name of the series that holds whole sessions; no step may have it.
pub const SESSION_NAME: &str = "session";

/// Largest answer body that a step captures from, unless it says otherwise.
pub const CAPTURE_BYTES: u32 = 1 << 20;

/// A session: what one user does from arriving to leaving.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionSpec {
    /// What is done, in order.
    pub acts: Vec<Act>,
    /// Whether cookies of answers are sent again.
    pub cookies: Cookies,
}

/// Whether cookies of answers are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cookies {
    /// As a browser does, by path and expiry.
    Kept,
    /// They are ignored.
    Ignored,
}

/// One thing that a session does, if it does it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// How probable it is, from 0 to 1.
    pub probability: f64,
    /// A variable that must have a value, or must have none.
    pub condition: Option<Condition>,
    /// What is done.
    pub deed: Deed,
}

/// A condition on a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// It has a value (a list: at least one item).
    Has(String),
    /// It has none.
    HasNot(String),
    /// It has just this value.
    Is {
        /// The variable.
        name: String,
        /// The value.
        value: String,
    },
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "deed", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Deed {
    /// A request is sent and its answer awaited.
    Request(Box<Step>),
    /// Variables get values.
    Set {
        /// Names and templates, in order.
        values: Vec<(String, String)>,
    },
    /// Nothing for a while, evenly between two times.
    Think {
        /// Shortest.
        from_ns: u64,
        /// Longest.
        to_ns: u64,
    },
    /// Acts in order.
    Group {
        /// The acts.
        acts: Vec<Act>,
    },
    /// Acts again and again.
    Loop {
        /// Fewest times.
        least: u32,
        /// Most times; a number between is drawn each time the loop begins.
        most: u32,
        /// What must hold before each time.
        condition: Option<Condition>,
        /// The acts.
        acts: Vec<Act>,
    },
    /// Acts once for each item of a list.
    Each {
        /// Variable that gets the item.
        item: String,
        /// Variable that holds the list.
        list: String,
        /// The acts.
        acts: Vec<Act>,
    },
    /// One of several branches, by weight.
    Choose {
        /// The branches.
        branches: Vec<Branch>,
    },
}

/// One of several ways to go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// How often it is taken, relative to the others.
    pub weight: f64,
    /// What is done.
    pub acts: Vec<Act>,
}

/// A request of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What is sent and expected; its weight means nothing.
    pub request: RequestSpec,
    /// What is kept of the answer.
    pub captures: Vec<Capture>,
    /// Largest body that is kept for captures.
    pub capture_bytes_max: u32,
    /// What a wrong answer means for the session.
    pub on_failure: OnFailure,
}

/// What a wrong answer means for the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// It ends here, failed.
    #[default]
    End,
    /// It goes on; it has failed all the same.
    GoOn,
}

/// Something kept of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Variable that gets it.
    pub name: String,
    /// Where it stands.
    pub from: Source,
    /// What it means when it is not there.
    pub missing: Missing,
}

/// Where something stands in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Source {
    /// The whole body.
    Body,
    /// The value at a JSON pointer (RFC 6901); text without its quotes, everything else as it stands.
    Json {
        /// The pointer.
        pointer: String,
    },
    /// All values at a pointer in which `*` stands for every item of an array: a list.
    JsonAll {
        /// The pointer.
        pointer: String,
        /// Items left out at the beginning.
        skip: u32,
    },
    /// A header's value.
    Header {
        /// Its name.
        name: String,
    },
    /// The value of a cookie that the answer sets.
    Cookie {
        /// Its name.
        name: String,
    },
    /// The first group of a regular expression over the body, or all that it matches if it has no group.
    Regex {
        /// The expression.
        pattern: String,
    },
}

/// What it means when a capture finds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The answer is wrong.
    #[default]
    Fails,
    /// The variable has no value.
    Unset,
}

impl SessionSpec {
    /// All its requests, in the order of the file: their numbers.
    #[must_use]
    pub fn steps(&self) -> Vec<&Step> {
        fn walk<'a>(acts: &'a [Act], found: &mut Vec<&'a Step>) {
            for act in acts {
                match &act.deed {
                    Deed::Request(step) => found.push(step),
                    Deed::Set { .. } | Deed::Think { .. } => {}
                    Deed::Group { acts } | Deed::Loop { acts, .. } | Deed::Each { acts, .. } => {
                        walk(acts, found);
                    }
                    Deed::Choose { branches } => {
                        for branch in branches {
                            walk(&branch.acts, found);
                        }
                    }
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.acts, &mut found);
        found
    }
}
