//! The tokens file: TOML with a table `[[token]]` for each token. Its errors name the line, and show no secret.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    fs::File,
    hash::{Hash, Hasher},
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use floor_gen::View;
use floor_proto::text;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use toml::{Spanned, Value};

use crate::{
    config::{MAX_CELLS, toml_reason},
    tenants::{TenantId, TenantNames},
};

/// Limit for the file: more than 20,000 tokens.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Maximum of problems in one error. A wrong file may have as many as it has lines.
const MAX_PROBLEMS: usize = 16;
/// The keys of a token.
const KEYS: [&str; 5] = ["name", "sha256", "tenant", "cells_per_second", "scopes"];

/// A tokens file that was read.
#[derive(Debug, Clone)]
pub struct TokensFile {
    path: PathBuf,
    tokens: Tokens,
    contents: Contents,
    tenants: TenantNames,
}

/// The text of a tokens file, or why it cannot be read. [`Debug`](fmt::Debug) shows neither.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Contents(Result<String, String>);

/// The tokens of a file. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tokens(Arc<HashMap<TokenDigest, Arc<Token>>>);

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// The name of the caller.
    pub(super) name: Box<str>,
    /// The tenant whose chain and quota its calls use.
    pub(super) tenant: Option<TenantId>,
    /// A rate of its own: the cells per second that the caller may have generated, `Some(None)` for no limit.
    pub(super) cells_per_second: Option<Option<u64>>,
    scopes: Scopes,
}

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The calls of the gRPC port.
    Floors,
    /// The same, but floors in the player's view alone, and no files of packs.
    Player,
    /// `POST` on the operations port.
    Operate,
}

/// A set of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scopes {
    floors: bool,
    player: bool,
    operate: bool,
}

/// The SHA-256 of a token. Compared in constant time; [`Debug`](fmt::Debug) does not show it.
#[derive(Clone, Copy)]
pub(super) struct TokenDigest([u8; 32]);

/// Why a tokens file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokensError {
    path: PathBuf,
    problems: Vec<String>,
}

impl TokensFile {
    /// Reads the file at `path`, whose tokens may name `tenants`.
    ///
    /// # Errors
    /// All problems of the file, each with its line.
    pub fn read(path: &Path, tenants: &TenantNames) -> Result<Self, TokensError> {
        let contents = Contents::read(path);
        let tokens = Tokens::new(path, &contents, tenants)?;
        Ok(Self { path: path.to_owned(), tokens, contents, tenants: tenants.clone() })
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has no token, so that no caller may call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.len() == 0
    }

    pub(super) const fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    pub(super) const fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The tenants that the tokens may name.
    pub(super) const fn tenants(&self) -> &TenantNames {
        &self.tenants
    }
}

impl Contents {
    /// Reads the file at `path`. Waits for the disk.
    pub(super) fn read(path: &Path) -> Self {
        Self(read_text(path))
    }
}

impl Tokens {
    /// The tokens of the file at `path`, which has these contents and may name `tenants`.
    pub(super) fn new(path: &Path, contents: &Contents, tenants: &TenantNames) -> Result<Self, TokensError> {
        let text = contents.0.as_deref().map_err(|problem| vec![problem.clone()]);
        text.and_then(|text| Self::parse(text, tenants))
            .map_err(|problems| TokensError { path: path.to_owned(), problems })
    }

    /// The token whose secret is `secret`.
    pub(super) fn find(&self, secret: &[u8]) -> Option<&Arc<Token>> {
        // The time of this lookup depends on digests only, and a part of a digest says nothing of a token; that the
        // digests are also compared in constant time keeps even that part from being measured.
        self.0.get(&TokenDigest(Sha256::digest(secret).into()))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Token> {
        self.0.values().map(|token| &**token)
    }

    fn parse(text: &str, tenants: &TenantNames) -> Result<Self, Vec<String>> {
        let tables = tables(text)?;
        let mut parser = Parser { text, tenants, problems: Vec::new(), tokens: HashMap::new(), names: BTreeMap::new() };
        for (index, fields) in tables.iter().enumerate() {
            parser.add(index, fields);
        }
        if parser.problems.is_empty() { Ok(Self(Arc::new(parser.tokens))) } else { Err(parser.problems) }
    }
}

impl Token {
    pub(super) const fn has(&self, scope: Scope) -> bool {
        match scope {
            Scope::Floors => self.scopes.floors || self.scopes.player,
            Scope::Player => self.scopes.player,
            Scope::Operate => self.scopes.operate,
        }
    }

