//! A snapshot of the wire format: every message, field, number and type. A change to the .proto fails this test.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fmt::Write as _;

use floor_proto::rpc::Rpc;
use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorSet, field_descriptor_proto::Label};

#[test]
fn the_shape_of_the_wire() {
    let set = FileDescriptorSet::decode(floor_proto::FILE_DESCRIPTOR_SET).unwrap();
    let mut out = String::new();
    for file in set.file.iter().filter(|file| file.package() == "floors.v1") {
        for service in &file.service {
            for method in &service.method {
                let stream = if method.server_streaming() { "stream " } else { "" };
                writeln!(
                    out,
                    "rpc {}.{} {} -> {stream}{}",
                    service.name(),
                    method.name(),
                    method.input_type(),
                    method.output_type()
                )
                .unwrap();
            }
        }
        file.message_type.iter().for_each(|message| show(&mut out, message));
        for kind in &file.enum_type {
            for value in &kind.value {
                writeln!(out, "enum {} {} = {}", kind.name(), value.name(), value.number()).unwrap();
            }
        }
    }
    insta::assert_snapshot!(out);
}

#[test]
fn the_list_of_rpcs_is_that_of_the_descriptor() {
    let set = FileDescriptorSet::decode(floor_proto::FILE_DESCRIPTOR_SET).unwrap();
    let mut paths = Vec::new();
    for file in set.file.iter().filter(|file| file.package() == "floors.v1") {
        for service in &file.service {
            let path = |name: &str| format!("/{}.{}/{name}", file.package(), service.name());
            paths.extend(service.method.iter().map(|method| path(method.name())));
        }
    }
    assert_eq!(paths, Rpc::ALL.map(Rpc::path));
    assert!(Rpc::ALL.iter().all(|rpc| rpc.path().ends_with(&format!("/{}", rpc.name()))));
}

fn show(out: &mut String, message: &DescriptorProto) {
    for field in &message.field {
        let repeated = if field.label() == Label::Repeated { "repeated " } else { "" };
        let kind = match field.type_name() {
            "" => field.r#type().as_str_name().trim_start_matches("TYPE_").to_lowercase(),
            name => name.to_owned(),
        };
        writeln!(out, "{} {} = {repeated}{kind} {}", message.name(), field.number(), field.name()).unwrap();
    }
}
