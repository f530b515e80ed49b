//! Reads a condition by precedence climbing and checks it on the way: every operator sees what its operands mean and
//! where they stand.
//!
//! Pratt, "Top down operator precedence", POPL 1973.

use std::ops::Range;

use floor_gen::{Kind, Theme};

use super::{
    condition::{Comparison, Condition, Operation, Quantity},
    fact::Fact,
    fault::Fault,
    token::{self, Token},
};
use crate::names::nearest;

/// Characters of a condition. What is read is walked recursively, so its depth must be bounded.
const LONGEST: usize = 2_000;
/// Parentheses and signs inside one another.
const DEEPEST: usize = 64;

/// How strongly an operator binds; a unary one binds stronger than all of them.
const UNARY: u8 = 6;

pub(super) fn parse(text: &str) -> Result<Condition, Fault> {
    if text.len() > LONGEST {
        return Err(Fault::new(0..0, format!("a condition has at most {LONGEST} characters, this one {}", text.len())));
    }
    let mut parser = Parser { tokens: token::split(text)?, next: 0, depth: 0 };
    let whole = parser.expression(0)?;
    match parser.peek() {
        (Token::End, _) => whole.truth(),
        (token, at) => Err(Fault::new(at, no_operator("the end", token))),
    }
}

struct Parser<'t> {
    tokens: Vec<(Token<'t>, Range<usize>)>,
    next: usize,
    depth: usize,
}

/// A part of the condition and where it stands.
#[derive(Clone)]
struct Part {
    at: Range<usize>,
    means: Meaning,
}

#[derive(Clone)]
enum Meaning {
    Truth(Condition),
    Number(Quantity),
    Kind(Quantity),
    Theme(Quantity),
}

