//! What an instance may take, and how a module is told so whose engine has no limits of its own.

use prost::encoding::{decode_varint, encode_varint};

/// The most bytes of the memory of an instance.
pub(super) const MAX_MEMORY: usize = 64 << 20;
/// The most elements of a table.
pub(super) const MAX_TABLE: usize = 100_000;

/// The bytes of a page of memory.
const PAGE: usize = 64 << 10;
/// The magic number and the version.
const HEADER: usize = 8;
/// Sections of a module: <https://webassembly.github.io/spec/core/binary/modules.html>.
const TABLES: u8 = 4;
const MEMORIES: u8 = 5;

/// `wasm` with these limits as the maximum of its memory and its tables, so that they grow as far as in a server. What is no
/// module stays as it is: the engine says what is wrong with it.
pub(super) fn limited(wasm: &[u8]) -> Vec<u8> {
    with_maximums(wasm).unwrap_or_else(|| wasm.to_vec())
}

fn with_maximums(wasm: &[u8]) -> Option<Vec<u8>> {
    let (header, mut rest) = wasm.split_at_checked(HEADER)?;
    let mut out = header.to_vec();
    while let Some((&id, content)) = rest.split_first() {
        rest = content;
        let length = number(&mut rest)?;
        let (content, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        rest = after;
        let limited = match id {
            TABLES => with_maximum(content, 1, MAX_TABLE),
            MEMORIES => with_maximum(content, 0, MAX_MEMORY / PAGE),
            _ => None,
        };
        let content = limited.as_deref().unwrap_or(content);
        out.push(id);
        encode_varint(content.len() as u64, &mut out);
        out.extend_from_slice(content);
    }
    Some(out)
}

/// A section of limits, each after the `prefix` bytes of a type, with a maximum of at most `most`.
fn with_maximum(mut section: &[u8], prefix: usize, most: usize) -> Option<Vec<u8>> {
    let (count, mut out) = (number(&mut section)?, Vec::new());
    encode_varint(count, &mut out);
    for _ in 0..count {
        let (kind, rest) = section.split_at_checked(prefix)?;
        let (flags, rest) = rest.split_first()?;
        section = rest;
        let least = number(&mut section)?;
        let maximum = match flags {
            0 => most as u64,
            1 => number(&mut section)?.min(most as u64),
            // Shared, or with 64 bits.
            _ => return None,
        };
        out.extend_from_slice(kind);
        out.push(1);
        encode_varint(least, &mut out);
        encode_varint(maximum, &mut out);
    }
    section.is_empty().then_some(out)
}

/// A number in LEB128, which is the varint of protobuf.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    decode_varint(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(text: &str) -> Vec<u8> {
        wat::parse_str(format!("(module {text} (func (export \"f\")) (data \"d\"))")).unwrap()
    }

    #[test]
    fn memory_and_tables_get_a_maximum() {
        for (given, expected) in [
            ("(memory 2)", "(memory 2 1024)"),
            ("(memory 2 70)", "(memory 2 70)"),
            ("(memory 2 65536)", "(memory 2 1024)"),
            ("(memory 2000)", "(memory 2000 1024)"),
            ("(table 4 funcref) (table 1 5 externref)", "(table 4 100000 funcref) (table 1 5 externref)"),
            ("", ""),
        ] {
            // A minimum above the maximum is a mistake that `wat` does not look for.
            assert_eq!(limited(&module(given)), module(expected), "{given}");
        }
    }

    #[test]
    fn what_is_no_module_stays_as_it_is() {
        let whole = module("(memory 2) (table 4 funcref)");
        for end in 0..whole.len() {
            let part = &whole[..end];
            assert!(limited(part) == part || limited(part).len() > part.len(), "{end}");
        }
        let shared = module("(memory 1 9 shared)");
        assert_eq!(limited(&shared), shared);
    }
}
