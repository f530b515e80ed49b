//! Tests of LMDB's own structures: damage is found in use, or affects no other entry; and servers that share a store.

mod fixture;

use std::{
    env, fs,
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
};

use fixture::{
    entries,
    fake_source::value_of,
    key, keys, put, put_durably,
    stores::{AGE, CAPACITY, Lmdb, Store, StoreDir, VALUE, fill, held, lmdb_database, sized, stored, within_lmdb},
    test_process,
};

const PAGE: usize = 4096;

/// Zeroed pages of values: queries fail, and the next start quarantines the store.
#[tokio::test]
async fn a_store_found_damaged_in_use_is_quarantined_at_the_next_start() {
    let dir = StoreDir::new(&Lmdb);
    let tier = dir.open();
    put_durably(&*tier, &keys(0..300)).await;
    drop(tier);
    let data = dir.path().join("data.mdb");
    let mut bytes = fs::read(&data).unwrap();
    // A page starts with its number and flags, of which 2 means leaf, and the bounds of its free space, which may
    // contain stale data.
    let nodes = |page: &[u8]| usize::from(u16::from_le_bytes([page[14], page[15]])).min(PAGE);
    let holds_values = |page: &[u8]| page[10] & 2 != 0 && page[nodes(page)..].windows(4).any(|word| word == b"FLC\x01");
    bytes.chunks_exact_mut(PAGE).filter(|page| holds_values(page)).for_each(|page| page.fill(0));
    fs::write(&data, &bytes).unwrap();

    let tier = dir.try_open().expect("the damage is not detected at the start");
    assert_eq!(dir.quarantined(), 0);
    tier.get(&key(1, 1)).await.expect_err("the page is gone");
    tier.put_many(&entries(&keys(0..300))).await.expect_err("LMDB is not used again");
    drop(tier);
    let tier = dir.open();
    assert_eq!(dir.quarantined(), 1);
    put(&*tier, &keys(0..300)).await;
    assert_eq!(tier.get(&key(1, 1)).await.unwrap(), Some(value_of(&key(1, 1))));
}

/// A damaged age, which no hash covers, breaks the order of a tree: eviction still ends.
#[tokio::test]
async fn a_store_with_damaged_ages_is_quarantined_at_the_next_start() {
    let dir = StoreDir::new(&Lmdb);
    let tier = dir.open_sized(1 << 20);
    fill(&*tier, 0..10).await;
    tier.flush().await.unwrap();
    drop(tier);
    let data = dir.path().join("data.mdb");
    let mut bytes = fs::read(&data).unwrap();
    let oldest = [&[0; 8][..], &stored(&key(0, 1))].concat();
    let places: Vec<usize> = (0..bytes.len() - oldest.len()).filter(|at| bytes[*at..].starts_with(&oldest)).collect();
    assert!(!places.is_empty(), "the first age is there");
    places.iter().for_each(|at| bytes[*at] = 0xFF);
    fs::write(&data, &bytes).unwrap();

    let tier = Lmdb.open(dir.path(), 1 << 20).expect("the damage is not detected at the start");
    let mut failed = false;
    for number in 10..1000 {
        failed |= tier.put_many(&sized(number..number + 1, VALUE)).await.is_err();
    }
    assert!(failed, "the oldest cannot be found");
    drop(tier);
    drop(dir.open_sized(1 << 20));
    assert_eq!(dir.quarantined(), 1);
}

/// No hash covers the age of a record. A wrong age must not replace that of another value in the eviction order.
#[tokio::test]
async fn a_damaged_age_does_not_keep_another_value_forever() {
    let dir = StoreDir::new(&Lmdb);
    let tier = dir.open_small();
    fill(&*tier, 0..3).await;
    drop(tier);
    // The first record gets the age of the second. The age of the third is lost.
    within_lmdb(&dir.path(), |env, txn| {
        let (values, ages) = (lmdb_database(env, txn, "values"), lmdb_database(env, txn, "ages"));
        let [first, second, third] = [0, 1, 2]
            .map(|number| values.get(txn, &stored(&key(number, 1))).expect("no error").expect("it is there").to_vec());
        let wrong = [&second[..AGE], &first[AGE..]].concat();
        values.put(txn, &stored(&key(0, 1)), &wrong).expect("it takes the record");
        ages.delete(txn, &third[..AGE]).expect("no error");
    });
    let tier = dir.open_small();
    tier.remove_many(&keys(0..1)).await.unwrap();
    fill(&*tier, 1000..4000).await;
    assert!(!tier.contains(&key(1, 1)).await.expect("it answers"), "the second value was evicted in order");
}

