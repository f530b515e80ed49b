//! Tests the plugin in a headless app: it sends requests, keeps floors and failures until they are taken, cancels what
//! is no longer wanted, and never blocks a frame.

#![allow(clippy::unwrap_used)]

mod scripted;

use std::{
    thread,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use floor_client::{
    CallOptions, ConnectOptions, FloorSpec, Token, limits,
    plugin::{FloorArrived, FloorClientPlugin, FloorFailed, FloorServer, FloorServerStatus, RequestFloor},
};
use tonic::Status;

use crate::scripted::{ScriptedServer, floor};

fn app(plugin: FloorClientPlugin) -> App {
    let mut app = App::new();
    app.add_plugins(plugin);
    app
}

/// Runs frames until `done`.
fn run_until(app: &mut App, what: &str, mut done: impl FnMut(&World) -> bool) {
    let started = Instant::now();
    loop {
        app.update();
        if done(app.world()) {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{what} after 20 s");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether the request has a result.
fn is_done(world: &World, request: Entity) -> bool {
    world.get::<FloorArrived>(request).is_some() || world.get::<FloorFailed>(request).is_some()
}

fn request(app: &mut App, number: u32) -> Entity {
    app.world_mut().spawn(RequestFloor(spec(number))).id()
}

fn spec(number: u32) -> FloorSpec {
    FloorSpec { seed: 42, number, ..FloorSpec::default() }
}

/// Makes one call at a time, so that scripted replies match the order of requests. Does not retry.
fn plugin(server: &str) -> FloorClientPlugin {
    FloorClientPlugin::new(server).unwrap().with_in_flight(1).with_options(CallOptions::default().retries(0))
}

#[test]
fn floors_and_failures_stay_with_their_requests_until_they_are_taken() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let replies = [Ok(vec![floor(1)]), Err(Status::unavailable("draining")), Ok(vec![floor(3)])];
    let (_, client) = runtime.block_on(ScriptedServer::serve(replies));
    let mut app = app(plugin(client.server()));
    let requests = [1, 2, 3].map(|number| request(&mut app, number));
    run_until(&mut app, "no three results", |world| requests.iter().all(|request| is_done(world, *request)));
    // A game that does not look for many frames misses nothing.
    for _ in 0..10 {
        app.update();
    }
    let world = app.world();
    let [first, _, third] = requests.map(|request| world.get::<FloorArrived>(request));
    assert_eq!(first.unwrap().floor.spec().number, 1);
    assert_eq!(first.unwrap().served.by.to_string(), "lmdb");
    assert_eq!(third.unwrap().floor.spec().number, 3);
    assert_eq!(world.get::<FloorFailed>(requests[1]).unwrap().error.to_string(), "UNAVAILABLE: draining");
}

#[test]
fn the_resource_says_whether_the_server_answers() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (server, client) =
        runtime.block_on(ScriptedServer::serve([Err(Status::internal("broken")), Ok(vec![floor(2)])]));
    let mut app = app(plugin(client.server()).with_options(CallOptions::default().deadline(Duration::from_secs(2))));
    let status = |app: &App| app.world().resource::<FloorServer>().status;
    assert_eq!(app.world().resource::<FloorServer>().url, client.server());
    assert_eq!(status(&app), FloorServerStatus::Untried);
    let requests = [1, 2].map(|number| request(&mut app, number));
    run_until(&mut app, "no two results", |world| requests.iter().all(|request| is_done(world, *request)));
    assert_eq!(status(&app), FloorServerStatus::Answering);
    assert!(app.world().get::<FloorArrived>(requests[1]).unwrap().took > Duration::ZERO);
    // The server is silent from now on.
    let third = request(&mut app, 3);
    run_until(&mut app, "no failure", |world| is_done(world, third));
    assert_eq!((status(&app), server.calls()), (FloorServerStatus::Unreachable, 3));
}

#[test]
fn the_next_floor_is_that_of_the_same_tower() {
    let first = FloorSpec { width: 40, height: 30, kind: 7, ..spec(1) };
    assert_eq!(RequestFloor(first).next(), Some(RequestFloor(FloorSpec { width: 40, height: 30, ..spec(2) })));
    assert_eq!(RequestFloor(spec(limits::MAX_FLOOR)).next(), None);
}

#[cfg(feature = "offline")]
#[test]
fn an_offline_game_generates_its_floors() {
    let mut app = app(FloorClientPlugin::offline());
    let requests = [1, 0].map(|number| request(&mut app, number));
    run_until(&mut app, "no two results", |world| requests.iter().all(|request| is_done(world, *request)));
    let world = app.world();
    let arrived = world.get::<FloorArrived>(requests[0]).unwrap();
    assert_eq!((arrived.floor.spec().seed, arrived.floor.spec().number), (42, 1));
    assert_eq!(arrived.served.by.to_string(), "generated");
    let error = &world.get::<FloorFailed>(requests[1]).unwrap().error;
    assert!(error.to_string().starts_with("INVALID_ARGUMENT: floor number 0"), "{error}");
    assert_eq!(world.resource::<FloorServer>().status, FloorServerStatus::Offline);
}

#[cfg(feature = "offline")]
#[test]
fn an_offline_game_with_a_pack_generates_the_floors_of_a_server_with_it() {
    use floor_client::FloorSpec;

    let mut files = floor_gen::pack::Files::new();
    files.insert("pack.toml", b"name = \"mine\"\n").unwrap();
    // As the server makes them: its tests compare its answers with this.
    let pack = floor_pack::LoadedPack::read(files.clone()).unwrap();
    let made = pack.framed(&mut floor_gen::Generator::new(), &pack.resolve(42, 1, 0, 0, None).unwrap()).unwrap();
    let mut app = app(FloorClientPlugin::offline_with(&files.to_bytes()).unwrap());
    let requests = [pack.reference(), "mine", "yours"]
        .map(|pack| app.world_mut().spawn(RequestFloor(FloorSpec { pack: pack.to_owned(), ..spec(1) })).id());
    run_until(&mut app, "no three results", |world| requests.iter().all(|request| is_done(world, *request)));
    let world = app.world();
    for request in &requests[..2] {
        let floor = &world.get::<FloorArrived>(*request).unwrap().floor;
        assert_eq!(floor.spec().pack, pack.reference());
        assert_eq!(floor.encoded_len(), floor_wire::unframed(&made).len());
        assert_eq!(floor.wire(), &floor_proto::hash::verify_encoded(&floor_wire::unframed(&made)).unwrap());
    }
    let error = &world.get::<FloorFailed>(requests[2]).unwrap().error;
    assert!(error.to_string().starts_with("NOT_FOUND: there is no pack yours; the game has mine@"), "{error}");
    let wrong = FloorClientPlugin::offline_with(b"floorpack 1\n").unwrap_err().to_string();
    assert!(wrong.starts_with("pack.toml: "), "{wrong}");
}

#[test]
fn a_request_is_made_again_when_it_is_inserted_again() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let replies = [Err(Status::unavailable("draining")), Ok(vec![floor(2)])];
    let (_, client) = runtime.block_on(ScriptedServer::serve(replies));
    let mut app = app(plugin(client.server()));
    let request = request(&mut app, 1);
    run_until(&mut app, "no failure", |world| world.get::<FloorFailed>(request).is_some());
    app.world_mut().entity_mut(request).insert(RequestFloor(spec(2)));
    run_until(&mut app, "no floor", |world| world.get::<FloorArrived>(request).is_some());
    assert!(app.world().get::<FloorFailed>(request).is_none());
    assert_eq!(app.world().get::<FloorArrived>(request).unwrap().floor.spec().number, 2);
}

#[test]
fn a_server_that_never_answers_blocks_no_frame() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (server, client) = runtime.block_on(ScriptedServer::serve([]));
    let mut app = app(plugin(client.server()));
    let request = request(&mut app, 1);
    run_until(&mut app, "the request has not left", |_| server.calls() > 0);
    for _ in 0..100 {
        app.update();
    }
    assert!(!is_done(app.world(), request));
}

