//! `floorctl render`: draws a floor.

use std::io::{self, IsTerminal as _, Write as _};

use anstream::{AutoStream, ColorChoice};
use clap::{Args, ValueEnum};
use floor_export::picture::{self, Depth, Legend, Overlays, Scene, Style};
use terminal_size::{Width, terminal_size};

use crate::{
    output::{self, OutputFile},
    server::{FetchOptions, Server},
    source::{self, FloorSource},
};

const AFTER_HELP: &str = "\
The characters are: # wall, . floor, + door, 1 to 9 locked door with the number of its lock, < stairs up, > stairs \
down, lower-case letter monster, $ loot, % key, ^ trap. The legend lists those that occur. NO_COLOR and --plain turn \
colour off. If a floor is wider than the terminal, it is drawn smaller, in blocks.

The overlays can be combined. --rooms writes the number of each room and colours neighbouring rooms differently. --path \
marks the critical path (* in text); a segment to a key has the colour of that key's lock. --locks writes the number \
of each lock next to its key and colours the area behind the lock. A PNG shows rooms as outlines, the path as a line, \
and dashed lines from keys to doors. Blocks show no numbers.

A PNG has the colours of the floor's theme, which a pack may set. With --style map it is for print: ink on paper, hatched \
rock, a grid, a title and a scale of 5 ft a cell. With --players it has what a player may know on arrival.

A floor that `floorctl get` saved is drawn without a server, and so is a floor that --offline generates.

Examples:
  floorctl render --seed 42 --number 7
  floorctl render --seed 42 --number 10 --blocks
  floorctl render --seed 42 --number 7 --png floor.png --scale 12
  floorctl render 42/7 --rooms --path --locks
  floorctl render 42/7 --offline --png - | display
  floorctl render 42/7 --offline --png map.png --style map --scale 20 --rooms
  floorctl get 42/7 --output floor.json; floorctl render floor.json
  floorctl render --size 48x24 --plain > floor.txt";

/// Draw a floor in the terminal, or as a PNG
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Render {
    #[command(flatten)]
    source: FloorSource,
    #[command(flatten)]
    fetch: FetchOptions,
    /// Draw in ASCII without colour
    #[arg(long, help_heading = "Output", conflicts_with_all = ["blocks", "color"])]
    plain: bool,
    /// Draw square cells with half-height blocks, scaled to the width of the terminal
    #[arg(long, help_heading = "Output")]
    blocks: bool,
    /// Write a PNG instead of drawing in the terminal; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with_all = ["plain", "blocks", "color"])]
    png: Option<OutputFile>,
    /// Width and height of a cell in the PNG, in pixels
    #[arg(long, value_name = "PIXELS", help_heading = "Output", default_value_t = 10, requires = "png",
        value_parser = clap::value_parser!(u32).range(2..=64))]
    scale: u32,
    /// How a PNG shows the floor
    #[arg(long, value_enum, default_value_t = MapStyle::Data, value_name = "STYLE", help_heading = "Output", requires = "png")]
    style: MapStyle,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN", help_heading = "Output")]
    color: Colour,
    #[command(flatten)]
    overlays: OverlayFlags,
    /// Do not print the legend
    #[arg(long, help_heading = "Output")]
    no_legend: bool,
}

/// The styles of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapStyle {
    /// Every cell and object in colour, with the roles of rooms
    Data,
    /// Ink on paper
    Map,
}

impl From<MapStyle> for Style {
    fn from(style: MapStyle) -> Self {
        match style {
            MapStyle::Data => Self::Data,
            MapStyle::Map => Self::Map,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}

/// The flags for the overlays. They can be combined.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Overlays")]
struct OverlayFlags {
    /// Show the outlines and the numbers of the rooms
    #[arg(long)]
    rooms: bool,
    /// Show the critical path: from the entry to the exit, by way of the keys that are needed
    #[arg(long)]
    path: bool,
    /// Show which key opens which lock, and the area behind each lock
    #[arg(long)]
    locks: bool,
}

impl From<OverlayFlags> for Overlays {
    fn from(OverlayFlags { rooms, path, locks }: OverlayFlags) -> Self {
        Self { rooms, path, locks }
    }
}

/// Width of block drawings if standard output is not a terminal.
const COLUMNS: u32 = 100;

impl Render {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let (floor, served) = self.source.open(server, &self.fetch).await?;
        let mut scene = Scene::new(&floor).overlaid(self.overlays.into()).with_style(self.style.into());
        let legend = Legend::new(&scene);
        match &self.png {
            Some(file) => {
                scene = scene.with_look(self.source.look(&floor, server, served.as_ref()).await?);
                let legend = (!self.no_legend).then_some(&legend);
                file.write(|out| Ok(picture::draw_png(out, &scene, legend, self.scale)?))?;
            }
            None => self.draw(&scene, &legend)?,
        }
        if let Some(served) = served {
            source::print_served(&served)?;
        }
        Ok(())
    }

    fn draw(&self, scene: &Scene<'_>, legend: &Legend) -> anyhow::Result<()> {
        let depth = self.depth();
        let columns = terminal_size().filter(|_| io::stdout().is_terminal()).map(|(Width(columns), _)| columns.into());
        let too_wide = columns.is_some_and(|columns| columns < scene.floor.width());
        let mut out = output::stdout();
        match depth {
            Some(depth) if self.blocks || too_wide => {
                picture::draw_blocks(out.drawing(), scene, columns.unwrap_or(COLUMNS), depth)?;
            }
            depth => picture::draw_text(out.drawing(), scene, depth)?,
        }
        if !self.no_legend {
            legend.write(out.drawing(), depth)?;
        }
        Ok(out.flush()?)
    }

    /// The colour depth, `None` for no colour. `--blocks` implies colour, since blocks are invisible without it.
    fn depth(&self) -> Option<Depth> {
        let coloured = match self.color {
            _ if self.plain => false,
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => self.blocks || AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        };
        coloured.then(output::colour_depth)
    }
}
