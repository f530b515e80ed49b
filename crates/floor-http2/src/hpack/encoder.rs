//! Encodes responses.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::{
    TABLE_BYTES,
    static_table::{STATIC_TABLE, index_of_name, index_of_status},
};

/// Fields that the encoder enters into the table of the client. None is ever evicted: together they are smaller than the
/// table.
const MAX_ENTRIES: usize = 16;
/// The longest name and the longest value of a field in the table, in bytes.
const MAX_ENTRY_BYTES: usize = 48;

/// Decimal digits of the greatest 64-bit number.
const MAX_DIGITS: usize = 20;

/// The encoder of a connection. The first short fields that it meets enter the table of the client, and take one byte
/// from then on. The responses of a service have few different ones.
#[derive(Debug)]
pub(crate) struct Encoder {
    /// The oldest entry is first.
    table: Vec<(HeaderName, HeaderValue)>,
    /// Whether the client's table is large enough. If not, none is used.
    has_table: bool,
    /// Whether the next block has to tell the client that its table is not used.
    must_disable: bool,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { table: Vec::new(), has_table: true, must_disable: false }
    }
}

impl Encoder {
    /// The client has set the size of its table, in bytes.
    pub(crate) fn limit_table(&mut self, size: usize) {
        if size < TABLE_BYTES && self.has_table {
            self.table.clear();
            (self.has_table, self.must_disable) = (false, true);
        }
    }

    /// Appends the block of a response's head to `output`. It has a `content-length` if there is a `length`.
    pub(crate) fn encode_head(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        length: Option<u64>,
        output: &mut Vec<u8>,
    ) {
        self.begin(output);
        match index_of_status(status.as_str()) {
            Some(index) => put_number(output, 0x80, 7, index),
            None => put_literal(output, (0, 4), ":status", status.as_str().as_bytes()),
        }
        self.encode_fields(headers, output);
        if let Some(length) = length {
            let mut buffer = [0; MAX_DIGITS];
            put_literal(output, (0, 4), header::CONTENT_LENGTH.as_str(), digits(length, &mut buffer));
        }
    }

    /// Appends the block of trailers to `output`.
    pub(crate) fn encode_trailers(&mut self, trailers: &HeaderMap, output: &mut Vec<u8>) {
        self.begin(output);
        self.encode_fields(trailers, output);
    }

    fn begin(&mut self, output: &mut Vec<u8>) {
        if std::mem::take(&mut self.must_disable) {
            put_number(output, 0x20, 5, 0);
        }
    }

    fn encode_fields(&mut self, headers: &HeaderMap, output: &mut Vec<u8>) {
        for (name, value) in headers {
            self.encode_field(name, value, output);
        }
    }

    fn encode_field(&mut self, name: &HeaderName, value: &HeaderValue, output: &mut Vec<u8>) {
        if let Some(index) = self.table.iter().position(|entry| entry.1 == value && entry.0 == name) {
            // The newest entry comes right after the static table.
            put_number(output, 0x80, 7, STATIC_TABLE.len() + self.table.len() - index);
            return;
        }
        // Each response has its own, and they would fill the table.
        let is_unique = *name == header::ETAG || *name == header::CONTENT_LENGTH;
        let is_short = value.len() <= MAX_ENTRY_BYTES && name.as_str().len() <= MAX_ENTRY_BYTES;
        let may_enter = is_short && !is_unique && !value.is_sensitive();
        let enters = self.has_table && may_enter && self.table.len() < MAX_ENTRIES;
        let form = match enters {
            true => (0x40, 6),
            false if value.is_sensitive() => (0x10, 4),
            false => (0, 4),
        };
        put_literal(output, form, name.as_str(), value.as_bytes());
        if enters {
            self.table.push((name.clone(), value.clone()));
        }
    }
}

/// Appends a literal field. `form` is the flags of its first byte, and the bits that the index of its name has there.
fn put_literal(output: &mut Vec<u8>, (flags, bits): (u8, u32), name: &str, value: &[u8]) {
    match index_of_name(name) {
        Some(index) => put_number(output, flags, bits, index),
        None => {
            put_number(output, flags, bits, 0);
            put_string(output, name.as_bytes());
        }
    }
    put_string(output, value);
}

/// The decimal digits of `number`.
fn digits(mut number: u64, buffer: &mut [u8; MAX_DIGITS]) -> &[u8] {
    let mut start = MAX_DIGITS;
    loop {
        start -= 1;
        buffer[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &buffer[start..];
        }
    }
}

