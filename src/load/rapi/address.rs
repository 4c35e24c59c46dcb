//! Where a cluster's RAPI is, and what may be shown of it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What a directory's address begins with.
const DIRECTORY: &str = "file://";
/// The port of RAPI.
const PORT: u16 = 5080;

/// The address of a cluster's RAPI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    typed: String,
    place: Place,
}

/// Where the answers come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A directory with `groups.json`, `nodes.json`, `instances.json`, `info.json`.
    Directory(PathBuf),
    /// What all URLs begin with. May hold a password, hence is not shown.
    Url(String),
}

impl Address {
    /// What a word means: `file://DIR` is a directory; what holds a colon is a URL,
    /// of plain HTTP if it does not say; anything else is a host, asked by HTTPS
    /// at the usual port.
    pub fn new(word: &OsStr) -> Address {
        let typed = word.to_string_lossy().into_owned();
        let place = match word.as_bytes().strip_prefix(DIRECTORY.as_bytes()) {
            Some(path) => Place::Directory(OsStr::from_bytes(path).into()),
            None if typed.contains("://") => Place::Url(typed.clone()),
            None if typed.contains(':') => Place::Url(format!("http://{typed}")),
            None => Place::Url(format!("https://{typed}:{PORT}")),
        };
        Address { typed, place }
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The address as typed, with `***` for a password.
    pub fn shown(&self) -> String {
        match self.place {
            Place::Directory(_) => self.typed.clone(),
            Place::Url(_) => without_password(&self.typed),
        }
    }

    /// The address as typed, without user and password.
    pub fn bare(&self) -> String {
        match self.place {
            Place::Directory(_) => self.typed.clone(),
            Place::Url(_) => without_user(&self.typed),
        }
    }
}

/// An address or URL with `***` for a password. Everything up to the last `@` may
/// belong to it, as people type slashes in passwords as they are.
pub(super) fn without_password(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    let Some(end) = url[start..].rfind('@') else { return url.to_owned() };
    match url[start..start + end].split_once(':') {
        Some((user, _)) => format!("{}{user}:***{}", &url[..start], &url[start + end..]),
        None => url.to_owned(),
    }
}

/// An address without user and password.
fn without_user(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    match url[start..].rfind('@') {
        Some(end) => format!("{}{}", &url[..start], &url[start + end + 1..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(word: &str) -> Place {
        Address::new(OsStr::new(word)).place
    }

    fn url(word: &str) -> String {
        match place(word) {
            Place::Url(url) => url,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn hosts_and_urls() {
        assert_eq!(url("master.example.com"), "https://master.example.com:5080");
        assert_eq!(url("127.0.0.1:8080"), "http://127.0.0.1:8080");
        assert_eq!(url("https://[::1]:5080"), "https://[::1]:5080");
        assert_eq!(url("http://h/"), "http://h/");
        assert_eq!(url("u@h"), "https://u@h:5080");
    }

    #[test]
    fn directories() {
        for (word, path) in [("file://a/b", "a/b"), ("file:///a:b@c", "/a:b@c"), ("file://", "")] {
            assert_eq!(place(word), Place::Directory(path.into()));
            assert_eq!(Address::new(OsStr::new(word)).shown(), word);
            assert_eq!(Address::new(OsStr::new(word)).bare(), word);
        }
    }

    #[test]
    fn passwords_are_hidden() {
        for (typed, shown, bare) in [
            ("http://u:pw@h:1", "http://u:***@h:1", "http://h:1"),
            ("https://u:p@w/x@h:1/2", "https://u:***@h:1/2", "https://h:1/2"),
            ("u:pw@h:1", "u:***@h:1", "h:1"),
            ("http://u@h", "http://u@h", "http://h"),
            ("http://h:1", "http://h:1", "http://h:1"),
            ("foo://:pw@", "foo://:***@", "foo://"),
        ] {
            assert_eq!(without_password(typed), shown);
            assert_eq!(without_user(typed), bare);
        }
    }
}
