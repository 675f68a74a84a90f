//! Checks a workload file beyond its structure: parts, edges, settings and loads must fit together.

use std::collections::BTreeMap;
use std::path::Path;

use tare_record::load::SessionSpec;
use tare_record::name::EdgePattern;
use tare_record::plan::{Edge, PartKind, PrepareWhen};
use tare_record::protocol::{self, Protocols};
use tare_record::topology::Settings;

use super::request;
use super::workload::{edges, setting_value, unknown_edge};
use crate::def::{CountDef, LoadKindDef, RequestDef, SettingKind, WorkloadDef};
use crate::problem::{Problems, hint, unknown};
use crate::script;
use crate::yaml::Node;

/// Checks a workload file.
///
/// # Errors
/// All problems, each with its position.
pub fn check_workload(
    file: &str,
    def: &WorkloadDef,
    root: &Node,
    protocols: Protocols,
) -> Result<(), Problems> {
    let mut check = WorkloadCheck {
        file,
        def,
        root,
        protocols,
        problems: Problems::default(),
    };
    check.settings();
    check.parts();
    check.edges();
    check.loads();
    check.steps();
    check.texts();
    check.problems.into_result(())
}

struct WorkloadCheck<'a> {
    file: &'a str,
    def: &'a WorkloadDef,
    root: &'a Node,
    protocols: Protocols,
    problems: Problems,
}

