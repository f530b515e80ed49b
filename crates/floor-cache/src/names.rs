//! Enums whose values have names in configuration, each defined by one list.

/// Defines an enum from one list of variants and names: the type, `ALL`, `name`, `Display` and `FromStr`. The literal
/// after the type says in errors what the names are.
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        pub enum $Type:ident: $what:literal {
            $($(#[$variant_attribute:meta])* $Variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $Type {
            $($(#[$variant_attribute])* $Variant,)+
        }

        impl $Type {
            /// Every value.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$Variant),+];

            /// The name in configuration, metrics and responses.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }
        }

        impl std::fmt::Display for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $Type {
            type Err = $crate::names::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                Self::ALL
                    .into_iter()
                    .find(|value| value.name() == name)
                    .ok_or_else(|| $crate::names::UnknownName::new($what, name, &[$($name),+]))
            }
        }
    };
}
pub(crate) use named_enum;

/// No value has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} {name:?}; the {what}s are {names}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    names: String,
}

impl UnknownName {
    pub(crate) fn new(what: &'static str, name: &str, names: &[&str]) -> Self {
        Self { what, name: name.to_owned(), names: names.join(", ") }
    }
}
