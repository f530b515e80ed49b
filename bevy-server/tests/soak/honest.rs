//! Clients that do nothing wrong. Every one of their calls must succeed.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use floor_proto::v1::{BatchGetFloorsRequest, GetFloorRequest, StreamFloorsRequest};
use futures_util::future::join_all;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use test_support::{TIMEOUT, frame, parsed, spec, web, web_of};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    task::JoinHandle,
    time::timeout,
};

use crate::target::Target;

const ADDRESS: &str = "127.0.0.1";
/// Floors of all calls: more than the memory of the server holds, and few enough that all were requested after a tenth
/// of a long run.
const FLOORS: u32 = 3000;
/// Floors of one tower, so that streams stay within it.
const TOWER: u32 = 100;

/// Calls that a client makes at once, and how often.
struct Pace {
    at_once: usize,
    pause: Duration,
}

pub(crate) fn spawn(target: &Arc<Target>) -> Vec<JoinHandle<()>> {
    let milliseconds = Duration::from_millis;
    let clients = [
        (Pace { at_once: 1, pause: milliseconds(30) }, get as fn(u32) -> Call),
        (Pace { at_once: 1, pause: milliseconds(40) }, get),
        (Pace { at_once: 10, pause: milliseconds(200) }, get),
        (Pace { at_once: 1, pause: milliseconds(250) }, get_again),
        (Pace { at_once: 2, pause: milliseconds(500) }, batch),
        (Pace { at_once: 2, pause: milliseconds(500) }, stream),
    ];
    let mut tasks: Vec<_> = (1..)
        .zip(clients)
        .map(|(number, (pace, call))| tokio::spawn(call_over_http2(Arc::clone(target), number, pace, call)))
        .collect();
    tasks.push(tokio::spawn(abandon(Arc::clone(target))));
    tasks.push(tokio::spawn(call_over_http1(Arc::clone(target))));
    tasks
}

/// A call and the number of messages in its answer.
#[derive(Clone)]
struct Call {
    method: &'static str,
    headers: &'static [(&'static str, &'static str)],
    message: Bytes,
    messages: usize,
}

fn call(method: &'static str, message: &impl Message) -> Call {
    Call { method, headers: &[], message: frame(message).into(), messages: 1 }
}

fn floor(number: u32) -> GetFloorRequest {
    let number = number % FLOORS;
    GetFloorRequest { spec: Some(spec(u64::from(number / TOWER), 1 + number % TOWER)) }
}

fn get(number: u32) -> Call {
    call("GetFloor", &floor(number))
}

/// A floor that is generated again.
fn get_again(number: u32) -> Call {
    Call { headers: &[("cache-control", "no-cache")], ..get(number) }
}

fn batch(number: u32) -> Call {
    let specs = (0..32).filter_map(|next| floor(number + next).spec).collect();
    call("BatchGetFloors", &BatchGetFloorsRequest { specs })
}

fn stream(number: u32) -> Call {
    const COUNT: u32 = 20;
    let first = spec(u64::from(number % FLOORS / TOWER), 1 + number % (TOWER - COUNT));
    Call { messages: COUNT as usize, ..call("StreamFloors", &StreamFloorsRequest { first: Some(first), count: COUNT }) }
}

/// How a call ended.
enum End {
    Answered,
    /// The connection was closed before the call was sent, or the server said in its GOAWAY that the call was not taken.
    NotSent,
    Failed(String),
}

async fn connect(target: &Target) -> std::io::Result<SendRequest<Full<Bytes>>> {
    let stream = target.connect(ADDRESS, "h2").await?;
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = handshake.map_err(std::io::Error::other)?;
    tokio::spawn(connection);
    target.count(|counts| &counts.connections);
    Ok(sender)
}

/// Calls until the end of the run. Connects again when the server has closed the connection.
async fn call_over_http2(target: Arc<Target>, client: u32, pace: Pace, call: fn(u32) -> Call) {
    // Each client begins elsewhere. A step that has no factor in common with the number of floors reaches all.
    let mut next = client * 499;
    let mut connection = None;
    while target.pause(pace.pause).await {
        let mut calls: Vec<_> = (0..pace.at_once)
            .map(|_| {
                next += 7;
                call(next)
            })
            .collect();
        let started = Instant::now();
        while !calls.is_empty() {
            let sender = match connection.take() {
                Some(sender) => sender,
                None => match connect(&target).await {
                    Ok(sender) => sender,
                    Err(error) => return target.fail(format!("the connection: {error}")),
                },
            };
            let ends = join_all(calls.iter().map(|call| answer(&target, sender.clone(), call))).await;
            connection = Some(sender);
            let mut not_sent = Vec::new();
            for (call, end) in calls.into_iter().zip(ends) {
                match end {
                    End::Answered => target.count(|counts| &counts.answered),
                    End::Failed(text) => target.fail(format!("{}: {text}", call.method)),
                    End::NotSent if started.elapsed() > TIMEOUT => target.fail(format!("{}: never sent", call.method)),
                    End::NotSent => {
                        connection = None;
                        not_sent.push(call);
                    }
                }
            }
            calls = not_sent;
        }
    }
}

