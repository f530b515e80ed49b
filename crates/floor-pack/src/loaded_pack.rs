//! A pack with its authored floors, ready to serve: all programs load packs with it, so that all make the same floors of
//! the same files.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::{BufMut, Bytes, BytesMut};
use floor_gen::{
    FloorSpec, GENERATOR_VERSION, Generator, Kind, Pack, PackHash, View,
    pack::{Checks, Files, PackError, PackErrors},
};
use floor_proto::{
    FRAME_PREFIX_BYTES,
    pack::{BUILT_IN, PackRef},
    v1,
};
use floor_wire::view;
use prost::Message;

#[cfg(feature = "authored")]
use crate::authored::read as read_authored;
#[cfg(feature = "guests")]
use crate::module::{Compile, Module};
use crate::{AUTHORED, ByPlace, ModuleError, Request, ResolveError};

/// Without the feature, the floors of a pack are generated where they would be authored.
#[cfg(not(feature = "authored"))]
#[allow(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
const fn read_authored(_: &Files, _: Option<Checks>) -> Result<ByPlace<(FloorSpec, v1::Floor)>, Vec<PackError>> {
    Ok(BTreeMap::new())
}

/// What loads the pack's own generator, from its module and the other files of the pack.
type LoadModule<'a> = &'a dyn Fn(&[u8], &Files) -> Result<Module, String>;

#[cfg(feature = "modules")]
const LOAD_MODULE: LoadModule<'_> = &Module::load;

/// Without the feature there are none.
#[cfg(not(feature = "modules"))]
const LOAD_MODULE: LoadModule<'_> = &|_, _| {
    Err("this program cannot run the generator of a pack: it was built without the feature `modules`. Releases and images \
         have it, and `cargo build` with `--features modules`, or `bevy-server/modules,floorctl/modules` for both programs"
        .to_owned())
};

/// Loads the pack's own generator, if it has one.
fn module(pack: &Pack, load: LoadModule<'_>) -> Result<Option<Module>, String> {
    let Some(wasm) = pack.generator() else { return Ok(None) };
    let mut files = Files::new();
    let is_read = |path: &str| ![Pack::GENERATOR, Checks::FILE].contains(&path) && !path.starts_with(AUTHORED);
    for (path, content) in pack.files().iter().filter(|(path, _)| is_read(path)) {
        files.insert(path, content).expect("the pack has it");
    }
    load(wasm, &files).map(Some)
}

/// The generator of a pack, which there is not without the feature.
#[cfg(not(feature = "guests"))]
#[derive(Debug)]
enum Module {}

#[cfg(not(feature = "guests"))]
impl Module {
    fn resolve(&self, _: &str, _: PackHash, _: Request) -> Result<FloorSpec, ModuleError> {
        match *self {}
    }

    const fn resolving_time(&self) -> Duration {
        match *self {}
    }

    fn generate<T>(&self, _: &str, _: &FloorSpec, _: impl Fn(&[u8]) -> Result<T, String>) -> Result<T, ModuleError> {
        match *self {}
    }
}

/// A pack, and, with the feature `authored`, the floors in it that are authored and not generated. Cheap to share in an
/// [`Arc`].
#[derive(Debug)]
pub struct LoadedPack {
    /// `None`: the built-in pack.
    read: Option<Pack>,
    /// `spec.pack` of its floors.
    reference: String,
    authored: ByPlace<Authored>,
    module: Option<Module>,
    /// The answer to `GetPack`, once it was asked for.
    framed_files: OnceLock<Bytes>,
}

/// An authored floor. Of its spec only the sides and the kind count.
#[derive(Debug)]
struct Authored {
    spec: FloorSpec,
    message: v1::Floor,
}

