//! Runs h2load and parses its output. h2load is a load generator in C that needs less CPU than any server measured
//! here. The command `serving` calls it.

use std::{net::SocketAddr, path::Path, process::Command, time::Duration};

use anyhow::{Context, ensure};

use crate::load::Method;

/// The result of a run.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// Time from the first call to the last answer.
    pub took: Duration,
    /// Bytes of DATA frames: messages with their frame prefixes.
    pub data_bytes: u64,
}

/// Checks that h2load is installed.
///
/// # Errors
/// When it is not; the message says how to install it.
pub fn installed() -> anyhow::Result<()> {
    ensure!(
        Command::new("h2load").arg("--version").output().is_ok(),
        "h2load is not on the PATH; install nghttp2 (Debian: apt install nghttp2-client)"
    );
    Ok(())
}

/// Makes `calls` calls of `method` from one thread, each with the framed message in the file `body`.
///
/// # Errors
/// When h2load does not start, or any call fails.
pub fn run(
    server: SocketAddr,
    method: Method,
    body: &Path,
    connections: usize,
    streams: usize,
    calls: u64,
) -> anyhow::Result<Outcome> {
    let output = Command::new("h2load")
        .args(["-n", &calls.to_string(), "-c", &connections.to_string(), "-m", &streams.to_string(), "-t", "1"])
        .args(["-H", "content-type: application/grpc", "-H", "te: trailers", "-d"])
        .arg(body)
        .arg(format!("http://{server}{}", method.path()))
        .output()
        .context("h2load does not start")?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text, calls).with_context(|| format!("h2load printed:\n{text}"))
}

/// Parses these lines of h2load's output:
/// `finished in 1.17s, 85398.02 req/s, 290.54MB/s`,
/// `requests: 100000 total, 100000 started, 100000 done, 100000 succeeded, 0 failed, 0 errored, 0 timeout` and
/// `traffic: 340.22MB (356747000) total, 3.16MB (3315000) headers (space savings 93.26%), 333.21MB (349400000) data`.
fn parse(text: &str, calls: u64) -> anyhow::Result<Outcome> {
    let after = |start: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(start));
    let finished = after("finished in ").and_then(|rest| rest.split(',').next()).context("no time")?;
    let requests = after("requests: ").context("no count")?;
    ensure!(requests.contains(&format!("{calls} succeeded, 0 failed, 0 errored, 0 timeout")), "calls failed");
    let data = after("traffic: ").and_then(|rest| rest.rsplit('(').next()?.split(')').next()).context("no traffic")?;
    Ok(Outcome { took: time(finished).with_context(|| format!("{finished:?} is no time"))?, data_bytes: data.parse()? })
}

/// `1.17s`, `843.20ms` or `912us`.
fn time(text: &str) -> Option<Duration> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    Some(Duration::from_secs_f64(number.parse::<f64>().ok()? * unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
finished in 843.20ms, 85398.02 req/s, 290.54MB/s
requests: 100000 total, 100000 started, 100000 done, 100000 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 100000 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 340.22MB (356747000) total, 3.16MB (3315000) headers (space savings 93.26%), 333.21MB (349400000) data
";

    #[test]
    fn what_h2load_prints_is_read() {
        let outcome = parse(PRINTED, 100_000).unwrap();
        assert_eq!(outcome.took, Duration::from_micros(843_200));
        assert_eq!(outcome.data_bytes, 349_400_000);
    }

    #[test]
    fn a_failed_call_is_an_error() {
        let failed = PRINTED.replace("100000 succeeded, 0 failed", "99999 succeeded, 1 failed");
        assert!(parse(&failed, 100_000).is_err());
        assert!(parse("", 1).is_err());
    }
}