impl<'t> Parser<'t> {
    /// Reads operators that bind at least as strongly as `least`.
    fn expression(&mut self, least: u8) -> Result<Part, Fault> {
        let mut left = self.operand()?;
        while let (Token::Sign(sign), at) = self.peek() {
            let Some(strength) = strength(sign).filter(|strength| *strength >= least) else { break };
            self.next += 1;
            // All of them group to the left.
            let right = self.expression(strength + 1)?;
            left = combine(sign, &at, left, right)?;
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Part, Fault> {
        let (token, at) = self.peek();
        self.next += 1;
        match token {
            Token::Number(number) => Ok(Part { at, means: Meaning::Number(Quantity::Literal(number)) }),
            Token::Word(word) => named(word, at),
            Token::Sign(sign @ ("(" | "!" | "-")) => {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err(Fault::new(at, format!("nested deeper than {DEEPEST}")));
                }
                let part = match sign {
                    "(" => self.in_parentheses(&at),
                    _ => self.expression(UNARY).and_then(|inner| unary(sign, &at, inner)),
                };
                self.depth -= 1;
                part
            }
            token => Err(Fault::new(at, format!("expected a number, a name or `(`, not {}", token.name()))),
        }
    }

    fn in_parentheses(&mut self, open: &Range<usize>) -> Result<Part, Fault> {
        let inner = self.expression(0)?;
        match self.peek() {
            (Token::Sign(")"), close) => {
                self.next += 1;
                Ok(Part { at: open.start..close.end, ..inner })
            }
            (Token::End, _) => Err(Fault::new(open.clone(), "this `(` is never closed")),
            (token, at) => Err(Fault::new(at, no_operator("`)`", token))),
        }
    }

    /// The next token; the last one is [`Token::End`] and stays.
    fn peek(&self) -> (Token<'t>, Range<usize>) {
        let last = self.tokens.len() - 1;
        self.tokens[self.next.min(last)].clone()
    }
}

/// How strongly a sign between two operands binds.
fn strength(sign: &str) -> Option<u8> {
    Some(match sign {
        "||" => 1,
        "&&" => 2,
        "==" | "!=" | "<" | "<=" | ">" | ">=" => 3,
        "+" | "-" => 4,
        "*" | "/" | "%" => 5,
        _ => return None,
    })
}

fn unary(sign: &str, at: &Range<usize>, inner: Part) -> Result<Part, Fault> {
    let whole = at.start..inner.at.end;
    let means = if sign == "!" {
        Meaning::Truth(Condition::Not(Box::new(inner.truth()?)))
    } else {
        let zero = Box::new(Quantity::Literal(0));
        Meaning::Number(Quantity::Arithmetic(Operation::Subtract, zero, Box::new(inner.number()?)))
    };
    Ok(Part { at: whole, means })
}

fn combine(sign: &str, at: &Range<usize>, left: Part, right: Part) -> Result<Part, Fault> {
    let whole = left.at.start..right.at.end;
    let arithmetic = |operation, left: Part, right: Part| {
        Ok(Meaning::Number(Quantity::Arithmetic(operation, Box::new(left.number()?), Box::new(right.number()?))))
    };
    let means = match sign {
        "||" => Ok(Meaning::Truth(Condition::Either(Box::new(left.truth()?), Box::new(right.truth()?)))),
        "&&" => Ok(Meaning::Truth(Condition::Both(Box::new(left.truth()?), Box::new(right.truth()?)))),
        "+" => arithmetic(Operation::Add, left, right),
        "-" => arithmetic(Operation::Subtract, left, right),
        "*" => arithmetic(Operation::Multiply, left, right),
        "/" => arithmetic(Operation::Divide, left, right),
        "%" => arithmetic(Operation::Remainder, left, right),
        "==" => compare(Comparison::Equal, at, left, right),
        "!=" => compare(Comparison::Unequal, at, left, right),
        "<" => compare(Comparison::Less, at, left, right),
        "<=" => compare(Comparison::AtMost, at, left, right),
        ">" => compare(Comparison::Greater, at, left, right),
        _ => compare(Comparison::AtLeast, at, left, right),
    };
    Ok(Part { at: whole, means: means? })
}

/// Numbers compare with numbers; kinds with kinds and themes with themes, for being the same or not.
fn compare(comparison: Comparison, at: &Range<usize>, left: Part, right: Part) -> Result<Meaning, Fault> {
    let ordered = !matches!(comparison, Comparison::Equal | Comparison::Unequal);
    let compared = match (left.means, right.means) {
        (Meaning::Number(left), Meaning::Number(right)) => (left, right),
        (Meaning::Kind(left), Meaning::Kind(right)) | (Meaning::Theme(left), Meaning::Theme(right)) => {
            if ordered {
                return Err(Fault::new(at.clone(), "kinds and themes have no order; compare them with `==` or `!=`"));
            }
            (left, right)
        }
        (Meaning::Truth(_), _) => {
            return Err(Fault::new(
                left.at,
                "this is true or false and cannot be compared; join conditions with `&&` or `||`",
            ));
        }
        (left_means, right_means) => {
            let what = format!("cannot compare {} with {}", left_means.sort(), right_means.sort());
            return Err(Fault::new(left.at.start..right.at.end, what));
        }
    };
    Ok(Meaning::Truth(Condition::Compare(comparison, compared.0, compared.1)))
}

/// A fact, a kind or a theme.
fn named(word: &str, at: Range<usize>) -> Result<Part, Fault> {
    let fact = || {
        Fact::ALL.into_iter().find(|fact| fact.name() == word).map(|fact| match fact {
            Fact::Kind => Meaning::Kind(Quantity::Fact(fact)),
            Fact::Theme => Meaning::Theme(Quantity::Fact(fact)),
            number => Meaning::Number(Quantity::Fact(number)),
        })
    };
    let kind = || {
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == word)?;
        Some(Meaning::Kind(Quantity::Literal(kind as i128)))
    };
    let theme = || {
        let theme = Theme::ALL.into_iter().find(|theme| theme.name() == word)?;
        Some(Meaning::Theme(Quantity::Literal(theme as i128)))
    };
    match fact().or_else(kind).or_else(theme) {
        Some(means) => Ok(Part { at, means }),
        None => Err(Fault::new(at, unknown(word))),
    }
}

