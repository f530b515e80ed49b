//! Parses a condition by precedence climbing. Each operator checks the types of its operands and reports errors with
//! their position.
//!
//! Pratt, "Top down operator precedence", POPL 1973.

use std::{ops::Range, str::FromStr};

use floor_gen::{Kind, Pack, Theme};

use super::{
    condition::{Comparison, Condition, Node, Operation, Quantity},
    error::ParseError,
    fact::Fact,
    nearest::nearest,
    token::{self, Token},
};

/// Maximum length of a condition, in bytes. It bounds the depth of the recursive evaluation.
const MAX_LENGTH: usize = 2_000;
/// Maximum nesting of parentheses and unary operators.
const MAX_DEPTH: usize = 64;

/// The precedence of unary operators, higher than that of all binary ones.
const UNARY_PRECEDENCE: u8 = 6;

fn parse(text: &str, pack: &Pack) -> Result<Node, ParseError> {
    if text.len() > MAX_LENGTH {
        return Err(ParseError::new(
            0..0,
            format!("a condition has at most {MAX_LENGTH} characters, this one {}", text.len()),
        ));
    }
    let mut parser = Parser { pack, tokens: token::split(text)?, next: 0, depth: 0 };
    let whole = parser.expression(0)?;
    match parser.peek() {
        (Token::End, _) => whole.into_condition(),
        (token, span) => Err(ParseError::new(span, expected_operator("the end", token))),
    }
}

impl Condition {
    /// Parses a condition on floors of `pack`, whose themes it may name.
    ///
    /// # Errors
    /// What is wrong, with its column.
    pub fn of_pack(pack: &Pack, text: &str) -> Result<Self, String> {
        parse(text, pack).map(Self).map_err(|error| error.render(text))
    }
}

/// A condition on floors of the built-in pack.
impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::of_pack(Pack::tower(), text)
    }
}

struct Parser<'t> {
    pack: &'t Pack,
    tokens: Vec<(Token<'t>, Range<usize>)>,
    next: usize,
    depth: usize,
}

/// A typed expression and its byte range in the text.
#[derive(Clone)]
struct Expression {
    span: Range<usize>,
    value: Value,
}

#[derive(Clone)]
enum Value {
    Condition(Node),
    Number(Quantity),
    Kind(Quantity),
    Theme(Quantity),
}

impl<'t> Parser<'t> {
    /// Parses an expression whose operators have at least `min_precedence`.
    fn expression(&mut self, min_precedence: u8) -> Result<Expression, ParseError> {
        let mut left = self.operand()?;
        while let (Token::Symbol(symbol), span) = self.peek() {
            let Some(precedence) = precedence(symbol).filter(|precedence| *precedence >= min_precedence) else { break };
            self.next += 1;
            // All binary operators are left-associative.
            let right = self.expression(precedence + 1)?;
            left = binary(symbol, &span, left, right)?;
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Expression, ParseError> {
        let (token, span) = self.peek();
        self.next += 1;
        match token {
            Token::Number(number) => Ok(Expression { span, value: Value::Number(Quantity::Literal(number)) }),
            Token::Identifier(word) => resolve(self.pack, word, span),
            Token::Symbol(symbol @ ("(" | "!" | "-")) => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(ParseError::new(span, format!("nested deeper than {MAX_DEPTH}")));
                }
                let expression = match symbol {
                    "(" => self.in_parentheses(&span),
                    _ => self.expression(UNARY_PRECEDENCE).and_then(|inner| unary(symbol, &span, inner)),
                };
                self.depth -= 1;
                expression
            }
            token => Err(ParseError::new(span, format!("expected a number, a name or `(`, not {}", token.name()))),
        }
    }

    fn in_parentheses(&mut self, open: &Range<usize>) -> Result<Expression, ParseError> {
        let inner = self.expression(0)?;
        match self.peek() {
            (Token::Symbol(")"), close) => {
                self.next += 1;
                Ok(Expression { span: open.start..close.end, ..inner })
            }
            (Token::End, _) => Err(ParseError::new(open.clone(), "this `(` is never closed")),
            (token, span) => Err(ParseError::new(span, expected_operator("`)`", token))),
        }
    }

