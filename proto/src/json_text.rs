//! What a JSON text says and a reader of JSON would change without a word: numbers that it rounds, and names of which it
//! takes the last.

use std::borrow::Cow;

/// The greatest integer that programs with numbers of floating point send as it was meant (RFC 7493, section 2.2).
const MAX_EXACT: u64 = (1 << 53) - 1;
/// The most bytes of a number that an error quotes.
const MAX_QUOTED: usize = 40;

/// What is wrong at a byte of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) description: String,
}

/// `json`, in which whole numbers such as `3.0` and `1e3` are written as integers: the codec takes those for no enum. Other
/// numbers stay as they are.
///
/// A number whose value the codec, or the program that sent it, may have rounded is an error: an integer beyond
/// [`MAX_EXACT`], which as a string is exact, and a fraction that is read as an integer.
pub(crate) fn with_exact_numbers(json: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
    let (mut exact, mut copied, mut at) = (Vec::new(), 0, 0);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => at = end_of_string(json, at),
            b'-' | b'0'..=b'9' => {
                let is_of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let end = at + json[at..].iter().take_while(|byte| is_of_number(byte)).count();
                let number = std::str::from_utf8(&json[at..end]).unwrap_or_default();
                match Decimal::parse(number).map_or(Ok(None), |decimal| decimal.integer(number)) {
                    Ok(Some(integer)) => {
                        exact.extend_from_slice(&json[copied..at]);
                        exact.extend_from_slice(integer.as_bytes());
                        copied = end;
                    }
                    Ok(None) => {}
                    Err(description) => return Err(Fault { at, description }),
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(json));
    }
    exact.extend_from_slice(&json[copied..]);
    Ok(Cow::Owned(exact))
}

/// A number in JSON's grammar.
struct Decimal<'a> {
    is_negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: Option<&'a str>,
}

impl<'a> Decimal<'a> {
    /// `None` if `number` is none.
    fn parse(number: &'a str) -> Option<Self> {
        let (is_negative, rest) = number.strip_prefix('-').map_or((false, number), |rest| (true, rest));
        let (rest, exponent) = match rest.split_once(['e', 'E']) {
            Some((rest, exponent)) => (rest, Some(exponent)),
            None => (rest, None),
        };
        let (whole, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_valid = are_digits(whole)
            && (whole == "0" || !whole.starts_with('0'))
            && are_digits(fraction)
            && exponent.is_none_or(|exponent| are_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)));
        is_valid.then_some(Self { is_negative, whole, fraction, exponent })
    }

    /// The integer that `text`, this number, is, unless it is written as one. `None` for a fraction.
    fn integer(&self, text: &str) -> Result<Option<String>, String> {
        let fraction = self.fraction.trim_end_matches('0');
        if self.exponent.is_none() && fraction.is_empty() {
            Self::check_range(self.whole, text)?;
            let integer = self.signed(self.whole);
            return Ok((integer != text).then_some(integer));
        }
        let all = format!("{}{fraction}", self.whole);
        let digits = all.trim_start_matches('0').trim_end_matches('0');
        if digits.is_empty() {
            return Ok(Some("0".to_owned()));
        }
        let trailing_zeros = all.len() - all.trim_end_matches('0').len();
        // An exponent with more digits than an i64 has moves the point out of sight.
        let exponent = self.exponent.unwrap_or("0").parse::<i64>().unwrap_or(if self.exponent_is_negative() {
            i64::MIN / 2
        } else {
            i64::MAX / 2
        });
        match exponent - fraction.len() as i64 + trailing_zeros as i64 {
            zeros @ 0.. => {
                let zeros = usize::try_from(zeros).unwrap_or(usize::MAX).min(MAX_QUOTED);
                let integer = format!("{digits}{}", "0".repeat(zeros));
                Self::check_range(&integer, text)?;
                Ok(Some(self.signed(&integer)))
            }
            _ if text.parse::<f64>().is_ok_and(|value| value.fract() == 0.0) => {
                Err(format!("{} is read as a whole number and is none", quoted(text)))
            }
            _ => Ok(None),
        }
    }

    fn exponent_is_negative(&self) -> bool {
        self.exponent.is_some_and(|exponent| exponent.starts_with('-'))
    }

    fn signed(&self, digits: &str) -> String {
        format!("{}{digits}", if self.is_negative && digits != "0" { "-" } else { "" })
    }

    /// Fails if the integer of these digits may have been rounded before it was sent.
    fn check_range(digits: &str, text: &str) -> Result<(), String> {
        if digits.len() < 16 || digits.parse::<u64>().is_ok_and(|value| value <= MAX_EXACT) {
            return Ok(());
        }
        Err(format!(
            "the number {} is beyond {MAX_EXACT}, and JavaScript and other programs round such numbers before they send \
             them; write it as a string",
            quoted(text)
        ))
    }
}

fn quoted(number: &str) -> &str {
    &number[..number.len().min(MAX_QUOTED)]
}

