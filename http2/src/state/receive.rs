//! Takes the frames of a client, all but header blocks.

use super::{CLOSE_PING, Closing, State, Stream, bounds::FrameBudget, wake};
use crate::{
    error::{ConnectionError, Reason},
    frame::{self, FrameHeader, MAX_FRAME_BYTES, MAX_STREAM, MAX_WINDOW, dependency, flag, setting, without_padding},
};

/// Settings in one frame. Each change of the window costs work for all streams.
const MAX_SETTINGS: usize = 32;
/// An update of the connection's window below this counts as a frame without effect if streams wait for the window,
/// because it wakes all of them. So does each stream that waits and may then send less: waking it costs about as much as
/// a call.
const MIN_WINDOW_UPDATE: i64 = 1024;

impl State {
    pub(super) fn take_data(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        let (id, length) = (header.stream, payload.len());
        self.refuse_idle(id, "DATA on a stream that is not open")?;
        self.receive_window.open -= length as i64;
        if self.receive_window.open < 0 {
            return Err(ConnectionError::new(Reason::FlowControlError, "more data than the connection's window"));
        }
        let data = without_padding(header, payload)?;
        let ends = header.has(flag::END_STREAM);
        if data.is_empty() && !ends {
            self.frame_budget.take()?;
        }
        let Some(stream) = self.streams.get_mut(&id) else {
            self.give_back(length);
            return self.refuse_after_end(id);
        };
        stream.receive_window.open -= length as i64;
        let broken = match &mut stream.announced {
            _ if stream.is_received => Some(Reason::StreamClosed),
            _ if stream.receive_window.open < 0 => Some(Reason::FlowControlError),
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

    pub(super) fn take_priority(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        if header.stream == 0 {
            return Err(ConnectionError::protocol("PRIORITY without a stream"));
        }
        let reason = match <&[u8; 5]>::try_from(payload) {
            Ok(priority) if dependency(priority) != header.stream => return self.frame_budget.take(),
            Ok(_) => Reason::ProtocolError,
            Err(_) => Reason::FrameSizeError,
        };
        if self.is_idle(header.stream) {
            // A stream that is not open cannot be reset.
            return Err(ConnectionError::new(reason, "PRIORITY is not valid"));
        }
        self.reset_for_error(header.stream, reason)
    }

    pub(super) fn take_reset(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        if payload.len() != 4 {
            return Err(ConnectionError::new(Reason::FrameSizeError, "RST_STREAM has not 4 bytes"));
        }
        self.refuse_idle(header.stream, "RST_STREAM on a stream that is not open")?;
        if !self.streams.contains_key(&header.stream) {
            return self.take_free_frame();
        }
        self.forget_request(header.stream);
        self.remove(header.stream);
        self.frame_budget.take()
    }

    pub(super) fn take_settings(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        if header.stream != 0 {
            return Err(ConnectionError::protocol("SETTINGS on a stream"));
        }
        if header.has(flag::ACK) {
            let is_empty = payload.is_empty() && self.has_settings;
            let not_empty =
                ConnectionError::new(Reason::FrameSizeError, "an acknowledgement of SETTINGS has a payload");
            return if is_empty { self.frame_budget.take() } else { Err(not_empty) };
        }
        let (settings, rest) = payload.as_chunks::<6>();
        if !rest.is_empty() {
            return Err(ConnectionError::new(Reason::FrameSizeError, "SETTINGS ends inside a setting"));
        }
        if settings.len() > MAX_SETTINGS {
            return Err(ConnectionError::new(Reason::EnhanceYourCalm, "a frame has more than 32 settings"));
        }
        let mut window = None;
        for [a, b, value @ ..] in settings {
            let (id, value) = (u16::from_be_bytes([*a, *b]), u32::from_be_bytes(*value));
            if id == setting::INITIAL_WINDOW_SIZE {
                window = Some(value).filter(|value| i64::from(*value) <= MAX_WINDOW);
                window.ok_or_else(window_too_large)?;
            } else {
                self.apply_setting(id, value)?;
            }
        }
        // Once for all: each change costs work for all streams.
        if let Some(window) = window {
            self.change_windows(i64::from(window) - self.initial_send_window)?;
        }
        if std::mem::replace(&mut self.has_settings, true) {
            self.frame_budget.take()?;
        }
        frame::put_settings_ack(&mut self.output);
        Ok(())
    }

    fn apply_setting(&mut self, id: u16, value: u32) -> Result<(), ConnectionError> {
        match id {
            setting::HEADER_TABLE_SIZE => self.encoder.limit_table(value as usize),
            setting::ENABLE_PUSH if value > 1 => return Err(ConnectionError::protocol("ENABLE_PUSH is not 0 or 1")),
            setting::MAX_FRAME_SIZE if !(MAX_FRAME_BYTES as u32..1 << 24).contains(&value) => {
                return Err(ConnectionError::protocol("MAX_FRAME_SIZE is outside of its range"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Changes the windows of all streams (section 6.9.2).
    fn change_windows(&mut self, change: i64) -> Result<(), ConnectionError> {
        self.initial_send_window += change;
        for stream in self.streams.values_mut() {
            if stream.send_window + change > MAX_WINDOW {
                return Err(window_too_large());
            }
            stream.change_window(change, &mut self.frame_budget)?;
        }
        Ok(())
    }

    pub(super) fn take_ping(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        if header.stream != 0 {
            return Err(ConnectionError::protocol("PING on a stream"));
        }
        let Ok(payload) = <[u8; 8]>::try_from(payload) else {
            return Err(ConnectionError::new(Reason::FrameSizeError, "PING has not 8 bytes"));
        };
        if !header.has(flag::ACK) {
            frame::put_ping(&mut self.output, true, payload);
        } else if payload == CLOSE_PING && self.closing == Closing::Announced {
            self.close_finally();
        }
        self.take_free_frame()
    }

    pub(super) fn take_window_update(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        let Ok(increment) = <[u8; 4]>::try_from(payload) else {
            return Err(ConnectionError::new(Reason::FrameSizeError, "WINDOW_UPDATE has not 4 bytes"));
        };
        let increment = i64::from(u32::from_be_bytes(increment) & MAX_STREAM);
        let id = header.stream;
        if id == 0 {
            self.send_window += increment;
            if increment == 0 {
                return Err(ConnectionError::protocol("WINDOW_UPDATE by 0"));
            }
            if self.send_window > MAX_WINDOW {
                return Err(window_too_large());
            }
            if increment < MIN_WINDOW_UPDATE && !self.waiting.is_empty() {
                self.frame_budget.take()?;
            }
            self.wake_waiting();
            return Ok(());
        }
        self.refuse_idle(id, "WINDOW_UPDATE on a stream that is not open")?;
        let Some(stream) = self.streams.get_mut(&id) else { return self.take_free_frame() };
        if increment == 0 {
            return self.reset_for_error(id, Reason::ProtocolError);
        }
        if stream.send_window + increment > MAX_WINDOW {
            return self.reset_for_error(id, Reason::FlowControlError);
        }
        stream.change_window(increment, &mut self.frame_budget)
    }

    /// Whether this stream was never opened, or is one that a client cannot open.
    fn is_idle(&self, id: u32) -> bool {
        id > self.last_stream || id.is_multiple_of(2)
    }

    /// An error for a frame on an idle stream.
    fn refuse_idle(&self, id: u32, text: &'static str) -> Result<(), ConnectionError> {
        // After the last GOAWAY, the client's newer streams are unknown here.
        let is_unknown = self.closing == Closing::Final && !id.is_multiple_of(2);
        if self.is_idle(id) && !is_unknown { Err(ConnectionError::protocol(text)) } else { Ok(()) }
    }

    /// Counts a frame without effect that honest clients send as often as they get data.
    fn take_free_frame(&mut self) -> Result<(), ConnectionError> {
        match self.free_frames.checked_sub(1) {
            Some(left) => self.free_frames = left,
            None => self.frame_budget.take()?,
        }
        Ok(())
    }

    /// Data arrived for a stream that has ended.
    fn refuse_after_end(&mut self, id: u32) -> Result<(), ConnectionError> {
        if self.remembered_resets.contains(&id) || id > self.last_stream {
            return self.frame_budget.take();
        }
        self.reset_for_error(id, Reason::StreamClosed)
    }

    /// Resets a stream because of what the client did.
    pub(super) fn reset_for_error(&mut self, id: u32, reason: Reason) -> Result<(), ConnectionError> {
        self.forget_request(id);
        self.reset(id, reason);
        self.frame_budget.take()
    }
}

impl Stream {
    /// Changes what may be sent, and wakes a writer that waits for it. One that waits for anything else would only wait
    /// again.
    fn change_window(&mut self, change: i64, budget: &mut FrameBudget) -> Result<(), ConnectionError> {
        let was_closed = self.send_window <= 0;
        self.send_window += change;
        if !was_closed || self.send_window <= 0 {
            return Ok(());
        }
        let Some(writer) = self.writer.take() else { return Ok(()) };
        writer.wake();
        if self.send_window < MIN_WINDOW_UPDATE { budget.take() } else { Ok(()) }
    }
}

fn window_too_large() -> ConnectionError {
    ConnectionError::new(Reason::FlowControlError, "a window is larger than 2^31-1")
}
