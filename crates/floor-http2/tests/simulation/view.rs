//! What a strict client sees of a connection. It shares no code with the server, and panics when the server breaks the
//! protocol.

use std::collections::{BTreeMap, VecDeque};

use floor_http2::Limits;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const MAX_FRAME: usize = 16_384;
const MAX_WINDOW: i64 = (1 << 31) - 1;
const DEFAULT_WINDOW: i64 = 65_535;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

pub(crate) type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// Both directions of a connection.
pub(crate) struct View {
    limits: Limits,
    /// The largest payload that the server may send. floor-http2 sends no more than what every client takes.
    pub(crate) max_frame: usize,
    /// What the server has read and is no complete frame yet.
    unparsed: Vec<u8>,
    has_preface: bool,
    /// The settings that the server has read and not acknowledged.
    settings: VecDeque<Vec<(u16, u32)>>,
    /// The pings that the server has read and not answered.
    pings: VecDeque<Vec<u8>>,
    /// What `SETTINGS_INITIAL_WINDOW_SIZE` gives each stream of the server.
    initial_window: i64,
    /// What the server may send.
    pub(crate) server_window: i64,
    /// What the client may send.
    pub(crate) client_window: i64,
    pub(crate) streams: BTreeMap<u32, Stream>,
    /// The greatest stream that the client has opened.
    last_opened: u32,
    /// The stream of a header block of the client that is not whole, if its request ends with it.
    ends_after_block: Option<u32>,
    decoder: httlib_hpack::Decoder<'static>,
    /// The smallest table that the client has asked for since the last header block of the server.
    smaller_table: Option<u32>,
    /// A header block of the server that has not ended.
    block: Option<(u32, bool, Vec<u8>)>,
    has_settings: bool,
    /// The last `GOAWAY`: the last stream and the reason.
    pub(crate) go_away: Option<(u32, u32)>,
    pub(crate) is_close_ping_open: bool,
}

/// What was sent on a stream.
#[derive(Default)]
pub(crate) struct Stream {
    /// The data of the client without padding.
    pub(crate) request: Vec<u8>,
    /// The bytes of the client with padding.
    request_bytes: i64,
    pub(crate) is_request_ended: bool,
    pub(crate) is_client_reset: bool,
    /// Whether the server has handled everything since the client's reset.
    is_client_reset_handled: bool,
    /// The client's window updates.
    server_updates: i64,
    /// The server's window updates.
    pub(crate) client_updates: i64,
    pub(crate) head: Option<Fields>,
    pub(crate) response: Vec<u8>,
    pub(crate) trailers: Option<Fields>,
    pub(crate) is_response_ended: bool,
    pub(crate) server_reset: Option<u32>,
}

impl Stream {
    pub(crate) fn is_closed(&self) -> bool {
        self.is_response_ended || self.is_client_reset || self.server_reset.is_some()
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// The first frame of `bytes`: type, flags, stream, payload.
pub(crate) fn split_frame(bytes: &mut Vec<u8>) -> Option<(u8, u8, u32, Vec<u8>)> {
    let length = number(bytes.get(..3)?) as usize;
    let (kind, flags, stream) = (*bytes.get(3)?, *bytes.get(4)?, number(bytes.get(5..9)?));
    let payload = bytes.get(9..9 + length)?.to_vec();
    bytes.drain(..9 + length);
    Some((kind, flags, stream, payload))
}

impl View {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            max_frame: MAX_FRAME,
            unparsed: Vec::new(),
            has_preface: false,
            settings: VecDeque::new(),
            pings: VecDeque::new(),
            initial_window: DEFAULT_WINDOW,
            server_window: DEFAULT_WINDOW,
            client_window: DEFAULT_WINDOW,
            streams: BTreeMap::new(),
            last_opened: 0,
            ends_after_block: None,
            decoder: httlib_hpack::Decoder::default(),
            smaller_table: None,
            block: None,
            has_settings: false,
            go_away: None,
            is_close_ping_open: false,
        }
    }