/// Appends a number that begins in the last `bits` bits of a byte whose others are `flags` (RFC 7541, section 5.1).
fn put_number(output: &mut Vec<u8>, flags: u8, bits: u32, number: usize) {
    let mask = (1_usize << bits) - 1;
    if number < mask {
        output.push(flags | number as u8);
        return;
    }
    output.push(flags | mask as u8);
    let mut rest = number - mask;
    while rest >= 0x80 {
        output.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    output.push(rest as u8);
}

/// Appends a string without Huffman code.
fn put_string(output: &mut Vec<u8>, string: &[u8]) {
    put_number(output, 0, 7, string.len());
    output.extend_from_slice(string);
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::hpack::{Decoder, ENTRY_OVERHEAD, Field};

    const _: () = assert!(MAX_ENTRIES * (2 * MAX_ENTRY_BYTES + ENTRY_OVERHEAD) <= TABLE_BYTES);

    fn headers(fields: &[(String, String)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(HeaderName::try_from(name).unwrap(), HeaderValue::try_from(value.trim()).unwrap());
        }
        headers
    }

    fn decoded(decoder: &mut Decoder, block: &[u8]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut take = |field: Field, _| {
            if let Field::Header(name, value) = field {
                headers.append(name, value);
            }
            true
        };
        decoder.decode(block, &mut take).unwrap();
        headers
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            blocks in vec(vec(("[a-z]{1,9}(-[a-z]{1,50})?", "[ -~]{0,60}"), 0..6), 1..20),
            limit_at in 0_usize..30,
        ) {
            let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
            for (i, fields) in blocks.iter().enumerate() {
                if i == limit_at {
                    encoder.limit_table(100);
                }
                // A decoder of requests refuses these, and white space around values.
                let is_allowed = |field: &&(String, String)| !["te", "upgrade", "connection"].contains(&&*field.0);
                let sent: Vec<_> = fields.iter().filter(is_allowed).cloned().collect();
                let mut block = Vec::new();
                encoder.encode_trailers(&headers(&sent), &mut block);
                prop_assert_eq!(decoded(&mut decoder, &block), headers(&sent));
            }
        }

        #[test]
        fn no_block_panics(blocks in vec(vec(any::<u8>(), 0..40), 1..10)) {
            let mut decoder = Decoder::default();
            for block in blocks {
                let _ = decoder.decode(&block, |_, _| true);
            }
        }
    }

    #[test]
    fn a_field_takes_one_byte_from_the_second_time_on() {
        let mut encoder = Encoder::default();
        let headers = headers(&[("content-type".to_owned(), "application/grpc".to_owned())]);
        let mut lengths = Vec::new();
        for _ in 0..2 {
            let mut block = Vec::new();
            encoder.encode_head(StatusCode::OK, &headers, None, &mut block);
            lengths.push(block.len());
        }
        assert_eq!(lengths, [1 + 1 + 1 + 16, 2]);
    }

    #[test]
    fn fields_that_each_response_has_its_own_of_do_not_fill_the_table() {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for floor in 0..2 * MAX_ENTRIES as u64 {
            let sent = headers(&[("etag".to_owned(), format!("\"{floor}\""))]);
            let mut block = Vec::new();
            encoder.encode_head(StatusCode::OK, &sent, Some(floor), &mut block);
            // The decoder of requests refuses the status, which is the first byte.
            let received = decoded(&mut decoder, &block[1..]);
            assert_eq!((&received["etag"], &received["content-length"]), (&sent["etag"], &floor.into()));
        }
        let mut block = Vec::new();
        let served_by = headers(&[("floor-served-by".to_owned(), "lru".to_owned())]);
        for _ in 0..2 {
            block.clear();
            encoder.encode_head(StatusCode::OK, &served_by, None, &mut block);
        }
        assert_eq!(block.len(), 2, "it is in the table");
    }

    #[test]
    fn lengths_are_decimal() {
        let mut buffer = [0; MAX_DIGITS];
        for length in [0, 9, 10, 2692, u64::MAX] {
            assert_eq!(digits(length, &mut buffer), length.to_string().as_bytes());
        }
    }

    #[test]
    fn every_status_is_encoded() {
        for (status, wanted) in [(200, &[0x88][..]), (304, &[0x8b]), (418, b"\x08\x03418")] {
            let mut block = Vec::new();
            let status = StatusCode::from_u16(status).unwrap();
            Encoder::default().encode_head(status, &HeaderMap::new(), None, &mut block);
            assert_eq!(block, wanted, "{status}");
        }
    }

    #[test]
    fn the_requests_of_the_specification_are_decoded() {
        // RFC 7541, appendix C.4: with Huffman code and the dynamic table.
        let mut decoder = Decoder::default();
        let mut fields = Vec::new();
        let blocks: [&[u8]; 3] = [
            &[0x82, 0x86, 0x84, 0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff],
            &[0x82, 0x86, 0x84, 0xbe, 0x58, 0x86, 0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf],
            &[
                0x82, 0x87, 0x85, 0xbf, 0x40, 0x88, 0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f, 0x89, 0x25, 0xa8,
                0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf,
            ],
        ];
        for block in blocks {
            decoder
                .decode(block, |field, size| {
                    fields.push((format!("{field:?}"), size));
                    true
                })
                .unwrap();
        }
        let has = |text: &str, size| fields.contains(&(text.to_owned(), size));
        assert!(has("Authority", 57), "{fields:?}");
        assert!(has("Header(\"cache-control\", \"no-cache\")", 53), "{fields:?}");
        assert!(has("Header(\"custom-key\", \"custom-value\")", 54), "{fields:?}");
        assert!(has("Path(/index.html)", 48), "{fields:?}");
        assert_eq!(fields.iter().filter(|field| field.0 == "Authority").count(), 3);
    }

    #[test]
    fn fields_that_no_request_may_have_are_malformed() {
        let malformed =
            [("Upper", ""), ("connection", "close"), ("te", "gzip"), (":status", "200"), ("a b", ""), ("x", "\n")];
        for (name, value) in malformed {
            let mut block = vec![0];
            put_string(&mut block, name.as_bytes());
            put_string(&mut block, value.as_bytes());
            let mut is_malformed = false;
            Decoder::default()
                .decode(&block, |field, _| {
                    is_malformed = matches!(field, Field::Malformed(_));
                    true
                })
                .unwrap();
            assert!(is_malformed, "{name}: {value:?}");
        }
    }
}
