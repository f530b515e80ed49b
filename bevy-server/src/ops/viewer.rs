//! The floor viewer: the files of `web/dist`, and `/floor`, the bytes that the viewer compares its own with.

use std::{
    future::ready,
    hash::{DefaultHasher, Hasher as _},
    sync::Arc,
};

use axum::{
    Router,
    body::Body,
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use floor_cache::{Options, Priority};
use tokio::sync::Semaphore;

use super::{OpsState, floors};
use crate::key;

/// Floors at once. A page asks for one at a time.
const MAX_FLOORS: usize = 4;

/// Only the page's own files, and no inline script or style. Its generator is WebAssembly.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob:; \
                      connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// A file of `web/dist`.
struct File {
    path: &'static str,
    content_type: &'static str,
    plain: &'static [u8],
    gzip: &'static [u8],
    /// Of the largest file that the page needs at first.
    brotli: Option<&'static [u8]>,
}

/// Defines [`FILES`] from names and content types.
macro_rules! files {
    ($($path:literal $name:literal $content_type:literal $($brotli:literal)?,)+) => {
        /// Every file, the page first.
        static FILES: [File; [$($name),+].len()] = [$(File {
            path: $path,
            content_type: $content_type,
            plain: include_bytes!(concat!("../../../web/dist/", $name)),
            gzip: include_bytes!(concat!("../../../web/dist/", $name, ".gz")),
            brotli: files!(@brotli $($brotli)?),
        }),+];
    };
    (@brotli $name:literal) => { Some(include_bytes!(concat!("../../../web/dist/", $name))) };
    (@brotli) => { None };
}

files! {
    "/" "index.html" "text/html; charset=utf-8",
    "/chunk.js" "chunk.js" "text/javascript; charset=utf-8",
    "/export-worker.js" "export-worker.js" "text/javascript; charset=utf-8",
    "/main.js" "main.js" "text/javascript; charset=utf-8",
    "/pack-worker.js" "pack-worker.js" "text/javascript; charset=utf-8",
    "/panels.js" "panels.js" "text/javascript; charset=utf-8",
    "/search-worker.js" "search-worker.js" "text/javascript; charset=utf-8",
    "/service-worker.js" "service-worker.js" "text/javascript; charset=utf-8",
    "/style.css" "style.css" "text/css; charset=utf-8",
    "/climb.wasm" "climb.wasm" "application/wasm",
    "/export.wasm" "export.wasm" "application/wasm",
    "/floors.wasm" "floors.wasm" "application/wasm" "floors.wasm.br",
    "/modules.wasm" "modules.wasm" "application/wasm",
    "/icon.svg" "icon.svg" "image/svg+xml",
    "/manifest.webmanifest" "manifest.webmanifest" "application/manifest+json",
}

/// The routes of the files.
pub(super) fn files() -> Router<Arc<OpsState>> {
    FILES.iter().fold(Router::new(), |router, file| {
        let tag = file.tag();
        router.route(file.path, get(move |headers: HeaderMap| ready(file.respond(&tag, &headers))))
    })
}

impl File {
    /// The value of `etag`. Weak, because it is the same for the compressed file.
    fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        hasher.write(self.plain);
        format!("W/\"{:016x}\"", hasher.finish())
    }

    /// The file, or 304 if the browser has it.
    fn respond(&self, tag: &str, request: &HeaderMap) -> Response {
        let headers = [
            (header::CONTENT_TYPE, self.content_type),
            (header::ETAG, tag),
            // The browser asks each time, so that a new server's viewer shows at once.
            (header::CACHE_CONTROL, "no-cache"),
            (header::VARY, "accept-encoding"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
        ];
        if lists(request, &header::IF_NONE_MATCH, tag) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let encodings = [("br", self.brotli), ("gzip", Some(self.gzip))];
        let is_accepted = |(name, _): &(&str, _)| lists(request, &header::ACCEPT_ENCODING, name);
        match encodings.into_iter().filter(is_accepted).find_map(|(name, body)| Some((name, body?))) {
            Some((name, body)) => (headers, [(header::CONTENT_ENCODING, name)], Body::from(body)).into_response(),
            None => (headers, Body::from(self.plain)).into_response(),
        }
    }
}

/// Whether a header whose value is a list, separated by commas, has `wanted` in it. Browsers give encodings no weight.
fn lists(headers: &HeaderMap, name: &header::HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| part.trim() == wanted)
}

/// Admits [`MAX_FLOORS`] floors at once.
pub(super) struct FloorLimit(Semaphore);