    /// The next token. At the end of the text it is always [`Token::End`].
    fn peek(&self) -> (Token<'t>, Range<usize>) {
        let last = self.tokens.len() - 1;
        self.tokens[self.next.min(last)].clone()
    }
}

/// The precedence of a binary operator.
fn precedence(symbol: &str) -> Option<u8> {
    Some(match symbol {
        "||" => 1,
        "&&" => 2,
        "==" | "!=" | "<" | "<=" | ">" | ">=" => 3,
        "+" | "-" => 4,
        "*" | "/" | "%" => 5,
        _ => return None,
    })
}

fn unary(symbol: &str, span: &Range<usize>, inner: Expression) -> Result<Expression, ParseError> {
    let whole = span.start..inner.span.end;
    let value = if symbol == "!" {
        Value::Condition(Node::Not(Box::new(inner.into_condition()?)))
    } else {
        let zero = Box::new(Quantity::Literal(0));
        Value::Number(Quantity::Arithmetic(i128::checked_sub, zero, Box::new(inner.into_number()?)))
    };
    Ok(Expression { span: whole, value })
}

fn binary(symbol: &str, span: &Range<usize>, left: Expression, right: Expression) -> Result<Expression, ParseError> {
    let whole = left.span.start..right.span.end;
    let value = match symbol {
        "||" => join(Node::Or, left, right),
        "&&" => join(Node::And, left, right),
        "+" => arithmetic(i128::checked_add, left, right),
        "-" => arithmetic(i128::checked_sub, left, right),
        "*" => arithmetic(i128::checked_mul, left, right),
        "/" => arithmetic(i128::checked_div, left, right),
        "%" => arithmetic(i128::checked_rem, left, right),
        "==" => compare(i128::eq, None, left, right),
        "!=" => compare(i128::ne, None, left, right),
        "<" => compare(i128::lt, Some(span), left, right),
        "<=" => compare(i128::le, Some(span), left, right),
        ">" => compare(i128::gt, Some(span), left, right),
        _ => compare(i128::ge, Some(span), left, right),
    };
    Ok(Expression { span: whole, value: value? })
}

fn join(operator: fn(Box<Node>, Box<Node>) -> Node, left: Expression, right: Expression) -> Result<Value, ParseError> {
    Ok(Value::Condition(operator(Box::new(left.into_condition()?), Box::new(right.into_condition()?))))
}

fn arithmetic(operation: Operation, left: Expression, right: Expression) -> Result<Value, ParseError> {
    let (left, right) = (Box::new(left.into_number()?), Box::new(right.into_number()?));
    Ok(Value::Number(Quantity::Arithmetic(operation, left, right)))
}

/// Compares numbers with numbers; kinds with kinds and themes with themes, but only for equality. `order` is the span of
/// an operator that needs an order.
fn compare(
    comparison: Comparison,
    order: Option<&Range<usize>>,
    left: Expression,
    right: Expression,
) -> Result<Value, ParseError> {
    let error = |span: Range<usize>, message: &str| Err(ParseError::new(span, message));
    match (left.value, right.value, order) {
        (Value::Kind(_), Value::Kind(_), Some(span)) | (Value::Theme(_), Value::Theme(_), Some(span)) => {
            error(span.clone(), "kinds and themes have no order; compare them with `==` or `!=`")
        }
        (Value::Number(left), Value::Number(right), _)
        | (Value::Kind(left), Value::Kind(right), _)
        | (Value::Theme(left), Value::Theme(right), _) => Ok(Value::Condition(Node::Compare(comparison, left, right))),
        (Value::Condition(_), ..) => {
            error(left.span, "this is true or false and cannot be compared; join conditions with `&&` or `||`")
        }
        (left_value, right_value, _) => {
            let message = format!("cannot compare {} with {}", left_value.type_name(), right_value.type_name());
            error(left.span.start..right.span.end, &message)
        }
    }
}

