//! Clauses of a tier in files: restarts, and the errors of opening.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use floor_cache::{ChainConfig, OpenError, Options, TierKind};

use crate::fixture::{
    Fixture, keys, names_in, put_durably,
    small_disk::SmallDisk,
    stores::{CAPACITY, StoreDir},
    when_free,
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
    assert!(is_root() || matches!(opened, Err(OpenError::Directory { .. })), "{opened:?}");
}

pub(crate) async fn a_check_finds_an_unusable_directory_and_creates_none(dir: &StoreDir) {
    let (name, home) = (dir.name(), dir.path());
    fs::create_dir(&home).unwrap();
    let file = home.join("file");
    fs::write(&file, "in the way").unwrap();
    let problems = |path: PathBuf| {
        let mut config = ChainConfig { chain: vec![dir.store.kind()], ..ChainConfig::default() };
        dir.store.configure(&mut config, path, CAPACITY);
        floor_cache::check(&config)
    };
    for path in [file.clone(), file.join("store")] {
        let found = problems(path);
        assert!(matches!(&found[..], [OpenError::Directory { tier, .. }] if *tier == name), "{found:?}");
    }
    let missing = home.join("missing");
    assert!(problems(missing.join("store")).is_empty());
    assert!(!missing.exists());
    fs::set_permissions(&home, fs::Permissions::from_mode(0o555)).unwrap();
    assert!(is_root() || problems(missing).len() == 1);
    fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) async fn new_directories_are_accessible_to_their_user_only(dir: &StoreDir) {
    let parent = dir.path();
    let path = parent.join("store");
    drop(dir.store.open(path.clone(), CAPACITY).unwrap());
    for created in [parent, path] {
        assert_eq!(fs::metadata(created).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

pub(crate) async fn a_store_of_another_version_is_put_aside(dir: &StoreDir) {
    let tier = dir.open();
    put_durably(&*tier, &keys(0..10)).await;
    assert_eq!(tier.aside_bytes(), Some(0));
    drop(tier);
    dir.store.set_layout(&dir.path(), &format!("floor-cache {} 2", dir.name()));
    let tier = dir.open();
    assert!(tier.aside_bytes().unwrap() > 0 && tier.stats().entries == 0);
    assert_eq!(dir.aside("other-version"), 1);
    drop(tier);
    assert!(dir.open().aside_bytes().unwrap() > 0, "it is still there");
}

/// Where a disk is mounted at the path of the store.
pub(crate) async fn a_store_at_a_mount_point_is_put_aside_inside_of_it(dir: &StoreDir) {
    let Some(disk) = SmallDisk::mount(64 << 20) else { return };
    let open = || when_free(|| dir.store.open(disk.path().to_owned(), CAPACITY));
    let store = disk.path().file_name().unwrap().to_str().unwrap();
    for round in 0..3 {
        let tier = open();
        assert_eq!(tier.stats().entries, 0, "{round}");
        put_durably(&*tier, &keys(0..10)).await;
        drop(tier);
        dir.store.set_layout(disk.path(), "another");
    }
    assert!(open().aside_bytes().unwrap() > 0);
    let names = names_in(disk.path());
    let prefix = format!("{store}.other-version-20");
    assert_eq!(names.iter().filter(|name| name.starts_with(&prefix)).count(), 1, "one is kept: {names:?}");
}

pub(crate) async fn a_store_in_use_is_an_error(dir: &StoreDir) {
    let _held = dir.open();
    let error = dir.try_open().unwrap_err();
    assert!(matches!(error, OpenError::Locked { tier, .. } if tier == dir.name()), "{error:?}");
    assert!(error.to_string().contains("is in use by another process; stop that one"), "{error}");
}

/// Whether permissions do not restrict this user.
fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}
