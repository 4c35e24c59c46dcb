//! Parses a configuration file into settings and clusters, or lists its mistakes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml_edit::{Document, Item, Table, TableLike, Value};

use super::keys::{self, CLUSTER_KEYS, ConfigKey, ConfigSection, KEYS, KeyNeeds};
use super::{ConfigError, ConfigSetting, Configuration, NamedCluster, SettingOrigin, SettingScope};
use crate::model::metrics::named;
use crate::model::shown::printable;
use crate::tools::TOOLS;
use crate::tools::cli::hint::did_you_mean;
use crate::tools::cli::option::{Argument, ArgumentKind};
use crate::tools::cli::{Given, OptionRow};
use crate::tools::options::catalogue::WEIGHTS;

/// Hint for a password in a configuration file.
const CREDENTIALS: &str = "name a file that has user and password with the key 'credentials'";

/// A parser with its results so far.
struct ConfigReader<'t> {
    path: &'t Path,
    text: &'t str,
    found: Configuration,
    problems: Vec<ConfigError>,
}

/// Reads the text of a file.
///
/// # Errors
/// All mistakes, in the order of the file.
pub(super) fn read(path: &Path, text: &str) -> Result<Configuration, Vec<ConfigError>> {
    let mut reader = ConfigReader { path, text, found: Configuration::default(), problems: Vec::new() };
    match Document::parse(text) {
        Ok(document) => reader.sections(document.as_table()),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            // The line itself is not quoted because it may hold a secret.
            let problem = error.message().lines().next().unwrap_or("not TOML").to_owned();
            reader.problem(at, format!("not TOML: {problem}"));
        }
    }
    reader.problems.sort_by_key(|problem| problem.line);
    if reader.problems.is_empty() { Ok(reader.found) } else { Err(reader.problems) }
}

