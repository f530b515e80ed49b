//! Checks the token of a call, and finds the caller that it names.

use std::{
    collections::HashMap,
    fmt,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use bevy::prelude::Resource;
use http::{HeaderMap, HeaderValue, header};
use subtle::ConstantTimeEq as _;

use super::{
    bearer,
    tokens_file::{Contents, Scope, Token, Tokens, TokensError, TokensFile},
};
use crate::{
    callers::{Caller, Callers, WarningLimiter},
    follow::{Follower, SETTLE_TIME},
    generation::GenerationQueue,
    metrics::{Limit, Refusals, Reloaded, Reloads},
    tenants::TenantNames,
};

/// Limit for an `authorization` header: a longer one is not hashed.
const MAX_HEADER_BYTES: usize = 1 << 10;

/// Knows the tokens of the file that `auth.tokens_file` names. Cheap to clone; clones share the tokens.
#[derive(Resource, Clone)]
pub struct Authenticator(Arc<State>);

struct State {
    path: PathBuf,
    /// The tenants that the tokens may name.
    tenants: TenantNames,
    table: RwLock<Table>,
    /// The number of the table in use. A [`LastToken`] that was found in another table is looked up again.
    table_number: AtomicU64,
    /// A reader holds its lock until the tokens are in use, so that an older version never replaces a newer one.
    follower: Mutex<Follower<Contents>>,
    callers: Callers,
    /// Has the rates of the tokens.
    generation: GenerationQueue,
    refusals: Refusals,
    reloads: Reloads,
    warnings: Mutex<WarningLimiter>,
}

/// The tokens in use.
struct Table {
    number: u64,
    tokens: Tokens,
}

/// The last token that a connection presented and the caller that it named, so that the next call with the same token
/// costs a comparison and no hash. Of a connection that several callers share, behind a proxy, only the last counts.
#[derive(Default)]
pub(crate) struct LastToken(Mutex<Option<Accepted>>);

struct Accepted {
    header: Box<[u8]>,
    table_number: u64,
    caller: Caller,
}

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Denied {
    /// There is no `authorization` header.
    NoToken,
    /// The header has another scheme than `Bearer`, or no token.
    NotBearer,
    /// The server has no such token, or no longer.
    Unknown,
    /// The server would know the token without what a program or a shell added to it.
    Altered(Addition),
    /// The token of this name lacks a scope.
    Scope { name: Box<str>, missing: Scope },
}

/// What was added to a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addition {
    /// The caller sends it in quotes.
    Quotes,
    /// The digest in the tokens file is that of the token with a line break.
    LineBreak,
}

/// Why a token that is none of `tokens` is refused.
fn denied(tokens: &Tokens, secret: &[u8]) -> Denied {
    let unquoted = match secret {
        [open @ (b'"' | b'\''), token @ .., close] if open == close => Some(token),
        _ => None,
    };
    if unquoted.is_some_and(|token| tokens.find(token).is_some()) {
        return Denied::Altered(Addition::Quotes);
    }
    let with_line_break = [&b"\n"[..], b"\r\n"].into_iter().any(|end| tokens.find(&[secret, end].concat()).is_some());
    if with_line_break { Denied::Altered(Addition::LineBreak) } else { Denied::Unknown }
}

