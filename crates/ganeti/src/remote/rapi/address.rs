//! Addresses of a cluster's RAPI, and their form in messages.

use std::ffi::OsStr;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use reqwest::Url;

use super::secret::Secret;

/// Prefix of a directory's address.
const DIRECTORY: &str = "file://";
/// Default port of RAPI.
const PORT: u16 = 5080;

/// The address of a cluster's RAPI.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    typed: String,
    place: AnswerSource,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.shown()).finish()
    }
}

/// Source of the answers.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(crate) enum AnswerSource {
    /// A directory with `groups.json`, `nodes.json`, `instances.json`, `info.json`.
    Directory(PathBuf),
    /// Prefix of all URLs. It may contain a password, so it is never shown.
    Url(String),
}

impl Address {
    /// Reads an address. `file://DIR` is a directory. A word with a colon is a URL, of plain HTTP unless it names a
    /// scheme. Any other word is a host, asked by HTTPS at the default port.
    pub fn new(word: &OsStr) -> Address {
        let typed = word.to_string_lossy().into_owned();
        let place = match word.as_bytes().strip_prefix(DIRECTORY.as_bytes()) {
            Some(path) => AnswerSource::Directory(OsStr::from_bytes(path).into()),
            None if typed.contains("://") => AnswerSource::Url(typed.clone()),
            None if typed.contains(':') => AnswerSource::Url(format!("http://{typed}")),
            None => AnswerSource::Url(format!("https://{typed}:{PORT}")),
        };
        Address { typed, place }
    }

    /// Tells if it is a directory with answers, not a server.
    pub fn is_directory(&self) -> bool {
        matches!(self.place, AnswerSource::Directory(_))
    }

    pub(crate) fn place(&self) -> &AnswerSource {
        &self.place
    }

    /// The user in the URL, and the password if there is one. A user name has no colon: a colon typed as `%3A`
    /// separates the password, as it does on the way to the server.
    pub(super) fn login(&self) -> Option<(String, Option<Secret>)> {
        let url = self.url()?;
        let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let password = url.password().filter(|password| !password.is_empty()).map(plain);
        let user = plain(url.username());
        let (user, password) = match (user.split_once(':'), password) {
            (None, password) => (user, password),
            (Some((user, rest)), None) => (user.to_owned(), Some(rest.to_owned())),
            (Some((user, rest)), Some(password)) => (user.to_owned(), Some(format!("{rest}:{password}"))),
        };
        let password = password.map(Secret::new);
        (!user.is_empty() || password.is_some()).then_some((user, password))
    }

    /// Tells if user and password must come from elsewhere.
    pub(super) fn lacks_password(&self) -> bool {
        matches!(self.place, AnswerSource::Url(_)) && !self.holds_password()
    }

    /// Tells if the password is in the URL.
    pub fn holds_password(&self) -> bool {
        matches!(self.login(), Some((_, Some(_))))
    }

    /// Tells if the server has a certificate to check.
    pub(super) fn is_https(&self) -> bool {
        self.url().is_some_and(|url| url.scheme() == "https")
    }

    /// Tells if others can read the traffic: over HTTP, and to another machine.
    pub(super) fn is_overheard(&self) -> bool {
        self.url().is_some_and(|url| {
            let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
            let here = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
            url.scheme() == "http" && !here
        })
    }

    /// The host to connect to, which is never a part of the password.
    pub(super) fn host(&self) -> String {
        let bare = self.bare();
        Address::new(OsStr::new(&bare)).url_host().unwrap_or(bare)
    }

    /// Tells if the password contains a slash or the like, which ends the host part of the URL too early. A part of the
    /// password would then be looked up as a host name.
    pub(super) fn has_password_for_host(&self) -> bool {
        self.url_host().is_some_and(|host| host != self.host())
    }

    fn url_host(&self) -> Option<String> {
        self.url().and_then(|url| url.host_str().map(str::to_owned))
    }

    fn url(&self) -> Option<Url> {
        match &self.place {
            AnswerSource::Directory(_) => None,
            AnswerSource::Url(prefix) => {
                Url::parse(prefix).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
            }
        }
    }

