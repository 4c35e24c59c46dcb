//! Credentials and trust for access to a cluster's RAPI.

use std::path::PathBuf;

use super::Address;
use super::certificates::Trusted;
use super::credentials::{VARIABLES, choose, read_environment, read_file};
use super::secret::Credentials;
use crate::input::error::Result;
use htools_model::shown::printable;

/// Options for credentials and trusted certificates, and permission to send passwords unencrypted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessOptions {
    /// `--rapi-credentials`: users and their passwords.
    pub credentials: Option<PathBuf>,
    /// `--rapi-cacert`: trusted certificates; without it, any certificate is accepted.
    pub certificates: Option<PathBuf>,
    /// `--insecure-http`: passwords may be sent to other hosts in plain text.
    pub insecure_http: bool,
}

/// Credentials, and the servers that are trusted.
#[derive(Debug, Clone, Default)]
pub struct Access {
    file: Option<(PathBuf, Vec<Credentials>)>,
    environment: Option<Credentials>,
    trusted: Option<Trusted>,
    insecure_http: bool,
}

impl Access {
    /// Reads the files and the environment, as far as these addresses need them. User and password in a URL take
    /// precedence over the file, and the file over the environment.
    ///
    /// # Errors
    /// Faults of the files or the variables. No text contains a password.
    pub fn read(files: &AccessOptions, addresses: &[Address]) -> Result<Access> {
        let mut access = Access::of_files(files, addresses)?;
        if files.credentials.is_none() && addresses.iter().any(Address::lacks_password) {
            access.environment = read_environment(|name| std::env::var_os(name))?;
        }
        Ok(access)
    }

    /// Reads the files, as far as these addresses need them. The environment, which is for RAPI, is not used.
    ///
    /// # Errors
    /// Faults of the files. No text contains a password.
    pub fn of_files(files: &AccessOptions, addresses: &[Address]) -> Result<Access> {
        let mut access = Access { insecure_http: files.insecure_http, ..Access::default() };
        if let Some(path) = &files.credentials
            && addresses.iter().any(Address::lacks_password)
        {
            access.file = Some((path.clone(), read_file(path)?));
        }
        if let Some(path) = &files.certificates
            && addresses.iter().any(Address::is_https)
        {
            access.trusted = Some(Trusted::read(path)?);
        }
        Ok(access)
    }

    /// The credentials for an address.
    ///
    /// # Errors
    /// If the address names a user that the file does not have.
    pub(super) fn credentials(&self, address: &Address) -> Result<Option<Credentials>> {
        let login = address.login();
        let named = match &login {
            Some((_, Some(_))) | None => None,
            Some((user, None)) => Some(user.as_str()),
        };
        if let Some((user, Some(password))) = login {
            return Ok(Some(Credentials { user, password }));
        }
        if let Some((path, users)) = &self.file {
            return choose(users, named, path).cloned().map(Some);
        }
        Ok(self.environment.clone().filter(|known| named.is_none_or(|user| user == known.user)))
    }

    /// Tells if passwords may be sent to other hosts in plain text.
    pub(super) fn allows_insecure_http(&self) -> bool {
        self.insecure_http
    }

    /// The trusted certificates, if there are any.
    pub(super) fn trusted(&self) -> Option<&Trusted> {
        self.trusted.as_ref()
    }

    /// Security warnings for these addresses: a password that others can see, and, if `certificates` is set, that any
    /// server is trusted.
    pub fn warnings(&self, addresses: &[Address], certificates: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        if addresses.iter().any(Address::holds_password) {
            warnings.push(
                "others on this machine can see the password in the address in the list of processes; \
                 use --rapi-credentials FILE"
                    .to_owned(),
            );
        }
        let known = |address: &&Address| matches!(self.credentials(address), Ok(Some(_)));
        if let Some(address) = addresses.iter().filter(|address| address.is_overheard()).find(known) {
            warnings.push(format!(
                "the password for {} is sent as plain text, which others in the network can read; use https://",
                printable(&address.host(), 100)
            ));
        }
        if certificates && self.trusted.is_none() {
            let hosts: Vec<String> = addresses.iter().filter(|a| a.is_https()).map(Address::host).collect();
            match hosts.as_slice() {
                [] => {}
                [host] => warnings.push(format!(
                    "the certificate of {} is not verified; --rapi-cacert FILE pins it",
                    printable(host, 100)
                )),
                [host, others @ ..] => warnings.push(format!(
                    "the certificates of {} and {} more are not verified; --rapi-cacert FILE pins them",
                    printable(host, 100),
                    others.len()
                )),
            }
        }
        warnings
    }
}

/// The first environment variable with credentials that is set.
pub fn variable_in_use() -> Option<&'static str> {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    VARIABLES.into_iter().find(is_set)
}