async fn answer(target: &Target, mut sender: SendRequest<Full<Bytes>>, call: &Call) -> End {
    if sender.ready().await.is_err() {
        return End::NotSent;
    }
    let body = Full::new(call.message.clone());
    let request = target.server.request(call.method, call.headers).body(body).unwrap();
    let answered = async {
        let response = match sender.try_send_request(request).await {
            Ok(response) => response,
            Err(mut error) => {
                if error.take_message().is_some() {
                    return End::NotSent;
                }
                let error = error.into_error();
                let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<h2::Error>());
                let is_refused = |error: &h2::Error| {
                    error.is_go_away() && error.is_remote() && error.reason() == Some(h2::Reason::NO_ERROR)
                };
                if source.is_some_and(is_refused) {
                    target.count(|counts| &counts.refused);
                    return End::NotSent;
                }
                return End::Failed(format!("{error:?}"));
            }
        };
        let mut headers = response.headers().clone();
        let body = match response.into_body().collect().await {
            Ok(body) => body,
            Err(error) => return End::Failed(format!("the body: {error:?}")),
        };
        headers.extend(body.trailers().cloned().unwrap_or_default());
        let body = body.to_bytes();
        match headers.get("grpc-status") {
            Some(status) if status == "0" && messages(&body) == Some(call.messages) => End::Answered,
            _ => End::Failed(format!("{headers:?} and {} bytes", body.len())),
        }
    };
    timeout(TIMEOUT, answered).await.unwrap_or_else(|_| End::Failed("no answer in time".to_owned()))
}

/// The number of messages in a body, if the last is whole.
fn messages(mut body: &[u8]) -> Option<usize> {
    let mut count = 0;
    while let Some((prefix, rest)) = body.split_at_checked(5) {
        body = rest.get(u32::from_be_bytes(prefix[1..].try_into().unwrap()) as usize..)?;
        count += 1;
    }
    body.is_empty().then_some(count)
}

/// Makes calls and gives them up, as a player does who leaves a tower.
async fn abandon(target: Arc<Target>) {
    let mut connection = None;
    let mut number = 0;
    while target.pause(Duration::from_millis(200)).await {
        number += 1;
        let sender = match connection.take() {
            Some(sender) => sender,
            None => match connect(&target).await {
                Ok(sender) => sender,
                Err(error) => return target.fail(format!("the connection: {error}")),
            },
        };
        let call = if number % 2 == 0 { stream(number) } else { get_again(number) };
        // A millisecond is enough for some, and not for others.
        let end = timeout(Duration::from_millis(1), answer(&target, sender.clone(), &call)).await;
        match end {
            Ok(End::NotSent) => {}
            Ok(End::Failed(text)) => target.fail(text),
            Ok(End::Answered) => connection = Some(sender),
            Err(_) => {
                target.count(|counts| &counts.abandoned);
                connection = Some(sender);
            }
        }
    }
}

/// Calls by gRPC-Web and JSON, each over a connection of its own.
async fn call_over_http1(target: Arc<Target>) {
    let mut number = 0;
    while target.pause(Duration::from_millis(300)).await {
        number += 1;
        let message = frame(&floor(number));
        let json =
            format!("{{\"spec\":{{\"seed\":\"{}\",\"number\":{}}}}}", number % 30, 1 + number % TOWER).into_bytes();
        let close = "connection: close\r\n";
        let (head, body) = match number % 2 {
            0 => (web("GetFloor", close, message.len()), message),
            _ => {
                let headers = format!("{close}content-length: {}\r\n", json.len());
                (web_of("/floors.v1.FloorService/GetFloor", "application/json", &headers), json)
            }
        };
        match timeout(TIMEOUT, exchange(&target, &[head.as_bytes(), &body].concat())).await {
            Ok(Ok(answer)) if parsed(&answer).0 == 200 => target.count(|counts| &counts.answered),
            Ok(Ok(answer)) => target.fail(format!("{head:?}: {:?}", String::from_utf8_lossy(&answer))),
            Ok(Err(error)) => target.fail(format!("{head:?}: {error}")),
            Err(_) => target.fail(format!("{head:?}: no answer in time")),
        }
    }
}

async fn exchange(target: &Target, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = target.connect(ADDRESS, "http/1.1").await?;
    target.count(|counts| &counts.connections);
    stream.write_all(request).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}
