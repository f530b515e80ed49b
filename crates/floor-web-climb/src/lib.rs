//! What the viewer's page calls to play a floor of a climb, by the rules by which the server plays its acts again.
//!
//! Texts and bytes pass as in `floor-web`. [`begin`] puts the hero on a floor, [`act`] plays a turn and tells what came
//! of it, and [`view`] returns what the page shows.
#![cfg(target_family = "wasm")]
#![allow(unsafe_code, reason = "an export without its mangled name counts as unsafe; there is no other")]

#[path = "../../floor-web/src/buffers.rs"]
pub mod buffers;
mod climb;
mod news;

use std::cell::RefCell;

use floor_proto::v1::ClimbFloor;
use floor_rules::Act;
use prost::Message as _;

use buffers::{read, respond};
use climb::Climb;

thread_local! {
    static CLIMB: RefCell<Option<Climb>> = const { RefCell::new(None) };
}

/// Puts the hero on the floor of the input, an encoded `floors.v1.ClimbFloor`. Whether one can play there; if not, the
/// output is the error, and the floor before stays.
#[unsafe(no_mangle)]
pub extern "C" fn begin() -> bool {
    let message = read(|input| ClimbFloor::decode(input)).map_err(|error| error.to_string());
    let climb = message.and_then(Climb::new);
    respond(climb.map(|climb| {
        CLIMB.set(Some(climb));
        Vec::new()
    }))
}

/// Does the act of a byte, as in `SubmitFloorRequest.acts`. Whether it is possible: else nothing has changed. The
/// output is what the player reads about it.
#[unsafe(no_mangle)]
pub extern "C" fn act(byte: u32) -> bool {
    let act = u8::try_from(byte).ok().and_then(Act::from_byte);
    CLIMB.with_borrow_mut(|climb| match (climb, act) {
        (Some(climb), Some(act)) => respond(climb.act(act).map(String::into_bytes)),
        (None, _) => respond(Err("no floor has begun".to_owned())),
        (_, None) => respond(Err(format!("{byte} is no act; acts are 0 to {}", Act::ALL.len() - 1))),
    })
}

/// The output is what the page shows of the floor, as [`Climb::view`] has it, and empty before one has begun.
#[unsafe(no_mangle)]
pub extern "C" fn view() {
    respond(Ok(CLIMB.with_borrow(|climb| climb.as_ref().map(Climb::view).unwrap_or_default())));
}