/// What to say of a word that means nothing: what it is here, or what it resembles.
fn unknown(word: &str) -> String {
    if let Some(habit) = habit(word) {
        return habit;
    }
    let facts = Fact::ALL.into_iter().map(Fact::name);
    let names = facts.chain(Kind::ALL.into_iter().map(Kind::name)).chain(Theme::ALL.into_iter().map(Theme::name));
    match alias(word).or_else(|| nearest(word, names)) {
        Some(name) => format!("nothing is called `{word}`; did you mean `{name}`?"),
        None => format!("nothing is called `{word}`; see `floorctl search --help` for the names"),
    }
}

/// What a fact is called in other games.
fn alias(word: &str) -> Option<&'static str> {
    Some(match word.to_lowercase().as_str() {
        "monsters" | "monster" | "enemies" | "mobs" => Fact::Spawns.name(),
        "keys" | "key" | "loot" | "gold" => Fact::Items.name(),
        "doors" | "locked_doors" => Fact::Locks.name(),
        "ways" | "corridors" => Fact::Connections.name(),
        "path" | "steps" => Fact::CriticalPath.name(),
        _ => return None,
    })
}

/// What to say of a token where an operator, or `end`, should stand.
fn no_operator(end: &str, token: Token<'_>) -> String {
    let habit = if let Token::Word(word) = token { habit(word) } else { None };
    habit.unwrap_or_else(|| format!("expected an operator or {end}, not {}", token.name()))
}

/// Operators that are words elsewhere.
fn habit(word: &str) -> Option<String> {
    let words = [("and", "&&"), ("or", "||"), ("not", "!")];
    let (_, sign) = words.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name))?;
    Some(format!("write `{sign}` for `{word}`"))
}

impl Part {
    fn truth(self) -> Result<Condition, Fault> {
        match self.means {
            Meaning::Truth(condition) => Ok(condition),
            other => {
                let what = format!("this is {}, not a condition; compare it with something", other.sort());
                Err(Fault::new(self.at, what))
            }
        }
    }

    fn number(self) -> Result<Quantity, Fault> {
        match self.means {
            Meaning::Number(quantity) => Ok(quantity),
            other => Err(Fault::new(self.at, format!("this is {}, not a number", other.sort()))),
        }
    }
}

impl Meaning {
    const fn sort(&self) -> &'static str {
        match self {
            Self::Truth(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Kind(_) => "a kind",
            Self::Theme(_) => "a theme",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a text that is no condition.
    fn said(text: &str) -> String {
        text.parse::<Condition>().unwrap_err()
    }

    #[test]
    fn faults_point_at_their_column() {
        let texts = [
            "",
            "   ",
            "loops",
            "loops >",
            "loops > 4 &&",
            "loops = 4",
            "loops > 4 & rooms > 3",
            "kind == cavrn && loops > 4",
            "kind == 4",
            "kind > cavern",
            "kind == crypt",
            "kind + 1 == 2",
            "1 < loops < 5",
            "loops > (rooms == 3)",
            "!loops",
            "-(loops > 1) == 1",
            "(loops > 4",
            "loops > 4)",
            "(loops > 4 rooms",
            "loops > 4 and rooms > 3",
            "loops > 12abc",
            "loops > 99999999999999999999",
            "räume > 3 && loops > ünf",
            "loops > 4;",
            "loops > 4.5",
            "zzz > 1",
            "monsters > 4",
            "keys == 2",
        ];
        let pages = texts.map(|text| format!("{}\n", said(text)));
        insta::assert_snapshot!(pages.join("\n"));
    }

    #[test]
    fn depth_and_length_are_bounded() {
        let deep = |depth| format!("{}1{} == 1", "(".repeat(depth), ")".repeat(depth));
        assert!(deep(DEEPEST).parse::<Condition>().is_ok());
        assert!(said(&deep(DEEPEST + 1)).starts_with("column 65: nested deeper than 64"));
        assert!(said(&"-".repeat(LONGEST)).contains("nested deeper than 64"));
        let long = format!("1{} == 1", "+0".repeat(900));
        assert!(long.parse::<Condition>().is_ok());
        assert!(said(&"1+".repeat(LONGEST)).contains("at most 2000 characters"));
    }
}
