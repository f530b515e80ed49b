//! Which classes of values a tier stores.

use crate::key::Class;

/// Which values a tier stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Admit {
    /// Every class.
    #[default]
    All,
    /// These classes.
    Only(ClassSet),
}

impl Admit {
    /// Whether values of `class` are stored.
    #[must_use]
    pub const fn admits(self, class: Class) -> bool {
        match self {
            Self::All => true,
            Self::Only(classes) => classes.contains(class),
        }
    }
}

/// A set of classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassSet(u16);

impl ClassSet {
    /// This set and `class`.
    #[must_use]
    pub const fn with(self, class: Class) -> Self {
        Self(self.0 | 1 << class.index())
    }

    /// Whether `class` is in it.
    #[must_use]
    pub const fn contains(self, class: Class) -> bool {
        self.0 & 1 << class.index() != 0
    }
}

impl FromIterator<Class> for ClassSet {
    fn from_iter<I: IntoIterator<Item = Class>>(classes: I) -> Self {
        classes.into_iter().fold(Self::default(), Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_set_contains_the_inserted_classes() {
        let set: ClassSet = [Class::new(7), Class::new(15)].into_iter().collect();
        let held: Vec<usize> =
            (0..16).map(Class::new).filter(|class| Admit::Only(set).admits(*class)).map(Class::index).collect();
        assert_eq!(held, [7, 15]);
    }
}