    /// Whether the client may send a frame of any type now.
    pub(crate) fn is_between_frames(&self) -> bool {
        self.unparsed.is_empty() && self.has_preface
    }

    /// The server has read `bytes`.
    pub(crate) fn client_sent(&mut self, bytes: &[u8]) {
        self.unparsed.extend_from_slice(bytes);
        if !self.has_preface {
            if self.unparsed.len() < PREFACE.len() {
                return;
            }
            self.unparsed.drain(..PREFACE.len());
            self.has_preface = true;
        }
        while let Some((kind, flags, stream, payload)) = split_frame(&mut self.unparsed) {
            self.client_sent_frame(kind, flags, stream & 0x7fff_ffff, &payload);
        }
    }

    fn client_sent_frame(&mut self, kind: u8, flags: u8, id: u32, payload: &[u8]) {
        match kind {
            // A stream below one that was opened is closed, also if it never was open (RFC 9113, section 5.1.1).
            HEADERS if id < self.last_opened && !self.streams.contains_key(&id) => self.ends_after_block = None,
            HEADERS => {
                self.last_opened = self.last_opened.max(id);
                let stream = self.streams.entry(id).or_default();
                let (ends, is_whole) = (flags & 1 != 0, flags & 4 != 0);
                stream.is_request_ended |= ends && is_whole;
                // END_STREAM counts once the block is whole (RFC 9113, section 6.2).
                self.ends_after_block = (ends && !is_whole).then_some(id);
            }
            CONTINUATION if flags & 4 != 0 => {
                if let Some(id) = self.ends_after_block.take() {
                    self.streams.entry(id).or_default().is_request_ended = true;
                }
            }
            DATA => {
                self.client_window -= payload.len() as i64;
                let Some(stream) = self.streams.get_mut(&id) else { return };
                stream.request_bytes += payload.len() as i64;
                if stream.is_request_ended {
                    return;
                }
                let data = match payload.split_first() {
                    Some((padding, rest)) if flags & 8 != 0 => {
                        &rest[..rest.len().saturating_sub(usize::from(*padding))]
                    }
                    _ => payload,
                };
                stream.request.extend_from_slice(data);
                stream.is_request_ended |= flags & 1 != 0;
            }
            RST_STREAM => {
                if let Some(stream) = self.streams.get_mut(&id) {
                    stream.is_client_reset = true;
                }
            }
            SETTINGS if flags & 1 == 0 => {
                let setting = |bytes: &[u8]| (number(&bytes[..2]) as u16, number(&bytes[2..]));
                self.settings.push_back(payload.chunks_exact(6).map(setting).collect());
            }
            PING if flags & 1 == 0 => self.pings.push_back(payload.to_vec()),
            WINDOW_UPDATE if payload.len() == 4 => {
                let increment = i64::from(number(payload) & 0x7fff_ffff);
                if id == 0 {
                    self.server_window += increment;
                } else if let Some(stream) = self.streams.get_mut(&id) {
                    stream.server_updates += increment;
                }
            }
            _ => {}
        }
    }

    /// The server has sent `bytes`. Returns the payload bytes of its `DATA` frames.
    pub(crate) fn server_sent(&mut self, bytes: &mut Vec<u8>) -> Vec<(u32, usize)> {
        let mut data = Vec::new();
        while let Some((kind, flags, id, payload)) = split_frame(bytes) {
            assert!(id < 1 << 31, "a reserved bit is set");
            assert!(payload.len() <= self.max_frame, "a frame of {} bytes", payload.len());
            assert!(self.has_settings || kind == SETTINGS, "the first frame is not SETTINGS");
            assert!(self.block.is_none() || kind == CONTINUATION, "a frame of type {kind} inside a header block");
            self.server_sent_frame(kind, flags, id, payload, &mut data);
        }
        assert!(bytes.is_empty(), "the server has sent a part of a frame");
        assert!(self.block.is_none(), "the server has sent a part of a header block");
        data
    }

