//! Why floor-http2 and h2 may differ. Each reason explains as little as possible.

use std::{
    collections::BTreeSet,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::LazyLock,
};

use floor_http2::Limits;

use crate::{
    Difference,
    servers::{Call, End, Server},
    view::{Fields, PREFACE, Stream, split_frame},
};

const NO_ERROR: u32 = 0;
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE_ERROR: u32 = 6;
const REFUSED_STREAM: u32 = 7;
const COMPRESSION_ERROR: u32 = 9;
const ENHANCE_YOUR_CALM: u32 = 11;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

/// A difference that is known.
pub(crate) struct Reason {
    pub(crate) name: &'static str,
    /// What the RFC says, and who does what.
    pub(crate) why: &'static str,
    explains: fn(&Case<'_>) -> bool,
}

impl fmt::Debug for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.name, self.why)
    }
}

/// The reason for a difference.
pub(crate) fn reason(case: &Case<'_>) -> Option<&'static Reason> {
    REASONS.iter().find(|reason| (reason.explains)(case))
}

/// A difference, and what led to it.
pub(crate) struct Case<'a> {
    pub(crate) difference: &'a Difference,
    pub(crate) client: &'a Client,
    pub(crate) ours: &'a Server,
    pub(crate) theirs: &'a Server,
}

/// Reasons that [`SEQUENCES`](crate::SEQUENCES) may not need, but [`MANY_SEQUENCES`](crate::MANY_SEQUENCES) do.
pub(crate) const RARE: [&str; 7] = [
    "PUSH_PROMISE of a client",
    "beginning of a frame",
    "code for a window",
    "field that h2 forgets",
    "first frame",
    "size of the table inside a block",
    "two errors together",
];

