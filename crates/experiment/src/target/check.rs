//! Reads a `target.yaml`, and checks what its types do not say.

use std::path::Path;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;
use tare_record::counter::{COUNTERS, CounterDef, CounterSource, JmxSource};
use tare_record::text;
use tare_record::topology::{Settings, VERSION_SETTING};
use tare_record::units::Period;

use super::{Bean, CommandDef, ExtAuthzDef, Get, JmxDef, SettingDef, TargetDef};
use crate::document;
use crate::problem::{Problems, hint};
use crate::yaml::Node;

impl TargetDef {
    /// Reads a definition; `file` is named in problems.
    ///
    /// # Errors
    /// All problems, each with its position.
    pub fn from_yaml(text: &str, file: &Path) -> Result<TargetDef, Problems> {
        let file = file.display().to_string();
        let (def, root) = document::read::<TargetDef>(&file, text)?;
        let mut check = TargetCheck {
            file: &file,
            def: &def,
            root: &root,
            problems: Problems::default(),
        };
        check.run();
        check.problems.into_result(())?;
        Ok(def)
    }

    /// Checks a value of a setting.
    ///
    /// # Errors
    /// An unknown setting (with the nearest known one), or an invalid value.
    pub fn check_setting(&self, name: &str, value: &Value) -> Result<(), String> {
        let target = &self.target;
        if name == VERSION_SETTING {
            return self.check_version(value);
        }
        let Some(setting) = self.settings.get(name) else {
            let hint = hint(name, self.settings.keys());
            let name = text::preview(name);
            return Err(format!(
                "target \"{target}\" has no setting \"{name}\"{hint}"
            ));
        };
        rejection(setting, value).map_or(Ok(()), |wanted| {
            let found = text::preview(&value.to_string());
            Err(format!(
                "target {target}: setting `{name}` must be {wanted}, not {found}"
            ))
        })
    }

    /// Settings of an instance: the defaults, overridden by each of `given` in order.
    ///
    /// # Errors
    /// As [`TargetDef::check_setting`].
    pub fn settings_with(&self, given: &[&Settings]) -> Result<Settings, String> {
        let defaults = self.settings.iter();
        let mut all: Settings = defaults
            .map(|(name, setting)| (name.clone(), setting.default.clone()))
            .collect();
        for (name, value) in given.iter().copied().flatten() {
            self.check_setting(name, value)?;
            all.insert(name.clone(), value.clone());
        }
        Ok(all)
    }
}

struct TargetCheck<'a> {
    file: &'a str,
    def: &'a TargetDef,
    root: &'a Node,
    problems: Problems,
}

