//! Where a command takes its floor from: a server, the generator in this program, or a file.

use std::{
    io::{self, IsTerminal as _, Write as _},
    str::FromStr,
};

use clap::{Args, builder::Resettable};
use floor_client::{Floor, Served};
use floor_gen::{
    Pack,
    pack::{Files, Look},
};

use crate::{
    local, numbers, output,
    saved::{self, SavedFile, SavedFloor},
    server::{FetchOptions, Server},
    target::{FloorName, Tower},
};

/// A floor, by its name, or in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Named(FloorName),
    Saved(SavedFile),
}

impl FromStr for Source {
    type Err = String;

    /// Text that is a valid floor name is a floor, but a file comes before a tower that is no number. To name a file like
    /// a floor, write `./42/7`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let has_number = text.split_once('/').is_some_and(|(tower, _)| floor_query::seed(tower).is_ok());
        match (text.parse(), saved::file_named(text)) {
            (Ok(name), None) => Ok(Self::Named(name)),
            (Ok(name), Some(_)) if has_number => Ok(Self::Named(name)),
            (_, Some(file)) => Ok(Self::Saved(file)),
            (Err(no_name), None) => Err(format!("there is no such file, and it names no floor: {no_name}")),
        }
    }
}

/// The floor of a command that also takes saved floors.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Floor")]
pub(crate) struct FloorSource {
    // Not a doc comment, since rustdoc would parse the brackets as links.
    #[arg(
        value_name = "FLOOR",
        help_heading = Resettable::Reset,
        help = "The name of the floor, instead of flags: SEED/NUMBER[:KIND][@WxH]; or a file that `get` wrote; or - for \
                standard input",
        conflicts_with_all = ["seed", "number", "width", "height", "size", "kind"]
    )]
    source: Option<Source>,
    #[command(flatten)]
    tower: Tower,
    /// The floor number, 1 to 1,000,000
    #[arg(long, default_value_t = 1, value_parser = numbers::parse_one, allow_negative_numbers = true)]
    number: u32,
    /// Generate the floor in this program instead of asking a server
    #[arg(long, conflicts_with_all = ["no_cache", "trace", "generator_version"])]
    offline: bool,
}

impl FloorSource {
    pub(crate) const fn tower(&self) -> &Tower {
        &self.tower
    }

    /// Gets the floor. The metadata is that of the server's answer, if a server was asked.
    pub(crate) async fn load(
        &self,
        server: &Server,
        fetch: &FetchOptions,
    ) -> anyhow::Result<(SavedFloor, Option<Served>)> {
        let spec = match &self.source {
            Some(Source::Saved(file)) => return Ok((file.read()?.seen_in(self.tower.view())?, None)),
            Some(Source::Named(name)) => self.tower.named(name),
            None => self.tower.floor(self.number),
        };
        if self.offline || self.tower.has_local_pack() {
            let pack = self.tower.pack_or_built_in()?;
            return Ok((SavedFloor::parse(&local::generate(&pack, &spec)?)?, None));
        }
        let answer = fetch.connect(server).await?.get_encoded(spec.clone()).await?;
        answer.value.decode_for(&spec)?;
        Ok((SavedFloor::parse(answer.value.bytes())?, Some(answer.served)))
    }

    /// Gets the floor, checks it, and prints to stderr what is remarkable about it.
    pub(crate) async fn open(&self, server: &Server, fetch: &FetchOptions) -> anyhow::Result<(Floor, Option<Served>)> {
        let (saved, served) = self.load(server, fetch).await?;
        print_notes(&saved)?;
        Ok((saved.floor()?, served))
    }

    /// How the floor's theme looks in its pack: on this machine, of the server that was asked, or built in.
    pub(crate) async fn look(&self, floor: &Floor, server: &Server, served: Option<&Served>) -> anyhow::Result<Look> {
        let pack = &floor.spec().pack;
        if self.tower.has_local_pack() {
            return Ok(self.tower.pack_or_built_in()?.pack().look(floor.theme()));
        }
        if served.is_none() || pack.is_empty() {
            return Ok(Pack::tower().look(floor.theme()));
        }
        let files = Files::from_bytes(&server.connect().await?.pack(pack).await?.file)?;
        Ok(Pack::read(files)?.look(floor.theme()))
    }
}

/// Prints the notes about a saved floor to stderr.
pub(crate) fn print_notes(saved: &SavedFloor) -> io::Result<()> {
    for note in saved.notes() {
        writeln!(output::stderr(), "{note}")?;
    }
    Ok(())
}

/// Prints which tier served the floor, on a terminal, and the trace, if one was requested.
pub(crate) fn print_served(served: &Served) -> io::Result<()> {
    let mut notes = output::stderr();
    if io::stderr().is_terminal() || !served.trace.is_empty() {
        writeln!(notes, "served by {}", output::served(&served.by))?;
    }
    for step in &served.trace {
        writeln!(notes, "  {step}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_floor_name_or_a_file() {
        assert_eq!("42/7".parse(), Ok(Source::Named("42/7".parse().unwrap())));
        assert_eq!("Cargo.toml".parse(), Ok(Source::Saved(SavedFile::Path("Cargo.toml".into()))));
        assert_eq!("-".parse(), Ok(Source::Saved(SavedFile::Stdin)));
        assert_eq!("src/main.rs".parse(), Ok(Source::Saved(SavedFile::Path("src/main.rs".into()))));
        assert_eq!("my dungeon/3".parse(), Ok(Source::Named("16080315043033421665/3".parse().unwrap())));
        for missing in ["no/such.bin", "./42/7"] {
            assert!(missing.parse::<Source>().unwrap_err().starts_with("there is no such file"));
        }
    }
}
