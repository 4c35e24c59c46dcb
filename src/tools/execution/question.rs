//! The question before anything is done.

use std::io::{self, BufRead, IsTerminal};

use crate::tools::output::Output;

/// What came of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Go ahead; also where there is nobody to ask.
    Yes,
    No,
}

/// Asks on a terminal; anything but a yes is a no. Where standard input or standard
/// error is no terminal, nobody is asked.
///
/// # Errors
/// Input or output.
pub fn ask(question: &str, output: &mut Output) -> io::Result<Consent> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(Consent::Yes);
    }
    output.error_write(&format!("{question} [y/N] "))?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(answer(&line))
}

fn answer(line: &str) -> Consent {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Consent::Yes,
        _ => Consent::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        for line in ["y\n", "Y\n", " yes \n", "YES"] {
            assert_eq!(answer(line), Consent::Yes, "{line:?}");
        }
        for line in ["", "\n", "n\n", "no\n", "yesterday\n"] {
            assert_eq!(answer(line), Consent::No, "{line:?}");
        }
    }
}
