//! Request logs for a replay: `time_us,seed,number[,width,height,kind]`, a line for each request, with or without a line of
//! these names. Width and height may be empty or 0 for the ordinary size, the kind empty for that of the tower's schedule.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, ensure};
use benches::load;
use bytes::Bytes;
use floor_gen::{FloorSpec, Kind};
use floor_proto::v1;

/// A request of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Request {
    /// Microseconds on the log's clock.
    time_us: u64,
    /// The requested floor.
    spec: FloorSpec,
}

/// The requests of a log, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestLog(Vec<Request>);

impl RequestLog {
    /// Reads the first `limit` requests of `path`.
    ///
    /// # Errors
    /// When the file cannot be read or a line is wrong. The message names the line.
    pub(crate) fn read(path: &Path, limit: usize) -> anyhow::Result<Self> {
        let file = BufReader::new(File::open(path).with_context(|| format!("cannot open {}", path.display()))?);
        let log = Self::of_csv(file, limit).with_context(|| format!("cannot replay {}", path.display()))?;
        ensure!(!log.0.is_empty(), "{} has no request", path.display());
        Ok(log)
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

    /// The framed messages of the calls.
    pub(crate) fn messages(&self) -> Arc<[Bytes]> {
        self.0.iter().map(|request| message(&request.spec)).collect()
    }

    /// When each call is due after the first, with time `speed` times as fast as in the log. A time that goes back
    /// counts as that of the request before.
    pub(crate) fn schedule(&self, speed: f64) -> Arc<[Duration]> {
        let first = self.0.first().map_or(0, |request| request.time_us);
        let mut latest = 0;
        let due = |request: &Request| {
            latest = request.time_us.saturating_sub(first).max(latest);
            Duration::from_secs_f64(latest as f64 / 1e6 / speed)
        };
        self.0.iter().map(due).collect()
    }
}

/// The request in a line.
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

fn message(spec: &FloorSpec) -> Bytes {
    let spec = v1::FloorSpec {
        seed: spec.seed(),
        number: spec.number(),
        width: spec.width().into(),
        height: spec.height().into(),
        kind: spec.kind() as i32,
        ..v1::FloorSpec::default()
    };
    load::framed(&v1::GetFloorRequest { spec: Some(spec) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(text: &str) -> anyhow::Result<RequestLog> {
        RequestLog::of_csv(text.as_bytes(), usize::MAX)
    }

    #[test]
    fn a_line_may_leave_out_size_and_kind() {
        let text = "time_us,seed,number,width,height,kind\n5,42,7\n9,42,7,32,64,CAVERN\n\n10,42,8,,,\n11,1,2,0,0,4";
        let log = csv(text).unwrap();
        let spec = |number, width, height, kind| FloorSpec::resolve(42, number, width, height, kind).unwrap();
        assert_eq!(log.0[0], Request { time_us: 5, spec: spec(7, 0, 0, None) });
        assert_eq!(log.0[1], Request { time_us: 9, spec: spec(7, 32, 64, Some(Kind::Cavern)) });
        assert_eq!(log.0[2].spec, spec(8, 0, 0, None));
        assert_eq!(log.0[3].spec.kind(), Kind::Cavern);
        assert_eq!(log.schedule(2.0)[1], Duration::from_micros(2));
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
}
