//! Files of edition 2023 as proto2 files that mean the same: the libraries know proto2 and proto3 only.
//!
//! What an edition changes on the wire are the labels, the packing and the groups of fields. A field without presence (IMPLICIT)
//! has it in proto2; a value that is stated and equals the default is then sent, which every receiver reads in the same way.

use prost::Message;
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::uninterpreted_option::NamePart;
use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    ServiceDescriptorProto, UninterpretedOption,
};
use tare_record::text::preview;

use crate::ProtoError;

/// Number of edition 2023 in a descriptor.
const EDITION_2023: i32 = 1000;

/// The features of a field that change its encoding, as edition 2023 has them without any setting.
#[derive(Debug, Clone, Copy)]
struct Features {
    is_required: bool,
    is_packed: bool,
    is_delimited: bool,
}

const OF_2023: Features = Features {
    is_required: false,
    is_packed: true,
    is_delimited: false,
};

impl Features {
    /// With one setting, by the names of the language.
    fn set(mut self, name: &str, value: &str) -> Self {
        match name {
            "field_presence" => self.is_required = value == "LEGACY_REQUIRED",
            "repeated_field_encoding" => self.is_packed = value == "PACKED",
            "message_encoding" => self.is_delimited = value == "DELIMITED",
            _ => {}
        }
        self
    }

    /// With the settings of a compiled descriptor.
    fn with(self, set: Option<&FeatureSet>) -> Self {
        let Some(set) = set else { return self };
        Features {
            is_required: set
                .field_presence
                .map_or(self.is_required, |value| value == 3),
            is_packed: set
                .repeated_field_encoding
                .map_or(self.is_packed, |value| value == 1),
            is_delimited: set
                .message_encoding
                .map_or(self.is_delimited, |value| value == 2),
        }
    }

    /// With the settings among the options of a source file, which are removed: the compiler does not know them.
    fn take(mut self, options: &mut Vec<UninterpretedOption>) -> Self {
        options.retain(|option| {
            let names: Vec<&str> = option.name.iter().map(part).collect();
            match names.as_slice() {
                ["features", name] => {
                    self = self.set(name, option.identifier_value());
                    false
                }
                ["features"] => {
                    let text = option.aggregate_value();
                    let word = |c: char| !c.is_ascii_alphanumeric() && c != '_';
                    let words: Vec<&str> = text.split(word).filter(|w| !w.is_empty()).collect();
                    for pair in words.chunks_exact(2) {
                        self = self.set(pair[0], pair[1]);
                    }
                    false
                }
                ["features", ..] => false,
                _ => true,
            }
        });
        self
    }
}

fn part(part: &NamePart) -> &str {
    &part.name_part
}

/// What the types of the library leave out of a `FileDescriptorProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RawFile {
    #[prost(message, repeated, tag = "4")]
    messages: Vec<RawMessage>,
    #[prost(message, repeated, tag = "7")]
    extensions: Vec<RawField>,
    #[prost(message, optional, tag = "8")]
    options: Option<RawFileOptions>,
    #[prost(int32, tag = "14")]
    edition: i32,
}

#[derive(Clone, PartialEq, Message)]
struct RawMessage {
    #[prost(message, repeated, tag = "2")]
    fields: Vec<RawField>,
    #[prost(message, repeated, tag = "3")]
    nested: Vec<RawMessage>,
    #[prost(message, repeated, tag = "6")]
    extensions: Vec<RawField>,
    #[prost(message, optional, tag = "7")]
    options: Option<RawMessageOptions>,
}

#[derive(Clone, PartialEq, Message)]
struct RawField {
    #[prost(message, optional, tag = "8")]
    options: Option<RawFieldOptions>,
}

#[derive(Clone, PartialEq, Message)]
struct RawFileOptions {
    #[prost(message, optional, tag = "50")]
    features: Option<FeatureSet>,
}

#[derive(Clone, PartialEq, Message)]
struct RawMessageOptions {
    #[prost(message, optional, tag = "12")]
    features: Option<FeatureSet>,
}

#[derive(Clone, PartialEq, Message)]
struct RawFieldOptions {
    #[prost(message, optional, tag = "21")]
    features: Option<FeatureSet>,
}

#[derive(Clone, PartialEq, Message)]
struct FeatureSet {
    #[prost(int32, optional, tag = "1")]
    field_presence: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    repeated_field_encoding: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    message_encoding: Option<i32>,
}

/// Decodes a file, of any syntax that is understood.
///
/// # Errors
/// Outer: the bytes are no file. Inner: its syntax is not understood; prost-reflect would panic on it.
pub(crate) fn decode(
    bytes: &[u8],
) -> Result<Result<FileDescriptorProto, ProtoError>, prost::DecodeError> {
    let mut file = FileDescriptorProto::decode(bytes)?;
    let syntax = match file.syntax.as_deref() {
        None | Some("proto2" | "proto3") => return Ok(Ok(file)),
        Some("editions") => {
            let raw = RawFile::decode(bytes)?;
            if raw.edition == EDITION_2023 {
                to_proto2(&mut file, &raw);
                return Ok(Ok(file));
            }
            format!("edition {}", year(raw.edition))
        }
        Some(other) => preview(other),
    };
    Ok(Err(ProtoError::Syntax {
        file: preview(file.name()),
        syntax,
    }))
}

/// The name of an edition: numbers from 998 on are years.
fn year(edition: i32) -> i32 {
    match edition {
        1000..=1099 => edition + 1023,
        _ => edition,
    }
}