/// The fact, kind or theme with a name.
fn resolve(pack: &Pack, word: &str, span: Range<usize>) -> Result<Expression, ParseError> {
    let fact = || {
        Fact::ALL.into_iter().find(|fact| fact.name() == word).map(|fact| match fact {
            Fact::Kind => Value::Kind(Quantity::Fact(fact)),
            Fact::Theme => Value::Theme(Quantity::Fact(fact)),
            number => Value::Number(Quantity::Fact(number)),
        })
    };
    let kind = || Kind::from_name(word).map(|kind| Value::Kind(Quantity::Literal(kind as i128)));
    let theme = || {
        let theme = pack.themes().iter().position(|theme| theme.name() == word)?;
        Some(Value::Theme(Quantity::Literal(theme as i128)))
    };
    match fact().or_else(kind).or_else(theme) {
        Some(value) => Ok(Expression { span, value }),
        None => Err(ParseError::new(span, unknown(pack, word))),
    }
}

/// The error message for an unknown name, with a suggestion if there is a similar one.
fn unknown<'p>(pack: &'p Pack, word: &str) -> String {
    if let Some(word_operator) = word_operator(word) {
        return word_operator;
    }
    let facts = Fact::ALL.into_iter().map(|fact| -> &'p str { fact.name() });
    let names = facts
        .chain(Kind::ALL.into_iter().map(|kind| -> &'p str { kind.name() }))
        .chain(pack.themes().iter().map(Theme::name));
    match alias(word).or_else(|| nearest(word, names)) {
        Some(name) => format!("nothing is called `{word}`; did you mean `{name}`?"),
        None => format!("nothing is called `{word}`; see `floorctl search --help` for the names"),
    }
}

/// The fact for a name that other games use.
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

/// The error message for a token in place of an operator or `end`.
fn expected_operator(end: &str, token: Token<'_>) -> String {
    let word_operator = if let Token::Identifier(word) = token { word_operator(word) } else { None };
    word_operator.unwrap_or_else(|| format!("expected an operator or {end}, not {}", token.name()))
}

/// The error message for an operator of another language, such as `and`.
fn word_operator(word: &str) -> Option<String> {
    let words = [("and", "&&"), ("or", "||"), ("not", "!")];
    let (_, symbol) = words.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name))?;
    Some(format!("write `{symbol}` for `{word}`"))
}

impl Expression {
    fn into_condition(self) -> Result<Node, ParseError> {
        match self.value {
            Value::Condition(condition) => Ok(condition),
            other => {
                let message = format!("this is {}, not a condition; compare it with something", other.type_name());
                Err(ParseError::new(self.span, message))
            }
        }
    }

    fn into_number(self) -> Result<Quantity, ParseError> {
        match self.value {
            Value::Number(quantity) => Ok(quantity),
            other => Err(ParseError::new(self.span, format!("this is {}, not a number", other.type_name()))),
        }
    }
}

impl Value {
    const fn type_name(&self) -> &'static str {
        match self {
            Self::Condition(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Kind(_) => "a kind",
            Self::Theme(_) => "a theme",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error message for an invalid condition.
    fn error_of(text: &str) -> String {
        text.parse::<Condition>().unwrap_err()
    }

    #[test]
    fn errors_point_at_their_column() {
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
            "loops ≥ 4",
            "loops ≠ 4",
            "loops => 4",
            "loops – 1 > 2",
            "loops > ４",
            "loops\u{200b} > 4",
            "\u{feff}loops > 4",
            "kind == “cavern”",
            "kind == 'cavern'",
            "loops > 1 ∧ rooms > 1",
        ];
        let pages = texts.map(|text| format!("{}\n", error_of(text)));
        insta::assert_snapshot!(pages.join("\n"));
    }

    #[test]
    fn depth_and_length_are_bounded() {
        let deep = |depth| format!("{}1{} == 1", "(".repeat(depth), ")".repeat(depth));
        assert!(deep(MAX_DEPTH).parse::<Condition>().is_ok());
        assert!(error_of(&deep(MAX_DEPTH + 1)).starts_with("column 65: nested deeper than 64"));
        assert!(error_of(&"-".repeat(MAX_LENGTH)).contains("nested deeper than 64"));
        let long = format!("1{} == 1", "+0".repeat(900));
        assert!(long.parse::<Condition>().is_ok());
        assert!(error_of(&"1+".repeat(MAX_LENGTH)).contains("at most 2000 characters"));
    }
}
