//! Configuration files: what holds unless the command line says otherwise. docs/configuration.md is the user's side.
//!
//! A key is an option under its long name, so that values, ranges and errors are those of the option: what a file says is
//! given before the words of the command line, and nothing else in a tool knows of files.

pub(super) mod command;
mod files;
mod keys;
mod read;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(super) use command::start;
pub(super) use files::ConfigPlace;

use self::keys::KeyNeeds;
use super::cli::getopt::Canonical;
use super::cli::hint::did_you_mean;
use super::cli::{Given, OptionRow, Program};
use super::hail;
use super::options::SourceOptions;
use super::options::catalogue::{MASTER, NO_CONFIG, WEIGHTS};
use crate::input::encoding::decode;
use crate::input::local::{Readers, read_regular};
use crate::model::shown::{shown_name, shown_source};

/// Most bytes of a file.
const SIZE: u64 = 1 << 20;

/// What is wrong with a configuration file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {problem}", shown_source(&.file.to_string_lossy()), .line.map(|line| format!(", line {line}")).unwrap_or_default())]
pub(super) struct ConfigError {
    pub file: PathBuf,
    /// From 1; none if it is about the file.
    pub line: Option<usize>,
    pub problem: String,
}

/// Where something is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingOrigin {
    pub file: PathBuf,
    pub line: usize,
}

/// For which tools something is said.
#[derive(Clone, Copy)]
pub(super) enum SettingScope {
    All,
    Tool(&'static dyn Program),
}

/// One thing that a file says.
#[derive(Clone)]
pub(super) struct ConfigSetting {
    /// Section and key.
    pub name: String,
    pub scope: SettingScope,
    /// The option, as if it were typed.
    pub given: Given,
    /// Whether it is: a flag may be said not to be.
    pub on: bool,
    pub needs: KeyNeeds,
    pub origin: SettingOrigin,
}

/// A cluster with a name of its own: `-m @NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedCluster {
    pub name: String,
    pub address: Option<String>,
    pub socket: Option<PathBuf>,
    pub file: Option<PathBuf>,
    pub credentials: Option<PathBuf>,
    pub certificate: Option<PathBuf>,
    pub origin: SettingOrigin,
}

/// What files say, each after those that it wins over.
#[derive(Clone, Default)]
pub(super) struct Configuration {
    pub settings: Vec<ConfigSetting>,
    pub clusters: Vec<NamedCluster>,
}

impl NamedCluster {
    fn new(name: &str, origin: SettingOrigin) -> NamedCluster {
        NamedCluster {
            name: name.to_owned(),
            address: None,
            socket: None,
            file: None,
            credentials: None,
            certificate: None,
            origin,
        }
    }

    /// Has options read this cluster; what they say of credentials and certificates stays.
    fn becomes(&self, source: &mut SourceOptions) {
        source.named = Some(self.name.clone());
        source.rapi.clone_from(&self.address);
        if let Some(socket) = &self.socket {
            source.luxi = Some(Some(socket.clone()));
        }
        if let Some(file) = &self.file {
            source.text_data = Some(file.clone());
        }
        let access = &mut source.rapi_access;
        access.credentials = access.credentials.take().or_else(|| self.credentials.clone());
        access.certificates = access.certificates.take().or_else(|| self.certificate.clone());
    }
}

/// The places where files are looked for, by the environment.
pub(super) fn places(system_only: bool) -> Vec<ConfigPlace> {
    files::places(&files::ConfigVariables::now(), system_only)
}

/// Reads one file; nothing if it is not there and need not be.
///
/// # Errors
/// All that is wrong with it.
fn read_file(place: &ConfigPlace) -> Result<Option<Configuration>, Vec<ConfigError>> {
    if !place.named && !place.path.exists() {
        return Ok(None);
    }
    let wrong = |problem: String| vec![ConfigError { file: place.path.clone(), line: None, problem }];
    let bytes =
        read_regular(&place.path, SIZE, Readers::AnyoneNoWriters).map_err(|error| wrong(error.problem))?;
    let text = decode(&bytes, "").map_err(|error| wrong(error.problem))?;
    read::read(&place.path, text).map(Some)
}

/// What all files say together.
///
/// # Errors
/// All that is wrong with them.
pub(super) fn load(places: &[ConfigPlace]) -> Result<Configuration, Vec<ConfigError>> {
    let (mut all, mut problems) = (Configuration::default(), Vec::new());
    for place in places {
        match read_file(place) {
            Ok(None) => {}
            Ok(Some(file)) => {
                all.settings.extend(file.settings);
                all.clusters.retain(|known| file.clusters.iter().all(|new| new.name != known.name));
                all.clusters.extend(file.clusters);
            }
            Err(wrong) => problems.extend(wrong),
        }
    }
    if problems.is_empty() { Ok(all) } else { Err(problems) }
}

