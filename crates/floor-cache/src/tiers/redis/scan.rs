//! A scan of a Redis server, or of each master of a cluster in turn, for the keys that match a pattern.

use std::iter;

use redis::{Cmd, Value};

use crate::{envelope::StoredPattern, tier::ScanPosition};

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

/// The command for the step at `cursor` of a scan for the stored keys that match `pattern`.
pub(super) fn step(cursor: &str, pattern: &StoredPattern) -> Cmd {
    let (head, skipped, bytes) = pattern.parts();
    let mut glob = Vec::with_capacity(2 * head.len() + skipped + 2 * bytes.len() + 1);
    escape(head, &mut glob);
    // In a glob `?` is any byte.
    glob.extend(iter::repeat_n(b'?', skipped));
    escape(bytes, &mut glob);
    glob.push(b'*');
    let mut command = redis::cmd("SCAN");
    command.arg(cursor).arg("MATCH").arg(glob).arg("COUNT").arg(STEP);
    command
}

/// Appends `bytes` to `glob`, so that none of them has a meaning of its own.
fn escape(bytes: &[u8], glob: &mut Vec<u8>) {
    for byte in bytes {
        if b"*?[]\\".contains(byte) {
            glob.push(b'\\');
        }
        glob.push(*byte);
    }
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
    use crate::{envelope::Namespace, key::KeyPattern};

    #[test]
    fn a_position_keeps_the_scans_of_every_master() {
        let scans = [("10.0.0.1:6379", "17"), ("", "18446744073709551615"), ("[::1]:7000", "3")];
        let scans = scans.map(|(node, cursor)| (node.to_owned(), cursor.to_owned()));
        assert_eq!(from_position(&position(&scans).unwrap()), scans);
        assert_eq!(position(&[]), None);
    }

    #[test]
    fn special_bytes_are_escaped_and_skipped_ones_are_any() {
        let namespace = Namespace::new("a*").unwrap();
        let sent = |pattern: &KeyPattern| step("0", &namespace.stored_pattern(pattern)).get_packed_command();
        let contains = |packed: Vec<u8>, glob: &[u8]| packed.windows(glob.len()).any(|part| part == glob);
        assert!(contains(sent(&KeyPattern::prefix(b"*[\\").unwrap()), b"\r\na\\*:\\*\\[\\\\*\r\n"));
        assert!(contains(sent(&KeyPattern::at(3, b"?b").unwrap()), b"\r\na\\*:???\\?b*\r\n"));
        assert!(contains(sent(&KeyPattern::ALL), b"\r\na\\*:*\r\n"));
    }
}
