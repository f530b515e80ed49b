//! Finds the RPC that a request path names.

pub use floor_proto::{rpc::Rpc, v1::floor_service_server::SERVICE_NAME};

/// The RPC that a request path names, or else the unknown name in the path.
pub(super) fn from_path(path: &str) -> Result<Rpc, &str> {
    let name = path.strip_prefix('/').and_then(|path| path.strip_prefix(SERVICE_NAME)?.strip_prefix('/'));
    let name = name.unwrap_or_default();
    Rpc::ALL.into_iter().find(|rpc| rpc.name() == name).ok_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_names_its_rpc() {
        for rpc in Rpc::ALL {
            assert_eq!(from_path(rpc.path()), Ok(rpc));
        }
        assert_eq!(from_path("/floors.v1.FloorService/GetFlour"), Err("GetFlour"));
        assert_eq!(from_path("/grpc.health.v1.Health/Check"), Err(""));
    }
}
