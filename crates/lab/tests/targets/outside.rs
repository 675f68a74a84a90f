//! A new proxy is one folder outside the repository.

use std::fs;

use tare_lab::render::render;
use tare_lab::targets::{Targets, builtin_folder};
use tare_record::topology::{InstanceRole, Interception, Security};

use crate::place::{Case, fixed, software};

#[test]
fn a_new_proxy_is_added_by_one_folder_outside_the_repository() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("my-proxy");
    fs::create_dir(&folder).unwrap();
    let haproxy = builtin_folder().unwrap().join("haproxy");
    let text = fs::read_to_string(haproxy.join("target.yaml")).unwrap();
    let text = text.replace("target: haproxy", "target: my-proxy");
    fs::write(folder.join("target.yaml"), text).unwrap();
    fs::copy(
        haproxy.join("haproxy.cfg.j2"),
        folder.join("haproxy.cfg.j2"),
    )
    .unwrap();

    let targets = Targets::load(&builtin_folder().unwrap(), &[place.path().to_owned()]).unwrap();
    let target = targets.get("my-proxy").unwrap();
    assert!(targets.get("haproxy").is_ok(), "the built-in ones stay");
    assert!(!software(target).version.version.is_empty());
    let case = Case {
        role: InstanceRole::Sidecar,
        protocol: "http1".to_owned(),
        link: Security::Plaintext,
        settings: None,
        interception: Interception::Explicit,
    };
    let ours = render(target, &fixed(target, &case)).unwrap();
    let builtin = targets.get("haproxy").unwrap();
    assert_eq!(
        ours.files,
        render(builtin, &fixed(builtin, &case)).unwrap().files
    );
    assert_eq!(ours.start[0], "/opt/my-proxy");
}

/// The example of the documentation, as a reader would copy it.
#[test]
fn the_worked_example_of_the_documentation_works() {
    let checkout = builtin_folder().unwrap().parent().unwrap().to_owned();
    let page = fs::read_to_string(checkout.join("docs/ADDING-A-TARGET.md")).unwrap();
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    let definition = blocks.iter().find_map(|block| block.strip_prefix("yaml\n"));
    let template = blocks
        .iter()
        .find(|block| block.contains("frontend tare_admin"));
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("my-proxy");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("target.yaml"), definition.unwrap()).unwrap();
    fs::write(folder.join("my-proxy.cfg.j2"), template.unwrap()).unwrap();
    let targets = Targets::load(&builtin_folder().unwrap(), &[place.path().to_owned()]).unwrap();
    let target = targets.get("my-proxy").unwrap();
    crate::chain::counts_plaintext_requests(target);
}