/// Values without an age are evicted after all others.
#[tokio::test]
async fn values_without_an_age_are_evicted() {
    let dir = StoreDir::new(&Lmdb);
    let tier = dir.open();
    for first in (0..300).step_by(10) {
        tier.put_many(&sized(first..first + 10, 100_000)).await.unwrap();
    }
    let before = held(&*tier, 0..300).await.len();
    drop(tier);
    within_lmdb(&dir.path(), |env, txn| lmdb_database(env, txn, "ages").clear(txn).expect("they go"));
    let tier = dir.open();
    tier.put_many(&sized(3000..3004, 100_000)).await.expect("there is space");
    assert!(held(&*tier, 0..300).await.len() < before, "{before} before");
    assert_eq!(held(&*tier, 3000..3004).await.len(), 4);
}

/// Before packs a key had 24 bytes: such entries are never read, and make room like others.
#[tokio::test]
async fn entries_with_shorter_keys_of_an_earlier_version_are_not_found_and_are_evicted() {
    let dir = StoreDir::new(&Lmdb);
    let tier = dir.open_small();
    fill(&*tier, 0..100).await;
    drop(tier);
    let shorter = |stored: &[u8]| [&stored[..stored.len() - 12], &stored[stored.len() - 4..]].concat();
    let older: Vec<_> = (0..100).map(|number| stored(&key(number, 1))).collect();
    within_lmdb(&dir.path(), |env, txn| {
        let (values, ages) = (lmdb_database(env, txn, "values"), lmdb_database(env, txn, "ages"));
        for stored in &older {
            let record = values.get(txn, stored).expect("no error").expect("it is there").to_vec();
            values.delete(txn, stored).expect("no error");
            values.put(txn, &shorter(stored), &record).expect("it takes the record");
            ages.put(txn, &record[..AGE], &shorter(stored)).expect("it takes the age");
        }
    });
    let tier = dir.open_small();
    assert_eq!(held(&*tier, 0..100).await, Vec::<u64>::new());
    fill(&*tier, 0..100).await;
    assert_eq!(held(&*tier, 0..100).await.len(), 100, "the same floors are stored beside them");
    fill(&*tier, 1000..6000).await;
    tier.flush().await.unwrap();
    assert_eq!(tier.stats().corrupt, 0);
    drop(tier);
    within_lmdb(&dir.path(), |env, txn| {
        let values = lmdb_database(env, txn, "values");
        let left = older.iter().filter(|stored| values.get(txn, &shorter(stored)).expect("no error").is_some());
        assert_eq!(left.count(), 0, "they were evicted");
    });
}

#[tokio::test]
async fn a_read_writes_nothing() {
    let dir = StoreDir::new(&Lmdb);
    let tier = dir.open_small();
    fill(&*tier, 0..2000).await;
    let data = || fs::read(dir.path().join("data.mdb")).expect("it can be read");
    let before = data();
    let found = tier.get_many(&keys(0..2000)).await.unwrap();
    assert!(found.into_iter().flatten().count() > 300);
    assert!(data() == before, "the file has changed");
}

/// Set in the child process that opens a store: its path.
const OPEN: &str = "FLOORS_TEST_OPEN";

/// The child process: it opens the store, and holds it until its input ends.
#[test]
fn the_process_that_holds_a_store() {
    let Some(path) = env::var_os(OPEN) else { return };
    match Lmdb.open(path.into(), CAPACITY) {
        Ok(_tier) => {
            println!("process {} opened it", std::process::id());
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        }
        Err(error) => println!("refused: {error}"),
    }
}

/// The first process of a new namespace of process ids, as in a container, which opens the store of `dir`. `None` if this
/// user may make none.
fn first_of_a_container(dir: &StoreDir) -> Option<Command> {
    let unshare = |program: &mut Command| {
        program.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    };
    let mut possible = Command::new("unshare");
    unshare(&mut possible);
    if !possible.arg("true").stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        println!("skipped: no right to make a namespace of process ids");
        return None;
    }
    let (mut command, test) = (Command::new("unshare"), test_process("the_process_that_holds_a_store"));
    unshare(&mut command);
    command.arg(test.get_program()).args(test.get_args()).env(OPEN, dir.path());
    Some(command)
}

/// LMDB knows readers by their process ids: two servers, each the first process of its container, are one to it.
#[test]
fn a_server_with_the_process_id_of_another_is_refused_and_told_why() {
    let dir = StoreDir::new(&Lmdb);
    let Some(mut first) = first_of_a_container(&dir) else { return };
    let mut first = first.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(first.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.ends_with("process 1 opened it")));
    // One with another number shares the store.
    drop(dir.open());
    let second = first_of_a_container(&dir).unwrap().stdin(Stdio::null()).output().unwrap();
    let second = String::from_utf8_lossy(&second.stdout).into_owned();
    let expected = "is in use by another server with the process id 1, as in another container";
    assert!(second.contains("refused: the lmdb store in ") && second.contains(expected), "{second}");
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    // It is free again, and nothing was put aside.
    let third = first_of_a_container(&dir).unwrap().stdin(Stdio::null()).output().unwrap();
    assert!(String::from_utf8_lossy(&third.stdout).contains("process 1 opened it"));
    assert_eq!(dir.quarantined(), 0);
}