/// A source file in proto3 words that the parser takes, if it is of edition 2023; `None` for another syntax. The parsed file is for
/// [`to_proto2`].
pub(crate) fn as_parsable(source: &str) -> Option<String> {
    let at = statement(source)?;
    let rest = source[at..].strip_prefix("edition")?;
    let value = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|&c| c == '"' || c == '\'')?;
    let (year, _) = value[1..].split_once(quote)?;
    if year != "2023" {
        return None;
    }
    let value_at = source.len() - value.len();
    Some(format!(
        "{}syntax {}{quote}proto3{quote}{}",
        &source[..at],
        &source[at + "edition".len()..value_at],
        &value[year.len() + 2..]
    ))
}

/// Where the first statement of a source begins, behind comments and spaces.
fn statement(source: &str) -> Option<usize> {
    let mut rest = source;
    loop {
        rest = rest.trim_start();
        rest = match (rest.strip_prefix("//"), rest.strip_prefix("/*")) {
            (Some(comment), _) => comment.split_once('\n')?.1,
            (None, Some(comment)) => comment.split_once("*/")?.1,
            (None, None) => return Some(source.len() - rest.len()),
        };
    }
}

/// Makes a file of edition 2023 one of proto2.
pub(crate) fn to_proto2(file: &mut FileDescriptorProto, raw: &RawFile) {
    file.syntax = Some("proto2".to_owned());
    let set = raw.options.as_ref().and_then(|all| all.features.as_ref());
    let mut features = OF_2023.with(set);
    if let Some(options) = &mut file.options {
        features = features.take(&mut options.uninterpreted_option);
    }
    for (at, message) in file.message_type.iter_mut().enumerate() {
        lower_message(message, raw.messages.get(at), features);
    }
    for (at, field) in file.extension.iter_mut().enumerate() {
        lower_field(field, raw.extensions.get(at), features, &[]);
    }
    file.enum_type.iter_mut().for_each(lower_enum);
    file.service.iter_mut().for_each(lower_service);
}

fn lower_message(message: &mut DescriptorProto, raw: Option<&RawMessage>, inherited: Features) {
    let set = raw.and_then(|raw| raw.options.as_ref()?.features.as_ref());
    let mut features = inherited.with(set);
    let mut is_entry = false;
    if let Some(options) = &mut message.options {
        features = features.take(&mut options.uninterpreted_option);
        is_entry = options.map_entry();
    }
    if is_entry {
        features = OF_2023;
    }
    let mut entries = Vec::new();
    for (at, nested) in message.nested_type.iter_mut().enumerate() {
        lower_message(nested, raw.and_then(|raw| raw.nested.get(at)), features);
        if nested.options.as_ref().is_some_and(|all| all.map_entry()) {
            entries.push(nested.name().to_owned());
        }
    }
    for (at, field) in message.field.iter_mut().enumerate() {
        let raw = raw.and_then(|raw| raw.fields.get(at));
        lower_field(field, raw, features, &entries);
    }
    for (at, field) in message.extension.iter_mut().enumerate() {
        let raw = raw.and_then(|raw| raw.extensions.get(at));
        lower_field(field, raw, features, &[]);
    }
    for oneof in &mut message.oneof_decl {
        if let Some(options) = &mut oneof.options {
            let _ = OF_2023.take(&mut options.uninterpreted_option);
        }
    }
    message.enum_type.iter_mut().for_each(lower_enum);
}

/// `entries` are the messages that a map of this message consists of.
fn lower_field(
    field: &mut FieldDescriptorProto,
    raw: Option<&RawField>,
    inherited: Features,
    entries: &[String],
) {
    let set = raw.and_then(|raw| raw.options.as_ref()?.features.as_ref());
    let mut features = inherited.with(set);
    if let Some(options) = &mut field.options {
        features = features.take(&mut options.uninterpreted_option);
    }
    if field.label() == Label::Repeated {
        let packs = match field.r#type {
            Some(_) => !matches!(
                field.r#type(),
                Type::String | Type::Bytes | Type::Message | Type::Group
            ),
            // The parser does not know yet whether it is a message or an enumeration: the compiler ignores it for messages.
            None => false,
        };
        if packs {
            field.options.get_or_insert_default().packed = Some(features.is_packed);
        }
    } else {
        let is_required = features.is_required && field.oneof_index.is_none();
        let label = match is_required {
            true => Label::Required,
            false => Label::Optional,
        };
        field.set_label(label);
    }
    let type_name = field.type_name().rsplit('.').next().unwrap_or_default();
    let is_map = entries.iter().any(|entry| entry == type_name);
    if features.is_delimited && !is_map && matches!(field.r#type, None | Some(11)) {
        field.set_type(Type::Group);
    }
}

fn lower_enum(one: &mut EnumDescriptorProto) {
    if let Some(options) = &mut one.options {
        let _ = OF_2023.take(&mut options.uninterpreted_option);
    }
    for value in &mut one.value {
        if let Some(options) = &mut value.options {
            let _ = OF_2023.take(&mut options.uninterpreted_option);
        }
    }
}

fn lower_service(service: &mut ServiceDescriptorProto) {
    if let Some(options) = &mut service.options {
        let _ = OF_2023.take(&mut options.uninterpreted_option);
    }
    for method in &mut service.method {
        if let Some(options) = &mut method.options {
            let _ = OF_2023.take(&mut options.uninterpreted_option);
        }
    }
}
