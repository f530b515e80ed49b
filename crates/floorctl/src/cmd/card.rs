//! `floorctl card`: draws a picture of a floor to send with its address.

use std::io::Write as _;

use clap::Args;
use floor_client::Floor;
use floor_export::{escape::in_html, picture};

use crate::{
    failure::UsageError,
    output::{self, OutputFile},
    server::{FetchOptions, Server},
    source::{self, FloorSource},
    target::FloorName,
};

const AFTER_HELP: &str = "\
The picture is a PNG of 1200x630 pixels with a map of the floor, its name, its hook and its address in the viewer, which \
every floor server has on its operations port. With --players it has what a player may know on arrival.

A chat shows the picture with a link if the page behind the link names it. --page writes such a page, with the tags of the \
Open Graph protocol and a link to the floor. Publish both files in one folder.

Examples:
  floorctl card 42/7 --offline
  floorctl card 42/7 --viewer https://floors.example --output 42-7.png --page 42-7.html";

/// Draw a picture of a floor to send with its address
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Card {
    #[command(flatten)]
    source: FloorSource,
    #[command(flatten)]
    fetch: FetchOptions,
    /// The picture to write; - is standard output
    #[arg(long, short, value_name = "FILE", help_heading = "Output", default_value = "card.png")]
    output: OutputFile,
    /// The address of the viewer
    #[arg(long, value_name = "URL", help_heading = "Output", default_value = "http://127.0.0.1:50052")]
    viewer: String,
    /// Write a page that shows the picture and leads to the floor, too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    page: Option<OutputFile>,
}

impl Card {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let picture = match (&self.output, &self.page) {
            (OutputFile::Stdout, Some(_)) => {
                return Err(UsageError("a page needs a picture in a file; name one with --output".to_owned()).into());
            }
            (OutputFile::Stdout, None) => String::new(),
            (OutputFile::Path(path), _) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        let (floor, served) = self.source.open(server, &self.fetch).await?;
        let look = self.source.look(&floor, server, served.as_ref()).await?;
        let address = format!("{}/#f={}", self.viewer.trim_end_matches('/'), FloorName(floor.spec().clone()));
        self.output.write(|out| Ok(picture::draw_card(out, &floor, look, &address)?))?;
        if let Some(page) = &self.page {
            page.write(|out| Ok(out.write_all(page_of(&floor, &address, &picture).as_bytes())?))?;
        }
        if !floor.spec().pack.is_empty() {
            writeln!(output::stderr(), "note: the viewer shows this floor to those who open its pack there")?;
        }
        if let Some(served) = served {
            source::print_served(&served)?;
        }
        Ok(())
    }
}

fn page_of(floor: &Floor, address: &str, picture: &str) -> String {
    let name = FloorName(floor.spec().clone()).to_string();
    let title = in_html(if floor.name().is_empty() { &name } else { floor.name() });
    let hook = in_html(floor.hook());
    let picture = in_html(picture);
    let address = in_html(address);
    format!(
        r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<meta property="og:type" content="website">
<meta property="og:title" content="{title}">
<meta property="og:description" content="{hook}">
<meta property="og:image" content="{picture}">
<meta property="og:image:width" content="1200">
<meta property="og:image:height" content="630">
<meta property="og:image:alt" content="A map of {title}">
<meta name="twitter:card" content="summary_large_image">
<a href="{address}"><img src="{picture}" width="1200" height="630" style="max-width: 100%; height: auto" alt="A map of {title}"></a>
"#
    )
}