/// What files say that can matter to a program.
///
/// # Errors
/// The first thing that is wrong with the files.
pub(super) fn of_program(program: &dyn Program) -> Result<Configuration, ConfigError> {
    if [NO_CONFIG.long, MASTER.shape.long].iter().all(|long| program.find(long).is_none()) {
        return Ok(Configuration::default());
    }
    load(&places(program.name() == hail::SPEC.name)).map_err(|mut problems| problems.swap_remove(0))
}

impl Configuration {
    /// Has options name the cluster that is meant by `-m @NAME`.
    ///
    /// # Errors
    /// There is no such cluster; in a line.
    pub(super) fn resolve(&self, source: &mut SourceOptions) -> Result<(), String> {
        let Some(name) = source.rapi.as_deref().and_then(|address| address.strip_prefix('@')) else {
            return Ok(());
        };
        let Some(cluster) = self.clusters.iter().find(|cluster| cluster.name == name) else {
            let meant = did_you_mean(name, self.clusters.iter().map(|cluster| cluster.name.as_str()));
            let name = shown_name(name);
            return Err(format!(
                "there is no cluster '{name}' in the configuration{meant} (htools config show)"
            ));
        };
        cluster.becomes(source);
        Ok(())
    }

    /// The options that hold for one of the commands of a tool, where these words are typed: in the order of the files, and in each what is said
    /// of this tool after what is said of all; none if files do not count.
    pub(super) fn given(&self, spec: &dyn Program, words: &Canonical, commands: [&str; 2]) -> Vec<Given> {
        let typed = |long: &str| words.options.iter().any(|given| given.option.long == long);
        if typed(NO_CONFIG.long) {
            return Vec::new();
        }
        let is_met = |needs: KeyNeeds, also: &[&str]| match needs {
            KeyNeeds::Nothing => true,
            KeyNeeds::Without(long) => !typed(long),
            KeyNeeds::OneOf(longs) => {
                let has = |long: &&str| spec.find(long).is_some();
                longs.iter().any(|long| typed(long) || also.contains(long)) || !longs.iter().any(has)
            }
        };
        let fits = |option: &dyn OptionRow| commands.iter().any(|command| option.is_of(command));
        let in_order = self.for_tool(spec);
        let mut also: Vec<&str> = Vec::new();
        let mut given: Vec<Given> = Vec::new();
        // a flag may be what another key needs: flags come first
        for flags in [true, false] {
            for setting in in_order.iter().filter(|s| s.given.value.is_none() == flags) {
                let Some(option) = spec.find(setting.given.option.long) else { continue };
                let is_list = option.long == WEIGHTS.shape.long;
                if (typed(option.long) && !is_list) || !fits(option) || !is_met(setting.needs, &also) {
                    continue;
                }
                if !is_list {
                    given.retain(|earlier| *earlier.option != *option);
                    also.retain(|long| *long != option.long);
                }
                if setting.on {
                    given.push(Given::named(option, setting.given.value.clone()));
                    also.push(option.long);
                }
            }
        }
        given
    }

    /// The settings that could hold for a tool, the last of an option the one that does.
    fn for_tool(&self, spec: &dyn Program) -> Vec<&ConfigSetting> {
        let mut files: Vec<&Path> =
            self.settings.iter().map(|setting| setting.origin.file.as_path()).collect();
        files.dedup();
        let own = |setting: &&ConfigSetting| matches!(setting.scope, SettingScope::Tool(tool) if tool.name() == spec.name());
        let of_all = |setting: &&ConfigSetting| matches!(setting.scope, SettingScope::All);
        let of_file = |file: &&Path| {
            let here = |setting: &&ConfigSetting| setting.origin.file == **file;
            let all = self.settings.iter().filter(here).filter(of_all);
            all.chain(self.settings.iter().filter(here).filter(own)).collect::<Vec<_>>()
        };
        files.iter().flat_map(of_file).collect()
    }

    /// For each setting, the tools in which it holds, unless something else is typed: none if a later one wins.
    pub(super) fn reaches<'s>(
        &'s self,
        tools: &[&'static dyn Program],
    ) -> Vec<(&'s ConfigSetting, Vec<&'static str>)> {
        let mut reached: BTreeMap<usize, Vec<&'static str>> = BTreeMap::new();
        for spec in tools {
            let mut last: BTreeMap<String, usize> = BTreeMap::new();
            for setting in self.for_tool(*spec) {
                let at = self.settings.iter().position(|other| std::ptr::eq(other, setting));
                let has = spec.find(setting.given.option.long).is_some();
                // of weights each metric is one
                let key = if setting.given.option.long == WEIGHTS.shape.long {
                    setting.name.clone()
                } else {
                    setting.given.option.long.to_owned()
                };
                if let Some(at) = at.filter(|_| has) {
                    last.insert(key, at);
                }
            }
            for at in last.into_values() {
                reached.entry(at).or_default().push(spec.name());
            }
        }
        let with_tools = |(at, setting)| (setting, reached.remove(&at).unwrap_or_default());
        self.settings.iter().enumerate().map(with_tools).collect()
    }
}

#[cfg(test)]
mod tests;
