//! Generates what a client sends: a valid sequence of frames, in half of all sequences with mutations.

use std::collections::BTreeSet;

use floor_http2::Limits;

use crate::{
    frames::{Program, frame},
    view::{PREFACE, split_frame},
};

/// Frames of a sequence. With many more, the frame budget of floor-http2 would end the connection, and it depends on time.
const MAX_FRAMES: usize = 60;
/// Frames that one choice of the grammar gives.
const MAX_REPEATED: usize = 24;

/// What a client sends, and to which server.
pub(crate) struct Sequence {
    pub(crate) limits: Limits,
    /// Bytes that arrive together: mostly one frame, sometimes a part of one or several.
    pub(crate) steps: Vec<Vec<u8>>,
    /// What the callers do with each request is derived from this number.
    pub(crate) callers: u64,
}

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers on every machine.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn is_one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// One of the first of `choices`, as many as one of `counts` says.
    fn among<T: Copy>(&mut self, choices: &[T], counts: &[usize]) -> T {
        let count = self.pick(counts);
        self.pick(&choices[..count])
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// The sequence with this number.
pub(crate) fn sequence(number: u64) -> Sequence {
    let mut numbers = Numbers(number);
    let limits = Limits {
        max_streams: numbers.pick(&[100, 100, 100, 3]),
        max_header_bytes: numbers.pick(&[16 << 10, 16 << 10, 600]),
        stream_window: numbers.pick(&[64 << 10, 64 << 10, 70_000, 1000, 100]),
        connection_window: numbers.pick(&[256 << 10, 65_535, 70_000]),
    };
    let is_mutated = numbers.is_one_in(2);
    let mut frames = valid_frames(&mut numbers, is_mutated);
    if is_mutated {
        for _ in 0..=numbers.below(3) {
            mutate(&mut frames, &mut numbers);
        }
    }
    let mut steps = Vec::new();
    // The limits are in force once the client has acknowledged the server's settings (RFC 9113, section 6.5.3).
    let acknowledgement = frame(4, 1, 0, &[]);
    let settings = frames.remove(0);
    let mut start = [PREFACE, &settings].concat();
    if is_mutated && numbers.is_one_in(40) {
        let index = numbers.below(start.len());
        start[index] ^= 1 << numbers.below(8);
    }
    steps.push(start);
    steps.push(acknowledgement);
    let one_by_one = !numbers.is_one_in(4);
    for frame in frames {
        let is_first = steps.len() == 2;
        match steps.last_mut() {
            Some(last) if !one_by_one && !is_first && numbers.is_one_in(2) => last.extend(frame),
            _ if numbers.is_one_in(8) && frame.len() > 1 => {
                let (first, second) = frame.split_at(1 + numbers.below(frame.len() - 1));
                steps.push(first.to_vec());
                steps.push(second.to_vec());
            }
            _ => steps.push(frame),
        }
    }
    Sequence { limits, steps, callers: numbers.next() }
}

/// What attacks on HTTP/2 servers have sent, as few frames as show whether the servers differ. How many are too many is no
/// rule of HTTP/2: `bevy-server/tests/edge` sends floods.
pub(crate) fn advisories() -> Vec<(&'static str, Sequence)> {
    const REQUEST: &[u8] = b"\x83\x86\x84";
    let streams = || (0..20).map(|index| 2 * index + 1);
    let request = |id| frame(1, 4, id, REQUEST);
    let then =
        |f: &dyn Fn(u32) -> Vec<u8>| -> Vec<Vec<u8>> { streams().map(|id| [request(id), f(id)].concat()).collect() };
    let indexed = [&b"\x83\x86\x84\x40\x01a\x7f\x80\x1e"[..], &[b'a'; 3967], &[0xbe; 1000]].concat();
    let frames = [
        ("ping flood (CVE-2019-9512)", vec![frame(6, 0, 0, b"12345678").repeat(20)]),
        ("reset flood (CVE-2019-9514)", streams().map(|id| frame(1, 4, id, b"\x83\x86")).collect()),
        ("settings flood (CVE-2019-9515)", vec![frame(4, 0, 0, &[]).repeat(20)]),
        ("empty frames (CVE-2019-9518)", vec![[request(1), frame(0, 0, 1, &[]).repeat(20)].concat()]),
        ("rapid reset (CVE-2023-44487)", then(&|id| frame(3, 0, id, &[0, 0, 0, 8]))),
        (
            "CONTINUATION flood (CVE-2024-27316)",
            vec![[frame(1, 0, 1, REQUEST), frame(9, 0, 1, b"").repeat(20)].concat()],
        ),
        ("HPACK bomb (CVE-2016-6581)", vec![frame(1, 4, 1, &indexed)]),
        ("MadeYouReset by WINDOW_UPDATE (CVE-2025-8671)", then(&|id| frame(8, 0, id, &[0; 4]))),
        ("MadeYouReset by a window (CVE-2025-8671)", then(&|id| frame(8, 0, id, &[0x7f, 0xff, 0xff, 0xff]))),
        ("MadeYouReset by PRIORITY (CVE-2025-8671)", then(&|id| frame(2, 0, id, &[0; 4]))),
        ("MadeYouReset by DATA (CVE-2025-8671)", then(&|id| [frame(0, 1, id, b""), frame(0, 1, id, b"")].concat())),
    ];
    let sequence = |(number, (name, frames)): (usize, (&'static str, Vec<Vec<u8>>))| {
        let limits = Limits {
            max_streams: 8,
            max_header_bytes: 16 << 10,
            stream_window: 64 << 10,
            connection_window: 256 << 10,
        };
        let start = [PREFACE, &frame(4, 0, 0, &[])].concat();
        let steps = [start, frame(4, 1, 0, &[])].into_iter().chain(frames).collect();
        (name, Sequence { limits, steps, callers: number as u64 })
    };
    frames.into_iter().enumerate().map(sequence).collect()
}

/// Frames of the grammar of the simulation, and requests with other fields. The first is SETTINGS.
fn valid_frames(numbers: &mut Numbers, is_mutated: bool) -> Vec<Vec<u8>> {
    let bytes: Vec<u8> = (0..60 + numbers.below(400)).map(|_| numbers.next() as u8).collect();
    let mut program = Program::new(&bytes);
    let mut last = 0;
    let mut frames = vec![program.settings()];
    let mut ended = BTreeSet::new();
    while !program.is_at_end() && frames.len() < MAX_FRAMES {
        let choice = program.byte() & 0x1f;
        let mut some = if choice > 28 && program.byte() < 128 {
            last += if last == 0 { 1 } else { 2 };
            unusual_request(last, numbers)
        } else {
            program.frames(choice, &mut last)
        };
        for _ in 0..MAX_REPEATED {
            let Some((kind, flags, stream, payload)) = split_frame(&mut some) else { break };
            let mut payload = payload;
            if !is_mutated {
                // The client has acknowledged the server's settings already, and ends a stream only once.
                let is_acknowledgement = kind == 4 && flags & 1 != 0;
                if is_acknowledgement || (kind <= 1 && ended.contains(&stream)) {
                    continue;
                }
                if kind == 3 || (kind <= 1 && flags & 1 != 0) {
                    ended.insert(stream);
                }
                // A field for which h2 ends the connection.
                if kind == 1
                    && let Some(at) = payload.windows(4).position(|bytes| bytes == b"\x00\x01X\x00")
                {
                    payload[at + 2] = b'x';
                }
            }
            frames.push(frame(kind, flags, stream, &payload));
        }
        if is_mutated && !some.is_empty() && some.len() < 100 {
            frames.push(some);
        }
    }
    frames
}

/// Values of pseudo-headers and fields, the usual ones first, those that are wrong last.
const METHODS: [&[u8]; 8] = [b"GET", b"PUT", b"OPTIONS", b"HEAD", b"CONNECT", b"X-Y", b"G T", b""];
const PATHS: [&[u8]; 12] = [
    b"/a",
    b"/a?b=c&d",
    b"/%20/",
    b"*",
    b"/a#b",
    b"",
    b"no-slash",
    b"/ space",
    b"/\x80",
    b"http://host/a",
    b"/{}",
    b"/\"",
];
const SCHEMES: [&[u8]; 6] = [b"http", b"https", b"ftp", b"", b"1x", b"a b"];
const AUTHORITIES: [&[u8]; 7] = [b"host", b"host:1", b"[::1]:2", b"", b"a b", b"user@host", b"host:x"];
const FIELDS: [(&str, &[u8]); 20] = [
    ("host", b"host"),
    ("cookie", b"a=b"),
    ("cookie", b"c=d"),
    ("te", b"trailers"),
    ("x-bytes", b"\x80\xff"),
    ("accept", b""),
    ("content-length", b"0"),
    ("content-length", b"3"),
    ("expect", b"100-continue"),
    ("te", b"gzip"),
    ("x", b" space"),
    ("x", b"tab\t"),
    ("x", b"\x01"),
    ("x", b"\r\n"),
    ("Upper", b"case"),
    ("", b"name"),
    ("a b", b"name"),
    ("upgrade", b"h2c"),
    ("keep-alive", b"1"),
    ("host", b"other"),
];

/// A request whose fields the grammar of the simulation does not have.
fn unusual_request(stream: u32, numbers: &mut Numbers) -> Vec<u8> {
    let field = |name: &str, value: &[u8]| {
        let mut field = vec![0x00, name.len() as u8];
        field.extend(name.bytes());
        field.push(value.len() as u8);
        field.extend(value);
        field
    };
    let method = numbers.among(&METHODS, &[3, 3, 8]);
    let path = numbers.among(&PATHS, &[3, 3, 12]);
    let scheme = numbers.among(&SCHEMES, &[2, 2, 6]);
    let authority = numbers.among(&AUTHORITIES, &[3, 3, 7]);
    let mut pseudo =
        vec![field(":method", method), field(":scheme", scheme), field(":path", path), field(":authority", authority)];
    if numbers.is_one_in(3) {
        pseudo.pop();
    }
    if numbers.is_one_in(16) {
        let index = numbers.below(pseudo.len());
        pseudo.remove(index);
    }
    if numbers.is_one_in(16) {
        let of_response = numbers.pick(&[":status", ":other", ":protocol"]);
        pseudo.push(field(of_response, b"200"));
    }
    let kinds = numbers.pick(&[9, 9, FIELDS.len()]);
    let mut block = pseudo.concat();
    for _ in 0..numbers.below(6) {
        let (name, value) = numbers.pick(&FIELDS[..kinds]);
        block.extend(field(name, value));
    }
    // END_HEADERS, mostly with END_STREAM.
    frame(1, numbers.pick(&[5, 5, 4]), stream, &block)
}

/// Changes a sequence in one way.
fn mutate(frames: &mut Vec<Vec<u8>>, numbers: &mut Numbers) {
    // The first frame stays SETTINGS in most sequences: without it nothing follows.
    let first = usize::from(!numbers.is_one_in(30)).min(frames.len() - 1);
    let index = first + numbers.below(frames.len() - first);
    let is_whole = frames[index].len() >= 9;
    let streams = frames.iter().filter(|frame| frame.get(3) == Some(&1)).count() as u32;
    match numbers.below(14) {
        0 | 1 => {
            let bytes = frames[index].len();
            let bit = numbers.below(8 * bytes.max(1));
            if let Some(byte) = frames[index].get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
        }
        2 if is_whole => frames[index][3] = numbers.below(11) as u8,
        3 if is_whole => frames[index][4] ^= numbers.pick(&[1, 4, 8, 0x20]),
        4 if is_whole => {
            let stream = numbers.pick(&[0, 1, 2, 3, 2 * streams + 1, u32::MAX >> 1]);
            frames[index][5..9].copy_from_slice(&stream.to_be_bytes());
        }
        // A payload of another length.
        5 | 6 if is_whole => {
            let payload = &frames[index][9..];
            let length = numbers.pick(&[0, 1, 4, 5, 7, 8, payload.len().saturating_sub(1), payload.len() + 1]);
            let mut payload = payload.to_vec();
            payload.resize(length, 0);
            let stream = u32::from_be_bytes([frames[index][5], frames[index][6], frames[index][7], frames[index][8]]);
            frames[index] = frame(frames[index][3], frames[index][4], stream, &payload);
        }
        7 => drop(frames.remove(index)),
        8 => frames.insert(index, frames[index].clone()),
        9 => {
            let other = first + numbers.below(frames.len() - first);
            frames.swap(index, other);
        }
        10 => {
            let again = frames[first + numbers.below(frames.len() - first)].clone();
            frames.push(again);
        }
        _ => {
            let stream = 2 * numbers.below(streams as usize + 2) as u32 + 1;
            let of_stream = numbers.pick(&[0, stream, stream, 2]);
            let inserted = match numbers.below(8) {
                0 => frame(7, 0, numbers.pick(&[0, 0, 0, 1]), &[0, 0, 0, 0, 0, 0, 0, numbers.pick(&[0, 1])]),
                1 => frame(6, 0, 0, b"12345678"),
                2 => frame(2, 0, of_stream, &[0, 0, 0, numbers.pick(&[0, 1, 3, 5]), 15]),
                3 => frame(5, 4, stream, &[0, 0, 0, 2, 0x82, 0x84, 0x86]),
                4 => frame(0xee, 0xff, of_stream, b"unknown"),
                5 => frame(9, 4, of_stream, &[0x82]),
                6 => frame(3, 0, of_stream, &[0, 0, 0, 8]),
                _ => frame(8, 0, of_stream, &numbers.pick(&[0_u32, 1, 70_000, (1 << 31) - 1]).to_be_bytes()),
            };
            frames.insert(index, inserted);
        }
    }
    if frames.is_empty() {
        frames.push(frame(4, 0, 0, &[]));
    }
}
