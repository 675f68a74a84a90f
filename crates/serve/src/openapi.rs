//! The description of the API (OpenAPI 3.1), made from the table of routes and the shapes of `tare schema api`.

use serde_json::{Map, Value, json};

use crate::parameters;
use crate::routes::{self, ApiRoute, RouteContent};
use crate::shapes;

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
            "description": "Runs and loads of `tare serve`. Scripts send the token of the file that the server names at its start. \
                Every error is JSON with a `message`: 400 for a request that cannot be read, 404 for what is not there, 422 for a value that \
                cannot be taken, 409 for one that cannot be done now, 502 and 504 for brokers that do not answer.",
        },
        "servers": [{ "url": "/api/v1" }],
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
            "schemas": shapes::all(),
        },
    })
}

fn operation(route: &ApiRoute) -> Value {
    let of_path = parameters::in_path(route.path).map(|name| {
        json!({
            "name": name, "in": "path", "required": true, "schema": parameters::part(name),
        })
    });
    let all: Vec<Value> = of_path.chain(parameters::query(route)).collect();
    let mut responses = Map::new();
    let (status, gives) = route.gives;
    let answers = std::iter::once((status, route.about, gives));
    for (status, about, gives) in answers.chain(parameters::other_answer(route)) {
        let mut answer = json!({ "description": about });
        if let Some(content) = content(gives) {
            answer["content"] = content;
        }
        let links = parameters::links(route, status, routes::all());
        if !links.is_empty() {
            answer["links"] = links.into();
        }
        responses.insert(status.to_string(), answer);
    }
    for (status, about) in [
        ("4XX", "The request is wrong, or cannot be done"),
        ("5XX", "The server, the machine or a broker fails"),
    ] {
        let content = content(RouteContent::Json("ErrorReply"));
        responses.insert(
            status.to_owned(),
            json!({ "description": about, "content": content }),
        );
    }
    let mut operation = json!({
        "operationId": parameters::operation_id(route),
        "summary": route.about,
        "parameters": all,
        "responses": responses,
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
        // The shapes of what an event carries are those of `RunEvent`, `LoadEvent` and `ClusterEvent`.
        RouteContent::Events => json!({ "text/event-stream": {} }),
        RouteContent::Text => json!({ "text/plain": { "schema": text } }),
        RouteContent::Html => json!({ "text/html": { "schema": text } }),
        RouteContent::Tar => json!({ "application/x-tar": { "schema": text } }),
    })
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