    /// The address as typed, with `***` for a password.
    pub fn shown(&self) -> String {
        match self.place {
            AnswerSource::Directory(_) => self.typed.clone(),
            AnswerSource::Url(_) => without_password(&self.typed),
        }
    }

    /// Tells if another address means the same cluster, perhaps with another user.
    pub fn is_same(&self, other: &Address) -> bool {
        match (&self.place, &other.place) {
            (AnswerSource::Url(_), AnswerSource::Url(_)) => self.bare() == other.bare(),
            (one, other) => one == other,
        }
    }

    /// The address as typed, without user and password.
    pub fn bare(&self) -> String {
        match self.place {
            AnswerSource::Directory(_) => self.typed.clone(),
            AnswerSource::Url(_) => without_user(&self.typed),
        }
    }
}

/// An address or URL with `***` for a password. Everything up to the last `@` may belong to the password, as people
/// type slashes in passwords unencoded. Without an `@`, text after a colon that is not a port is a password whose host
/// was forgotten.
pub(super) fn without_password(url: &str) -> String {
    let (scheme, rest) = split_scheme(url);
    match (rest.rfind('@'), split_secret(rest)) {
        (_, None) => url.to_owned(),
        (Some(end), Some(user)) => format!("{scheme}{user}:***{}", &rest[end..]),
        (None, Some(user)) => format!("{scheme}{user}:***"),
    }
}

/// An address without user and password.
fn without_user(url: &str) -> String {
    let (scheme, rest) = split_scheme(url);
    match (rest.rfind('@'), split_secret(rest)) {
        (Some(end), _) => format!("{scheme}{}", &rest[end + 1..]),
        (None, Some(user)) => format!("{scheme}{user}"),
        (None, None) => url.to_owned(),
    }
}

/// The scheme of a URL, if it can be used; any other word before a colon may be a user.
fn split_scheme(url: &str) -> (&str, &str) {
    let known = ["http://", "https://"]
        .into_iter()
        .find(|scheme| url.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme)));
    url.split_at(known.map_or(0, str::len))
}

/// The part of an address without scheme before the colon and the password; `None` if there is no password.
fn split_secret(rest: &str) -> Option<&str> {
    if let Some(end) = rest.rfind('@') {
        return before_colon(&rest[..end]).map(|(user, _)| user);
    }
    let host = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    if host.len() == rest.len() && host.parse::<Ipv6Addr>().is_ok() {
        return None;
    }
    let brackets = host.strip_prefix('[').and_then(|inner| inner.find(']')).map_or(0, |at| at + 2);
    let (before, port) = before_colon(&host[brackets..])?;
    // An empty port is valid only at the end of the address.
    let is_port =
        port.bytes().all(|byte| byte.is_ascii_digit()) && !(port.is_empty() && host.len() < rest.len());
    (!is_port).then(|| &host[..brackets + before.len()])
}

/// The user name for messages: the part of an address before any password.
pub(super) fn shown_user(user: &str) -> &str {
    before_colon(user).map_or(user, |(user, _)| user)
}

/// The parts of a text before and after its first colon. The colon may be percent-encoded (`%3A`), even repeatedly
/// (`%253A`).
fn before_colon(text: &str) -> Option<(&str, &str)> {
    text.char_indices().find_map(|(at, _)| colon(&text[at..]).map(|rest| (&text[..at], rest)))
}

/// The rest of a text after a colon at its beginning.
fn colon(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix(':') {
        return Some(rest);
    }
    let mut code = text.strip_prefix('%')?;
    while let Some(rest) = code.strip_prefix("25") {
        code = rest;
    }
    code.strip_prefix("3A").or_else(|| code.strip_prefix("3a"))
}

#[cfg(test)]
mod tests {
    use super::super::{Access, FetchLimits, Session};
    use super::*;

    fn place(word: &str) -> AnswerSource {
        Address::new(OsStr::new(word)).place
    }

