//! A server of map tiles, here of the Mandelbrot set: `curl http://127.0.0.1:3000/8/70/96 > tile.png`. It draws a tile when
//! neither memory nor LMDB has it, or when reading it takes longer than drawing.

use axum::{
    Router,
    extract::{Path, State},
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use floor_cache::Cache;

/// Pixels along a side of a tile.
const SIDE: u32 = 256;

/// The deepest zoom: beyond it an f64 has no digits left for pixels.
const DEEPEST: u32 = 40;

/// Steps until a point counts as inside.
const STEPS: u8 = u8::MAX;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join("floor-cache-tiles");
    let cache = Cache::builder("mandelbrot").memory(64 << 20).lmdb(directory, 1 << 30).build()?;
    let app = Router::new().route("/{zoom}/{x}/{y}", get(tile)).with_state(cache);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("try http://{}/8/70/96", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

async fn tile(State(cache): State<Cache>, Path((zoom, x, y)): Path<(u32, u64, u64)>) -> impl IntoResponse {
    if zoom > DEEPEST || x >= 1 << zoom || y >= 1 << zoom {
        return Err((StatusCode::NOT_FOUND, format!("zoom is 0 to {DEEPEST}, x and y are less than 2^zoom")));
    }
    let png = cache.get_or_compute_blocking(format!("{zoom}/{x}/{y}"), move || draw(zoom, x, y)).await;
    let png = png.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "image/png")], png))
}

/// The tile as a PNG file.
fn draw(zoom: u32, x: u64, y: u64) -> Result<Vec<u8>, png::EncodingError> {
    let width = 3.0 / (1_u64 << zoom) as f64;
    let at = |tile: u64, pixel: u32, start: f64| start + width * (tile as f64 + f64::from(pixel) / f64::from(SIDE));
    let row = |py| (0..SIDE).map(move |px| steps(at(x, px, -2.25), at(y, py, -1.5)));
    let pixels: Vec<u8> = (0..SIDE).flat_map(row).collect();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, SIDE, SIDE);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(file)
}

/// The steps after which the point has left the circle of radius 2.
fn steps(re: f64, im: f64) -> u8 {
    let (mut x, mut y) = (0.0, 0.0);
    for step in 0..STEPS {
        (x, y) = (x * x - y * y + re, 2.0 * x * y + im);
        if x * x + y * y > 4.0 {
            return step;
        }
    }
    STEPS
}
