//! A new proxy is one folder outside the repository.

use std::fs;

use tare_lab::catalogue::{Catalogue, builtin_folder};
use tare_lab::render::render;
use tare_schema::topology::{InstanceRole, Security};

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

    let catalogue =
        Catalogue::load(&builtin_folder().unwrap(), &[place.path().to_owned()]).unwrap();
    let target = catalogue.get("my-proxy").unwrap();
    assert!(catalogue.get("haproxy").is_ok(), "the built-in ones stay");
    assert!(!software(target).version.version.is_empty());
    let case = Case {
        role: InstanceRole::Sidecar,
        protocol: "http1".to_owned(),
        link: Security::Plaintext,
    };
    let ours = render(target, &fixed(target, &case)).unwrap();
    let builtin = catalogue.get("haproxy").unwrap();
    assert_eq!(
        ours.files,
        render(builtin, &fixed(builtin, &case)).unwrap().files
    );
    assert_eq!(ours.start[0], "/opt/my-proxy");
}
