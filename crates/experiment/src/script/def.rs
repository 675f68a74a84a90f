//! Definitions of requests files and session scripts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tare_record::load::session::{OnFailure, OnMissing};
use tare_record::load::{Order, Rows, TemplateMode};
use tare_record::schemas::JsonSchema;
use tare_record::units::{Share, Size};

use crate::def::OneOrSeveral;

/// A file of plain requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "file of requests"))]
pub struct RequestsDef {
    /// Server: `http://host:port`. Default: the URL of the command line.
    pub url: Option<String>,
    /// How paths, headers and bodies are read: `none` (as written), or `random`, which fills `{uuid}`, `{int:1..1000}` anew for
    /// every exchange. Default: none.
    pub template: Option<TemplateMode>,
    /// Order of requests. Default: weighted (at random, by weight).
    pub order: Option<Order>,
    /// Data tables for placeholders, by name.
    #[serde(default)]
    pub data: BTreeMap<String, DataDef>,
    /// Requests.
    #[schemars(extend("minItems" = 1))]
    pub requests: Vec<ScriptRequestDef>,
}

/// A session: the requests of one user, from arriving to leaving.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "session"))]
pub struct SessionDef {
    /// Name of the session, for people.
    pub session: Option<String>,
    /// Server: `http://host:port`. Default: the URL of the command line.
    pub url: Option<String>,
    /// Whether cookies of responses are sent back, as browsers do. Default: true.
    pub cookies: Option<bool>,
    /// Data tables for placeholders, by name.
    #[serde(default)]
    pub data: BTreeMap<String, DataDef>,
    /// Steps, in order.
    #[schemars(extend("minItems" = 1))]
    pub steps: Vec<SessionStepDef>,
}

/// A data table: a `file`, or `rows`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "data"))]
pub struct DataDef {
    /// File beside this one: CSV with a header line (`.csv`), or one JSON object per line (`.jsonl`, `.ndjson`).
    pub file: Option<String>,
    /// Rows, each with a value for every column.
    #[serde(default)]
    pub rows: Vec<BTreeMap<String, Scalar>>,
    /// Which row is used. Default: sequential.
    pub order: Option<Rows>,
}

/// A scalar: a text, or a number or boolean that is used as text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// Text.
    Text(String),
    /// A number.
    Number(serde_json::Number),
    /// `true` or `false`.
    Truth(bool),
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Text(text) => f.write_str(text),
            Scalar::Number(number) => write!(f, "{number}"),
            Scalar::Truth(truth) => write!(f, "{truth}"),
        }
    }
}

/// A plain request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "request"))]
pub struct ScriptRequestDef {
    /// Name of the request and of its histogram.
    pub name: String,
    /// Weight among all requests. Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weight: Option<f64>,
    /// HTTP method. Default: GET, or POST with a body.
    pub method: Option<String>,
    /// Path with query. Default: `/`.
    pub path: Option<String>,
    /// Headers.
    #[serde(default)]
    pub headers: BTreeMap<String, Scalar>,
    /// Body as text.
    pub body: Option<String>,
    /// Body from a file beside this one.
    #[serde(rename = "body-file")]
    pub body_file: Option<String>,
    /// Body as a form: names and values.
    pub form: Option<BTreeMap<String, Scalar>>,
    /// Body as JSON.
    pub json: Option<serde_json::Value>,
    /// Expected response. Default: any 2xx or 3xx, any body.
    pub expect: Option<ScriptExpectDef>,
}

/// The expected response: anything else counts as an error.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "expect"))]
pub struct ScriptExpectDef {
    /// Expected status, or a list of them. Default: any 2xx or 3xx.
    pub status: Option<OneOrSeveral<u16>>,
    /// Expected body.
    pub text: Option<String>,
    /// Regular expression that must match in the beginning of the body.
    pub matches: Option<String>,
    /// Length of that beginning. Default: 64KiB.
    pub match_limit: Option<Size>,
    /// Expected length of the body.
    pub length: Option<Size>,
}

/// A session step: a request (`name`, `path`), or one of `set`, `think`, `loop`, `while`, `for`, `choose`, `steps`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-word" = "step"))]
pub struct SessionStepDef {
    /// Probability of the step. Default: always.
    pub probability: Option<Share>,
    /// Condition of the step: `token` (the variable has a value), `not token` (it has none), `token = yes` (it has this value).
    #[serde(rename = "if")]
    pub condition: Option<String>,
    /// Name of the request and of its histogram.
    pub name: Option<String>,
    /// HTTP method. Default: GET, or POST with a body.
    pub method: Option<String>,
    /// Path with query.
    pub path: Option<String>,
    /// Headers.
    pub headers: BTreeMap<String, Scalar>,
    /// Body as text.
    pub body: Option<String>,
    /// Body from a file beside this one.
    #[serde(rename = "body-file")]
    pub body_file: Option<String>,
    /// Body as a form: names and values.
    pub form: Option<BTreeMap<String, Scalar>>,
    /// Body as JSON.
    pub json: Option<serde_json::Value>,
    /// Expected response. Default: any 2xx or 3xx, any body.
    pub expect: Option<ScriptExpectDef>,
    /// Values to capture from the response, by variable.
    pub capture: BTreeMap<String, CaptureDef>,
    /// Largest body that values are captured from. Default: 1MiB, at most 64MiB.
    #[serde(rename = "capture-limit")]
    pub capture_limit: Option<Size>,
    /// What a failed request means for the session. Default: abort.
    #[serde(rename = "on-failure")]
    pub on_failure: Option<OnFailure>,
    /// Thinking time after the request, or as a step of its own: `2s`, or a uniformly distributed `1s..5s`.
    pub think: Option<String>,
    /// Variables to set, with their values.
    pub set: Option<BTreeMap<String, Scalar>>,
    /// Number of passes over `steps`: a number, or a range `2..5` from which it is drawn.
    #[serde(rename = "loop")]
    pub times: Option<Scalar>,
    /// Condition, checked before each pass over `steps`. Without `loop`: at most 1000 passes.
    #[serde(rename = "while")]
    pub whilst: Option<String>,
    /// Variable that holds each item of the list `in` in turn.
    #[serde(rename = "for")]
    pub item: Option<String>,
    /// Variable that holds the list.
    #[serde(rename = "in")]
    pub list: Option<String>,
    /// Branches, of which one is drawn by weight.
    pub choose: Option<Vec<BranchDef>>,
    /// Steps of a loop, or a group of steps.
    pub steps: Option<Vec<SessionStepDef>>,
}

/// A branch of a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "branch"))]
pub struct BranchDef {
    /// Weight among the branches. Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weight: Option<f64>,
    /// Steps of the branch.
    pub steps: Vec<SessionStepDef>,
}

/// Where to capture a value from a response: exactly one of `json`, `all`, `header`, `cookie`, `regex`, `body`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-word" = "capture"))]
pub struct CaptureDef {
    /// JSON pointer to a value: `/items/0/id`.
    pub json: Option<String>,
    /// JSON pointer with `*` for every item of an array: `/items/*/id`. The variable is a list.
    pub all: Option<String>,
    /// With `all`: number of items to skip at the beginning of the list. Default: 0.
    pub skip: Option<u32>,
    /// Name of a header.
    pub header: Option<String>,
    /// Name of a cookie that the response sets.
    pub cookie: Option<String>,
    /// Regular expression over the body: its first group, or the whole match.
    pub regex: Option<String>,
    /// `true` for the whole body.
    pub body: Option<bool>,
    /// Meaning of a missing value. Default: fails.
    pub missing: Option<OnMissing>,
}
