//! Created objects in memory: what a control plane writes for itself, such as the leases of a leader election.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Most objects that are kept: a control plane writes a dozen.
const OBJECTS_MAX: usize = 1000;

/// Objects by path.
#[derive(Debug, Default)]
pub struct Objects {
    by_path: BTreeMap<String, Value>,
    /// Counts writes, as the API does: a stale writer is recognised by it.
    version: u64,
}

/// Why an object is not written: HTTP status and reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    NotFound,
    AlreadyExists,
    /// It was changed since the writer read it.
    Conflict,
    /// It has no name.
    Invalid,
    TooMany,
}

impl Refusal {
    /// HTTP status, and the API's word for it.
    #[must_use]
    pub fn status(self) -> (u16, &'static str) {
        match self {
            Refusal::NotFound => (404, "NotFound"),
            Refusal::AlreadyExists => (409, "AlreadyExists"),
            Refusal::Conflict => (409, "Conflict"),
            Refusal::Invalid => (422, "Invalid"),
            Refusal::TooMany => (429, "TooManyRequests"),
        }
    }
}

impl Objects {
    /// The object at a path.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Value> {
        self.by_path.get(path)
    }

    /// Creates an object in a collection.
    ///
    /// # Errors
    /// When it has no name, is there already, or there are too many.
    pub fn create(&mut self, collection: &str, object: Value) -> Result<Value, Refusal> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        let name = name
            .filter(|name| !name.is_empty())
            .ok_or(Refusal::Invalid)?;
        let path = format!("{collection}/{name}");
        if self.by_path.contains_key(&path) {
            return Err(Refusal::AlreadyExists);
        }
        if self.by_path.len() >= OBJECTS_MAX {
            return Err(Refusal::TooMany);
        }
        self.write(&path, object)
    }

    /// Replaces an object.
    ///
    /// # Errors
    /// When there is none, or its version is not the one that was read.
    pub fn replace(&mut self, path: &str, object: Value) -> Result<Value, Refusal> {
        let version = |object: &Value| object.pointer("/metadata/resourceVersion").cloned();
        let known = self.by_path.get(path).ok_or(Refusal::NotFound)?;
        if version(&object).is_some_and(|read| Some(read) != version(known)) {
            return Err(Refusal::Conflict);
        }
        self.write(path, object)
    }

    fn write(&mut self, path: &str, mut object: Value) -> Result<Value, Refusal> {
        self.version += 1;
        let metadata = object
            .pointer_mut("/metadata")
            .and_then(Value::as_object_mut);
        let metadata = metadata.ok_or(Refusal::Invalid)?;
        metadata.insert(
            String::from("resourceVersion"),
            json!(self.version.to_string()),
        );
        self.by_path.insert(path.to_owned(), object.clone());
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_writer_is_refused_as_in_a_leader_election() {
        let mut objects = Objects::default();
        let lease = json!({"metadata": {"name": "leader"}, "spec": {"holder": "one"}});
        let created = objects.create("/leases", lease.clone()).unwrap();
        assert_eq!(
            objects.create("/leases", lease),
            Err(Refusal::AlreadyExists)
        );
        let renewed = objects.replace("/leases/leader", created.clone()).unwrap();
        assert_ne!(renewed, created);
        assert_eq!(
            objects.replace("/leases/leader", created),
            Err(Refusal::Conflict)
        );
        assert_eq!(objects.get("/leases/leader"), Some(&renewed));
    }

    #[test]
    fn objects_without_name_or_place_are_refused() {
        let mut objects = Objects::default();
        for object in [
            json!(null),
            json!({}),
            json!({"metadata": {"name": ""}}),
            json!([]),
        ] {
            assert_eq!(objects.create("/x", object), Err(Refusal::Invalid));
        }
        let object = json!({"metadata": {"name": "a"}});
        assert_eq!(objects.replace("/x/a", object), Err(Refusal::NotFound));
    }

    #[test]
    fn there_is_a_limit_of_objects() {
        let mut objects = Objects::default();
        for number in 0..OBJECTS_MAX {
            let object = json!({"metadata": {"name": number.to_string()}});
            objects.create("/x", object).unwrap();
        }
        let one_more = json!({"metadata": {"name": "more"}});
        assert_eq!(objects.create("/x", one_more), Err(Refusal::TooMany));
    }
}
