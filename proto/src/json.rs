//! JSON for messages, by the mapping of proto3: 64-bit integers are strings, enum values are names, bytes are base64,
//! and field names are in lowerCamelCase. Decoding also accepts numbers for integers up to 2^53 - 1, and the names of the
//! .proto. It changes no value: what it would round and what is given twice is an error.

use std::fmt;

use bytes::Buf;
use prost::{DecodeError, Message};
use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage, Kind, MessageDescriptor, SerializeOptions};
use serde::{
    Serialize, Serializer,
    de::{DeserializeSeed, Deserializer as _, IntoDeserializer as _, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment, Track};

use crate::{
    floor::InvalidFloor,
    json_text::{self, Fault},
    text,
};

/// The most bytes of a text from the request that an error quotes.
const MAX_QUOTED_BYTES: usize = 200;
/// How `prost_reflect` begins the error for a field that the message does not have. Its name follows, in quotes.
const UNKNOWN_FIELD: &str = "unrecognized field name '";
/// How `serde_json` begins the error for text that is not UTF-8.
const NOT_UTF_8: &str = "invalid unicode code point";

/// Message types, by their full names. Cheap to clone.
#[derive(Debug, Clone)]
pub struct JsonTypes(DescriptorPool);

/// Encoded messages of one type, from and to JSON. Cheap to clone.
#[derive(Debug, Clone)]
pub struct JsonCodec(MessageDescriptor);

/// A message that serializes to its JSON, alone or as a part of a document.
#[derive(Debug, Clone)]
pub struct JsonMessage {
    message: DynamicMessage,
    options: SerializeOptions,
}

impl JsonMessage {
    /// With fields that are 0 or empty, which are left out otherwise.
    #[must_use]
    pub fn with_all_fields(self) -> Self {
        Self { options: self.options.skip_default_fields(false), ..self }
    }
}

impl Serialize for JsonMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.message.serialize_with_options(serializer, &self.options)
    }
}

/// JSON that is not a message of the expected type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidJson {
    /// The path of the field, such as `specs[3].width`. `None` if the text as a whole is wrong.
    pub field: Option<String>,
    /// What is wrong, and what would be right.
    pub description: String,
}

impl fmt::Display for InvalidJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{field}: {}", self.description),
            None => f.write_str(&self.description),
        }
    }
}

impl std::error::Error for InvalidJson {}