#[test]
fn a_silent_call_makes_way_at_its_deadline() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (_, client) = runtime.block_on(ScriptedServer::serve([]));
    let options = CallOptions::default().deadline(Duration::from_millis(200));
    let mut app = app(plugin(client.server()).with_options(options));
    let requests = [1, 2].map(|number| request(&mut app, number));
    run_until(&mut app, "the second request has no result", |world| is_done(world, requests[1]));
    let error = &app.world().get::<FloorFailed>(requests[0]).unwrap().error;
    assert!(error.to_string().starts_with("DEADLINE_EXCEEDED"), "{error}");
}

#[test]
fn every_call_has_a_deadline() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (server, client) = runtime.block_on(ScriptedServer::serve([Ok(vec![floor(1)])]));
    let mut app = app(plugin(client.server()));
    let request = request(&mut app, 1);
    run_until(&mut app, "no floor", |world| is_done(world, request));
    let requests = server.requests.lock().unwrap();
    let timeout = requests[0].get("grpc-timeout").unwrap().to_str().unwrap();
    // Ten seconds fit into the eight digits of gRPC as microseconds, not as nanoseconds.
    let micros = timeout.strip_suffix('u').and_then(|micros| micros.parse().ok()).map(Duration::from_micros);
    assert!(micros.is_some_and(|timeout| timeout <= CallOptions::DEFAULT_DEADLINE), "{timeout}");
}

#[test]
fn a_despawned_request_makes_way() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (server, client) = runtime.block_on(ScriptedServer::serve([]));
    // Only the cancellation ends the first call in time.
    let options = CallOptions::default().deadline(Duration::from_secs(600));
    let mut app = app(plugin(client.server()).with_options(options));
    let first = request(&mut app, 1);
    run_until(&mut app, "the request has not left", |_| server.calls() == 1);
    request(&mut app, 2);
    app.world_mut().despawn(first);
    run_until(&mut app, "the second request has not left", |_| server.calls() == 2);
}

#[test]
fn a_game_starts_without_its_server() {
    // The port is bound and has no listener: connections are refused, and no other process gets the port.
    let closed_port = tokio::net::TcpSocket::new_v4().unwrap();
    closed_port.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut app = app(plugin(&closed_port.local_addr().unwrap().to_string()));
    let request = request(&mut app, 1);
    run_until(&mut app, "no failure", |world| is_done(world, request));
    let error = app.world().get::<FloorFailed>(request).unwrap().error.to_string();
    assert!(error.contains("cannot reach"), "{error}");
}

#[test]
fn a_token_is_sent() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (server, client) = runtime.block_on(ScriptedServer::serve([Ok(vec![floor(1)])]));
    let options = ConnectOptions::new().token(Token::new("hush").unwrap());
    let plugin = FloorClientPlugin::connecting_with(client.server(), &options).unwrap();
    assert!(!format!("{plugin:?}").contains("hush"));
    let mut app = app(plugin);
    let request = request(&mut app, 1);
    run_until(&mut app, "no floor", |world| is_done(world, request));
    assert_eq!(server.requests.lock().unwrap()[0].get("authorization").unwrap(), "Bearer hush");
}

#[test]
fn a_bad_address_is_found_when_the_plugin_is_made() {
    assert!(FloorClientPlugin::new("ftp://floors").is_err());
    let options = ConnectOptions::new().token(Token::new("hush").unwrap());
    assert!(FloorClientPlugin::connecting_with("http://floors.example", &options).is_err());
}
