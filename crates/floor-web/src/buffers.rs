//! The two buffers through which texts and bytes pass: the page writes an input into the memory before a call, and reads
//! the output after it.

use std::cell::RefCell;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Room for `len` bytes of input.
#[unsafe(no_mangle)]
pub extern "C" fn input(len: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(len, 0);
        input.as_mut_ptr()
    })
}

/// The last result.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// Its length in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn output_len() -> usize {
    OUTPUT.with_borrow(Vec::len)
}

/// What `read` makes of the input.
pub fn read<T>(read: impl FnOnce(&[u8]) -> T) -> T {
    INPUT.with_borrow(|input| read(input))
}

/// The input, which is then empty.
pub fn take() -> Vec<u8> {
    INPUT.take()
}

/// Makes the result, or its error, the output. Whether it is no error.
pub fn respond(result: Result<Vec<u8>, String>) -> bool {
    let fine = result.is_ok();
    OUTPUT.set(result.unwrap_or_else(String::into_bytes));
    fine
}
