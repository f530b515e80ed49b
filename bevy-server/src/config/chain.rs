//! The keys of the chain: their formats, and how they are read.

use figment::value::Value;
use floor_cache::{
    Admit, Bypass, ChainConfig, LmdbConfig, LruConfig, RedisConfig, SledConfig, TierKind, Tuning, envelope::ValueCheck,
    tls::Tls,
};
use floor_gen::Kind;

use super::{
    files,
    formats::{Directory, Flag, Format, OneOf, Redaction, Size, Span, quote, quote_all, text},
    nonzero,
    reader::Reader,
};
use crate::key::{self, class};

/// Whether `admit = "special"` admits floors of this kind to Redis.
const fn is_special(kind: Kind) -> bool {
    match kind {
        Kind::Boss | Kind::Event | Kind::Story => true,
        Kind::Standard | Kind::Keep | Kind::Halls | Kind::Cavern | Kind::Cyclic | Kind::Maze => false,
    }
}

pub(super) fn chain(reader: &mut Reader<'_>) -> (ChainConfig, Tuning) {
    let chain = reader.key("cache.chain", Tiers);
    let namespace = reader.key("cache.namespace", Namespace);
    let bypass = reader.key("cache.bypass", bypass());
    let compress = reader.key("cache.compress", Flag);
    let tuning = Tuning {
        keys: reader.key("cache.keys_file", files::MASTER_KEYS).map(|file| file.contents),
        compress,
        utilisation: None,
        value_check: Some(ValueCheck::new(key::check)),
    };
    let config = ChainConfig {
        chain,
        namespace,
        bypass,
        value_version: floor_gen::GENERATOR_VERSION,
        write_queue: ChainConfig::WRITE_QUEUE,
        lru: LruConfig {
            capacity: reader.key("cache.lru.capacity", Size::Limited),
            ttl: nonzero(reader.key("cache.lru.ttl", Span::Any)),
        },
        lmdb: LmdbConfig {
            path: reader.key("cache.lmdb.path", Directory),
            map_size: reader.key("cache.lmdb.map_size", Size::Limited),
        },
        sled: SledConfig {
            path: reader.key("cache.sled.path", Directory),
            capacity: reader.key("cache.sled.capacity", Size::MaybeUnlimited),
        },
        redis: RedisConfig {
            url: redis_url(reader),
            admit: reader.key("cache.redis.admit", admit()),
            timeout: reader.key("cache.redis.timeout", Span::Timeout),
            tls: Tls {
                ca: reader.key("cache.redis.ca", files::CA).map(|file| file.contents),
                cert: reader.key("cache.redis.cert", files::CERT).map(|file| file.contents),
                key: reader.key("cache.redis.key", files::KEY).map(|file| file.contents),
            },
        },
    };
    (config, tuning)
}

/// The URL of Redis with the password from its file, if one is configured.
fn redis_url(reader: &mut Reader<'_>) -> String {
    const PASSWORD_FILE: &str = "cache.redis.password_file";
    let url = reader.key("cache.redis.url", RedisUrl);
    let Some(file) = reader.key(PASSWORD_FILE, files::PASSWORD) else { return url };
    files::with_password(&url, &file.contents).unwrap_or_else(|| {
        reader.refuse(PASSWORD_FILE, "names a password, and cache.redis.url has one too", "remove one of the two");
        url
    })
}

fn bypass() -> OneOf<Bypass> {
    OneOf {
        values: Bypass::ALL.map(|mode| (mode.name(), mode)).to_vec(),
        expected: "write \"auto\" (a tier is probed while its measured cost is below generation), \"off\" (always \
             probed) or \"forced\" (no tier below memory is probed)",
    }
}

fn admit() -> OneOf<Admit> {
    let special = Kind::ALL.into_iter().filter(|kind| is_special(*kind)).map(class).collect();
    OneOf {
        values: vec![("all", Admit::All), ("special", Admit::Only(special))],
        expected: "write \"all\" or \"special\" (only boss, event and story floors)",
    }
}

/// The tiers of the chain.
struct Tiers;

impl Format for Tiers {
    type Output = Vec<TierKind>;

    fn expected(&self) -> String {
        let [names @ .., last] = TierKind::ALL.map(TierKind::name);
        let names = names.join(", ");
        format!(
            "write a list of {names} and {last}, each at most once, as in [\"lru\", \"lmdb\"]; [] generates every floor"
        )
    }

    fn parse(&self, value: &Value) -> Option<Self::Output> {
        let tier = |value: &Value| -> Option<TierKind> { text(value)?.parse().ok() };
        let tiers = value.as_array()?.iter().map(tier).collect::<Option<Self::Output>>()?;
        let twice = tiers.iter().enumerate().any(|(i, tier)| tiers[..i].contains(tier));
        (!twice).then_some(tiers)
    }

