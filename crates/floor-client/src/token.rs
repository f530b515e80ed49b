//! Bearer tokens: fixed, or from a file that is read again when it changes.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use floor_proto::text;
use http::HeaderValue;

use crate::credential_error::{CredentialError, read};

/// How often the file of a token is checked for changes, at most.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A bearer token. Clones share what was read. `Debug` does not show it.
#[derive(Debug, Clone)]
pub struct Token(Source);

#[derive(Debug, Clone)]
enum Source {
    Fixed(HeaderValue),
    File(Arc<TokenFile>),
}

impl Token {
    /// A token that does not change.
    ///
    /// # Errors
    /// If `token` is not one or more visible ASCII characters without spaces.
    pub fn new(token: &str) -> Result<Self, CredentialError> {
        let reason = "must be one or more visible ASCII characters without spaces";
        Ok(Self(Source::Fixed(bearer(token).ok_or_else(|| CredentialError::new("the token", reason))?)))
    }

    /// The first line of the file at `path`. The file may change: the client checks it once a second while it makes
    /// calls, and reads it again when the server refuses the token. If it cannot be read then, the client keeps the
    /// token that it has.
    ///
    /// # Errors
    /// If the file cannot be read, or its first line is no token.
    pub fn read(path: impl Into<PathBuf>) -> Result<Self, CredentialError> {
        let path = path.into();
        let current = Current::read(&path)?;
        Ok(Self(Source::File(Arc::new(TokenFile { path, current: Mutex::new(current) }))))
    }

    /// The value of the header `authorization`, marked as sensitive.
    #[must_use]
    pub fn authorization(&self) -> HeaderValue {
        match &self.0 {
            Source::Fixed(header) => header.clone(),
            Source::File(file) => file.header(CHECK_INTERVAL),
        }
    }

    /// The header to send instead of `refused`. `None` if the token is still the same.
    pub(crate) fn replacement(&self, refused: &HeaderValue) -> Option<HeaderValue> {
        match &self.0 {
            Source::Fixed(_) => None,
            Source::File(file) => Some(file.read_again()).filter(|header| header != refused),
        }
    }
}

#[derive(Debug)]
struct TokenFile {
    path: PathBuf,
    current: Mutex<Current>,
}

impl TokenFile {
    fn header(&self, check_interval: Duration) -> HeaderValue {
        let mut current = self.lock();
        if current.checked.elapsed() >= check_interval {
            current.checked = Instant::now();
            if current.version != version(&self.path) {
                current.update(&self.path);
            }
        }
        current.header.clone()
    }

    fn read_again(&self) -> HeaderValue {
        let mut current = self.lock();
        current.update(&self.path);
        current.header.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was read from the file.
#[derive(Debug)]
struct Current {
    header: HeaderValue,
    version: Option<Version>,
    /// When the version was last compared.
    checked: Instant,
}

impl Current {
    fn read(path: &Path) -> Result<Self, CredentialError> {
        // Taken first, so that a change in between is seen as one.
        let version = version(path);
        let wrong = |reason: &str| CredentialError::new(path.display(), reason);
        let bytes = read(path)?;
        let text =
            text::decode(&bytes).map_err(|problem| wrong(&format!("{problem}; its first line must be the token")))?;
        let token = text.lines().next().map(|line| line.trim_end_matches('\r')).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| wrong("has no token in its first line"))?;
        let header = bearer(token).ok_or_else(|| {
            wrong("has characters in its first line that no token has; a token is visible ASCII without spaces")
        })?;
        Ok(Self { header, version, checked: Instant::now() })
    }

    /// Keeps the old token if the file cannot be read; the next check tries again.
    fn update(&mut self, path: &Path) {
        if let Ok(read) = Self::read(path) {
            *self = read;
        }
    }
}

/// Modification time and length of a file. Another version has another content, usually.
type Version = (SystemTime, u64);

fn version(path: &Path) -> Option<Version> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// The header with `token`. `None` if it is no token.
fn bearer(token: &str) -> Option<HeaderValue> {
    let is_valid = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    let mut header = HeaderValue::try_from(format!("Bearer {token}")).ok().filter(|_| is_valid)?;
    header.set_sensitive(true);
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_sent_as_bearer_and_never_shown() {
        let token = Token::new("hush").unwrap();
        assert_eq!(token.authorization(), "Bearer hush");
        assert!(token.authorization().is_sensitive());
        assert!(!format!("{token:?}").contains("hush"));
        for wrong in ["", "two words", "tab\t", "ünicode"] {
            let error = Token::new(wrong).unwrap_err().to_string();
            assert_eq!(error, "the token must be one or more visible ASCII characters without spaces");
        }
    }

    #[test]
    fn a_changed_file_is_read_again_and_a_broken_one_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        fs::write(&path, "first\nnot read\n").unwrap();
        let Token(Source::File(file)) = Token::read(&path).unwrap() else { panic!("a file") };
        let token = Token(Source::File(Arc::clone(&file)));
        assert_eq!(token.authorization(), "Bearer first");
        assert!(!format!("{token:?}").contains("first"));
        fs::write(&path, "the second\n").unwrap();
        assert_eq!(file.header(Duration::ZERO), "Bearer first", "two words are no token");
        fs::write(&path, "second\n").unwrap();
        assert_eq!(file.header(Duration::ZERO), "Bearer second");
        fs::remove_file(&path).unwrap();
        assert_eq!(file.header(Duration::ZERO), "Bearer second");
    }

    #[test]
    fn what_editors_and_systems_add_is_no_part_of_a_token() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        for content in ["hush", "hush\n", "hush\r\n", "hush\r", "\u{feff}hush\r\n", "hush\n# for the game\n"] {
            fs::write(&path, content).unwrap();
            assert_eq!(Token::read(&path).unwrap().authorization(), "Bearer hush", "{content:?}");
        }
        for content in ["hush ", "hush\t", "hu\u{200b}sh", "hush\u{a0}", " hush"] {
            fs::write(&path, content).unwrap();
            assert!(Token::read(&path).unwrap_err().to_string().contains("visible ASCII"), "{content:?}");
        }
    }

    #[test]
    fn a_refused_token_is_replaced_only_by_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        fs::write(&path, "first").unwrap();
        let token = Token::read(&path).unwrap();
        let first = token.authorization();
        assert_eq!(token.replacement(&first), None);
        fs::write(&path, "other").unwrap();
        assert_eq!(token.replacement(&first).unwrap(), "Bearer other");
        assert_eq!(Token::new("first").unwrap().replacement(&first), None);
    }

    #[test]
    fn a_file_without_a_token_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        for (content, problem) in [
            ("", "no token in its first line"),
            ("\nlate", "no token"),
            ("two words", "characters"),
            ("h\0u\0", "UTF-16"),
        ] {
            fs::write(&path, content).unwrap();
            let error = Token::read(&path).unwrap_err().to_string();
            assert!(error.starts_with(&path.display().to_string()) && error.contains(problem), "{error}");
        }
        let error = Token::read(directory.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("none cannot be read"), "{error}");
    }
}