pub(crate) const REASONS: &[Reason] = &[
    Reason {
        name: "preface",
        why: "RFC 9113, section 3.4: GOAWAY may be left out if the client does not speak HTTP/2. Ours sends it, h2 does not.",
        explains: |case| case.codes() == Some((Some(PROTOCOL_ERROR), None)) && case.theirs.has_ended,
    },
    Reason {
        name: "text of 431",
        why: "RFC 6585, section 5: the answer may have a text. Ours has one, and the stream is reset with NO_ERROR (RFC \
              9113, section 8.1) if the request goes on. h2 sends no text and resets with PROTOCOL_ERROR.",
        explains: |case| {
            let Some([a, b]) = case.streams() else { return false };
            has_status(a, b"431") && has_status(b, b"431")
        },
    },
    Reason {
        name: "malformed and too large",
        why: "RFC 9113, section 8.1.1: a stream error, or an answer. Ours answers 431 also if other fields are wrong, h2 \
              then resets with PROTOCOL_ERROR.",
        explains: |case| {
            let Some([a, b]) = case.streams() else { return false };
            has_status(a, b"431") && b.head.is_none() && b.server_reset == Some(PROTOCOL_ERROR)
        },
    },
    Reason {
        name: "text of 400",
        why: "RFC 9113, section 8.1.1: a server may answer a malformed request before it resets it. Ours answers 400 to a \
              path that is no URI, h2 resets with PROTOCOL_ERROR.",
        explains: |case| {
            let Some([a, b]) = case.streams() else { return false };
            has_status(a, b"400") && b.head.is_none() && b.server_reset == Some(PROTOCOL_ERROR)
        },
    },
    Reason {
        name: "refused before it is read",
        why: "RFC 9113, section 5.1.2: a stream above the limit is refused with PROTOCOL_ERROR or REFUSED_STREAM. If its \
              request is malformed too, ours says REFUSED_STREAM and h2 PROTOCOL_ERROR.",
        explains: |case| {
            let Some([a, b]) = case.streams() else { return false };
            match (a.server_reset, b.server_reset) {
                (Some(REFUSED_STREAM), Some(PROTOCOL_ERROR)) => true,
                // h2 counts a stream that was reset together with this one.
                (Some(PROTOCOL_ERROR), Some(REFUSED_STREAM)) => case.client.frames.len() > 1,
                _ => false,
            }
        },
    },
    Reason {
        name: "frames for a stream that was reset",
        why: "RFC 9113, section 5.4.2: frames that were under way when a stream was reset are ignored. h2 has \
              forgotten streams that it has refused, and answers DATA with STREAM_CLOSED and HEADERS with a connection \
              error.",
        explains: |case| {
            let reset = |server: &Server, id| server.view.streams.get(&id).and_then(|stream| stream.server_reset);
            match case.difference {
                Difference::Stream(id) => {
                    reset(case.ours, *id).is_some()
                        && reset(case.theirs, *id) == Some(STREAM_CLOSED)
                        && case.client.has(|it| it.kind == DATA && it.stream == *id)
                }
                _ => {
                    let is_request =
                        |(id, fields): &(u32, Fields), of| *id == of && fields.iter().any(|it| it.0 == b":method");
                    let is_meant = |it: &Frame| {
                        it.kind == HEADERS
                            && match reset(case.ours, it.stream) {
                                Some(REFUSED_STREAM) => true,
                                Some(_) => !case.client.blocks.iter().any(|block| is_request(block, it.stream)),
                                None => false,
                            }
                    };
                    case.only_h2_ends(PROTOCOL_ERROR) && case.client.has(is_meant)
                }
            }
        },
    },
    Reason {
        name: "field that h2 cannot hold",
        why: "RFC 9113, section 8.1.1: a malformed request is a stream error. h2 ends the connection for a field that its \
              types cannot hold.",
        explains: |case| {
            matches!(case.codes(), Some((None | Some(ENHANCE_YOUR_CALM), Some(PROTOCOL_ERROR))))
                && case.client.fields().any(|(name, value)| !is_representable(name, value))
        },
    },
    Reason {
        name: "frames for a closed stream below one that was reset",
        why: "RFC 9113, section 5.1, closed: frames for a stream that the server has reset may be late and are ignored. Ours \
              ignores them for all closed streams up to the greatest one that it has reset, since it does not remember \
              which. h2 answers DATA with STREAM_CLOSED and HEADERS with a connection error, or with PROTOCOL_ERROR if \
              they are malformed.",
        explains: |case| {
            let reset = |server: &Server, id| server.view.streams.get(&id).and_then(|stream| stream.server_reset);
            let resets = case.ours.view.streams.iter().filter(|(_, stream)| stream.server_reset.is_some());
            let Some(last) = resets.map(|(id, _)| *id).max() else { return false };
            let has = |kind, id: Option<u32>| {
                let is_meant = |it: &Frame| it.stream <= last && reset(case.ours, it.stream).is_none();
                case.client.has(|it| it.kind == kind && id.is_none_or(|id| it.stream == id) && is_meant(it))
            };
            match case.difference {
                Difference::Stream(id) => match reset(case.theirs, *id) {
                    Some(STREAM_CLOSED) => has(DATA, Some(*id)),
                    Some(PROTOCOL_ERROR) => has(HEADERS, Some(*id)),
                    _ => false,
                },
                _ => case.only_h2_ends(PROTOCOL_ERROR) && has(HEADERS, None),
            }
        },
    },
    Reason {
        name: "malformed in a first frame",
        why: "RFC 9113, section 8.1.1: a malformed request is a stream error. h2 resets the stream when it has read the \
              first frame of the block. Then CONTINUATION is a connection error for it, and any other frame is none.",
        explains: |case| {
            let is_ignored = case.codes() == Some((Some(PROTOCOL_ERROR), None));
            (is_ignored && case.client.has(|it| it.kind == HEADERS && it.flags & 4 == 0))
                || (case.only_h2_ends(PROTOCOL_ERROR) && case.client.has(|it| it.kind == CONTINUATION))
        },
    },
    Reason {
        name: "header block far above the limit",
        why: "RFC 9113, section 10.5.1: a server may end the connection. Ours does beyond four times the limit, in bytes of \
              the block or of its fields; h2 beyond four times the limit in bytes of its fields, or for a field above the \
              limit that is in several frames.",
        explains: |case| {
            let limit = 4 * case.client.limits.max_header_bytes as usize;
            let is_of_block = |it: &&Frame| matches!(it.kind, HEADERS | CONTINUATION);
            let sent: usize = case.client.frames.iter().filter(is_of_block).map(|it| it.payload.len()).sum();
            let codes = case.codes();
            match codes {
                Some((Some(ENHANCE_YOUR_CALM), None | Some(COMPRESSION_ERROR))) => {
                    sent.max(case.client.header_bytes()) > limit
                }
                _ => case.only_h2_ends(COMPRESSION_ERROR) && sent > limit / 4,
            }
        },
    },
    Reason {
        name: "many CONTINUATION frames",
        why: "RFC 9113, section 10.5.1: a server may limit header blocks as it likes. h2 takes 5 CONTINUATION frames, ours \
              counts bytes and, in its budget, empty frames.",
        explains: |case| {
            let continuations = case.client.frames.iter().filter(|it| it.kind == CONTINUATION).count();
            case.only_h2_ends(ENHANCE_YOUR_CALM) && continuations > 5
        },
    },
    Reason {
        name: "window not given back yet",
        why: "RFC 9113, section 6.9: a server gives windows back when it likes. Ours does at half of the window, h2 at half of \
              what is left, and when several frames have arrived after all of them. A client sent more than the window of \
              one and not of the other, or frames together that ours reads in parts.",
        explains: |case| {
            let is_over = |server: &Server| server.view.client_window < 0;
            match case.difference {
                Difference::Connection => {
                    (case.only_h2_ends(FLOW_CONTROL_ERROR) && is_over(case.theirs))
                        || (case.codes() == Some((Some(FLOW_CONTROL_ERROR), None)) && is_over(case.ours))
                }
                Difference::Body(index) => {
                    let (a, b) = (&case.ours.calls[*index], &case.theirs.calls[*index]);
                    let id = b.stream.unwrap_or_default();
                    let is_reset = |server: &Server| {
                        let stream = server.view.streams.get(&id);
                        stream.is_some_and(|it| it.server_reset == Some(FLOW_CONTROL_ERROR))
                    };
                    let is_read_in_parts = (&a.end, &b.end) == (&End::Left, &End::Left) && b.body.starts_with(&a.body);
                    let is_data = case.client.has(|it| it.kind == DATA && it.stream == id);
                    is_data && (is_reset(case.ours) != is_reset(case.theirs) || is_read_in_parts)
                }
                Difference::Stream(id) => {
                    let is_reset = |stream: &Stream| stream.server_reset == Some(FLOW_CONTROL_ERROR);
                    let is_one_reset = case.streams().is_some_and(|[a, b]| is_reset(a) != is_reset(b));
                    is_one_reset && case.client.has(|it| it.kind == DATA && it.stream == *id)
                }
                Difference::Requests => false,
            }
        },
    },
    Reason {
        name: "PRIORITY on itself",
        why: "RFC 9113, section 5.3, has no rule for it any more; it was a stream error. Ours resets also a stream that is \
              closed, h2 does not.",
        explains: |case| {
            let Some([a, b]) = case.streams() else { return false };
            let is_itself = |it: &Frame| it.kind == PRIORITY && it.depends_on_itself();
            a.server_reset == Some(PROTOCOL_ERROR) && b.is_closed() && case.client.has(is_itself)
        },
    },
    Reason {
        name: "acknowledgement of nothing",
        why: "RFC 9113, section 6.5.3, has no rule for an acknowledgement without settings. Ours ignores it, h2 ends the \
              connection.",
        explains: |case| {
            case.only_h2_ends(PROTOCOL_ERROR) && case.client.has(|it| it.kind == SETTINGS && it.flags & 1 != 0)
        },
    },
    Reason {
        name: "client that leaves",
        why: "RFC 9113, section 6.8: after the GOAWAY of a client, the server may end the connection when no stream is \
              open. h2 does, ours leaves this to the client.",
        explains: |case| case.only_h2_ends(NO_ERROR) && case.client.has_left,
    },
    Reason {
        name: "frames after the end",
        why: "RFC 9113, section 5.1: DATA or HEADERS on a half-closed stream is a stream error STREAM_CLOSED. h2 ends the \
              connection with PROTOCOL_ERROR.",
        explains: |case| case.only_h2_ends(PROTOCOL_ERROR) && case.client.has(|it| it.kind <= HEADERS && it.is_late),
    },
    Reason {
        name: "malformed after the end",
        why: "RFC 9113, sections 5.1 and 8.1.1: a malformed block on a closed stream has two errors. Ours says that the \
              stream is closed, h2 that the block is malformed.",
        explains: |case| {
            let is_late = |it: &Frame| it.kind == HEADERS;
            match case.streams() {
                Some([a, b]) => {
                    (a.server_reset, b.server_reset) == (Some(STREAM_CLOSED), Some(PROTOCOL_ERROR))
                        && case.client.has(|it| it.kind == HEADERS && it.is_late)
                }
                None => case.codes() == Some((Some(STREAM_CLOSED), None)) && case.client.has(is_late),
            }
        },
    },
    Reason {
        name: "HEADERS on a closed stream",
        why: "RFC 9113, section 5.1: a connection error STREAM_CLOSED. h2 says PROTOCOL_ERROR.",
        explains: |case| {
            case.codes() == Some((Some(STREAM_CLOSED), Some(PROTOCOL_ERROR)))
                && case.client.has(|it| it.kind == HEADERS)
        },
    },
    Reason {
        name: "code for a wrong size",
        why: "RFC 9113, section 4.2: a frame of a wrong size is a FRAME_SIZE_ERROR. h2 says PROTOCOL_ERROR.",
        explains: |case| {
            case.codes() == Some((Some(FRAME_SIZE_ERROR), Some(PROTOCOL_ERROR))) && case.client.has(has_wrong_size)
        },
    },
    Reason {
        name: "PRIORITY of a wrong size",
        why: "RFC 9113, section 6.3: a stream error FRAME_SIZE_ERROR. h2 ends the connection with PROTOCOL_ERROR.",
        explains: |case| {
            case.only_h2_ends(PROTOCOL_ERROR) && case.client.has(|it| it.kind == PRIORITY && has_wrong_size(it))
        },
    },
    Reason {
        name: "code for a broken header block",
        why: "RFC 9113, section 4.3: COMPRESSION_ERROR. h2 says PROTOCOL_ERROR.",
        explains: |case| {
            case.codes() == Some((Some(COMPRESSION_ERROR), Some(PROTOCOL_ERROR)))
                && case.client.has(|it| matches!(it.kind, HEADERS | CONTINUATION))
        },
    },
    Reason {
        name: "WINDOW_UPDATE by 0",
        why: "RFC 9113, section 6.9: on a stream a stream error. h2 ends the connection.",
        explains: |case| {
            let is_zero = |it: &[u8; 4]| u32::from_be_bytes(*it) << 1 == 0;
            let is_meant = |it: &Frame| {
                it.kind == WINDOW_UPDATE && it.stream != 0 && it.payload.first_chunk().is_some_and(is_zero)
            };
            case.only_h2_ends(PROTOCOL_ERROR) && case.client.has(is_meant)
        },
    },
    Reason {
        name: "data before a reset",
        why: "RFC 9113, section 5.4.2: what belongs to a stream that was reset may be dropped. Ours drops data that the caller \
              has not read, and h2 gives it to the caller before the error.",
        explains: |case| {
            let Difference::Body(index) = case.difference else { return false };
            let (a, b) = (&case.ours.calls[*index], &case.theirs.calls[*index]);
            (&a.end, &b.end) == (&End::Broken, &End::Broken) && b.body.starts_with(&a.body)
        },
    },
    Reason {
        name: "table of the encoder of h2",
        why: "RFC 7541, section 4.2: if the client sends several sizes of the table, the smallest has to be announced. h2 \
              announces the last one of a SETTINGS frame.",
        explains: |case| {
            let rule = case.theirs.broken_rule.as_deref().unwrap_or_default();
            (rule.contains("table is too large") || rule.contains("does not resize the table"))
                && case.client.has_table_size
        },
    },
    Reason {
        name: "reset of an idle stream by h2",
        why: "RFC 9113, section 6.4: RST_STREAM is not sent for an idle stream. h2 does for PRIORITY that depends on itself, \
              and for a malformed block on a stream that a client cannot open. Ours ends the connection.",
        explains: |case| {
            let rule = case.theirs.broken_rule.as_deref().unwrap_or_default();
            let is_ended = case.ours.view.go_away.is_some_and(|(_, code)| code == PROTOCOL_ERROR);
            // When a request arrives in the same step, the stream is no longer idle for the client.
            let is_together =
                case.client.frames.len() > 1 && case.client.has(|it| it.kind == PRIORITY && it.depends_on_itself());
            *case.difference == Difference::Connection
                && is_ended
                && (rule.contains("on the idle stream") || is_together)
        },
    },
    Reason {
        name: "two errors together",
        why: "RFC 9113, section 5.4.1: an error ends the connection. If what arrives together has several, ours and h2 may \
              find different ones first, since h2 reads a header block frame by frame and takes PRIORITY on an idle stream.",
        explains: |case| {
            let is_part =
                case.client.frames.len() > 1 || !case.client.unparsed.is_empty() || case.client.has_broken_block;
            is_part
                && case.codes().is_some_and(|(ours, theirs)| ours.is_some() && theirs.is_some_and(|it| it != NO_ERROR))
        },
    },
    Reason {
        name: "exactly the limit of headers",
        why: "RFC 9113, section 6.5.2: a client may send as much as the limit. h2 answers 431 to exactly this size.",
        explains: |case| {
            let (ours, theirs) = (&case.ours.calls, &case.theirs.calls);
            let differ = match case.streams() {
                Some([_, b]) => has_status(b, b"431"),
                None => *case.difference == Difference::Requests && ours.len() > theirs.len(),
            };
            differ && case.client.header_bytes() == case.client.limits.max_header_bytes as usize
        },
    },
    Reason {
        name: "streams that end together",
        why: "RFC 9113, section 5.1.2: a stream counts until it is closed. When several frames arrive together, h2 counts a \
              stream that it has reset until it has sent the reset, and refuses a request that ours takes.",
        explains: |case| {
            // A second reset answers DATA for the refused stream.
            let refused = |stream: &Stream| matches!(stream.server_reset, Some(REFUSED_STREAM | STREAM_CLOSED));
            let only_h2 =
                |(id, stream): (&u32, &Stream)| refused(stream) && !case.ours.view.streams.get(id).is_some_and(refused);
            let differ = match case.streams() {
                Some([a, b]) => has_status(a, b"431") && refused(b),
                None => *case.difference == Difference::Requests && case.theirs.view.streams.iter().any(only_h2),
            };
            differ && case.client.frames.len() > 1
        },
    },
    Reason {
        name: "answer and reset together",
        why: "RFC 9113, section 5.4.2: after a reset nothing has to be sent. When the reset of a client arrives with the \
              frame that ours answers at once, h2 drops its answer.",
        explains: |case| {
            let Some([a, b]) = case.streams() else { return false };
            case.client.frames.len() > 1 && a.is_client_reset && b.server_reset.is_none()
        },
    },
    Reason {
        name: "empty :scheme",
        why: "RFC 3986, section 3.1: a scheme has at least a letter. Ours refuses it as nghttp2 does, h2 does not.",
        explains: |case| {
            case.is_refused_for(|_, fields| fields.iter().any(|(name, value)| name == b":scheme" && value.is_empty()))
        },
    },
    Reason {
        name: "no :path",
        why: "RFC 9113, section 8.3.1: a request has one valid :path. h2 takes `/` for a missing one.",
        explains: |case| case.is_refused_for(|_, fields| fields.iter().all(|(name, _)| name != b":path")),
    },
    Reason {
        name: "fragment in :path",
        why: "RFC 9113, section 8.3.1: :path has a path and a query. Ours refuses a fragment as nghttp2 does, h2 drops it.",
        explains: |case| {
            case.is_refused_for(|_, fields| {
                fields.iter().any(|(name, value)| name == b":path" && value.contains(&b'#'))
            })
        },
    },
    Reason {
        name: "asterisk of other methods",
        why: "RFC 9110, section 7.1: only OPTIONS asks for `*`. Ours refuses others as nghttp2 does, h2 does not.",
        explains: |case| case.is_refused_for(|call, _| call.path.as_deref() == Some("*") && call.method != "OPTIONS"),
    },
    Reason {
        name: "empty content-length",
        why: "RFC 9110, section 8.6: the length has at least one digit. h2 takes none for 0.",
        explains: |case| {
            case.is_refused_for(|call, _| call.headers.get_all("content-length").iter().any(|value| value.is_empty()))
        },
    },
    Reason {
        name: "two Host fields",
        why: "RFC 9110, section 7.2: a request has one Host. Ours refuses two as nghttp2 does, h2 does not.",
        explains: |case| case.is_refused_for(|call, _| call.headers.get_all("host").iter().count() > 1),
    },
    Reason {
        name: "white space around a value",
        why: "RFC 9113, section 8.2.1: a value does not begin or end with it. h2 does not look.",
        explains: |case| {
            case.is_refused_for(|call, _| call.headers.values().any(|value| !is_trimmed(value.as_bytes())))
        },
    },
    Reason {
        name: "request and end together",
        why: "RFC 9113, section 5.1: a stream is closed after a reset. If a reset, or a frame for which the stream is reset, \
              arrives with the request, the caller of ours does not see the request, that of h2 does.",
        explains: |case| {
            case.client.frames.len() > 1 && case.only_h2_accepts().is_some_and(|(_, stream, _)| stream.is_closed())
        },
    },
    Reason {
        name: "malformed trailers",
        why: "RFC 9113, section 8.1: trailers are checked as headers are, and have no pseudo-headers. Ours resets the stream \
              for these, for white space around a value, and for more than the limit. h2 checks none of this.",
        explains: |case| {
            let is_large = case.client.header_bytes() > case.client.limits.max_header_bytes as usize;
            let is_wrong = |(name, value): (&[u8], &[u8])| !is_trimmed(value) || name.starts_with(b":");
            let differ = match case.difference {
                Difference::Body(index) => {
                    let ends = (&case.ours.calls[*index].end, &case.theirs.calls[*index].end);
                    matches!(ends, (End::Broken, End::Whole(Some(_)) | End::Open))
                }
                _ => case
                    .streams()
                    .is_some_and(|[a, b]| a.server_reset == Some(PROTOCOL_ERROR) && b.server_reset != a.server_reset),
            };
            differ && (is_large || case.client.fields().any(is_wrong))
        },
    },
    Reason {
        name: "field that h2 forgets",
        why: "RFC 9113, section 8.2.2: a request with a field of the connection is malformed. h2 leaves such a field out, and \
              takes the request, if its frame ends inside another field.",
        explains: |case| {
            let is_wrong = case.client.fields().any(|(name, _)| name == b"connection");
            let differ = match case.difference {
                Difference::Body(index) => case.ours.calls[*index].end == End::Broken,
                Difference::Requests => case.ours.calls.len() < case.theirs.calls.len(),
                _ => case.streams().is_some_and(|[a, _]| a.server_reset == Some(PROTOCOL_ERROR)),
            };
            differ && is_wrong && case.client.has(|it| it.kind == CONTINUATION)
        },
    },
    Reason {
        name: "PUSH_PROMISE of a client",
        why: "RFC 9113, section 8.4: a connection error PROTOCOL_ERROR. h2 ignores it, or resets a stream.",
        explains: |case| {
            let is_ended = case.codes().is_some_and(|(ours, _)| ours == Some(PROTOCOL_ERROR));
            is_ended && case.client.has(|it| it.kind == PUSH_PROMISE)
        },
    },
    Reason {
        name: "first frame",
        why: "RFC 9113, section 3.4: the preface of a client ends with SETTINGS, or the connection ends. h2 does not look, so it \
              may end the connection for another error.",
        explains: |case| {
            let is_settings = |it: &(u8, u8)| it.0 == SETTINGS && it.1 & 1 == 0;
            case.codes().is_some_and(|(ours, _)| ours.is_some()) && !case.client.first.as_ref().is_none_or(is_settings)
        },
    },
    Reason {
        name: "code for a window",
        why: "RFC 9113, section 6.5.2: SETTINGS_INITIAL_WINDOW_SIZE above 2^31-1 is a FLOW_CONTROL_ERROR. h2 says \
              PROTOCOL_ERROR.",
        explains: |case| {
            let is_window = |it: &[u8]| it.len() == 6 && it.starts_with(&[0, 4]) && it[2] >= 0x80;
            case.codes() == Some((Some(FLOW_CONTROL_ERROR), Some(PROTOCOL_ERROR)))
                && case.client.has(|it| it.kind == SETTINGS && it.payload.chunks(6).any(is_window))
        },
    },
    Reason {
        name: "priority that depends on itself",
        why: "RFC 9113, section 5.3.2, has no rule for it any more; section 4.3: every header block has to be decoded. Ours \
              resets a new stream, and decodes its block. h2 resets any stream and does not, so that its table differs.",
        explains: |case| {
            case.client.has_self_dependent && case.client.has(|it| matches!(it.kind, HEADERS | CONTINUATION))
        },
    },
    Reason {
        name: "order of streams",
        why: "RFC 9113, section 5.2.2: the sender chooses which streams get a window of the connection that is too small for \
              all. Ours has used all of it, and h2 too, but for what ours has used for the texts of 400 and 431.",
        explains: |case| {
            let is_text = |it: &&Stream| has_status(it, b"400") || has_status(it, b"431");
            let texts: usize = case.ours.view.streams.values().filter(is_text).map(|it| it.response.len()).sum();
            let is_used = case.ours.view.server_window == 0 && case.theirs.view.server_window <= texts as i64;
            let is_answer = match case.difference {
                Difference::Body(index) => {
                    [&case.ours.calls[*index].end, &case.theirs.calls[*index].end].contains(&&End::Left)
                }
                _ => case.streams().is_some_and(|[a, b]| a.head == b.head),
            };
            is_used && is_answer
        },
    },
    Reason {
        name: "whole request before a reset",
        why: "RFC 9113, section 5.4.2: what belongs to a stream that was reset may be dropped. If the caller has not read a \
              whole request when the stream is reset, ours gives an error, and h2 the request.",
        explains: |case| {
            let Difference::Body(index) = case.difference else { return false };
            let (a, b) = (&case.ours.calls[*index], &case.theirs.calls[*index]);
            a.end == End::Broken
                && matches!(b.end, End::Whole(_))
                && b.body.starts_with(&a.body)
                && case.client.has(|it| {
                    let ends = it.kind == RST_STREAM || (it.kind == PRIORITY && it.depends_on_itself());
                    ends && Some(it.stream) == b.stream && it.is_late
                })
        },
    },
    Reason {
        name: "size of the table inside a block",
        why: "RFC 7541, section 4.2: the size changes at the beginning of a block. h2 takes it at the beginning of each \
              CONTINUATION frame.",
        explains: |case| {
            case.codes() == Some((Some(COMPRESSION_ERROR), None)) && case.client.has(|it| it.kind == CONTINUATION)
        },
    },
    Reason {
        name: "beginning of a frame",
        why: "RFC 9113, section 4.2: a frame above the limit is a FRAME_SIZE_ERROR. h2 says so after its length has arrived, \
              ours after its header.",
        explains: |case| case.only_h2_ends(FRAME_SIZE_ERROR) && (3..9).contains(&case.client.unparsed.len()),
    },
];

