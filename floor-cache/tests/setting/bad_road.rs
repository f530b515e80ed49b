//! A road to a server that breaks off, swallows what comes back, or leads to another server, as the test says.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub(crate) struct BadRoad {
    port: u16,
    state: Arc<Mutex<State>>,
    keeper: JoinHandle<()>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    server: u16,
    weather: Weather,
}

/// What becomes of replies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Weather {
    Fair,
    /// So many bytes come through on each connection; then it is reset.
    BreaksAfter(usize),
    /// Nothing comes back, and nothing tells so.
    Swallows,
}

impl BadRoad {
    /// A road to `server` on this machine in fair weather.
    pub(crate) async fn to(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(Mutex::new(State { server, weather: Weather::Fair }));
        let keeper = tokio::spawn(keep(listener, state.clone()));
        Self { port, state, keeper }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn set(&self, weather: Weather) {
        self.state.lock().weather = weather;
    }

    /// Leads those who come from now on to `server`.
    pub(crate) fn lead_to(&self, server: u16) {
        self.state.lock().server = server;
    }
}

async fn keep(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((traveller, _)) = listener.accept().await {
        tokio::spawn(carry(traveller, state.clone()));
    }
}

/// Carries both ways until either end, or the road, breaks.
async fn carry(mut traveller: TcpStream, state: Arc<Mutex<State>>) {
    let server = state.lock().server;
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", server)).await else { return };
    traveller.set_nodelay(true).expect("an option");
    server.set_nodelay(true).expect("an option");
    let (mut there, mut back) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    let mut carried = 0;
    loop {
        tokio::select! {
            read = traveller.read(&mut there) => {
                let Ok(len @ 1..) = read else { return };
                if server.write_all(&there[..len]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut back) => {
                let Ok(len @ 1..) = read else { return };
                let weather = state.lock().weather;
                let through = match weather {
                    Weather::Fair => len,
                    Weather::BreaksAfter(bytes) => len.min(bytes.saturating_sub(carried)),
                    Weather::Swallows => continue,
                };
                carried += through;
                if traveller.write_all(&back[..through]).await.is_err() {
                    return;
                }
                if through < len {
                    traveller.set_zero_linger().expect("an option");
                    return;
                }
            }
        }
    }
}

impl Drop for BadRoad {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}