impl ConfigReader<'_> {
    fn line(&self, at: usize) -> usize {
        1 + self.text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count()
    }

    fn origin(&self, at: usize) -> SettingOrigin {
        SettingOrigin { file: self.path.to_owned(), line: self.line(at) }
    }

    fn problem(&mut self, at: usize, problem: String) {
        self.hinted(at, problem, None);
    }

    fn hinted(&mut self, at: usize, problem: String, hint: Option<String>) {
        let error = ConfigError {
            file: self.path.to_owned(),
            line: Some(self.line(at)),
            problem: printable(&problem, 400),
            hint: hint.map(|hint| printable(&hint, 400)),
        };
        self.problems.push(error);
    }

    fn unknown(&mut self, at: usize, what: &str, name: &str, known: Vec<&str>) {
        let meant = did_you_mean(name, known);
        self.problem(at, format!("there is no {what} '{name}'{meant}"));
    }

    fn sections(&mut self, table: &Table) {
        for (name, item) in table.iter() {
            let at = start(table, name, item);
            let Some(section) = item.as_table_like() else {
                let hint = "keys belong in [limits], in [defaults] or in the section of a tool";
                self.hinted(at, format!("key '{name}' is in no section"), Some(hint.to_owned()));
                continue;
            };
            match name {
                "clusters" => self.clusters(section),
                "weights" => self.weights(section),
                _ => match (
                    ConfigSection::WORDS.contains(&name),
                    TOOLS.iter().find(|tool| tool.spec.name() == name),
                ) {
                    (true, _) => self.keys(section, SettingScope::All, name),
                    (_, Some(tool)) => self.keys(section, SettingScope::Tool(tool.spec), name),
                    _ => {
                        let tools = TOOLS.iter().map(|tool| tool.spec.name());
                        let known = ["clusters", "weights"]
                            .into_iter()
                            .chain(ConfigSection::WORDS.iter().copied())
                            .chain(tools);
                        self.unknown(at, "section", name, known.collect());
                    }
                },
            }
        }
    }

    fn keys(&mut self, section: &dyn TableLike, scope: SettingScope, section_name: &str) {
        for (name, item) in section.iter() {
            let at = start(section, name, item);
            let Some(key) = keys::find(name) else {
                let is_option = TOOLS.iter().any(|tool| tool.spec.find(name).is_some());
                if is_option {
                    self.problem(at, format!("'{name}' can be set only on the command line (--{name})"))
                } else {
                    self.unknown(at, "key", name, KEYS.iter().map(|key| key.option.long).collect())
                }
                continue;
            };
            match scope {
                SettingScope::Tool(spec) if key.of(spec).is_none() => {
                    self.problem(at, format!("{} has no option --{name}", spec.name()));
                    continue;
                }
                SettingScope::All if key.section.is_none_or(|section| section.as_str() != section_name) => {
                    let tools =
                        TOOLS.iter().filter(|tool| key.of(tool.spec).is_some()).map(|tool| tool.spec.name());
                    let section = key
                        .section
                        .map_or_else(|| tools.collect::<Vec<_>>().join("] or ["), |s| s.to_string());
                    let problem = format!("key '{name}' does not belong in [{section_name}]");
                    self.hinted(at, problem, Some(format!("'{name}' belongs in [{section}]")));
                    continue;
                }
                _ => {}
            }
            self.setting(key, scope, item, at, format!("{section_name}.{name}"));
        }
    }

    fn setting(
        &mut self,
        key: &'static ConfigKey,
        scope: SettingScope,
        item: &Item,
        at: usize,
        name: String,
    ) {
        let value = match argument(key.option, item) {
            // Paths are relative to the folder of the file.
            Ok(SettingValue::Text(text)) if matches!(key.option.kind, ArgumentKind::File) => {
                let path = self.path.parent().unwrap_or(Path::new("")).join(text);
                SettingValue::Path(path)
            }
            Ok(value) => value,
            Err(wanted) => {
                return self.problem(at, format!("{name}: expected {wanted}, found {}", kind(item)));
            }
        };
        let option = match scope {
            SettingScope::Tool(spec) => key.of(spec).unwrap_or(key.option),
            SettingScope::All => key.option,
        };
        self.usable(option, value, scope, at, name, key.needs);
    }

    /// Adds a setting if its option accepts the value.
    fn usable(
        &mut self,
        option: &'static dyn OptionRow,
        value: SettingValue,
        scope: SettingScope,
        at: usize,
        name: String,
        needs: KeyNeeds,
    ) {
        let (is_set, value) = match value {
            SettingValue::Off => (false, None),
            SettingValue::On => (true, None),
            SettingValue::Text(text) => (true, Some(OsString::from(text))),
            SettingValue::Path(path) => (true, Some(path.into_os_string())),
        };
        let given = Given::named(option, value);
        if let Err(error) = option.check(&given) {
            return self.hinted(at, format!("{name}: {}", error.problem), error.problem.hint());
        }
        let origin = self.origin(at);
        self.found.settings.push(ConfigSetting { name, scope, given, is_set, needs, origin });
    }

    fn weights(&mut self, section: &dyn TableLike) {
        for (name, item) in section.iter() {
            let at = start(section, name, item);
            if !named().any(|metric| metric.name == name) {
                self.unknown(at, "metric", name, named().map(|metric| metric.name).collect());
                continue;
            }
            match number(item) {
                None => self.problem(at, format!("weights.{name}: expected a number, found {}", kind(item))),
                Some(weight) => {
                    let value = SettingValue::Text(format!("{name}={weight}"));
                    self.usable(
                        &WEIGHTS,
                        value,
                        SettingScope::All,
                        at,
                        format!("weights.{name}"),
                        KeyNeeds::Nothing,
                    );
                }
            }
        }
    }

    fn clusters(&mut self, section: &dyn TableLike) {
        for (name, item) in section.iter() {
            let at = start(section, name, item);
            let Some(table) = item.as_table_like() else {
                let hint = format!("clusters are sections: [clusters.{name}]");
                self.hinted(at, format!("'{name}' is not a cluster"), Some(hint));
                continue;
            };
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
                self.problem(
                    at,
                    "the name of a cluster can have only letters, digits, '-', '_' and '.'".to_owned(),
                );
                continue;
            }
            self.cluster(name, at, table);
        }
    }

    fn cluster(&mut self, name: &str, at: usize, table: &dyn TableLike) {
        let mut cluster = NamedCluster::new(name, self.origin(at));
        for (key, item) in table.iter() {
            let at = start(table, key, item);
            if key.contains("password") || key.contains("passwd") || key == "user" {
                self.hinted(
                    at,
                    format!("'{key}' is not allowed in the configuration"),
                    Some(CREDENTIALS.to_owned()),
                );
                continue;
            }
            if !CLUSTER_KEYS.iter().any(|known| known.0 == key) {
                self.unknown(at, "key of a cluster", key, CLUSTER_KEYS.map(|known| known.0).to_vec());
                continue;
            }
            let Some(text) = item.as_str().filter(|text| !text.is_empty()) else {
                self.problem(at, format!("clusters.{name}.{key}: expected a text, found {}", kind(item)));
                continue;
            };
            let path = || Some(self.path.parent().unwrap_or(Path::new("")).join(text));
            match key {
                "address" if has_password(text) => {
                    let problem =
                        format!("clusters.{name}.address: a password is not allowed in the address");
                    self.hinted(at, problem, Some(CREDENTIALS.to_owned()));
                }
                "address" => cluster.address = Some(text.to_owned()),
                "credentials" => cluster.credentials = path(),
                "certificate" => cluster.certificate = path(),
                "socket" => cluster.socket = path(),
                _ => cluster.file = path(),
            }
        }
        let places = [cluster.address.is_some(), cluster.socket.is_some(), cluster.file.is_some()];
        let given = ["address", "socket", "file"].into_iter().filter(|key| table.contains_key(key)).count();
        if given != 1 {
            self.problem(at, format!("clusters.{name}: exactly one of address, socket and file is needed"));
        } else if cluster.address.is_none()
            && places.contains(&true)
            && (cluster.credentials.is_some() || cluster.certificate.is_some())
        {
            self.problem(
                at,
                format!("clusters.{name}: credentials and certificate apply only to an address"),
            );
        }
        self.found.clusters.push(cluster);
    }
}

