//! Takes header blocks: the heads of requests, and trailers. The sections are those of RFC 9113.

use http::{HeaderMap, HeaderValue, Request, StatusCode, header};

use super::{Block, Closing, State, Stream, Window, last_head::Decoded};
use crate::{
    error::{ConnectionError, Reason},
    frame::{self, Headers, flag, kind},
    head::{HeadBuilder, HeadError, content_length},
    hpack::HpackError,
};

/// Bytes of a header block, as a multiple of the limit for its fields. A block up to this size is answered with 431, a
/// larger one also ends the connection.
const BLOCK_BYTES_PER_LIMIT: usize = 4;

impl State {
    pub(super) fn take_headers(
        &mut self,
        headers: Headers,
        block: &[u8],
        is_last: bool,
    ) -> Result<(), ConnectionError> {
        if is_last {
            return self.take_block(headers, block);
        }
        self.block = Some(Block { headers, bytes: block.to_vec() });
        Ok(())
    }

    pub(super) fn take_continuation(&mut self, part: &[u8], is_last: bool) -> Result<(), ConnectionError> {
        // Section 6.10.
        let Some(block) = &mut self.block else {
            return Err(ConnectionError::protocol("CONTINUATION without HEADERS"));
        };
        block.bytes.extend_from_slice(part);
        if block.bytes.len() > BLOCK_BYTES_PER_LIMIT * self.limits.max_header_bytes as usize {
            let id = block.headers.stream;
            return self.end_for_large_head(id);
        }
        if part.is_empty() && !is_last {
            self.charge(None)?;
        }
        match self.block.take_if(|_| is_last) {
            Some(block) => self.take_block(block.headers, &block.bytes),
            None => Ok(()),
        }
    }

    /// Takes a complete header block. It is decoded also if it is refused, because decoding may change the decoder's
    /// table (section 4.3). Only a copy of the last block that left the table unchanged need not be decoded.
    fn take_block(&mut self, headers: Headers, block: &[u8]) -> Result<(), ConnectionError> {
        let Headers { stream: id, ends, .. } = headers;
        let table_version = self.decoder.table_version();
        if id > self.last_stream
            && let Some(request) = self.last_head.find(block, table_version)
        {
            return self.open(headers, Ok(request));
        }
        let mut head = HeadBuilder::new(self.limits.max_header_bytes as usize);
        let decoded = self.decoder.decode(block, |field, size| head.push(field, size));
        self.decoded_bytes += head.bytes();
        match decoded {
            Ok(()) => {}
            Err(HpackError::TooLarge) => return self.end_for_large_head(id),
            Err(_) => return Err(ConnectionError::new(Reason::CompressionError, "a header block cannot be decoded")),
        }
        if let Some(stream) = self.streams.get_mut(&id) {
            // Section 5.1, "half-closed (remote)".
            if stream.is_received {
                return self.reset_for_error(id, Reason::StreamClosed);
            }
            // Trailers end the request (section 8.1).
            return match head.trailers() {
                Ok(trailers) if ends => {
                    stream.trailers = Some(Box::new(trailers));
                    self.end_request(id)
                }
                _ => self.reset_for_error(id, Reason::ProtocolError),
            };
        }
        if id <= self.last_stream {
            let is_late = id <= self.last_reset;
            let closed = ConnectionError::new(Reason::StreamClosed, "HEADERS on a closed stream");
            return if is_late { self.charge(None) } else { Err(closed) };
        }
        let bytes = head.bytes();
        let request = head.request();
        if let Ok(request) = &request
            && self.decoder.table_version() == table_version
        {
            self.last_head.set(&Decoded { block, request, bytes, table_version });
        }
        self.open(headers, request)
    }

    /// Opens the stream of a request.
    fn open(&mut self, headers: Headers, request: Result<Request<()>, HeadError>) -> Result<(), ConnectionError> {
        let Headers { stream: id, ends, depends_on_itself } = headers;
        if self.closing == Closing::Final {
            return self.charge(None);
        }
        self.last_stream = id;
        // RFC 7540, section 5.3.1.
        if depends_on_itself {
            return self.reset_for_error(id, Reason::ProtocolError);
        }
        // Section 5.1.2.
        if self.streams.len() >= self.limits.max_streams as usize {
            return self.reset_for_error(id, Reason::RefusedStream);
        }
        let request = match request {
            Ok(request) => request,
            Err(HeadError::Malformed) => return self.reset_for_error(id, Reason::ProtocolError),
            Err(HeadError::InvalidPath) => {
                self.refuse(id, StatusCode::BAD_REQUEST, "the path of the request is not a valid URI\n", ends);
                return self.charge(None);
            }
            Err(HeadError::TooLarge) => {
                self.refuse_large_head(id, ends);
                return self.charge(None);
            }
        };
        // Section 8.1.1.
        let announced = match content_length(request.headers()) {
            Ok(announced) if !ends || announced.is_none_or(|length| length == 0) => announced,
            _ => return self.reset_for_error(id, Reason::ProtocolError),
        };
        let stream = Stream {
            data: Vec::new(),
            trailers: None,
            is_received: ends,
            is_body_dropped: false,
            payer: self.frame_budget.payer(request.headers()),
            announced,
            receive_window: Window::new(self.limits.stream_window),
            send_window: self.initial_send_window,
            is_waiting: false,
            waits_for_window: false,
            reader: None,
            writer: None,
        };
        self.streams.insert(id, stream);
        self.requests.push_back((id, request));
        Ok(())
    }

    /// Answers a request that the caller does not see. `ends`: the request has no body.
    fn refuse(&mut self, id: u32, status: StatusCode, text: &str, ends: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        let length = text.len() as i64;
        let has_window = self.send_window >= length && self.initial_send_window >= length;
        let Self { output, encoder, .. } = self;
        frame::put_headers(output, id, !has_window, |block| encoder.encode_head(status, &headers, None, block));
        if has_window {
            self.send_window -= length;
            frame::put_header(output, text.len(), kind::DATA, flag::END_STREAM, id);
            output.extend_from_slice(text.as_bytes());
        }
        if !ends {
            self.put_reset(id, Reason::NoError);
        }
    }

    /// Ends the connection, because the rest of a block is not decoded and the table is then unknown (RFC 9113, section
    /// 10.5.1).
    fn end_for_large_head(&mut self, id: u32) -> Result<(), ConnectionError> {
        if id > self.last_stream && self.closing != Closing::Final {
            self.last_stream = id;
            self.refuse_large_head(id, false);
        }
        Err(ConnectionError::new(Reason::EnhanceYourCalm, "a header block is far above the limit"))
    }

    fn refuse_large_head(&mut self, id: u32, ends: bool) {
        let limit = self.limits.max_header_bytes;
        let text = format!("the headers of the request, with its path, have more than {limit} bytes\n");
        self.refuse(id, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, &text, ends);
    }
}
