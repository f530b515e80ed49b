//! Lists of floor numbers on the command line: `1-10,20`.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use floor_client::limits::MAX_FLOOR;
use indicatif::HumanCount;

/// Floor numbers in the given order, with repetitions. Each is in the range of valid numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbers(Vec<RangeInclusive<u32>>);

impl Numbers {
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().cloned().flatten()
    }

    pub(crate) fn single(number: u32) -> Self {
        Self(vec![number..=number])
    }

    pub(crate) fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u32>> {
        self.0.iter().cloned()
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.iter().map(|range| u64::from(range.end() - range.start()) + 1).sum()
    }

    /// The number at an index of the list, counted from 0.
    pub(crate) fn nth(&self, index: u64) -> Option<u32> {
        let mut left = index;
        for range in &self.0 {
            let len = u64::from(range.end() - range.start()) + 1;
            match u32::try_from(left) {
                Ok(within) if left < len => return Some(range.start() + within),
                _ => left -= len.min(left),
            }
        }
        None
    }

    /// First and last number of every range. If these are valid, all numbers are.
    pub(crate) fn bounds(&self) -> impl Iterator<Item = u32> {
        self.0.iter().flat_map(|range| [*range.start(), *range.end()])
    }
}

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(|part| range(part.trim())).collect::<Result<_, _>>().map(Self)
    }
}

fn range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let number = |digits: &str| match digits.trim() {
        digits if is_number(digits) => parse_one(digits),
        _ => Err(format!("{text:?} is neither a floor number nor a range such as 1-10")),
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    if first > last {
        return Err(format!("{text} runs backwards; write {last}-{first}"));
    }
    Ok(first..=last)
}

/// Parses one valid floor number. All flags that take a floor number use this function.
pub(crate) fn parse_one(text: &str) -> Result<u32, String> {
    if !is_number(text) {
        return Err(format!("{text:?} is no floor number"));
    }
    match text.parse() {
        Ok(0) => Err("there is no floor number 0: floors are numbered from 1".to_owned()),
        Ok(number) if number <= MAX_FLOOR => Ok(number),
        _ => Err(format!("{text} is beyond floor {}, the last of a tower", HumanCount(MAX_FLOOR.into()))),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match (range.start(), range.end()) {
                (first, last) if first == last => write!(f, "{comma}{first}")?,
                (first, last) => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_single_numbers_mix() {
        let numbers: Numbers = "3-5, 9,1".parse().unwrap();
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [3, 4, 5, 9, 1]);
        assert_eq!(numbers.len(), 5);
        assert_eq!(numbers.to_string(), "3-5,9,1");
        assert_eq!(
            (0..6).map(|index| numbers.nth(index)).collect::<Vec<_>>(),
            [Some(3), Some(4), Some(5), Some(9), Some(1), None]
        );
        assert_eq!(numbers.bounds().collect::<Vec<_>>(), [3, 5, 9, 9, 1, 1]);
    }

    #[test]
    fn a_long_range_is_counted_without_listing_it() {
        assert_eq!("1-1000000".parse::<Numbers>().unwrap().len(), 1_000_000);
    }

    #[test]
    fn floor_numbers_out_of_range_are_rejected() {
        for (text, expected) in [
            ("0", "no floor number 0"),
            ("0-9", "no floor number 0"),
            ("5,1-2000000", "2000000 is beyond floor 1,000,000, the last of a tower"),
            ("99999999999999999999", "beyond floor 1,000,000"),
        ] {
            let error = text.parse::<Numbers>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn invalid_text_is_named_in_the_error() {
        for (text, part) in [("", "\"\""), ("a", "\"a\""), ("1-", "\"1-\""), ("-3", "\"-3\""), ("5-2", "write 2-5")] {
            let error = text.parse::<Numbers>().unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
