//! The committed schemas are what the types say now.

use tare_experiment::formats::formats;

use crate::bench::{check_golden, repository};

#[test]
fn committed_schemas_are_fresh() {
    for shape in formats() {
        let path = repository()
            .join("docs/schema")
            .join(format!("{}.json", shape.name));
        check_golden(&path, &shape.text());
    }
}

#[test]
fn every_key_of_an_experiment_is_explained_to_editors() {
    let mut all = formats();
    let shape = all.find(|shape| shape.name == "experiment").unwrap();
    let schema = shape.schema();
    let mut unexplained = Vec::new();
    let definitions = schema["$defs"].as_object().unwrap();
    for (name, definition) in definitions
        .iter()
        .chain([(&String::from("experiment"), &schema)])
    {
        for (key, property) in definition["properties"].as_object().into_iter().flatten() {
            if property.get("description").is_none() {
                unexplained.push(format!("{name}.{key}"));
            }
        }
    }
    assert!(unexplained.is_empty(), "{unexplained:?}");
}

#[test]
fn every_format_has_a_name_of_its_own() {
    let mut names: Vec<&str> = formats().map(|shape| shape.name).collect();
    assert!(names.contains(&"plan") && names.contains(&"experiment"));
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