/// Tells if an address contains a password in front of the host, plain or percent-encoded.
fn has_password(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user.to_ascii_lowercase());
    user.is_some_and(|user| user.contains(':') || user.contains("%3a"))
}

/// Byte offset of an item: that of its key, if known.
fn start(table: &dyn TableLike, name: &str, item: &Item) -> usize {
    let key = table.get_key_value(name).and_then(|(key, _)| key.span());
    key.or_else(|| item.span()).map_or(0, |span| span.start)
}

/// Value of a key, as an argument of its option.
enum SettingValue {
    Off,
    On,
    Text(String),
    Path(PathBuf),
}

/// Converts a value to the argument of an option.
///
/// # Errors
/// The kind of value that is expected.
fn argument(option: &dyn OptionRow, item: &Item) -> Result<SettingValue, &'static str> {
    let text = |text: Option<String>, wanted| text.map(SettingValue::Text).ok_or(wanted);
    match (option.argument, option.kind) {
        (Argument::None, _) => match item.as_bool() {
            Some(true) => Ok(SettingValue::On),
            Some(false) => Ok(SettingValue::Off),
            None => Err("true or false"),
        },
        (_, ArgumentKind::Integer) => {
            text(item.as_integer().map(|number| number.to_string()), "a whole number")
        }
        (_, ArgumentKind::Float) => text(number(item), "a number"),
        _ => text(words(item), "a text"),
    }
}

/// A number in the notation that options accept.
fn number(item: &Item) -> Option<String> {
    let real = item.as_float().map(|number| match number {
        _ if number.is_nan() => "NaN".to_owned(),
        _ if number.is_infinite() => format!("{}Infinity", if number < 0.0 { "-" } else { "" }),
        _ => number.to_string(),
    });
    item.as_integer().map(|number| number.to_string()).or(real)
}

/// A text, a list of texts, or a time of the day.
fn words(item: &Item) -> Option<String> {
    let text_of = |value: &Value| value.as_str().map(str::to_owned);
    match item.as_value()? {
        Value::Array(list) => {
            list.iter().map(text_of).collect::<Option<Vec<String>>>().map(|list| list.join(","))
        }
        Value::Datetime(time) => {
            let time = time.value();
            let is_time = time.date.is_none() && time.offset.is_none();
            let text = time.to_string();
            is_time.then(|| {
                text.strip_suffix(":00").filter(|short| short.len() == 5).unwrap_or(&text).to_owned()
            })
        }
        value => text_of(value),
    }
}

/// Kind of a value, for messages.
fn kind(item: &Item) -> &'static str {
    match item {
        Item::Value(Value::String(text)) if text.value().is_empty() => "an empty text",
        Item::Value(Value::String(_)) => "a text",
        Item::Value(Value::Integer(_)) => "a whole number",
        Item::Value(Value::Float(_)) => "a real number",
        Item::Value(Value::Boolean(_)) => "true or false",
        Item::Value(Value::Datetime(_)) => "a date or time",
        Item::Value(Value::Array(_)) | Item::ArrayOfTables(_) => "a list",
        _ => "a section",
    }
}
