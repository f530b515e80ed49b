//! The RPCs of the floor service: the one list from which metrics, routing and calls are derived.

pub use floor_proto::v1::floor_service_server::SERVICE_NAME;

/// Defines [`Rpc`] from the names in the .proto.
macro_rules! rpcs {
    ($($name:ident),+) => {
        /// An RPC of the floor service.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Rpc {
            $(#[doc = concat!("`", stringify!($name), "`")] $name,)+
        }

        impl Rpc {
            /// Every RPC, in the order of their discriminants.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$name),+];

            /// The number of RPCs.
            pub const COUNT: usize = [$(stringify!($name)),+].len();

            /// The name in the .proto and in metrics.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }
        }
    };
}

rpcs!(GetFloor, BatchGetFloors, StreamFloors, GetServerInfo);

impl Rpc {
    /// The RPC that a request path names, or else the unknown name in the path. The path begins with the service.
    pub(super) fn from_path(path: &str) -> Result<Self, &str> {
        let name = path.strip_prefix('/').and_then(|path| path.strip_prefix(SERVICE_NAME)?.strip_prefix('/'));
        let name = name.unwrap_or_default();
        Self::ALL.into_iter().find(|rpc| rpc.name() == name).ok_or(name)
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use prost_types::FileDescriptorSet;

    use super::*;

    #[test]
    fn the_list_is_that_of_the_proto() {
        let set = FileDescriptorSet::decode(floor_proto::FILE_DESCRIPTOR_SET).unwrap();
        let paths = set.file.iter().flat_map(|file| {
            file.service.iter().flat_map(move |service| {
                let name = format!("{}.{}", file.package(), service.name());
                service.method.iter().map(move |method| format!("/{name}/{}", method.name()))
            })
        });
        let listed = Rpc::ALL.map(|rpc| format!("/{SERVICE_NAME}/{}", rpc.name()));
        assert_eq!(paths.collect::<Vec<_>>(), listed);
        for (rpc, path) in Rpc::ALL.into_iter().zip(&listed) {
            assert_eq!(Rpc::from_path(path), Ok(rpc));
        }
        assert_eq!(Rpc::from_path("/floors.v1.FloorService/GetFlour"), Err("GetFlour"));
    }
}
