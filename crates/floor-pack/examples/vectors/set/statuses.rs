//! Values of the trailer `grpc-status-details-bin`.

use std::time::Duration;

use serde::Serialize;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use super::hex;

#[derive(Serialize)]
pub(super) struct StatusVector {
    name: &'static str,
    /// The encoded `google.rpc.Status`, in hexadecimal. The trailer has these bytes in base64.
    bytes: String,
    code: i32,
    message: &'static str,
    /// `google.rpc.BadRequest`.
    violations: Vec<Violation>,
    /// `google.rpc.RetryInfo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

#[derive(Serialize)]
struct Violation {
    field: &'static str,
    description: &'static str,
}

pub(super) fn all() -> Vec<StatusVector> {
    let busy = "the generation queue is full";
    vec![
        status(
            "bad_request",
            Code::InvalidArgument,
            "specs[3].width: width 15 is not in 16 ..= 512 (or 0 for 100)",
            &[
                ("specs[3].width", "width 15 is not in 16 ..= 512 (or 0 for 100)"),
                ("specs[4].number", "floor number 0 is not in 1 ..= 1000000"),
            ],
            None,
        ),
        status("retry_after_1_ms", Code::ResourceExhausted, busy, &[], Some(1)),
        status("retry_after_2500_ms", Code::ResourceExhausted, busy, &[], Some(2500)),
    ]
}

fn status(
    name: &'static str,
    code: Code,
    message: &'static str,
    violations: &[(&'static str, &'static str)],
    retry_after_ms: Option<u64>,
) -> StatusVector {
    let mut details = ErrorDetails::new();
    for (field, description) in violations {
        details.add_bad_request_violation(*field, *description);
    }
    if let Some(wait) = retry_after_ms {
        details.set_retry_info(Some(Duration::from_millis(wait)));
    }
    let violations = violations.iter().map(|&(field, description)| Violation { field, description }).collect();
    let bytes = hex(Status::with_error_details(code, message, details).details());
    StatusVector { name, bytes, code: code.into(), message, violations, retry_after_ms }
}
