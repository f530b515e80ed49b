//! Verifies receipts with `floorctl receipt`, without a server.

#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use floor_client::v1::{Climb, Hero};
use floor_climb::SigningKey;
use serde_json::{Value, json};

/// The receipt of `receipt.json`.
fn receipt() -> Value {
    let hero = Hero { health: 31, most_health: 52, attack: 4, slain: 12, turns: 1_812, ..Hero::default() };
    let climb = Climb {
        tower: "2026-11-29-6f1d0c7a52e3b948".to_owned(),
        floor: 4,
        width: 100,
        height: 100,
        generator_version: 5,
        rules_version: 1,
        player: "Ada".to_owned(),
        hero: Some(hero),
        started_ms: 1_795_953_600_000,
        reached_ms: 1_795_953_905_999,
        ..Climb::default()
    };
    let receipt = floor_climb::sign(&climb, 1, &signing_key());
    let [climb, signature] = [receipt.climb, receipt.signature].map(|bytes| BASE64_STANDARD.encode(bytes));
    json!({ "climb": climb, "signature": signature, "key": 1 })
}

fn signing_key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// A public key, as `floorctl info` prints it.
fn public_key(key: &SigningKey) -> String {
    key.verifying_key().to_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs `floorctl receipt verify` with a file on standard input.
fn verify(file: &Value, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floorctl"));
    command.args(["receipt", "verify", "-"]).args(arguments).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(file.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let [printed, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), printed, error)
}

#[test]
fn a_receipt_proves_its_climb() {
    let (receipt, key) = (receipt(), public_key(&signing_key()));
    assert_eq!(serde_json::from_str::<Value>(include_str!("receipt.json")).unwrap(), receipt);
    let (code, printed, error) = verify(&receipt, &["--public-key", &key]);
    assert_eq!(code, Some(0), "{error}");
    insta::assert_snapshot!(printed);
    let of_floor = json!({ "receipt": receipt, "floor": { "rooms": [{}] }, "rolls": "AQ==" });
    let other = format!("2:{}", public_key(&SigningKey::from_bytes(&[8; 32])));
    let (code, printed, error) =
        verify(&of_floor, &["--json", "--public-key", &other, "--public-key", &format!("1:{key}")]);
    assert_eq!(code, Some(0), "{error}");
    let climb: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&climb["player"], &climb["hero"]["turns"]), (&json!("Ada"), &json!(1_812)));
}

#[test]
fn what_no_key_signed_proves_nothing() {
    let (receipt, key) = (receipt(), public_key(&signing_key()));
    let other = public_key(&SigningKey::from_bytes(&[8; 32]));
    let mut forged = receipt.clone();
    let climb = Climb { tower: "mine".to_owned(), floor: 9, ..Climb::default() };
    forged["climb"] = json!(BASE64_STANDARD.encode(prost::Message::encode_to_vec(&climb)));
    for (file, key, part) in [
        (&forged, &key, "proves nothing: the signature is not of this climb and this key"),
        (&receipt, &other, "the signature is not of this climb and this key"),
        (&receipt, &format!("3:{key}"), "its key is number 1, and the known ones are 3"),
        (&json!({}), &key, "the signature is not of this climb and this key"),
        (&json!({ "receipts": [] }), &key, "standard input holds no receipt: receipts: no such field"),
        (&json!({ "receipt": { "climb": 7 } }), &key, "holds no receipt: climb: "),
    ] {
        let (code, printed, error) = verify(file, &["--public-key", key]);
        assert_eq!((code, printed.as_str()), (Some(1), ""), "{file}");
        assert!(error.contains(part), "{error}");
    }
}
