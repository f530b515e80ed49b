//! Prints the error of a command to stderr and chooses the exit code.

use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
    time::Duration,
};

use floor_client::{ClientError, StatusError, TlsProblem};
use floor_gen::SpecError;
use floor_pack::ResolveError;

use crate::output;

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const CANNOT_CONNECT: u8 = 3;

/// An invalid combination of flags that clap does not detect.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// Why a call to the operations port failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OperationsError {
    /// Connecting failed, or the connection broke.
    #[error("cannot reach the operations port at {url}: {reason}")]
    Unreachable { url: String, reason: String },
    /// The deadline passed before the server answered.
    #[error("the operations port at {url} did not answer within {}", humantime::format_duration(*deadline))]
    TimedOut { url: String, deadline: Duration },
}

/// Whether the arguments of the command name no floor.
fn is_no_floor(error: &anyhow::Error) -> bool {
    error.is::<SpecError>() || matches!(error.downcast_ref(), Some(ResolveError::Spec(_)))
}

/// Prints `error` and returns the exit code. A closed pipe (`floorctl ... | head`) is not an error.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if own_chain(error).any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    let client = error.chain().find_map(|cause| cause.downcast_ref::<ClientError>());
    let mut text = format!("error: {}\n", message(error));
    let code = match client {
        Some(ClientError::Unreachable { reason, .. }) if reason.contains("client certificate") => {
            text += IDENTITY_FLAGS;
            CANNOT_CONNECT
        }
        Some(ClientError::Unreachable { .. }) => {
            let start = start_command();
            text += &format!("{start}, or name another with --server URL or FLOORCTL_SERVER.\n");
            CANNOT_CONNECT
        }
        Some(ClientError::Tls { problem, .. }) => {
            text += tls_flags(problem);
            CANNOT_CONNECT
        }
        Some(ClientError::TlsOptions { .. }) => {
            text += "The flags for TLS are --ca, --cert, --key and --server-name, or FLOORCTL_CA and so on.\n";
            USAGE
        }
        Some(ClientError::PlaintextToken { .. }) => {
            text += "--allow-plaintext-token allows it.\n";
            USAGE
        }
        Some(ClientError::Address { .. } | ClientError::Credential(_)) => USAGE,
        Some(ClientError::Status(status)) => {
            text += &details(status);
            FAILED
        }
        // Among others: an invalid or malformed answer.
        Some(_) => FAILED,
        None if is_no_floor(error) || error.is::<UsageError>() => USAGE,
        None if matches!(error.downcast_ref(), Some(OperationsError::Unreachable { .. })) => {
            let start = start_command();
            text += &format!("{start}, or name another operations port with --ops URL or FLOORCTL_OPS.\n");
            CANNOT_CONNECT
        }
        None => FAILED,
    };
    // If stderr is closed, too, there is nowhere to report to.
    let _ = output::stderr().write_all(text.as_bytes());
    ExitCode::from(code)
}

/// How to start a server: with cargo, if it runs `floorctl` too.
fn start_command() -> String {
    let command = if env::var_os("CARGO").is_some() { "cargo run --release" } else { "bevy-server" };
    format!("Is the server running? Start it with `{command}`")
}

/// The error and its causes in one line. Skips a cause whose text the line already contains.
fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for said in own_chain(error).map(ToString::to_string) {
        if text.is_empty() {
            text = said;
        } else if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
    }
    text
}

/// The error and its causes, up to an error of the client, whose message has its cause. A connection may break like a pipe.
fn own_chain(error: &anyhow::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    let mut ends = false;
    error.chain().take_while(move |cause| !std::mem::replace(&mut ends, cause.is::<ClientError>()))
}

const IDENTITY_FLAGS: &str = "Name the files of the certificate and its key with --cert FILE and --key FILE, or \
                              FLOORCTL_CERT and FLOORCTL_KEY.\n";

/// The flags that may solve the problem.
const fn tls_flags(problem: &TlsProblem) -> &'static str {
    match problem {
        TlsProblem::Untrusted => "Name the file with its certificate with --ca FILE or FLOORCTL_CA.\n",
        TlsProblem::WrongName(_) => "Expect another name with --server-name NAME or FLOORCTL_SERVER_NAME.\n",
        TlsProblem::CertificateRequired | TlsProblem::CertificateRejected(_) => IDENTITY_FLAGS,
        _ => "",
    }
}

fn details(status: &StatusError) -> String {
    let mut text = String::new();
    match status.code_name() {
        "UNAUTHENTICATED" => {
            text += "Name the file of a token that the server knows with --token-file FILE or FLOORCTL_TOKEN_FILE.\n";
        }
        "PERMISSION_DENIED" => {
            text += "If a token allows this call, name its file with --token-file FILE or FLOORCTL_TOKEN_FILE.\n";
        }
        _ => {}
    }
    // tonic writes this for a response with an HTTP status and no gRPC status.
    if status.message.contains("mapped from HTTP status code") {
        text += "This is HTTP, not gRPC; is it the operations port? gRPC is on 50051 unless configured otherwise.\n";
    }
    // The message often contains the description of the invalid field already.
    for violation in status.violations.iter().filter(|violation| !status.message.contains(&violation.description)) {
        text += &format!("  {}: {}\n", violation.field, violation.description);
    }
    if let Some(wait) = status.retry_after {
        text += &format!("The server asks to wait {}; --retries does so.\n", humantime::format_duration(wait));
    }
    text
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
    let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
    io.or(json) == Some(io::ErrorKind::BrokenPipe)
}
