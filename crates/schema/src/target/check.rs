//! Reads a `target.yaml` and reports problems with line, column and the nearest valid word.

use std::path::Path;

use regex::Regex;
use serde_json::Value;

use super::{
    COUNTERS, CounterDef, CounterSource, Get, MavenDef, SettingDef, TargetDef, TargetKind, nearest,
};
use crate::text;
use crate::topology::Settings;

/// A problem in a target folder, or in settings that an experiment makes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The text is not a valid target definition.
    #[error("{file}:{line}:{column}: {what}")]
    Text {
        /// File name.
        file: String,
        /// Line, from 1; 0 when unknown.
        line: u64,
        /// Column, from 1; 0 when unknown.
        column: u64,
        /// The problem, with the nearest valid word.
        what: String,
    },
    /// An unknown setting.
    #[error("target {target} has no setting `{setting}`{}", meant(.nearest.as_deref(), .known))]
    UnknownSetting {
        /// Target.
        target: String,
        /// The unknown name.
        setting: String,
        /// The nearest known name.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// An invalid value of a setting.
    #[error("target {target}: setting `{setting}` must be {wanted}, not {found}")]
    SettingValue {
        /// Target.
        target: String,
        /// Setting.
        setting: String,
        /// Allowed values.
        wanted: String,
        /// The invalid value.
        found: String,
    },
}

fn meant(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(word) => format!("; did you mean `{word}`?"),
        None if known.is_empty() => "; it has none".to_owned(),
        None => format!("; it has {}", known.join(", ")),
    }
}

impl TargetDef {
    /// Reads a definition; `file` is named in errors.
    ///
    /// # Errors
    /// The problem, with line and column and the nearest valid word.
    pub fn from_yaml(text: &str, file: &Path) -> Result<TargetDef, TargetError> {
        let def: TargetDef =
            serde_saphyr::from_str(text).map_err(|error| text_error(&error, file))?;
        check(&def).map_err(|(word, what)| {
            let (line, column) = position(text, &word);
            TargetError::Text {
                file: file.display().to_string(),
                line,
                column,
                what,
            }
        })?;
        Ok(def)
    }
}

fn text_error(error: &serde_saphyr::Error, file: &Path) -> TargetError {
    let error = error.without_snippet();
    let (line, column) = error
        .location()
        .map_or((0, 0), |place| (place.line(), place.column()));
    let what = match error {
        serde_saphyr::Error::SerdeUnknownField {
            field, expected, ..
        } => unknown("key", field, expected),
        serde_saphyr::Error::SerdeUnknownVariant {
            variant, expected, ..
        } => unknown("word", variant, expected),
        other => other
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
    };
    TargetError::Text {
        file: file.display().to_string(),
        line,
        column,
        what,
    }
}

fn unknown(kind: &str, word: &str, expected: &[&str]) -> String {
    match nearest(word, expected.iter().copied()) {
        Some(near) => format!("unknown {kind} `{word}`; did you mean `{near}`?"),
        None => format!(
            "unknown {kind} `{word}`; known here: {}",
            expected.join(", ")
        ),
    }
}

/// Position of a word in the text: in the first line that contains it outside of comments.
fn position(text: &str, word: &str) -> (u64, u64) {
    let mut number = 0;
    for line in text.lines() {
        number += 1;
        let code = line.split(" #").next().unwrap_or(line);
        if let Some(at) = code.find(word)
            && !code.trim_start().starts_with('#')
        {
            let column = code[..at].chars().count() as u64 + 1;
            return (number, column);
        }
    }
    (1, 1)
}

