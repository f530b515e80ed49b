//! `floorctl pack watch`: serves a page with a pack's floors that follows each save.

use std::{
    convert::Infallible,
    io::{self, Write as _},
    net::Ipv4Addr,
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::Context as _;
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
use clap::Args;
use floor_export::picture::{self, Legend, Scene};
use floor_gen::{Generator, Kind};
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
    local, output,
    pack_sheet::Selection,
    pack_source::{self, InvalidPack, PackSource},
    target::{self, FloorName},
};

const AFTER_HELP: &str = "\
Prints the address of a page. It shows 16 floors of the tower and of the kind that you choose there, and one of them \
large when you select it. It draws them again when a file is saved. While the pack has errors, it shows those above the \
floors of before. Only this machine can open it. Ctrl-C ends it.

Examples:
  floorctl pack watch mine
  floorctl pack watch mine --port 8080 --size 48x48
  floorctl pack watch tower";

/// Show a pack's floors on a page that follows each save
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Watch {
    /// The folder of the pack, a .floorpack file, or tower
    #[arg(value_name = "PATH")]
    source: PackSource,
    /// The port of the page; 0 = any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Width and height of the floors, until the page sets others; by default what the pack says
    #[arg(long, value_name = "WxH", value_parser = target::size)]
    size: Option<(u32, u32)>,
    /// Width and height of a cell of the small pictures, in pixels; by default 4, and less for large floors
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(1..=16))]
    scale: Option<u32>,
}

/// How often the times of the files are compared. A save shows within 300 ms, drawing included.
const POLL: Duration = Duration::from_millis(100);
/// Files are read when they did not change for this time, and in any case after so many times of it.
const SETTLING: Duration = Duration::from_millis(10);
const MAX_SETTLING: u32 = 10;
/// The most connections. A page has one for events and a few for pictures.
const MAX_CONNECTIONS: usize = 32;
/// The widths of small and of large pictures, in pixels, over which cells are drawn smaller, and their largest sides.
const SMALL: (u32, u32) = (480, 4);
const LARGE: (u32, u32) = (1_600, 16);
/// A client must send the head of its request within this time.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

const PAGE: &str = include_str!("watch.html");

/// The pack as it was saved last.
struct Saved {
    /// Rises with each save.
    version: u64,
    /// The last without errors.
    pack: Option<Arc<LoadedPack>>,
    errors: Option<InvalidPack>,
}

/// What the page gets when a file was saved.
#[derive(Serialize)]
struct SavedEvent {
    version: u64,
    /// `NAME@HASH` of the last without errors.
    pack: Option<String>,
    /// The errors as text.
    errors: Option<String>,
}

#[derive(Clone)]
struct Page {
    saved: watch::Receiver<Arc<Saved>>,
    html: Arc<str>,
    scale: Option<u32>,
    port: u16,
}

/// How large a picture of a floor is.
#[derive(Clone, Copy)]
enum Picture {
    Small,
    Large,
}

impl Watch {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await;
        let listener = listener.with_context(|| format!("cannot listen on port {}", self.port))?;
        let port = listener.local_addr()?.port();
        let (sender, saved) = watch::channel(Arc::new(read(&self.source, 1, None)));
        let page = Page { saved, html: self.html().into(), scale: self.scale, port };
        // The first event follows the address, so that a script can wait for it.
        output::print(format_args!("http://127.0.0.1:{port}/"))?;
        report(&sender.borrow())?;
        tokio::select! {
            failed = follow(self.source, sender) => failed,
            () = accept(listener, page.router()) => Ok(()),
            pressed = tokio::signal::ctrl_c() => Ok(pressed?),
        }
    }

    fn html(&self) -> String {
        let kinds = Kind::ALL.map(|kind| format!("<option>{}", kind.name())).concat();
        let size = self.size.map(|(width, height)| format!("{width}x{height}")).unwrap_or_default();
        let flag = match &self.source {
            PackSource::Path(path) => format!("--pack {}", path.display()),
            PackSource::BuiltIn => "--offline".to_owned(),
        };
        let flag = flag.replace('&', "&amp;").replace('<', "&lt;");
        PAGE.replace("{{kinds}}", &kinds).replace("{{size}}", &size).replace("{{flag}}", &flag)
    }
}

