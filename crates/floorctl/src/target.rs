//! The arguments that name floors: flags for tower, number, size and kind, or a name such as `42/7:cavern@64x48`.

use std::{fmt, path::Path, str::FromStr, sync::Arc};

use clap::{
    ArgGroup, Args,
    builder::{PossibleValuesParser, Resettable, TypedValueParser},
};
use floor_client::{FloorKind, FloorSpec, limits, v1::View};
use floor_export::names;
use floor_gen::Kind;
use floor_pack::{LoadedPack, pack_files::EXTENSION};
use floor_proto::{
    pack::{InvalidPackRef, PackRef},
    seed::seed,
};
use floor_query::nearest;

use crate::{
    failure::UsageError,
    numbers::{self, Numbers},
    pack_source::PackSource,
    progress,
};

/// The flags for tower, size and kind: a floor without its number.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Floor")]
pub(crate) struct Tower {
    /// The seed of the tower: a number, decimal or 0x hexadecimal, or a text
    // Negative numbers are accepted here so that the error message explains the range of seeds.
    #[arg(long, default_value = "0", value_parser = seed, allow_negative_numbers = true)]
    seed: u64,
    /// Cells from west to east, 16 to 512; the server's default is 100
    #[arg(long, value_parser = side, value_name = "CELLS")]
    width: Option<u32>,
    /// Cells from north to south, 16 to 512; the server's default is 100
    #[arg(long, value_parser = side, value_name = "CELLS")]
    height: Option<u32>,
    /// Width and height in one, e.g. 64x48
    #[arg(long, conflicts_with_all = ["width", "height"], value_parser = size, value_name = "WxH")]
    size: Option<(u32, u32)>,
    /// The kind of floor; by default the tower's schedule chooses it
    #[arg(long, value_parser = kind_parser())]
    kind: Option<Kind>,
    /// The pack: NAME, or NAME@HASH for one version, of the server; or a folder or a .floorpack file, which is used
    /// without a server
    #[arg(long, value_name = "PACK")]
    pack: Option<PackArg>,
    /// The player's view: only what a player may know on arrival, with a map in hand
    #[arg(long)]
    players: bool,
}

impl Tower {
    /// The tower of `seed`, with floors of `size` and of the kinds of its schedule.
    pub(crate) const fn of(seed: u64, size: (u32, u32)) -> Self {
        Self { seed, width: None, height: None, size: Some(size), kind: None, pack: None, players: false }
    }

    /// The spec of a floor. Sides and kind that are not given stay 0: the server resolves them.
    pub(crate) fn floor(&self, number: u32) -> FloorSpec {
        let (width, height) = self.size.unwrap_or((self.width.unwrap_or(0), self.height.unwrap_or(0)));
        let kind = self.kind.map_or(FloorKind::Unspecified, floor_wire::kind);
        let (kind, view) = (kind.into(), self.view().into());
        FloorSpec { seed: self.seed, number, width, height, kind, pack: self.named_pack(), view }
    }

    /// The floor of that name, of the pack of the flag.
    pub(crate) fn named(&self, FloorName(spec): &FloorName) -> FloorSpec {
        FloorSpec { pack: self.named_pack(), view: self.view().into(), ..spec.clone() }
    }

    /// What of the floor is wanted.
    pub(crate) const fn view(&self) -> View {
        if self.players { View::Player } else { View::Unspecified }
    }

    /// For what looks at whole floors only.
    pub(crate) fn refuse_view(&self, why: &str) -> Result<(), UsageError> {
        if self.players { Err(UsageError(format!("--players cannot be used here: {why}"))) } else { Ok(()) }
    }

    /// The name of the pack, for a server; empty if the flag names none.
    fn named_pack(&self) -> String {
        match &self.pack {
            Some(PackArg::Named(name)) => name.clone(),
            Some(PackArg::Local(_)) | None => String::new(),
        }
    }

    /// Whether the flag names a pack on this machine. Then no server is asked.
    pub(crate) const fn has_local_pack(&self) -> bool {
        matches!(self.pack, Some(PackArg::Local(_)))
    }

    /// The pack that this program generates with: that of the flag, else the built-in one.
    pub(crate) fn pack_or_built_in(&self) -> anyhow::Result<Arc<LoadedPack>> {
        match &self.pack {
            Some(PackArg::Local(source)) => {
                // Compiling a generator of the pack's own takes seconds on slow machines.
                let _clock = progress::clock("reading the pack");
                Ok(source.read()?)
            }
            Some(PackArg::Named(name)) if !PackRef::matches(name, "") => Err(UsageError(format!(
                "this program has only the built-in pack tower, and --pack is {name}: name the folder or the .floorpack \
                 file of the pack, which `floorctl pack get {name}` saves, or ask a server that has it"
            ))
            .into()),
            Some(PackArg::Named(_)) | None => Ok(Arc::clone(LoadedPack::built_in())),
        }
    }

