//! Write coalescing: everything that a connection writes during one poll is sent in one system call.
//!
//! h2 flushes after every DATA frame, so ten responses would be twenty writes. The connection writes to a buffer
//! instead, and [`FlushAfterPoll`] sends the buffer after each poll of the connection. The copy costs a tenth of a
//! microsecond per floor and saves two system calls.

mod flush;
mod io;
mod write_buffer;

pub use flush::FlushAfterPoll;
pub use io::CoalescingIo;
pub use write_buffer::WriteBuffer;
