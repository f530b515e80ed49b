//! `floorctl pack watch`: serves a page with a pack's floors that follows each save.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    io::{self, Write as _},
    net::Ipv4Addr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use axum::{
    Router,
    extract::{Path as UrlPath, Request, State},
    middleware::{self, Next},
    response::{
        Html, IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
    routing,
};
use bytes::Bytes;
use clap::Args;
use floor_gen::Kind;
use floor_pack::{LoadedPack, pack_files::Fingerprint};
use futures_util::{Stream, stream};
use http::{HeaderValue, StatusCode, header};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use serde::Serialize;
use tokio::{net::TcpListener, sync::Semaphore, sync::watch, task};

use crate::{
    output, pack_sheet,
    pack_source::{self, InvalidPack, PackSource},
    target,
};

const AFTER_HELP: &str = "\
Prints the address of a page. It shows 16 floors of a kind, or the errors of the pack, and draws them again when a file \
is saved. Only this machine can open it. Ctrl-C ends it.

Examples:
  floorctl pack watch mine
  floorctl pack watch mine --port 8080 --size 48x48";

/// Show a pack's floors on a page that follows each save
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Watch {
    /// The folder of the pack
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The port of the page; 0 = any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Width and height of the floors
    #[arg(long, value_name = "WxH", default_value = "64x64", value_parser = target::size)]
    size: (u32, u32),
    /// Width and height of a cell, in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=16))]
    scale: u32,
}

/// How often the times of the files are compared. A save shows within 300 ms, drawing included.
const POLL: Duration = Duration::from_millis(100);
/// Files are read when they did not change for this time, and in any case after so many times of it.
const SETTLING: Duration = Duration::from_millis(10);
const MAX_SETTLING: u32 = 10;
/// The most connections. A page has one for events and a few for pictures.
const MAX_CONNECTIONS: usize = 32;
/// A client must send the head of its request within this time.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

const PAGE: &str = include_str!("watch.html");

/// The pack as it was saved last.
struct Saved {
    /// Rises with each save.
    version: u64,
    pack: Result<Arc<LoadedPack>, InvalidPack>,
    /// The sheets that were drawn of it.
    sheets: Mutex<BTreeMap<u8, Bytes>>,
}

/// What the page gets when a file was saved.
#[derive(Serialize)]
struct SavedEvent {
    version: u64,
    /// `NAME@HASH`; null if the pack has errors.
    pack: Option<String>,
    /// The errors as text.
    errors: Option<String>,
}

#[derive(Clone)]
struct Page {
    saved: watch::Receiver<Arc<Saved>>,
    size: (u32, u32),
    scale: u32,
    port: u16,
}

impl Watch {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        if !self.dir.is_dir() {
            bail!("{} is no folder; name the folder of a pack", self.dir.display());
        }
        self.serve().await
    }

    async fn serve(self) -> anyhow::Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await;
        let listener = listener.with_context(|| format!("cannot listen on port {}", self.port))?;
        let port = listener.local_addr()?.port();
        let (sender, saved) = watch::channel(Arc::new(read(&self.dir, 1)));
        let page = Page { saved, size: self.size, scale: self.scale, port };
        // The first event follows the address, so that a script can wait for it.
        output::print(format_args!("http://127.0.0.1:{port}/"))?;
        report(&sender.borrow())?;
        tokio::select! {
            failed = follow(self.dir, sender) => failed,
            () = accept(listener, page.router()) => Ok(()),
            pressed = tokio::signal::ctrl_c() => Ok(pressed?),
        }
    }
}

/// Reads the pack again when a file has changed.
async fn follow(dir: PathBuf, sender: watch::Sender<Arc<Saved>>) -> anyhow::Result<()> {
    let mut seen = look(&dir);
    let mut version = 1;
    loop {
        tokio::time::sleep(POLL).await;
        let dir = dir.clone();
        let before = seen.clone();
        let changed = task::spawn_blocking(move || {
            let now = look(&dir);
            (now != before).then(|| {
                let now = settled(&dir, now);
                (now, read(&dir, version + 1))
            })
        });
        if let Some((now, saved)) = changed.await? {
            version += 1;
            seen = now;
            report(&saved)?;
            sender.send_replace(Arc::new(saved));
        }
    }
}

fn read(dir: &Path, version: u64) -> Saved {
    let pack = PackSource::Path(dir.to_owned()).read();
    Saved { version, pack, sheets: Mutex::default() }
}

