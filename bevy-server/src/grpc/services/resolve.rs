//! The floors that a request names.

use std::{fmt::Display, time::Duration};

use bytes::Bytes;
use floor_gen::{FloorSpec, Kind, SpecError, View};
use floor_pack::ResolveError;
use floor_proto::{pack::BUILT_IN, v1};
use tonic::Status;

use super::{Call, Services};
use crate::{
    grpc::{
        admission::INLINE,
        answer::Validity,
        status::{self, Violation},
    },
    packs::{FoundPack, UnknownPack, VisiblePacks},
};

/// Why a request names no floors.
#[derive(Debug)]
pub(super) enum Refused {
    /// They do not exist.
    Status(Box<Status>),
    /// It takes so long to find out, and less was allowed.
    TakesLong(Duration),
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self::Status(Box::new(status))
    }
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Status(status) => *status,
            Refused::TakesLong(time) => Self::internal(format!("no thread has {time:?} for this request")),
        }
    }
}

/// Why a spec names no floor.
#[derive(Debug)]
pub(super) enum Unresolved {
    /// Its fields are wrong.
    Invalid(Vec<Violation>),
    /// The server has no such pack, or the pack's own generator has no such floor or takes long.
    Refused(Refused),
}

impl Unresolved {
    /// Why the request is refused; `invalid` makes a status of violations.
    pub(super) fn or_invalid(self, invalid: impl FnOnce(Vec<Violation>) -> Status) -> Refused {
        match self {
            Self::Invalid(violations) => invalid(violations).into(),
            Self::Refused(refused) => refused,
        }
    }
}

/// What `decode` reads of `message`, with the packs of the caller and within a time. If resolving takes longer than a thread
/// of connections has, `decode` runs again in another.
pub(super) async fn decoded<T: Send + 'static>(
    services: &Services,
    call: &Call<'_>,
    message: Bytes,
    decode: fn(VisiblePacks<'_>, &[u8], Duration) -> Result<T, Refused>,
) -> Result<T, Status> {
    let (packs, tenant, only) = (&services.packs, call.options.tenant, call.options.only);
    match decode(packs.for_caller(tenant).only(only), &message, INLINE) {
        Err(Refused::TakesLong(time)) => {
            let packs = packs.clone();
            let decode = move || decode(packs.for_caller(tenant).only(only), &message, Duration::MAX);
            // Boxed because it is rare.
            Ok(call.options.with_deadline(Box::pin(services.offload.run(call.caller, time, decode)).as_mut()).await??)
        }
        decoded => Ok(decoded?),
    }
}

/// The pack that `field` of the request names.
#[inline]
pub(super) fn find_pack(
    packs: VisiblePacks<'_>,
    requested: &str,
    field: impl Display,
) -> Result<FoundPack, Unresolved> {
    packs.find(requested).map_err(|unknown| match unknown {
        UnknownPack::Invalid(error) => Unresolved::Invalid(vec![Violation::new(field.to_string(), error.to_string())]),
        UnknownPack::Unknown { known } => Unresolved::Refused(status::unknown_pack(requested, &known).into()),
        UnknownPack::Broken { name } => Unresolved::Refused(status::broken_pack(&name).into()),
    })
}

/// For how long a floor of the packs `requested` stays the same: for good if each is named with its version. The built-in
/// pack is that of the generator version.
pub(super) fn validity<'a>(packs: VisiblePacks<'_>, mut requested: impl Iterator<Item = &'a str>) -> Validity {
    let is_version = |pack| match pack {
        "" => packs.default_is_built_in(),
        pack => pack == BUILT_IN || pack.contains('@'),
    };
    if requested.all(is_version) { Validity::GeneratorVersion } else { Validity::PackVersion }
}

/// Resolves the spec in `field` of the request, if that takes no longer than `allowed`, from which it takes its time. What is
/// resolved is valid, and no code behind checks it again.
pub(super) fn resolve(
    packs: VisiblePacks<'_>,
    requested: Option<&v1::FloorSpec>,
    field: impl Display,
    allowed: &mut Duration,
) -> Result<FloorSpec, Unresolved> {
    let Some(requested) = requested else {
        return Err(Unresolved::Invalid(vec![Violation::new(field.to_string(), "missing: it must name a floor")]));
    };
    let kind = match requested.kind {
        0 => Some(None),
        number => u32::try_from(number).ok().and_then(Kind::from_number).map(Some),
    };
    let view = u32::try_from(requested.view).ok().and_then(View::from_number);
    let pack = match find_pack(packs, &requested.pack, format_args!("{field}.pack")) {
        Ok(pack) => pack,
        Err(Unresolved::Invalid(mut wrong)) => {
            wrong.extend(field_violations(requested, kind.is_some(), view.is_some(), &field));
            return Err(Unresolved::Invalid(wrong));
        }
        Err(unknown) => return Err(unknown),
    };
    if let Some(view) = view.filter(|view| !packs.allows(*view)) {
        return Err(Unresolved::Refused(status::not_in_view(view, &field).into()));
    }
    let time = pack.resolving_time();
    *allowed = allowed.checked_sub(time).ok_or(Unresolved::Refused(Refused::TakesLong(time)))?;
    let resolved =
        kind.map(|kind| pack.resolve(requested.seed, requested.number, requested.width, requested.height, kind));
    match (resolved, view) {
        (Some(Ok(spec)), Some(view)) => Ok(spec.with_view(view)),
        (Some(Err(ResolveError::Module(error))), _) => {
            Err(Unresolved::Refused(status::from_module_error(&packs.note(error)).into()))
        }
        _ => Err(Unresolved::Invalid(field_violations(requested, kind.is_some(), view.is_some(), &field))),
    }
}

/// The violations of every invalid field. Each is checked with valid values for the others.
fn field_violations(
    requested: &v1::FloorSpec,
    kind_is_valid: bool,
    view_is_valid: bool,
    field: &impl Display,
) -> Vec<Violation> {
    let alone = |number, width, height| FloorSpec::resolve(requested.seed, number, width, height, None).err();
    let errors = [alone(requested.number, 0, 0), alone(1, requested.width, 0), alone(1, 0, requested.height)];
    let wrong = |error: SpecError| Violation::new(format!("{field}.{}", error.field()), error.to_string());
    let mut wrong: Vec<_> = errors.into_iter().flatten().map(wrong).collect();
    if !kind_is_valid {
        let description = format!("{} is not a FloorKind; offered: {}", requested.kind, offered());
        wrong.push(Violation::new(format!("{field}.kind"), description));
    }
    if !view_is_valid {
        let description = format!("{} is not a View; offered: 0 (everything), 1 (player)", requested.view);
        wrong.push(Violation::new(format!("{field}.view"), description));
    }
    wrong
}

fn offered() -> String {
    Kind::ALL.iter().map(|kind| format!("{} ({})", *kind as u8, kind)).collect::<Vec<_>>().join(", ")
}
