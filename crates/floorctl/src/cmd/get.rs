//! `floorctl get`: fetches one floor.

use std::io::Write as _;

use clap::Args;
use floor_client::{Answer, EncodedFloor};
use floor_export::json_layout;

use crate::{
    json::FloorJson,
    local,
    output::{Destination, Format},
    server::{FetchOptions, Server},
    target::Target,
};

const AFTER_HELP: &str = "\
Prints the message floors.v1.Floor in proto3's JSON, as the server does over Connect: 64-bit numbers are strings, and \
fields that are 0, false or empty are left out. The .proto describes its fields. These come besides:
  legend       the terrain of each character in terrainRows
  terrainRows  rows from north to south, one character per cell
  regionRows   rows, two hexadecimal digits per cell: room id + 1, 00 = no room
  served       by (floors per tier), coalesced; with --trace also serverUs and trace

With --format bin, the output is the bytes of the received floors.v1.Floor message. Their hash is checked.

Examples:
  floorctl get --seed 42 --number 7
  floorctl get --seed 42 --number 7 --trace | jq .served
  floorctl get --number 10 --size 64x48 --format bin --output floor.bin";

/// Print a floor as JSON, or save its bytes
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Get {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    fetch: FetchOptions,
    #[command(flatten)]
    to: Destination,
}

impl Get {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let spec = self.target.floor();
        let (encoded, served) = if self.target.tower().has_local_pack() {
            let pack = self.target.tower().pack_or_built_in()?;
            (EncodedFloor::new(local::generate(&pack, &spec)?), None)
        } else {
            let Answer { value, served } = self.fetch.connect(server).await?.get_encoded(spec.clone()).await?;
            (value, Some(served))
        };
        // The check applies to every format: invalid bytes are never written.
        let floor = if served.is_some() { encoded.decode_for(&spec)? } else { encoded.decode()? };
        let mut out = self.to.open()?;
        match self.to.format() {
            Format::Json => json_layout::write(&mut out, &FloorJson::new(&floor, served.as_ref()))?,
            Format::Bin => out.write_all(encoded.bytes())?,
        }
        Ok(out.flush()?)
    }
}
