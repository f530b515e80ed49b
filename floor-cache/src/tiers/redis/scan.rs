//! A scan of a Redis server, or of each master of a cluster in turn, for the keys with a prefix.

use redis::{Cmd, Value};

use crate::tier::ScanPosition;

/// Keys that the server looks at in one step: about a millisecond, for which other clients wait.
const STEP: u32 = 1000;

/// Where the scan of a master goes on.
pub(super) type MasterScan = (String, String);

/// What one step found.
pub(super) struct Found {
    /// Where the next step begins; `None` after the last.
    pub(super) cursor: Option<String>,
    pub(super) keys: Vec<Vec<u8>>,
}

/// The command for the step at `cursor` of a scan for the stored keys that begin with `prefix`.
pub(super) fn step(cursor: &str, prefix: &[u8]) -> Cmd {
    let mut pattern = Vec::with_capacity(2 * prefix.len() + 1);
    for byte in prefix {
        if b"*?[]\\".contains(byte) {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    pattern.push(b'*');
    let mut command = redis::cmd("SCAN");
    command.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(STEP);
    command
}

/// The cursor and the keys in the reply to a step.
pub(super) fn found(reply: Value) -> Option<Found> {
    let (cursor, keys): (String, Vec<Vec<u8>>) = redis::from_redis_value(reply).ok()?;
    Some(Found { cursor: (cursor != "0").then_some(cursor), keys })
}

/// The scans that are not complete as a position, a line for each; `None` if all are.
pub(super) fn position(scans: &[MasterScan]) -> Option<ScanPosition> {
    let lines = scans.iter().map(|(node, cursor)| format!("{cursor} {node}\n"));
    (!scans.is_empty()).then(|| ScanPosition(lines.collect::<String>().into_bytes()))
}

/// The scans in a position.
pub(super) fn from_position(ScanPosition(lines): &ScanPosition) -> Vec<MasterScan> {
    let lines = String::from_utf8_lossy(lines);
    let scans = lines.lines().filter_map(|line| line.split_once(' '));
    scans.map(|(cursor, node)| (node.to_owned(), cursor.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_keeps_the_scans_of_every_master() {
        let scans = [("10.0.0.1:6379", "17"), ("", "18446744073709551615"), ("[::1]:7000", "3")];
        let scans = scans.map(|(node, cursor)| (node.to_owned(), cursor.to_owned()));
        assert_eq!(from_position(&position(&scans).unwrap()), scans);
        assert_eq!(position(&[]), None);
    }

    #[test]
    fn special_bytes_of_a_prefix_are_escaped() {
        let packed = step("0", b"a*[\\").get_packed_command();
        let pattern = b"a\\*\\[\\\\*";
        assert!(packed.windows(pattern.len()).any(|part| part == pattern), "{packed:?}");
    }
}
