//! The static table (RFC 7541, appendix A).

use std::{collections::HashMap, ops::Range, sync::LazyLock};

use foldhash::fast::RandomState;

/// Names and values. The first has index 1.
pub(super) const STATIC_TABLE: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// Where the statuses are in the table.
const STATUSES: Range<usize> = 7..14;

/// The first index of each name.
static INDICES: LazyLock<HashMap<&'static str, usize, RandomState>> = LazyLock::new(|| {
    let indices = STATIC_TABLE.iter().enumerate().map(|(index, (name, _))| (*name, index + 1));
    // The first is inserted last, and stays.
    indices.rev().collect()
});

/// The first index of a field with this name.
pub(super) fn index_of_name(name: &str) -> Option<usize> {
    INDICES.get(name).copied()
}

/// The index of the field `:status` with this value.
pub(super) fn index_of_status(status: &str) -> Option<usize> {
    let index = STATIC_TABLE[STATUSES].iter().position(|(_, value)| *value == status)?;
    Some(STATUSES.start + index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_statuses_have_their_first_index() {
        for (index, (name, value)) in STATIC_TABLE.iter().enumerate() {
            let first = STATIC_TABLE.iter().position(|other| other.0 == *name).unwrap();
            assert_eq!(index_of_name(name), Some(first + 1), "{name}");
            assert_eq!(STATUSES.contains(&index), *name == ":status", "{name}");
            if *name == ":status" {
                assert_eq!(index_of_status(value), Some(index + 1));
            }
        }
        assert_eq!((index_of_name("floor-served-by"), index_of_status("418")), (None, None));
    }
}
