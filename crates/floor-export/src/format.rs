//! The formats of exported floors, for `floorctl export` and the viewer.

use floor_proto::{floor::Floor, floor_json::FloorJson};

use crate::{ExportError, ExportedFile, foundry, json_layout, ldtk, names, picture::Appearance, tiled, uvtt};

/// Defines the formats from one list: name, extension of the map, and help.
macro_rules! formats {
    ($($(#[doc = $help:literal])+ $Format:ident = $name:literal, $extension:literal;)+) => {
        /// A format of exported floors.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Format {
            $($(#[doc = $help])+ $Format,)+
        }

        impl Format {
            /// Every format.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$Format),+];

            /// Its name on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Format => $name,)+
                }
            }

            /// The extension of the file that an editor opens.
            #[must_use]
            pub const fn extension(self) -> &'static str {
                match self {
                    $(Self::$Format => $extension,)+
                }
            }

            /// What it is, in a line.
            #[must_use]
            pub const fn help(self) -> &'static str {
                match self {
                    $(Self::$Format => concat!($($help),+),)+
                }
            }
        }
    };
}

formats! {
    /// Tiled: a map (.tmj), with two tilesets beside it
    Tiled = "tiled", "tmj";
    /// LDtk 1.5: a project (.ldtk) with one level, with two tilesets beside it
    Ldtk = "ldtk", "ldtk";
    /// Universal VTT, for Foundry and other virtual tabletops: picture, walls, doors and lights in one file
    Uvtt = "uvtt", "dd2vtt";
    /// Foundry 12 and 13: a scene, with its picture and a journal of the rooms beside it
    Foundry = "foundry", "json";
    /// The JSON of `floorctl get`; `floorctl schema` prints its JSON Schema
    Json = "json", "json";
}

impl Format {
    /// Whether a map of this format is one file.
    #[must_use]
    pub const fn is_one_file(self) -> bool {
        matches!(self, Self::Uvtt | Self::Json)
    }

    /// Whether it is for virtual tabletops, and has a picture of the whole floor.
    #[must_use]
    pub const fn is_for_tables(self) -> bool {
        matches!(self, Self::Uvtt | Self::Foundry)
    }

    /// The files of the floor, the map first. `stem` is the name of the map without its extension.
    ///
    /// # Errors
    /// If the picture is too large or a file cannot be written.
    pub fn files(self, floor: &Floor, stem: &str, appearance: &Appearance) -> Result<Vec<ExportedFile>, ExportError> {
        let map = format!("{stem}.{}", self.extension());
        match self {
            Self::Tiled => tiled::files(floor, map, &appearance.look),
            Self::Ldtk => ldtk::files(floor, map, &appearance.look),
            Self::Uvtt => Ok(vec![uvtt::file(floor, map, appearance)?]),
            Self::Foundry => foundry::files(floor, map, appearance),
            Self::Json => {
                let mut bytes = Vec::new();
                json_layout::write(&mut bytes, &FloorJson::new(floor))?;
                Ok(vec![ExportedFile { name: map, bytes }])
            }
        }
    }
}

/// `42-7-cavern-64x48` for floor `42/7:cavern@64x48`.
#[must_use]
pub fn default_stem(floor: &Floor) -> String {
    let spec = floor.spec();
    let kind = names::kind_of(spec).replace(' ', "-");
    format!("{}-{}-{kind}-{}x{}", spec.seed, spec.number, floor.width(), floor.height())
}