impl Authenticator {
    /// Knows the tokens of `file`, and sets their rates in `generation`.
    #[must_use]
    pub fn new(
        file: &TokensFile,
        callers: Callers,
        generation: GenerationQueue,
        refusals: Refusals,
        reloads: Reloads,
    ) -> Self {
        reloads.record(Reloaded::Tokens, true);
        let state = State {
            path: file.path().to_owned(),
            tenants: file.tenants().clone(),
            table: RwLock::new(Table { number: 0, tokens: file.tokens().clone() }),
            table_number: AtomicU64::new(0),
            follower: Mutex::new(Follower::new(file.contents().clone())),
            callers,
            generation,
            refusals,
            reloads,
            warnings: Mutex::default(),
        };
        let authenticator = Self(Arc::new(state));
        authenticator.set_rates(file.tokens());
        tracing::info!(tokens = file.tokens().len(), file = %file.path().display(), "callers need a token");
        authenticator.warn_if_empty(file.tokens());
        authenticator
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The caller of a call to the gRPC port with these headers from `address`. Counts and logs a refusal.
    pub(crate) fn caller(&self, headers: &HeaderMap, address: IpAddr, last: &LastToken) -> Result<Caller, Denied> {
        self.find_caller(headers, address, last).inspect_err(|denied| self.report_refusal(denied, address))
    }

    /// The name of the token of a caller with these headers, who may do what needs `scope`.
    pub(crate) fn check(&self, headers: &HeaderMap, scope: Scope) -> Result<Box<str>, Denied> {
        let header = headers.get(header::AUTHORIZATION).ok_or(Denied::NoToken)?;
        self.find(header, scope).map(|(token, _)| token.name.clone())
    }

    fn find_caller(&self, headers: &HeaderMap, address: IpAddr, last: &LastToken) -> Result<Caller, Denied> {
        let header = headers.get(header::AUTHORIZATION).ok_or(Denied::NoToken)?;
        let table_number = self.0.table_number.load(Ordering::Acquire);
        if let Some(caller) = last.caller(header, table_number, address) {
            return Ok(caller);
        }
        let (token, table_number) = self.find(header, Scope::Floors)?;
        let caller = self.0.callers.named(&token.name, address).with_token(token.tenant, token.only());
        last.set(Accepted { header: header.as_bytes().into(), table_number, caller: caller.clone() });
        Ok(caller)
    }

    /// The token in an `authorization` header if it has `scope`, and the number of its table.
    fn find(&self, header: &HeaderValue, scope: Scope) -> Result<(Arc<Token>, u64), Denied> {
        let secret = bearer(header).ok_or(Denied::NotBearer)?;
        if header.len() > MAX_HEADER_BYTES {
            return Err(Denied::Unknown);
        }
        let (tokens, number) = {
            let table = self.0.table.read().unwrap_or_else(PoisonError::into_inner);
            (table.tokens.clone(), table.number)
        };
        let token = tokens.find(secret).ok_or_else(|| denied(&tokens, secret))?;
        if !token.has(scope) {
            return Err(Denied::Scope { name: token.name.clone(), missing: scope });
        }
        Ok((Arc::clone(token), number))
    }

    fn report_refusal(&self, denied: &Denied, address: IpAddr) {
        self.0.refusals.count(denied.limit());
        let suppressed = self.0.warnings.lock().unwrap_or_else(PoisonError::into_inner).admit();
        let Some(suppressed) = suppressed else { return };
        match denied {
            Denied::Scope { name, missing } => {
                let (token, scope) = (&**name, missing.name());
                tracing::warn!(%address, token, scope, suppressed, "a call was refused: its token lacks a scope");
            }
            _ => tracing::warn!(%address, suppressed, "a call was refused: {}", denied.reason()),
        }
    }

    /// Reads the file again. Returns whether the tokens have changed. Waits for the disk.
    ///
    /// # Errors
    /// If the file is wrong. The old tokens stay in use.
    pub fn reload(&self) -> Result<bool, TokensError> {
        let mut follower = self.lock_follower();
        let contents = follower.take(Contents::read(&self.0.path));
        self.use_contents(contents)
    }

    /// Looks at the file until the process ends, so often that a changed file is used after two looks.
    pub(super) async fn follow_file(self) {
        loop {
            tokio::time::sleep(SETTLE_TIME).await;
            let authenticator = self.clone();
            // A file system may take long to answer.
            let looked = tokio::task::spawn_blocking(move || authenticator.reload_if_changed()).await;
            if looked.is_err_and(|error| error.is_cancelled()) {
                // The runtime ends.
                return;
            }
        }
    }

    /// Looks at the file, and uses its tokens if it has changed and is still. Waits for the disk.
    fn reload_if_changed(&self) {
        let mut follower = self.lock_follower();
        let Some(contents) = follower.look(Contents::read(&self.0.path)) else { return };
        if let Err(error) = self.use_contents(contents) {
            tracing::error!(%error, "the tokens were not reloaded; the old ones stay in use");
        }
    }

    /// Uses the tokens in `contents` if they are valid. Returns whether they are others than before.
    fn use_contents(&self, contents: &Contents) -> Result<bool, TokensError> {
        let tokens = Tokens::new(&self.0.path, contents, &self.0.tenants);
        self.0.reloads.record(Reloaded::Tokens, tokens.is_ok());
        let tokens = tokens?;
        let mut table = self.0.table.write().unwrap_or_else(PoisonError::into_inner);
        if table.tokens == tokens {
            return Ok(false);
        }
        table.number += 1;
        table.tokens = tokens.clone();
        self.0.table_number.store(table.number, Ordering::Release);
        drop(table);
        self.set_rates(&tokens);
        tracing::info!(tokens = tokens.len(), "the tokens were reloaded");
        self.warn_if_empty(&tokens);
        Ok(true)
    }

    /// Gives the callers of tokens with a rate of their own that rate.
    fn set_rates(&self, tokens: &Tokens) {
        let rate = |token: &Token| Some((self.0.callers.named_id(&token.name), token.cells_per_second?));
        self.0.generation.set_caller_rates(tokens.iter().filter_map(rate).collect::<HashMap<_, _>>());
    }

    fn warn_if_empty(&self, tokens: &Tokens) {
        if tokens.len() == 0 {
            tracing::warn!(file = %self.0.path.display(), "the tokens file has no token: every call is refused");
        }
    }

    fn lock_follower(&self) -> MutexGuard<'_, Follower<Contents>> {
        self.0.follower.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator").field("path", &self.0.path).finish_non_exhaustive()
    }
}

