//! Gives the same bytes of a client to floor-http2 and to the server of the h2 crate, and compares what their callers see,
//! what the client sees, and the windows. Each difference is one of [`reasons::REASONS`], or the test fails.
//!
//! `FLOORS_DIFFERENTIAL_SEQUENCES` is the number of sequences, `FLOORS_DIFFERENTIAL_FIRST` the number of the first.

mod client;
mod reasons;
mod servers;

#[allow(dead_code, unreachable_pub, reason = "the simulation uses all of it")]
#[path = "../simulation/frames.rs"]
mod frames;
#[allow(dead_code, unreachable_pub, reason = "the simulation uses all of it")]
#[path = "../simulation/view.rs"]
mod view;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Display,
    panic::{AssertUnwindSafe, catch_unwind},
};

use client::Sequence;
use reasons::{Case, Client, RARE, REASONS, Reason};
use servers::{End, Server};

/// Sequences of `cargo test`.
const SEQUENCES: u64 = 2000;
/// Sequences after which every reason must have occurred.
const MANY_SEQUENCES: u64 = 100_000;

/// Where two servers differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    /// One has ended the connection, or both with different codes.
    Connection,
    /// The requests that the callers see.
    Requests,
    /// The body of the call with this index, or how it has ended.
    Body(usize),
    /// What the client has received on this stream.
    Stream(u32),
}