impl Default for FloorLimit {
    fn default() -> Self {
        Self(Semaphore::new(MAX_FLOORS))
    }
}

/// One floor as an encoded `floors.v1.Floor`, from the chain of callers without a tenant, and of their packs. Players go first: it is generated
/// in the background.
pub(super) async fn floor(State(state): State<Arc<OpsState>>, RawQuery(query): RawQuery) -> Response {
    let spec = match floors::parse_one(state.packs.for_caller(None), &query.unwrap_or_default()) {
        Ok(spec) => spec,
        Err(error) => return (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    };
    let Ok(_permit) = state.floors.0.try_acquire() else {
        let message = format!("{MAX_FLOORS} floors are being fetched; wait until one is there\n");
        return (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")], message).into_response();
    };
    let options = Options { priority: Priority::Background, ..Options::default() };
    match state.chains.of(None).get(key::of(&spec), options).await {
        Ok(served) => {
            let headers = [
                (header::CONTENT_TYPE, "application/x-protobuf"),
                (header::CACHE_CONTROL, "no-store"),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            ];
            (headers, Body::from(floor_wire::unframed(&served.value))).into_response()
        }
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &'static str) -> HeaderMap {
        [(name, value.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn the_page_names_only_files_that_are_served() {
        let page = String::from_utf8_lossy(FILES[0].plain);
        let quoted = ["src=\"", "href=\""].into_iter().flat_map(|attribute| page.split(attribute).skip(1));
        let names: Vec<&str> = quoted.filter_map(|rest| rest.split('"').next()).collect();
        assert!(names.contains(&"main.js") && names.contains(&"floors.wasm"), "{names:?}");
        for name in names.into_iter().filter(|name| !name.starts_with('#') && *name != "status") {
            assert!(FILES.iter().any(|file| file.path == format!("/{name}")), "{name}");
        }
    }

    #[test]
    fn the_page_has_no_inline_script_or_style() {
        let page = String::from_utf8_lossy(FILES[0].plain);
        assert!(!page.contains("<style") && !page.contains(" style=") && !page.contains("javascript:"));
        assert!(page.split("<script").skip(1).all(|script| script.contains("src=") && script.contains("></script>")));
    }

    #[test]
    fn a_browser_that_has_a_file_gets_none() {
        for file in &FILES {
            let tag = file.tag();
            let fresh = file.respond(&tag, &HeaderMap::new());
            assert_eq!((fresh.status(), fresh.headers().get(header::CONTENT_ENCODING)), (StatusCode::OK, None));
            let known = HeaderMap::from_iter([(header::IF_NONE_MATCH, format!("\"x\", {tag}").parse().unwrap())]);
            assert_eq!(file.respond(&tag, &known).status(), StatusCode::NOT_MODIFIED, "{}", file.path);
            let other = headers(header::IF_NONE_MATCH, "W/\"0\"");
            assert_eq!(file.respond(&tag, &other).status(), StatusCode::OK, "{}", file.path);
        }
    }

    #[test]
    fn files_are_compressed_for_those_who_ask() {
        for (accepted, encoding) in [("gzip, deflate, br", Some("gzip")), ("br", None), ("gzip;q=0", None)] {
            let response = FILES[0].respond("", &headers(header::ACCEPT_ENCODING, accepted));
            let sent = response.headers().get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap());
            assert_eq!(sent, encoding, "{accepted}");
        }
        let module = FILES.iter().find(|file| file.path == "/floors.wasm").unwrap();
        for (accepted, encoding) in [("gzip, deflate, br, zstd", "br"), ("gzip, deflate", "gzip")] {
            let response = module.respond("", &headers(header::ACCEPT_ENCODING, accepted));
            assert_eq!(response.headers()[header::CONTENT_ENCODING], encoding, "{accepted}");
        }
        // Only who exports, or opens a pack with a generator, loads the module for that.
        let compressed = |paths: fn(&str) -> bool| {
            FILES.iter().filter(|file| paths(file.path)).map(|file| file.gzip.len()).sum::<usize>()
        };
        let sizes = [
            compressed(|path| !path.starts_with("/export") && !path.starts_with("/modules")),
            compressed(|path| path.starts_with("/export")),
            compressed(|path| path.starts_with("/modules")),
        ];
        assert!(
            sizes.iter().zip([400 << 10, 500 << 10, 320 << 10]).all(|(size, most)| *size <= most),
            "{sizes:?} bytes"
        );
    }
}
