//! The committed schemas are what the types say now.

use tare_schema::schemas::{SHAPES, shape};

use crate::bench::{check_golden, repository};

#[test]
fn committed_schemas_are_fresh() {
    for shape in SHAPES {
        let path = repository()
            .join("docs/schema")
            .join(format!("{}.json", shape.name));
        check_golden(&path, &shape.text());
    }
}

#[test]
fn every_key_of_an_experiment_is_explained_to_editors() {
    let schema = shape("experiment").unwrap().schema();
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
fn a_shape_is_found_by_its_name_alone() {
    assert!(shape("plan").is_some());
    assert!(shape("plans").is_none());
}
