//! Decodes header blocks to checked fields.

use std::{collections::VecDeque, sync::LazyLock};

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Method, header,
    uri::{Authority, PathAndQuery, Scheme},
};

use super::{ENTRY_OVERHEAD, HpackError, TABLE_BYTES, huffman, static_table::STATIC_TABLE};

/// A number in a header block must be below this. All strings are shorter, as their block is.
const MAX_NUMBER: usize = 1 << 24;

/// A field of a header block. A field in a table is checked once, when it enters.
#[derive(Debug, Clone)]
pub(crate) enum Field {
    Authority,
    Method(Method),
    Path(PathAndQuery),
    Scheme,
    Header(HeaderName, HeaderValue),
    /// A path that is no valid URI. Its request gets a response.
    InvalidPath,
    /// A field that no request may have. The name is kept, because another field may refer to it.
    Malformed(Name),
}

/// The name of a field.
#[derive(Debug, Clone)]
pub(crate) enum Name {
    Authority,
    Method,
    Path,
    Scheme,
    Header(HeaderName),
    /// Not lower-case, not a token, or a pseudo-header that requests do not have; of this length.
    Malformed(usize),
}

impl Name {
    fn new(name: &[u8]) -> Self {
        match name {
            b":authority" => Self::Authority,
            b":method" => Self::Method,
            b":path" => Self::Path,
            b":scheme" => Self::Scheme,
            _ => HeaderName::from_lowercase(name).map_or(Self::Malformed(name.len()), Self::Header),
        }
    }

    /// The field with this name and `value`. Of a value that is kept, `to_bytes` makes `Bytes`.
    fn with<'a>(self, value: &'a [u8], to_bytes: fn(&'a [u8]) -> Bytes) -> Field {
        match self {
            Self::Authority if Authority::from_maybe_shared(to_bytes(value)).is_ok() => Field::Authority,
            Self::Scheme if !value.is_empty() && Scheme::try_from(value).is_ok() => Field::Scheme,
            Self::Method => Method::from_bytes(value).map_or(Field::Malformed(Self::Method), Field::Method),
            // A fragment is not sent (RFC 9112, section 3.2).
            Self::Path if value.is_empty() || value.contains(&b'#') => Field::Malformed(self),
            Self::Path => PathAndQuery::from_maybe_shared(to_bytes(value)).map_or(Field::InvalidPath, Field::Path),
            Self::Header(name) => match HeaderValue::from_maybe_shared(to_bytes(value)) {
                Ok(value) if is_trimmed(&value) && !is_of_connection(&name, &value) => Field::Header(name, value),
                _ => Field::Malformed(Self::Header(name)),
            },
            Self::Authority | Self::Scheme | Self::Malformed(_) => Field::Malformed(self),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Authority => ":authority".len(),
            Self::Method => ":method".len(),
            Self::Path => ":path".len(),
            Self::Scheme => ":scheme".len(),
            Self::Header(name) => name.as_str().len(),
            Self::Malformed(len) => *len,
        }
    }
}

/// Whether a value neither begins nor ends with white space (RFC 9113, section 8.2.1).
fn is_trimmed(value: &HeaderValue) -> bool {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !is_space(value.as_bytes().first()) && !is_space(value.as_bytes().last())
}

/// Whether a header is about the connection, which HTTP/2 does not allow (RFC 9113, section 8.2.2).
fn is_of_connection(name: &HeaderName, value: &HeaderValue) -> bool {
    match name.as_str() {
        "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" => true,
        "te" => value != "trailers",
        _ => false,
    }
}

impl Field {
    fn name(&self) -> Name {
        match self {
            Self::Authority => Name::Authority,
            Self::Method(_) => Name::Method,
            Self::Path(_) | Self::InvalidPath => Name::Path,
            Self::Scheme => Name::Scheme,
            Self::Header(name, _) => Name::Header(name.clone()),
            Self::Malformed(name) => name.clone(),
        }
    }
}

static STATIC_FIELDS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let entry = |(name, value): &(&'static str, &'static str)| Entry {
        // An empty value stands for none: these entries are there for their names.
        field: Name::new(name.as_bytes()).with(value.as_bytes(), Bytes::from_static),
        size: name.len() + value.len() + ENTRY_OVERHEAD,
    };
    STATIC_TABLE.iter().map(entry).collect()
});

#[derive(Debug, Clone)]
struct Entry {
    field: Field,
    size: usize,
}

/// The decoder of a connection.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// The dynamic table. The newest entry is first.
    table: VecDeque<Entry>,
    table_size: usize,
    max_size: usize,
    /// Counts what may have changed the table or its size.
    table_version: u64,
    /// For strings in Huffman code.
    scratch: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { table: VecDeque::new(), table_size: 0, max_size: TABLE_BYTES, table_version: 0, scratch: Vec::new() }
    }
}

