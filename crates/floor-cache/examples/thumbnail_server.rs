//! A server of thumbnails: `cargo run --example thumbnail_server -- PICTURES`, a directory of PNG files, then
//! `curl http://127.0.0.1:3000/128/cat.png > thumbnail.png`. Several servers share a Redis.
//!
//! A value never changes, so the time at which a file last changed is part of its key.

use std::{
    fs::File,
    io::BufReader,
    ops::{Range, RangeInclusive},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use axum::{
    Router,
    extract::{Path as Segments, State},
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use floor_cache::Cache;

/// The longer side of a thumbnail.
const SIDES: RangeInclusive<usize> = 16..=512;

/// The most bytes of a decoded picture.
const PICTURE_BYTES: usize = 256 << 20;

#[derive(Clone)]
struct Pictures {
    directory: PathBuf,
    cache: Cache,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let directory = std::env::args_os().nth(1).ok_or("which directory has the pictures?")?.into();
    let cache = Cache::builder("thumbnails").memory(64 << 20).redis("redis://127.0.0.1:6379").build()?;
    let app = Router::new().route("/{side}/{name}", get(thumbnail)).with_state(Pictures { directory, cache });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("try http://{}/128/NAME.png", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

async fn thumbnail(
    State(pictures): State<Pictures>,
    Segments((side, name)): Segments<(usize, String)>,
) -> impl IntoResponse {
    let not_found = || (StatusCode::NOT_FOUND, format!("there is no picture {name}"));
    if !SIDES.contains(&side) {
        return Err((StatusCode::BAD_REQUEST, format!("side is {} to {} pixels", SIDES.start(), SIDES.end())));
    }
    if Path::new(&name).file_name() != Some(name.as_ref()) {
        return Err(not_found());
    }
    let path = pictures.directory.join(&name);
    let changed = std::fs::metadata(&path).and_then(|file| file.modified()).map_err(|_| not_found())?;
    let changed = changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let small = pictures.cache.get_or_compute_blocking(format!("{name} {changed} {side}"), move || shrink(&path, side));
    let png = small.await.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "image/png")], png))
}

fn shrink(path: &Path, side: usize) -> Result<Vec<u8>, Failure> {
    Ok(Picture::read(path)?.shrunk(side).png()?)
}

/// A decoded picture: rows of pixels of 8 bits a channel.
struct Picture {
    width: usize,
    height: usize,
    color: png::ColorType,
    bytes: Vec<u8>,
}

impl Picture {
    fn read(path: &Path) -> Result<Self, Failure> {
        let limits = png::Limits { bytes: PICTURE_BYTES };
        let mut decoder = png::Decoder::new_with_limits(BufReader::new(File::open(path)?), limits);
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info()?;
        let size = reader.output_buffer_size().filter(|size| *size <= PICTURE_BYTES).ok_or("it is too large")?;
        let mut bytes = vec![0; size];
        let png::OutputInfo { width, height, color_type, .. } = reader.next_frame(&mut bytes)?;
        Ok(Self { width: width as usize, height: height as usize, color: color_type, bytes })
    }

    /// The picture with a longer side of at most `side` pixels, each the mean of those that it covers.
    fn shrunk(&self, side: usize) -> Self {
        let longer = self.width.max(self.height);
        let small = |length: usize| (length * side.min(longer) / longer).max(1);
        let (width, height) = (small(self.width), small(self.height));
        let mut bytes = Vec::with_capacity(width * height * self.color.samples());
        for y in 0..height {
            let rows = y * self.height / height..(y + 1) * self.height / height;
            for x in 0..width {
                let columns = x * self.width / width..(x + 1) * self.width / width;
                bytes.extend((0..self.color.samples()).map(|channel| self.mean(&rows, &columns, channel)));
            }
        }
        Self { width, height, color: self.color, bytes }
    }

    fn mean(&self, rows: &Range<usize>, columns: &Range<usize>, channel: usize) -> u8 {
        let at = |row, column| usize::from(self.bytes[(row * self.width + column) * self.color.samples() + channel]);
        let sum: usize = rows.clone().map(|row| columns.clone().map(|column| at(row, column)).sum::<usize>()).sum();
        (sum / (rows.len() * columns.len())) as u8
    }

    fn png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width as u32, self.height as u32);
        encoder.set_color(self.color);
        encoder.write_header()?.write_image_data(&self.bytes)?;
        Ok(file)
    }
}
