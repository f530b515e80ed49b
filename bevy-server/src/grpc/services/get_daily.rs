//! `GetDaily`: the sealed tower of the day, on every server with the same key alike.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use floor_gen::GENERATOR_VERSION;
use floor_proto::{limits::DEFAULT_SIDE, v1};
use prost::Message as _;
use tonic::Status;

use super::{Call, Services, climb, resolve::find_pack};
use crate::grpc::{
    answer::Answer,
    status::{invalid, malformed},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn answer(services: &Services, call: &Call<'_>, message: Bytes) -> Result<Answer, Status> {
    v1::GetDailyRequest::decode(message).map_err(|error| malformed(&error))?;
    let towers = climb::towers(services, call)?;
    let packs = services.packs.for_caller(call.options.tenant);
    let pack = find_pack(packs, "", "pack").map_err(|unresolved| unresolved.or_invalid(invalid))?;
    let now = Duration::from_millis(climb::now_ms());
    let date = date(now);
    Ok(Answer::of_message(&v1::Daily {
        tower: towers.keys().current().daily(towers.tenant_name(call.options.tenant), &date),
        date,
        seconds_left: (DAY.as_secs() - now.as_secs() % DAY.as_secs()) as u32,
        pack: pack.reference().to_owned(),
        generator_version: GENERATOR_VERSION,
        rules_version: floor_rules::VERSION,
        width: DEFAULT_SIDE,
        height: DEFAULT_SIDE,
    }))
}

/// The day in UTC of a time since 1970, as `2026-11-29`.
fn date(since: Duration) -> String {
    let mut text = humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since).to_string();
    text.truncate("2026-11-29".len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight_in_utc() {
        let days = 20_786;
        assert_eq!(date(days * DAY), "2026-11-29");
        assert_eq!(date(days * DAY - Duration::from_millis(1)), "2026-11-28");
        assert_eq!(date(Duration::ZERO), "1970-01-01");
    }
}
