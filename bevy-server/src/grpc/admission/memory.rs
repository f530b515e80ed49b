//! The memory of what is being sent.

use crate::clients::{Client, Reserved};

/// Who pays for the memory that bytes take until they are sent.
#[derive(Debug, Default)]
pub(in crate::grpc) enum Memory {
    /// It is paid.
    Reserved(Reserved),
    /// This client, once the bytes have to wait. Mostly they are sent at once.
    PaidBy(Client),
    /// The client of the connection, once they have to wait.
    #[default]
    PaidByConnection,
    /// The call has paid: of a tonic service, or of a stream.
    OfCall,
}