    fn server_sent_frame(&mut self, kind: u8, flags: u8, id: u32, payload: Vec<u8>, data: &mut Vec<(u32, usize)>) {
        self.check_stream(kind, id);
        let (is_ack, ends, ends_headers) = (flags & 1 != 0, flags & 1 != 0, flags & 4 != 0);
        let allowed_flags = match kind {
            DATA | SETTINGS | PING => 1,
            HEADERS => 1 | 4,
            CONTINUATION => 4,
            _ => 0,
        };
        assert!(flags & !allowed_flags == 0, "flags {flags:x} on a frame of type {kind}");
        match kind {
            DATA => {
                self.server_sent_data(id, ends, &payload);
                data.push((id, payload.len()));
            }
            HEADERS if ends_headers => self.server_sent_block(id, ends, payload),
            HEADERS => self.block = Some((id, ends, payload)),
            CONTINUATION => {
                let (stream, ends, mut block) = self.block.take().expect("CONTINUATION without HEADERS");
                assert_eq!(stream, id);
                block.extend_from_slice(&payload);
                if ends_headers {
                    self.server_sent_block(id, ends, block);
                } else {
                    self.block = Some((id, ends, block));
                }
            }
            RST_STREAM => {
                assert_eq!(payload.len(), 4);
                self.streams.entry(id).or_default().server_reset = Some(number(&payload));
            }
            SETTINGS if is_ack => {
                assert!(payload.is_empty());
                self.server_took_settings();
            }
            SETTINGS => self.server_sent_settings(&payload),
            PING if is_ack => assert_eq!(self.pings.pop_front(), Some(payload)),
            PING => {
                assert_eq!(payload.len(), 8);
                self.is_close_ping_open |= payload == b"closing!";
            }
            GOAWAY => {
                let (last, reason) = (number(&payload[..4]), number(&payload[4..8]));
                let before = self.go_away.map_or(u32::MAX, |(last, _)| last);
                assert!(last <= before, "the last stream of GOAWAY has grown");
                self.go_away = Some((last, reason));
            }
            WINDOW_UPDATE => {
                assert_eq!(payload.len(), 4);
                self.server_sent_window_update(id, i64::from(number(&payload)));
            }
            _ => panic!("the server has sent a frame of type {kind}"),
        }
    }

    /// Whether the stream may have a frame of that type.
    fn check_stream(&mut self, kind: u8, id: u32) {
        let is_on_stream = matches!(kind, DATA | HEADERS | RST_STREAM | CONTINUATION);
        assert!(id != 0 || !is_on_stream, "a frame of type {kind} without a stream");
        if id != 0 {
            assert!(is_on_stream || kind == WINDOW_UPDATE, "a frame of type {kind} on a stream");
            assert!(id % 2 == 1 && id <= self.last_opened, "a frame of type {kind} on the idle stream {id}");
            let is_ignored = self.go_away.is_some_and(|(last, _)| id > last);
            assert!(!is_ignored, "a frame of type {kind} on stream {id}, which GOAWAY excludes");
            let stream = self.streams.entry(id).or_default();
            if kind != RST_STREAM && kind != CONTINUATION {
                assert!(stream.server_reset.is_none(), "a frame of type {kind} on stream {id} after a reset");
                assert!(!stream.is_response_ended, "a frame of type {kind} on stream {id} after its end");
                assert!(
                    !stream.is_client_reset_handled,
                    "a frame of type {kind} on stream {id} after a client's reset"
                );
            }
        }
    }

    fn server_sent_data(&mut self, id: u32, ends: bool, payload: &[u8]) {
        let length = payload.len() as i64;
        let stream = self.streams.get_mut(&id).expect("entered above");
        assert!(stream.head.is_some(), "DATA on stream {id} before its head");
        stream.response.extend_from_slice(payload);
        let window = self.initial_window + stream.server_updates - stream.response.len() as i64;
        assert!(length == 0 || window >= 0, "{} bytes more than the window of stream {id}", -window);
        self.server_window -= length;
        assert!(self.server_window >= 0, "more data than the window of the connection");
        stream.is_response_ended = ends;
    }