/// What was compared.
#[derive(Default, Debug)]
struct Counts {
    /// Steps after which everything was compared.
    steps: u64,
    requests: u64,
    request_bytes: u64,
    response_bytes: u64,
    resets: u64,
    connection_errors: u64,
    /// Sequences that were compared to their end. The others ended at a difference.
    whole: u64,
    /// Bytes of the windows of streams that each server gave back.
    window_bytes: [i64; 2],
    /// How often each reason has explained a difference.
    reasons: BTreeMap<&'static str, u64>,
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

#[test]
fn h2_and_floor_http2_differ_only_where_a_reason_says_so() {
    let first = number("FLOORS_DIFFERENTIAL_FIRST", 0);
    let count = number("FLOORS_DIFFERENTIAL_SEQUENCES", SEQUENCES);
    let mut counts = Counts::default();
    let mut unexplained = Vec::new();
    let mut run = |name: &dyn Display, sequence: &Sequence| {
        let compared = catch_unwind(AssertUnwindSafe(|| compare(sequence, &mut counts)));
        let compared = compared.unwrap_or_else(|_| Err("a panic".to_owned()));
        unexplained.extend(compared.err().map(|text| format!("sequence {name}: {text}")));
    };
    for (name, sequence) in client::advisories() {
        run(&name, &sequence);
    }
    for number in first..first + count {
        run(&number, &client::sequence(number));
    }
    println!("{count} sequences from {first}: {counts:#?}");
    println!("{} unexplained:", unexplained.len());
    for text in unexplained.iter().take(40) {
        println!("{text}");
    }
    assert!(unexplained.is_empty(), "{} sequences with an unexplained difference", unexplained.len());
    if count >= SEQUENCES {
        let is_needed = |name| count >= MANY_SEQUENCES || !RARE.contains(&name);
        let is_missing = |reason: &&Reason| is_needed(reason.name) && !counts.reasons.contains_key(reason.name);
        let missing: Vec<_> = REASONS.iter().filter(is_missing).collect();
        assert!(missing.is_empty(), "these reasons explain nothing: {missing:#?}");
    }
}

/// Runs a sequence, and counts what was compared.
fn compare(sequence: &Sequence, counts: &mut Counts) -> Result<(), String> {
    let mut ours = Server::of_floor(sequence.limits, sequence.callers);
    let mut theirs = Server::of_h2(sequence.limits, sequence.callers);
    theirs.view.max_frame = usize::MAX;
    let is_whole = compare_steps(&sequence.steps, &mut ours, &mut theirs, counts)?;
    ours.close();
    theirs.close();
    counts.whole += u64::from(is_whole);
    counts.requests += ours.calls.len() as u64;
    counts.request_bytes += ours.calls.iter().map(|call| call.body.len() as u64).sum::<u64>();
    counts.connection_errors += u64::from(ours.view.go_away.is_some());
    for stream in ours.view.streams.values() {
        counts.response_bytes += stream.response.len() as u64;
        counts.resets += u64::from(stream.server_reset.is_some());
    }
    for (sum, server) in counts.window_bytes.iter_mut().zip([&ours, &theirs]) {
        *sum += server.view.streams.values().map(|stream| stream.client_updates).sum::<i64>();
    }
    Ok(())
}

/// Compares the servers after each step, until they differ so that they are not comparable any more. Returns whether all
/// steps were compared.
fn compare_steps(
    steps: &[Vec<u8>],
    ours: &mut Server,
    theirs: &mut Server,
    counts: &mut Counts,
) -> Result<bool, String> {
    let mut client = Client::new(ours.limits);
    let mut excused = BTreeSet::new();
    for (step, bytes) in steps.iter().enumerate() {
        client.send(bytes);
        ours.receive(bytes);
        theirs.receive(bytes);
        // h2 reads a header block frame by frame, floor-http2 when it is whole.
        if client.is_in_block() && !ours.has_ended {
            continue;
        }
        counts.steps += 1;
        if let Some(rule) = &ours.broken_rule {
            return Err(format!("floor-http2 breaks a rule in step {step}: {rule}"));
        }
        let differences = differences(ours, theirs);
        for difference in differences.iter().filter(|it| !excused.contains(*it)) {
            let case = Case { difference, client: &client, ours, theirs };
            let Some(reason) = reasons::reason(&case) else { return Err(describe(step, &case)) };
            *counts.reasons.entry(reason.name).or_default() += 1;
        }
        if !differences.iter().all(|difference| is_local(difference, ours, theirs)) {
            return Ok(false);
        }
        excused.extend(differences);
        if ours.has_ended {
            return Ok(true);
        }
        check_windows(ours, theirs).map_err(|text| format!("step {step}: {text}"))?;
    }
    Ok(true)
}

/// Where the servers differ now.
fn differences(ours: &Server, theirs: &Server) -> Vec<Difference> {
    let code = |server: &Server| server.view.go_away.map(|(_, code)| code);
    if ours.has_ended != theirs.has_ended || code(ours) != code(theirs) || theirs.broken_rule.is_some() {
        return vec![Difference::Connection];
    }
    // What was on its way when the connection ended may be lost.
    if ours.has_ended {
        return Vec::new();
    }
    let are_equal = ours.calls.iter().zip(&theirs.calls).all(|(a, b)| a.is_same(b));
    if !are_equal || ours.calls.len() != theirs.calls.len() {
        // The rest follows from it.
        return vec![Difference::Requests];
    }
    let mut differences = Vec::new();
    for (index, (a, b)) in ours.calls.iter().zip(&theirs.calls).enumerate() {
        if (&a.body, &a.end) != (&b.body, &b.end) {
            differences.push(Difference::Body(index));
        }
    }
    let ids: BTreeSet<u32> = ours.view.streams.keys().chain(theirs.view.streams.keys()).copied().collect();
    for id in ids {
        let (a, b) = (ours.view.streams.get(&id), theirs.view.streams.get(&id));
        let (a, b) = (a.map(seen), b.map(seen));
        if a != b {
            differences.push(Difference::Stream(id));
        }
    }
    differences
}

/// What a client sees of a stream.
fn seen(stream: &view::Stream) -> impl PartialEq {
    let view::Stream { head, response, trailers, is_response_ended, server_reset, .. } = stream;
    (head, response, trailers, is_response_ended, server_reset)
}

/// Whether the servers stay comparable: the difference is on a stream that is closed for both.
fn is_local(difference: &Difference, ours: &Server, theirs: &Server) -> bool {
    let is_closed = |server: &Server, id: u32| server.view.streams.get(&id).is_some_and(view::Stream::is_closed);
    match difference {
        Difference::Connection | Difference::Requests => false,
        Difference::Body(index) => ours.calls[*index].end != End::Open && theirs.calls[*index].end != End::Open,
        Difference::Stream(id) => is_closed(ours, *id) && is_closed(theirs, *id),
    }
}

/// Every byte that a caller has read is given back, but for at most half of a window.
fn check_windows(ours: &mut Server, theirs: &mut Server) -> Result<(), String> {
    let ids: Vec<u32> = theirs.calls.iter().filter_map(|call| call.stream).collect();
    for (name, server) in [("floor-http2", ours), ("h2", theirs)] {
        let held = server.held(&ids);
        let checked = catch_unwind(AssertUnwindSafe(|| server.view.check_idle(&held)));
        checked.map_err(|panic| format!("the windows of {name}: {:?}", panic.downcast_ref::<String>()))?;
    }
    Ok(())
}

fn describe(step: usize, case: &Case<'_>) -> String {
    let Case { difference, client, ours, theirs } = case;
    let frames: Vec<String> = client.frames.iter().map(reasons::Frame::to_string).collect();
    let show = |fields: &view::Fields| -> Vec<String> {
        let field = |(name, value): &(Vec<u8>, Vec<u8>)| {
            format!("{}={}", name.escape_ascii(), value[..value.len().min(40)].escape_ascii())
        };
        fields.iter().take(12).map(field).collect()
    };
    let blocks: Vec<_> = client.blocks.iter().map(|(id, fields)| (id, fields.len(), show(fields))).collect();
    let of = |server: &Server| {
        let ends = format!("ended: {}, GOAWAY {:?}, {:?}", server.has_ended, server.view.go_away, server.broken_rule);
        let detail = match difference {
            Difference::Connection => String::new(),
            Difference::Requests => {
                let last = server.calls.last().map(|call| (&call.method, &call.path, &call.headers));
                format!("{} requests, {last:?}", server.calls.len())
            }
            Difference::Body(index) => {
                let call = &server.calls[*index];
                format!("{} bytes, {:?}", call.body.len(), call.end)
            }
            Difference::Stream(id) => server.view.streams.get(id).map_or_else(String::new, |stream| {
                let (fields, length) = (stream.head.as_ref().map(show), stream.response.len());
                let (ends, reset) = (stream.is_response_ended, stream.server_reset);
                format!("{fields:?}, {length} bytes, ended {ends}, reset {reset:?}")
            }),
        };
        format!("{ends}; {detail}")
    };
    let sent = format!("{frames:?} with {blocks:?}");
    format!("step {step}, {difference:?} after {sent}\n    ours: {}\n    h2:   {}", of(ours), of(theirs))
}
