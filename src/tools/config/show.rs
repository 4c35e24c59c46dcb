//! The effective configuration and its origins, as text and as a JSON document.

use serde::Serialize;

use super::files::ConfigPlace;
use super::{ConfigSetting, Configuration, NamedCluster, SettingOrigin};
use crate::model::number::counted;
use crate::model::shown::{printable, shown_source};
use crate::report::form::json;
use crate::report::form::table::{Align, Table};
use crate::tools::TOOLS;
use crate::tools::cli::Program;
use crate::tools::plans;

/// The name of the schema.
const SCHEMA: &str = "htools.config/1";

fn tools() -> Vec<&'static dyn Program> {
    let plans = [plans::APPLY.spec, plans::UNDO.spec];
    TOOLS.iter().map(|tool| tool.spec).chain(plans).collect()
}

fn origin(origin: &SettingOrigin) -> String {
    format!("{}:{}", shown_source(&origin.file.to_string_lossy()), origin.line)
}

/// A line for each file.
fn files(places: &[ConfigPlace]) -> Vec<String> {
    let line = |place: &ConfigPlace| {
        let state = if place.path.exists() { "read" } else { "not there" };
        format!("{}: {state}", shown_source(&place.path.to_string_lossy()))
    };
    match places {
        [] => vec!["no configuration file (HTOOLS_CONFIG is empty)".to_owned()],
        _ => places.iter().map(line).collect(),
    }
}

/// Report of `check` on files without mistakes: the files and the number of settings and clusters.
pub(super) fn checked(places: &[ConfigPlace], found: &Configuration) -> Vec<String> {
    let (settings, clusters) =
        (counted(found.settings.len(), "setting"), counted(found.clusters.len(), "cluster"));
    [files(places), vec![format!("{settings}, {clusters}, no error")]].concat()
}

fn value(setting: &ConfigSetting) -> String {
    match &setting.given.value {
        None => setting.is_set.to_string(),
        // The value of a weight follows the metric's name.
        Some(text) => {
            let text = text.to_string_lossy();
            let weight = setting
                .name
                .strip_prefix("weights.")
                .and_then(|name| text.strip_prefix(name)?.strip_prefix('='));
            printable(weight.unwrap_or(&text), 60)
        }
    }
}

/// Address or path of a cluster.
fn place(cluster: &NamedCluster) -> String {
    let path = cluster.socket.as_ref().or(cluster.file.as_ref());
    let path = path.map(|path| shown_source(&path.to_string_lossy()));
    cluster.address.as_ref().map(|address| printable(address, 80)).or(path).unwrap_or_default()
}

/// The effective configuration as text.
pub(super) fn text(places: &[ConfigPlace], found: &Configuration) -> Vec<String> {
    let mut lines = files(places);
    if !found.clusters.is_empty() {
        let mut table =
            Table::new([("Cluster", Align::Left), ("Where", Align::Left), ("Said in", Align::Left)]);
        for cluster in &found.clusters {
            table.push(vec![format!("@{}", cluster.name), place(cluster), origin(&cluster.origin)]);
        }
        lines.push(String::new());
        lines.extend(table.lines(""));
    }
    if !found.settings.is_empty() {
        let columns = [
            ("Key", Align::Left),
            ("Value", Align::Left),
            ("Said in", Align::Left),
            ("Holds for", Align::Left),
        ];
        let mut table = Table::new(columns);
        for (setting, tools) in found.reaches(&tools()) {
            let tools =
                if tools.is_empty() { "nothing: said again later".to_owned() } else { tools.join(", ") };
            table.push(vec![setting.name.clone(), value(setting), origin(&setting.origin), tools]);
        }
        lines.push(String::new());
        lines.extend(table.lines(""));
    }
    lines.into_iter().map(|line| line.trim().to_owned()).collect()
}

#[derive(Serialize)]
struct ConfigDocument {
    schema: &'static str,
    generator: json::Generator,
    files: Vec<FileView>,
    clusters: Vec<NamedClusterView>,
    settings: Vec<SettingView>,
}

#[derive(Serialize)]
struct FileView {
    path: String,
    read: bool,
}

#[derive(Serialize)]
struct NamedClusterView {
    name: String,
    address: Option<String>,
    socket: Option<String>,
    file: Option<String>,
    credentials: Option<String>,
    certificate: Option<String>,
    said_in: OriginView,
}

#[derive(Serialize)]
struct SettingView {
    key: String,
    option: &'static str,
    value: String,
    said_in: OriginView,
    tools: Vec<&'static str>,
}

#[derive(Serialize)]
struct OriginView {
    file: String,
    line: usize,
}

impl From<&SettingOrigin> for OriginView {
    fn from(origin: &SettingOrigin) -> OriginView {
        OriginView { file: origin.file.to_string_lossy().into_owned(), line: origin.line }
    }
}

/// The effective configuration as a JSON document.
///
/// # Errors
/// None are known.
pub(super) fn document(places: &[ConfigPlace], found: &Configuration) -> serde_json::Result<String> {
    let path = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
    let file = |place: &ConfigPlace| FileView { path: path(&place.path), read: place.path.exists() };
    let cluster = |cluster: &NamedCluster| NamedClusterView {
        name: cluster.name.clone(),
        address: cluster.address.clone(),
        socket: cluster.socket.as_ref().map(path),
        file: cluster.file.as_ref().map(path),
        credentials: cluster.credentials.as_ref().map(path),
        certificate: cluster.certificate.as_ref().map(path),
        said_in: (&cluster.origin).into(),
    };
    let setting = |(setting, tools): (&ConfigSetting, Vec<&'static str>)| SettingView {
        key: setting.name.clone(),
        option: setting.given.option.long,
        value: value(setting),
        said_in: (&setting.origin).into(),
        tools,
    };
    json::text(&ConfigDocument {
        schema: SCHEMA,
        generator: json::Generator::this(),
        files: places.iter().map(file).collect(),
        clusters: found.clusters.iter().map(cluster).collect(),
        settings: found.reaches(&tools()).into_iter().map(setting).collect(),
    })
}
