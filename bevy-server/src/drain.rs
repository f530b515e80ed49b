//! The drain: what happens between the signal to stop and the exit.

use std::time::Duration;

use bevy::prelude::*;
use tokio::time::{Instant, timeout, timeout_at};
use tonic_health::ServingStatus;

use crate::{
    cache::Chains,
    generation::GenerationQueue,
    grpc::{GrpcServer, InFlight},
    lifecycle::{EventSender, Phase, ServerEvent},
    runtime::TokioHandle,
    traces::Traces,
};

/// Connections and stores get at least this long to close, even if the calls used up the deadline.
const MIN_CLOSE_TIME: Duration = Duration::from_secs(1);

/// How long the collector may take for the last traces.
const TRACE_FLUSH_TIME: Duration = Duration::from_secs(1);

/// Drains the server on entering [`Phase::Draining`].
#[derive(Debug)]
pub struct DrainPlugin {
    /// How long connections and calls are still accepted while health and `/readyz` already report the drain.
    pub delay: Duration,
    /// How long calls are answered after that.
    pub deadline: Duration,
}

impl Plugin for DrainPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(DrainTimes { delay: self.delay, deadline: self.deadline })
            .add_systems(OnEnter(Phase::Draining), drain);
    }
}

#[derive(Resource, Clone, Copy)]
struct DrainTimes {
    delay: Duration,
    deadline: Duration,
}

/// Drains the server: reports NOT_SERVING, serves for the delay, asks clients to disconnect, answers their calls until they
/// have or the deadline ends, cuts off and refuses what is left, flushes queued writes, and sends
/// [`ServerEvent::Drained`].
fn drain(
    runtime: Res<'_, TokioHandle>,
    (times, traces): (Res<'_, DrainTimes>, Option<Res<'_, Traces>>),
    server: Res<'_, GrpcServer>,
    in_flight: Res<'_, InFlight>,
    chains: Res<'_, Chains>,
    generation: Res<'_, GenerationQueue>,
    events: Res<'_, EventSender>,
) {
    let (times, server, in_flight) = (*times, server.clone(), in_flight.clone());
    let (chains, generation, events) = (chains.clone(), generation.clone(), events.clone());
    let traces = traces.as_deref().cloned();
    runtime.spawn(async move {
        // First, so that a load balancer stops sending before connections close.
        server.set_health(ServingStatus::NotServing).await;
        // A sleep of zero would still take a tick of the timer.
        if !times.delay.is_zero() {
            tokio::time::sleep(times.delay).await;
        }
        let drain_ends = Instant::now() + times.deadline;
        // A call that its client sent before it was told to disconnect is answered, so calls are refused only after this.
        let _ = timeout_at(drain_ends, server.close()).await;
        in_flight.close();
        let calls_ended = timeout_at(drain_ends, in_flight.idle()).await.is_ok();
        in_flight.cut_off();
        generation.stop();
        let remaining = drain_ends.saturating_duration_since(Instant::now()).max(MIN_CLOSE_TIME);
        let (connections_closed, flushed) = tokio::join!(timeout(remaining, server.close()), chains.close(remaining));
        if connections_closed.is_err() {
            tracing::warn!("responses were cut off: clients did not read them in time");
        }
        // Last, so that the calls of the drain have traces too. What a collector does not take is no loss to a client.
        if let Some(traces) = traces
            && !traces.flush(TRACE_FLUSH_TIME).await
        {
            tracing::warn!("the last traces were not exported in time");
        }
        events.send(ServerEvent::Drained { complete: calls_ended && connections_closed.is_ok() && flushed });
    });
}
