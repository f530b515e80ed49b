//! Reads the bytes of a program as choices and frames.

/// The rest of a program. At its end all choices are the first.
pub(crate) struct Program<'a> {
    rest: &'a [u8],
    /// Whether the client breaks the protocol in ways that end the connection. Others live longer.
    is_fatal: bool,
    /// Fields that are in the table of the server.
    indexed: u8,
    has_table: bool,
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The path of a request on a stream, so that its call is recognised.
fn path(stream: u32) -> String {
    format!("/{stream}-{}", stream.wrapping_mul(0x9e37_79b1))
}

/// The stream of a request with a path.
pub(crate) fn stream_of_path(text: &str) -> Option<u32> {
    let stream = text.strip_prefix('/')?.split('-').next()?.parse().ok()?;
    (path(stream) == text).then_some(stream)
}

/// A field that is not indexed, with the index of its name.
fn literal(name: u8, value: &str) -> Vec<u8> {
    let mut field = vec![name, value.len() as u8];
    field.extend(value.bytes());
    field
}

impl<'a> Program<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut program = Self { rest: bytes, is_fatal: false, indexed: 0, has_table: true };
        program.is_fatal = program.is_one_in(8);
        program
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let (first, rest) = self.rest.split_first().unwrap_or((&0, &[]));
        self.rest = rest;
        *first
    }

    fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        bytes
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()]
    }

    pub(crate) fn is_one_in(&mut self, count: u8) -> bool {
        self.byte() % count == count - 1
    }

    /// Whether something is chosen that ends the connection.
    pub(crate) fn is_fatal(&mut self) -> bool {
        self.is_fatal && self.is_one_in(8)
    }

    /// A stream near those that are open.
    fn stream(&mut self, last: u32) -> u32 {
        if !self.is_fatal() {
            return last.saturating_sub(2 * u32::from(self.byte() % 8)).max(1);
        }
        match self.byte() {
            choice @ 0..200 => last.saturating_sub(2 * u32::from(choice % 8)),
            200..220 => last + 2,
            220..230 => 0,
            230..240 => last & !1,
            240..250 => last.saturating_sub(200),
            choice => u32::MAX >> (choice % 4 + 1),
        }
    }

    /// A frame of settings.
    pub(crate) fn settings(&mut self) -> Vec<u8> {
        let mut payload = Vec::new();
        for _ in 0..self.byte() % 4 {
            let (id, values): (u16, &[u32]) = self.pick(&[
                (4, &[65_535, 0, 1, 100, 1 << 20, 1 << 30][..]),
                (4, &[70_000, 0, 5, 100_000]),
                (1, &[0, 4096, 100, 65_536, u32::MAX]),
                (5, &[16_384, 16_777_215, 20_000]),
                (2, if self.is_fatal { &[0, 2] } else { &[0, 1] }),
                (3, &[0, 1, 100]),
                (6, &[0, 100]),
                (9, &[0, 7]),
            ]);
            let value = self.pick(values);
            payload.extend(id.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        frame(4, 0, 0, &payload)
    }

    /// A header block for a request on `stream`.
    fn request(&mut self, stream: u32) -> Vec<u8> {
        let mut block = Vec::new();
        let mut pseudo = vec![vec![0x83], vec![0x86], literal(0x04, &path(stream))];
        if self.is_one_in(16) {
            match self.byte() % 5 {
                0 => pseudo.push(vec![0x82]),
                1 => pseudo.truncate(2),
                2 => pseudo[1] = literal(0x01, "authority"),
                3 => pseudo.push(literal(0x04, "/ ")),
                _ => pseudo.rotate_left(1),
            }
        }
        if self.is_one_in(16) {
            let size = self.pick(&[0, 30, 10]);
            block.push(0x20 | size);
            (self.indexed, self.has_table) = (0, false);
        }
        block.extend(pseudo.concat());
        self.fields(&mut block);
        block
    }

    fn fields(&mut self, block: &mut Vec<u8>) {
        for _ in 0..self.byte() % 6 {
            match self.byte() % 24 {
                0..4 => {
                    block.extend(b"\x40\x02te\x08trailers");
                    self.indexed();
                }
                4..6 => {
                    block.extend(b"\x5f\x10application/grpc");
                    self.indexed();
                }
                6..8 if self.indexed > 0 => block.push(0xbe + self.byte() % self.indexed),
                8 => block.extend(b"\x0f\x0d\x010"),
                9 | 10 => {
                    let length = self.pick(&["0", "5", "100", "70000", "x", "", "18446744073709551616"]);
                    block.extend([0x0f, 0x0d, length.len() as u8]);
                    block.extend(length.bytes());
                }
                11 => block.extend(b"\x00\x01X\x00"),
                12 => block.extend(b"\x00\x0aconnection\x05close"),
                13 => {
                    block.extend(b"\x40\x01x\x81\x1f");
                    self.indexed();
                }
                14 if self.is_fatal() => block.extend(b"\x50\x84\x9d\x29\xad\x17"),
                15 => {
                    let size = self.pick(&[1000_u32, 300, 9000]);
                    block.extend([0x00, 0x01, b'v', 0x7f]);
                    let rest = size - 127;
                    block.extend([rest as u8 & 0x7f | 0x80, (rest >> 7) as u8]);
                    block.extend(vec![b'v'; size as usize]);
                }
                16 => {
                    for _ in 0..self.byte() {
                        block.extend(b"\x40\x01a\x01b");
                        self.indexed();
                    }
                }
                17 if self.indexed > 0 => {
                    for _ in 0..self.byte() {
                        block.extend([0xbe; 16]);
                    }
                }
                18 if self.is_fatal() => {
                    let count = usize::from(self.byte() % 16);
                    block.extend(self.bytes(count));
                }
                _ => {
                    let name = self.pick(b"abcdef");
                    let value = self.byte();
                    let kind = self.pick(&[0x00, 0x10, 0x40]);
                    block.extend([kind, 1, name, 1, b' ' + value % 94]);
                    if kind == 0x40 {
                        self.indexed();
                    }
                }
            }
        }
    }

    /// A short field was sent that enters the table.
    fn indexed(&mut self) {
        self.indexed = (self.indexed + u8::from(self.has_table)).min(20);
    }

    /// The frames of a header block, with the other flags.
    fn headers(&mut self, stream: u32, ends: bool, mut block: &[u8]) -> Vec<u8> {
        let mut flags = u8::from(ends);
        let mut first = Vec::new();
        let extra = self.byte();
        let padding = if extra & 0x0f == 1 { self.byte() } else { 0 };
        if extra & 0x0f == 1 {
            flags |= 8;
            first.push(padding);
        }
        if extra & 0xf0 == 0x10 {
            flags |= 0x20;
            let dependency = if self.is_one_in(4) { stream } else { 0 };
            first.extend(dependency.to_be_bytes());
            first.push(7);
        }
        let parts = if extra & 0xf0 == 0x20 { 1 + usize::from(self.byte() % 8) } else { 1 };
        let part_length = block.len().div_ceil(parts).min(16_000);
        let mut frames = Vec::new();
        for i in 0.. {
            let (part, rest) = block.split_at(part_length.min(block.len()));
            block = rest;
            let is_last = block.is_empty() && (i + 1 >= parts || part_length == 0 || extra & 0xf0 != 0x30);
            let end = if is_last { 4 } else { 0 };
            if i == 0 {
                first.extend(part);
                first.resize(first.len() + usize::from(padding), 0);
                frames.extend(frame(1, flags | end, stream, &first));
            } else {
                frames.extend(frame(9, end, stream, part));
            }
            if is_last {
                break;
            }
        }
        frames
    }

    /// Some frames of a client. `last` is the last stream that it has opened.
    pub(crate) fn frames(&mut self, choice: u8, last: &mut u32) -> Vec<u8> {
        match choice {
            // Streams have to be open, and the last choices mostly end the connection.
            _ if *last == 0 || choice <= 8 || (choice >= 30 && !self.is_fatal()) => {
                *last += if *last == 0 { 1 } else { 2 };
                let ends = choice <= 2;
                let block = self.request(*last);
                self.headers(*last, ends, &block)
            }
            9..=15 | 25 => {
                let stream = self.stream(*last);
                self.data(stream, choice == 25)
            }
            16..=19 => {
                let stream = if choice < 18 { 0 } else { self.stream(*last) };
                let is_any = stream != 0 || self.is_fatal();
                let increments = [1_u32, 10, 1000, 100_000, 1 << 20, (1 << 31) - 1, 0];
                let increment = self.pick(&increments[..if is_any { 7 } else { 5 }]);
                frame(8, 0, stream, &increment.to_be_bytes())
            }
            20 | 21 => self.settings(),
            22 => frame(6, self.pick(&[0, 0, 1]), 0, &[self.byte(); 8]),
            23 => frame(3, 0, self.stream(*last), &[0, 0, 0, self.byte()]),
            24 => {
                let stream = self.stream(*last);
                let dependency = self.stream(*last);
                let mut payload = dependency.to_be_bytes().to_vec();
                payload.push(0);
                frame(2, 0, stream, &payload[..self.pick(&[5, 5, 5, 5, 4])])
            }
            // Trailers.
            26 => {
                let stream = self.stream(*last);
                let mut block = Vec::new();
                self.fields(&mut block);
                let ends = !self.is_one_in(8);
                self.headers(stream, ends, &block)
            }
            27 => frame(4, 1, 0, &[]),
            28 => self.many(*last),
            29 => {
                let mut frames = Vec::new();
                for _ in 0..self.byte() % 128 {
                    *last += if *last == 0 { 1 } else { 2 };
                    frames.extend(frame(1, 5, *last, &[&[0x83, 0x86], &literal(0x04, &path(*last))[..]].concat()));
                }
                frames
            }
            30 => {
                let (kind, flags, stream) = (self.byte() % 12, self.byte(), self.stream(*last));
                let count = usize::from(self.byte() % 20);
                frame(kind, flags, stream, self.bytes(count))
            }
            _ => {
                let count = usize::from(self.byte() % 12);
                self.bytes(count).to_vec()
            }
        }
    }

    /// One or more frames DATA.
    fn data(&mut self, stream: u32, ends: bool) -> Vec<u8> {
        let length = self.pick(&[0_usize, 1, 5, 95, 100, 1000, 16_384, 7]);
        let extra = self.byte();
        let mut payload: Vec<u8> = (0..length).map(|i| i as u8 ^ extra).collect();
        let mut flags = u8::from(extra & 7 == 1 || ends);
        if extra & 0xf0 == 0x10 && (length > 0 || self.is_fatal()) {
            flags |= 8;
            if let Some(padding) = payload.first_mut() {
                *padding %= length.min(32) as u8;
            }
        }
        // The window of a stream, at once.
        let count = if length == 16_384 && flags == 0 { 1 + usize::from(extra % 4) } else { 1 };
        frame(0, flags, stream, &payload).repeat(count)
    }

    /// A frame that costs the client little, many times.
    fn many(&mut self, last: u32) -> Vec<u8> {
        let count = 1 + usize::from(self.byte()) * 4;
        let stream = self.stream(last);
        let one = match self.byte() % 6 {
            0 => frame(6, 0, 0, &[7; 8]),
            1 => frame(4, 0, 0, &[]),
            2 => frame(2, 0, 1, &[0, 0, 0, 0, 0]),
            3 => frame(0, 0, stream, &[]),
            4 => frame(77, 0, 0, &[]),
            _ => frame(8, 0, 0, &[0, 0, 0, 1]),
        };
        one.repeat(count)
    }
}