    /// How many floors of this size fit into one batch.
    pub(crate) fn batch_len(&self) -> usize {
        let spec = self.floor(1);
        let side = |cells: u32| u64::from(if cells == 0 { limits::DEFAULT_SIDE } else { cells });
        let by_cells = limits::MAX_BATCH_CELLS / (side(spec.width) * side(spec.height));
        usize::try_from(by_cells).unwrap_or(limits::MAX_BATCH).clamp(1, limits::MAX_BATCH)
    }
}

/// One floor of a tower.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Floor")]
pub(crate) struct Target {
    // Not a doc comment, since rustdoc would parse the brackets as links.
    #[arg(
        value_name = "FLOOR",
        help_heading = Resettable::Reset,
        help = "The name of the floor, instead of flags: SEED/NUMBER[:KIND][@WxH], e.g. 42/7:cavern@64x48",
        conflicts_with_all = ["seed", "number", "width", "height", "size", "kind"]
    )]
    name: Option<FloorName>,
    #[command(flatten)]
    tower: Tower,
    /// The floor number, 1 to 1,000,000
    #[arg(long, default_value_t = 1, value_parser = numbers::parse_one, allow_negative_numbers = true)]
    number: u32,
}

impl Target {
    pub(crate) fn floor(&self) -> FloorSpec {
        self.name.as_ref().map_or_else(|| self.tower.floor(self.number), |name| self.tower.named(name))
    }

    pub(crate) const fn tower(&self) -> &Tower {
        &self.tower
    }
}

/// One or more floors of a tower.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Floor", group = ArgGroup::new("which").args(["name", "numbers"]).required(true))]
pub(crate) struct FloorSelection {
    // Not a doc comment, since rustdoc would parse the brackets as links.
    #[arg(
        value_name = "FLOOR",
        help_heading = Resettable::Reset,
        help = "The name of one floor, instead of flags: SEED/NUMBER[:KIND][@WxH], e.g. 42/7:cavern@64x48",
        conflicts_with_all = ["seed", "numbers", "width", "height", "size", "kind"]
    )]
    name: Option<FloorName>,
    #[command(flatten)]
    tower: Tower,
    /// Floor numbers and ranges, e.g. 1-1000,2000
    #[arg(long, value_name = "LIST")]
    numbers: Option<Numbers>,
}

impl FloorSelection {
    /// A floor with the tower, the size and the kind of all of them.
    pub(crate) fn pattern(&self) -> FloorSpec {
        self.name.as_ref().map_or_else(|| self.tower.floor(1), |name| self.tower.named(name))
    }

    pub(crate) fn numbers(&self) -> Numbers {
        let one = self.name.as_ref().map(|name| Numbers::single(name.0.number));
        one.or_else(|| self.numbers.clone()).expect("clap requires one of the two")
    }
}

/// The name of a floor: `42/7`, `42/7:cavern`, `0xFF/10@64x48`. Missing parts are 0 in the spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FloorName(pub(crate) FloorSpec);

impl FromStr for FloorName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (tower, rest) =
            text.split_once('/').ok_or("a floor is SEED/NUMBER[:KIND][@WxH], e.g. 42/7:cavern@64x48")?;
        let (rest, (width, height)) = match rest.split_once('@') {
            Some((rest, sides)) => (rest, size(sides)?),
            None => (rest, (0, 0)),
        };
        let (number, kind) = match rest.split_once(':') {
            Some((number, name)) => (number, floor_wire::kind(kind(name)?)),
            None => (rest, FloorKind::Unspecified),
        };
        let number = numbers::parse_one(number)?;
        let seed = seed(tower).map_err(|error| error.to_string())?;
        Ok(Self(FloorSpec { seed, number, width, height, kind: kind.into(), ..FloorSpec::default() }))
    }
}

impl fmt::Display for FloorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FloorSpec { seed, number, width, height, kind, .. } = self.0;
        write!(f, "{seed}/{number}")?;
        if kind != 0 {
            write!(f, ":{}", names::kind_of(&self.0))?;
        }
        if (width, height) != (0, 0) {
            write!(f, "@{width}x{height}")?;
        }
        Ok(())
    }
}

/// The value of `--pack`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PackArg {
    /// `NAME` or `NAME@HASH`, of a server. Empty for the server's default.
    Named(String),
    /// A pack on this machine.
    Local(PackSource),
}

impl FromStr for PackArg {
    type Err = String;

    /// What has a slash, ends in `.floorpack` or is a folder is a path.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains(['/', '\\']) || text.ends_with(EXTENSION) || Path::new(text).is_dir() {
            return text.parse().map(Self::Local);
        }
        if text.is_empty() {
            return Ok(Self::Named(String::new()));
        }
        let named = pack(text).map(Self::Named);
        named.map_err(|error| format!("there is no such folder, and it names no pack of a server: {error}"))
    }
}

