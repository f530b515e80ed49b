//! The tiles of Tiled's layers: lists of numbers, or bytes in base64, as they are or compressed.

use std::io::{self, Read};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::read::{GzDecoder, ZlibDecoder};
use ruzstd::decoding::StreamingDecoder;
use serde_json::Value;

use super::list;

/// Cells from the corner of the map to a part of a layer without end.
const FARTHEST: u64 = 1 << 32;

/// A cell of a layer that is not empty: its place on the map, and the number of its tile with its flips.
pub(super) type Placed = ((i64, i64), u32);

/// The tiles of a layer, also of one without end, which is stored in chunks. The error follows the name of the layer.
pub(super) fn tiles(layer: &Value) -> Result<Vec<Placed>, String> {
    let mut all = Vec::new();
    match layer["chunks"].as_array() {
        Some(chunks) => {
            for chunk in chunks {
                add(chunk, layer, &mut all)?;
            }
        }
        None => add(layer, layer, &mut all)?,
    }
    Ok(all)
}

fn add(part: &Value, layer: &Value, all: &mut Vec<Placed>) -> Result<(), String> {
    let number = |key: &str| match &part[key] {
        Value::Null => Ok(0),
        value => {
            let found = value.as_i64().filter(|number| number.unsigned_abs() < FARTHEST);
            found.ok_or_else(|| format!("has a part whose `{key}` is {value}"))
        }
    };
    let (left, top, width, height) = (number("x")?, number("y")?, number("width")?, number("height")?);
    let most = i64::from(floor_gen::FloorSpec::MAX_SIDE);
    if !(0..=most).contains(&width) || !(0..=most).contains(&height) {
        return Err(format!("has a part of {width}x{height} cells; a floor has at most {most} a side"));
    }
    let cells = (width * height) as usize;
    let numbers = match &part["data"] {
        Value::Array(_) => numbers(&part["data"])?,
        Value::String(text) => unpacked(text, layer["compression"].as_str().unwrap_or_default(), cells)?,
        _ => return Err("holds no tiles: it has no `data`".to_owned()),
    };
    if numbers.len() != cells {
        return Err(format!("has {} tiles for {cells} cells", numbers.len()));
    }
    let placed = (0..).zip(numbers).map(|(index, tile)| ((left + index % width, top + index / width), tile));
    all.extend(placed.filter(|(_, tile)| *tile != 0));
    Ok(())
}

fn numbers(data: &Value) -> Result<Vec<u32>, String> {
    let number = |value: &Value| value.as_u64()?.try_into().ok();
    list(data).map(|value| number(value).ok_or_else(|| format!("has {value} in the place of a tile"))).collect()
}

/// Bytes of base64, of which each four are a number.
fn unpacked(text: &str, compression: &str, cells: usize) -> Result<Vec<u32>, String> {
    let packed = text.split_ascii_whitespace().collect::<String>();
    let packed = STANDARD.decode(packed).map_err(|error| format!("holds no base64: {error}"))?;
    let input = packed.as_slice();
    let bytes = match compression {
        "" => Ok(packed.clone()),
        "zlib" => limited(ZlibDecoder::new(input), cells),
        "gzip" => limited(GzDecoder::new(input), cells),
        "zstd" => StreamingDecoder::new(input).map_err(io::Error::other).and_then(|decoder| limited(decoder, cells)),
        other => return Err(format!("is compressed with `{other}`; expected zlib, gzip or zstd")),
    };
    let bytes = bytes.map_err(|error| format!("cannot be decompressed with {compression}: {error}"))?;
    if bytes.len() != 4 * cells {
        return Err(format!("has {} bytes for {cells} cells of 4", bytes.len()));
    }
    Ok(bytes.chunks_exact(4).map(|tile| u32::from_le_bytes(tile.try_into().expect("chunks of four"))).collect())
}

/// One byte more than the cells need at the most.
fn limited(decoder: impl Read, cells: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    decoder.take(4 * cells as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