    fn url(word: &str) -> String {
        match place(word) {
            AnswerSource::Url(url) => url,
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
            assert_eq!(place(word), AnswerSource::Directory(path.into()));
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
        assert_eq!(login("https://u%3ap@h"), Some(("u".into(), secret("p"))));
        assert_eq!(login("https://u%3Ap:q@h"), Some(("u".into(), secret("p:q"))));
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
    fn no_part_of_a_password_is_a_host() {
        let host = |word: &str| {
            let address = Address::new(OsStr::new(word));
            (address.host(), address.has_password_for_host())
        };
        for (word, name) in
            [("https://u:p@w/x@h:1/2", "h"), (":@p/@", ""), ("u:1?@h", "h"), (r"u:p@w\x@h", "h")]
        {
            assert_eq!(host(word), (name.to_owned(), true), "{word}");
        }
        for (word, name) in
            [("https://u:p@w@h:1/2", "h"), ("HTTP://u:p%2F@H", "h"), ("h", "h"), ("[::1]:1", "[::1]")]
        {
            assert_eq!(host(word), (name.to_owned(), false), "{word}");
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
            // Other words than http and https are no schemes.
            ("foo://:pw@", "foo:***@", ""),
            ("us:p://w@h", "us:***@h", "h"),
            ("HTTPS://us:pw@h", "HTTPS://us:***@h", "HTTPS://h"),
            ("us%3Apw@h", "us:***@h", "h"),
            ("https://us%253apw@h:1", "https://us:***@h:1", "https://h:1"),
            // The host was forgotten.
            ("us:pw", "us:***", "us"),
            ("us:pw@", "us:***@", ""),
            ("us%3Apw", "us:***", "us"),
            ("http://us:5080pw/x", "http://us:***", "http://us"),
            ("us:p/w", "us:***", "us"),
            ("us:/pw", "us:***", "us"),
            ("h:5080/2/x%3Ay", "h:5080/2/x%3Ay", "h:5080/2/x%3Ay"),
            ("[::1]:5080", "[::1]:5080", "[::1]:5080"),
            ("[::1]:pw", "[::1]:***", "[::1]"),
            ("2001:db8::1", "2001:db8::1", "2001:db8::1"),
            ("/2/x:y", "/2/x:y", "/2/x:y"),
            ("%", "%", "%"),
        ] {
            assert_eq!(without_password(typed), shown);
            assert_eq!(without_user(typed), bare);
        }
    }

    /// A text, and the same with some or all of its characters encoded.
    fn spellings(text: &str) -> [String; 3] {
        let all: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let some = percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
        [text.to_owned(), some.to_string(), all]
    }

    proptest::proptest! {
        #[test]
        fn no_spelling_shows_a_password(
            user in "[a-z0-9._-]{0,6}",
            before in "[ -~é]{0,4}",
            behind in "[ -~é]{0,4}",
            scheme in proptest::sample::select(vec!["", "http://", "https://", "HTTP://", "foo://", " https://"]),
            colon in proptest::sample::select(vec![":", "%3A", "%3a", "%253A"]),
            end in proptest::sample::select(vec!["", "@", "@h", "@h:5080", "@[::1]:1/x", "/", "?"]),
        ) {
            // A text that could be a port, or precede a host, was not meant as a password.
            let end_of_port = before.find(|c: char| !c.is_ascii_digit());
            let port = end_of_port.is_some_and(|at| at > 0 && before[at..].starts_with(['/', '?', '#']));
            proptest::prop_assume!(end.starts_with('@') || !(port || before.contains('@')));
            for password in spellings(&format!("{before}S3CR3T{behind}")) {
                let address = Address::new(OsStr::new(&format!("{scheme}{user}{colon}{password}{end}")));
                let login = address.login().map(|(user, _)| shown_user(&user).to_owned());
                let session = Session::new(&address, &Access::default(), FetchLimits::default());
                let called = session.as_ref().ok().map(|session| session.source("x", &[]));
                let texts = [address.shown(), address.bare(), address.host(), format!("{address:?} {login:?}")];
                let session = format!("{session:?} {called:?}");
                for text in texts.iter().chain([&session]) {
                    let whole = percent_decode_str(text).decode_utf8_lossy().to_uppercase();
                    proptest::prop_assert!(!whole.contains("S3CR3T"), "{}: {}", address.typed, text);
                }
            }
        }
    }
}
