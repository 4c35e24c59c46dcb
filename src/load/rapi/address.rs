//! Where a cluster's RAPI is, and what may be shown of it.

use std::ffi::OsStr;
use std::fmt;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use reqwest::Url;

use super::secret::Secret;

/// What a directory's address begins with.
const DIRECTORY: &str = "file://";
/// The port of RAPI.
const PORT: u16 = 5080;

/// The address of a cluster's RAPI.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    typed: String,
    place: Place,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.shown()).finish()
    }
}

/// Where the answers come from.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
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

    /// Whether it is a directory with answers, and not a server.
    pub fn is_directory(&self) -> bool {
        matches!(self.place, Place::Directory(_))
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The user in the URL, and the password if there is one.
    pub(super) fn login(&self) -> Option<(String, Option<Secret>)> {
        let url = self.url()?;
        let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let password = url.password().filter(|password| !password.is_empty());
        let password = password.map(|password| Secret::new(plain(password)));
        (!url.username().is_empty() || password.is_some()).then(|| (plain(url.username()), password))
    }

    /// Whether user and password have to come from elsewhere.
    pub(super) fn lacks_password(&self) -> bool {
        matches!(self.place, Place::Url(_)) && !self.holds_password()
    }

    /// Whether the password is in the URL.
    pub(super) fn holds_password(&self) -> bool {
        matches!(self.login(), Some((_, Some(_))))
    }

    /// Whether there is a certificate to look at.
    pub(super) fn is_https(&self) -> bool {
        self.url().is_some_and(|url| url.scheme() == "https")
    }

    /// Whether what is sent can be read on its way: over HTTP, and to another machine.
    pub(super) fn is_overheard(&self) -> bool {
        self.url().is_some_and(|url| {
            let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
            let here = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
            url.scheme() == "http" && !here
        })
    }

    /// The host in the URL.
    pub(super) fn host(&self) -> String {
        self.url().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_else(|| self.bare())
    }

    fn url(&self) -> Option<Url> {
        match &self.place {
            Place::Directory(_) => None,
            Place::Url(prefix) => Url::parse(prefix).ok(),
        }
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
    fn who_can_read_passwords_on_their_way() {
        let overheard = |word: &str| Address::new(OsStr::new(word)).is_overheard();
        for word in ["host:8080", "http://host", "http://u:p@192.0.2.1:5080", "http://[2001:db8::1]:1"] {
            assert!(overheard(word), "{word}");
        }
        for word in
            ["host", "https://host", "127.0.0.1:80", "http://localhost:1", "http://[::1]:1", "file://d"]
        {
            assert!(!overheard(word), "{word}");
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
    fn who_asks() {
        let login = |word: &str| Address::new(OsStr::new(word)).login();
        let secret = |text: &str| Some(Secret::new(text));
        assert_eq!(login("https://u:p@h:1"), Some(("u".into(), secret("p"))));
        assert_eq!(login("https://u%40x:p%2Fw%C3%A9@h"), Some(("u@x".into(), secret("p/wé"))));
        for word in ["https://u@h", "https://u:@h", "u@h"] {
            assert_eq!(login(word), Some(("u".into(), None)), "{word}");
        }
        for word in ["h", "file://u:p@h", "http://[h"] {
            assert_eq!(login(word), None, "{word}");
        }
        let shown = format!("{:?}", Address::new(OsStr::new("https://u:p@h:1")));
        assert_eq!(shown, "Address(\"https://u:***@h:1\")");
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
