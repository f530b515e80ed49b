//! A second decoder, with which the first is compared: short and slow, after the text of RFC 7541. The tests of this
//! crate and the fuzz target `hpack` use it.

use std::{collections::HashMap, sync::LazyLock};

use crate::hpack::{Decoder, ENTRY_OVERHEAD, Field, TABLE_BYTES};

const STATIC_ENTRIES: usize = 61;
const MAX_NUMBER: u128 = 1 << 24;

/// Both decoders.
pub(crate) struct Decoders {
    decoder: Decoder,
    reference: Reference,
}

impl Decoders {
    pub(crate) fn new() -> Self {
        Self { decoder: Decoder::default(), reference: Reference::new() }
    }

    /// Decodes `block` with both. Returns the number of fields, and `None` if both refuse the block.
    ///
    /// # Panics
    /// They do not agree.
    pub(crate) fn decode(&mut self, block: &[u8]) -> Option<usize> {
        let mut fields = Vec::new();
        let result = self.decoder.decode(block, |field, size| {
            fields.push((field.clone(), size));
            true
        });
        let mut expected = Vec::new();
        let is_valid = self.reference.decode(block, &mut expected).is_some();
        assert_eq!(result.is_ok(), is_valid, "{block:x?}: {result:?} and {fields:?}, but {expected:?}");
        assert_eq!(fields.len(), expected.len(), "{block:x?}: {fields:?}, but {expected:?}");
        for ((field, size), (name, value)) in fields.iter().zip(&expected) {
            assert_eq!(*size, name.len() + value.len() + ENTRY_OVERHEAD, "{field:?}, but {name:?}: {value:?}");
            assert!(agree(field, name, value), "{field:?}, but {name:?}: {value:?}");
        }
        is_valid.then_some(fields.len())
    }
}

/// Whether `field` is what a request has to make of `name` and `value`.
fn agree(field: &Field, name: &[u8], value: &[u8]) -> bool {
    // RFC 9110, section 5.6.2, without upper-case letters. The crate `http` allows quotes too.
    let is_token =
        |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!\"#$%&'*+-.^_`|~".contains(byte);
    let is_name = !name.is_empty() && name.iter().all(is_token);
    let is_value = value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..));
    let is_space = |byte: Option<&u8>| byte.is_some_and(|byte| b" \t".contains(byte));
    let is_header_value = is_value && !is_space(value.first()) && !is_space(value.last());
    let is_authority = http::uri::Authority::try_from(value).is_ok();
    let is_scheme = !value.is_empty() && http::uri::Scheme::try_from(value).is_ok();
    let is_path = !value.is_empty() && !value.contains(&b'#');
    let is_of_connection = match name {
        b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => true,
        b"te" => value != b"trailers",
        _ => false,
    };
    // The type of a malformed field's name is private.
    let malformed = if let Field::Malformed(name) = field { format!("{name:?}") } else { String::new() };
    match (name, field) {
        (b":authority", Field::Authority) => is_authority,
        (b":scheme", Field::Scheme) => is_scheme,
        (b":method", Field::Method(method)) => method.as_str().as_bytes() == value,
        (b":path", Field::Path(path)) => {
            is_path && http::uri::PathAndQuery::try_from(value).is_ok_and(|value| *path == value)
        }
        (b":path", Field::InvalidPath) => is_path && http::uri::PathAndQuery::try_from(value).is_err(),
        (_, Field::Header(of, text)) => {
            is_name
                && is_header_value
                && !is_of_connection
                && of.as_str().as_bytes() == name
                && text.as_bytes() == value
        }
        (b":authority", Field::Malformed(_)) => malformed == "Authority" && !is_authority,
        (b":scheme", Field::Malformed(_)) => malformed == "Scheme" && !is_scheme,
        (b":method", Field::Malformed(_)) => malformed == "Method" && http::Method::from_bytes(value).is_err(),
        (b":path", Field::Malformed(_)) => malformed == "Path" && !is_path,
        (_, Field::Malformed(_)) if is_name => {
            let of = format!("Header({:?})", String::from_utf8_lossy(name));
            malformed == of && (!is_header_value || is_of_connection)
        }
        (_, Field::Malformed(_)) => malformed == format!("Malformed({})", name.len()),
        _ => false,
    }
}

type Pair = (Vec<u8>, Vec<u8>);

struct Reference {
    table: Vec<Pair>,
    max_size: usize,
}

static STATIC_TABLE: LazyLock<Vec<Pair>> = LazyLock::new(static_table);
/// The bytes of Huffman codes, by length and code.
static HUFFMAN_CODE: LazyLock<HashMap<(u32, u64), u8>> = LazyLock::new(huffman_code);

impl Reference {
    fn new() -> Self {
        Self { table: Vec::new(), max_size: TABLE_BYTES }
    }

    fn decode(&mut self, mut block: &[u8], fields: &mut Vec<Pair>) -> Option<()> {
        let mut may_resize = true;
        while let Some(&first) = block.first() {
            if first & 0xe0 == 0x20 {
                let size = number(&mut block, 5)?;
                if !may_resize || size > TABLE_BYTES {
                    return None;
                }
                self.max_size = size;
                self.evict();
                continue;
            }
            may_resize = false;
            if first & 0x80 != 0 {
                let index = number(&mut block, 7)?;
                fields.push(self.entry(index)?);
                continue;
            }
            let enters = first & 0x40 != 0;
            let index = number(&mut block, if enters { 6 } else { 4 })?;
            let name = if index == 0 { string(&mut block)? } else { self.entry(index)?.0 };
            let field = (name, string(&mut block)?);
            fields.push(field.clone());
            if enters {
                self.table.insert(0, field);
                self.evict();
            }
        }
        Some(())
    }

