//! What the input of clients costs the server.
//!
//! Each input is sent once to the server of this build, and must lead to what it should. With `FLOORS_INPUT_COST` set,
//! which `.ci/input-cost` does for the release server, the instructions of each are counted too, and none may cost more
//! than its bound. With `FLOORS_NEIGHBOUR_SECONDS`, the latency of another client is measured beside each.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod callgrind;
mod connection;
mod inputs;
mod key_updates;
mod neighbour;

use callgrind::CountedServer;
use connection::Connection;
use inputs::Input;
use tempfile::TempDir;
use test_support::{Server, Setup, wait_until};

/// Floors come from memory, and none is generated but the first.
fn in_memory(setup: Setup) -> Setup {
    setup.with("CACHE__CHAIN", r#"["lru"]"#)
}

/// Sends an input, each time as another client: the budgets of the last one may be used up.
fn send(input: &Input, client: usize, server: &Server) {
    Connection::open(input, &format!("127.0.1.{client}"), server).send();
}

#[test]
fn every_input_leads_to_what_it_should() {
    let data = TempDir::new().unwrap();
    let server = in_memory(Setup::new(&data)).start();
    for (number, input) in inputs::all().iter().enumerate() {
        send(input, number + 1, &server);
    }
    let log = server.stop();
    assert!(!log.contains("panicked") && !log.contains("ERROR"), "{log}");
}

#[test]
fn no_byte_costs_more_than_its_bound() {
    if std::env::var_os("FLOORS_INPUT_COST").is_none() {
        return println!("skipped: FLOORS_INPUT_COST is not set");
    }
    assert!(CountedServer::is_available(), "instructions are counted by valgrind");
    let counted = CountedServer::start(in_memory);
    let inputs = inputs::all();
    println!("| what a client sends | bytes | instructions | for a byte | at most | for a unit of the budget |");
    println!("|---|---|---|---|---|---|");
    let mut too_expensive = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        // The first time, code is loaded, and a floor generated.
        send(input, 2 * number + 1, &counted.server);
        // To end a connection with 128 calls costs more than some inputs.
        wait_until("the connections before have ended", || counted.server.metric("floors_connections") == 0.0);
        let mut connection = Connection::open(input, &format!("127.0.1.{}", 2 * number + 2), &counted.server);
        let instructions = counted.count(|| connection.send());
        let per_byte = instructions.div_ceil(input.bytes() as u64);
        let per_unit = instructions.checked_div(input.units.into()).map_or("-".to_owned(), |count| count.to_string());
        let Input { name, most, .. } = input;
        println!("| {name} | {} | {instructions} | {per_byte} | {most} | {per_unit} |", input.bytes());
        if per_byte > *most {
            too_expensive.push(input.name);
        }
    }
    assert!(too_expensive.is_empty(), "a byte costs more than its bound: {too_expensive:?}");
}
