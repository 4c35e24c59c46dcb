//! The program that shows long texts a screen at a time.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};

/// Has the user's pager show a text: `$PAGER`, or less. False if there is none, and nothing was shown.
pub(super) fn show(text: &str) -> bool {
    let Some(mut command) = command(env::var_os("PAGER")) else { return false };
    if env::var_os("LESS").is_none() {
        // what fits on the screen is printed and left there
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut pipe) = child.stdin.take() {
        // a reader who has seen enough closes it
        let _ = pipe.write_all(text.as_bytes());
    }
    // the shell's word for a command that is not there
    child.wait().map_or(true, |status| status.code() != Some(127))
}

fn command(pager: Option<OsString>) -> Option<Command> {
    match pager {
        None => Some(Command::new("less")),
        Some(none) if none.is_empty() || none == "cat" => None,
        // it may have arguments, and is the user's own
        Some(pager) => {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(pager);
            Some(shell)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_program() {
        let named =
            |pager: Option<&str>| command(pager.map(OsString::from)).map(|command| format!("{command:?}"));
        assert_eq!(named(None).as_deref(), Some(r#""less""#));
        assert_eq!(named(Some("most -s")).as_deref(), Some(r#""sh" "-c" "most -s""#));
        assert_eq!(named(Some("")), None);
        assert_eq!(named(Some("cat")), None);
    }
}
