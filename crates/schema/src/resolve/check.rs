//! What a workload file says beyond its structure: that parts, edges, settings and loads fit together.

use super::workload::{edges, setting_value, unknown_edge};
use crate::def::{CountDef, RequestDef, SettingKind, WorkloadDef};
use crate::plan::{Edge, PartKind};
use crate::problem::{Problems, hint};
use crate::protocol;
use crate::yaml::Node;

/// Checks a workload file.
///
/// # Errors
/// Everything that does not fit together, each with its place.
pub fn check_workload(file: &str, def: &WorkloadDef, root: &Node) -> Result<(), Problems> {
    let mut check = Check {
        file,
        def,
        root,
        problems: Problems::default(),
    };
    check.settings();
    check.parts();
    check.edges();
    check.loads();
    check.problems.into_result(())
}

struct Check<'a> {
    file: &'a str,
    def: &'a WorkloadDef,
    root: &'a Node,
    problems: Problems,
}

impl Check<'_> {
    fn wrong(&mut self, path: &[&str], said: impl Into<String>) {
        self.problems.add(self.file, self.root.place(path), said);
    }

    fn settings(&mut self) {
        for (key, setting) in &self.def.settings {
            if self.def.parts.contains_key(key.as_str()) {
                let mark = self.root.key_place(&["settings", key]);
                let said = format!("\"{key}\" is a part already: call the setting something else");
                self.problems.add(self.file, mark, said);
            }
            if let Err(said) = setting_value(setting, &setting.default) {
                self.wrong(&["settings", key, "default"], said);
            }
        }
    }

    fn parts(&mut self) {
        for (name, part) in &self.def.parts {
            if part.kind == PartKind::Client && part.target.is_some() {
                let said = "agents play a client: leave the target out";
                self.wrong(&["parts", name, "target"], said);
            }
            let Some(CountDef::Setting(key)) = &part.count else {
                continue;
            };
            let setting = self.def.settings.get(key);
            if setting.is_none_or(|setting| setting.kind != SettingKind::Integer) {
                let known = self.def.settings.keys().map(String::as_str);
                let said = format!(
                    "\"{key}\" is no setting of kind integer{}",
                    hint(key, known)
                );
                self.wrong(&["parts", name, "count"], said);
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
                    let known = self.def.parts.keys().map(|name| name.0.as_str());
                    let said = format!("unknown part \"{side}\"{}", hint(side, known));
                    self.wrong(&place, said);
                }
            }
            if to == "*" {
                self.wrong(&place, "a workload's edge leads to one part, not to *");
            }
            if seen.contains(&(from, to)) {
                self.wrong(&place, format!("edge \"{from}->{to}\" stands here twice"));
            }
            seen.push((from, to));
            self.protocol(&edge.protocol, &["edges", &index, "protocol"]);
        }
    }

    fn loads(&mut self) {
        let edges = edges(self.def);
        for (name, load) in &self.def.loads {
            let known = edges
                .iter()
                .any(|edge| load.edge.matches(&edge.from, &edge.to));
            if !known {
                let said = unknown_edge(&load.edge, &edges);
                self.wrong(&["loads", name, "edge"], said);
            }
            if let Some(protocol) = &load.protocol {
                self.protocol(protocol, &["loads", name, "protocol"]);
            }
            self.calls(name, &load.requests, &edges);
        }
    }

    /// Calls behind requests: over edges that no client begins, and known of all requests of a load or of none.
    fn calls(&mut self, load: &str, requests: &[RequestDef], edges: &[Edge]) {
        let told = requests.iter().any(|request| request.calls.is_some());
        for (index, request) in requests.iter().enumerate() {
            let index = index.to_string();
            let place = ["loads", load, "requests", &index];
            let Some(calls) = &request.calls else {
                if told {
                    let said = format!(
                        "request \"{}\" does not say which calls it makes, but others do: write calls: {{}} if it makes none",
                        request.name
                    );
                    self.wrong(&place, said);
                }
                continue;
            };
            for edge in calls.keys() {
                let place = [&place[..], &["calls", edge]].concat();
                let mark = self.root.key_place(&place);
                let (from, _) = edge.sides();
                let client = self.def.parts.get(from);
                if !edges.iter().any(|known| known.name() == edge.0) {
                    let said = unknown_edge(edge, edges);
                    self.problems.add(self.file, mark, said);
                } else if client.is_some_and(|part| part.kind == PartKind::Client) {
                    let said =
                        format!("edge \"{edge}\" begins at a client: that is the request itself");
                    self.problems.add(self.file, mark, said);
                }
            }
        }
    }

    fn protocol(&mut self, wanted: &str, path: &[&str]) {
        if !protocol::exists(wanted) {
            let said = format!(
                "unknown protocol \"{wanted}\"{}",
                hint(wanted, protocol::names())
            );
            self.wrong(path, said);
        }
    }
}