impl TargetCheck<'_> {
    fn wrong(&mut self, path: &[&str], message: impl Into<String>) {
        self.problems
            .add(self.file, self.root.mark_at(path), message);
    }

    fn run(&mut self) {
        let def = self.def;
        for (index, get) in def.get.iter().enumerate() {
            self.source(get, &["get", &index.to_string()]);
        }
        for (name, program) in &def.programs {
            for (index, get) in program.get.iter().enumerate() {
                self.source(get, &["programs", name, "get", &index.to_string()]);
            }
        }
        if def.protocols.is_empty() && def.roles.iter().any(|role| !role.is_mesh()) {
            let message = "it has no protocols: list them in `protocols`, or give it the role control-plane or support alone";
            self.wrong(&["roles"], message);
        }
        self.steps(&def.prepare, &["prepare"]);
        if let Some(change) = &def.change {
            self.limit(change.timeout, &["change", "timeout"]);
        }
        self.limit(def.stop.grace, &["stop", "grace"]);
        self.ready();
        if def.settings.contains_key(VERSION_SETTING) {
            let message = "every target has this setting: it chooses the version";
            self.wrong(&["settings", VERSION_SETTING], message);
        }
        for (name, setting) in &def.settings {
            self.setting(name, setting);
        }
        for (index, server) in def.ext_authz.iter().enumerate() {
            self.ext_authz(server, &index.to_string());
        }
        let mut beans = Vec::new();
        for (index, counter) in def.counters.iter().enumerate() {
            let place = ["counters", &index.to_string()];
            if let Err((key, message)) = check_counter(counter, &[]) {
                self.wrong(&[&place[..], &[key]].concat(), message);
            }
            if let CounterSource::Jmx(source) = &counter.from {
                self.bean(source, &place);
                beans.push(counter.name.as_str());
            }
        }
        match &def.jmx {
            Some(jmx) => self.jmx(jmx, &beans),
            None if beans.is_empty() => {}
            None => {
                let message = format!(
                    "{} is read from beans, but there is no `jmx` that says how",
                    beans[0]
                );
                self.wrong(&["counters"], message);
            }
        }
    }

    fn limit(&mut self, limit: Period, path: &[&str]) {
        if limit.0 == Duration::ZERO {
            let message = "invalid timeout 0: write a time above 0, such as 5s";
            self.wrong(path, message);
        }
    }

    fn steps(&mut self, steps: &[CommandDef], path: &[&str]) {
        for (index, step) in steps.iter().enumerate() {
            let index = index.to_string();
            let path = [path, &[index.as_str(), "timeout"]].concat();
            self.limit(step.timeout, &path);
        }
    }

    fn source(&mut self, get: &Get, place: &[&str]) {
        match get {
            Get::Pip(pip) => {
                for (machine, sum) in &pip.sha256 {
                    if sum.len() != 64 || !sum.chars().all(|c| c.is_ascii_hexdigit()) {
                        let path = [place, &["pip", "sha256", machine.as_str()]].concat();
                        self.wrong(&path, "a SHA-256 has 64 hexadecimal digits");
                    }
                }
            }
            Get::Maven(maven) => {
                for (key, all) in [
                    ("artifacts", &maven.artifacts),
                    ("java_agents", &maven.java_agents),
                ] {
                    for (at, coordinates) in all.iter().enumerate() {
                        if !names_archive(coordinates) {
                            let at = at.to_string();
                            let path = [place, &["maven", key, at.as_str()]].concat();
                            let message = format!(
                                "`{coordinates}` names no archive: write group:name:version, or group:name:version:classifier"
                            );
                            self.wrong(&path, message);
                        }
                    }
                }
                self.steps(
                    &maven.after_fetch,
                    &[place, &["maven", "after_fetch"]].concat(),
                );
            }
            _ => {}
        }
    }

    fn ready(&mut self) {
        let ready = &self.def.ready;
        self.limit(ready.timeout, &["ready", "timeout"]);
        let ways = [
            ready.tcp.is_some(),
            ready.http.is_some(),
            ready.grpc.is_some(),
            ready.kafka.is_some(),
            ready.log.is_some(),
            ready.command.is_some(),
        ];
        let (key, message) = match ways.iter().filter(|&&way| way).count() {
            1 if ready.service.is_some() && ready.grpc.is_none() => (
                "service",
                "`service` of `ready` belongs to `grpc`: leave it out, or ask by grpc",
            ),
            1 if ready.brokers.is_some() && ready.kafka.is_none() => (
                "brokers",
                "`brokers` of `ready` belongs to `kafka`: leave it out, or ask by kafka",
            ),
            1 => return,
            _ => (
                "",
                "`ready` needs exactly one of tcp, http, grpc, kafka, log and command",
            ),
        };
        self.wrong(&["ready", key], message);
    }

    fn setting(&mut self, name: &str, setting: &SettingDef) {
        let mut wrong = |message: String| {
            let mark = self.root.key_mark_at(&["settings", name]);
            self.problems.add(self.file, mark, message);
        };
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
            wrong(format!("the default of `{name}` must be {wanted}"));
        }
    }

    fn ext_authz(&mut self, server: &ExtAuthzDef, index: &str) {
        let def = self.def;
        let name = &server.name;
        let default = |setting: &str| def.settings.get(setting).map(|setting| &setting.default);
        if default(&server.enabled_by).is_none_or(|value| !value.is_boolean()) {
            let message =
                format!("`enabled_by` of {name} must name a setting that is true or false");
            self.wrong(&["ext_authz", index, "enabled_by"], message);
        }
        if let Some(setting) = &server.share_setting {
            let share = default(setting).and_then(Value::as_f64);
            if share.is_none_or(|share| !(0.0..=1.0).contains(&share)) {
                let message = format!("`share_setting` of {name} must name a setting from 0 to 1");
                self.wrong(&["ext_authz", index, "share_setting"], message);
            }
        }
        for (at, word) in server.protocols.iter().enumerate() {
            if !def.protocols.contains(word) {
                let message =
                    format!("{name} is asked about {word}, which the target does not speak");
                let path = ["ext_authz", index, "protocols", &at.to_string()];
                self.wrong(&path, message);
            }
        }
    }

    fn bean(&mut self, source: &JmxSource, counter: &[&str]) {
        if let Err(message) = Bean::parse(&source.bean) {
            self.wrong(&[counter, &["from", "jmx", "bean"]].concat(), message);
        }
    }

    fn jmx(&mut self, jmx: &JmxDef, beans: &[&str]) {
        if !beans.contains(&jmx.sign.as_str()) {
            let hint = hint(&jmx.sign, beans);
            let message = format!("`sign` names no counter that is read from beans{hint}");
            self.wrong(&["jmx", "sign"], message);
        }
        for (index, rule) in jmx.exported.iter().enumerate() {
            if let Err(error) = Regex::new(&rule.bean) {
                let message = format!("invalid pattern in the `bean` of {}: {error}", rule.metric);
                let path = ["jmx", "exported", &index.to_string(), "bean"];
                self.wrong(&path, message);
            }
        }
    }
}

/// Whether a text has the form `group:name:version` or `group:name:version:classifier`.
fn names_archive(coordinates: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let words: Vec<&str> = coordinates.split(':').collect();
    let whole = |word: &&str| !word.is_empty() && word.chars().all(plain);
    matches!(words.len(), 3 | 4) && words.iter().all(whole)
}

/// Checks a counter; an error is the key to point at and the problem. `more` are names that are valid besides those of targets.
pub(crate) fn check_counter(
    counter: &CounterDef,
    more: &[(&str, &str)],
) -> Result<(), (&'static str, String)> {
    let name = counter.name.as_str();
    let known = COUNTERS.iter().chain(more).map(|(known, _)| *known);
    if !name.starts_with("x-") && !known.clone().any(|known| known == name) {
        let hint = hint(name, known);
        let name = text::preview(name);
        let message = format!("unknown counter \"{name}\"{hint} (names of your own begin with x-)");
        return Err(("name", message));
    }
    let pattern = match &counter.from {
        CounterSource::Text(text) => &text.pattern,
        CounterSource::Command(command) => &command.pattern,
        _ => return Ok(()),
    };
    match pattern.contains("<value>") {
        true => Ok(()),
        false => Err((
            "from",
            format!("the pattern of {name} needs a group `(?<value>…)`"),
        )),
    }
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
        return Some(format!("a text, and the pattern `{pattern}` is invalid"));
    };
    text::find_in_strings(value, &mut |text| {
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
