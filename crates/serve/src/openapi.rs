//! The description of the API (OpenAPI 3.1), made from the table of routes and the shapes of `tare schema api`.

use serde_json::{Map, Value, json};
use tare_record::schemas::Shape;
use tare_record::shape;

use crate::routes::{self, ApiRoute, RouteContent};

/// The description.
pub fn description() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in routes::all() {
        let path = route.path.replace("{*", "{");
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        methods[route.method] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tare",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs and loads of `tare serve`. Scripts send the token of the file that the server names at its start.",
        },
        "servers": [{ "url": "/api/v1" }],
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
            "schemas": shapes(),
        },
    })
}

fn operation(route: &ApiRoute) -> Value {
    let names = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameters: Vec<Value> = names
        .map(|name| json!({
            "name": name.trim_start_matches('*'), "in": "path", "required": true, "schema": { "type": "string" },
        }))
        .collect();
    let (status, gives) = route.gives;
    let mut answer = json!({ "description": route.about });
    if let Some(content) = content(gives) {
        answer["content"] = content;
    }
    let error =
        json!({ "description": "An error", "content": content(RouteContent::Json("ErrorReply")) });
    let mut operation = json!({
        "summary": route.about,
        "parameters": parameters,
        "responses": { status.to_string(): answer, "default": error },
    });
    if let Some(content) = content(route.takes) {
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation
}

fn content(content: RouteContent) -> Option<Value> {
    let text = json!({ "type": "string" });
    Some(match content {
        RouteContent::Nothing => return None,
        RouteContent::Json(shape) => {
            json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{shape}") } } })
        }
        RouteContent::Object => json!({ "application/json": { "schema": { "type": "object" } } }),
        RouteContent::Events => json!({ "text/event-stream": { "schema": text } }),
        RouteContent::Text => json!({ "text/plain": { "schema": text } }),
        RouteContent::Html => json!({ "text/html": { "schema": text } }),
        RouteContent::Tar => json!({ "application/x-tar": { "schema": text } }),
    })
}

/// What the API takes and returns.
const API: Shape = shape!("api", "");
/// The same of its part for Kafka.
const KAFKA_API: Shape = shape!("kafka-api", "");

/// The shapes, with references as OpenAPI has them.
fn shapes() -> Value {
    let mut shapes = API.schema()["$defs"].take();
    let mut of_kafka = KAFKA_API.schema()["$defs"].take();
    if let (Some(all), Some(more)) = (shapes.as_object_mut(), of_kafka.as_object_mut()) {
        all.append(more);
    }
    place_references(&mut shapes);
    shapes
}

fn place_references(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "$ref" => {
                        *text = text.replace("#/$defs/", "#/components/schemas/");
                    }
                    other => place_references(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(place_references),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_of_the_description_leads_to_a_shape() {
        let description = description();
        let text = description.to_string();
        let references: Vec<&str> = text
            .split("\"$ref\":\"#/components/schemas/")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(references.len() > 50);
        for reference in references {
            assert!(
                description["components"]["schemas"]
                    .get(reference)
                    .is_some(),
                "{reference}"
            );
        }
        assert!(!text.contains("#/$defs/"));
        let operations: usize = description["paths"]
            .as_object()
            .unwrap()
            .values()
            .map(|methods| methods.as_object().unwrap().len())
            .sum();
        assert_eq!(operations, routes::all().count());
    }
}