    /// The only view of floors that its caller gets; `None`: any.
    pub(super) fn only(&self) -> Option<View> {
        (!self.scopes.floors).then_some(View::Player)
    }
}

impl Scope {
    const ALL: [Self; 3] = [Self::Floors, Self::Player, Self::Operate];

    /// Its name in the file.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Floors => "floors",
            Self::Player => "player",
            Self::Operate => "operate",
        }
    }
}

impl Scopes {
    /// Those of a token that names none.
    const DEFAULT: Self = Self { floors: true, player: false, operate: false };
}

impl PartialEq for TokenDigest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for TokenDigest {}

impl Hash for TokenDigest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Contents(***)")
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest(***)")
    }
}

impl fmt::Display for TokensError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "auth.tokens_file: {} ", self.path.display())?;
        match self.problems.as_slice() {
            [one] => write!(f, "cannot be used: {one}"),
            many => {
                let (shown, all) = (&many[..many.len().min(MAX_PROBLEMS)], many.len());
                match all - shown.len() {
                    0 => write!(f, "is wrong in {all} places:")?,
                    _ => write!(f, "is wrong in {all} places, of which the first {MAX_PROBLEMS} are shown:")?,
                }
                shown.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl std::error::Error for TokensError {}

/// The text of the file at `path`.
fn read_text(path: &Path) -> Result<String, String> {
    let advice = "name a readable file with [[token]] tables, or \"\" for none";
    let failed = |error: std::io::Error| format!("it cannot be read ({error}); {advice}");
    // A pipe could be read only once, and reading a device may never end.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(format!("it is no regular file; {advice}"));
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it has more than {MAX_FILE_BYTES} bytes; write fewer tokens"));
    }
    text::decode(&bytes).map(str::to_owned).map_err(|problem| format!("it {problem}"))
}

/// The keys and values of one `[[token]]`, with the place of each key.
type Fields = BTreeMap<Spanned<String>, Value>;

/// The `[[token]]` tables of a file.
fn tables(text: &str) -> Result<Vec<Fields>, Vec<String>> {
    /// The file, once its keys are known to be right.
    #[derive(Deserialize)]
    struct Tables {
        #[serde(default)]
        token: Vec<Fields>,
    }

    let not_toml = |error: toml::de::Error| {
        let at = error.span().map_or_else(String::new, |span| format!("line {}: ", line(text, span.start)));
        vec![format!("{at}it is not TOML: {}", toml_reason(text, &error))]
    };
    let keys: Fields = toml::from_str(text).map_err(not_toml)?;
    let mut problems = Vec::new();
    for (key, value) in &keys {
        let at = line(text, key.span().start);
        match key.get_ref().as_str() {
            "token" if value.as_array().is_some_and(|items| items.iter().all(Value::is_table)) => {}
            "token" => problems.push(format!("line {at}: token is no list of tables; begin each token with [[token]]")),
            other => problems.push(format!("line {at}: {other} is no key; the nearest is token")),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    toml::from_str(text).map(|tables: Tables| tables.token).map_err(not_toml)
}

/// The line of a byte, from 1.
fn line(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}

/// Checks tokens, and collects them and their problems.
struct Parser<'a> {
    text: &'a str,
    tenants: &'a TenantNames,
    problems: Vec<String>,
    tokens: HashMap<TokenDigest, Arc<Token>>,
    /// The places of the names so far.
    names: BTreeMap<String, String>,
}

impl Parser<'_> {
    /// Adds the token with these fields, the `index`th of the file.
    fn add(&mut self, index: usize, fields: &Fields) {
        for key in fields.keys().filter(|key| !KEYS.contains(&key.get_ref().as_str())) {
            let problem = format!("{} is no key; the nearest is {}", key.get_ref(), nearest(key.get_ref(), KEYS));
            self.report(index, fields, key.get_ref(), &problem);
        }
        let name = self.required(index, fields, "name", "write 1 ..= 64 letters, digits, '-', '_', '.' or '@'", name);
        let hint = "write 64 hexadecimal digits, as `printf %s TOKEN | sha256sum` prints them";
        let digest = self.required(index, fields, "sha256", hint, digest);
        let cells_per_second = fields.get("cells_per_second").and_then(|value| {
            let rate = value.as_integer().and_then(|rate| u64::try_from(rate).ok()).filter(|rate| *rate <= MAX_CELLS);
            if rate.is_none() {
                let problem = format!("cells_per_second is no whole number of 0 ..= {MAX_CELLS}; 0 is no limit");
                self.report(index, fields, "cells_per_second", &problem);
            }
            rate.map(|rate| Some(rate).filter(|rate| *rate > 0))
        });
        let scopes = match fields.get("scopes").map(scopes) {
            None => Scopes::DEFAULT,
            Some(Ok(scopes)) => scopes,
            Some(Err(problem)) => {
                self.report(index, fields, "scopes", &problem);
                return;
            }
        };
        let tenant = fields.get("tenant").and_then(|value| {
            let tenant = tenant(value, self.tenants);
            tenant.map_err(|problem| self.report(index, fields, "tenant", &problem)).ok()
        });
        if tenant.is_some() && scopes.operate {
            let problem = "a token of a tenant cannot have the scope \"operate\": an operator acts on every tenant";
            self.report(index, fields, "scopes", problem);
        }
        let (Some(name), Some(digest)) = (name, digest) else { return };
        let here = self.place(index, fields, "name");
        if let Some(there) = self.names.insert(name.clone(), here) {
            self.report(index, fields, "name", &format!("{name:?} is the name of another token ({there}) too"));
        }
        let token = Token { name: name.into(), tenant, cells_per_second, scopes };
        if let Some(other) = self.tokens.insert(digest, Arc::new(token)) {
            let problem =
                format!("the token {:?} has the same sha256; give each client a token of its own", other.name);
            self.report(index, fields, "sha256", &problem);
        }
    }

    /// The value of a key that a token needs.
    fn required<T>(
        &mut self,
        index: usize,
        fields: &Fields,
        key: &str,
        hint: &str,
        parse: fn(&str) -> Option<T>,
    ) -> Option<T> {
        let value = fields.get(key);
        let parsed = value.and_then(Value::as_str).and_then(parse);
        if parsed.is_none() {
            // The value is not shown: it may be the token itself.
            let is = if value.is_some() { "is wrong" } else { "is missing" };
            self.report(index, fields, key, &format!("{key} {is}; {hint}"));
        }
        parsed
    }

    fn report(&mut self, index: usize, fields: &Fields, key: &str, problem: &str) {
        let place = self.place(index, fields, key);
        self.problems.push(format!("{place}: {problem}"));
    }

    /// The line of `key`, or else of the first key of its token, or else which token it is.
    fn place(&self, index: usize, fields: &Fields, key: &str) -> String {
        let at = fields.get_key_value(key).map(|(key, _)| key.span().start);
        match at.or_else(|| fields.keys().map(|key| key.span().start).min()) {
            Some(byte) => format!("line {}", line(self.text, byte)),
            None => format!("[[token]] number {}", index + 1),
        }
    }
}

/// The name of a token. It is written to logs.
fn name(text: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    ((1..=64).contains(&text.len()) && text.chars().all(allowed)).then(|| text.to_owned())
}

/// The digest that 64 hexadecimal digits write.
fn digest(text: &str) -> Option<TokenDigest> {
    let mut digest = [0; 32];
    if text.len() != 2 * digest.len() {
        return None;
    }
    let half = |digit: u8| char::from(digit).to_digit(16);
    for (byte, digits) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::try_from(half(digits[0])? * 16 + half(digits[1])?).ok()?;
    }
    Some(TokenDigest(digest))
}

