//! The head of a request, from the fields of its header block.

use http::{HeaderMap, Method, Request, Uri, Version, header, uri::PathAndQuery};

use crate::hpack::Field;

/// Why a header block is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadError {
    /// The block is malformed (RFC 9113, section 8.1.1). Its stream is reset.
    Malformed,
    /// The path is no valid URI. Answered with 400.
    InvalidPath,
    /// The fields are larger than the limit. Answered with 431.
    TooLarge,
}

/// Bytes of fields that are decoded, as a multiple of the limit. A byte of a block can be a reference to a field of
/// kilobytes, so a block that is short enough may have thousands of times the limit.
const DECODED_BYTES_PER_LIMIT: usize = 4;

/// Collects the fields of a header block.
#[derive(Debug)]
pub(crate) struct HeadBuilder {
    max_bytes: usize,
    bytes: usize,
    method: Option<Method>,
    path: Option<PathAndQuery>,
    has_authority: bool,
    has_scheme: bool,
    has_invalid_path: bool,
    is_malformed: bool,
    headers: HeaderMap,
}

impl HeadBuilder {
    /// A head whose fields may have `max_bytes` bytes together.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            bytes: 0,
            method: None,
            path: None,
            has_authority: false,
            has_scheme: false,
            has_invalid_path: false,
            is_malformed: false,
            headers: HeaderMap::new(),
        }
    }

    /// Adds a field of `size` bytes. False if the fields are so far above the limit that the rest need not be decoded.
    pub(crate) fn push(&mut self, field: Field, size: usize) -> bool {
        self.bytes += size;
        if self.bytes > self.max_bytes {
            // The rest is decoded only for the table.
            return self.bytes <= DECODED_BYTES_PER_LIMIT * self.max_bytes;
        }
        let is_pseudo = !matches!(field, Field::Header(..));
        let is_repeated = match field {
            Field::Header(name, value) => {
                // Of two, a proxy may have checked the other one.
                let is_second_host = name == header::HOST && self.headers.contains_key(&name);
                is_second_host || self.headers.try_append(name, value).is_err()
            }
            Field::Method(method) => self.method.replace(method).is_some(),
            Field::Path(path) => self.path.replace(path).is_some() || self.has_invalid_path,
            Field::InvalidPath => std::mem::replace(&mut self.has_invalid_path, true) || self.path.is_some(),
            Field::Authority => std::mem::replace(&mut self.has_authority, true),
            Field::Scheme => std::mem::replace(&mut self.has_scheme, true),
            Field::Malformed(_) => true,
        };
        self.is_malformed |= is_repeated || (is_pseudo && !self.headers.is_empty());
        true
    }

    /// The bytes of the fields so far.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The head of a request.
    pub(crate) fn request(self) -> Result<Request<()>, HeadError> {
        if self.bytes > self.max_bytes {
            return Err(HeadError::TooLarge);
        }
        let Some(method) = self.method.filter(|_| !self.is_malformed) else { return Err(HeadError::Malformed) };
        let has_path = self.path.is_some() || self.has_invalid_path;
        let is_target_valid = match method {
            // A request for a tunnel has neither (RFC 9113, section 8.5). The caller sees `/` and refuses the method.
            Method::CONNECT => !self.has_scheme && !has_path,
            _ => self.has_scheme && has_path,
        };
        // `*` is for the server as a whole, about which only OPTIONS asks (RFC 9110, section 7.1).
        let is_for_server = self.path.as_ref().is_some_and(|path| path.as_str() == "*");
        if !is_target_valid || (is_for_server && method != Method::OPTIONS) {
            return Err(HeadError::Malformed);
        }
        if self.has_invalid_path {
            return Err(HeadError::InvalidPath);
        }
        let mut request = Request::new(());
        *request.method_mut() = method;
        *request.version_mut() = Version::HTTP_2;
        *request.uri_mut() = self.path.map_or_else(Uri::default, Uri::from);
        *request.headers_mut() = self.headers;
        Ok(request)
    }

    /// The trailers of a request.
    pub(crate) fn trailers(self) -> Result<HeaderMap, HeadError> {
        let has_pseudo = self.method.is_some() || self.path.is_some() || self.has_invalid_path;
        let is_malformed = self.is_malformed || has_pseudo || self.has_authority || self.has_scheme;
        if self.bytes > self.max_bytes || is_malformed { Err(HeadError::Malformed) } else { Ok(self.headers) }
    }
}

/// The length in `content-length`; `None` without one.
///
/// # Errors
/// It is no number, or there are two different ones.
pub(crate) fn content_length(headers: &HeaderMap) -> Result<Option<u64>, HeadError> {
    let mut length = None;
    for value in headers.get_all(header::CONTENT_LENGTH) {
        let is_number = !value.is_empty() && value.as_bytes().iter().all(u8::is_ascii_digit);
        let number = value.to_str().ok().filter(|_| is_number).and_then(|text| text.parse::<u64>().ok());
        if number.is_none() || length.is_some_and(|length| Some(length) != number) {
            return Err(HeadError::Malformed);
        }
        length = number;
    }
    Ok(length)
}
