//! Tests of finding and loading target folders.

use std::fs;

use super::*;

fn target(collection: &Path, name: &str, about: &str) {
    let folder = collection.join(name);
    fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "target: {name}\nabout: {about}\nget: [self]\nversion: {{command: [x], pattern: x}}\nroles: [app]\nprotocols: [http1]\nstart: [x]\nready: {{tcp: x, timeout: 1s}}\n"
    );
    fs::write(folder.join("target.yaml"), text).unwrap();
}

#[test]
fn the_users_folder_wins_over_the_built_in_one_and_later_over_earlier() {
    let place = tempfile::tempdir().unwrap();
    let [builtin, first, second] = ["b", "1", "2"].map(|name| place.path().join(name));
    for name in ["one", "two", "three"] {
        target(&builtin, name, "built-in");
    }
    target(&first, "two", "first");
    target(&first, "three", "first");
    target(&second, "three", "second");
    fs::create_dir(second.join("no-target")).unwrap();
    let targets = Targets::load(&builtin, &[first, second]).unwrap();
    let about: Vec<&str> = targets
        .iter()
        .map(|target| target.def.about.as_str())
        .collect();
    assert_eq!(about, ["built-in", "second", "first"], "one, three, two");
}

#[test]
fn an_unknown_target_is_told_with_the_nearest_one() {
    let place = tempfile::tempdir().unwrap();
    target(place.path(), "haproxy", "x");
    let targets = Targets::load(place.path(), &[]).unwrap();
    let said = targets.get("haproxi").unwrap_err().to_string();
    assert!(said.contains("did you mean \"haproxy\"?"), "{said}");
    let said = targets.get("zzz").unwrap_err().to_string();
    assert!(said.contains(": known are haproxy"), "{said}");
}

#[test]
fn a_folder_named_otherwise_than_its_target_is_refused() {
    let place = tempfile::tempdir().unwrap();
    target(place.path(), "one", "x");
    fs::rename(place.path().join("one"), place.path().join("two")).unwrap();
    let said = Targets::load(place.path(), &[]).unwrap_err().to_string();
    assert!(said.contains("target: one"), "{said}");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let said = Targets::load(Path::new("/no/such"), &[])
        .unwrap_err()
        .to_string();
    assert!(said.contains("/no/such"), "{said}");
}
