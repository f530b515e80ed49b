//! Decodes bytes as a grid. The cells of a grid that decodes must survive encoding.
#![no_main]

use floor_proto::{grid, v1::Grid};
use libfuzzer_sys::fuzz_target;
use prost::Message;

fuzz_target!(|data: &[u8]| {
    let Ok(decoded) = Grid::decode(data) else { return };
    let Ok(cells) = grid::decode(&decoded) else { return };
    assert_eq!(cells.len(), decoded.width as usize * decoded.height as usize);
    let encoded = grid::encode(decoded.width, decoded.height, &cells);
    assert!(encoded.data.len() <= decoded.data.len(), "a grid takes its shortest encoding");
    assert_eq!(grid::decode(&encoded), Ok(cells));
});
