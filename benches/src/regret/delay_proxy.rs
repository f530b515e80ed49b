//! A TCP proxy that delays every reply of its server: a distant Redis.
//!
//! Bytes that the server sends at time `t` reach the client at `t + delay`, in order. Any number of replies can be
//! delayed at the same time, so pipelined replies are each delayed once. Requests are not delayed. Each direction of a
//! connection has its own threads, which sleep until a reply is due: tokio's timer is too coarse for 0.2 ms.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    num::NonZeroU64,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// Bytes of one read.
const BUFFER: usize = 64 << 10;

/// How late the kernel may wake a thread of the proxy, in nanoseconds. Linux's default is 50 us.
const TIMER_SLACK: NonZeroU64 = NonZeroU64::new(1_000).expect("not zero");

/// Starts a proxy in front of `upstream` on a free port of this machine, until the process ends. Returns its address.
pub(super) fn start(upstream: SocketAddr, delay: Duration) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for client in listener.incoming() {
            if let Err(error) = client.and_then(|client| connect(client, upstream, delay)) {
                eprintln!("the delay proxy drops a connection: {error}");
            }
        }
    });
    Ok(address)
}

/// Serves a connection until its client or its server closes it.
fn connect(client: TcpStream, upstream: SocketAddr, delay: Duration) -> io::Result<()> {
    let server = TcpStream::connect(upstream)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    thread::spawn(move || receive(server, delay, &sender));
    thread::spawn(move || deliver(client, &receiver));
    Ok(())
}

/// Reads from the server and queues each part with the time when it is due.
fn receive(mut server: TcpStream, delay: Duration, queue: &mpsc::Sender<(Instant, Vec<u8>)>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = server.read(&mut buffer)?;
        if read == 0 || queue.send((Instant::now() + delay, buffer[..read].to_vec())).is_err() {
            return Ok(());
        }
    }
}

/// Writes each part to the client when it is due.
fn deliver(mut client: TcpStream, queue: &mpsc::Receiver<(Instant, Vec<u8>)>) -> io::Result<()> {
    rustix::thread::set_current_timer_slack(Some(TIMER_SLACK))?;
    while let Ok((due, bytes)) = queue.recv() {
        let now = Instant::now();
        if now < due {
            thread::sleep(due - now);
        }
        client.write_all(&bytes)?;
    }
    client.shutdown(Shutdown::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that echoes bytes.
    fn echo_server() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let mut out = stream.try_clone().unwrap();
                thread::spawn(move || io::copy(&mut stream, &mut out));
            }
        });
        address
    }

    #[test]
    fn pipelined_replies_are_each_delayed_once() {
        const REPLIES: usize = 40;
        let delay = Duration::from_millis(50);
        let mut stream = TcpStream::connect(start(echo_server(), delay).unwrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut reader = stream.try_clone().unwrap();
        let received = thread::spawn(move || {
            let mut reply = [0; 8];
            let mut receive = |number: usize| {
                reader.read_exact(&mut reply).unwrap();
                assert_eq!(u64::from_be_bytes(reply), number as u64, "replies keep their order");
                Instant::now()
            };
            (0..REPLIES).map(&mut receive).collect::<Vec<_>>()
        });
        let sent: Vec<Instant> = (0..REPLIES as u64)
            .map(|number| {
                let now = Instant::now();
                stream.write_all(&number.to_be_bytes()).unwrap();
                // The pause between requests makes each a delivery of its own.
                while now.elapsed() < Duration::from_millis(2) {
                    thread::yield_now();
                }
                now
            })
            .collect();
        let received = received.join().unwrap();
        for (sent, received) in sent.iter().zip(&received) {
            assert!(*received - *sent >= delay, "no reply comes before it is due");
        }
        // Delayed one after the other they would take 40 times 50 ms.
        let took = received[REPLIES - 1] - sent[0];
        assert!(took < delay * REPLIES as u32 / 2, "{REPLIES} pipelined replies took {took:?}");
    }
}
