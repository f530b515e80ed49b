//! Messages as proto3 JSON, and JSON as text.

use floor_proto::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde::Serialize;

/// `message` in a form that serializes as proto3 JSON. `name` is that of its type in `floors.v1`.
pub(super) fn message(name: &str, message: &impl Message) -> DynamicMessage {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("the compiled .proto is a descriptor set");
    let kind = pool.get_message_by_name(&format!("floors.v1.{name}")).expect("the .proto has the message");
    DynamicMessage::decode(kind, message.encode_to_vec().as_slice()).expect("an encoded message decodes")
}

/// JSON with one space of indentation and a newline at the end.
pub(super) fn text(value: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, format);
    value.serialize(&mut serializer).expect("the vectors serialize");
    out.push(b'\n');
    out
}