/// The first name in a valid JSON text that is the name of another field of its object, also in the other spelling that the
/// mapping of proto3 allows. The place is that of the name.
pub(crate) fn repeated_name(json: &[u8]) -> Option<Fault> {
    // The names of the objects that are open with their places, and where those of each begin; `None` for a list.
    let mut names: Vec<(Cow<'_, str>, usize)> = Vec::new();
    let mut open: Vec<Option<usize>> = Vec::new();
    let (mut at, mut is_name) = (0, false);
    while let Some(byte) = json.get(at) {
        match byte {
            b'{' => {
                open.push(Some(names.len()));
                is_name = true;
            }
            b'[' => open.push(None),
            b'}' | b']' => {
                if let Some(Some(start)) = open.pop() {
                    let own = &mut names[start..];
                    own.sort_unstable();
                    if let Some(pair) = own.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                        let (name, at) = &pair[1];
                        return Some(Fault { at: *at, description: format!("{name} is given twice") });
                    }
                    names.truncate(start);
                }
                is_name = false;
            }
            b',' => is_name = matches!(open.last(), Some(Some(_))),
            b'"' => {
                let end = end_of_string(json, at);
                if is_name {
                    names.push((json_name(&json[at..end]), at));
                }
                is_name = false;
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The name in a string of JSON, in lowerCamelCase: `content_hash` and `contentHash` are one field.
fn json_name(string: &[u8]) -> Cow<'_, str> {
    let inner = &string[1..string.len().max(2) - 1];
    if !inner.iter().any(|byte| b"_\\".contains(byte)) {
        return String::from_utf8_lossy(inner);
    }
    let name = serde_json::from_slice::<String>(string).unwrap_or_default();
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    let joined = parts.fold(first, |joined, part| {
        let mut letters = part.chars();
        joined + &letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    });
    Cow::Owned(joined)
}

/// The position behind the string that begins at `start`, or the end of a text that ends inside it.
fn end_of_string(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_or_refused() {
        for (number, exact) in [
            ("42", "42"),
            ("-42", "-42"),
            ("-0", "0"),
            ("42.0", "42"),
            ("42.000", "42"),
            ("4.2e1", "42"),
            ("420E-1", "42"),
            ("1.25e+2", "125"),
            ("-2e0", "-2"),
            ("0.0", "0"),
            ("-0.0", "0"),
            ("0e999999999999999999999", "0"),
            ("9007199254740991", "9007199254740991"),
            ("9.007199254740991e15", "9007199254740991"),
            ("42.5", "42.5"),
            ("5e-1", "5e-1"),
            // None of JSON's.
            ("042", "042"),
            ("1.", "1."),
            ("1e", "1e"),
            ("--1", "--1"),
        ] {
            let json = format!("[{number},\"1.0\\\"2.0\"]");
            let expected = format!("[{exact},\"1.0\\\"2.0\"]");
            assert_eq!(with_exact_numbers(json.as_bytes()).unwrap(), expected.as_bytes(), "{number}");
        }
        for (number, part) in [
            ("9007199254740992", "beyond 9007199254740991"),
            ("-9007199254740992", "beyond 9007199254740991"),
            ("18446744073709551615", "write it as a string"),
            ("18446744073709551616", "write it as a string"),
            ("1.8446744073709552e19", "write it as a string"),
            ("9007199254740993.0", "write it as a string"),
            ("90071992547409930e-1", "write it as a string"),
            ("1e400", "write it as a string"),
            ("1e99999999999999999999", "write it as a string"),
            ("1.00000000000000000001", "is read as a whole number and is none"),
            ("1e-400", "is read as a whole number and is none"),
            ("1e-99999999999999999999", "is read as a whole number and is none"),
        ] {
            let fault = with_exact_numbers(format!("{{\"a\": {number}}}").as_bytes()).unwrap_err();
            assert!(fault.at == 6 && fault.description.contains(part), "{number}: {fault:?}");
        }
    }

    #[test]
    fn a_name_that_is_given_twice_is_found() {
        for json in [
            r#"{"a":1,"b":{"a":1},"c":[{"a":1},{"a":"a"}],"d":"a"}"#,
            r#"[{"a":1},"a","a"]"#,
            r#"{"a_b":1,"a":{"aB":2},"b":"a_b"}"#,
            r#"{"a":",\"a\":1"}"#,
        ] {
            assert_eq!(repeated_name(json.as_bytes()), None, "{json}");
        }
        for (json, at, name) in [
            (r#"{"a":1,"a":1}"#, 7, "a"),
            (r#"{"b":[{"a":1},{"a":1,"c":{},"a":2}]}"#, 28, "a"),
            (r#"{"b":{"x":[]}, "b":{}}"#, 15, "b"),
            (r#"{"content_hash":1,"contentHash":1}"#, 18, "contentHash"),
            (r#"{"seed":1,"\u0073eed":1}"#, 10, "seed"),
        ] {
            let expected = Fault { at, description: format!("{name} is given twice") };
            assert_eq!(repeated_name(json.as_bytes()), Some(expected), "{json}");
        }
        let many: Vec<_> = (0..200_000).map(|number| format!("\"{number}\":1")).collect();
        let mut json = format!("{{{}}}", many.join(","));
        assert_eq!(repeated_name(json.as_bytes()), None);
        json.insert_str(json.len() - 1, ",\"7\":1");
        assert_eq!(repeated_name(json.as_bytes()).unwrap().description, "7 is given twice");
    }
}
