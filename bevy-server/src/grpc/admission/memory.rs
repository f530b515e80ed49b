//! The memory of what is being sent.

use crate::callers::{Caller, Reserved};

/// Who pays for the memory that bytes take until they are sent.
#[derive(Debug, Default)]
pub(in crate::grpc) enum Memory {
    /// It is paid.
    Reserved(Reserved),
    /// This caller, once the bytes have to wait. Mostly they are sent at once.
    PaidBy(Caller),
    /// The caller of the connection, once they have to wait.
    #[default]
    PaidByConnection,
    /// The call has paid: of a tonic service, or of a stream.
    OfCall,
}