/// The tenant that `value` names, or what is wrong with it.
fn tenant(value: &Value, tenants: &TenantNames) -> Result<TenantId, String> {
    let name = value.as_str().ok_or_else(|| format!("tenant is no text; {}", tenants.list()))?;
    tenants
        .find(name)
        .ok_or_else(|| format!("tenant {name:?} is no [tenants.NAME] of the configuration; {}", tenants.list()))
}

/// The scopes in a list, or what is wrong with it.
fn scopes(value: &Value) -> Result<Scopes, String> {
    let names = Scope::ALL.map(Scope::name);
    let expected = "write a list of \"floors\" (calls for floors), \"player\" (the same in the player's view alone) and \
                    \"operate\" (POST on the operations port)";
    let list =
        value.as_array().filter(|list| !list.is_empty()).ok_or_else(|| format!("scopes is wrong; {expected}"))?;
    let mut scopes = Scopes { floors: false, player: false, operate: false };
    for value in list {
        let text = value.as_str().ok_or_else(|| format!("scopes is wrong; {expected}"))?;
        match Scope::ALL.into_iter().find(|scope| scope.name() == text) {
            Some(Scope::Floors) => scopes.floors = true,
            Some(Scope::Player) => scopes.player = true,
            Some(Scope::Operate) => scopes.operate = true,
            None => return Err(format!("{text:?} is no scope; the nearest is \"{}\"", nearest(text, names))),
        }
    }
    Ok(scopes)
}