/// A message that has no JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// The bytes are not a message of the type.
    #[error("the message does not decode: {0}")]
    Decode(#[from] DecodeError),
    /// It is no floor.
    #[error("the floor is invalid: {0}")]
    Floor(#[from] InvalidFloor),
    /// The mapping has no JSON for a value.
    #[error("the message has no JSON: {0}")]
    Encode(#[from] serde_json::Error),
}

impl JsonTypes {
    /// The types of encoded `google.protobuf.FileDescriptorSet`s. `None` if one is invalid.
    pub fn new<'a>(sets: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let mut pool = DescriptorPool::new();
        sets.into_iter().try_for_each(|set| pool.decode_file_descriptor_set(set)).ok()?;
        Some(Self(pool))
    }

    /// The messages of the type `name`, such as `floors.v1.Floor`. `None` if there is no such type.
    #[must_use]
    pub fn codec(&self, name: &str) -> Option<JsonCodec> {
        self.0.get_message_by_name(name).map(JsonCodec)
    }

    /// The requests and the responses of a method. `None` if there is no such method.
    #[must_use]
    pub fn method(&self, service: &str, method: &str) -> Option<(JsonCodec, JsonCodec)> {
        let service = self.0.get_service_by_name(service)?;
        let method = service.methods().find(|candidate| candidate.name() == method)?;
        Some((JsonCodec(method.input()), JsonCodec(method.output())))
    }
}

impl JsonCodec {
    /// Appends the JSON of an encoded message to `out`.
    ///
    /// # Errors
    /// If `message` does not decode. `out` may then have a part of the JSON.
    pub fn encode(&self, message: impl Buf, out: &mut Vec<u8>) -> Result<(), JsonError> {
        self.message(message)?.serialize(&mut serde_json::Serializer::new(out))?;
        Ok(())
    }

    /// An encoded message, to serialize.
    ///
    /// # Errors
    /// If `message` does not decode.
    pub fn message(&self, message: impl Buf) -> Result<JsonMessage, DecodeError> {
        let message = DynamicMessage::decode(self.0.clone(), message)?;
        Ok(JsonMessage { message, options: SerializeOptions::new() })
    }

    /// The encoded message of `json`. The memory that this takes grows with the length of `json`, and `serde_json` bounds
    /// the depth.
    ///
    /// # Errors
    /// If `json` is no JSON, or has an unknown field or a wrong value. The error names the field.
    pub fn decode(&self, json: &[u8]) -> Result<Vec<u8>, InvalidJson> {
        self.decode_exactly(json, None)
    }

    /// Reads an object that has the fields of a message and fields besides: those that `besides` names. Returns the
    /// encoded message, and the other fields as they are.
    ///
    /// # Errors
    /// As for [`decode`](Self::decode).
    pub fn decode_with(&self, json: &[u8], besides: &[&str]) -> Result<(Vec<u8>, Map<String, Value>), InvalidJson> {
        let mut values = Map::new();
        let message = self.decode_exactly(json, Some((besides, &mut values)))?;
        Ok((message, values))
    }

    /// The encoded message of `json`, if nothing in it is changed by reading it.
    fn decode_exactly(&self, json: &[u8], mut besides: Besides<'_, '_>) -> Result<Vec<u8>, InvalidJson> {
        let json = text::without_mark(json);
        if text::is_utf16(json) {
            return Err(InvalidJson { field: None, description: "the text is UTF-16; send UTF-8".to_owned() });
        }
        let names = besides.as_ref().map(|(names, _)| *names);
        let exact = json_text::with_exact_numbers(json).map_err(|fault| self.at(fault, json, names))?;
        let message = self.read(&exact, besides.as_mut().map(|(names, values)| (*names, &mut **values)))?;
        match json_text::repeated_name(json) {
            Some(fault) => Err(self.at(fault, json, names)),
            None => Ok(message.encode_to_vec()),
        }
    }

    fn read(&self, json: &[u8], besides: Besides<'_, '_>) -> Result<DynamicMessage, InvalidJson> {
        let mut reader = serde_json::Deserializer::from_slice(json);
        let mut track = Track::new();
        let deserializer = serde_path_to_error::Deserializer::new(&mut reader, &mut track);
        let read = match besides {
            None => DynamicMessage::deserialize_with_options(self.0.clone(), deserializer, &DeserializeOptions::new()),
            Some((besides, values)) => {
                deserializer.deserialize_map(Document { message: self.0.clone(), besides, values })
            }
        };
        match read {
            Ok(message) => match reader.end() {
                Ok(()) => Ok(message),
                Err(error) => Err(InvalidJson { field: None, description: described(&error, json) }),
            },
            Err(error) => Err(self.invalid(&error, json, &track.path())),
        }
    }

    /// The error of `fault`, with the field in which it is.
    fn at(&self, Fault { at, description }: Fault, json: &[u8], besides: Option<&[&str]>) -> InvalidJson {
        // Reading ends where the text does.
        let mut values = Map::new();
        let read = self.read(&json[..at], besides.map(|names| (names, &mut values)));
        let field = read.err().and_then(|error| error.field);
        InvalidJson { field, description }
    }

    fn invalid(&self, error: &serde_json::Error, json: &[u8], path: &Path) -> InvalidJson {
        let (parent, problem, expected) = (field_name(path), described(error, json), self.expected(path));
        let unknown = problem.strip_prefix(UNKNOWN_FIELD).and_then(|rest| rest.rsplit_once('\''));
        let (field, problem) = match (unknown, problem.strip_prefix(NOT_UTF_8)) {
            (Some((name, position)), _) => {
                let parent = parent.map_or_else(String::new, |parent| parent + ".");
                (Some(parent + &shortened(name)), format!("no such field{position}"))
            }
            (None, Some(position)) => (parent, format!("the text is not UTF-8{position}")),
            (None, None) => (parent, shortened(&problem)),
        };
        InvalidJson { field, description: format!("{problem}; expected {expected}") }
    }

    /// What the field at `path` may hold.
    fn expected(&self, path: &Path) -> String {
        let mut kind = Kind::Message(self.0.clone());
        for segment in path {
            if let (Segment::Map { key }, Kind::Message(message)) = (segment, &kind) {
                let field = message.get_field_by_json_name(key).or_else(|| message.get_field_by_name(key));
                let Some(field) = field else { break };
                kind = field.kind();
            }
        }
        expected(&kind)
    }
}

/// The names of the fields that a document has besides those of its message, and where their values go.
type Besides<'a, 'v> = Option<(&'a [&'a str], &'v mut Map<String, Value>)>;

/// The text of an error, and what is remarkable about the character at which it is.
pub(crate) fn described(error: &serde_json::Error, json: &[u8]) -> String {
    let line = json.split_inclusive(|byte| *byte == b'\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    match text::remark_at(line, error.column().saturating_sub(1)).filter(|_| error.is_syntax()) {
        Some(remark) => format!("{error}: {remark}"),
        None => error.to_string(),
    }
}

/// An object with the fields of a message and other fields, whose values it collects.
struct Document<'a> {
    message: MessageDescriptor,
    besides: &'a [&'a str],
    values: &'a mut Map<String, Value>,
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = DynamicMessage;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<DynamicMessage, A::Error> {
        let fields = MessageFields { fields, besides: self.besides, values: self.values };
        let fields = MapAccessDeserializer::new(fields);
        DynamicMessage::deserialize_with_options(self.message, fields, &DeserializeOptions::new())
    }
}

