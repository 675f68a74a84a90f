//! A session script, resolved for the agent: a tree of steps, with checked variables.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::RequestSpec;

/// Histogram tag of whole sessions; no request may have this name.
pub const SESSION_NAME: &str = "session";

/// Default of the largest response body that values are captured from.
pub const CAPTURE_BYTES: u32 = 1 << 20;

/// A session: the requests of one user, from arriving to leaving.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionSpec {
    /// Steps, in order.
    pub steps: Vec<SessionStep>,
    /// Whether cookies of responses are sent back.
    pub cookies: Cookies,
}

/// Whether cookies of responses are sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cookies {
    /// As browsers do, by path and expiry.
    Kept,
    /// Never.
    Ignored,
}

/// A session step with its probability and condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionStep {
    /// Probability of the step, from 0 to 1.
    pub probability: f64,
    /// Condition of the step.
    pub condition: Option<Condition>,
    /// Action of the step.
    pub action: StepAction,
}

/// A condition on a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// The variable has a value (a list: at least one item).
    Has(String),
    /// The variable has no value.
    HasNot(String),
    /// The variable has this value.
    Is {
        /// Name of the variable.
        name: String,
        /// Value of the variable.
        value: String,
    },
}

/// Action of a session step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
pub enum StepAction {
    /// Sends a request and waits for its response.
    Request(Box<RequestStep>),
    /// Sets variables.
    Set {
        /// Names and value templates, in order.
        values: Vec<(String, String)>,
    },
    /// Waits for a thinking time, uniformly distributed.
    Think {
        /// Shortest time.
        from_ns: u64,
        /// Longest time.
        to_ns: u64,
    },
    /// Runs steps in order.
    Group {
        /// The steps.
        steps: Vec<SessionStep>,
    },
    /// Repeats steps.
    Loop {
        /// Least number of passes.
        least: u32,
        /// Greatest number of passes; the number is drawn uniformly when the loop begins.
        most: u32,
        /// Condition, checked before each pass.
        condition: Option<Condition>,
        /// The steps.
        steps: Vec<SessionStep>,
    },
    /// Runs steps once for each item of a list.
    Each {
        /// Variable that holds the item.
        item: String,
        /// Variable that holds the list.
        list: String,
        /// The steps.
        steps: Vec<SessionStep>,
    },
    /// Runs one of several branches, drawn by weight.
    Choose {
        /// The branches.
        branches: Vec<Branch>,
    },
}

/// A branch of a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Weight among the branches.
    pub weight: f64,
    /// Steps of the branch.
    pub steps: Vec<SessionStep>,
}

/// A request of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestStep {
    /// The request and its expected response; its weight is not used.
    pub request: RequestSpec,
    /// Values to capture from the response.
    pub captures: Vec<Capture>,
    /// Largest body that values are captured from.
    pub capture_bytes_max: u32,
    /// What a failed request means for the session.
    pub on_failure: OnFailure,
}

/// What a failed request means for the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The session ends, failed.
    #[default]
    Abort,
    /// The session continues; it counts as failed nevertheless.
    Continue,
}

/// A value to capture from a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Variable that receives the value.
    pub name: String,
    /// Where the value is.
    pub from: CaptureSource,
    /// What a missing value means.
    pub missing: OnMissing,
}

/// Where a value is in a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CaptureSource {
    /// The whole body.
    Body,
    /// The value at a JSON pointer (RFC 6901); strings without quotes, anything else as its JSON text.
    Json {
        /// JSON pointer.
        pointer: String,
    },
    /// All values at a JSON pointer in which `*` stands for every item of an array; the variable is a list.
    JsonAll {
        /// JSON pointer with `*`.
        pointer: String,
        /// Number of items to skip at the beginning.
        skip: u32,
    },
    /// The value of a header.
    Header {
        /// Name of the header.
        name: String,
    },
    /// The value of a cookie that the response sets.
    Cookie {
        /// Name of the cookie.
        name: String,
    },
    /// The first group of a regular expression over the body; without a group, the whole match.
    Regex {
        /// The expression.
        pattern: String,
    },
}

/// What a missing value means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnMissing {
    /// The request fails.
    #[default]
    Fails,
    /// The variable has no value.
    Unset,
}

impl SessionSpec {
    /// All requests of the session, numbered in the order of the file.
    #[must_use]
    pub fn request_steps(&self) -> Vec<&RequestStep> {
        fn walk<'a>(steps: &'a [SessionStep], found: &mut Vec<&'a RequestStep>) {
            for step in steps {
                match &step.action {
                    StepAction::Request(step) => found.push(step),
                    StepAction::Set { .. } | StepAction::Think { .. } => {}
                    StepAction::Group { steps }
                    | StepAction::Loop { steps, .. }
                    | StepAction::Each { steps, .. } => {
                        walk(steps, found);
                    }
                    StepAction::Choose { branches } => {
                        for branch in branches {
                            walk(&branch.steps, found);
                        }
                    }
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.steps, &mut found);
        found
    }
}
