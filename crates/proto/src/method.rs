//! One method: its kind, and conversion of its messages from and to JSON.

use std::fmt;

use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor, MethodDescriptor};
use serde_json::Value;
use tare_record::load::CallKind;

use crate::ProtoError;
use crate::descriptors::list;

/// A method with its descriptor.
#[derive(Debug, Clone)]
pub struct Method {
    descriptor: MethodDescriptor,
}

impl Method {
    pub(crate) fn new(descriptor: MethodDescriptor) -> Self {
        Self { descriptor }
    }

    /// Unary or streaming, by side.
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

    /// Encodes messages from JSON: one object, an array of objects, or several objects in a row. One empty message if the text is
    /// empty.
    ///
    /// # Errors
    /// When the text is not JSON, or an object does not match the message type of the request.
    pub fn encode(&self, json: &str) -> Result<Vec<Vec<u8>>, ProtoError> {
        let input = self.descriptor.input();
        let mut messages = Vec::new();
        for value in serde_json::Deserializer::from_str(json).into_iter::<Value>() {
            match value.map_err(|why| json_error(&input, &why))? {
                // An array can be one message of a well-known type, such as `ListValue`.
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

    /// A response message as JSON; `None` when the bytes cannot be decoded.
    #[must_use]
    pub fn decode(&self, bytes: &[u8]) -> Option<String> {
        let message = DynamicMessage::decode(self.descriptor.output(), bytes).ok()?;
        serde_json::to_string(&message).ok()
    }
}

fn encode_one(message: &MessageDescriptor, value: &Value) -> Result<Vec<u8>, ProtoError> {
    let one = DynamicMessage::deserialize(message.clone(), value)
        .map_err(|why| json_error(message, &why))?;
    Ok(one.encode_to_vec())
}

fn json_error(message: &MessageDescriptor, why: &dyn fmt::Display) -> ProtoError {
    ProtoError::Json {
        message: message.full_name().to_owned(),
        why: why.to_string(),
        fields: list(message.fields().map(|field| field.json_name().to_owned())),
    }
}
