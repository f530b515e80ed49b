//! A Bevy plugin that fetches floors without blocking a frame.
//!
//! Spawn an entity with a [`RequestFloor`]. Some frames later the plugin adds a [`FloorArrived`] or a [`FloorFailed`] to
//! it, which stays until the game takes it: a system that is switched off for a while misses nothing. A despawned
//! request is cancelled. A separate thread makes the calls, decodes the floors and checks them.
//!
//! ```no_run
//! use bevy::prelude::*;
//! use floor_client::{FloorSpec, plugin::{FloorArrived, FloorClientPlugin, FloorFailed, RequestFloor}};
//!
//! fn descend(mut commands: Commands) {
//!     commands.spawn(RequestFloor(FloorSpec { seed: 42, number: 7, ..FloorSpec::default() }));
//! }
//!
//! fn build(mut commands: Commands, arrivals: Query<(Entity, &FloorArrived)>) {
//!     for (request, arrived) in &arrivals {
//!         println!("{} rooms, served by {}", arrived.floor.rooms().len(), arrived.served.by);
//!         commands.entity(request).despawn();
//!     }
//! }
//!
//! fn report(failed: On<Add, FloorFailed>, failures: Query<&FloorFailed>) {
//!     if let Ok(failure) = failures.get(failed.entity) {
//!         eprintln!("{}", failure.error);
//!     }
//! }
//!
//! # fn main() -> Result<(), floor_client::ClientError> {
//! App::new()
//!     .add_plugins(FloorClientPlugin::new("http://127.0.0.1:50051")?)
//!     .add_systems(Startup, descend)
//!     .add_systems(Update, build)
//!     .add_observer(report)
//!     .run();
//! # Ok(())
//! # }
//! ```
//!
//! [`FloorServer`] says whether the server answers. [`TileMap`] places cells in the world. A game fetches the next floor
//! ahead with a second entity: [`RequestFloor::next`]. `games/climb` in the repository is a game on this plugin.

mod server_status;
mod source;
mod tile_map;
mod worker;

pub use server_status::{FloorServer, FloorServerStatus};
pub use tile_map::TileMap;

use std::{pin::pin, sync::Arc, time::Duration};

use async_channel::{Receiver, Sender, TryRecvError};
use bevy::{platform::time::Instant, prelude::*};
use futures_util::{
    StreamExt as _,
    future::{Either, select},
};

use crate::{Answer, CallOptions, ClientError, Floor, FloorSpec, Served, limits};
#[cfg(not(target_family = "wasm"))]
use crate::{ConnectOptions, server::Server};
use source::Source;
#[cfg(feature = "offline")]
use {floor_gen::pack::PackErrors, floor_pack::LoadedPack};

/// Default limit of concurrent calls: enough to hide network latency, few enough to leave room in the queue of a
/// shared server.
const DEFAULT_IN_FLIGHT: usize = 16;

/// Fetches the floors that the game requests.
///
/// The first request connects, and a later one reconnects after a failure. So a game can start before its server.
#[derive(Debug, Clone)]
pub struct FloorClientPlugin {
    source: Source,
    options: CallOptions,
    in_flight: usize,
}

impl FloorClientPlugin {
    #[cfg(not(target_family = "wasm"))]
    /// A plugin for the server at `https://host:port`, `http://host:port` or `host:port`, which means the latter. Calls have
    /// the default [`CallOptions`].
    ///
    /// # Errors
    /// [`ClientError::Address`] if `server` is not the URL of a server.
    pub fn new(server: &str) -> Result<Self, ClientError> {
        Self::connecting_with(server, &ConnectOptions::new())
    }

