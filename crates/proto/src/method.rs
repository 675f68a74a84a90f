//! One method: its kind, and its messages from JSON and back.

use std::fmt;
use std::str::FromStr;

use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor, MethodDescriptor};
use serde_json::Value;
use tare_schema::load::CallKind;

use crate::descriptions::list;
use crate::error::ProtoError;

/// The name of a method: `package.Service/Method`, with or without a slash before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodName {
    /// Full name of the service.
    pub service: String,
    /// Name of the method.
    pub method: String,
}

impl MethodName {
    /// The path that a call of it has.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/{self}")
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.service, self.method)
    }
}

impl FromStr for MethodName {
    type Err = ProtoError;

    /// Also with a dot before the method, as some tools write it.
    fn from_str(text: &str) -> Result<Self, ProtoError> {
        let bare = text.strip_prefix('/').unwrap_or(text);
        let parts = bare.rsplit_once('/').or_else(|| bare.rsplit_once('.'));
        let is_name = |name: &str| {
            let fits = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            !name.is_empty() && name.chars().all(fits)
        };
        match parts {
            Some((service, method)) if is_name(service) && is_name(method) => Ok(Self {
                service: service.to_owned(),
                method: method.to_owned(),
            }),
            _ => Err(ProtoError::MethodName(text.to_owned())),
        }
    }
}

/// A described method.
#[derive(Debug, Clone)]
pub struct Method {
    descriptor: MethodDescriptor,
}

impl Method {
    pub(crate) fn new(descriptor: MethodDescriptor) -> Self {
        Self { descriptor }
    }

    /// Who sends how many messages.
    #[must_use]
    pub fn kind(&self) -> CallKind {
        let (client, server) = (
            self.descriptor.is_client_streaming(),
            self.descriptor.is_server_streaming(),
        );
        match (client, server) {
            (false, false) => CallKind::Unary,
            (true, false) => CallKind::ClientStreaming,
            (false, true) => CallKind::ServerStreaming,
            (true, true) => CallKind::Bidirectional,
        }
    }

    /// The encoded messages of a JSON text: one object, an array of them, or several behind each other.
    ///
    /// # Errors
    /// When the text is not JSON, or an object is not of the method's message.
    pub fn encode(&self, json: &str) -> Result<Vec<Vec<u8>>, ProtoError> {
        let input = self.descriptor.input();
        let mut messages = Vec::new();
        for value in serde_json::Deserializer::from_str(json).into_iter::<Value>() {
            match value.map_err(|why| wrong(&input, &why))? {
                // Those of the well-known messages that are no objects in JSON stand for themselves.
                Value::Array(values) if !input.full_name().starts_with("google.protobuf.") => {
                    for value in values {
                        messages.push(encode_one(&input, &value)?);
                    }
                }
                value => messages.push(encode_one(&input, &value)?),
            }
        }
        if messages.is_empty() {
            messages.push(Vec::new());
        }
        Ok(messages)
    }

    /// A message of the answer as JSON, or `None` when the bytes are no such message.
    #[must_use]
    pub fn decode(&self, bytes: &[u8]) -> Option<String> {
        let message = DynamicMessage::decode(self.descriptor.output(), bytes).ok()?;
        serde_json::to_string(&message).ok()
    }
}

fn encode_one(message: &MessageDescriptor, value: &Value) -> Result<Vec<u8>, ProtoError> {
    let one =
        DynamicMessage::deserialize(message.clone(), value).map_err(|why| wrong(message, &why))?;
    Ok(one.encode_to_vec())
}

fn wrong(message: &MessageDescriptor, why: &dyn fmt::Display) -> ProtoError {
    ProtoError::Json {
        message: message.full_name().to_owned(),
        why: why.to_string(),
        fields: list(message.fields().map(|field| field.json_name().to_owned())),
    }
}