    /// The oldest settings that were sent hold now.
    fn server_took_settings(&mut self) {
        for (id, value) in self.settings.pop_front().expect("settings that were sent") {
            match id {
                1 => {
                    self.smaller_table = Some(self.smaller_table.map_or(value, |old| old.min(value)));
                    self.decoder.set_max_dynamic_size(value);
                }
                4 => self.initial_window = i64::from(value),
                _ => {}
            }
        }
    }

    fn server_sent_settings(&mut self, payload: &[u8]) {
        assert!(!self.has_settings, "the server sends its settings once");
        self.has_settings = true;
        let value = |id: u32| payload.chunks(6).find(|it| number(&it[..2]) == id).map(|it| number(&it[2..]));
        assert_eq!(value(3), Some(self.limits.max_streams));
        assert_eq!(value(4), Some(self.limits.stream_window));
        assert_eq!(value(6), Some(self.limits.max_header_bytes));
    }

    fn server_sent_window_update(&mut self, id: u32, increment: i64) {
        assert!(increment > 0, "a window update by {increment}");
        if id == 0 {
            self.client_window += increment;
            assert!(self.client_window <= MAX_WINDOW);
        } else {
            self.streams.get_mut(&id).expect("entered above").client_updates += increment;
        }
    }

    fn server_sent_block(&mut self, id: u32, ends: bool, mut block: Vec<u8>) {
        let limit = self.smaller_table.take().filter(|size| *size < self.decoder.max_dynamic_size());
        if let Some(size) = limit {
            let is_update = block.first().is_some_and(|first| (0x20..0x40).contains(first));
            assert!(is_update, "the first header block after a limit of {size} bytes does not resize the table");
        }
        let mut decoded = Vec::new();
        self.decoder.decode(&mut block, &mut decoded).expect("a valid header block");
        assert!(limit.is_none_or(|limit| self.decoder.max_dynamic_size() <= limit), "the table is too large");
        let fields: Fields = decoded.into_iter().map(|(name, value, _)| (name, value)).collect();
        let stream = self.streams.get_mut(&id).expect("entered before");
        for (i, (name, _)) in fields.iter().enumerate() {
            assert_eq!(name == b":status", i == 0 && stream.head.is_none(), "{fields:?}");
        }
        if stream.head.is_none() {
            stream.head = Some(fields);
        } else {
            assert!(ends && stream.trailers.is_none(), "trailers that do not end stream {id}");
            stream.trailers = Some(fields);
        }
        stream.is_response_ended = ends;
    }

    /// Whether the server may send data on a stream.
    pub(crate) fn has_window(&self, id: u32) -> bool {
        let stream = &self.streams[&id];
        let window = self.initial_window + stream.server_updates - stream.response.len() as i64;
        window > 0 && self.server_window > 0
    }

    /// Everything that the server has read is handled and everything that it has written is sent. `held` has the bytes
    /// of each open stream that its caller has not read.
    pub(crate) fn check_idle(&mut self, held: &BTreeMap<u32, i64>) {
        assert!(self.settings.is_empty(), "settings are not acknowledged");
        assert!(self.pings.is_empty(), "a ping is not answered");
        let check = |name: &str, size: u32, window: i64, held: i64| {
            let size = i64::from(size);
            assert!(window + held <= size, "{name}: {window} bytes are open and {held} held of {size}");
            let returned = window + held;
            assert!(
                returned > size - (size / 2).max(1),
                "{name}: only {window} bytes are open and {held} held of {size}"
            );
        };
        let size = self.limits.connection_window.max(DEFAULT_WINDOW as u32);
        check("connection", size, self.client_window, held.values().sum());
        for (id, stream) in &mut self.streams {
            stream.is_client_reset_handled = stream.is_client_reset;
            let is_ignored = self.go_away.is_some_and(|(last, _)| *id > last);
            if !stream.is_closed() && !stream.is_request_ended && !is_ignored {
                let window = i64::from(self.limits.stream_window) + stream.client_updates - stream.request_bytes;
                check("stream", self.limits.stream_window, window, held.get(id).copied().unwrap_or(0));
            }
        }
    }
}
