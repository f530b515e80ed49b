//! Clauses of a tier in files: restarts, and the errors of opening.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use floor_cache::{OpenError, Options, TierKind};

use crate::fixture::{
    Fixture, keys,
    stores::{CAPACITY, StoreDir},
};

pub(crate) async fn a_restart_finds_stored_values(dir: &StoreDir) {
    let fixture = Fixture::new(&[TierKind::Lru, dir.store.kind()], |_| {});
    fixture.chain.get_many(&keys(0..300), Options::default()).await.unwrap();
    let fixture = fixture.reopened().await;
    let served = fixture.chain.get_many(&keys(0..300), Options::default()).await.unwrap();
    assert!(served.iter().all(|served| served.by == dir.name()));
    assert_eq!(fixture.tier(dir.name()).entries, 300);
    assert_eq!(fixture.source.generations(), 0);
}

/// Root can write anywhere, so a file at the path replaces a directory without permission.
pub(crate) async fn the_error_of_an_unusable_directory_says_what_to_do(dir: &StoreDir) {
    let (name, path) = (dir.name(), dir.path());
    let file = path.join("file");
    fs::create_dir(&path).unwrap();
    fs::write(&file, "in the way").unwrap();
    let text = dir.store.open(file, CAPACITY).unwrap_err().to_string();
    assert!(text.starts_with(&format!("the {name} directory ")) && text.contains("file cannot be used"), "{text}");
    let advice = format!("make it writable for this user, or set cache.{name}.path to one that is");
    assert!(text.ends_with(&advice), "{text}");

    let locked = path.join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    let opened = dir.store.open(locked.join(name), CAPACITY);
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    assert!(is_root || matches!(opened, Err(OpenError::Directory { .. })), "{opened:?}");
}

pub(crate) async fn a_store_of_another_version_is_left_alone(dir: &StoreDir) {
    let name = dir.name();
    drop(dir.open());
    dir.store.set_layout(&dir.path(), &format!("floor-cache {name} 2"));
    let error = dir.open_error();
    assert!(matches!(error, OpenError::Version { .. }), "{error:?}");
    let text = error.to_string();
    let versions = format!("(found: floor-cache {name} 2; this one reads: floor-cache {name} 1)");
    assert!(text.contains(&format!("was made by another version {versions}")), "{text}");
    assert!(text.contains("move the directory away"), "{text}");
    assert_eq!(dir.quarantined(), 0);
}

pub(crate) async fn a_store_in_use_is_an_error(dir: &StoreDir) {
    let _held = dir.open();
    let error = dir.try_open().unwrap_err();
    assert!(matches!(error, OpenError::Locked { tier, .. } if tier == dir.name()), "{error:?}");
    assert!(error.to_string().contains("is in use by another process; stop that one"), "{error}");
}