/// A stream on which the client has sent no HEADERS.
static NO_STREAM: LazyLock<Stream> = LazyLock::new(Stream::default);

impl<'a> Case<'a> {
    /// The streams, if a stream is different.
    fn streams(&self) -> Option<[&'a Stream; 2]> {
        let Difference::Stream(id) = self.difference else { return None };
        let stream = |server: &'a Server| server.view.streams.get(id).unwrap_or(&NO_STREAM);
        Some([stream(self.ours), stream(self.theirs)])
    }

    /// The first call that the caller of floor-http2 does not see, with the stream and the fields of its request.
    fn only_h2_accepts(&self) -> Option<(&Call, &Stream, &Fields)> {
        if *self.difference != Difference::Requests {
            return None;
        }
        let (ours, theirs) = (&self.ours.calls, &self.theirs.calls);
        let index = ours.iter().zip(theirs).position(|(a, b)| !a.is_same(b)).unwrap_or(ours.len());
        let call = theirs.get(index)?;
        let id = call.stream?;
        let (_, fields) = self.client.blocks.iter().find(|(of, _)| *of == id)?;
        Some((call, self.ours.view.streams.get(&id)?, fields))
    }

    /// Whether floor-http2 resets a request as malformed, h2 does not, and `is_wrong` says why.
    fn is_refused_for(&self, is_wrong: impl Fn(&Call, &Fields) -> bool) -> bool {
        self.only_h2_accepts()
            .is_some_and(|(call, stream, fields)| stream.server_reset == Some(PROTOCOL_ERROR) && is_wrong(call, fields))
    }

