//! What the description of the API says of addresses: parts of paths, queries, and where their values come from.

use serde_json::{Map, Value, json};

use crate::places::NAME_PATTERN;
use crate::routes::{ApiRoute, RouteContent};

/// Names of topics as brokers take them.
const TOPIC_PATTERN: &str = "^[A-Za-z0-9._-]{1,249}$";

/// The names of the variable parts of a path.
pub fn in_path(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| name.trim_start_matches('*'))
}

/// The schema of a part of a path.
pub fn part(name: &str) -> Value {
    match name {
        "id" | "night" | "name" | "study" => json!({ "type": "string", "pattern": NAME_PATTERN }),
        "topic" => json!({ "type": "string", "pattern": TOPIC_PATTERN }),
        "trial" | "broker" | "job" => {
            json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": i32::MAX })
        }
        // Clusters of the command line, consumer groups and files have any names.
        _ => json!({ "type": "string", "minLength": 1 }),
    }
}

/// The parameters of the query of an operation.
pub fn query(route: &ApiRoute) -> Vec<Value> {
    let whether = |name| (name, json!({ "type": "boolean" }));
    let text = |name| (name, json!({ "type": "string" }));
    let shape = |name, shape: &str| {
        (
            name,
            json!({ "$ref": format!("{}{shape}", crate::shapes::PLACE) }),
        )
    };
    // A greater number is as good as the most.
    let count = |name, most: usize| {
        let about = format!("At most {most} are returned");
        (
            name,
            json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX, "description": about }),
        )
    };
    let series = || {
        vec![
            ("experiment", json!({ "type": "string" })),
            shape("form", "Form"),
            shape("metric", "Metric"),
            text("arm"),
            text("level"),
            text("machine"),
        ]
    };
    let (found, required): (Vec<(&str, Value)>, &[&str]) = match (route.method, route.path) {
        ("get", "/audit") => (vec![count("last", crate::access::ENTRIES_MAX)], &[]),
        ("get", "/compare") => {
            let runs = json!({ "type": "array", "minItems": 1, "maxItems": crate::routes::OVERLAY_MAX,
                "items": { "type": "string", "pattern": NAME_PATTERN } });
            (vec![("run", runs)], &["run"])
        }
        ("get", "/history/series") => {
            let mut all = series();
            all.push(whether("changes"));
            (all, &["experiment"])
        }
        ("get", "/history/points") => {
            let mut all = series();
            all.push(count("last", crate::history::POINTS_MAX));
            (all, &["experiment"])
        }
        ("get", "/kafka/clusters/{cluster}/events") => {
            let mut all = ["topics", "groups", "reassignments", "metrics"]
                .map(whether)
                .to_vec();
            all.extend([text("topic"), text("group")]);
            (all, &[])
        }
        ("delete", "/kafka/clusters/{cluster}/topics/{topic}") => {
            (vec![text("id"), whether("internal")], &[])
        }
        ("get", "/kafka/clusters/{cluster}/topics/{topic}/records") => {
            let partition =
                json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": i32::MAX });
            (
                vec![
                    ("partition", partition),
                    count("count", crate::kafka::routes::RECORDS_MAX),
                ],
                &[],
            )
        }
        _ => return Vec::new(),
    };
    let parameter = |(name, schema): (&str, Value)| {
        json!({
            "name": name, "in": "query", "required": required.contains(&name), "schema": schema,
        })
    };
    found.into_iter().map(parameter).collect()
}

/// An answer that names something, or a request that makes it: method and path, status, the name of the part of a path, and where
/// its value is.
type Source = (&'static str, &'static str, u16, &'static str, &'static str);

const SOURCES: &[Source] = &[
    ("get", "/runs", 200, "id", "$response.body#/runs/0/id"),
    ("post", "/runs", 201, "id", "$response.body#/id"),
    ("post", "/runs/import", 201, "id", "$response.body#/id"),
    ("post", "/runs/{id}/resume", 201, "id", "$response.body#/id"),
    (
        "get",
        "/runs/{id}/view",
        200,
        "trial",
        "$response.body#/trials/0/trial",
    ),
    ("get", "/loads", 200, "id", "$response.body#/loads/0/id"),
    ("post", "/loads", 201, "id", "$response.body#/id"),
    ("post", "/loads/import", 201, "id", "$response.body#/id"),
    ("get", "/starts", 200, "id", "$response.body#/starts/0/id"),
    (
        "get",
        "/history/nights",
        200,
        "night",
        "$response.body#/nights/0/night",
    ),
    (
        "get",
        "/kafka/clusters",
        200,
        "cluster",
        "$response.body#/clusters/0/name",
    ),
    (
        "post",
        "/kafka/clusters",
        201,
        "cluster",
        "$response.body#/name",
    ),
    (
        "get",
        "/kafka/clusters/{cluster}/overview",
        200,
        "broker",
        "$response.body#/brokers/0/id",
    ),
    (
        "get",
        "/kafka/clusters/{cluster}/topics",
        200,
        "topic",
        "$response.body#/topics/0/name",
    ),
    (
        "post",
        "/kafka/clusters/{cluster}/topics",
        201,
        "topic",
        "$request.body#/name",
    ),
    (
        "get",
        "/kafka/clusters/{cluster}/groups",
        200,
        "group",
        "$response.body#/groups/0/name",
    ),
    (
        "post",
        "/kafka/clusters/{cluster}/verify",
        201,
        "job",
        "$response.body#/id",
    ),
];