    #[cfg(not(target_family = "wasm"))]
    /// Like [`new`](Self::new), with trusted authorities, a client certificate or a token.
    ///
    /// # Errors
    /// [`ClientError::Address`] if `server` is not the URL of a server; [`ClientError::TlsOptions`] or
    /// [`ClientError::PlaintextToken`] if the options do not fit it.
    pub fn connecting_with(server: &str, options: &ConnectOptions) -> Result<Self, ClientError> {
        Ok(Self::from_source(Source::Server(Server::new(server, options)?)))
    }

    /// A plugin without a server: the floors are generated in the game, on the plugin's thread. They are those of a
    /// server of the same version, and are served by `generated`. Call options have no effect.
    #[cfg(feature = "offline")]
    #[must_use]
    pub fn offline() -> Self {
        Self::from_source(Source::Offline(Arc::clone(LoadedPack::built_in())))
    }

    /// Like [`offline`](Self::offline), with the floors of a pack: the bytes of a `.floorpack` file, as
    /// [`FloorClient::pack`](crate::FloorClient::pack) returns them. Requests that name another pack fail with
    /// `NOT_FOUND`.
    ///
    /// # Errors
    /// [`PackErrors`] if `file` is no pack, with everything that is wrong in it.
    #[cfg(feature = "offline")]
    pub fn offline_with(file: &[u8]) -> Result<Self, PackErrors> {
        Ok(Self::from_source(Source::Offline(Arc::new(LoadedPack::from_bytes(file)?))))
    }

    fn from_source(source: Source) -> Self {
        Self { source, options: CallOptions::default(), in_flight: DEFAULT_IN_FLIGHT }
    }

    /// Sets the options of every call. Without a deadline among them the default one applies:
    /// a server that is silent would otherwise hold the calls in flight for good, and with them all later requests.
    #[must_use]
    pub const fn with_options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Limits the number of concurrent calls. Further requests wait. 0 means no limit.
    #[must_use]
    pub const fn with_in_flight(mut self, calls: usize) -> Self {
        self.in_flight = calls;
        self
    }
}

/// Requests a floor. Spawn it in any schedule; the plugin sends it in [`PostUpdate`], and again when it is changed or
/// replaced. Despawn the entity to cancel the request.
#[derive(Component, Debug, Clone, PartialEq, Reflect)]
#[reflect(opaque)]
#[reflect(Component, Debug, Clone, PartialEq)]
pub struct RequestFloor(pub FloorSpec);

impl RequestFloor {
    /// A request for the next floor of the same tower, of the same size. The tower chooses its kind. `None` after the
    /// last floor.
    #[must_use]
    pub fn next(&self) -> Option<Self> {
        let number = self.0.number.saturating_add(1);
        (number <= limits::MAX_FLOOR).then(|| Self(FloorSpec { number, kind: 0, ..self.0.clone() }))
    }
}

/// The floor that the [`RequestFloor`] of the same entity asked for. Inserted in [`PreUpdate`]; stays until it is
/// removed, or the entity is despawned.
#[derive(Component, Debug, Clone, Reflect)]
#[reflect(opaque)]
#[reflect(Component, Debug, Clone)]
pub struct FloorArrived {
    /// The floor, with the resolved spec. Shared, so that the game can keep it without a copy.
    pub floor: Arc<Floor>,
    /// The response metadata.
    pub served: Served,
    /// Time from sending the request to having the floor: waiting for other calls, connecting, all attempts, decoding.
    pub took: Duration,
}

/// Why there is no floor for the [`RequestFloor`] of the same entity. Inserted in [`PreUpdate`]; stays until it is
/// removed, or the entity is despawned. To try again, insert the request again.
#[derive(Component, Debug, Clone, Reflect)]
#[reflect(opaque)]
#[reflect(Component, Debug, Clone)]
pub struct FloorFailed {
    /// The reason.
    pub error: Arc<ClientError>,
}

/// The plugin's systems, for ordering.
#[derive(SystemSet, Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloorClientSystems {
    /// Inserts [`FloorArrived`] and [`FloorFailed`] and updates [`FloorServer`], in [`PreUpdate`].
    Receive,
    /// Sends each new or changed [`RequestFloor`], in [`PostUpdate`].
    Send,
}