    /// If one has ended the connection: the codes. `None` for one that has not.
    fn codes(&self) -> Option<(Option<u32>, Option<u32>)> {
        let is_comparable = *self.difference == Difference::Connection && self.theirs.broken_rule.is_none();
        let code = |server: &Server| server.view.go_away.map(|(_, code)| code);
        is_comparable.then(|| (code(self.ours), code(self.theirs)))
    }

    /// Whether only h2 has ended the connection, with this code. If several frames have arrived, ours may have ended it
    /// because of a later one.
    fn only_h2_ends(&self, code: u32) -> bool {
        self.codes().is_some_and(|(ours, theirs)| {
            theirs == Some(code) && (ours.is_none() || ours != theirs && self.client.frames.len() > 1)
        })
    }
}

fn is_trimmed(value: &[u8]) -> bool {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !is_space(value.first()) && !is_space(value.last())
}

fn has_status(stream: &Stream, status: &[u8]) -> bool {
    stream.head.as_ref().is_some_and(|head| head[0].1 == status)
}

/// Whether the payload cannot have this length (RFC 9113, section 6).
fn has_wrong_size(frame: &Frame) -> bool {
    let length = frame.payload.len();
    match frame.kind {
        DATA | HEADERS => {
            let first = usize::from(frame.flags & 8 != 0);
            length < first + if frame.kind == HEADERS && frame.flags & 0x20 != 0 { 5 } else { 0 }
        }
        PRIORITY => length != 5,
        RST_STREAM | WINDOW_UPDATE => length != 4,
        SETTINGS if frame.flags & 1 != 0 => length != 0,
        SETTINGS => !length.is_multiple_of(6),
        PING => length != 8,
        GOAWAY => length < 8,
        _ => false,
    }
}

