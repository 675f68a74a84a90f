//! Files of requests and sessions as they are written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::session::{Missing, OnFailure};
use crate::load::{Order, Rows};
use crate::units::{Share, Size};

/// Several plain requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "file of requests"))]
pub struct RequestsDef {
    /// Where to: `http://host:port`. Default: the URL of the command line.
    pub url: Option<String>,
    /// Whether `{uuid}`, `{int:1..1000}` and so on are filled anew for every exchange. Default: false.
    pub random: Option<bool>,
    /// Which request comes next. Default: weighted.
    pub order: Option<Order>,
    /// Data that requests are filled with, by name.
    #[serde(default)]
    pub data: BTreeMap<String, DataDef>,
    /// The requests.
    #[schemars(extend("minItems" = 1))]
    pub requests: Vec<ScriptRequestDef>,
}

/// A session: what one user does from arriving to leaving.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "session"))]
pub struct SessionDef {
    /// What it is called, for people.
    pub session: Option<String>,
    /// Where to: `http://host:port`. Default: the URL of the command line.
    pub url: Option<String>,
    /// Whether cookies are kept and sent as a browser does. Default: true.
    pub cookies: Option<bool>,
    /// Data that steps are filled with, by name.
    #[serde(default)]
    pub data: BTreeMap<String, DataDef>,
    /// What is done, in order.
    #[schemars(extend("minItems" = 1))]
    pub steps: Vec<ActDef>,
}

/// Rows of data: a file, or a list here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "data"))]
pub struct DataDef {
    /// A CSV file with a line of names (`.csv`), or a file with a JSON object on each line (`.jsonl`, `.ndjson`), beside this file.
    pub file: Option<String>,
    /// Rows written here, each with a value for every name.
    #[serde(default)]
    pub rows: Vec<BTreeMap<String, Word>>,
    /// Which row is taken. Default: sequential.
    pub order: Option<Rows>,
}

/// A text, or a number or truth value that stands for its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Word {
    /// Text.
    Text(String),
    /// A number.
    Number(serde_json::Number),
    /// True or false.
    Truth(bool),
}

impl std::fmt::Display for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Word::Text(text) => f.write_str(text),
            Word::Number(number) => write!(f, "{number}"),
            Word::Truth(truth) => write!(f, "{truth}"),
        }
    }
}

/// A plain request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "request"))]
pub struct ScriptRequestDef {
    /// Name, under which its latencies are kept.
    pub name: String,
    /// Its share among all, relative to the others. Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weight: Option<f64>,
    /// Method. Default: GET, or POST with a body.
    pub method: Option<String>,
    /// Path with query. Default: /.
    pub path: Option<String>,
    /// Headers.
    #[serde(default)]
    pub headers: BTreeMap<String, Word>,
    /// A body as text.
    pub body: Option<String>,
    /// A body from a file beside this one.
    #[serde(rename = "body-file")]
    pub body_file: Option<String>,
    /// A body as a form: names and values.
    pub form: Option<BTreeMap<String, Word>>,
    /// A body as JSON.
    pub json: Option<serde_json::Value>,
    /// What a right answer is. Default: any body with a status of 2xx or 3xx.
    pub expect: Option<ScriptExpectDef>,
}

/// What a right answer is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "expect"))]
pub struct ScriptExpectDef {
    /// One status, or a list of several.
    pub status: Option<Statuses>,
    /// Just this body.
    pub text: Option<String>,
    /// A regular expression that finds something at the beginning of the body.
    pub matches: Option<String>,
    /// How much of the body it looks at. Default: 64KiB.
    pub within: Option<Size>,
    /// Just so many bytes.
    pub length: Option<Size>,
}

/// One status, or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Statuses {
    /// One.
    One(u16),
    /// Several.
    Several(Vec<u16>),
}

/// One thing that a session does: a request (`name`, `path`), or one of `set`, `think`, `loop`, `while`, `for`, `choose`, `steps`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-word" = "step"))]
pub struct ActDef {
    /// How probable it is that this is done. Default: always.
    pub probability: Option<Share>,
    /// A condition: `token` has a value, `not token` has none, `token = yes` has just this one.
    #[serde(rename = "if")]
    pub condition: Option<String>,
    /// Name of the request, under which its latencies are kept.
    pub name: Option<String>,
    /// Method. Default: GET, or POST with a body.
    pub method: Option<String>,
    /// Path with query.
    pub path: Option<String>,
    /// Headers.
    pub headers: BTreeMap<String, Word>,
    /// A body as text.
    pub body: Option<String>,
    /// A body from a file beside this one.
    #[serde(rename = "body-file")]
    pub body_file: Option<String>,
    /// A body as a form: names and values.
    pub form: Option<BTreeMap<String, Word>>,
    /// A body as JSON.
    pub json: Option<serde_json::Value>,
    /// What a right answer is. Default: any body with a status of 2xx or 3xx.
    pub expect: Option<ScriptExpectDef>,
    /// What is kept of the answer: variables and where they stand in it.
    pub capture: BTreeMap<String, CaptureDef>,
    /// Largest body that something is captured from. Default: 1MiB.
    #[serde(rename = "capture-limit")]
    pub capture_limit: Option<Size>,
    /// What a wrong answer means for the session. Default: end.
    #[serde(rename = "on-failure")]
    pub on_failure: Option<OnFailure>,
    /// A pause behind the request, or a step of its own: a time, or two with `..` between.
    pub think: Option<String>,
    /// Variables and what they are set to.
    pub set: Option<BTreeMap<String, Word>>,
    /// How often `steps` are done: a number, or two with `..` between.
    #[serde(rename = "loop")]
    pub times: Option<Word>,
    /// A condition that must hold before each time. With no `loop`: at most 1000 times.
    #[serde(rename = "while")]
    pub whilst: Option<String>,
    /// A variable that takes each item of the list `in`.
    #[serde(rename = "for")]
    pub item: Option<String>,
    /// The list.
    #[serde(rename = "in")]
    pub list: Option<String>,
    /// Ways to go on, of which one is taken by weight.
    pub choose: Option<Vec<BranchDef>>,
    /// What is done.
    pub steps: Option<Vec<ActDef>>,
}

/// One of several ways to go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "branch"))]
pub struct BranchDef {
    /// How often it is taken, relative to the others. Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weight: Option<f64>,
    /// What is done.
    pub steps: Vec<ActDef>,
}

/// Where something stands in an answer: one of `json`, `all`, `header`, `cookie`, `regex`, `body`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-word" = "capture"))]
pub struct CaptureDef {
    /// A JSON pointer: `/items/0/id`.
    pub json: Option<String>,
    /// A JSON pointer with `*` for every item: `/items/*/id`. Gives a list.
    pub all: Option<String>,
    /// Items of the list left out at its beginning. Default: 0.
    pub skip: Option<u32>,
    /// Name of a header.
    pub header: Option<String>,
    /// Name of a cookie that the answer sets.
    pub cookie: Option<String>,
    /// A regular expression over the body; its first group, or all that it matches.
    pub regex: Option<String>,
    /// `true`: the whole body.
    pub body: Option<bool>,
    /// What it means when there is nothing. Default: fails.
    pub missing: Option<Missing>,
}
