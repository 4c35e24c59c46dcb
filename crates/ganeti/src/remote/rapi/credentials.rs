//! User and password from a file or the environment, if they are not in the address.

use std::ffi::OsString;
use std::path::Path;

use super::address::shown_user;
use super::secret::{Credentials, Secret};
use crate::input::encoding::decode;
use crate::input::error::{LoadError, Result};
use crate::input::local::{Readers, read_regular};
use htools_model::shown::{printable, shown_source};

/// Environment variable with the user's name.
const USER: &str = "GANETI_RAPI_USER";
/// Environment variable with the password.
const PASSWORD: &str = "GANETI_RAPI_PASSWORD";
/// Environment variables with credentials, which are withheld from programs that are started.
pub(crate) const VARIABLES: [&str; 2] = [USER, PASSWORD];
/// Maximum size of a file in bytes.
const SIZE: u64 = 1 << 20;

/// Reads the users from a file that only its owner may read. A line is `USER:PASSWORD`, or has the format of Ganeti's
/// own file of RAPI users: `USER PASSWORD [OPTIONS]`.
///
/// # Errors
/// If others may read the file, it is not a regular file, or it has no usable line.
pub(super) fn read_file(path: &Path) -> Result<Vec<Credentials>> {
    let source = path.to_string_lossy();
    let bytes = read_regular(path, SIZE, Readers::OwnerOnly)?;
    // Text that is not UTF-8 may be a password, so only its line is named.
    let text = decode(&bytes, &source).map_err(|e| LoadError::new(e.place, "not UTF-8 text"))?;
    read_lines(text, &source)
}

/// The usable credentials, in the order of the lines.
fn read_lines(text: &str, source: &str) -> Result<Vec<Credentials>> {
    let mut found = Vec::new();
    let mut first_problem = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match read_line(line) {
            Ok(credentials) => found.push(credentials),
            Err(problem) => {
                let place = format!("{}, line {}", shown_source(source), at + 1);
                first_problem.get_or_insert_with(|| LoadError::one_line(&place, problem));
            }
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    Err(first_problem.unwrap_or_else(|| LoadError::one_line(&shown_source(source), "no line with a user")))
}

/// The user in a line. In Ganeti's format a blank ends the name, so a colon after it does not. In the other format
/// everything after the first colon is the password.
fn read_line(line: &str) -> std::result::Result<Credentials, &'static str> {
    let blank = line.find([' ', '\t']).unwrap_or(line.len());
    let (user, password) = match line.find(':').filter(|colon| *colon < blank) {
        Some(colon) => (&line[..colon], &line[colon + 1..]),
        None => (&line[..blank], ganeti_password(line[blank..].trim_start())?),
    };
    if user.is_empty() {
        return Err("no user before the password");
    }
    if password.is_empty() {
        return Err("no password after the user");
    }
    Ok(Credentials { user: user.to_owned(), password: Secret::new(password) })
}

/// The password before the options; a prefix in braces may state its format.
fn ganeti_password(rest: &str) -> std::result::Result<&str, &'static str> {
    let word = rest.split([' ', '\t']).next().unwrap_or_default();
    let Some((form, password)) = word.strip_prefix('{').and_then(|word| word.split_once('}')) else {
        return Ok(word);
    };
    match form.to_ascii_lowercase().as_str() {
        "cleartext" => Ok(password),
        "ha1" => Err("the password is only a hash ({HA1}), which cannot be used to log in"),
        _ => Err("the form of the password is unknown; known are {cleartext} and {HA1}"),
    }
}

/// The credentials in the environment; an empty variable counts as unset.
///
/// # Errors
/// If only one of the two variables is set.
pub(super) fn read_environment(variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<Credentials>> {
    let text = |name: &str| match variable(name).filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(value) => value
            .into_string()
            .map(Some)
            .map_err(|_| LoadError::new("environment", format!("{name} is not UTF-8 text"))),
    };
    match (text(USER)?, text(PASSWORD)?) {
        (None, None) => Ok(None),
        (Some(user), Some(password)) => Ok(Some(Credentials { user, password: Secret::new(password) })),
        (Some(_), None) => Err(LoadError::new("environment", format!("{USER} is set, {PASSWORD} is not"))),
        (None, Some(_)) => Err(LoadError::new("environment", format!("{PASSWORD} is set, {USER} is not"))),
    }
}

