//! Configuration files: defaults for options, and names of clusters. docs/configuration.md describes them for users.
//!
//! A key is the long name of an option, and has its values, ranges and errors. The settings are applied like options
//! before those of the command line. The rest of a tool does not depend on the files.

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
use super::hint::{Complaint, WithHint, remedy_of};
use super::options::SourceOptions;
use super::options::catalogue::{MASTER, NO_CONFIG, WEIGHTS};
use crate::input::LoadError;
use crate::input::encoding::decode;
use crate::input::local::{Readers, read_regular};
use crate::model::shown::{shown_name, shown_source};

/// Maximum size of a file, in bytes.
const SIZE: u64 = 1 << 20;

/// An error in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {problem}", shown_source(&.file.to_string_lossy()), .line.map(|line| format!(", line {line}")).unwrap_or_default())]
pub(super) struct ConfigError {
    pub file: PathBuf,
    /// Line number from 1; none if the error concerns the whole file.
    pub line: Option<usize>,
    pub problem: String,
    pub hint: Option<String>,
}

impl ConfigError {
    /// The error for a person.
    pub(super) fn complaint(&self) -> Complaint {
        Complaint::new(self.to_string()).with_hint(self.hint.clone())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingOrigin {
    pub file: PathBuf,
    pub line: usize,
}

/// Tools to which a setting applies.
#[derive(Clone, Copy)]
pub(super) enum SettingScope {
    All,
    Tool(&'static dyn Program),
}

#[derive(Clone)]
pub(super) struct ConfigSetting {
    /// Section and key.
    pub name: String,
    pub scope: SettingScope,
    /// The option, as if it were on the command line.
    pub given: Given,
    /// False if the file sets a flag to false.
    pub is_set: bool,
    pub needs: KeyNeeds,
    pub origin: SettingOrigin,
}

/// A cluster that the configuration gives a name, for `-m @NAME`.
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

/// Contents of the configuration files. Later files override earlier ones.
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

    /// Makes `source` name this cluster. Credentials and certificates that `source` already has are kept.
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

/// Paths of possible configuration files, from the environment.
pub(super) fn places(system_only: bool) -> Vec<ConfigPlace> {
    files::places(&files::ConfigVariables::now(), system_only)
}

/// Reads one file. Returns none if it does not exist and is optional.
///
/// # Errors
/// All errors in the file.
fn read_file(place: &ConfigPlace) -> Result<Option<Configuration>, Vec<ConfigError>> {
    if !place.named && !place.path.exists() {
        return Ok(None);
    }
    let wrong = |error: LoadError| {
        let hint = error.cause.map(|cause| remedy_of(cause).to_owned());
        vec![ConfigError { file: place.path.clone(), line: None, problem: error.problem, hint }]
    };
    let bytes = read_regular(&place.path, SIZE, Readers::AnyoneNoWriters).map_err(wrong)?;
    let text = decode(&bytes, "").map_err(wrong)?;
    read::read(&place.path, text).map(Some)
}

/// Reads all files and combines their contents.
///
/// # Errors
/// All errors in the files.
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

/// Reads the configuration for a program. It is empty if the program has neither `--no-config` nor `--master`.
///
/// # Errors
/// The first error in the files.
pub(super) fn of_program(program: &dyn Program) -> Result<Configuration, ConfigError> {
    if [NO_CONFIG.long, MASTER.shape.long].iter().all(|long| program.find(long).is_none()) {
        return Ok(Configuration::default());
    }
    load(&places(program.name() == hail::SPEC.name)).map_err(|mut problems| problems.swap_remove(0))
}

impl Configuration {
    /// Replaces `@NAME` as the address in `source` by the cluster of that name.
    ///
    /// # Errors
    /// If there is no such cluster.
    pub(super) fn resolve(&self, source: &mut SourceOptions) -> Result<(), Complaint> {
        let Some(name) = source.rapi.as_deref().and_then(|address| address.strip_prefix('@')) else {
            return Ok(());
        };
        let Some(cluster) = self.clusters.iter().find(|cluster| cluster.name == name) else {
            let meant = did_you_mean(name, self.clusters.iter().map(|cluster| cluster.name.as_str()));
            let name = shown_name(name);
            return Err(Complaint::new(format!("there is no cluster '{name}' in the configuration{meant}"))
                .hint("htools config show lists the clusters"));
        };
        cluster.becomes(source);
        Ok(())
    }

    /// Returns the options from the files that take effect for `commands` of a tool, with `words` as the command line.
    ///
    /// Flags come first. Within flags and other options, later files follow earlier ones, and the tool's own section
    /// follows the common ones. With `--no-config` there are none.
    pub(super) fn given(&self, spec: &dyn Program, words: &Canonical, commands: [&str; 2]) -> Vec<Given> {
        let typed = |long: &str| words.options.iter().any(|given| given.option.long == long);
        if typed(NO_CONFIG.long) {
            return Vec::new();
        }
        let is_met = |needs: KeyNeeds, also: &[&str]| match needs {
            KeyNeeds::Nothing => true,
            KeyNeeds::NoneOf(longs) => !longs.iter().any(|long| typed(long)),
            KeyNeeds::ChosenBy { by, others } => match spec.find(by) {
                Some(_) => typed(by),
                None => !others.iter().any(|long| typed(long)),
            },
            KeyNeeds::OneOf(longs) => {
                let has = |long: &&str| spec.find(long).is_some();
                longs.iter().any(|long| typed(long) || also.contains(long)) || !longs.iter().any(has)
            }
        };
        let fits = |option: &dyn OptionRow| commands.iter().any(|command| option.is_of(command));
        let in_order = self.for_tool(spec);
        let mut also: Vec<&str> = Vec::new();
        let mut given: Vec<Given> = Vec::new();
        // flags come first, because other keys may need a flag
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
                if setting.is_set {
                    given.push(Given::named(option, setting.given.value.clone()));
                    also.push(option.long);
                }
            }
        }
        given
    }

    /// Settings that apply to a tool. The last one of an option takes effect.
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

    /// Returns each setting with the tools in which it takes effect unless the command line overrides it.
    ///
    /// The list of tools is empty if later settings override it in all of them.
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
                // each weight is a setting of its own
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
