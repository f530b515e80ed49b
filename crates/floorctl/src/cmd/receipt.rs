//! `floorctl receipt`: verifies the receipts of climbs of sealed towers.

use std::{
    io::Write as _,
    str::FromStr,
    time::{Duration, UNIX_EPOCH},
};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use floor_client::v1::{self, Climb, Hero, ReceiptKey};
use floor_climb::VerifyingKey;

use crate::{
    json,
    output::{self, ReportFormat},
    saved::{self, SavedFile},
    server::Server,
};

const AFTER_HELP: &str = "\
A server signs with its key how far a climb of a sealed tower has come. Who knows the public key, which `floorctl \
info` prints, verifies a receipt without the server.

Examples:
  floorctl receipt verify climb-2026-11-29-6f1d0c7a52e3b948-1795953600000-4.json
  floorctl receipt verify receipt.json --public-key 1:HEX --json | jq .hero.turns";

const AFTER_VERIFY_HELP: &str = "\
Reads a message floors.v1.Receipt in proto3's JSON, or a ClimbFloor, and prints the climb that the receipt proves. \
With --json, prints the message floors.v1.Climb in proto3's JSON.

Exit codes: 0 if a key signed the receipt; 1 if none did, or the file holds no receipt.

Examples:
  floorctl receipt verify receipt.json
  floorctl receipt verify - --public-key 1:HEX < receipt.json";

/// The last second that RFC 3339 can write, in milliseconds since 1970 UTC: that of the year 9999.
const LAST_MS: u64 = 253_402_300_799_000;

/// Verify the receipts of climbs of sealed towers
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Receipt {
    #[command(subcommand)]
    command: ReceiptCommand,
}

#[derive(Debug, Subcommand)]
enum ReceiptCommand {
    Verify(Verify),
}

/// Print the climb that a receipt proves
#[derive(Debug, Args)]
#[command(after_help = AFTER_VERIFY_HELP)]
struct Verify {
    /// The receipt; - for standard input
    #[arg(value_name = "FILE", value_parser = file)]
    file: SavedFile,
    /// A public key, with or without its id; without a key those of the server are asked for
    #[arg(long = "public-key", value_name = "[ID:]HEX")]
    keys: Vec<Key>,
    #[command(flatten)]
    report: ReportFormat,
}

/// A public key. Without an id it may be that of any receipt.
#[derive(Debug, Clone)]
struct Key {
    id: Option<u32>,
    key: VerifyingKey,
}

impl Receipt {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let ReceiptCommand::Verify(verify) = self.command;
        verify.run(server).await
    }
}

impl Verify {
    async fn run(self, server: &Server) -> anyhow::Result<()> {
        let name = self.file.name();
        let receipt = json::parse_receipt(&self.file.bytes()?).with_context(|| format!("{name} holds no receipt"))?;
        let keys = if self.keys.is_empty() { keys_of(server).await? } else { self.keys };
        let climb = verified(&receipt, &keys).with_context(|| format!("{name} proves nothing"))?;
        if self.report.json {
            return output::print_json(&json::climb(&climb));
        }
        print(&climb, receipt.key)
    }
}

fn file(text: &str) -> Result<SavedFile, String> {
    saved::file_named(text).ok_or_else(|| "there is no such file".to_owned())
}

async fn keys_of(server: &Server) -> anyhow::Result<Vec<Key>> {
    let client = server.connect().await?;
    let keys = client.server_info().await?.receipt_keys;
    if keys.is_empty() {
        bail!("{} has no key for receipts: its operator sets towers.key_file, or write --public-key", client.server());
    }
    keys.iter()
        .map(|ReceiptKey { id, public_key }| Key::new(Some(*id), public_key).map_err(anyhow::Error::msg))
        .collect()
}

/// What a receipt says, if one of the keys signed it.
fn verified(receipt: &v1::Receipt, keys: &[Key]) -> anyhow::Result<Climb> {
    let may_be = |key: &&Key| key.id.is_none_or(|id| id == receipt.key);
    let climbs = keys.iter().filter(may_be).map(|key| floor_climb::verify(receipt, &key.key));
    match climbs.reduce(Result::or) {
        Some(climb) => Ok(climb?),
        None => {
            let ids: Vec<_> = keys.iter().filter_map(|key| key.id).map(|id| id.to_string()).collect();
            bail!("its key is number {}, and the known ones are {}", receipt.key, ids.join(", "))
        }
    }
}

impl Key {
    fn new(id: Option<u32>, bytes: &[u8]) -> Result<Self, String> {
        let key = bytes.try_into().ok().and_then(|bytes| VerifyingKey::from_bytes(bytes).ok());
        let key = key.ok_or("these bytes are no public key of Ed25519; `floorctl info` prints those of a server")?;
        Ok(Self { id, key })
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (id, digits) = text.split_once(':').map_or((None, text), |(id, digits)| (Some(id), digits));
        let id =
            id.map(|id| id.parse().ok().filter(|id| (1..=255).contains(id)).ok_or("an id is a number of 1 to 255"));
        let is_key = digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        let bytes: Option<Vec<u8>> = if is_key { (0..64).step_by(2).map(byte).collect() } else { None };
        Self::new(id.transpose()?, &bytes.ok_or("a key has 64 hexadecimal digits, as `floorctl info` prints it")?)
    }
}

fn print(climb: &Climb, key: u32) -> anyhow::Result<()> {
    let Climb { tower, floor, width, height, pack, tenant, player, started_ms, reached_ms, .. } = climb;
    let Hero { health, most_health, attack, armour, gold, potions, slain, turns } = climb.hero.unwrap_or_default();
    let named = |what: &str, name: &str| if name.is_empty() { String::new() } else { format!(", {what} {name}") };
    let reached = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(*reached_ms.min(&LAST_MS)));
    let took = Duration::from_secs(reached_ms.saturating_sub(*started_ms) / 1000);
    let mut out = output::stdout();
    writeln!(out, "The receipt is valid: key {key} signed it")?;
    writeln!(out, "  tower      {tower}, {width}x{height}{}{}", named("pack", pack), named("tenant", tenant))?;
    let climbed = output::counted(floor.saturating_sub(1).into(), "floor");
    writeln!(out, "  climbed    {climbed}{}", named("player", player))?;
    writeln!(out, "  reached    {reached}, {} after the start", humantime::format_duration(took))?;
    writeln!(out, "  deeds      {}, {slain} slain, {gold} gold", output::counted(turns.into(), "turn"))?;
    writeln!(out, "  hero       health {health}/{most_health}, attack {attack}, armour {armour}, potions {potions}")?;
    writeln!(out, "  versions   generator {}, rules {}", climb.generator_version, climb.rules_version)?;
    Ok(out.flush()?)
}
