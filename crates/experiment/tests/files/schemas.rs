//! The schemas explain what editors show.

use tare_experiment::formats::formats;

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
