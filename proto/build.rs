//! Compiles `floors/v1/floors.proto` with protox, so that a build does not need protoc. Writes the descriptor set for
//! server reflection, and the list of RPCs for `src/rpc.rs`.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message;

const PROTO: &str = "floors/v1/floors.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={PROTO}");
    let descriptors = protox::compile([PROTO], ["."])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("floors_descriptor.bin"), descriptors.encode_to_vec())?;
    for file in &descriptors.file {
        for service in &file.service {
            let methods =
                service.method.iter().map(|method| format!("{} {}", method.name(), method.server_streaming()));
            let methods = methods.collect::<Vec<_>>().join(", ");
            let list = format!("rpcs!(\"{}.{}\": {methods});\n", file.package(), service.name());
            fs::write(out.join("rpcs.rs"), list)?;
        }
    }
    let with_services = env::var_os("CARGO_FEATURE_GRPC").is_some();
    tonic_prost_build::configure().build_client(with_services).build_server(with_services).compile_fds(descriptors)?;
    Ok(())
}
