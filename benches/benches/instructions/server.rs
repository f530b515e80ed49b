//! The server without sockets: what a client sends goes through floor-http2 or hyper, the router and the chain's memory,
//! in the calling thread.

use std::{
    cell::RefCell,
    future::Future,
    hint::black_box,
    io,
    net::Ipv4Addr,
    pin::{Pin, pin},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use benches::{
    floors::Entries,
    input::{Expected, InputCase, MAX_STREAMS},
    pregenerated::layers_in_memory,
};
use bevy_server::{
    clients::{Budget, Clients},
    config::{ClientIdentity, CorsOrigins, NoCache},
    grpc::{
        FloorService, InFlight, RequestMetrics, Router, Routes, ServiceDeps, http2_limits, request_of_json, run_call,
    },
    metrics::Refusals,
};
use floor_cache::{LruConfig, Tuning};
use floor_http2::{Connection, Transport};
use hyper_util::rt::TokioIo;
use prometheus::Registry;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    runtime::Builder,
};

use super::cases::Operation;

/// How long a stream may wait for its reader, as in the server's defaults.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// What the connection may write: no client of these cases is slow.
const ROOM: usize = 1 << 30;

/// Receives `case` on a connection of its own, `times` times at the most. The connections are made here.
pub(crate) fn operation(case: &InputCase, times: u64) -> Operation {
    let (input, router, name) = (case.input(), router(), case.name);
    let connect = || {
        let mut client = if input.is_http1 { Client::http1(&router) } else { Client::http2(&router) };
        client.send(&input.before);
        client
    };
    let mut clients: Vec<Client> = (0..times).map(|_| connect()).collect();
    let before = clients[0].done();
    assert!(!before.is_ended, "{name}: the connection ends before");
    Box::new(move |_| {
        let mut client = clients.pop().expect("one for each operation");
        input.pieces.iter().for_each(|piece| client.send(piece));
        if let Some((rpc, json)) = &input.json {
            drop(black_box(request_of_json(*rpc, json)));
        }
        let done = client.done();
        assert!(done.is_expected(input.expected, before), "{name}: {before:?}, then {done:?}");
    })
}

/// What one connection has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Done {
    /// Calls that began. Those of HTTP/1 are not counted.
    calls: u32,
    /// Whether the server has ended the connection.
    is_ended: bool,
    /// Bytes that the server has sent.
    sent: usize,
}

impl Done {
    /// Whether that is what was expected after `before`.
    fn is_expected(self, expected: Expected, before: Self) -> bool {
        /// A floor of 100x100 has 4 KiB or more.
        const FLOOR_BYTES: usize = 4 << 10;
        let (calls, floors) = (self.calls - before.calls, (self.sent - before.sent) / FLOOR_BYTES);
        match expected {
            Expected::Nothing => calls == 0 && !self.is_ended,
            Expected::Calls(count) => calls == count && floors < count as usize && !self.is_ended,
            Expected::Floors(count) => floors >= count as usize && !self.is_ended,
            Expected::End => self.is_ended,
        }
    }
}

/// A router whose floors are in memory. Timers may be made on this thread from now on; none runs.
fn router() -> Router {
    let runtime = Box::leak(Box::new(Builder::new_current_thread().enable_time().build().expect("a runtime")));
    std::mem::forget(runtime.enter());
    let layers = [LruConfig::default()];
    let chain = layers_in_memory(&layers, &Tuning::default(), &Entries::floors(1), runtime.handle());
    let (registry, clients) = (Registry::new(), Clients::new(ClientIdentity::default()));
    let client = clients.at(Ipv4Addr::LOCALHOST.into());
    let service = FloorService::new(ServiceDeps {
        chain,
        metrics: RequestMetrics::register(&registry).expect("a registry of its own"),
        refusals: Refusals::register(&registry).expect("a registry of its own"),
        in_flight: InFlight::default(),
        access_recorder: None,
        clients,
        unsent: Budget::unsent(64 << 20),
        no_cache: NoCache::None,
        observer: None,
    });
    let (_, health) = tonic_health::server::health_reporter();
    Routes::new(service, health, false, &CorsOrigins::Any, None).for_client(client, None)
}