/// Whether a name and a value are of the types that h2 has for them, which is looser than what a request may have.
fn is_representable(name: &[u8], value: &[u8]) -> bool {
    match name {
        b":authority" | b":scheme" | b":path" => std::str::from_utf8(value).is_ok(),
        b":method" => http::Method::from_bytes(value).is_ok(),
        b":status" => http::StatusCode::from_bytes(value).is_ok(),
        b":protocol" => std::str::from_utf8(value).is_ok(),
        _ => http::HeaderName::from_lowercase(name).is_ok() && http::HeaderValue::from_bytes(value).is_ok(),
    }
}

/// A frame of the client.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
    /// Whether the client has ended the stream before.
    is_late: bool,
}

impl fmt::Display for Frame {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, flags, stream, payload, .. } = self;
        let start = payload[..payload.len().min(24)].escape_ascii();
        write!(formatter, "type {kind} flags {flags:x} stream {stream} length {}: {start}", payload.len())
    }
}

/// What the client has sent.
pub(crate) struct Client {
    pub(crate) limits: Limits,
    unparsed: Vec<u8>,
    has_preface: bool,
    decoder: httlib_hpack::Decoder<'static>,
    /// A header block that has not ended.
    block: Option<Vec<u8>>,
    /// The frames that the last step has completed.
    pub(crate) frames: Vec<Frame>,
    /// The header blocks that the last step has completed: their streams and fields.
    pub(crate) blocks: Vec<(u32, Fields)>,
    /// The streams that the client has ended or reset.
    ended: BTreeSet<u32>,
    /// The type and the flags of the first frame.
    first: Option<(u8, u8)>,
    /// Whether the last step has a header block that cannot be decoded.
    has_broken_block: bool,
    /// Whether the client has sent GOAWAY.
    has_left: bool,
    /// Whether the client has sent HEADERS for a stream that depends on itself.
    has_self_dependent: bool,
    /// Whether the client has sent a SETTINGS_HEADER_TABLE_SIZE.
    has_table_size: bool,
}