    fn show(&self, tiers: &Self::Output) -> String {
        quote_all(tiers)
    }
}

/// The prefix of every stored key.
struct Namespace;

impl Format for Namespace {
    type Output = String;

    fn expected(&self) -> String {
        "write 1 ..= 64 letters, digits, '-', '_' or '.', as text".to_owned()
    }

    fn parse(&self, value: &Value) -> Option<String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        text(value).filter(|name| (1..=64).contains(&name.len()) && name.chars().all(allowed))
    }

    fn show(&self, name: &String) -> String {
        quote(name)
    }
}

/// The address of Redis. Printed without user and password.
struct RedisUrl;

impl Format for RedisUrl {
    type Output = String;

    const REDACTION: Redaction = Redaction::Part(|url| RedisConfig::at(url).redacted_url());

    fn expected(&self) -> String {
        RedisConfig::EXPECTED_URL.to_owned()
    }

    fn parse(&self, value: &Value) -> Option<String> {
        text(value).filter(|url| RedisConfig::at(url).url_problem().is_none())
    }

    fn problem(&self, value: &Value) -> Option<String> {
        let url = text(value)?;
        let problem = RedisConfig::at(&url).url_problem()?;
        // Of the rest no character is named: it may be one of a password.
        let remark = url.chars().next().and_then(floor_proto::text::remark).map(|remark| format!(": {remark}"));
        Some(problem.to_owned() + &remark.unwrap_or_default())
    }

    fn show(&self, url: &String) -> String {
        quote(RedisConfig::at(url).redacted_url())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: impl Format, names: &[&str]) {
        let expected = format.expected();
        for name in names {
            assert!(expected.contains(name), "{name} is missing in: {expected}");
        }
    }

    /// Every URL of the configuration, with a password in every place, and every character that could end it there.
    #[test]
    fn no_password_is_printed_whatever_stands_in_it() {
        const MARKER: &str = "hunter2";
        for special in ["", "#", "/", "?", "@", ":", "%", "%1", " ", ",", "[", "]", "\\", "&", "://", "/3@", "\n"] {
            for key in ["[cache.redis]\nurl", "[trace]\nendpoint"] {
                for scheme in ["redis", "redis+cluster", "rediss+sentinel", "redis+unix", "http", "https", "rediz"] {
                    for url in [
                        format!("{scheme}://me:{special}{MARKER}@h:1"),
                        format!("{scheme}://me:12{MARKER}{special}{MARKER}@h:1/3"),
                        format!("{scheme}:///run/redis.sock?pass={special}{MARKER}"),
                        format!("{MARKER}{special}@{scheme}://h:1"),
                    ] {
                        let text = format!("{key} = {}\n", quote(&url));
                        let printed = match crate::config::Config::from_toml(&text) {
                            Ok(config) => format!("{config:?}{}", config.resolved()),
                            Err(error) => error.to_string(),
                        };
                        assert!(!printed.contains(MARKER), "of {url} is printed: {printed}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_secret_in_a_wrong_place_is_not_printed() {
        for text in [
            "[ops]\ntoken_file = \"hunter2\"\n",
            "[cache]\nkeys_file = \"1:hunter2\"\n",
            "[cache]\nkeys = \"1:hunter2\"\n",
            "[cache.redis]\npassword_file = \"hunter2\"\n",
            "[cache.redis]\ntimeout = \"redis://me:hunter2@h\"\n",
            "[cache.redis]\nurl = [\"redis://me:hunter2@h\"]\n",
            "[cache.redis]\n\"redis://me:hunter2@h\" = 1\n",
            "[grpc]\nlisten = \"http://me:hunter2@h:1\"\n",
            "[cache]\nredis = \"redis://me:hunter2@h\"\n",
            "[cache.redis]\nurl = redis://me:hunter2@h\n",
        ] {
            let error = crate::config::Config::from_toml(text).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{text}: {error}");
        }
        let error = crate::config::Config::from_toml("[cache.redis]\npassword_file = \"no/file\"\n").unwrap_err();
        assert!(error.to_string().contains("is \"no/file\", which cannot be read"), "{error}");
    }

    #[test]
    fn messages_list_every_name() {
        check(Tiers, &TierKind::ALL.map(TierKind::name));
        check(bypass(), &Bypass::ALL.map(Bypass::name));
        let special: Vec<_> = Kind::ALL.into_iter().filter(|kind| is_special(*kind)).map(Kind::name).collect();
        check(admit(), &special);
        let (last, others) = special.split_last().expect("some kinds are special");
        let comment = format!("{} and {last} floors only", others.join(", "));
        assert!(super::super::DEFAULTS.contains(&comment), "defaults.toml does not say: {comment}");
    }
}