impl Decoder {
    /// A number that is another one after every block that may have changed the table. A block decodes to the same
    /// fields, and may be left out, as long as the number is the same before and after it.
    pub(crate) const fn table_version(&self) -> u64 {
        self.table_version
    }

    /// Decodes a header block. Gives each field to `take` with its size in bytes (RFC 9113, section 6.5.2), until `take`
    /// returns false.
    ///
    /// # Errors
    /// The block is not valid, or its rest was not decoded. The connection has to end.
    pub(crate) fn decode(
        &mut self,
        block: &[u8],
        mut take: impl FnMut(Field, usize) -> bool,
    ) -> Result<(), HpackError> {
        let mut input = Input(block);
        let mut may_resize = true;
        while let Some(first) = input.0.first().copied() {
            let goes_on = match first {
                0x80.. => {
                    let entry = self.entry(input.number(7)?)?;
                    take(entry.field.clone(), entry.size)
                }
                0x20..0x40 => {
                    let size = input.number(5)?;
                    if !may_resize || size > TABLE_BYTES {
                        return Err(HpackError::TableSize);
                    }
                    self.table_version += 1;
                    self.max_size = size;
                    self.evict(0);
                    continue;
                }
                _ => {
                    let is_indexed = first >= 0x40;
                    let entry = self.literal(&mut input, if is_indexed { 6 } else { 4 }, first & 0xf0 == 0x10)?;
                    // A field that does not enter the table is not cloned, which would allocate.
                    if is_indexed {
                        self.table_version += 1;
                        let goes_on = take(entry.field.clone(), entry.size);
                        self.insert(entry);
                        goes_on
                    } else {
                        take(entry.field, entry.size)
                    }
                }
            };
            if !goes_on {
                return Err(HpackError::TooLarge);
            }
            may_resize = false;
        }
        if self.scratch.capacity() > TABLE_BYTES {
            self.scratch = Vec::new();
        }
        Ok(())
    }

    /// A literal field whose first byte has the index of its name in `bits` bits.
    fn literal(&mut self, input: &mut Input<'_>, bits: u32, is_sensitive: bool) -> Result<Entry, HpackError> {
        let (name, name_len) = match input.number(bits)? {
            0 => {
                let name = input.string(&mut self.scratch)?;
                (Name::new(name), name.len())
            }
            index => {
                let name = self.entry(index)?.field.name();
                let len = name.len();
                (name, len)
            }
        };
        let value = input.string(&mut self.scratch)?;
        let size = name_len + value.len() + ENTRY_OVERHEAD;
        let mut field = name.with(value, Bytes::copy_from_slice);
        if let Field::Header(name, value) = &mut field {
            value.set_sensitive(is_sensitive || *name == header::AUTHORIZATION);
        }
        Ok(Entry { field, size })
    }

    fn entry(&self, index: usize) -> Result<&Entry, HpackError> {
        let index = index.checked_sub(1).ok_or(HpackError::Index)?;
        let entry = match index.checked_sub(STATIC_TABLE.len()) {
            None => STATIC_FIELDS.get(index),
            Some(index) => self.table.get(index),
        };
        entry.ok_or(HpackError::Index)
    }

    fn insert(&mut self, entry: Entry) {
        self.evict(entry.size);
        // A field that is larger than the table leaves it empty.
        if entry.size <= self.max_size {
            self.table_size += entry.size;
            self.table.push_front(entry);
        }
    }

    /// Removes the oldest entries until there is space for `bytes`.
    fn evict(&mut self, bytes: usize) {
        while self.table_size + bytes > self.max_size
            && let Some(entry) = self.table.pop_back()
        {
            self.table_size -= entry.size;
        }
    }
}

/// The rest of a header block.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> Result<u8, HpackError> {
        let (first, rest) = self.0.split_first().ok_or(HpackError::Truncated)?;
        self.0 = rest;
        Ok(*first)
    }

    /// A number that begins in the last `bits` bits of the next byte (section 5.1).
    fn number(&mut self, bits: u32) -> Result<usize, HpackError> {
        let mask = (1_u8 << bits) - 1;
        let prefix = self.byte()? & mask;
        let mut number = usize::from(prefix);
        if prefix < mask {
            return Ok(number);
        }
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            number += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return if number < MAX_NUMBER { Ok(number) } else { Err(HpackError::Number) };
            }
        }
        Err(HpackError::Number)
    }

    /// A string (section 5.2), in the block or, decoded, in `scratch`.
    fn string<'b>(&mut self, scratch: &'b mut Vec<u8>) -> Result<&'b [u8], HpackError>
    where
        'a: 'b,
    {
        let is_encoded = self.0.first().ok_or(HpackError::Truncated)? & 0x80 != 0;
        let length = self.number(7)?;
        let (string, rest) = self.0.split_at_checked(length).ok_or(HpackError::Truncated)?;
        self.0 = rest;
        if !is_encoded {
            return Ok(string);
        }
        scratch.clear();
        huffman::decode(string, scratch)?;
        Ok(scratch)
    }
}
