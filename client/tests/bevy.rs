//! Tests the plugin in a headless app: it sends requests, delivers floors and failures, and never blocks a frame.

#![allow(clippy::unwrap_used)]

mod scripted;

use std::{
    thread,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use floor_client::{
    CallOptions, FloorSpec,
    plugin::{FloorArrived, FloorClientPlugin, FloorFailed, RequestFloor},
};
use tonic::Status;

use crate::scripted::{ScriptedServer, floor};

/// All messages that the plugin has written.
#[derive(Resource, Default)]
struct Received {
    arrived: Vec<FloorArrived>,
    failed: Vec<FloorFailed>,
}

fn collect(
    mut received: ResMut<'_, Received>,
    mut arrived: MessageReader<'_, '_, FloorArrived>,
    mut failed: MessageReader<'_, '_, FloorFailed>,
) {
    received.arrived.extend(arrived.read().cloned());
    received.failed.extend(failed.read().cloned());
}

fn app(plugin: FloorClientPlugin) -> App {
    let mut app = App::new();
    app.add_plugins(plugin).init_resource::<Received>().add_systems(Update, collect);
    app
}

/// Runs frames until `count` results have arrived.
fn run_until(app: &mut App, count: usize) {
    let started = Instant::now();
    loop {
        app.update();
        let received = app.world().resource::<Received>();
        if received.arrived.len() + received.failed.len() >= count {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "no answer in 20 s");
        thread::sleep(Duration::from_millis(1));
    }
}

fn spec(number: u32) -> FloorSpec {
    FloorSpec { seed: 42, number, ..FloorSpec::default() }
}

/// Makes one call at a time, so that scripted replies match the order of requests. Does not retry.
fn plugin(server: &str) -> FloorClientPlugin {
    FloorClientPlugin::new(server).unwrap().with_in_flight(1).with_options(CallOptions::default())
}

#[test]
fn floors_and_failures_come_back_as_messages() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let replies = [Ok(vec![floor(1)]), Err(Status::unavailable("draining")), Ok(vec![floor(3)])];
    let (_, client) = runtime.block_on(ScriptedServer::serve(replies));
    let mut app = app(plugin(client.server()));
    for number in 1..=3 {
        app.world_mut().write_message(RequestFloor(spec(number)));
    }
    run_until(&mut app, 3);
    let received = app.world().resource::<Received>();
    assert_eq!(received.arrived.iter().map(|arrived| arrived.floor.spec().number).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(received.arrived[0].served.by.to_string(), "lmdb");
    assert_eq!(received.failed[0].requested, spec(2));
    assert_eq!(received.failed[0].error.to_string(), "UNAVAILABLE: draining");
}

#[test]
fn a_server_that_never_answers_blocks_no_frame() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (server, client) = runtime.block_on(ScriptedServer::serve([]));
    let mut app = app(plugin(client.server()));
    app.world_mut().write_message(RequestFloor(spec(1)));
    let started = Instant::now();
    while server.calls() == 0 {
        app.update();
        assert!(started.elapsed() < Duration::from_secs(20), "the request never left");
    }
    for _ in 0..100 {
        app.update();
    }
    assert_eq!(app.world().resource::<Received>().arrived.len(), 0);
}

#[test]
fn a_game_starts_without_its_server() {
    // The port is bound and has no listener: connections are refused, and no other process gets the port.
    let closed_port = tokio::net::TcpSocket::new_v4().unwrap();
    closed_port.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut app = app(plugin(&closed_port.local_addr().unwrap().to_string()));
    app.world_mut().write_message(RequestFloor(spec(1)));
    run_until(&mut app, 1);
    assert!(app.world().resource::<Received>().failed[0].error.to_string().contains("cannot reach"));
}

#[test]
fn a_bad_address_is_found_when_the_plugin_is_made() {
    assert!(FloorClientPlugin::new("https://floors").is_err());
}