/// Parses the name of a server's pack.
pub(crate) fn pack(text: &str) -> Result<String, InvalidPackRef> {
    PackRef::parse(text).map(|_| text.to_owned())
}

/// Parses `WxH`.
pub(crate) fn size(text: &str) -> Result<(u32, u32), String> {
    let (width, height) = text.split_once(['x', 'X']).ok_or("write width x height, e.g. 64x48")?;
    Ok((side(width)?, side(height)?))
}

/// The width or height of a floor.
fn side(text: &str) -> Result<u32, String> {
    let cells = text.parse::<u32>().map_err(|_| format!("{text:?} is no number of cells; write e.g. 64x48"))?;
    if (limits::MIN_SIDE..=limits::MAX_SIDE).contains(&cells) {
        Ok(cells)
    } else {
        Err(format!("a floor is {} to {} cells wide and high, not {cells}", limits::MIN_SIDE, limits::MAX_SIDE))
    }
}

/// Parses the value of `--kind`.
fn kind_parser() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).try_map(|name| kind(&name))
}

/// The kind of that name, or the message of the error.
pub(crate) fn kind(name: &str) -> Result<Kind, String> {
    Kind::from_name(&name.to_ascii_lowercase()).ok_or_else(|| {
        let meant = nearest(name, Kind::ALL.into_iter().map(Kind::name));
        let meant = meant.map(|kind| format!("did you mean {kind}? ")).unwrap_or_default();
        format!("no kind is called {name:?}; {meant}The kinds are {}", Kind::ALL.map(Kind::name).join(", "))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct TestArgs {
        #[command(flatten)]
        tower: Tower,
    }

    fn tower(line: &str) -> Tower {
        TestArgs::try_parse_from(line.split(' ')).unwrap().tower
    }

    #[test]
    fn the_flags_name_a_floor() {
        let requested = tower("x --seed 0xFF --size 64x48 --kind boss").floor(10);
        assert_eq!(
            requested,
            FloorSpec {
                seed: 255,
                number: 10,
                width: 64,
                height: 48,
                kind: FloorKind::Boss.into(),
                ..FloorSpec::default()
            }
        );
        assert_eq!(tower("x").floor(1), FloorSpec { number: 1, ..FloorSpec::default() });
    }

    #[test]
    fn a_pack_is_a_name_or_a_version() {
        assert_eq!(tower("x --pack mine").floor(1).pack, "mine");
        let version = "mine@00000000000000ff";
        assert_eq!(tower(&format!("x --pack {version}")).named(&"42/7".parse().unwrap()).pack, version);
        assert!(TestArgs::try_parse_from(["x", "--pack", "Mine"]).is_err());
        assert!(TestArgs::try_parse_from(["x", "--pack", "./no-such-pack"]).is_err());
        assert_eq!("src".parse(), Ok(PackArg::Local(PackSource::Path("src".into()))));
    }

    #[test]
    fn a_floor_name_is_parsed() {
        for name in ["42/7", "42/7:cavern", "42/7@64x48", "18446744073709551615/1000000:boss@512x16"] {
            assert_eq!(name.parse::<FloorName>().unwrap().to_string(), name);
        }
        let FloorName(spec) = "0xFF/10:BOSS@64x48".parse().unwrap();
        assert_eq!(
            spec,
            FloorSpec {
                seed: 255,
                number: 10,
                width: 64,
                height: 48,
                kind: FloorKind::Boss.into(),
                ..FloorSpec::default()
            }
        );
        for (name, expected) in [
            ("42", "SEED/NUMBER"),
            ("42/x", "\"x\""),
            (" /1", "empty"),
            ("0x/1", "0x is no seed"),
            ("1/1:hut", "\"hut\""),
            ("1/1@64", "64x48"),
            ("1/1:cavrn", "did you mean cavern? The kinds are standard, keep, halls, cavern"),
            ("1/0", "number 0"),
            ("1/1000001", "beyond floor 1,000,000"),
            ("1/1@10x64", "16 to 512 cells wide and high, not 10"),
        ] {
            let error = name.parse::<FloorName>().unwrap_err();
            assert!(error.contains(expected), "{name}: {error}");
        }
        let word: FloorName = "my dungeon/10:boss@64x48".parse().unwrap();
        assert_eq!(word.to_string(), "16080315043033421665/10:boss@64x48");
    }

    #[test]
    fn size_excludes_width_and_height() {
        assert!(TestArgs::try_parse_from(["x", "--size", "64x48", "--width", "64"]).is_err());
        assert!(TestArgs::try_parse_from(["x", "--size", "64"]).is_err());
    }

    #[test]
    fn batches_stay_within_both_limits() {
        assert_eq!(tower("x").batch_len(), 256);
        assert_eq!(tower("x --size 512x512").batch_len(), 16);
        assert_eq!(tower("x --size 16x16").batch_len(), 256);
    }
}