impl LoadedPack {
    /// The built-in pack, `tower`.
    #[must_use]
    pub fn built_in() -> &'static Arc<Self> {
        static LOADED: OnceLock<Arc<LoadedPack>> = OnceLock::new();
        LOADED.get_or_init(|| Arc::new(Self::tower()))
    }

    const fn tower() -> Self {
        Self {
            read: None,
            reference: String::new(),
            authored: BTreeMap::new(),
            module: None,
            framed_files: OnceLock::new(),
        }
    }

    /// Reads a pack and checks its authored floors.
    ///
    /// # Errors
    /// Everything that is wrong in the files. The name of the built-in pack is wrong too.
    pub fn read(files: Files) -> Result<Self, PackErrors> {
        let loaded = Self::read_edited(files)?;
        loaded.check_name()?;
        Ok(loaded)
    }

    /// Whether a server that reads the pack can name it.
    ///
    /// # Errors
    /// It has the name of the built-in pack.
    pub fn check_name(&self) -> Result<(), PackErrors> {
        if self.pack().name() != BUILT_IN {
            return Ok(());
        }
        let message = format!("the name {BUILT_IN} is taken by the built-in pack; choose another");
        Err(PackError::new("pack.toml", 0, 0, message).into())
    }

    /// The same for an editor, where the built-in pack may be changed before it gets another name.
    ///
    /// # Errors
    /// Everything that is wrong in the files.
    pub fn read_edited(files: Files) -> Result<Self, PackErrors> {
        Self::read_with(files, LOAD_MODULE)
    }

    /// The same in a program that has an engine for the pack's own generator at hand, which is not wasmtime.
    ///
    /// # Errors
    /// Everything that is wrong in the files.
    #[cfg(feature = "guests")]
    pub fn read_edited_in(compile: Compile, files: Files) -> Result<Self, PackErrors> {
        Self::read_with(files, &|wasm, files| Module::load_in(compile, wasm, files))
    }

    fn read_with(files: Files, load: LoadModule<'_>) -> Result<Self, PackErrors> {
        let has_generator = files.get(Pack::GENERATOR).is_some();
        let (read, authored) = if has_generator {
            // What its floors are checked against is known when it is read.
            let pack = Pack::read(files)?;
            let authored = read_authored(pack.files(), Some(pack.checks()));
            (Ok(pack), authored)
        } else {
            let authored = read_authored(&files, None);
            (Pack::read(files), authored)
        };
        let (pack, authored) = match (read, authored) {
            (Ok(pack), Ok(authored)) => (pack, authored),
            (read, authored) => {
                let of_pack = read.as_ref().err().map(PackErrors::list).unwrap_or_default();
                let all = [of_pack, authored.as_ref().err().map(Vec::as_slice).unwrap_or_default()].concat();
                return Err(PackErrors::of(all).expect("one of the two is an error"));
            }
        };
        let hash = pack.hash();
        if hash == PackHash::BUILT_IN {
            return Ok(Self::tower());
        }
        let reference = PackRef { name: pack.name(), hash: Some(hash.0) }.to_string();
        let module = module(&pack, load).map_err(|what| PackError::new(Pack::GENERATOR, 0, 0, what))?;
        let authored = authored.into_iter().map(|(place, (spec, message))| {
            let theme = match message.theme.as_str() {
                // The themes of a generator are not known.
                "" if !has_generator => pack.themes()[pack.theme_of(spec.number())].name().to_owned(),
                theme => theme.to_owned(),
            };
            (place, Authored { spec, message: v1::Floor { theme, pack_hash: hash.0, ..message } })
        });
        Ok(Self { authored: authored.collect(), read: Some(pack), reference, module, framed_files: OnceLock::new() })
    }

    /// Reads the bytes of a `.floorpack` file, or of the answer of `GetPack`, which may be the built-in pack.
    ///
    /// # Errors
    /// Everything that is wrong in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PackErrors> {
        let files = Files::from_bytes(bytes).map_err(PackError::from)?;
        if files == *Pack::tower().files() { Self::read_edited(files) } else { Self::read(files) }
    }

    /// The pack.
    #[must_use]
    pub fn pack(&self) -> &Pack {
        match &self.read {
            Some(pack) => pack,
            None => Pack::tower(),
        }
    }

    /// `spec.pack` of its floors: `NAME@HASH`, or nothing for the built-in pack.
    #[must_use]
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// The answer to `GetPack` as a gRPC frame. The first call encodes it, which copies all files.
    #[must_use]
    pub fn framed_files(&self) -> Bytes {
        let encode = || {
            let message = v1::Pack {
                name: self.pack().name().to_owned(),
                hash: self.pack().hash().0,
                generator_version: GENERATOR_VERSION,
                file: self.pack().files().to_bytes(),
            };
            let mut frame = BytesMut::with_capacity(FRAME_PREFIX_BYTES + message.encoded_len());
            frame.put_u8(0);
            frame.put_u32(u32::try_from(message.encoded_len()).expect("a pack has at most 4 MiB"));
            message.encode(&mut frame).expect("a BytesMut grows");
            frame.freeze()
        };
        self.framed_files.get_or_init(encode).clone()
    }

    /// Whether [`framed_files`](Self::framed_files) has its answer.
    #[must_use]
    pub fn is_framed(&self) -> bool {
        self.framed_files.get().is_some()
    }

    /// About how long [`resolve`](Self::resolve) takes, if the pack's own generator does it, from the longest of its last
    /// calls; else zero.
    #[must_use]
    pub fn resolving_time(&self) -> Duration {
        self.module.as_ref().map_or(Duration::ZERO, Module::resolving_time)
    }

    /// The number of authored floors.
    #[must_use]
    pub fn authored_count(&self) -> usize {
        self.authored.len()
    }

    /// The authored floors, each with the path of its file in the pack, and as complete as it is served, but for what says of
    /// which pack it is and for the content hash. The spec of one for every tower has tower 0.
    pub fn authored(&self) -> impl Iterator<Item = (String, v1::Floor)> {
        self.authored.iter().map(|((number, seed), Authored { spec, message })| {
            let tower = seed.map(|seed| format!("{seed}-")).unwrap_or_default();
            let floor = v1::Floor { spec: Some(floor_wire::spec(spec)), pack_hash: 0, ..message.clone() };
            (format!("{AUTHORED}{tower}{number}.json"), floor)
        })
    }

    /// Resolves a request as [`Pack::resolve`] does, except that what it leaves open is that of an authored floor, if the
    /// request names nothing that differs from it.
    ///
    /// # Errors
    /// The first argument that is out of range, or why the pack's own generator has no such floor.
    pub fn resolve(
        &self,
        seed: u64,
        number: u32,
        width: u32,
        height: u32,
        kind: Option<Kind>,
    ) -> Result<FloorSpec, ResolveError> {
        if let Some(Authored { spec, .. }) = self.authored_at(seed, number) {
            let open_or_equal = |requested: u32, side: u16| requested == 0 || requested == u32::from(side);
            if open_or_equal(width, spec.width())
                && open_or_equal(height, spec.height())
                && kind.is_none_or(|kind| kind == spec.kind())
            {
                let (width, height) = (spec.width().into(), spec.height().into());
                return Ok(FloorSpec::of_pack(self.pack().hash(), seed, number, width, height, spec.kind())?);
            }
        }
        if let Some(module) = &self.module {
            let hash = self.pack().hash();
            // A kind that is open changes nothing about what is in range.
            let spec = FloorSpec::of_pack(hash, seed, number, width, height, kind.unwrap_or(Kind::Standard))?;
            return match kind {
                Some(_) if width > 0 && height > 0 => Ok(spec),
                _ => {
                    let kind = kind.map_or(0, |kind| kind as u32);
                    Ok(module.resolve(&self.reference, hash, Request { seed, number, width, height, kind })?)
                }
            };
        }
        Ok(self.pack().resolve(seed, number, width, height, kind)?)
    }

    /// The floor of `spec`, which [`resolve`](Self::resolve) returned, as a gRPC frame with its content hash.
    ///
    /// # Errors
    /// If the pack's own generator makes no floor.
    ///
    /// # Panics
    /// If `spec` belongs to another pack.
    pub fn framed(&self, generator: &mut Generator, spec: &FloorSpec) -> Result<Bytes, ModuleError> {
        Ok(floor_wire::framed_message(&self.message(generator, spec)?))
    }

    /// The same floor as a message. Its content hash is 0.
    ///
    /// # Errors
    /// If the pack's own generator makes no floor.
    ///
    /// # Panics
    /// If `spec` belongs to another pack.
    pub fn message(&self, generator: &mut Generator, spec: &FloorSpec) -> Result<v1::Floor, ModuleError> {
        let floor = self.whole(generator, spec)?;
        Ok(match spec.view() {
            View::Everything => floor,
            View::Player => view::of_player(floor, self.pack().shown()).expect("the grids of every floor are checked"),
        })
    }

    /// The floor in the view of everything, whose spec has the view that is asked for.
    fn whole(&self, generator: &mut Generator, spec: &FloorSpec) -> Result<v1::Floor, ModuleError> {
        if let Some(authored) = self.authored_of(spec) {
            assert_eq!(spec.pack(), self.pack().hash(), "the spec belongs to another pack");
            return Ok(v1::Floor { spec: Some(self.spec(spec)), ..authored.message.clone() });
        }
        if let Some(module) = &self.module {
            assert_eq!(spec.pack(), self.pack().hash(), "the spec belongs to another pack");
            let (hash, checks) = (spec.pack().0, self.pack().checks());
            let accept = |bytes: &[u8]| crate::accept::accept(bytes, spec, self.spec(spec), checks);
            return Ok(v1::Floor { pack_hash: hash, ..module.generate(&self.reference, spec, accept)? });
        }
        if self.read.is_none() {
            return Ok(floor_wire::message(&generator.generate(spec)));
        }
        let message = floor_wire::message(&generator.generate_of(self.pack(), spec));
        Ok(v1::Floor { spec: Some(self.spec(spec)), pack_hash: spec.pack().0, ..message })
    }

    /// Whether the floor of `spec` is authored, and so is not generated.
    #[must_use]
    pub fn is_authored(&self, spec: &FloorSpec) -> bool {
        self.authored_of(spec).is_some()
    }

    /// A spec of this pack as a message.
    #[must_use]
    pub fn spec(&self, spec: &FloorSpec) -> v1::FloorSpec {
        v1::FloorSpec { pack: self.reference.clone(), ..floor_wire::spec(spec) }
    }

    /// The authored floor that is the floor of `spec`.
    fn authored_of(&self, spec: &FloorSpec) -> Option<&Authored> {
        self.authored_at(spec.seed(), spec.number()).filter(|authored| same_shape(&authored.spec, spec))
    }

    fn authored_at(&self, seed: u64, number: u32) -> Option<&Authored> {
        if self.authored.is_empty() {
            return None;
        }
        self.authored.get(&(number, Some(seed))).or_else(|| self.authored.get(&(number, None)))
    }
}

