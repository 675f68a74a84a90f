//! What an instance asks while it works: another instance that its target names, such as an authorisation server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TargetDef;
use crate::topology::Settings;

/// A further instance that every instance of the target asks about what passes through it. It stands
/// in the same pod and is called `INSTANCE-NAME`; templates see the way to it as a route that begins here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskDef {
    /// What it is, the end of its name: `authorizer`.
    pub name: String,
    /// Target that plays it.
    pub target: String,
    /// Protocol in which it is asked.
    pub protocol: String,
    /// Setting (true or false) that decides whether it is there.
    pub when: String,
    /// Setting (0 to 1) for the share of requests it is asked about. Default: every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
    /// Protocols of the edges it is asked about.
    pub about: Vec<String>,
    /// Its settings, over its target's defaults.
    #[serde(default)]
    pub settings: Settings,
}

/// What serde cannot see. The error is the word to point at and what is wrong with it.
pub(super) fn check(def: &TargetDef) -> Result<(), (String, String)> {
    for ask in &def.asks {
        let is = |setting: &str, fits: fn(&Value) -> bool| {
            def.settings
                .get(setting)
                .is_some_and(|setting| fits(&setting.default))
        };
        if !is(&ask.when, Value::is_boolean) {
            return Err((
                ask.when.clone(),
                format!(
                    "`when` of {} must name a setting that is true or false",
                    ask.name
                ),
            ));
        }
        if let Some(share) = &ask.share
            && !is(share, |value| {
                value
                    .as_f64()
                    .is_some_and(|share| (0.0..=1.0).contains(&share))
            })
        {
            return Err((
                share.clone(),
                format!("`share` of {} must name a setting from 0 to 1", ask.name),
            ));
        }
        let unspoken = ask.about.iter().find(|word| !def.speaks.contains(word));
        if let Some(word) = unspoken {
            return Err((
                word.clone(),
                format!(
                    "{} is asked about {word}, which the target does not speak",
                    ask.name
                ),
            ));
        }
    }
    Ok(())
}
