//! Sends what a connection wrote, after each of its polls.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::time::{Instant, Sleep};

use super::WriteBuffer;

/// Polls a connection and then flushes its [`WriteBuffer`].
pub struct FlushAfterPoll<C: Future> {
    connection: Pin<Box<C>>,
    write_buffer: WriteBuffer,
    /// When the preface must be complete. `None` once it is.
    preface_deadline: Option<Pin<Box<Sleep>>>,
    /// The result of the connection, while its last bytes are sent.
    output: Option<C::Output>,
}

impl<C: Future> FlushAfterPoll<C> {
    /// Polls `connection`, and ends at `preface_deadline` if the client has not sent the protocol preface.
    pub fn new(connection: C, write_buffer: WriteBuffer, preface_deadline: Instant) -> Self {
        let preface_deadline = Some(Box::pin(tokio::time::sleep_until(preface_deadline)));
        Self { connection: Box::pin(connection), write_buffer, preface_deadline, output: None }
    }

    /// Whether the client has missed the preface deadline.
    fn preface_timed_out(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(preface_deadline) = &mut self.preface_deadline else { return false };
        if self.write_buffer.preface_received() {
            self.preface_deadline = None;
            return false;
        }
        preface_deadline.as_mut().poll(cx).is_ready()
    }
}

impl<C: Future> Future for FlushAfterPoll<C>
where
    C::Output: Unpin,
{
    /// The result of the connection, or `None` if the client missed the preface deadline.
    type Output = Option<C::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.output.is_none()
            && let Poll::Ready(output) = this.connection.as_mut().poll(cx)
        {
            this.output = Some(output);
        }
        if this.preface_timed_out(cx) {
            return Poll::Ready(None);
        }
        // A send error also shows at the connection's next read or write. After its end there is no one to report it
        // to.
        let sent = this.write_buffer.lock().poll_send(cx);
        match this.output.take() {
            Some(output) if sent.is_ready() => Poll::Ready(Some(output)),
            output => {
                this.output = output;
                Poll::Pending
            }
        }
    }
}
