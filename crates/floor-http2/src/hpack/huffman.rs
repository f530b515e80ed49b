//! The Huffman code of HPACK (RFC 7541, appendix B).

use super::HpackError;

/// The symbols: the 256 bytes, and the end of a string.
const SYMBOLS: usize = 257;
/// The end of a string. It may not occur inside one.
const END: u16 = 256;
const MAX_LENGTH: usize = 30;
/// Codes up to this length are found by one lookup. All letters and digits have such codes.
const SHORT: u32 = 8;

/// Bits of each symbol's code. The code is canonical, so its lengths define it.
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12,
    10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6,
    5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22,
    22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20,
    22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28,
    27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28,
    27, 27, 27, 27, 27, 26, 30,
];

static CODE: Code = Code::new();

/// The code, arranged for decoding.
struct Code {
    /// The symbols by length and value.
    symbols: [u16; SYMBOLS],
    /// By length: the first code, and its index in `symbols`. The last entry is the end of the table.
    first: [(u32, u16); MAX_LENGTH + 2],
    /// By the next bits: the symbol and its length, or 0 for a longer code.
    short: [(u8, u8); 1 << SHORT],
}

impl Code {
    const fn new() -> Self {
        let mut code = Self { symbols: [0; SYMBOLS], first: [(0, 0); MAX_LENGTH + 2], short: [(0, 0); 1 << SHORT] };
        let (mut next, mut index, mut length) = (0_u32, 0, 1);
        while length <= MAX_LENGTH {
            next <<= 1;
            code.first[length] = (next, index as u16);
            let mut symbol = 0;
            while symbol < SYMBOLS {
                if LENGTHS[symbol] as usize == length {
                    code.symbols[index] = symbol as u16;
                    if length <= SHORT as usize {
                        let unused = SHORT - length as u32;
                        let mut bits = next << unused;
                        while bits < (next + 1) << unused {
                            code.short[bits as usize] = (symbol as u8, length as u8);
                            bits += 1;
                        }
                    }
                    index += 1;
                    next += 1;
                }
                symbol += 1;
            }
            length += 1;
        }
        code.first[MAX_LENGTH + 1] = (0, index as u16);
        code
    }

    /// The symbol at the front of `bits`, and the length of its code.
    fn symbol(&self, bits: u64) -> (u16, u32) {
        let (symbol, length) = self.short[(bits >> (64 - SHORT)) as usize];
        if length > 0 {
            return (u16::from(symbol), u32::from(length));
        }
        for length in SHORT as usize + 1..=MAX_LENGTH {
            let (first, index) = self.first[length];
            let count = u32::from(self.first[length + 1].1 - index);
            let offset = ((bits >> (64 - length)) as u32).wrapping_sub(first);
            if offset < count {
                return (self.symbols[usize::from(index) + offset as usize], length as u32);
            }
        }
        // Not reached: the code is complete.
        (END, MAX_LENGTH as u32)
    }
}

/// Appends the decoded `input` to `output`.
///
/// # Errors
/// `input` has the end symbol, or ends with more than 7 bits of padding or with others than ones.
pub(super) fn decode(input: &[u8], output: &mut Vec<u8>) -> Result<(), HpackError> {
    let mut input = input.iter();
    // `count` bits from the left are of the input. Those behind are ones, as padding is.
    let (mut bits, mut count) = (u64::MAX, 0_u32);
    loop {
        while count <= 56
            && let Some(byte) = input.next()
        {
            let shift = 56 - count;
            bits = (bits & !(0xff << shift)) | (u64::from(*byte) << shift);
            count += 8;
        }
        let (symbol, length) = CODE.symbol(bits);
        if length > count {
            // Less than a symbol is left. Ones are part of the end symbol, the longest code.
            return if count < 8 && symbol == END { Ok(()) } else { Err(HpackError::Huffman) };
        }
        if symbol == END {
            return Err(HpackError::Huffman);
        }
        output.push(symbol as u8);
        bits = (bits << length) | ((1 << length) - 1);
        count -= length;
    }
}

#[cfg(test)]
pub(super) fn encode(text: &[u8]) -> Vec<u8> {
    let code = |symbol: usize| {
        let length = usize::from(LENGTHS[symbol]);
        let (first, index) = CODE.first[length];
        let place = CODE.symbols[usize::from(index)..].iter().position(|it| usize::from(*it) == symbol).unwrap();
        (first + place as u32, length)
    };
    let mut bits: Vec<bool> = Vec::new();
    for byte in text {
        let (code, length) = code(usize::from(*byte));
        bits.extend((0..length).rev().map(|bit| code >> bit & 1 == 1));
    }
    bits.resize(bits.len().next_multiple_of(8), true);
    bits.chunks(8).map(|byte| byte.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(input: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut output = Vec::new();
        decode(input, &mut output).map(|()| output)
    }

    #[test]
    fn the_examples_of_the_specification_are_decoded() {
        // RFC 7541, appendix C.4 and C.6.
        let www = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(decoded(&www).unwrap(), b"www.example.com");
        assert_eq!(decoded(&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]).unwrap(), b"no-cache");
        assert_eq!(decoded(&[0x64, 0x0e, 0xff]).unwrap(), b"307");
        assert_eq!(decoded(&[]).unwrap(), b"");
    }

    #[test]
    fn wrong_padding_and_the_end_symbol_are_refused() {
        assert!(decoded(&[0x64, 0x0e, 0xff, 0xff]).is_err(), "a byte of padding");
        assert!(decoded(&[0x64, 0x0e, 0xfe]).is_err(), "a padding of other bits");
        assert!(decoded(&[0xff; 4]).is_err(), "the end symbol");
        assert!(decoded(&[0xff; 9]).is_err(), "the end symbol inside");
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text: Vec<u8>) {
            prop_assert_eq!(decoded(&encode(&text)).unwrap(), text);
        }

        #[test]
        fn no_input_panics(input: Vec<u8>) {
            let _ = decoded(&input);
        }
    }
}
