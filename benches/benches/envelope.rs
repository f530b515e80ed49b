//! The cost of the envelope of stored values. `cargo bench -- envelope`.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

use std::{cell::LazyCell, hint::black_box, time::Duration};

use benches::floors::{self, Entries};
use bytes::Bytes;
use criterion::{Bencher, BenchmarkId, Criterion, Throughput, criterion_group};
use floor_cache::{
    Key,
    envelope::{Envelope, MasterKeys, Namespace},
};

/// Length of the values: about that of a floor.
const LENGTH: usize = 4 << 10;

/// Values.
const COUNT: u32 = 256;

/// A key for the bench only; not a secret.
const KEY: &str = "1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// All kinds of envelope, with their names.
fn envelopes() -> [(&'static str, Envelope); 4] {
    let keys: MasterKeys = KEY.parse().expect("a key as it must be written");
    let plain = Envelope::new(Namespace::new("floors").expect("a good name"), floor_gen::GENERATOR_VERSION);
    [
        ("hash", plain.clone()),
        ("hash+lz4", plain.clone().compressing(true)),
        ("hash+aes", plain.clone().sealing(&keys)),
        ("hash+lz4+aes", plain.compressing(true).sealing(&keys)),
    ]
}

fn envelope(criterion: &mut Criterion) {
    let entries = LazyCell::new(|| Entries::of_length(LENGTH, COUNT));
    let mut group = criterion.benchmark_group("envelope");
    group.throughput(Throughput::Bytes(LENGTH as u64));
    for (label, envelope) in envelopes() {
        group.bench_function(BenchmarkId::new(format!("seal/{label}"), "4KiB"), |bencher| {
            seal(bencher, &envelope, &entries);
        });
        let sealed = LazyCell::new(|| entries.all().iter().map(|entry| sealed(&envelope, entry)).collect::<Vec<_>>());
        group.bench_function(BenchmarkId::new(format!("open/{label}"), "4KiB"), |bencher| {
            open(bencher, &envelope, &entries, &sealed);
        });
    }
}

fn sealed(envelope: &Envelope, (key, value): &(Key, Bytes)) -> Vec<u8> {
    let mut out = Vec::new();
    envelope.seal(&envelope.stored(key), value, &mut out).expect("a value within bounds");
    out
}

fn seal(bencher: &mut Bencher<'_>, envelope: &Envelope, entries: &Entries) {
    let (mut step, mut out) = (0, Vec::new());
    bencher.iter(|| {
        step += 1;
        let (key, value) = entries.at(step);
        out.clear();
        envelope.seal(&envelope.stored(key), value, &mut out).expect("a value within bounds");
        black_box(&out);
    });
    let (key, value) = entries.at(step);
    assert_eq!(envelope.open(&envelope.stored(key), &out).as_deref(), Ok(&value[..]), "what was sealed opens");
}

fn open(bencher: &mut Bencher<'_>, envelope: &Envelope, entries: &Entries, sealed: &[Vec<u8>]) {
    let mut step = 0;
    bencher.iter(|| {
        step += 1;
        let place = floors::index_at(step, sealed.len());
        envelope.open(&envelope.stored(&entries.all()[place].0), &sealed[place]).expect("it was sealed under this key")
    });
    for ((key, value), sealed) in entries.all().iter().zip(sealed) {
        assert_eq!(envelope.open(&envelope.stored(key), sealed).as_ref(), Ok(value), "the same bytes");
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(50).nresamples(10_000).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(1));
    targets = envelope
}
benches::bench_main!(benches);
