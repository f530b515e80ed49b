//! The keys of sealed towers. From them the server derives seeds, names and signing keys, and stores none of these.
//!
//! Everything is HKDF (RFC 5869) with SHA-256 of a master key, for an input that begins with its purpose. The result for one
//! input tells nothing of the result for another.

use std::{
    fmt, fs,
    io::{self, Write as _},
    num::NonZeroU8,
    path::Path,
    sync::Arc,
};

use floor_cache::{Key, envelope::MasterKeys};
use floor_climb::{SigningKey, VerifyingKey};
use floor_gen::{FloorSpec, Generator};
use floor_pack::{LoadedPack, ModuleError};
use floor_proto::v1::{Climb, Receipt, ReceiptKey};
use hkdf::Hkdf;
use sha2::Sha256;
use tempfile::NamedTempFile;

use crate::{config::TowerKeyFile, key};

/// Separates what is derived from what others may derive from the same master key.
const PURPOSE: &[u8] = b"floor-server sealed towers 1";

/// The keys of a deployment: the first begins climbs, each goes on with those that it began. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct TowerKeys(Arc<[TowerKey]>);

/// One key. `Debug` shows its id alone.
pub(crate) struct TowerKey {
    id: NonZeroU8,
    derivation: Hkdf<Sha256>,
    signing: SigningKey,
}

impl fmt::Debug for TowerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TowerKey({})", self.id)
    }
}

impl From<&MasterKeys> for TowerKeys {
    fn from(keys: &MasterKeys) -> Self {
        Self(keys.iter().map(|(id, key)| TowerKey::new(id, key)).collect())
    }
}

impl TowerKeys {
    /// The keys of `file`, which is made with a new key if it is missing. `None`, with a warning, if it cannot be made.
    pub(crate) fn open(file: &TowerKeyFile) -> Option<Self> {
        if let Some(keys) = &file.keys {
            return Some(keys.into());
        }
        let path = file.path.display();
        match make(&file.path) {
            Ok(keys) => {
                tracing::info!(%path, "a key for sealed towers was made; other servers of a fleet need the same file");
                Some((&keys).into())
            }
            Err(error) => {
                tracing::warn!(%path, %error, "towers.key_file cannot be made, so this server has no sealed towers");
                None
            }
        }
    }

    /// The key that begins climbs.
    pub(crate) fn current(&self) -> &TowerKey {
        &self.0[0]
    }

    /// The key of a receipt.
    pub(crate) fn find(&self, id: u32) -> Option<&TowerKey> {
        self.0.iter().find(|key| u32::from(key.id.get()) == id)
    }

    /// What verifies the receipts of each key.
    pub(crate) fn receipt_keys(&self) -> Vec<ReceiptKey> {
        let public = |key: &TowerKey| key.verifying_key().to_bytes().to_vec();
        self.0.iter().map(|key| ReceiptKey { id: key.id.get().into(), public_key: public(key) }).collect()
    }

    /// The floor of a key of [`TowerKey::key`], with its secret seed.
    pub(crate) fn spec(&self, of: &Key) -> Option<FloorSpec> {
        let (spec, id) = key::sealed_spec(of)?;
        Some(with_seed(&spec, self.find(id.get().into())?.seed(of)))
    }
}

impl TowerKey {
    fn new(id: NonZeroU8, master: &[u8; 32]) -> Self {
        let derivation = Hkdf::<Sha256>::new(Some(PURPOSE), master);
        let signing = SigningKey::from_bytes(&expand(&derivation, &[b"receipts"]));
        Self { id, derivation, signing }
    }

    /// The name of a tenant's tower of the day `date`, as `2026-11-29`: the date, and 16 digits that only the key gives.
    pub(crate) fn daily(&self, tenant: &str, date: &str) -> String {
        let secret: [u8; 8] = self.derive(&[b"daily", tenant.as_bytes(), date.as_bytes()]);
        format!("{date}-{:016x}", u64::from_be_bytes(secret))
    }

    /// The key of a floor in the tower of that name of a tenant, of `spec` but for its seed.
    pub(crate) fn key(&self, tenant: &str, tower: &str, spec: &FloorSpec) -> Key {
        let tower = u64::from_be_bytes(self.derive(&[b"tower", tenant.as_bytes(), tower.as_bytes()]));
        key::of_sealed(&with_seed(spec, tower), self.id)
    }

    /// The seed of a floor, whatever kind its key says.
    pub(crate) fn seed(&self, of: &Key) -> u64 {
        u64::from_be_bytes(self.derive(&[b"seed", identity(of)]))
    }

    /// The seed of the rolls on a floor.
    pub(crate) fn rolls(&self, of: &Key) -> [u8; 16] {
        self.derive(&[b"rolls", identity(of)])
    }

    /// The receipt of a climb.
    pub(crate) fn sign(&self, climb: &Climb) -> Receipt {
        floor_climb::sign(climb, self.id.get().into(), &self.signing)
    }

    pub(crate) fn verifying_key(&self) -> VerifyingKey {
        self.signing.verifying_key()
    }

    fn derive<const LENGTH: usize>(&self, input: &[&[u8]]) -> [u8; LENGTH] {
        expand(&self.derivation, input)
    }
}

/// All of a key but the kind, which follows from the seed.
fn identity(key: &Key) -> &[u8] {
    &key.as_bytes()[..Key::LEN - 1]
}

fn with_seed(spec: &FloorSpec, seed: u64) -> FloorSpec {
    let (width, height) = (spec.width().into(), spec.height().into());
    FloorSpec::of_pack(spec.pack(), seed, spec.number(), width, height, spec.kind()).expect("only the seed is another")
}

/// No part of `input` but the last contains a zero, which separates them.
fn expand<const LENGTH: usize>(derivation: &Hkdf<Sha256>, input: &[&[u8]]) -> [u8; LENGTH] {
    let mut derived = [0; LENGTH];
    derivation.expand(&input.join(&0), &mut derived).expect("32 bytes are fewer than HKDF can give");
    derived
}

/// The floor of a spec with a secret seed as a gRPC frame. The spec that is sent has seed 0.
pub(crate) fn framed(
    pack: &LoadedPack,
    generator: &mut Generator,
    spec: &FloorSpec,
) -> Result<bytes::Bytes, ModuleError> {
    let mut floor = pack.message(generator, spec)?;
    if let Some(sent) = &mut floor.spec {
        sent.seed = 0;
    }
    Ok(floor_wire::framed_message(&floor))
}

/// Makes the file with a new key, for its owner alone. If another server has made it meanwhile, its keys.
fn make(path: &Path) -> io::Result<MasterKeys> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let (keys, mut file) = (MasterKeys::random(), NamedTempFile::new_in(folder)?);
    for (id, key) in keys.iter() {
        let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(file, "{id}:{digits}")?;
    }
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
            fs::read_to_string(path)?.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
        }
        persisted => persisted.map(|_| keys).map_err(|failed| failed.error),
    }
}