/// Prints what a save has changed, for those who look at the terminal.
fn report(saved: &Saved) -> io::Result<()> {
    match &saved.pack {
        Ok(pack) => writeln!(output::stderr(), "{}: no errors", pack_source::reference(pack.pack())),
        Err(invalid) => writeln!(output::stderr(), "{invalid}"),
    }
}

fn look(dir: &Path) -> Fingerprint {
    let mut fingerprint = Fingerprint::default();
    fingerprint.add_folder(dir);
    fingerprint
}

/// The files when none changes any more after `seen`: an editor that saves empties a file first.
fn settled(dir: &Path, mut seen: Fingerprint) -> Fingerprint {
    for _ in 0..MAX_SETTLING {
        thread::sleep(SETTLING);
        let now = look(dir);
        if now == seen {
            break;
        }
        seen = now;
    }
    seen
}

/// Serves connections, as many at once as the limit allows. Others wait.
async fn accept(listener: TcpListener, router: Router) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let permit = Arc::clone(&permits).acquire_owned().await.expect("the semaphore is never closed");
        let Ok((socket, _)) = listener.accept().await else {
            // Out of descriptors: accepting again at once would spin.
            tokio::time::sleep(POLL).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        task::spawn(async move {
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
            // A client that breaks off is no error of ours.
            let _ = http.serve_connection(TokioIo::new(socket), service).await;
            drop(permit);
        });
    }
}

impl Page {
    fn router(self) -> Router {
        Router::new()
            .route("/", routing::get(|| async { Html(PAGE) }))
            .route("/events", routing::get(Self::events))
            .route("/floors/{kind}", routing::get(Self::floors))
            .layer(middleware::from_fn_with_state(self.clone(), Self::only_this_machine))
            .with_state(self)
    }

    /// A page of another site reaches this port too, by a name that leads here. Browsers then send that name.
    async fn only_this_machine(State(page): State<Self>, request: Request, next: Next) -> Response {
        let host = request.headers().get(header::HOST).map(HeaderValue::as_bytes);
        let ours = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", page.port));
        if ours.iter().any(|ours| Some(ours.as_bytes()) == host) {
            next.run(request).await
        } else {
            (StatusCode::FORBIDDEN, "open the address that `floorctl pack watch` printed\n").into_response()
        }
    }

    /// An event for the pack as it is, and for each save.
    async fn events(State(Self { mut saved, .. }): State<Self>) -> impl IntoResponse {
        saved.mark_changed();
        Sse::new(stream_of(saved)).keep_alive(KeepAlive::default())
    }

    /// The sheet of a kind.
    async fn floors(State(page): State<Self>, UrlPath(kind): UrlPath<String>) -> Response {
        let kind = match target::kind(&kind) {
            Ok(kind) => kind,
            Err(what) => return (StatusCode::NOT_FOUND, format!("{what}\n")).into_response(),
        };
        let saved = Arc::clone(&page.saved.borrow());
        let drawn = task::spawn_blocking(move || saved.sheet(kind, page.size, page.scale)).await;
        match drawn {
            Ok(Ok(sheet)) => {
                ([(header::CONTENT_TYPE, "image/png"), (header::CACHE_CONTROL, "no-store")], sheet).into_response()
            }
            Ok(Err(what)) => (StatusCode::CONFLICT, format!("{what:#}\n")).into_response(),
            Err(failed) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{failed}\n")).into_response(),
        }
    }
}

fn stream_of(saved: watch::Receiver<Arc<Saved>>) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(saved, |mut receiver| async move {
        receiver.changed().await.ok()?;
        let event = SavedEvent::of(&receiver.borrow_and_update());
        let event = Event::default().data(serde_json::to_string(&event).expect("its fields are text and numbers"));
        Some((Ok(event), receiver))
    })
}

impl SavedEvent {
    fn of(saved: &Saved) -> Self {
        Self {
            version: saved.version,
            pack: saved.pack.as_ref().ok().map(|pack| pack_source::reference(pack.pack())),
            errors: saved.pack.as_ref().err().map(ToString::to_string),
        }
    }
}

impl Saved {
    /// The sheet of a kind, drawn when it is asked for first.
    fn sheet(&self, kind: Kind, size: (u32, u32), scale: u32) -> anyhow::Result<Bytes> {
        let pack = self.pack.as_ref().map_err(Clone::clone)?;
        let mut sheets = self.sheets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sheet) = sheets.get(&(kind as u8)) {
            return Ok(sheet.clone());
        }
        let mut sheet = Vec::new();
        pack_sheet::draw(&mut sheet, pack, kind, size, scale)?;
        let sheet = Bytes::from(sheet);
        sheets.insert(kind as u8, sheet.clone());
        Ok(sheet)
    }
}
