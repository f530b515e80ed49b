//! The bytes of a saved state: numbers in LEB128, 7 bits a byte, the lowest first, in as few bytes as they need; and
//! bits as the lengths of their runs. So a state has one form.

use alloc::vec::Vec;
use core::fmt;

use crate::floor::FloorError;

/// The first byte. It rises when the form or a rule changes: a state goes on by the rules that it began with.
const VERSION: u8 = 1;

/// Why bytes are no saved state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// The rules cannot play on this floor.
    Floor(FloorError),
    /// The state of another floor.
    OtherFloor,
    /// The first byte, if it is not the version of these rules.
    Version(u8),
    /// The bytes end too soon.
    Short,
    /// So many bytes follow the last one of the state.
    Long(usize),
    /// A value that cannot be.
    Value {
        /// Of what.
        what: &'static str,
        /// The place of the byte after it.
        before: usize,
    },
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Floor(error) => error.fmt(f),
            Self::OtherFloor => f.write_str("the state was saved on another floor"),
            Self::Version(found) => write!(f, "a saved state of version {found}; these rules read version {VERSION}"),
            Self::Short => f.write_str("the saved state ends too soon"),
            Self::Long(rest) => write!(f, "{rest} bytes follow the saved state"),
            Self::Value { what, before } => write!(f, "no state has this {what}, before byte {before}"),
        }
    }
}

impl core::error::Error for StateError {}

impl From<FloorError> for StateError {
    fn from(error: FloorError) -> Self {
        Self::Floor(error)
    }
}

/// Writes a state.
pub(crate) struct Writer(Vec<u8>);

impl Default for Writer {
    fn default() -> Self {
        Self(Vec::from([VERSION]))
    }
}

impl Writer {
    pub(crate) fn number(&mut self, number: impl Into<u64>) {
        let mut rest = number.into();
        while rest >= 0x80 {
            self.0.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
    }

    /// 8 bytes.
    pub(crate) fn digest(&mut self, digest: u64) {
        self.0.extend(digest.to_le_bytes());
    }

    /// Bits whose count the reader knows, as the lengths of their runs. The first run is of zeros, and may be empty.
    pub(crate) fn bits(&mut self, bits: impl Iterator<Item = bool>) {
        let (mut run, mut is_set) = (0u32, false);
        for bit in bits {
            if bit != is_set {
                self.number(run);
                (run, is_set) = (0, bit);
            }
            run += 1;
        }
        self.number(run);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads a state.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    next: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, StateError> {
        match bytes.first() {
            None => Err(StateError::Short),
            Some(&VERSION) => Ok(Self { bytes, next: 1 }),
            Some(other) => Err(StateError::Version(*other)),
        }
    }

    /// A number of at most `most`.
    pub(crate) fn number<T: TryFrom<u64> + Into<u64>>(&mut self, what: &'static str, most: T) -> Result<T, StateError> {
        let (mut number, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // The last byte is 0 only in the number 0, and the tenth has one bit.
            if (byte == 0 && shift > 0) || shift > 63 || bits << shift >> shift != bits {
                return Err(self.wrong(what));
            }
            number |= bits << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        T::try_from(number).ok().filter(|_| number <= most.into()).ok_or_else(|| self.wrong(what))
    }

    pub(crate) fn digest(&mut self) -> Result<u64, StateError> {
        let mut digest = [0; 8];
        for byte in &mut digest {
            *byte = self.byte()?;
        }
        Ok(u64::from_le_bytes(digest))
    }

    /// Calls `set` with each of `count` bits.
    pub(crate) fn bits(
        &mut self,
        what: &'static str,
        count: usize,
        mut set: impl FnMut(usize, bool),
    ) -> Result<(), StateError> {
        let (mut next, mut is_set) = (0, false);
        loop {
            // A floor has at most 2^18 cells, and no list 2^32 entries.
            let run = self.number(what, (count - next) as u32)? as usize;
            // Only the first run may be empty.
            if run == 0 && is_set | (next > 0) {
                return Err(self.wrong(what));
            }
            (next..next + run).for_each(|index| set(index, is_set));
            (next, is_set) = (next + run, !is_set);
            if next == count {
                return Ok(());
            }
        }
    }

    /// What was read last cannot be.
    pub(crate) const fn wrong(&self, what: &'static str) -> StateError {
        StateError::Value { what, before: self.next }
    }

    pub(crate) fn end(self) -> Result<(), StateError> {
        match self.bytes.len() - self.next {
            0 => Ok(()),
            rest => Err(StateError::Long(rest)),
        }
    }

    fn byte(&mut self) -> Result<u8, StateError> {
        let byte = *self.bytes.get(self.next).ok_or(StateError::Short)?;
        self.next += 1;
        Ok(byte)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn number(bytes: &[u8]) -> Result<u64, StateError> {
        Reader { bytes, next: 0 }.number("it", u64::MAX)
    }

    #[test]
    fn a_number_has_one_form() {
        for sample in [0, 1, 127, 128, 1 << 32, u64::MAX] {
            let mut out = Writer(Vec::new());
            out.number(sample);
            assert_eq!(number(&out.0), Ok(sample));
        }
        assert_eq!(number(&[0x80, 0x00]), Err(StateError::Value { what: "it", before: 2 }));
        let over = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(number(&over), Err(StateError::Value { what: "it", before: 10 }));
        assert_eq!(number(&[0x80; 11]), Err(StateError::Value { what: "it", before: 11 }));
        assert_eq!(number(&[0x80]), Err(StateError::Short));
    }

    #[test]
    fn bits_have_one_form() {
        let read = |bytes: &[u8], count: usize| {
            let mut bits = vec![false; count];
            Reader { bytes, next: 0 }.bits("bits", count, |index, bit| bits[index] = bit).map(|()| bits)
        };
        for sample in [vec![], vec![true], vec![false, false, true], vec![true, false, true, true]] {
            let mut out = Writer(Vec::new());
            out.bits(sample.iter().copied());
            assert_eq!(read(&out.0, sample.len()), Ok(sample));
        }
        assert!(read(&[0, 0, 1], 1).is_err());
        assert!(read(&[1, 0, 1], 2).is_err());
        assert!(read(&[3], 2).is_err());
        assert_eq!(read(&[1], 2), Err(StateError::Short));
    }
}