/// The most similar of some names.
fn nearest<const N: usize>(name: &str, known: [&'static str; N]) -> &'static str {
    let similarity = |known: &&str| strsim::jaro_winkler(name, known);
    known.into_iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of the token `hush`.
    fn hush() -> String {
        Sha256::digest(b"hush").iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn problems(text: &str) -> String {
        Tokens::parse(text, &TenantNames::default()).expect_err(text).join("\n")
    }

    #[test]
    fn a_token_names_a_tenant_of_the_configuration() {
        let tenants = TenantNames::new(["acme", "globex"]);
        let with = |rest: &str| format!("[[token]]\nname = \"game\"\nsha256 = \"{}\"\n{rest}\n", hush());
        let token =
            |rest: &str| Tokens::parse(&with(rest), &tenants).map(|tokens| tokens.find(b"hush").unwrap().tenant);
        assert_eq!(token("tenant = \"globex\""), Ok(tenants.find("globex")));
        assert_eq!(token(""), Ok(None));
        for (rest, expected) in [
            (
                "tenant = \"initech\"",
                "line 4: tenant \"initech\" is no [tenants.NAME] of the configuration; there are acme, globex",
            ),
            ("tenant = 1", "line 4: tenant is no text; there are acme, globex"),
            ("tenant = \"acme\"\nscopes = [\"operate\"]", "line 5: a token of a tenant cannot have the scope"),
        ] {
            let problems = token(rest).unwrap_err().join("\n");
            assert!(problems.starts_with(expected), "{rest}: {problems}");
        }
        assert!(problems(&with("tenant = \"acme\"")).contains("the configuration has none"));
    }

    #[test]
    fn a_token_is_found_by_its_secret() {
        let other = "cd".repeat(32);
        let text = format!(
            "# players\n[[token]]\nname = \"game\"\nsha256 = \"{}\"\n\n[[token]]\nname = \"ops@example.org\"\n\
             sha256 = \"{other}\"\ncells_per_second = 0\nscopes = [\"operate\"]\n",
            hush().to_uppercase()
        );
        let tokens = Tokens::parse(&text, &TenantNames::default()).unwrap();
        assert_eq!(tokens.len(), 2);
        let game = tokens.find(b"hush").unwrap();
        assert_eq!((&*game.name, game.cells_per_second), ("game", None));
        assert!(game.has(Scope::Floors) && !game.has(Scope::Operate), "the default");
        let operator = tokens.iter().find(|token| &*token.name == "ops@example.org").unwrap();
        assert_eq!(operator.cells_per_second, Some(None), "0 is no limit");
        assert!(!operator.has(Scope::Floors) && operator.has(Scope::Operate));
        for wrong in ["", "hus", "hushh", "Hush"] {
            assert_eq!(tokens.find(wrong.as_bytes()), None, "{wrong:?}");
        }
        let shown = format!("{tokens:?}");
        assert!(!shown.contains(&hush()) && !shown.contains(&other), "{shown}");
    }

    #[test]
    fn a_rate_is_one_of_the_tokens_own() {
        let with =
            |rate: &str| format!("[[token]]\nname = \"a\"\nsha256 = \"{}\"\ncells_per_second = {rate}\n", hush());
        let tokens = Tokens::parse(&with("1000000"), &TenantNames::default()).unwrap();
        assert_eq!(tokens.find(b"hush").unwrap().cells_per_second, Some(Some(1_000_000)));
        for wrong in ["-1", "1.5", "\"many\"", "1000000000001"] {
            let problems = problems(&with(wrong));
            assert!(problems.contains("line 4: cells_per_second is no whole number of 0 ..="), "{wrong}: {problems}");
        }
    }

    /// A digest is read as other programs print it, where that is a digest in hexadecimal digits, and nothing else is.
    #[test]
    fn a_digest_is_64_hexadecimal_digits() {
        let with = |sha256: &str| format!("[[token]]\nname = \"game\"\nsha256 = \"{sha256}\"\n");
        for right in [hush(), hush().to_uppercase()] {
            assert!(Tokens::parse(&with(&right), &TenantNames::default()).unwrap().find(b"hush").is_some(), "{right}");
        }
        let (spaced, base64) = (hush() + "  -", "6wfXOfF0kW4e5iOnzBgVhKKBIJWVCxW0RJa4hKDwEz0=");
        let colons =
            hush().as_bytes().chunks(2).map(|pair| String::from_utf8_lossy(pair)).collect::<Vec<_>>().join(":");
        let full_width = hush().replacen(|c: char| c.is_ascii_digit(), "１", 1);
        let prefixed = [format!("0x{}", hush()), format!("sha256:{}", hush()), format!("{}\\n", hush())];
        let others = [spaced, base64.to_owned(), colons, full_width, format!(" {}", hush())];
        for wrong in prefixed.into_iter().chain(others) {
            let problems = problems(&with(&wrong));
            assert!(
                problems.starts_with("line 3: sha256 is wrong; write 64 hexadecimal digits"),
                "{wrong}: {problems}"
            );
        }
    }

    #[test]
    fn a_file_without_tokens_is_valid() {
        for text in ["", "# none\n", "token = []\n"] {
            assert_eq!(Tokens::parse(text, &TenantNames::default()).unwrap().len(), 0, "{text:?}");
        }
    }

    #[test]
    fn every_problem_names_its_line() {
        let (a, b) = (hush(), "cd".repeat(32));
        let text = format!(
            "[[token]]\nname = \"game\"\nsha256 = \"{a}\"\n\
             [[token]]\nname = \"game\"\nsha256 = \"{b}\"\n\
             [[token]]\nname = \"copy\"\nsha256 = \"{a}\"\n\
             [[token]]\nname = \"a b\"\nsha256 = \"{a}0\"\nscope = [\"floors\"]\n\
             [[token]]\nname = \"ops\"\nsha256 = \"{}\"\nscopes = [\"operator\"]\n\
             [[token]]\n",
            "ef".repeat(32),
        );
        let problems = problems(&text);
        for expected in [
            "line 5: \"game\" is the name of another token (line 2) too",
            "line 9: the token \"game\" has the same sha256",
            "line 11: name is wrong; write 1 ..= 64 letters",
            "line 12: sha256 is wrong; write 64 hexadecimal digits",
            "line 13: scope is no key; the nearest is scopes",
            "line 17: \"operator\" is no scope; the nearest is \"operate\"",
            "[[token]] number 6: name is missing",
            "[[token]] number 6: sha256 is missing",
        ] {
            assert!(problems.contains(expected), "{expected} is not in\n{problems}");
        }
        assert!(!problems.contains(&a) && !problems.contains(&b), "{problems}");
        assert_eq!(problems.lines().count(), 8, "{problems}");
    }

    #[test]
    fn what_is_no_list_of_tokens_is_refused() {
        let token = |fields: &str| format!("[[token]]\nname = \"a\"\nsha256 = \"{}\"\n{fields}\n", hush());
        for (text, expected) in [
            ("[[tokens]]\nname = \"a\"\n".to_owned(), "line 1: tokens is no key; the nearest is token"),
            ("\n[token]\nname = \"a\"\n".to_owned(), "line 2: token is no list of tables; begin each token with"),
            ("token = \"hush\"\n".to_owned(), "line 1: token is no list of tables"),
            ("[[token]]\nname = \"hush\n".to_owned(), "line 2: it is not TOML"),
            ("[[token]]\nname = \"a\"\nname = \"b\"\n".to_owned(), "line 3: it is not TOML"),
            (token("scopes = []"), "line 4: scopes is wrong; write a list of"),
            (token("scopes = \"floors\""), "line 4: scopes is wrong; write a list of"),
            (token("scopes = [1]"), "line 4: scopes is wrong; write a list of"),
            (token("quota.cells = 1"), "line 4: quota is no key; the nearest is "),
            (token("scopes = [\"Floors\"]"), "line 4: \"Floors\" is no scope; the nearest is \"floors\""),
            (token("cells_per_second = 1e3"), "line 4: cells_per_second is no whole number"),
            (
                token("scopes\u{a0}= []"),
                "line 4: it is not TOML: invalid unquoted key, expected letters, numbers, `-`, `_`; U+00A0 is not",
            ),
            (token("scopes = [“floors”]"), "U+201C is a typographic quotation mark"),
        ] {
            let problems = problems(&text);
            assert!(problems.contains(expected), "{expected} is not in\n{problems}");
            assert!(!problems.contains("hush"), "{problems}");
        }
    }

    #[test]
    fn an_error_names_the_file() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("tokens.toml");
        let missing = TokensFile::read(&path, &TenantNames::default()).unwrap_err().to_string();
        assert!(missing.contains("tokens.toml cannot be used: it cannot be read ("), "{missing}");
        let no_file = TokensFile::read(directory.path(), &TenantNames::default()).unwrap_err().to_string();
        assert!(no_file.contains("it is no regular file"), "{no_file}");
        let text = format!("\u{feff}[[token]]\r\nname = \"game\"\r\nsha256 = \"{}\"\r\n", hush());
        std::fs::write(&path, &text).unwrap();
        assert_eq!(TokensFile::read(&path, &TenantNames::default()).unwrap().tokens().len(), 1);
        std::fs::write(&path, text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()).unwrap();
        let utf16 = TokensFile::read(&path, &TenantNames::default()).unwrap_err().to_string();
        assert!(utf16.contains("it is UTF-16; save it as UTF-8"), "{utf16}");
        std::fs::write(&path, "[[token]]\n".repeat(20)).unwrap();
        let many = TokensFile::read(&path, &TenantNames::default()).unwrap_err().to_string();
        assert!(many.contains("tokens.toml is wrong in 40 places, of which the first 16 are shown:\n  "), "{many}");
        std::fs::write(&path, " ".repeat(MAX_FILE_BYTES as usize + 1)).unwrap();
        let long = TokensFile::read(&path, &TenantNames::default()).unwrap_err().to_string();
        assert!(long.contains("more than 4194304 bytes"), "{long}");
    }
}