impl WorkloadCheck<'_> {
    fn wrong(&mut self, path: &[&str], message: impl Into<String>) {
        self.problems
            .add(self.file, self.root.mark_at(path), message);
    }

    fn wrong_key(&mut self, path: &[&str], message: impl Into<String>) {
        let mark = self.root.key_mark_at(path);
        self.problems.add(self.file, mark, message);
    }

    fn settings(&mut self) {
        for (key, setting) in &self.def.settings {
            if self.def.parts.contains_key(key.as_str()) {
                let message =
                    format!("\"{key}\" is a part already: call the setting something else");
                self.wrong_key(&["settings", key], message);
            }
            if let Err(message) = setting_value(setting, &setting.default) {
                self.wrong(&["settings", key, "default"], message);
            }
        }
    }

    fn parts(&mut self) {
        for (name, part) in &self.def.parts {
            if part.kind == PartKind::Client && part.target.is_some() {
                let message = "agents play a client: leave the target out";
                self.wrong(&["parts", name, "target"], message);
            }
            if let Some(external) = &part.external {
                // The metrics of an external part are those of its target.
                let has_metrics = external.map().metrics.is_some();
                let beside = [
                    ("target", part.target.is_some() && !has_metrics),
                    ("count", part.count.is_some()),
                ];
                for (key, _) in beside.iter().filter(|(_, written)| *written) {
                    let message = format!("the part is external: leave its {key} out");
                    self.wrong(&["parts", name, key], message);
                }
            }
            if let Some(host) = &part.host {
                if part.kind != PartKind::External {
                    let message = "parts of the mesh are called by their names: leave the host out";
                    self.wrong(&["parts", name, "host"], message);
                } else if !is_host(host) {
                    let message = "a host is a name such as db.example.net: labels of small letters, digits and hyphens";
                    self.wrong(&["parts", name, "host"], message);
                }
            }
            let Some(CountDef::Setting(key)) = &part.count else {
                continue;
            };
            let setting = self.def.settings.get(key);
            if setting.is_none_or(|setting| setting.kind != SettingKind::Integer) {
                let hint = hint(key, self.def.settings.keys());
                let message = format!("not a setting of kind integer: \"{key}\"{hint}");
                self.wrong(&["parts", name, "count"], message);
            }
        }
    }

    fn edges(&mut self) {
        let mut seen = Vec::new();
        for (index, edge) in self.def.edges.iter().enumerate() {
            let index = index.to_string();
            let place = ["edges", &index, "edge"];
            let (from, to) = edge.edge.sides();
            for side in [from, to] {
                if side != "*" && !self.def.parts.contains_key(side) {
                    let message = unknown("part", side, self.def.parts.keys());
                    self.wrong(&place, message);
                }
            }
            if to == "*" {
                self.wrong(&place, "a workload's edge leads to one part, not to *");
            }
            if seen.contains(&(from, to)) {
                self.wrong(&place, format!("duplicate edge \"{from}->{to}\""));
            }
            seen.push((from, to));
            self.protocol(&edge.protocol, &["edges", &index, "protocol"]);
        }
    }

    fn steps(&mut self) {
        for (name, step) in &self.def.prepare {
            let place: [&str; 2] = ["prepare", name];
            if step.request.is_some() == step.topic.is_some() {
                let message = format!("step \"{name}\" needs exactly one of request and topic");
                self.wrong(&place, message);
            }
            if step.topic.is_none() && step.when == Some(PrepareWhen::Start) {
                let message = "only a topic can be prepared at the start: requests are sent before every trial";
                self.wrong(&["prepare", name, "when"], message);
            }
        }
    }

    /// Checks that texts of loads and steps hold known settings, also where no experiment uses them.
    fn texts(&mut self) {
        let settings = self.def.settings.iter();
        let settings: Settings = settings
            .map(|(name, setting)| (name.clone(), setting.default.clone()))
            .collect();
        for key in ["loads", "prepare"] {
            if let Some(node) = self.root.get(key) {
                self.text(node, &settings);
            }
        }
    }

    fn text(&mut self, node: &Node, settings: &Settings) {
        if let Some(Err(message)) = node.text().map(|text| request::fill(text, settings)) {
            self.problems.add(self.file, node.mark, message);
        }
        let entries = node.entries().iter().filter(|entry| entry.key != "about");
        for inner in entries.map(|entry| &entry.value).chain(node.items()) {
            self.text(inner, settings);
        }
    }

    fn loads(&mut self) {
        let edges = edges(self.def);
        for (name, load) in &self.def.loads {
            let known = edges
                .iter()
                .any(|edge| load.edge.matches(&edge.from, &edge.to));
            if !known {
                let message = unknown_edge(&load.edge, &edges);
                self.wrong(&["loads", name, "edge"], message);
            }
            if let Some(protocol) = &load.protocol {
                self.protocol(protocol, &["loads", name, "protocol"]);
            }
            self.calls(name, &load.requests, &edges);
            self.session(name, load, &edges);
            for (index, step) in load.prepare.iter().enumerate() {
                if !self.def.prepare.contains_key(step) {
                    let hint = hint(step, self.def.prepare.keys());
                    let message = format!("no step \"{step}\" in prepare{hint}");
                    self.wrong(&["loads", name, "prepare", &index.to_string()], message);
                }
            }
        }
    }

    /// Checks that a session is readable and replaces requests, and that calls are given for all of its requests or none.
    fn session(&mut self, name: &str, load: &LoadKindDef, edges: &[Edge]) {
        let place = ["loads", name, "session"];
        let Some(session) = &load.session else {
            if !load.calls.is_empty() {
                let message = "unexpected `calls`: a load has them with a session only; write those of a request in the request";
                self.wrong(&["loads", name, "calls"], message);
            }
            return;
        };
        if !load.requests.is_empty() {
            self.wrong(&place, "a load has requests or a session, one of them");
        }
        let read = script::session_beside(Path::new(self.file), session);
        let session = match read {
            Ok(script) => script.mix.session,
            Err(problems) => {
                self.wrong(&place, "the session cannot be read");
                return self.problems.extend(problems);
            }
        };
        if load.calls.is_empty() {
            return;
        }
        let steps = session.iter().flat_map(SessionSpec::request_steps);
        let steps: Vec<&str> = steps.map(|step| step.request.name.as_str()).collect();
        for step in &steps {
            if !load.calls.contains_key(*step) {
                let message = format!(
                    "request \"{step}\" of the session is missing here: write {step}: {{}} if it makes no calls"
                );
                self.wrong(&["loads", name, "calls"], message);
            }
        }
        for (step, calls) in &load.calls {
            if !steps.contains(&step.0.as_str()) {
                let hint = hint(step, &steps);
                let message = format!("the session has no request \"{step}\"{hint}");
                self.wrong_key(&["loads", name, "calls", step], message);
            }
            self.called(&["loads", name, "calls", step], &calls.0, edges);
        }
    }

    /// Checks edges of calls: any except those of clients.
    fn called(&mut self, place: &[&str], calls: &BTreeMap<EdgePattern, u32>, edges: &[Edge]) {
        for edge in calls.keys() {
            let place = [place, &[edge]].concat();
            let (from, _) = edge.sides();
            let client = self.def.parts.get(from);
            if !edges.iter().any(|known| known.name() == edge.0) {
                self.wrong_key(&place, unknown_edge(edge, edges));
            } else if client.is_some_and(|part| part.kind == PartKind::Client) {
                let message =
                    format!("edge \"{edge}\" begins at a client: that is the request itself");
                self.wrong_key(&place, message);
            }
        }
    }

    /// Checks calls behind requests: their edges, and that they are given for all requests of a load or none.
    fn calls(&mut self, load: &str, requests: &[RequestDef], edges: &[Edge]) {
        let given = requests.iter().any(|request| request.calls.is_some());
        for (index, request) in requests.iter().enumerate() {
            let index = index.to_string();
            let place = ["loads", load, "requests", &index];
            let Some(calls) = &request.calls else {
                if given {
                    let message = format!(
                        "request \"{}\" does not say which calls it makes, but others do: write calls: {{}} if it makes none",
                        request.name
                    );
                    self.wrong(&place, message);
                }
                continue;
            };
            self.called(&[&place[..], &["calls"]].concat(), calls, edges);
        }
    }

    fn protocol(&mut self, wanted: &str, path: &[&str]) {
        if protocol::find(self.protocols, wanted).is_none() {
            let names = self.protocols.iter().map(|protocol| protocol.name);
            self.wrong(path, unknown("protocol", wanted, names));
        }
    }
}

/// Whether a text is a host name of at least two labels (RFC 1123, lower case only).
fn is_host(text: &str) -> bool {
    let label = |label: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (1..=63).contains(&label.len())
            && label.chars().all(fits)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.contains('.') && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn a_host_has_two_labels_at_least_and_nothing_that_a_configuration_could_take_for_its_own() {
        let good = ["db.airline.example", "a.b", "x-1.example"];
        assert!(good.into_iter().all(is_host));
        let long = format!("{}.example", "x".repeat(64));
        let bad = [
            "database", "a..b", ".a.b", "a.b.", "-a.b", "a-.b", "A.b", "a_b.c", "a.b;", "*.b", "",
            &long,
        ];
        assert_eq!(bad.into_iter().find(|text| is_host(text)), None);
    }
}
