//! Request logs for a replay: lines of text, or libCacheSim's binary format.
//!
//! - CSV: `time_us,seed,number[,width,height,kind]`, with or without a line of these names. Width and height may be
//!   empty or 0 for the ordinary size, the kind empty for that of the tower's schedule.
//! - oracleGeneral: 24 bytes for each request, little-endian: seconds (u32), object (u64), its size in bytes (u32), and
//!   the next access (i64), which is not used. An object becomes a floor: the first object is floor 1 of one tower, the
//!   next new one floor 2, and so on, each with the side at which a floor has about the size of the object.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use floor_gen::{FloorSpec, Generator, Kind};
use floor_proto::v1;

use crate::{exact_lru::Access, floors::TOWER, load};

/// Bytes of a floor's frame for each of its cells, about.
const BYTES_PER_CELL: f64 = 0.47;

/// The greatest number of a floor of a tower.
const MAX_NUMBER: u64 = 1_000_000;

/// Bytes of a request in the format oracleGeneral.
const ORACLE_GENERAL: usize = 24;

/// The first bytes of a file that zstd compressed.
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// A request of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Microseconds on the log's clock.
    pub time_us: u64,
    /// The requested floor.
    pub spec: FloorSpec,
}

/// The requests of a log, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace(Vec<Request>);

impl Trace {
    /// Reads the first `limit` requests of `path`: as CSV if the name ends in `.csv`, else as oracleGeneral.
    ///
    /// # Errors
    /// When the file cannot be read or is in neither format. The message names the line or the request.
    pub fn read(path: &Path, limit: usize) -> anyhow::Result<Self> {
        let file = BufReader::new(File::open(path).with_context(|| format!("cannot open {}", path.display()))?);
        let is_csv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        let read = if is_csv { Self::of_csv(file, limit) } else { Self::of_oracle_general(file, limit) };
        let trace = read.with_context(|| format!("cannot replay {}", path.display()))?;
        ensure!(!trace.0.is_empty(), "{} has no request", path.display());
        Ok(trace)
    }

    fn of_csv(file: impl BufRead, limit: usize) -> anyhow::Result<Self> {
        let mut requests = Vec::new();
        for (number, line) in file.lines().enumerate() {
            let line = line.with_context(|| format!("line {}", number + 1))?;
            let line = line.trim();
            if line.is_empty() || (number == 0 && line.starts_with("time_us")) {
                continue;
            }
            if requests.len() == limit {
                break;
            }
            requests.push(request_of(line).with_context(|| format!("line {}: {line:?}", number + 1))?);
        }
        Ok(Self(requests))
    }

    fn of_oracle_general(mut file: impl Read, limit: usize) -> anyhow::Result<Self> {
        let (mut requests, mut floors) = (Vec::new(), HashMap::new());
        let mut record = [0; ORACLE_GENERAL];
        while requests.len() < limit {
            match filled(&mut file, &mut record)? {
                0 => break,
                ORACLE_GENERAL => {}
                short => bail!(
                    "request {} has {short} bytes, not {ORACLE_GENERAL}; the file is not oracleGeneral",
                    requests.len() + 1
                ),
            }
            ensure!(
                !requests.is_empty() || record[..4] != ZSTD,
                "it is compressed; decompress it first with `zstd -d`"
            );
            let seconds = u32::from_le_bytes(array(&record[..4]));
            let (object, size) =
                (u64::from_le_bytes(array(&record[4..12])), u32::from_le_bytes(array(&record[12..16])));
            let next = floors.len() as u64;
            let spec = match floors.get(&object) {
                Some(spec) => *spec,
                None => *floors.entry(object).or_insert(floor_for(next, size)?),
            };
            requests.push(Request { time_us: u64::from(seconds) * 1_000_000, spec });
        }
        Ok(Self(requests))
    }

    /// The requests.
    pub fn requests(&self) -> &[Request] {
        &self.0
    }

    /// The framed messages of the calls.
    pub fn messages(&self) -> Arc<[Bytes]> {
        self.0.iter().map(|request| message(&request.spec)).collect()
    }

    /// When each call is due after the first, with time `speed` times as fast as in the log. A time that goes back
    /// counts as that of the request before.
    pub fn schedule(&self, speed: f64) -> Arc<[Duration]> {
        let first = self.0.first().map_or(0, |request| request.time_us);
        let mut latest = 0;
        let due = |request: &Request| {
            latest = request.time_us.saturating_sub(first).max(latest);
            Duration::from_secs_f64(latest as f64 / 1e6 / speed)
        };
        self.0.iter().map(due).collect()
    }

    /// The accesses with the bytes of each floor's frame, which are those that a server stores. Generates each floor
    /// once.
    pub fn accesses(&self) -> Vec<Access> {
        let (mut generator, mut floors) = (Generator::new(), HashMap::<FloorSpec, Access>::new());
        let mut access = |spec: &FloorSpec| {
            let id = floors.len() as u64;
            *floors.entry(*spec).or_insert_with(|| (id, floor_wire::framed(&generator.generate(spec)).len() as u64))
        };
        self.0.iter().map(|request| access(&request.spec)).collect()
    }
}

