//! Floors for games made with Bevy, without a frame ever waiting for one.
//!
//! Write a [`RequestFloor`], read a [`FloorArrived`] or [`FloorFailed`] some frames later. Calls, decoding and checks
//! happen on a thread of their own.
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

/// Calls under way at once unless the game says otherwise: enough to hide the network, few enough to leave a shared
/// server's queue to others.
const DEFAULT_IN_FLIGHT: usize = 16;

/// Fetches the floors that the game asks for.
///
/// The connection is made with the first request and again whenever it breaks, so a game starts without its server.
#[derive(Debug, Clone)]
pub struct FloorClientPlugin {
    server: String,
    options: CallOptions,
    in_flight: usize,
}

impl FloorClientPlugin {
    /// For the server at `http://host:port`, or `host:port` for short. Tries again up to three times, as games should.
    ///
    /// # Errors
    /// [`ClientError::Address`] for what is no URL of a server.
    pub fn new(server: &str) -> Result<Self, ClientError> {
        transport::endpoint(server)?;
        let options = CallOptions::default().retries(3);
        Ok(Self { server: server.to_owned(), options, in_flight: DEFAULT_IN_FLIGHT })
    }

    /// Options of every call.
    #[must_use]
    pub const fn with_options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Calls under way at once, at the most; requests beyond wait for their turn. 0 is no limit.
    #[must_use]
    pub const fn with_in_flight(mut self, calls: usize) -> Self {
        self.in_flight = calls;
        self
    }
}

/// Asks for a floor. Write it in any schedule; it is sent in [`PostUpdate`].
#[derive(Message, Debug, Clone, Copy, PartialEq)]
pub struct RequestFloor(pub FloorSpec);

/// A floor has come. Written in [`PreUpdate`].
#[derive(Message, Debug, Clone)]
pub struct FloorArrived {
    /// What was asked for. The floor's own spec is this one, resolved.
    pub requested: FloorSpec,
    /// Shared, so that readers keep it without copying.
    pub floor: Arc<Floor>,
    /// What the server said about the call.
    pub served: Served,
}

/// A floor will not come unless it is asked for again. Written in [`PreUpdate`].
#[derive(Message, Debug, Clone)]
pub struct FloorFailed {
    /// What was asked for.
    pub requested: FloorSpec,
    /// Why.
    pub error: Arc<ClientError>,
}

/// The plugin's systems, for ordering.
#[derive(SystemSet, Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloorClientSystems {
    /// Writes [`FloorArrived`] and [`FloorFailed`], in [`PreUpdate`].
    Receive,
    /// Sends what [`RequestFloor`] asks for, in [`PostUpdate`].
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
    /// The thread's whole life: until the app and with it the sender of requests is gone.
    fn run_requests(&self, mut specs: UnboundedReceiver<FloorSpec>, results: &UnboundedSender<FloorResult>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("the system grants a runtime").block_on(async {
            let client = FloorClient::connect_lazily(&self.server).expect("the plugin was made with a good address");
            let client = client.with_options(self.options);
            let calls = stream::poll_fn(|context| specs.poll_recv(context));
            calls
                .for_each_concurrent(self.in_flight, async |spec| {
                    // The app may end while calls are under way; then nobody waits for their answers.
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
