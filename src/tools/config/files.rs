//! Locations of the configuration files.

use std::ffi::OsString;
use std::path::PathBuf;

/// The system's file.
pub(super) const SYSTEM: &str = "/etc/htools.toml";
/// Name of the user's file in the configuration directory.
const NAME: &str = "htools.toml";

/// Environment variables that locate the files.
#[derive(Debug, Default)]
pub(super) struct ConfigVariables {
    /// The only file to read; empty to read none.
    named: Option<OsString>,
    directory: Option<OsString>,
    home: Option<OsString>,
}

impl ConfigVariables {
    /// The variables of this process.
    pub(super) fn now() -> ConfigVariables {
        ConfigVariables {
            named: std::env::var_os("HTOOLS_CONFIG"),
            directory: std::env::var_os("XDG_CONFIG_HOME"),
            home: std::env::var_os("HOME"),
        }
    }
}

/// A path where a configuration file is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigPlace {
    pub path: PathBuf,
    /// True if the user named the file, so that it must exist.
    pub named: bool,
}

/// The files in the order of reading; later ones win. `system_only` leaves the user's file out.
pub(super) fn places(variables: &ConfigVariables, system_only: bool) -> Vec<ConfigPlace> {
    if let Some(path) = &variables.named {
        let named = ConfigPlace { path: path.into(), named: true };
        return if named.path.as_os_str().is_empty() { Vec::new() } else { vec![named] };
    }
    let absolute =
        |path: &Option<OsString>| path.clone().map(PathBuf::from).filter(|path| path.is_absolute());
    let user = || {
        absolute(&variables.directory).or_else(|| absolute(&variables.home).map(|home| home.join(".config")))
    };
    let user = if system_only { None } else { user().map(|directory| directory.join(NAME)) };
    let unnamed = |path: PathBuf| ConfigPlace { path, named: false };
    [Some(SYSTEM.into()), user].into_iter().flatten().map(unnamed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(
        named: Option<&str>,
        directory: Option<&str>,
        home: Option<&str>,
        system_only: bool,
    ) -> Vec<String> {
        let [named, directory, home] = [named, directory, home].map(|text| text.map(OsString::from));
        let variables = ConfigVariables { named, directory, home };
        places(&variables, system_only).into_iter().map(|place| place.path.display().to_string()).collect()
    }

    #[test]
    fn the_users_file_comes_last() {
        assert_eq!(paths(None, None, None, false), [SYSTEM]);
        assert_eq!(paths(None, None, Some("/h"), false), [SYSTEM, "/h/.config/htools.toml"]);
        assert_eq!(paths(None, None, Some("/h"), true), [SYSTEM]);
        assert_eq!(paths(None, Some("/x"), Some("/h"), false), [SYSTEM, "/x/htools.toml"]);
        assert_eq!(paths(None, Some("x"), Some("/h"), false), [SYSTEM, "/h/.config/htools.toml"]);
        assert_eq!(paths(Some("f"), None, Some("/h"), true), ["f"]);
        assert_eq!(paths(Some(""), None, Some("/h"), false), [""; 0]);
    }
}