/// Checks beyond the types. An error is the word to point at and the problem.
fn check(def: &TargetDef) -> Result<(), (String, String)> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if def.target.is_empty() || !def.target.chars().all(plain) {
        return Err((
            "target".to_owned(),
            "a target's name is made of a-z, 0-9 and `-`".to_owned(),
        ));
    }
    if def.kind == TargetKind::ControlPlane {
        return Err((
            "control-plane".to_owned(),
            "`control-plane` is reserved: no environment can install one yet".to_owned(),
        ));
    }
    for (key, empty) in [
        ("get", def.get.is_empty()),
        ("start", def.start.is_empty()),
        ("roles", def.roles.is_empty()),
        ("speaks", def.speaks.is_empty()),
        ("command", def.version.command.is_empty()),
    ] {
        if empty {
            return Err((key.to_owned(), format!("`{key}` must not be empty")));
        }
    }
    check_get(def)?;
    check_ready(def)?;
    check_settings(def)?;
    super::ext_authz::check(def)?;
    super::jmx::check(def)?;
    check_counters(def)
}

fn check_get(def: &TargetDef) -> Result<(), (String, String)> {
    for get in &def.get {
        if let Get::Pip(pip) = get
            && let Some(sum) = pip
                .sha256
                .values()
                .find(|sum| sum.len() != 64 || !sum.chars().all(|c| c.is_ascii_hexdigit()))
        {
            return Err((
                sum.clone(),
                "a SHA-256 has 64 hexadecimal digits".to_owned(),
            ));
        }
        if let Get::Maven(maven) = get {
            check_maven(maven)?;
        }
        if let Get::Debian(debian) = get
            && debian.packages.is_empty()
        {
            return Err((
                "packages".to_owned(),
                "`packages` must not be empty".to_owned(),
            ));
        }
    }
    Ok(())
}