/// The fields of the message in a [`Document`].
struct MessageFields<'a, A> {
    fields: A,
    besides: &'a [&'a str],
    values: &'a mut Map<String, Value>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for MessageFields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(name) = self.fields.next_key::<String>()? {
            if !self.besides.contains(&name.as_str()) {
                return seed.deserialize(name.into_deserializer()).map(Some);
            }
            let value = self.fields.next_value()?;
            self.values.insert(name, value);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.fields.next_value_seed(seed)
    }
}

/// `text`, of which an error quotes a limited part.
fn shortened(text: &str) -> String {
    let end = (0..=MAX_QUOTED_BYTES).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    let dots = if end < text.len() { "..." } else { "" };
    format!("{}{dots}", &text[..end])
}

/// The path of a field; `None` for the whole message.
fn field_name(path: &Path) -> Option<String> {
    let path = path.to_string();
    // `?` stands for a key that was not read to its end.
    let name = path.trim_end_matches(['?', '.']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// What a field of this kind may hold.
fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Message(message) => {
            let names: Vec<_> = message.fields().map(|field| field.json_name().to_owned()).collect();
            format!("an object of {}", names.join(", "))
        }
        Kind::Enum(values) => {
            let names: Vec<_> = values.values().map(|value| value.name().to_owned()).collect();
            format!("one of {}", names.join(", "))
        }
        Kind::Uint32 | Kind::Fixed32 => "an integer from 0 to 4294967295".to_owned(),
        Kind::Uint64 | Kind::Fixed64 => "an integer from 0 to 18446744073709551615, best as a string".to_owned(),
        other => format!("a value of the type {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1;

    fn types() -> JsonTypes {
        JsonTypes::new([crate::FILE_DESCRIPTOR_SET]).unwrap()
    }

    #[test]
    fn requests_decode_from_every_form_of_the_mapping() {
        let codec = types().codec("floors.v1.GetFloorRequest").unwrap();
        let spec = v1::FloorSpec { seed: u64::MAX, number: 7, kind: v1::FloorKind::Boss.into(), ..Default::default() };
        let wanted = v1::GetFloorRequest { spec: Some(spec) };
        for json in [
            r#"{"spec":{"seed":"18446744073709551615","number":7,"kind":"FLOOR_KIND_BOSS"}}"#,
            r#"{"spec":{"seed":"+18446744073709551615","number":"7","kind":7.0}}"#,
            "\u{feff}{\"spec\":{\"seed\":\"18446744073709551615\",\"number\":0.7e1,\"kind\":7}}\r\n",
            r#" { "spec" : { "seed" : "18446744073709551615", "number" : 7.0, "width" : null, "kind" : 7 } } "#,
        ] {
            let message = codec.decode(json.as_bytes()).unwrap();
            assert_eq!(v1::GetFloorRequest::decode(&message[..]).as_ref(), Ok(&wanted), "{json}");
        }
        assert_eq!(codec.decode(b"{}"), Ok(Vec::new()));
    }

    #[test]
    fn answers_use_the_canonical_mapping() {
        let codec = types().codec("floors.v1.Floor").unwrap();
        let spec = v1::FloorSpec { seed: 42, number: 7, kind: v1::FloorKind::Maze.into(), ..Default::default() };
        let terrain = v1::Grid { palette: vec![1, 2], data: vec![0xfb, 0xff], ..Default::default() };
        let floor = v1::Floor {
            spec: Some(spec),
            content_hash: u64::MAX,
            terrain: Some(terrain),
            connections: vec![v1::Connection { from_room: 1, ..Default::default() }],
            ..Default::default()
        };
        let mut json = Vec::new();
        codec.encode(&floor.encode_to_vec()[..], &mut json).unwrap();
        let wanted = r#"{"spec":{"seed":"42","number":7,"kind":"FLOOR_KIND_MAZE"},"contentHash":"18446744073709551615","terrain":{"palette":[1,2],"data":"+/8="},"connections":[{"fromRoom":1}]}"#;
        assert_eq!(String::from_utf8(json.clone()).unwrap(), wanted);
        let again = codec.decode(&json).unwrap();
        assert_eq!(v1::Floor::decode(&again[..]), Ok(floor));
        let snake = codec.decode(br#"{"content_hash":"5"}"#).unwrap();
        assert_eq!(v1::Floor::decode(&snake[..]).unwrap().content_hash, 5);
    }

    #[test]
    fn a_document_may_have_fields_besides_those_of_its_message() {
        let codec = types().codec("floors.v1.GetFloorRequest").unwrap();
        let json = br#"{"note":[1,{}],"spec":{"number":7},"more":"x"}"#;
        let (message, besides) = codec.decode_with(json, &["note", "more"]).unwrap();
        assert_eq!(message, codec.decode(br#"{"spec":{"number":7}}"#).unwrap());
        assert_eq!(Value::from(besides), serde_json::json!({"note": [1, {}], "more": "x"}));
        for (json, field, part) in [
            (
                &br#"{"note":1,"more":2}"#[..],
                Some("more"),
                "no such field at line 1 column 16; expected an object of spec",
            ),
            (br#"{"note":1,"spec":{"note":2}}"#, Some("spec.note"), "no such field"),
            (br#"{"note":1,"spec":{"number":-1}}"#, Some("spec.number"), "an integer from 0"),
            (b"[]", None, "expected an object"),
            (b"{} x", None, "trailing"),
            (br#"{"note":["#, Some("note"), "EOF"),
        ] {
            let error = codec.decode_with(json, &["note"]).unwrap_err();
            assert!(error.field.as_deref() == field && error.to_string().contains(part), "{error:?}");
        }
    }

    #[test]
    fn errors_name_the_field_and_what_it_may_hold() {
        let codec = types().codec("floors.v1.BatchGetFloorsRequest").unwrap();
        for (json, field, part) in [
            (&br#"{"specs":[{"number":1},{"number":"x"}]}"#[..], Some("specs[1].number"), "an integer from 0"),
            (br#"{"specs":[{"number":-1}]}"#, Some("specs[0].number"), "an integer from 0"),
            (br#"{"specs":[{"number":1.5}]}"#, Some("specs[0].number"), "integer"),
            (br#"{"specs":[{"number":1e400}]}"#, Some("specs[0].number"), "write it as a string"),
            (br#"{"specs":[{"seed":1},{"seed":9007199254740993}]}"#, Some("specs[1].seed"), "write it as a string"),
            (br#"{"specs":[{"seed":1.00000000000000000001}]}"#, Some("specs[0].seed"), "and is none"),
            (br#"{"specs":[{"seed":" 42"}]}"#, Some("specs[0].seed"), "invalid digit"),
            (br#"{"specs":[{"seed":"42\n"}]}"#, Some("specs[0].seed"), "invalid digit"),
            (br#"{"specs":[{"kind":"floor_kind_boss"}]}"#, Some("specs[0].kind"), "FLOOR_KIND_BOSS"),
            (br#"{"specs":[{"kind":"7"}]}"#, Some("specs[0].kind"), "FLOOR_KIND_BOSS"),
            (br#"{"specs":[{"seed":1,"number":1,"seed":2}]}"#, Some("specs[0]"), "seed is given twice"),
            (br#"{"specs":[],"specs":[]}"#, None, "specs is given twice"),
            ("\u{200b}{}".as_bytes(), None, "line 1 column 1: U+200B is invisible"),
            (
                "{\n  “specs”: []}".as_bytes(),
                None,
                "line 2 column 3: U+201C is a typographic quotation mark; write `\"`",
            ),
            ("{\"specs\":\u{a0}[]}".as_bytes(), Some("specs"), "U+00A0 is not the ordinary space"),
            (b"{}\0", None, "U+0000 is a control character"),
            (b"{\0}\0", None, "the text is UTF-16"),
            (b"\xff\xfe{\0}\0", None, "the text is UTF-16"),
            (br#"{"specs":[{"number":NaN}]}"#, Some("specs[0].number"), "expected an integer from 0"),
            (br#"{"specs":[{"number":true}]}"#, Some("specs[0].number"), "boolean"),
            (br#"{"specs":[{"kind":"BOSS"}]}"#, Some("specs[0].kind"), "FLOOR_KIND_BOSS"),
            (br#"{"specs":[{"numbr":1}]}"#, Some("specs[0].numbr"), "seed, number, width, height, kind"),
            (br#"{"specs":[{"it's":1}]}"#, Some("specs[0].it's"), "no such field at line 1 column 17"),
            (b"{\"specs\":[{\"seed\":\"\xff\"}]}", Some("specs[0].seed"), "not UTF-8 at line 1"),
            (br#"{"specs":{}}"#, Some("specs"), "list"),
            (br#"{"specs":[null]}"#, Some("specs[0]"), "null"),
            (br#"{"sead":1}"#, Some("sead"), "object of specs"),
            (b"[]", None, "object of specs"),
            (b"", None, "EOF"),
            (b"{} x", None, "trailing"),
            (br#"{"specs":[{"nu"#, None, "EOF"),
            (b"{\"\xff\":1}", None, "UTF-8"),
        ] {
            let shown = String::from_utf8_lossy(json);
            let error = codec.decode(json).expect_err(&shown);
            if let Some(field) = field {
                assert_eq!(error.field.as_deref(), Some(field), "{shown}: {error}");
            }
            assert!(error.to_string().contains(part), "{shown}: {error}");
        }
    }

    #[test]
    fn deep_and_long_texts_give_short_errors() {
        let codec = types().codec("floors.v1.BatchGetFloorsRequest").unwrap();
        for json in [
            "[".repeat(100_000),
            format!("{{\"specs\":{}", "[".repeat(100_000)),
            "{\"specs\":".repeat(100_000),
            format!("{{\"{}\":1}}", "x".repeat(100_000)),
            format!("{{\"specs\":[{{\"kind\":\"{}\"}}]}}", "é".repeat(50_000)),
        ] {
            let error = codec.decode(json.as_bytes()).unwrap_err();
            assert!(error.to_string().len() < 1000, "{error}");
        }
    }
}
