//! Rendered configurations against committed ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use tare_lab::render::{Context, Rendered, injected_proxy, render, render_injected};
use tare_lab::targets::Target;
use tare_record::topology::InstanceRole;

use crate::place::{cases, fixed, targets};

/// Set to refresh the committed files instead of comparing with them.
const UPDATE: &str = "TARE_UPDATE_GOLDEN";

/// The command as one would type it, and what is asked of the instance.
fn command(rendered: &Rendered) -> String {
    let mut text = String::new();
    for (name, value) in &rendered.env {
        text += &format!("{name}={value} ");
    }
    text += &rendered.start.join(" ");
    text += &format!("\n# ready: {:?}\n", rendered.probe);
    text
}

/// Without what depends on who tests: root's servers are told to stay root, and limits of open files differ.
fn the_same_for_everyone(text: &str) -> String {
    let lines = text.lines().filter(|line| *line != "user root;");
    let lines = lines.map(|line| match line.split_once("worker_rlimit_nofile ") {
        Some(_) => "worker_rlimit_nofile 20000;",
        None => line,
    });
    lines.map(|line| format!("{line}\n")).collect()
}

fn expected_files(target: &Target) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    for case in cases(target) {
        let mut context = fixed(target, &case);
        context.dir = PathBuf::from("/run/tare/middle");
        let rendered = render(target, &context).unwrap();
        let folder = target.folder.join("golden").join(case.name());
        files.insert(folder.join("command.txt"), command(&rendered));
        for file in rendered.files {
            let text = the_same_for_everyone(&file.text);
            files.insert(folder.join(file.name), text);
        }
        let is_gateway = context.role == InstanceRole::Gateway;
        if target.def.injected.is_some() && (context.redirect.is_some() || is_gateway) {
            files.insert(folder.join("injected.json"), injected(target, &mut context));
        }
    }
    files
}

/// What the mesh of a cluster is told, with a Service for each called instance.
fn injected(target: &Target, context: &mut Context) -> String {
    let pod = context.pod.clone();
    for service in context.mesh.iter_mut().flat_map(|mesh| &mut mesh.services) {
        service.pod.clone_from(&pod);
        let name = format!("{}-1", service.name);
        service.hostname = Some(format!("{name}.tare-run.svc.cluster.local"));
        service.in_cluster = Some(name);
    }
    for route in context
        .mesh
        .iter_mut()
        .flat_map(|mesh| &mut mesh.gateway_routes)
    {
        let host = |name: &str| Some(format!("{name}-1.tare-run.svc.cluster.local"));
        route.caller_in_cluster = Some(format!("{}-1", route.caller));
        route.gateway_in_cluster = Some(format!("{}-1", route.gateway));
        route.gateway_host = host(&route.gateway);
        route.hostname = host(&route.service);
    }
    let (proxy, objects) = injected_proxy(target, context).unwrap();
    let told = json!({
        "labels": proxy.labels,
        "annotations": proxy.annotations,
        "service": {"annotations": proxy.service_annotations},
        "objects": objects,
    });
    let probe = render_injected(target, context).unwrap().probe;
    format!(
        "{}\n{probe:?}\n",
        serde_json::to_string_pretty(&told).unwrap()
    )
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files_below(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn rendered_configurations_are_the_committed_ones() {
    let update = std::env::var_os(UPDATE).is_some();
    let mut wrong = Vec::new();
    for target in targets().iter() {
        let expected = expected_files(target);
        assert!(!expected.is_empty(), "{}", target.def.target);
        if update {
            let _ = fs::remove_dir_all(target.folder.join("golden"));
        }
        for (path, text) in &expected {
            if update {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let committed = fs::read_to_string(path).unwrap_or_default();
            if committed != *text {
                let differs = committed.lines().zip(text.lines()).find(|(a, b)| a != b);
                wrong.push(format!("{}: {differs:?}", path.display()));
            }
        }
        let mut found = Vec::new();
        files_below(&target.folder.join("golden"), &mut found);
        found.retain(|path| !expected.contains_key(path));
        wrong.extend(
            found
                .iter()
                .map(|path| format!("{}: nothing renders it", path.display())),
        );
    }
    assert!(
        wrong.is_empty(),
        "set {UPDATE}=1 to refresh:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_target_has_a_page_that_says_what_it_is() {
    for target in targets().iter() {
        let page = fs::read_to_string(target.folder.join("README.md")).unwrap_or_default();
        assert!(
            page.starts_with("# "),
            "{} has no README.md",
            target.folder.display()
        );
        for name in target.def.settings.keys() {
            assert!(
                page.contains(&format!("`{name}`")),
                "{}: README.md does not name `{name}`",
                target.def.target
            );
        }
    }
}