fn same_shape(one: &FloorSpec, other: &FloorSpec) -> bool {
    (one.width(), one.height(), one.kind()) == (other.width(), other.height(), other.kind())
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "authored")]
    use floor_proto::floor_json::{self, FLOOR};
    use floor_proto::hash;

    use super::*;

    const MANIFEST: (&str, &[u8]) = ("pack.toml", b"name = \"mine\"\n");

    fn load(list: &[(&str, &[u8])]) -> Result<LoadedPack, PackErrors> {
        let mut files = Files::new();
        for (path, content) in list {
            files.insert(path, content).unwrap();
        }
        LoadedPack::read(files)
    }

    /// The JSON of a generated floor.
    #[cfg(feature = "authored")]
    fn json(number: u32, kind: Kind) -> Vec<u8> {
        let spec = FloorSpec::resolve(1, number, 32, 24, Some(kind)).unwrap();
        let mut json = Vec::new();
        FLOOR.encode(&floor_wire::message(&floor_gen::generate(&spec)).encode_to_vec()[..], &mut json).unwrap();
        json
    }

    fn floor(pack: &LoadedPack, spec: &FloorSpec) -> v1::Floor {
        hash::verify_encoded(&floor_wire::unframed(&pack.framed(&mut Generator::new(), spec).unwrap())).unwrap()
    }

    #[test]
    fn the_built_in_pack_makes_the_floors_of_the_generator() {
        let pack = LoadedPack::built_in();
        let spec = pack.resolve(42, 7, 0, 0, None).unwrap();
        assert_eq!(pack.framed(&mut Generator::new(), &spec).unwrap(), floor_wire::framed(&floor_gen::generate(&spec)));
    }

    #[test]
    fn the_files_of_the_built_in_pack_are_the_built_in_pack() {
        let files = Pack::tower().files();
        let pack = LoadedPack::from_bytes(&files.to_bytes()).unwrap();
        let spec = pack.resolve(42, 7, 0, 0, None).unwrap();
        assert_eq!((pack.reference(), spec), ("", FloorSpec::resolve(42, 7, 0, 0, None).unwrap()));
        assert!(LoadedPack::read(files.clone()).unwrap_err().to_string().contains("taken by the built-in pack"));
        let mut edited = files.clone();
        edited.insert("notes.md", b"mine").unwrap();
        assert!(LoadedPack::from_bytes(&edited.to_bytes()).is_err());
        assert!(LoadedPack::read_edited(edited).unwrap().reference().starts_with("tower@"));
    }

    #[test]
    fn a_generated_floor_says_of_which_pack_it_is() {
        let pack = load(&[MANIFEST]).unwrap();
        let spec = pack.resolve(42, 7, 0, 0, None).unwrap();
        let floor = floor(&pack, &spec);
        let hash = pack.pack().hash();
        assert_eq!(floor.spec.unwrap().pack, format!("mine@{hash}"));
        assert_eq!((floor.pack_hash, floor.theme.as_str()), (hash.0, "crypt"));
    }

    #[cfg(feature = "authored")]
    #[test]
    fn an_authored_floor_is_served_where_the_request_leaves_its_shape_open() {
        let (common, own) = (json(3, Kind::Cavern), json(4, Kind::Maze));
        let pack = load(&[MANIFEST, ("floors/10.json", &common), ("floors/42-10.json", &own)]).unwrap();
        assert_eq!(pack.authored_count(), 2);
        let resolve = |seed, width, kind| pack.resolve(seed, 10, width, 0, kind).unwrap();
        let authored = resolve(7, 0, None);
        assert_eq!((authored.width(), authored.height(), authored.kind()), (32, 24, Kind::Cavern));
        assert_eq!(resolve(42, 0, None).kind(), Kind::Maze);
        assert_eq!((resolve(7, 32, None), resolve(7, 0, Some(Kind::Cavern))), (authored, authored));
        assert_eq!((resolve(7, 64, None).width(), resolve(7, 64, None).height()), (64, 100));
        assert_eq!(resolve(7, 0, Some(Kind::Keep)).width(), 100);
        let served = floor(&pack, &authored);
        let spec = served.spec.unwrap();
        assert_eq!((spec.seed, spec.number, spec.pack.as_str()), (7, 10, pack.reference()));
        let original = floor_json::parse(&common).unwrap();
        assert_eq!((served.terrain, served.rooms, served.spawns), (original.terrain, original.rooms, original.spawns));
        let generated = floor(&pack, &resolve(7, 0, Some(Kind::Keep)));
        assert_eq!(generated.spec.unwrap().kind(), v1::FloorKind::Keep);
    }

    #[cfg(feature = "authored")]
    #[test]
    fn an_authored_floor_may_leave_out_behaviours_the_theme_and_the_landing() {
        let written = floor_json::parse(&json(3, Kind::Standard)).unwrap();
        let text = |edit: &dyn Fn(&mut v1::Floor)| {
            let (mut floor, mut text) = (written.clone(), Vec::new());
            edit(&mut floor);
            FLOOR.encode(&floor.encode_to_vec()[..], &mut text).unwrap();
            text
        };
        let bare = text(&|floor| {
            (floor.theme, floor.landing) = (String::new(), None);
            for spawn in &mut floor.spawns {
                (spawn.behaviour, spawn.group) = (0, 0);
            }
        });
        let own = text(&|floor| {
            floor.theme = "study".to_owned();
            // A group has two monsters or more.
            let group = u32::from(floor.spawns.len() > 1);
            for spawn in &mut floor.spawns {
                spawn.set_behaviour(v1::Behaviour::Sleeps);
                spawn.group = group;
            }
        });
        let pack = load(&[MANIFEST, ("floors/11.json", &bare), ("floors/12.json", &own)]).unwrap();
        let served = |number| floor(&pack, &pack.resolve(1, number, 0, 0, None).unwrap());
        let (bare, own) = (served(11), served(12));
        assert_eq!((bare.theme.as_str(), bare.landing), ("warren", written.entry));
        assert!(bare.spawns.iter().all(|spawn| spawn.behaviour() == v1::Behaviour::Guards && spawn.group == 0));
        assert_eq!((own.theme.as_str(), own.landing), ("study", written.landing));
        let group = u32::from(own.spawns.len() > 1);
        assert!(own.spawns.iter().all(|spawn| spawn.behaviour() == v1::Behaviour::Sleeps && spawn.group == group));

        let at = written.spawns[0].at.unwrap();
        for (edit, expected) in [
            (text(&|floor| floor.spawns[0].group = 256), "group 256 is more than 255"),
            (text(&|floor| floor.spawns[0].behaviour = 9), "behaviour 9 is unknown to this program; they are 1 to 4"),
        ] {
            let errors = load(&[MANIFEST, ("floors/11.json", &edit)]).unwrap_err().to_string();
            assert!(
                errors.starts_with(&format!("floors/11.json: limits: the spawn at ({}, {}): {expected}", at.x, at.y)),
                "{errors}"
            );
        }
    }

    #[cfg(feature = "authored")]
    #[test]
    fn every_error_names_its_file() {
        let mut broken = floor_json::parse(&json(3, Kind::Cavern)).unwrap();
        broken.exit = broken.entry;
        let mut text = Vec::new();
        FLOOR.encode(&broken.encode_to_vec()[..], &mut text).unwrap();
        let errors = load(&[
            ("pack.toml", b"name = \"mine\"\nsize = 3\n"),
            ("floors/010.json", &text),
            ("floors/11.json", b"{\n  \"spec\": ]\n}"),
            ("floors/12.json", &text),
        ])
        .unwrap_err();
        let lines: Vec<_> = errors.to_string().lines().map(str::to_owned).collect();
        let (last, floors) = lines.split_last().unwrap();
        assert!(last.starts_with("pack.toml:2:1: "), "{lines:?}");
        assert!(floors[0].starts_with("floors/010.json: an authored floor is NUMBER.json"), "{lines:?}");
        assert!(floors[1].starts_with("floors/11.json:2:11: "), "{lines:?}");
        assert!(floors[2..].iter().all(|line| line.starts_with("floors/12.json: ")) && floors.len() > 2, "{lines:?}");
        let taken = load(&[("pack.toml", b"name = \"tower\"\n")]).unwrap_err().to_string();
        assert!(taken.contains("built-in"), "{taken}");
    }
}
