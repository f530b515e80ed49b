//! What a new thing is that was placed without saying more: what others of its kind on the floor are.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Class, Object, Report};

/// Gives every thing the fields that it lacks, if they have a default, and notes them. A thing whose archetype has no
/// default keeps none, and is refused later.
pub(super) fn fill(objects: &mut [Object], report: &mut Report) {
    let given = Given::of(objects);
    for object in objects {
        let mut taken = Vec::new();
        let mut take = |object: &mut Object, name: &str, value: Option<Value>| {
            if let (false, Some(value)) = (object.fields.has(name), value) {
                taken.push(format!("{name} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
                object.fields.set(name, value);
            }
        };
        let class = object.class;
        match class {
            Class::Spawn => {
                take(object, "archetype", given.usual(class, "archetype", None));
                let level = given.usual(class, "level", archetype(object));
                take(object, "level", level);
                take(object, "behaviour", Some("guards".into()));
                take(object, "group", Some(0.into()));
            }
            Class::Trap => {
                take(object, "archetype", given.usual(class, "archetype", None));
                let level = given.usual(class, "level", archetype(object));
                take(object, "level", level);
            }
            Class::Item => {
                take(object, "opens_lock", Some(0.into()));
                let is_key = opens_lock(object);
                let usual = given.usual(class, if is_key { "key" } else { "archetype" }, None);
                take(object, "archetype", usual.or_else(|| is_key.then(|| "key".into())));
                let value = given.usual(class, "value", archetype(object));
                take(object, "value", if is_key { Some(0.into()) } else { value });
            }
            Class::Connection => {
                take(object, "lock_id", Some(0.into()));
                take(object, "secret", Some(false.into()));
            }
            Class::Furniture => take(object, "archetype", given.usual(class, "archetype", None)),
            Class::Entry | Class::Exit | Class::Landing | Class::Room | Class::Lock => {}
        }
        if !taken.is_empty() {
            report.note(format!("{} says no more, so it has {}", object.fields.of, taken.join(", ")));
        }
    }
}

fn archetype(object: &Object) -> Option<&str> {
    object.fields.value("archetype")?.as_str()
}

fn opens_lock(object: &Object) -> bool {
    object.fields.value("opens_lock").is_some_and(|lock| *lock != json!(0) && *lock != json!("0"))
}

/// A class, a field, and the archetype of things that have it; no archetype for those of all.
type Of = (&'static str, &'static str, Option<String>);

/// How often things of the floor have a value.
struct Given(BTreeMap<Of, BTreeMap<String, (usize, Value)>>);

impl Given {
    fn of(objects: &[Object]) -> Self {
        let mut given = Self(BTreeMap::new());
        for object in objects.iter().filter(|object| object.class.has_archetype()) {
            for name in ["archetype", "level", "value"] {
                let Some(value) = object.fields.value(name).filter(|value| **value != "") else { continue };
                // A key is no example of loot.
                let name = match (name, opens_lock(object)) {
                    ("archetype", true) => "key",
                    ("value", true) => continue,
                    _ => name,
                };
                given.add(object.class, name, None, value);
                given.add(object.class, name, archetype(object), value);
            }
        }
        given
    }

    fn add(&mut self, class: Class, name: &'static str, archetype: Option<&str>, value: &Value) {
        let counts = self.0.entry((class.name(), name, archetype.map(str::to_owned))).or_default();
        counts.entry(value.to_string()).or_insert_with(|| (0, value.clone())).0 += 1;
    }

    /// The most common value of things of that archetype, else of all; of equally common ones the first.
    fn usual(&self, class: Class, name: &'static str, archetype: Option<&str>) -> Option<Value> {
        let of = |archetype: Option<&str>| {
            let counts = self.0.get(&(class.name(), name, archetype.map(str::to_owned)))?;
            counts.values().rev().max_by_key(|(count, _)| *count).map(|(_, value)| value.clone())
        };
        of(archetype).or_else(|| of(None))
    }
}