/// Beginnings of the paths at which a source's value is one: `id` is that of a run, of a load or of a start.
fn place_of(source: &Source) -> &'static str {
    match source {
        // What starts a run or a load answers with a start.
        (_, "/runs" | "/loads" | "/runs/{id}/resume", 201, ..) | (_, "/starts", ..) => {
            "/starts/{id}"
        }
        (_, path, ..) if path.starts_with("/runs") => "/runs/{id}",
        (_, path, ..) if path.starts_with("/loads") => "/loads/{id}",
        (_, "/history/nights", ..) => "/history/nights/{night}",
        _ => "/kafka/clusters/{cluster}",
    }
}

/// The operations that can be asked for with what an answer of this one names.
pub fn links<'a>(
    route: &ApiRoute,
    status: u16,
    all: impl Iterator<Item = &'a ApiRoute>,
) -> Map<String, Value> {
    let is_of =
        |source: &&Source| (source.0, source.1, source.2) == (route.method, route.path, status);
    let Some(source) = SOURCES.iter().find(is_of) else {
        return Map::new();
    };
    let known: Vec<&str> = in_path(route.path).collect();
    let (name, expression) = (source.3, source.4);
    let mut links = Map::new();
    for other in all.filter(|other| other.path.starts_with(place_of(source))) {
        let parts: Vec<&str> = in_path(other.path).collect();
        if !parts.contains(&name)
            || !parts
                .iter()
                .all(|part| *part == name || known.contains(part))
        {
            continue;
        }
        let values = parts.iter().map(|part| {
            let value = match *part == name {
                true => expression.to_owned(),
                false => format!("$request.path.{part}"),
            };
            (format!("path.{part}"), value.into())
        });
        let parameters: Map<String, Value> = values.collect();
        let id = operation_id(other);
        links.insert(
            id.clone(),
            json!({ "operationId": id, "parameters": parameters }),
        );
    }
    links
}

/// The name of an operation in the description.
pub fn operation_id(route: &ApiRoute) -> String {
    let words = route
        .path
        .split(['/', '.', '-'])
        .filter(|word| !word.is_empty());
    let words = words.map(|word| word.trim_matches(['{', '}', '*']));
    std::iter::once(route.method)
        .chain(words)
        .collect::<Vec<_>>()
        .join("_")
}

/// Another status of an operation than the one of its route, and what it means.
pub fn other_answer(route: &ApiRoute) -> Option<(u16, &'static str, RouteContent)> {
    match (route.method, route.path) {
        ("post", "/kafka/clusters/{cluster}/topics") => {
            Some((200, "It could be created (`validate_only`)", route.gives.1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes;

    #[test]
    fn every_operation_of_kafka_but_those_of_all_clusters_can_be_reached_by_links() {
        let linked: Vec<String> = routes::all()
            .flat_map(|route| links(route, route.gives.0, routes::all()))
            .map(|(name, _)| name)
            .collect();
        let of_clusters = routes::all().filter(|route| route.path.contains("{cluster}"));
        for route in of_clusters {
            let id = operation_id(route);
            assert!(linked.contains(&id), "{id}");
        }
        for id in [
            "get_runs_id",
            "get_loads_id",
            "get_starts_id",
            "get_history_nights_night",
        ] {
            assert!(linked.iter().any(|one| one == id), "{id}");
        }
        for source in SOURCES {
            let mut all = routes::all();
            assert!(
                all.any(|route| (route.method, route.path) == (source.0, source.1)),
                "{source:?}"
            );
        }
    }

    #[test]
    fn a_query_that_a_route_names_is_described() {
        for route in routes::all() {
            let named = route.about.contains('?') || route.about.contains("=N`");
            assert_eq!(named, !query(route).is_empty(), "{}", route.path);
        }
    }
}
