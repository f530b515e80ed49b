//! A Bevy plugin that fetches floors without blocking a frame.
//!
//! Write a [`RequestFloor`], and read a [`FloorArrived`] or [`FloorFailed`] some frames later. A separate thread makes
//! the calls, decodes the floors and checks them.
//!
//! ```no_run
//! use bevy::prelude::*;
//! use floor_client::{FloorSpec, plugin::{FloorArrived, FloorClientPlugin, RequestFloor}};
//!
//! fn descend(mut requests: MessageWriter<RequestFloor>) {
//!     requests.write(RequestFloor(FloorSpec { seed: 42, number: 7, ..FloorSpec::default() }));
//! }
//!
//! fn build(mut arrivals: MessageReader<FloorArrived>) {
//!     for arrived in arrivals.read() {
//!         info!("{} rooms, served by {}", arrived.floor.rooms().len(), arrived.served.by);
//!     }
//! }
//!
//! # fn main() -> Result<(), floor_client::ClientError> {
//! App::new()
//!     .add_plugins(FloorClientPlugin::new("http://127.0.0.1:50051")?)
//!     .add_systems(Startup, descend)
//!     .add_systems(Update, build)
//!     .run();
//! # Ok(())
//! # }
//! ```

use std::{sync::Arc, thread};

use bevy::prelude::*;
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::{Answer, CallOptions, ClientError, Floor, FloorClient, FloorSpec, Served, transport};

/// Default limit of concurrent calls: enough to hide network latency, few enough to leave room in the queue of a
/// shared server.
const DEFAULT_IN_FLIGHT: usize = 16;

/// Fetches the floors that the game requests.
///
/// The first request connects, and a later one reconnects after a failure. So a game can start before its server.
#[derive(Debug, Clone)]
pub struct FloorClientPlugin {
    server: String,
    options: CallOptions,
    in_flight: usize,
}

impl FloorClientPlugin {
    /// A plugin for the server at `http://host:port`, or `host:port` for short. Retries each call up to three times.
    ///
    /// # Errors
    /// [`ClientError::Address`] if `server` is not the URL of a server.
    pub fn new(server: &str) -> Result<Self, ClientError> {
        transport::endpoint(server)?;
        let options = CallOptions::default().retries(3);
        Ok(Self { server: server.to_owned(), options, in_flight: DEFAULT_IN_FLIGHT })
    }

    /// Sets the options of every call.
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

/// Requests a floor. Write it in any schedule; the plugin sends it in [`PostUpdate`].
#[derive(Message, Debug, Clone, Copy, PartialEq)]
pub struct RequestFloor(pub FloorSpec);

/// A floor has arrived. Written in [`PreUpdate`].
#[derive(Message, Debug, Clone)]
pub struct FloorArrived {
    /// The spec of the request. The floor has the resolved spec.
    pub requested: FloorSpec,
    /// Shared, so that readers can keep it without a copy.
    pub floor: Arc<Floor>,
    /// The response metadata.
    pub served: Served,
}

/// A request has failed. Written in [`PreUpdate`].
#[derive(Message, Debug, Clone)]
pub struct FloorFailed {
    /// The spec of the request.
    pub requested: FloorSpec,
    /// The reason.
    pub error: Arc<ClientError>,
}

/// The plugin's systems, for ordering.
#[derive(SystemSet, Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloorClientSystems {
    /// Writes [`FloorArrived`] and [`FloorFailed`], in [`PreUpdate`].
    Receive,
    /// Sends each [`RequestFloor`], in [`PostUpdate`].
    Send,
}

impl Plugin for FloorClientPlugin {
    fn build(&self, app: &mut App) {
        let (requests, specs) = mpsc::unbounded_channel();
        let (result_sender, results) = mpsc::unbounded_channel();
        let plugin = self.clone();
        thread::Builder::new()
            .name("floor-client".to_owned())
            .spawn(move || plugin.run_requests(specs, &result_sender))
            .expect("the system starts a thread");
        app.add_message::<RequestFloor>()
            .add_message::<FloorArrived>()
            .add_message::<FloorFailed>()
            .insert_resource(RequestSender(requests))
            .insert_resource(ResultReceiver(results))
            .add_systems(PreUpdate, receive.in_set(FloorClientSystems::Receive))
            .add_systems(PostUpdate, send.in_set(FloorClientSystems::Send));
    }
}

type FloorResult = (FloorSpec, Result<Answer<Floor>, ClientError>);

impl FloorClientPlugin {
    /// Runs on the client thread until the app, which owns the sender of `specs`, is dropped.
    fn run_requests(&self, mut specs: UnboundedReceiver<FloorSpec>, results: &UnboundedSender<FloorResult>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("the system grants a runtime").block_on(async {
            let client = FloorClient::connect_lazily(&self.server).expect("`new` checked the address");
            let client = client.with_options(self.options);
            let calls = stream::poll_fn(|context| specs.poll_recv(context));
            calls
                .for_each_concurrent(self.in_flight, async |spec| {
                    // Fails only after the app has been dropped.
                    let _ = results.send((spec, client.get(spec).await));
                })
                .await;
        });
    }
}

#[derive(Resource)]
struct RequestSender(UnboundedSender<FloorSpec>);

#[derive(Resource)]
struct ResultReceiver(UnboundedReceiver<FloorResult>);

#[expect(clippy::needless_pass_by_value, reason = "a system takes its parameters by value")]
fn send(mut messages: MessageReader<'_, '_, RequestFloor>, requests: Res<'_, RequestSender>) {
    for RequestFloor(spec) in messages.read() {
        requests.0.send(*spec).expect("the thread ends only after this resource");
    }
}

fn receive(
    mut results: ResMut<'_, ResultReceiver>,
    mut arrived: MessageWriter<'_, FloorArrived>,
    mut failed: MessageWriter<'_, FloorFailed>,
) {
    while let Ok((requested, result)) = results.0.try_recv() {
        match result {
            Ok(Answer { value, served }) => {
                arrived.write(FloorArrived { requested, floor: Arc::new(value), served });
            }
            Err(error) => {
                failed.write(FloorFailed { requested, error: Arc::new(error) });
            }
        }
    }
}
