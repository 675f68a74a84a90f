//! External authorization: servers that the instances of a target query, such as an authorisation server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TargetDef;
use crate::topology::Settings;

/// An authorization server that every instance of the target queries about the requests it forwards. It shares the instance's
/// pod and is named `INSTANCE-NAME`; templates see the connection to it as a route from the instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtAuthzDef {
    /// Last part of its name: `authorizer`.
    pub name: String,
    /// Target of the server.
    pub target: String,
    /// Protocol of the queries.
    pub protocol: String,
    /// Boolean setting of the querying target that enables it.
    pub enabled_by: String,
    /// Setting (0 to 1) of the querying target for the share of requests it is queried about. Default: every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_setting: Option<String>,
    /// Protocols of the edges it is queried about.
    pub protocols: Vec<String>,
    /// Settings of the server, over its target's defaults.
    #[serde(default)]
    pub settings: Settings,
}

/// Checks beyond the types. An error is the word to point at and the problem.
pub(super) fn check(def: &TargetDef) -> Result<(), (String, String)> {
    for ask in &def.ext_authz {
        let is = |setting: &str, fits: fn(&Value) -> bool| {
            def.settings
                .get(setting)
                .is_some_and(|setting| fits(&setting.default))
        };
        if !is(&ask.enabled_by, Value::is_boolean) {
            return Err((
                ask.enabled_by.clone(),
                format!(
                    "`enabled_by` of {} must name a setting that is true or false",
                    ask.name
                ),
            ));
        }
        if let Some(share) = &ask.share_setting
            && !is(share, |value| {
                value
                    .as_f64()
                    .is_some_and(|share| (0.0..=1.0).contains(&share))
            })
        {
            return Err((
                share.clone(),
                format!(
                    "`share_setting` of {} must name a setting from 0 to 1",
                    ask.name
                ),
            ));
        }
        let unspoken = ask.protocols.iter().find(|word| !def.speaks.contains(word));
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
