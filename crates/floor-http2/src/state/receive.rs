//! Takes the frames of a client, all but header blocks. The sections are those of RFC 9113.

use super::{CLOSE_PING, Closing, State, Stream, too_many_frames, wake};
use crate::{
    error::{ConnectionError, Reason},
    frame::{self, Data, MAX_FRAME_BYTES, MAX_WINDOW, setting},
};

/// Settings in one frame.
const MAX_SETTINGS: usize = 32;
/// An update of a window below this counts as a frame without effect. Of the connection's window only if streams wait for
/// it, and once for each, because it wakes all; of a stream's window unless a `DATA` frame explains it. Larger ones cost less than
/// what they let the server send, or end with the window's largest size. A setting counts for each stream that waits for
/// its window and may then send less.
const MIN_WINDOW_UPDATE: i64 = 1024;

impl State {
    pub(super) fn take_data(&mut self, frame: Data<'_>) -> Result<(), ConnectionError> {
        let Data { stream: id, data, length, ends } = frame;
        self.refuse_idle(id, "DATA on a stream that is not open")?;
        // Padding counts too, and so does data for a stream that has ended (sections 6.1 and 6.9).
        self.receive_window.open -= length as i64;
        if self.receive_window.open < 0 {
            return Err(ConnectionError::new(Reason::FlowControlError, "more data than the connection's window"));
        }
        if data.is_empty() && !ends {
            self.charge(self.payer(id))?;
        }
        let Some(stream) = self.streams.get_mut(&id) else {
            self.give_back(length);
            return self.refuse_after_end(id);
        };
        stream.receive_window.open -= length as i64;
        let broken = match &mut stream.announced {
            // Section 5.1, "half-closed (remote)".
            _ if stream.is_received => Some(Reason::StreamClosed),
            // Section 6.9.1.
            _ if stream.receive_window.open < 0 => Some(Reason::FlowControlError),
            // Section 8.1.1.
            Some(announced) => match announced.checked_sub(data.len() as u64) {
                Some(rest) => {
                    *announced = rest;
                    None
                }
                None => Some(Reason::ProtocolError),
            },
            None => None,
        };
        if let Some(reason) = broken {
            self.give_back(length);
            return self.reset_for_error(id, reason);
        }
        let unread = if stream.is_body_dropped { length } else { length - data.len() };
        if !stream.is_body_dropped && !data.is_empty() {
            if stream.data.is_empty() {
                // Mostly the only data. With an exact capacity it becomes `Bytes` without a copy.
                stream.data.reserve_exact(data.len());
            }
            stream.data.extend_from_slice(data);
        }
        wake(&mut stream.reader);
        self.give_back(unread);
        self.give_back_on(id, unread);
        if ends { self.end_request(id) } else { Ok(()) }
    }

    /// The client has sent a whole request.
    pub(super) fn end_request(&mut self, id: u32) -> Result<(), ConnectionError> {
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        if stream.announced.is_some_and(|rest| rest > 0) {
            return self.reset_for_error(id, Reason::ProtocolError);
        }
        stream.is_received = true;
        wake(&mut stream.reader);
        Ok(())
    }

    /// A frame has no valid form, which is an error of its stream (section 5.4.2).
    pub(super) fn refuse_frame(&mut self, id: u32, reason: Reason) -> Result<(), ConnectionError> {
        if self.is_idle(id) {
            // A stream that is not open cannot be reset.
            return Err(ConnectionError::new(reason, "PRIORITY is not valid"));
        }
        self.reset_for_error(id, reason)
    }

    pub(super) fn take_reset(&mut self, id: u32) -> Result<(), ConnectionError> {
        if self.is_idle(id) && !id.is_multiple_of(2) && self.frame_budget.is_shared() {
            return self.charge(None);
        }
        self.refuse_idle(id, "RST_STREAM on a stream that is not open")?;
        if !self.streams.contains_key(&id) {
            return self.take_free_frame(None);
        }
        let payer = self.payer(id);
        self.forget_request(id);
        self.remove(id);
        self.charge(payer)
    }

    pub(super) fn take_settings_ack(&mut self) -> Result<(), ConnectionError> {
        if self.has_settings {
            return self.take_free_frame(None);
        }
        // Section 3.4.
        Err(ConnectionError::protocol("the first frame acknowledges SETTINGS"))
    }

    pub(super) fn take_settings(&mut self, settings: &[[u8; 6]]) -> Result<(), ConnectionError> {
        if settings.len() > MAX_SETTINGS {
            return Err(ConnectionError::new(Reason::EnhanceYourCalm, "a frame has more than 32 settings"));
        }
        let mut window = None;
        for [a, b, value @ ..] in settings {
            let (id, value) = (u16::from_be_bytes([*a, *b]), u32::from_be_bytes(*value));
            self.apply_setting(id, value)?;
            if id == setting::INITIAL_WINDOW_SIZE {
                window = Some(i64::from(value));
            }
        }
        // The last one, once: each change costs work for all streams. None of the others lets a frame be sent (section
        // 6.5.3).
        if let Some(window) = window {
            self.change_windows(window)?;
        }
        if std::mem::replace(&mut self.has_settings, true) {
            self.charge(None)?;
        }
        frame::put_settings_ack(&mut self.output);
        Ok(())
    }

