//! Tiles as Tiled packs them.

use std::io::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// The compressions of Tiled's layers in base64.
pub(crate) const COMPRESSIONS: [&str; 4] = ["", "zlib", "gzip", "zstd"];

pub(crate) fn pack(tiles: &[u32], compression: &str) -> String {
    let bytes = tiles.iter().flat_map(|tile| tile.to_le_bytes()).collect::<Vec<_>>();
    STANDARD.encode(match compression {
        "" => bytes,
        "zlib" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&bytes).unwrap();
            encoder.finish().unwrap()
        }
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&bytes).unwrap();
            encoder.finish().unwrap()
        }
        "zstd" => compress_to_vec(bytes.as_slice(), CompressionLevel::Fastest),
        other => panic!("no {other}"),
    })
}
