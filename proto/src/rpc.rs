//! The RPCs of the floor service. The build script writes the list from the .proto; server and client use it.

/// Defines [`Rpc`] from the name of the service, and of each RPC the name and whether it answers with a stream.
macro_rules! rpcs {
    ($service:literal: $($name:ident $is_stream:literal),+) => {
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

            /// Whether it answers with a stream of messages.
            #[must_use]
            pub const fn is_stream(self) -> bool {
                const STREAMS: [bool; Rpc::COUNT] = [$($is_stream),+];
                STREAMS[self as usize]
            }

            /// The path of a request.
            #[must_use]
            pub const fn path(self) -> &'static str {
                match self {
                    $(Self::$name => concat!("/", $service, "/", stringify!($name)),)+
                }
            }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/rpcs.rs"));