impl LastToken {
    /// The caller of the last token, calling from `address`, if `header` has that token and it was found in the table
    /// in use.
    fn caller(&self, header: &HeaderValue, table_number: u64, address: IpAddr) -> Option<Caller> {
        let accepted = self.lock();
        let accepted = accepted.as_ref().filter(|accepted| accepted.table_number == table_number)?;
        // Behind a proxy it may be the token of another caller.
        ct_eq(&accepted.header, header.as_bytes()).then(|| accepted.caller.calling_from(address))
    }

    fn set(&self, accepted: Accepted) {
        // The old one is dropped after the lock, since it may be the last handle of its caller.
        let _old = self.lock().replace(accepted);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Accepted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether two headers are equal, in a time that depends on their lengths only. By words, and with one comparison at the
/// end: `subtle` compares single bytes about as slowly as SHA-256 hashes them.
fn ct_eq(a: &[u8], b: &[u8]) -> bool {
    let ((a_words, a_rest), (b_words, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    if a.len() != b.len() {
        return false;
    }
    let words = a_words.iter().zip(b_words).map(|(a, b)| u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b));
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| u64::from(a ^ b));
    words.chain(rest).fold(0, |difference, part| difference | part).ct_eq(&0).into()
}

impl Denied {
    /// The reason under which the refusal counts.
    pub(crate) const fn limit(&self) -> Limit {
        match self {
            Self::NoToken | Self::NotBearer | Self::Unknown | Self::Altered(_) => Limit::Unauthenticated,
            Self::Scope { .. } => Limit::Scope,
        }
    }

    /// The value of `www-authenticate` (RFC 6750, section 3).
    pub(crate) const fn challenge(&self) -> &'static str {
        match self {
            Self::NoToken | Self::NotBearer => "Bearer",
            Self::Unknown | Self::Altered(_) => "Bearer error=\"invalid_token\"",
            Self::Scope { missing: Scope::Floors | Scope::Player, .. } => {
                "Bearer error=\"insufficient_scope\", scope=\"floors\""
            }
            Self::Scope { missing: Scope::Operate, .. } => "Bearer error=\"insufficient_scope\", scope=\"operate\"",
        }
    }

    const fn reason(&self) -> &'static str {
        match self {
            Self::NoToken => "it has no token",
            Self::NotBearer => "its authorization header is not of the form `Bearer TOKEN`",
            Self::Unknown => "the server does not know its token",
            Self::Altered(Addition::Quotes) => "its token is in quotes",
            Self::Altered(Addition::LineBreak) => "the tokens file has the sha256 of its token with a line break",
            Self::Scope { .. } => "its token lacks a scope",
        }
    }
}