fn check_maven(maven: &MavenDef) -> Result<(), (String, String)> {
    if maven.artifacts.is_empty() {
        let message = "`artifacts` must not be empty".to_owned();
        return Err(("artifacts".to_owned(), message));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    for coordinates in maven.artifacts.iter().chain(&maven.agents) {
        let words: Vec<&str> = coordinates.split(':').collect();
        let whole = |word: &&str| !word.is_empty() && word.chars().all(plain);
        if !matches!(words.len(), 3 | 4) || !words.iter().all(whole) {
            let message = format!(
                "`{coordinates}` names no archive: write group:name:version, or group:name:version:classifier"
            );
            return Err((coordinates.clone(), message));
        }
    }
    Ok(())
}

fn check_ready(def: &TargetDef) -> Result<(), (String, String)> {
    let ready = &def.ready;
    let ways = [
        ready.tcp.is_some(),
        ready.http.is_some(),
        ready.grpc.is_some(),
        ready.kafka.is_some(),
        ready.log.is_some(),
        ready.command.is_some(),
    ];
    let problem = match ways.iter().filter(|&&way| way).count() {
        1 if ready.service.is_some() && ready.grpc.is_none() => {
            "`service` of `ready` belongs to `grpc`: leave it out, or ask by grpc"
        }
        1 if ready.brokers.is_some() && ready.kafka.is_none() => {
            "`brokers` of `ready` belongs to `kafka`: leave it out, or ask by kafka"
        }
        1 => return Ok(()),
        _ => "`ready` needs exactly one of tcp, http, grpc, kafka, log and command",
    };
    Err(("ready".to_owned(), problem.to_owned()))
}

fn check_settings(def: &TargetDef) -> Result<(), (String, String)> {
    for (name, setting) in &def.settings {
        let wrong = |message: String| Err((name.clone(), message));
        if !setting.one_of.is_empty() && !setting.one_of.contains(&setting.default) {
            return wrong(format!("the default of `{name}` is not among its `one_of`"));
        }
        let takes_text = !setting.default.is_boolean() && !setting.default.is_number();
        if takes_text && setting.one_of.is_empty() && setting.pattern.is_none() {
            return wrong(format!(
                "`{name}` takes any text, which an experiment could put into a configuration: give it `one_of` or a `pattern`"
            ));
        }
        if let Some(pattern) = &setting.pattern
            && let Err(error) = whole(pattern)
        {
            return wrong(format!("the `pattern` of `{name}` is none: {error}"));
        }
        if let Some(wanted) = rejection(setting, &setting.default) {
            return wrong(format!("the default of `{name}` must be {wanted}"));
        }
    }
    Ok(())
}

fn check_counters(def: &TargetDef) -> Result<(), (String, String)> {
    let mut counters = def.counters.iter();
    counters.try_for_each(|counter| check_counter(counter, &[]))
}

/// Checks a counter; an error is the word to point at and the problem. `more` are names that are valid besides those of targets.
pub(crate) fn check_counter(
    counter: &CounterDef,
    more: &[(&str, &str)],
) -> Result<(), (String, String)> {
    let name = counter.name.as_str();
    let mut known = COUNTERS.iter().chain(more).map(|(known, _)| *known);
    if !name.starts_with("x-") && !known.clone().any(|known| known == name) {
        let near = nearest(name, &mut known);
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let name = text::shown(name);
        return Err((
            counter.name.clone(),
            format!("unknown counter `{name}`{hint} (names of your own begin with `x-`)"),
        ));
    }
    if !counter.scale.is_finite() || counter.scale <= 0.0 {
        return Err((
            "scale".to_owned(),
            format!("`scale` of {name} must be above 0"),
        ));
    }
    let pattern = match &counter.from {
        CounterSource::Text(text) => Some(&text.pattern),
        CounterSource::Command(command) => Some(&command.pattern),
        _ => None,
    };
    if let Some(pattern) = pattern
        && !pattern.contains("<value>")
    {
        return Err((
            pattern.clone(),
            format!("the pattern of {name} needs a group `(?<value>…)`"),
        ));
    }
    Ok(())
}

/// [`TargetDef::settings_with`].
pub(super) fn settings(def: &TargetDef, given: &[&Settings]) -> Result<Settings, TargetError> {
    let mut all: Settings = def
        .settings
        .iter()
        .map(|(name, setting)| (name.clone(), setting.default.clone()))
        .collect();
    for (name, value) in given.iter().flat_map(|settings| settings.iter()) {
        let Some(setting) = def.settings.get(name) else {
            return Err(TargetError::UnknownSetting {
                target: def.target.clone(),
                setting: text::shown(name),
                nearest: nearest(name, def.settings.keys().map(String::as_str)).map(str::to_owned),
                known: def.settings.keys().cloned().collect(),
            });
        };
        if let Some(wanted) = rejection(setting, value) {
            return Err(TargetError::SettingValue {
                target: def.target.clone(),
                setting: name.clone(),
                wanted,
                found: text::shown(&value.to_string()),
            });
        }
        all.insert(name.clone(), value.clone());
    }
    Ok(all)
}

/// What a value must be to be valid for a setting; `None`: it is valid.
fn rejection(setting: &SettingDef, value: &Value) -> Option<String> {
    if !setting.one_of.is_empty() && !setting.one_of.contains(value) {
        let list: Vec<String> = setting.one_of.iter().map(Value::to_string).collect();
        return Some(format!("one of {}", list.join(", ")));
    }
    if !same_type(&setting.default, value) {
        return Some(type_name(&setting.default).to_owned());
    }
    if let Some(wanted) = text::rejection_in(value) {
        return Some(wanted);
    }
    let pattern = setting.pattern.as_deref()?;
    let Ok(whole) = whole(pattern) else {
        return Some(format!("a text, and `{pattern}` is no pattern"));
    };
    text::every(value, &mut |text| {
        let message = format!("a text that `{pattern}` matches from end to end");
        (!whole.is_match(text)).then_some(message)
    })
}

/// A pattern that must match a text in full.
fn whole(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(&format!(r"\A(?:{pattern})\z"))
}

/// Whether types agree. A null default allows anything; an integer default allows only integers.
fn same_type(default: &Value, value: &Value) -> bool {
    match (default, value) {
        (Value::Null, _) => true,
        (Value::Number(a), Value::Number(b)) => a.is_f64() || b.is_u64() || b.is_i64(),
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "anything",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "a whole number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests;
