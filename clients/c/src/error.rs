//! The last error of each thread, and the guard around the functions that can fail.

use std::{
    any::Any,
    cell::RefCell,
    ffi::{CString, c_char},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

use floor_gen::{SpecError, pack::PackErrors};
use floor_pack::{ModuleError, ResolveError};

thread_local! {
    static LAST: RefCell<(Code, CString)> = RefCell::new((Code::None, CString::default()));
}

/// What went wrong. The numbers are those of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Code {
    /// Nothing yet.
    None = 0,
    /// A pointer is NULL that may not be.
    Null = 1,
    /// A number is out of range.
    Argument = 2,
    /// The pack has errors.
    Pack = 3,
    /// A fault of this library.
    Internal = 4,
}

/// Why a function failed.
#[derive(Debug)]
pub struct Failure {
    code: Code,
    message: String,
}

impl Failure {
    pub(crate) const fn new(code: Code, message: String) -> Self {
        Self { code, message }
    }

    pub(crate) fn null(argument: &str, right: &str) -> Self {
        Self::new(Code::Null, format!("{argument} is NULL: pass {right}"))
    }

    fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
        Self::new(Code::Internal, format!("a fault of the library: {}", text.unwrap_or("a panic without a text")))
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Self::new(Code::Argument, error.to_string())
    }
}

impl From<ModuleError> for Failure {
    fn from(error: ModuleError) -> Self {
        Self::new(Code::Pack, error.to_string())
    }
}

impl From<ResolveError> for Failure {
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::Spec(error) => error.into(),
            ResolveError::Module(error) => error.into(),
            other => Self::new(Code::Internal, other.to_string()),
        }
    }
}

impl From<PackErrors> for Failure {
    fn from(errors: PackErrors) -> Self {
        Self::new(Code::Pack, errors.to_string())
    }
}

/// What `make` returns; null after an error or a panic, which become this thread's last error.
pub(crate) fn guarded<T>(make: impl FnOnce() -> Result<*const T, Failure>) -> *const T {
    guarded_or(ptr::null(), make)
}

/// What `make` returns; `failed` after an error or a panic, which become this thread's last error.
pub(crate) fn guarded_or<T>(failed: T, make: impl FnOnce() -> Result<T, Failure>) -> T {
    let failure = match catch_unwind(AssertUnwindSafe(make)) {
        Ok(Ok(made)) => return made,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::panicked(&*panic),
    };
    LAST.set((failure.code, c_string(&failure.message)));
    failed
}

pub(crate) fn last_code() -> u32 {
    LAST.with_borrow(|(code, _)| *code as u32)
}

pub(crate) fn last_message() -> *const c_char {
    LAST.with_borrow(|(_, message)| message.as_ptr())
}

/// The text without its NULs, which would end it.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).expect("it has no NUL")
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn a_panic_becomes_an_error_of_its_thread() {
        assert!(guarded::<u8>(|| panic!("floor {}", 7)).is_null());
        // SAFETY: it is valid until the next error of this thread.
        let message = unsafe { CStr::from_ptr(last_message()) };
        assert_eq!((last_code(), message.to_str()), (Code::Internal as u32, Ok("a fault of the library: floor 7")));
        assert_eq!(std::thread::spawn(last_code).join().ok(), Some(Code::None as u32));
    }

    #[test]
    fn a_text_with_a_nul_is_whole() {
        assert!(guarded::<u8>(|| Err(Failure::new(Code::Pack, "a\0b".to_owned()))).is_null());
        // SAFETY: it is valid until the next error of this thread.
        assert_eq!(unsafe { CStr::from_ptr(last_message()) }, c"ab");
    }
}