/// What is wrong and what to send. Shows no token.
impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoToken => f.write_str("this server needs a token: send it as `authorization: Bearer TOKEN`"),
            Self::NotBearer => f.write_str("the authorization header is not of the form `Bearer TOKEN`"),
            Self::Unknown => f.write_str("the server does not know this token; ask its operator for a valid one"),
            Self::Altered(Addition::Quotes) => f.write_str("the token is in quotes; send it without them"),
            Self::Altered(Addition::LineBreak) => f.write_str(
                "the server's tokens file has the sha256 of this token with a line break, as `echo` adds one; its operator \
                 makes the right one with `printf %s TOKEN | sha256sum`",
            ),
            Self::Scope { name, missing } => {
                write!(f, "the token {name:?} lacks the scope {:?}; ask the server's operator for it", missing.name())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use floor_cache::{Demand, GenerationRequest, Priority, Source, SourceError};
    use floor_gen::FloorSpec;
    use prometheus::Registry;
    use sha2::{Digest, Sha256};
    use tempfile::TempDir;

    use super::*;
    use crate::{config::CallerIdentity, packs::Packs};

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    /// An entry of the tokens file.
    fn entry(name: &str, secret: &str, rest: &str) -> String {
        let digest: String = Sha256::digest(secret).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("[[token]]\nname = {name:?}\nsha256 = \"{digest}\"\n{rest}\n")
    }

    struct Fixture {
        directory: TempDir,
        authenticator: Authenticator,
        generation: GenerationQueue,
        callers: Callers,
    }

    impl Fixture {
        fn new(text: &str) -> Self {
            let directory = TempDir::new().unwrap();
            let path = directory.path().join("tokens.toml");
            std::fs::write(&path, text).unwrap();
            let registry = Registry::new();
            let callers = Callers::new(CallerIdentity::default());
            let generation = GenerationQueue::new(64, 1, None, callers.clone(), Packs::built_in(), &registry).unwrap();
            let refusals = Refusals::register(&registry).unwrap();
            let reloads = Reloads::register(&registry).unwrap();
            let file = TokensFile::read(&path, &TenantNames::new(["acme", "globex"])).unwrap();
            let authenticator = Authenticator::new(&file, callers.clone(), generation.clone(), refusals, reloads);
            Self { directory, authenticator, generation, callers }
        }

        fn write(&self, text: &str) {
            std::fs::write(self.directory.path().join("tokens.toml"), text).unwrap();
        }

        fn caller(&self, authorization: &str, last: &LastToken) -> Result<Caller, Denied> {
            self.authenticator.caller(&headers(authorization), HERE, last)
        }
    }

    fn headers(authorization: &str) -> HeaderMap {
        [(header::AUTHORIZATION, authorization.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn a_token_names_its_client_from_any_address() {
        let fixture = Fixture::new(&(entry("game", "hush", "") + &entry("other", "quiet", "")));
        let last = LastToken::default();
        let game = fixture.caller("Bearer hush", &last).unwrap();
        assert_eq!((game.name(), game.is_authenticated()), (Some("game"), true));
        let again = fixture.authenticator.caller(&headers("Bearer hush"), THERE, &last).unwrap();
        assert_eq!((again.id(), again.address()), (game.id(), THERE));
        let other = fixture.caller("bearer quiet", &last).unwrap();
        assert_eq!(other.name(), Some("other"), "another token on the same connection");
        assert_eq!(fixture.caller("Bearer hush", &last).unwrap().id(), game.id());
    }

    #[test]
    fn a_call_without_a_valid_token_is_refused() {
        let echoed = entry("echoed", "echoed\n", "") + &entry("cmd", "echoed-by-cmd\r\n", "");
        let ops = entry("ops", "quiet", "scopes = [\"operate\"]");
        let fixture = Fixture::new(&(entry("game", "hush", "") + &ops + &echoed));
        let last = LastToken::default();
        fixture.caller("Bearer hush", &last).unwrap();
        assert_eq!(fixture.authenticator.caller(&HeaderMap::new(), HERE, &last).unwrap_err(), Denied::NoToken);
        let long = format!("Bearer {}", "x".repeat(2 << 10));
        for (authorization, expected) in [
            ("Basic hush", Denied::NotBearer),
            ("Bearer ", Denied::NotBearer),
            ("hush", Denied::NotBearer),
            ("Bearer hus", Denied::Unknown),
            ("Bearer husH", Denied::Unknown),
            ("Bearer hush hush", Denied::Unknown),
            (long.as_str(), Denied::Unknown),
            ("Bearer\thush", Denied::NotBearer),
            ("Bearer: hush", Denied::NotBearer),
            ("\"Bearer hush\"", Denied::NotBearer),
            ("Bearer \"hush\"", Denied::Altered(Addition::Quotes)),
            ("Bearer 'hush'", Denied::Altered(Addition::Quotes)),
            ("Bearer \"hush", Denied::Unknown),
            ("Bearer '", Denied::Unknown),
            ("Bearer echoed", Denied::Altered(Addition::LineBreak)),
            ("Bearer echoed-by-cmd", Denied::Altered(Addition::LineBreak)),
            ("Bearer quiet", Denied::Scope { name: "ops".into(), missing: Scope::Floors }),
        ] {
            assert_eq!(fixture.caller(authorization, &last).unwrap_err(), expected, "{authorization:.20}");
        }
        let check = |token: &str| fixture.authenticator.check(&headers(token), Scope::Operate);
        assert_eq!(check("Bearer quiet"), Ok("ops".into()));
        assert_eq!(check("Bearer hush"), Err(Denied::Scope { name: "game".into(), missing: Scope::Operate }));
        assert_eq!(check("Bearer loud"), Err(Denied::Unknown));
    }

    #[test]
    fn a_reload_adds_and_removes_tokens_of_connections_that_are_open() {
        let fixture = Fixture::new(&entry("old", "hush", ""));
        let last = LastToken::default();
        fixture.caller("Bearer hush", &last).unwrap();
        fixture.write(&entry("new", "quiet", ""));
        assert_eq!(fixture.authenticator.reload(), Ok(true));
        assert_eq!(fixture.caller("Bearer hush", &last).unwrap_err(), Denied::Unknown);
        assert_eq!(fixture.caller("Bearer quiet", &last).unwrap().name(), Some("new"));
        assert_eq!(fixture.authenticator.reload(), Ok(false), "nothing has changed");
        fixture.write("[[token]]\n");
        let error = fixture.authenticator.reload().unwrap_err().to_string();
        assert!(error.contains("name is missing"), "{error}");
        fixture.caller("Bearer quiet", &last).expect("the old tokens stay");
    }

    #[test]
    fn a_changed_file_is_read_once_it_is_still() {
        let fixture = Fixture::new(&entry("old", "hush", ""));
        let last = LastToken::default();
        // Another file in its place, as editors and Kubernetes do it.
        let new = fixture.directory.path().join("new.toml");
        std::fs::write(&new, entry("new", "quiet", "")).unwrap();
        std::fs::rename(&new, fixture.authenticator.path()).unwrap();
        fixture.authenticator.reload_if_changed();
        fixture.caller("Bearer hush", &last).expect("the file may still be written to");
        fixture.authenticator.reload_if_changed();
        assert_eq!(fixture.caller("Bearer quiet", &last).unwrap().name(), Some("new"));
        std::fs::remove_file(fixture.authenticator.path()).unwrap();
        fixture.authenticator.reload_if_changed();
        fixture.authenticator.reload_if_changed();
        fixture.caller("Bearer quiet", &last).expect("the old tokens stay while the file is missing");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_is_moved_is_a_change() {
        let fixture = Fixture::new("");
        let (directory, path) = (fixture.directory.path(), fixture.authenticator.path());
        let last = LastToken::default();
        for (version, secret) in [("v1", "hush"), ("v2", "loud")] {
            let target = directory.join(version);
            std::fs::write(&target, entry("game", secret, "")).unwrap();
            std::os::unix::fs::symlink(&target, directory.join("link")).unwrap();
            std::fs::rename(directory.join("link"), path).unwrap();
            fixture.authenticator.reload_if_changed();
            fixture.authenticator.reload_if_changed();
            fixture.caller(&format!("Bearer {secret}"), &last).unwrap();
        }
        assert_eq!(fixture.caller("Bearer hush", &last).unwrap_err(), Denied::Unknown);
    }

    #[test]
    fn the_rate_of_a_token_applies_to_its_client() {
        let fixture = Fixture::new(&entry("game", "hush", "cells_per_second = 1"));
        let mut number = 0;
        let mut generate = |caller: &Caller| {
            number += 1;
            let spec = FloorSpec::resolve(1, number, 512, 512, None).unwrap();
            let (key, demand) = (crate::key::of(&spec), Demand::always());
            let request = GenerationRequest { key, priority: Priority::Foreground, caller: caller.id(), demand };
            futures_util::FutureExt::now_or_never(fixture.generation.generate(request))
        };
        let game = fixture.caller("Bearer hush", &LastToken::default()).unwrap();
        assert!((0..16).all(|_| generate(&game).is_none()), "what it gets at once waits for a worker");
        let refused = generate(&game).expect("refused at once").unwrap_err();
        assert!(matches!(refused, SourceError::Limited { retry_after, .. } if retry_after > Duration::from_secs(1000)));
        assert!(generate(&fixture.callers.at(HERE)).is_none(), "an address has no limit here, and waits for a worker");
        fixture.write(&entry("game", "hush", "cells_per_second = 0"));
        assert_eq!(fixture.authenticator.reload(), Ok(true));
        assert!(generate(&game).is_none(), "no limit");
    }

    #[test]
    fn headers_are_equal_only_as_a_whole() {
        let header = b"Bearer 0123456789abcdef";
        assert!(ct_eq(header, header) && ct_eq(b"", b"") && ct_eq(b"12345678", b"12345678"));
        for i in 0..header.len() {
            let mut other = *header;
            other[i] ^= 1;
            assert!(!ct_eq(header, &other), "{i}");
            assert!(!ct_eq(header, &header[..i]), "{i}");
        }
    }

    #[test]
    fn nothing_shows_a_token() {
        let fixture = Fixture::new(&entry("game", "hush-hush", ""));
        let last = LastToken::default();
        fixture.caller("Bearer hush-hush", &last).unwrap();
        let denied = fixture.caller("Bearer hush-hushh", &last).unwrap_err();
        let shown = format!("{:?} {denied} {denied:?} {}", fixture.authenticator, denied.challenge());
        assert!(!shown.contains("hush"), "{shown}");
    }
}