    /// Section 6.5.2.
    fn apply_setting(&mut self, id: u16, value: u32) -> Result<(), ConnectionError> {
        match id {
            setting::HEADER_TABLE_SIZE => self.encoder.limit_table(value as usize),
            setting::ENABLE_PUSH if value > 1 => return Err(ConnectionError::protocol("ENABLE_PUSH is not 0 or 1")),
            setting::MAX_FRAME_SIZE if !(MAX_FRAME_BYTES as u32..1 << 24).contains(&value) => {
                return Err(ConnectionError::protocol("MAX_FRAME_SIZE is outside of its range"));
            }
            setting::INITIAL_WINDOW_SIZE if i64::from(value) > MAX_WINDOW => return Err(window_too_large()),
            // The server has no use for the others, and ignores those that RFC 9113 does not define.
            _ => {}
        }
        Ok(())
    }

    /// Changes the windows of all streams (section 6.9.2).
    fn change_windows(&mut self, initial: i64) -> Result<(), ConnectionError> {
        let change = initial - self.initial_send_window;
        self.initial_send_window = initial;
        let mut has_budget = true;
        for stream in self.streams.values_mut() {
            stream.send_window += change;
            if stream.send_window > MAX_WINDOW {
                return Err(window_too_large());
            }
            if stream.wake_if_open() && stream.send_window < MIN_WINDOW_UPDATE {
                has_budget &= self.frame_budget.take(stream.payer);
            }
        }
        if has_budget { Ok(()) } else { Err(too_many_frames()) }
    }

    pub(super) fn take_ping(&mut self, payload: [u8; 8]) -> Result<(), ConnectionError> {
        frame::put_ping(&mut self.output, true, payload);
        self.take_free_frame(None)
    }

    pub(super) fn take_ping_ack(&mut self, payload: [u8; 8]) -> Result<(), ConnectionError> {
        if payload == CLOSE_PING {
            self.confirm_close();
        }
        self.take_free_frame(None)
    }

    pub(super) fn take_connection_update(&mut self, increment: u32) -> Result<(), ConnectionError> {
        let increment = i64::from(increment);
        self.send_window += increment;
        // Section 6.9.
        if increment == 0 {
            return Err(ConnectionError::protocol("WINDOW_UPDATE by 0"));
        }
        // Section 6.9.1.
        if self.send_window > MAX_WINDOW {
            return Err(window_too_large());
        }
        if increment < MIN_WINDOW_UPDATE {
            for _ in 0..self.waiting.len() {
                self.charge(None)?;
            }
        }
        self.wake_waiting();
        Ok(())
    }

    pub(super) fn take_stream_update(&mut self, id: u32, increment: u32) -> Result<(), ConnectionError> {
        self.refuse_idle(id, "WINDOW_UPDATE on a stream that is not open")?;
        let Some(stream) = self.streams.get_mut(&id) else { return self.take_free_frame(None) };
        stream.send_window += i64::from(increment);
        // Section 6.9.
        if increment == 0 {
            return self.reset_for_error(id, Reason::ProtocolError);
        }
        // Section 6.9.1.
        if stream.send_window > MAX_WINDOW {
            return self.reset_for_error(id, Reason::FlowControlError);
        }
        stream.wake_if_open();
        let payer = stream.payer;
        if i64::from(increment) < MIN_WINDOW_UPDATE { self.take_free_frame(payer) } else { Ok(()) }
    }

    /// Who pays for what the client does to a stream.
    fn payer(&self, id: u32) -> Option<u64> {
        self.streams.get(&id)?.payer
    }

    /// Whether this stream was never opened, or is one that a client cannot open (section 5.1, "idle").
    fn is_idle(&self, id: u32) -> bool {
        id > self.last_stream || id.is_multiple_of(2)
    }

    /// An error for a frame on an idle stream.
    fn refuse_idle(&self, id: u32, text: &'static str) -> Result<(), ConnectionError> {
        // After the last GOAWAY, the client's newer streams are unknown here (section 6.8).
        let is_unknown = self.closing == Closing::Final && !id.is_multiple_of(2);
        if self.is_idle(id) && !is_unknown { Err(ConnectionError::protocol(text)) } else { Ok(()) }
    }

    /// Data arrived for a stream that has ended (section 5.1, "closed").
    fn refuse_after_end(&mut self, id: u32) -> Result<(), ConnectionError> {
        if id <= self.last_reset || id > self.last_stream {
            return self.charge(None);
        }
        self.reset_for_error(id, Reason::StreamClosed)
    }

    /// Resets a stream because of what the client did.
    pub(super) fn reset_for_error(&mut self, id: u32, reason: Reason) -> Result<(), ConnectionError> {
        let payer = self.payer(id);
        self.forget_request(id);
        self.reset(id, reason);
        self.charge(payer)
    }
}

impl Stream {
    /// Wakes a writer that waits for the stream's window, if that is open. Returns whether it did. One that waits for
    /// anything else would only wait again.
    fn wake_if_open(&mut self) -> bool {
        let is_woken = self.send_window > 0 && std::mem::take(&mut self.waits_for_window);
        if is_woken {
            wake(&mut self.writer);
        }
        is_woken
    }
}

fn window_too_large() -> ConnectionError {
    ConnectionError::new(Reason::FlowControlError, "a window is larger than 2^31-1")
}