    fn entry(&self, index: usize) -> Option<Pair> {
        let index = index.checked_sub(1)?;
        STATIC_TABLE.iter().chain(&self.table).nth(index).cloned()
    }

    fn evict(&mut self) {
        let size = |table: &[Pair]| -> usize { table.iter().map(|it| it.0.len() + it.1.len() + ENTRY_OVERHEAD).sum() };
        while size(&self.table) > self.max_size {
            self.table.pop();
        }
    }
}

fn string(block: &mut &[u8]) -> Option<Vec<u8>> {
    let is_encoded = block.first()? & 0x80 != 0;
    let length = number(block, 7)?;
    let (string, rest) = block.split_at_checked(length)?;
    *block = rest;
    if !is_encoded {
        return Some(string.to_vec());
    }
    let mut decoded = Vec::new();
    let (mut length, mut code) = (0, 0);
    for bit in string.iter().flat_map(|byte| (0..8).rev().map(move |bit| u64::from(byte >> bit & 1))) {
        (length, code) = (length + 1, code << 1 | bit);
        if let Some(byte) = HUFFMAN_CODE.get(&(length, code)) {
            decoded.push(*byte);
            (length, code) = (0, 0);
        } else if length > 30 {
            return None;
        }
    }
    (length < 8 && code == (1 << length) - 1).then_some(decoded)
}

fn number(block: &mut &[u8], bits: u32) -> Option<usize> {
    let mut next = || {
        let (first, rest) = block.split_first()?;
        *block = rest;
        Some(u128::from(*first))
    };
    let mask = (1 << bits) - 1;
    let mut number = next()? & mask;
    if number == mask {
        // More bytes than the first decoder allows are more than any number below the limit needs.
        for shift in [0, 7, 14, 21] {
            let byte = next()?;
            number += (byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return (number < MAX_NUMBER).then_some(number as usize);
            }
        }
        return None;
    }
    Some(number as usize)
}

/// The table of another implementation.
fn static_table() -> Vec<Pair> {
    let mut block = (1..=STATIC_ENTRIES as u8).map(|index| 0x80 | index).collect();
    let mut fields = Vec::new();
    httlib_hpack::Decoder::default().decode(&mut block, &mut fields).expect("fields of the static table");
    fields.into_iter().map(|(name, value, _)| (name, value)).collect()
}

/// The code of another implementation, which the lengths of encoded strings reveal.
fn huffman_code() -> HashMap<(u32, u64), u8> {
    let encoded = |text: Vec<u8>| {
        let mut block = Vec::new();
        let flags = httlib_hpack::Encoder::HUFFMAN_VALUE;
        httlib_hpack::Encoder::default().encode((b"a".to_vec(), text, flags), &mut block).expect("a valid field");
        // The name takes 3 bytes, and the lengths of both strings are below 127.
        block.split_off(4)
    };
    let code = |byte: u8| {
        // Eight times a code of n bits are n bytes.
        let length = encoded(vec![byte; 8]).len() as u32;
        let first =
            encoded(vec![byte]).into_iter().chain([0; 8]).take(8).fold(0, |code, byte| code << 8 | u64::from(byte));
        ((length, first >> (64 - length)), byte)
    };
    (0..=255).map(code).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hpack::huffman;

    /// A string, mostly in a valid encoding.
    fn string(texts: &'static str) -> impl Strategy<Value = Vec<u8>> {
        let with_length = |flag: u8, bytes: Vec<u8>| {
            let mut string = vec![flag | bytes.len() as u8];
            string.extend(bytes);
            string
        };
        prop_oneof![
            4 => texts.prop_map(move |text| with_length(0, text.into())),
            4 => texts.prop_map(move |text| with_length(0x80, huffman::encode(text.as_bytes()))),
            1 => prop::collection::vec(any::<u8>(), 0..20).prop_map(move |bytes| with_length(0x80, bytes)),
            1 => prop::collection::vec(any::<u8>(), 0..20).prop_map(move |bytes| with_length(0, bytes)),
        ]
    }

    /// A part of a header block.
    fn part() -> impl Strategy<Value = Vec<u8>> {
        let indexed = prop_oneof![1_u8..62, 62_u8..70, any::<u8>()].prop_map(|index| vec![0x80 | index]);
        let kind = || prop::sample::select(&[0x00_u8, 0x10, 0x40][..]);
        let named = (kind(), prop_oneof![1_u8..15, 1_u8..63], string("[ -~]{0,30}"));
        let named = named.prop_map(|(kind, index, value)| {
            let index = if kind == 0x40 { index } else { index & 0x0f };
            [vec![kind | index], if index == 0x0f { vec![0x20] } else { Vec::new() }, value].concat()
        });
        let names = "[a-z]{1,8}|[a-zA-Z :-]{0,9}|te|upgrade|:path|:method|:authority";
        let literal = (kind(), string(names), string("[ -~]{0,60}|trailers|/[a-z?#]{0,5}"))
            .prop_map(|(kind, name, value)| [vec![kind], name, value].concat());
        prop_oneof![
            4 => indexed,
            4 => named,
            6 => literal,
            1 => prop::collection::vec(any::<u8>(), 0..8),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn two_decoders_agree(
            blocks in prop::collection::vec(
                (prop::option::weighted(0.1, any::<u8>()), prop::collection::vec(part(), 0..8)),
                1..20,
            ),
        ) {
            let mut decoders = Decoders::new();
            for (size, parts) in blocks {
                let resize = size.map(|size| vec![0x20 | size & 0x1f]);
                let block = resize.into_iter().chain(parts).collect::<Vec<_>>().concat();
                if decoders.decode(&block).is_none() {
                    break;
                }
            }
        }
    }
}