/// The request in a line of CSV.
fn request_of(line: &str) -> anyhow::Result<Request> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    ensure!(
        (3..=6).contains(&fields.len()),
        "it has {} fields; write time_us,seed,number[,width,height,kind]",
        fields.len()
    );
    let number = |at: usize, name: &str| match fields.get(at) {
        None | Some(&"") => Ok(0),
        Some(text) => text.parse::<u64>().with_context(|| format!("{name} {text:?} is not a whole number")),
    };
    let small = |at, name| {
        let wide = number(at, name)?;
        u32::try_from(wide).with_context(|| format!("{name} {wide} is too large"))
    };
    let kind = match fields.get(5) {
        None | Some(&"") => None,
        Some(text) => {
            let by_name = || Kind::from_name(&text.to_ascii_lowercase());
            let kind = text.parse().ok().map_or_else(by_name, Kind::from_number);
            Some(kind.with_context(|| format!("no kind of floor is named {text:?}; write one as standard or 1"))?)
        }
    };
    let (width, height) = (small(3, "width")?, small(4, "height")?);
    let spec = FloorSpec::resolve(number(1, "seed")?, small(2, "number")?, width, height, kind)?;
    Ok(Request { time_us: number(0, "time_us")?, spec })
}

/// The floor for the object that is the `index`-th new one, with about `size` bytes.
fn floor_for(index: u64, size: u32) -> anyhow::Result<FloorSpec> {
    let side = (f64::from(size) / BYTES_PER_CELL).sqrt() as u32;
    let side = side.clamp(FloorSpec::MIN_SIDE.into(), FloorSpec::MAX_SIDE.into());
    let number = (index % MAX_NUMBER) as u32 + 1;
    Ok(FloorSpec::resolve(TOWER + index / MAX_NUMBER, number, side, side, None)?)
}

fn message(spec: &FloorSpec) -> Bytes {
    let spec = v1::FloorSpec {
        seed: spec.seed(),
        number: spec.number(),
        width: spec.width().into(),
        height: spec.height().into(),
        kind: spec.kind() as i32,
    };
    load::framed(&v1::GetFloorRequest { spec: Some(spec) })
}

/// Reads until `record` is full or the file ends. Returns the number of bytes.
fn filled(file: &mut impl Read, record: &mut [u8]) -> anyhow::Result<usize> {
    let mut read = 0;
    while read < record.len() {
        match file.read(&mut record[read..])? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the slice has this length")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(text: &str) -> anyhow::Result<Trace> {
        Trace::of_csv(text.as_bytes(), usize::MAX)
    }

    #[test]
    fn a_line_may_leave_out_size_and_kind() {
        let text = "time_us,seed,number,width,height,kind\n5,42,7\n9,42,7,32,64,CAVERN\n\n10,42,8,,,\n11,1,2,0,0,4";
        let trace = csv(text).unwrap();
        let spec = |number, width, height, kind| FloorSpec::resolve(42, number, width, height, kind).unwrap();
        assert_eq!(trace.0[0], Request { time_us: 5, spec: spec(7, 0, 0, None) });
        assert_eq!(trace.0[1], Request { time_us: 9, spec: spec(7, 32, 64, Some(Kind::Cavern)) });
        assert_eq!(trace.0[2].spec, spec(8, 0, 0, None));
        assert_eq!(trace.0[3].spec.kind(), Kind::Cavern);
        assert_eq!(trace.schedule(2.0)[1], Duration::from_micros(2));
        let accesses = trace.accesses();
        assert_eq!(accesses[0].0, 0);
        assert!(accesses[0].1 > 1000 && accesses[1].1 < accesses[0].1, "{accesses:?}");
    }

    #[test]
    fn a_wrong_line_is_named_with_what_would_be_right() {
        for (line, expected) in [
            ("1,2", "it has 2 fields; write time_us,seed,number"),
            ("1,2,x", "number \"x\" is not a whole number"),
            ("1,2,3,0,0,TOWER", "no kind of floor is named \"TOWER\""),
            ("1,2,99999999999", "too large"),
            ("1,2,0", "number"),
        ] {
            let error = format!("{:#}", csv(&format!("1,2,3\n{line}")).unwrap_err());
            assert!(error.starts_with("line 2: ") && error.contains(expected), "{error}");
        }
    }

    #[test]
    fn objects_become_floors_of_their_size() {
        let record = |seconds: u32, object: u64, size: u32| {
            let mut bytes = seconds.to_le_bytes().to_vec();
            bytes.extend(object.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            bytes.extend((-1_i64).to_le_bytes());
            bytes
        };
        let bytes = [record(3, u64::MAX, 4700), record(4, 5, 1), record(5, u64::MAX, 4700), record(5, 6, u32::MAX)];
        let trace = Trace::of_oracle_general(&bytes.concat()[..], usize::MAX).unwrap();
        let shape = |at: usize| (trace.0[at].spec.number(), trace.0[at].spec.width());
        assert_eq!([shape(0), shape(1), shape(2), shape(3)], [(1, 100), (2, 16), (1, 100), (3, 512)]);
        assert_eq!(*trace.schedule(1.0), [0, 1, 2, 2].map(Duration::from_secs));
        let limited = Trace::of_oracle_general(&bytes.concat()[..], 2).unwrap();
        assert_eq!(limited.0.len(), 2);
        let cut = Trace::of_oracle_general(&bytes.concat()[..30], usize::MAX).unwrap_err();
        assert!(cut.to_string().contains("request 2 has 6 bytes"), "{cut}");
        let compressed = [&ZSTD[..], &[0; 20]].concat();
        let error = Trace::of_oracle_general(&compressed[..], usize::MAX).unwrap_err();
        assert!(error.to_string().contains("zstd -d"), "{error}");
    }
}
