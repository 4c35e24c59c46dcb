//! Hints about the words of a command line.

use std::ffi::OsString;
use std::path::Path;

use super::{Program, getopt};
pub(crate) use crate::load::lookup::{did_you_mean, nearest};
use crate::model::shown::shown_name;
use crate::tools::options::catalogue::TEXT_DATA;

/// The last line of a complaint about a command line.
pub(crate) fn try_help(spec: &dyn Program) -> String {
    format!("Try '{} --help'.\n", spec.name())
}

/// Columns if standard output is not a terminal.
const PLAIN: usize = 80;

/// Returns the columns of the terminal on standard output, or 80 if it is not a terminal.
pub(crate) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(PLAIN)
}

/// A positional word on the command line of a tool that takes only options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    word: OsString,
    /// The word joined to the option before it, if that option takes an optional argument.
    joined: Option<OsString>,
    /// True if the tool reads clusters from text files (`-t`).
    reads_text: bool,
}

impl Stray {
    /// Returns the first positional word. An empty last word does not count.
    pub fn positional(spec: &dyn Program, words: getopt::Canonical) -> Option<Stray> {
        let reads_text = spec.find(TEXT_DATA.shape.long).is_some();
        let mut strays = words.positional;
        // scripts pass an empty word if their variable for more options is empty; the default of
        // prometheus-ganeti-exporter is empty
        strays.pop_if(|last| last.is_empty());
        let word = strays.into_iter().next()?;
        Some(Stray { word, joined: words.joined, reads_text })
    }

    /// Returns a hint. Without specific advice, only terminals (`is_shown`) get one, because programs know just the
    /// error message itself.
    pub fn hint(&self, is_shown: bool) -> Option<String> {
        let word = shown_name(&self.word.to_string_lossy());
        if let Some(joined) = &self.joined {
            let joined = shown_name(&joined.to_string_lossy());
            Some(format!("to make '{word}' the option's argument, join them: {joined}"))
        } else if self.reads_text && Path::new(&self.word).is_file() {
            Some(format!("'{word}' is a file; if it describes the cluster, use -t {word}"))
        } else if is_shown {
            Some(format!("'{word}' is not an option"))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::words;
    use super::*;
    use crate::tools::hbal;

    #[test]
    fn slips_are_near() {
        let options = || hbal::SPEC.options().into_iter().map(|option| option.long);
        for (typed, meant) in [
            ("explian", "explain"),
            ("maxcpu", "max-cpu"),
            ("verbsoe", "verbose"),
            ("al-groups", "all-groups"),
        ] {
            assert_eq!(nearest(typed, options()), Some(meant));
        }
        for typed in ["bogus", "zzzzz", ""] {
            assert_eq!(nearest(typed, options()), None, "{typed}");
        }
        assert_eq!(nearest("x", []), None);
    }

    fn hint(line: &[&str], is_shown: bool) -> Option<String> {
        let found = getopt::canonicalise(&hbal::SPEC.options(), &words(line));
        Stray::positional(&hbal::SPEC, found).unwrap().hint(is_shown)
    }

    #[test]
    fn stray_words_are_explained() {
        for (line, joined) in [
            (&["-C", "out.sh"][..], "-Cout.sh"),
            (&["-vC", "out.sh"], "-Cout.sh"),
            (&["--print-nod", "name"], "--print-nodes=name"),
            (&["-v", "-p", "a\n", "b"], "-pa\\n"),
        ] {
            assert!(hint(line, false).unwrap().ends_with(&format!(" join them: {joined}")), "{line:?}");
        }
        let file = "data/unbalanced-drbd.data";
        assert!(hint(&[file, "x"], false).unwrap().ends_with(&format!("use -t {file}")));
        for line in [&["x"][..], &["-C", "-v", "x"], &["-Cout", "x"], &["x", "-C", "y"], &["-l", "5", "x"]] {
            assert_eq!(hint(line, false), None);
            assert_eq!(hint(line, true).unwrap(), "'x' is not an option");
        }
    }
}