impl Plugin for FloorClientPlugin {
    fn build(&self, app: &mut App) {
        let (sender, requests) = async_channel::unbounded();
        let plugin = self.clone();
        worker::start(|| plugin.run_requests(requests));
        app.register_type::<RequestFloor>()
            .register_type::<FloorArrived>()
            .register_type::<FloorFailed>()
            .register_type::<FloorServer>()
            .insert_resource(self.source.status())
            .insert_resource(RequestSender(sender))
            .add_systems(PreUpdate, receive.in_set(FloorClientSystems::Receive))
            .add_systems(PostUpdate, send.in_set(FloorClientSystems::Send));
    }
}

/// A floor or an error, and the time since the request.
type TimedResult = (Result<Answer<Floor>, ClientError>, Duration);

/// A request on its way to the worker.
struct Request {
    spec: FloorSpec,
    sent: Instant,
    result: Sender<TimedResult>,
}

impl FloorClientPlugin {
    /// Makes the calls until the app, which owns the sender of `requests`, is dropped.
    async fn run_requests(self, requests: Receiver<Request>) {
        let options = self.options.deadline(self.options.deadline.unwrap_or(CallOptions::DEFAULT_DEADLINE));
        let source = self.source.open(options);
        requests
            .for_each_concurrent(self.in_flight, async |Request { spec, sent, result }| {
                let call = pin!(source.get(spec));
                // The first ends if the game has despawned or replaced the request.
                if let Either::Right((answer, _)) = select(pin!(result.closed()), call).await {
                    // Fails only if the request was despawned at this moment.
                    let _ = result.try_send((answer, sent.elapsed()));
                }
            })
            .await;
    }
}

#[derive(Resource)]
struct RequestSender(Sender<Request>);

/// A request that was sent. Dropping it cancels the call.
#[derive(Component)]
struct Pending {
    spec: FloorSpec,
    result: Receiver<TimedResult>,
}

fn send(
    requests: Query<'_, '_, (Entity, &RequestFloor), Changed<RequestFloor>>,
    sender: Res<'_, RequestSender>,
    mut commands: Commands<'_, '_>,
) {
    for (entity, RequestFloor(spec)) in &requests {
        let (sender_of_result, result) = async_channel::bounded(1);
        // If the worker has ended, this drops the sender of the result, and `receive` sees that.
        let _ = sender.0.try_send(Request { spec: spec.clone(), sent: Instant::now(), result: sender_of_result });
        let pending = Pending { spec: spec.clone(), result };
        commands.entity(entity).try_remove::<(FloorArrived, FloorFailed)>().try_insert(pending);
    }
}

fn receive(
    requests: Query<'_, '_, (Entity, &RequestFloor, &Pending)>,
    mut server: ResMut<'_, FloorServer>,
    mut commands: Commands<'_, '_>,
) {
    for (entity, RequestFloor(requested), pending) in &requests {
        if *requested != pending.spec {
            // The game has changed the request since; `send` replaces `pending`.
            continue;
        }
        let (result, took) = match pending.result.try_recv() {
            Ok(result) => result,
            Err(TryRecvError::Empty) => continue,
            Err(TryRecvError::Closed) => (Err(ClientError::Stopped), Duration::ZERO),
        };
        if server.status != FloorServerStatus::Offline {
            let status = result.as_ref().map_or_else(FloorServerStatus::after, |_| FloorServerStatus::Answering);
            server.set_if_neq(FloorServer { status, ..server.clone() });
        }
        let mut request = commands.entity(entity);
        request.try_remove::<Pending>();
        match result {
            Ok(Answer { value, served }) => request.try_insert(FloorArrived { floor: Arc::new(value), served, took }),
            Err(error) => request.try_insert(FloorFailed { error: Arc::new(error) }),
        };
    }
}