/// Both directions of a connection. Cheap to clone.
#[derive(Clone, Default)]
struct Wire(Rc<RefCell<Buffers>>);

#[derive(Default)]
struct Buffers {
    received: Vec<u8>,
    /// Bytes of `received` that were read.
    read: usize,
    /// Bytes that were sent.
    sent: usize,
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut buffers = self.0.borrow_mut();
        let count = into.remaining().min(buffers.received.len() - buffers.read);
        if count == 0 {
            return Poll::Pending;
        }
        into.put_slice(&buffers.received[buffers.read..][..count]);
        buffers.read += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().sent += bytes.len();
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Transport for Wire {
    fn poll_send(&mut self, _: &mut Context<'_>, output: &mut Vec<u8>) -> io::Result<usize> {
        self.0.borrow_mut().sent += output.len();
        output.clear();
        Ok(ROOM)
    }
}

/// A future, and whether it was woken.
struct Task<O> {
    future: Pin<Box<dyn Future<Output = O>>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

impl<O> Task<O> {
    fn new(future: impl Future<Output = O> + 'static) -> Self {
        Self { future: Box::pin(future), woken: Arc::new(Woken(AtomicBool::new(true))) }
    }

    /// Polls it if it was woken. Ready with its output when it ends.
    fn run(&mut self) -> Poll<O> {
        if !self.woken.0.swap(false, Relaxed) {
            return Poll::Pending;
        }
        let waker = Waker::from(Arc::clone(&self.woken));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

/// A connection of a client.
struct Client {
    wire: Wire,
    /// What serves it.
    kind: Kind,
    done: Done,
}

enum Kind {
    Http1(Task<()>),
    Http2 { connection: Connection<Wire>, router: Router, woken: Arc<Woken>, calls: Vec<Task<()>> },
}

impl Client {
    fn http2(router: &Router) -> Self {
        let wire = Wire::default();
        let connection = Connection::new(wire.clone(), http2_limits(MAX_STREAMS));
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let kind = Kind::Http2 { connection, router: router.clone(), woken, calls: Vec::new() };
        Self { wire, kind, done: Done::default() }
    }

    fn http1(router: &Router) -> Self {
        let wire = Wire::default();
        let mut server = hyper::server::conn::http1::Builder::new();
        let connection = server.max_buf_size(64 << 10).serve_connection(TokioIo::new(wire.clone()), router.clone());
        let kind = Kind::Http1(Task::new(async move { _ = connection.await }));
        Self { wire, kind, done: Done::default() }
    }

    /// The server receives `bytes`, and does all that it can.
    fn send(&mut self, bytes: &[u8]) {
        {
            let mut buffers = self.wire.0.borrow_mut();
            buffers.received.clear();
            buffers.received.extend_from_slice(bytes);
            buffers.read = 0;
        }
        match &mut self.kind {
            Kind::Http1(task) => {
                task.woken.0.store(true, Relaxed);
                while task.woken.0.load(Relaxed) && !self.done.is_ended {
                    self.done.is_ended = task.run().is_ready();
                }
            }
            Kind::Http2 { connection, router, woken, calls } => {
                woken.0.store(true, Relaxed);
                let waker = Waker::from(Arc::clone(woken));
                let mut cx = Context::from_waker(&waker);
                loop {
                    if woken.0.swap(false, Relaxed) {
                        while let Poll::Ready(accepted) = pin!(connection.accept()).poll(&mut cx) {
                            let Some(Ok((request, responder))) = accepted else {
                                self.done.is_ended = true;
                                break;
                            };
                            self.done.calls += 1;
                            let call = run_call(router.clone(), request, responder, Some(STALL_TIMEOUT));
                            let mut call = Task::new(call);
                            if call.run().is_pending() {
                                calls.push(call);
                            }
                        }
                    }
                    calls.retain_mut(|call| call.run().is_pending());
                    let is_woken = woken.0.load(Relaxed) || calls.iter().any(|call| call.woken.0.load(Relaxed));
                    if self.done.is_ended || !is_woken {
                        break;
                    }
                }
            }
        }
    }

    /// What the connection has done so far.
    fn done(&self) -> Done {
        Done { sent: self.wire.0.borrow().sent, ..self.done }
    }
}
