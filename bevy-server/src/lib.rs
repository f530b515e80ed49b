//! The floor server.