/// The first user with a name, or the first of all if no name is given.
pub(super) fn choose<'c>(
    users: &'c [Credentials],
    wanted: Option<&str>,
    source: &Path,
) -> Result<&'c Credentials> {
    let found = users.iter().find(|one| wanted.is_none_or(|wanted| one.user == wanted));
    found.ok_or_else(|| {
        let user = printable(shown_user(wanted.unwrap_or_default()), 60);
        LoadError::one_line(
            &shown_source(&source.to_string_lossy()),
            &format!("no password for the user '{user}'"),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn user(user: &str, password: &str) -> Credentials {
        Credentials { user: user.into(), password: Secret::new(password) }
    }

    #[test]
    fn forms_of_lines() {
        for (line, name, password) in [
            ("u:p", "u", "p"),
            ("u:p:q r#", "u", "p:q r#"),
            ("u p", "u", "p"),
            ("  u\t p write,read", "u", "p"),
            ("u {cleartext}p:q write", "u", "p:q"),
            ("u {ClearText}{x}", "u", "{x}"),
            ("u {open", "u", "{open"),
        ] {
            assert_eq!(
                read_lines(&format!("# x:y\n\n{line}\nother:x\n"), "f").unwrap()[0],
                user(name, password)
            );
        }
    }

    #[test]
    fn lines_that_cannot_be_used() {
        for (text, problem) in [
            ("", "f: no line with a user"),
            ("#u:p\n \n", "f: no line with a user"),
            (":s3cr3t", "f, line 1: no user before the password"),
            ("\nu", "f, line 2: no password after the user"),
            ("u:", "f, line 1: no password after the user"),
            ("u {cleartext} write", "f, line 1: no password after the user"),
            (
                "u {HA1}s3cr3t write",
                "f, line 1: the password is only a hash ({HA1}), which cannot be used to log in",
            ),
            (
                "u {s3cr3t}s3cr3t",
                "f, line 1: the form of the password is unknown; known are {cleartext} and {HA1}",
            ),
        ] {
            assert_eq!(read_lines(text, "f").unwrap_err().to_string(), problem);
        }
        // The first usable line counts.
        assert_eq!(read_lines("u {HA1}x\nv w\n", "f").unwrap(), [user("v", "w")]);
    }

    #[test]
    fn files_of_others_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("users");
        let problem = |path: &Path| read_file(path).unwrap_err().problem;
        assert!(problem(&path).starts_with("cannot be read: "));
        fs::write(&path, "u:p").unwrap();
        for mode in [0o644, 0o640, 0o620, 0o604, 0o601] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(problem(&path), format!("other users can read or change it (mode {mode:04o})"));
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read_file(&path).unwrap(), [user("u", "p")]);
        fs::write(&path, b"u:\xffs3cr3t").unwrap();
        assert_eq!(problem(&path), "not UTF-8 text");
        fs::write(&path, vec![b'#'; (1 << 20) + 1]).unwrap();
        assert_eq!(problem(&path), "more than 1048576 bytes");
        assert_eq!(problem(dir.path()), "not a regular file");
        assert_eq!(problem(Path::new("/dev/null")), "not a regular file");
    }

    #[test]
    fn the_environment_names_both_or_none() {
        let read = |name: &str, word: &str| {
            read_environment(|variable| {
                let value = if variable == USER { name } else { word };
                (value != "unset").then(|| value.into())
            })
        };
        assert_eq!(read("u", "p"), Ok(Some(user("u", "p"))));
        for (name, word) in [("unset", "unset"), ("", ""), ("", "unset")] {
            assert_eq!(read(name, word), Ok(None));
        }
        let problem = |name, word| read(name, word).unwrap_err().to_string();
        assert_eq!(problem("u", ""), "environment: GANETI_RAPI_USER is set, GANETI_RAPI_PASSWORD is not");
        assert_eq!(
            problem("unset", "p"),
            "environment: GANETI_RAPI_PASSWORD is set, GANETI_RAPI_USER is not"
        );
    }

    #[test]
    fn the_user_of_the_address_is_looked_for() {
        let users = [user("a", "1"), user("b", "2"), user("b", "3")];
        let chosen = |wanted| choose(&users, wanted, Path::new("f")).cloned();
        assert_eq!(chosen(None), Ok(user("a", "1")));
        assert_eq!(chosen(Some("b")), Ok(user("b", "2")));
        assert_eq!(chosen(Some("c")).unwrap_err().to_string(), "f: no password for the user 'c'");
    }

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(format!("{:?}", user("u", "s3cr3t")), "Credentials { user: \"u\", password: *** }");
    }
}
