//! `floorctl get`: fetches one floor.

use std::io::Write as _;

use clap::Args;

use crate::{
    cli::{FetchOptions, Server},
    json::FloorJson,
    json_layout,
    output::{Destination, Format},
    target::Target,
};

const AFTER_HELP: &str = r##"The JSON:
  spec               seed (a string: 64 bits), number, width, height, kind; resolved, never 0
  generator_version, content_hash (16 hexadecimal digits), encoded_bytes
  legend             the meaning of each character in terrain
  terrain            rows from north to south, one character per cell
  region             rows, two hexadecimal digits per cell: room id + 1, 00 = no room
  grids              how terrain and region were encoded: encoding, bits, palette, data_bytes
  entry, exit        cells: x to the right, y down, from 0
  rooms              id, role, min, max, center
  connections        from_room, to_room, lock_id (0 = open), secret
  spawns, traps      at, archetype, level
  items              at, archetype, value, opens_lock (0 = not a key)
  locks              id, at
  metrics            critical_path (steps), passable_cells, loops, difficulty (thousandths)
  served             by (floors per tier), coalesced; with --trace also server_us and trace

With --format bin, the output is the bytes of the received floors.v1.Floor message. Their hash is checked.

Examples:
  floorctl get --seed 42 --number 7
  floorctl get --seed 42 --number 7 --trace | jq .served
  floorctl get --number 10 --size 64x48 --format bin --output floor.bin"##;

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
        let client = self.fetch.connect(server).await?;
        let spec = self.target.floor();
        let answer = client.get_encoded(spec).await?;
        // The check applies to every format: invalid bytes are never written.
        let floor = answer.value.decode_for(&spec)?;
        let mut out = self.to.open()?;
        match self.to.format() {
            Format::Json => json_layout::write(&mut out, &FloorJson::new(&floor, Some(&answer.served)))?,
            Format::Bin => out.write_all(answer.value.bytes())?,
        }
        Ok(out.flush()?)
    }
}