/// Reads the pack again when a file has changed.
async fn follow(source: PackSource, sender: watch::Sender<Arc<Saved>>) -> anyhow::Result<()> {
    let mut seen = look(&source);
    let mut version = 1;
    loop {
        tokio::time::sleep(POLL).await;
        let source = source.clone();
        let before = seen.clone();
        let pack = sender.borrow().pack.clone();
        let changed = task::spawn_blocking(move || {
            let now = look(&source);
            (now != before).then(|| {
                let now = settled(&source, now);
                (now, read(&source, version + 1, pack))
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

/// Reads the pack, or says why the one of before stays.
fn read(source: &PackSource, version: u64, before: Option<Arc<LoadedPack>>) -> Saved {
    match source.read() {
        Ok(pack) => Saved { version, pack: Some(pack), errors: None },
        Err(invalid) => Saved { version, pack: before, errors: Some(invalid) },
    }
}

/// Prints what a save has changed, for those who look at the terminal.
fn report(saved: &Saved) -> io::Result<()> {
    match (&saved.errors, &saved.pack) {
        (Some(invalid), _) => writeln!(output::stderr(), "{invalid}"),
        (None, Some(pack)) => writeln!(output::stderr(), "{}: no errors", pack_source::reference(pack.pack())),
        (None, None) => Ok(()),
    }
}

/// The built-in pack has no files that change.
fn look(source: &PackSource) -> Fingerprint {
    let mut fingerprint = Fingerprint::default();
    match source {
        PackSource::Path(path) if path.is_dir() => fingerprint.add_folder(path),
        PackSource::Path(path) => fingerprint.add(path),
        PackSource::BuiltIn => {}
    }
    fingerprint
}

/// The files when none changes any more after `seen`: an editor that saves empties a file first.
fn settled(source: &PackSource, mut seen: Fingerprint) -> Fingerprint {
    for _ in 0..MAX_SETTLING {
        thread::sleep(SETTLING);
        let now = look(source);
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
            .route("/", routing::get(|State(page): State<Self>| async move { Html(page.html.to_string()) }))
            .route("/events", routing::get(Self::events))
            .route("/floors/{*from}", routing::get(Self::floors))
            .route("/small/{*floor}", routing::get(|page, floor| Self::picture(page, floor, Picture::Small)))
            .route("/large/{*floor}", routing::get(|page, floor| Self::picture(page, floor, Picture::Large)))
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

    /// The names of the 16 floors from one on, which has the form of a floor's name. Tower `*`: each of another.
    async fn floors(State(page): State<Self>, UrlPath(from): UrlPath<String>) -> Response {
        let selection = match selection(&from) {
            Ok(selection) => selection,
            Err(what) => return (StatusCode::BAD_REQUEST, what).into_response(),
        };
        let names = page.of_pack(move |pack| {
            let names = selection.specs(pack)?.iter().map(|spec| local::name(spec).to_string()).collect::<Vec<_>>();
            Ok(serde_json::to_vec(&names)?)
        });
        respond(names.await, "application/json")
    }

    /// The floor of that name.
    async fn picture(State(page): State<Self>, UrlPath(floor): UrlPath<String>, picture: Picture) -> Response {
        let FloorName(requested) = match floor.parse() {
            Ok(name) => name,
            Err(what) => return (StatusCode::BAD_REQUEST, what).into_response(),
        };
        let scale = page.scale;
        let drawn = page.of_pack(move |pack| {
            let floor = local::floor(pack, &mut Generator::new(), &local::resolve(pack, &requested)?)?;
            let scene = Scene::new(&floor);
            let legend = Legend::new(&scene);
            let scene = scene.with_look(pack.pack().look(floor.theme()));
            let fitting = |(width, largest): (u32, u32)| (width / floor.width()).clamp(1, largest);
            let mut out = Vec::new();
            match picture {
                Picture::Small => picture::draw_png(&mut out, &scene, None, scale.unwrap_or_else(|| fitting(SMALL)))?,
                Picture::Large => picture::draw_png(&mut out, &scene, Some(&legend), fitting(LARGE))?,
            }
            Ok(out)
        });
        respond(drawn.await, "image/png")
    }

    /// What `make` makes of the last pack without errors.
    async fn of_pack(
        &self,
        make: impl FnOnce(&LoadedPack) -> anyhow::Result<Vec<u8>> + Send + 'static,
    ) -> anyhow::Result<Vec<u8>> {
        let pack = self.saved.borrow().pack.clone().context("the pack has errors")?;
        task::spawn_blocking(move || make(&pack)).await?
    }
}

fn respond(made: anyhow::Result<Vec<u8>>, content_type: &'static str) -> Response {
    match made {
        Ok(body) => ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "no-store")], body).into_response(),
        Err(what) => (StatusCode::CONFLICT, format!("{what:#}")).into_response(),
    }
}

fn selection(from: &str) -> Result<Selection, String> {
    let of_any = from.strip_prefix("*/").map(|rest| format!("0/{rest}"));
    let FloorName(spec) = of_any.as_deref().unwrap_or(from).parse()?;
    Ok(Selection {
        seed: of_any.is_none().then_some(spec.seed),
        number: spec.number,
        kind: u32::try_from(spec.kind).ok().and_then(Kind::from_number),
        size: (spec.width, spec.height),
    })
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
            pack: saved.pack.as_ref().map(|pack| pack_source::reference(pack.pack())),
            errors: saved.errors.as_ref().map(ToString::to_string),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floors_of_a_page_are_named_like_one() {
        let selected = |seed, number, kind, size| Ok(Selection { seed, number, kind, size });
        assert_eq!(selection("42/7"), selected(Some(42), 7, None, (0, 0)));
        assert_eq!(selection("*/1:cavern@64x48"), selected(None, 1, Some(Kind::Cavern), (64, 48)));
        assert!(selection("*/0").unwrap_err().contains("floor number 0"));
        assert!(selection("*/7:cavrn").unwrap_err().contains("did you mean cavern?"));
    }
}