impl Client {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            unparsed: Vec::new(),
            has_preface: false,
            decoder: httlib_hpack::Decoder::default(),
            block: None,
            frames: Vec::new(),
            blocks: Vec::new(),
            ended: BTreeSet::new(),
            first: None,
            has_broken_block: false,
            has_left: false,
            has_self_dependent: false,
            has_table_size: false,
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.unparsed.extend_from_slice(bytes);
        if !self.is_in_block() {
            self.frames.clear();
            self.blocks.clear();
            self.has_broken_block = false;
        }
        if !self.has_preface {
            if self.unparsed.len() < PREFACE.len() {
                return;
            }
            self.unparsed.drain(..PREFACE.len());
            self.has_preface = true;
        }
        while let Some((kind, flags, stream, payload)) = split_frame(&mut self.unparsed) {
            let stream = stream & (u32::MAX >> 1);
            self.first.get_or_insert((kind, flags));
            let is_late = self.ended.contains(&stream);
            if kind == RST_STREAM || (kind <= HEADERS && flags & 1 != 0) {
                self.ended.insert(stream);
            }
            let frame = Frame { kind, flags, stream, payload, is_late };
            self.has_self_dependent |= kind == HEADERS && frame.depends_on_itself();
            self.has_table_size |= kind == SETTINGS && frame.payload.chunks(6).any(|it| it.starts_with(&[0, 1]));
            self.take_block(&frame);
            self.has_left |= frame.kind == GOAWAY;
            self.frames.push(frame);
        }
    }

    fn take_block(&mut self, frame: &Frame) {
        match frame.kind {
            HEADERS => self.block = Some(frame.block().unwrap_or_default().to_vec()),
            CONTINUATION => {
                if let Some(block) = &mut self.block {
                    block.extend_from_slice(&frame.payload);
                }
            }
            _ => {
                self.block = None;
                return;
            }
        }
        if let Some(mut block) = self.block.take_if(|_| frame.flags & 4 != 0) {
            let mut fields = Vec::new();
            // The fields before an error are there too. This decoder panics for some errors.
            let decoded = catch_unwind(AssertUnwindSafe(|| self.decoder.decode(&mut block, &mut fields)));
            self.has_broken_block |= !matches!(decoded, Ok(Ok(_)));
            self.blocks.push((frame.stream, fields.into_iter().map(|(name, value, _)| (name, value)).collect()));
        }
    }

    /// Whether a header block has begun and not ended.
    pub(crate) const fn is_in_block(&self) -> bool {
        self.block.is_some()
    }

    fn has(&self, is_meant: impl Fn(&Frame) -> bool) -> bool {
        self.frames.iter().any(is_meant)
    }

    /// The bytes of the largest header block, as RFC 9113 counts its fields (section 6.5.2).
    fn header_bytes(&self) -> usize {
        let size = |(name, value): &(Vec<u8>, Vec<u8>)| name.len() + value.len() + 32;
        self.blocks.iter().map(|(_, fields)| fields.iter().map(size).sum()).max().unwrap_or(0)
    }

    fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.blocks.iter().flat_map(|(_, fields)| fields).map(|(name, value)| (&name[..], &value[..]))
    }
}

impl Frame {
    /// Whether it has a priority that depends on its own stream.
    fn depends_on_itself(&self) -> bool {
        let priority =
            &self.payload[usize::from(self.kind == HEADERS && self.flags & 8 != 0).min(self.payload.len())..];
        let has_priority = self.kind == PRIORITY || self.flags & 0x20 != 0;
        has_priority && priority.first_chunk::<4>().is_some_and(|it| u32::from_be_bytes(*it) << 1 == self.stream << 1)
    }

    /// The part of a header block in a HEADERS frame, without padding and priority.
    fn block(&self) -> Option<&[u8]> {
        let mut block = &self.payload[..];
        if self.flags & 8 != 0 {
            let (padding, rest) = block.split_first()?;
            block = rest.get(..rest.len().checked_sub(usize::from(*padding))?)?;
        }
        if self.flags & 0x20 != 0 { block.get(5..) } else { Some(block) }
    }
}
