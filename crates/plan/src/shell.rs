//! The only writer of shell commands: lists for people, scripts, and the `commands` of documents. It also quotes
//! assignments for shells.
//!
//! All output may be run by root. A [`Command`] is composed of words of this program and of [`Name`]s, which contain
//! nothing special to a shell or an option parser. Nevertheless, every word that a shell could interpret is quoted.

use std::fmt;

use super::names::Name;
use htools_model::shown::printable;

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program, and options with their values.
    options: Vec<CommandWord>,
    /// Names and words that follow the options.
    operands: Vec<CommandWord>,
}

/// A part of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CommandWord {
    /// Passed on by the shell as it is.
    Literal(String),
    /// Evaluated by the shell when it runs the command.
    Evaluated(String),
}

impl CommandWord {
    fn literal(text: &str) -> CommandWord {
        CommandWord::Literal(text.to_owned())
    }

    fn is_dashed(&self) -> bool {
        matches!(self, CommandWord::Literal(text) if text.starts_with('-'))
    }
}

impl fmt::Display for CommandWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandWord::Literal(text) => f.write_str(&quoted(text)),
            CommandWord::Evaluated(text) => f.write_str(text),
        }
    }
}

impl Command {
    /// A command that begins with these words: a program, a subcommand, options.
    pub fn new(words: &[&'static str]) -> Command {
        Command {
            options: words.iter().map(|word| CommandWord::literal(word)).collect(),
            operands: Vec::new(),
        }
    }

    /// A command of the administrator's, which is shell code.
    pub(crate) fn given(command: &str) -> Command {
        Command { options: vec![CommandWord::Evaluated(command.to_owned())], operands: Vec::new() }
    }

    /// Adds an option with a value.
    #[must_use]
    pub fn option(mut self, option: &'static str, value: &Name) -> Command {
        self.options.extend([option, value.as_str()].map(CommandWord::literal));
        self
    }

    /// Adds an argument that is not an option, even if it begins with a dash.
    #[must_use]
    pub fn operand(mut self, name: &Name) -> Command {
        self.operands.push(CommandWord::literal(name.as_str()));
        self
    }

    /// Adds arguments that are not options.
    #[must_use]
    pub(crate) fn operands(self, names: &[Name]) -> Command {
        names.iter().fold(self, Command::operand)
    }

    /// Adds a fixed word after the names.
    #[must_use]
    pub(crate) fn word(mut self, word: &'static str) -> Command {
        self.operands.push(CommandWord::literal(word));
        self
    }

    /// Adds a fixed expression that the shell evaluates when it runs the command.
    #[must_use]
    pub(crate) fn evaluated(mut self, expression: String) -> Command {
        self.operands.push(CommandWord::Evaluated(expression));
        self
    }
}

/// The command in shell syntax.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ganeti's programs and ssh do not interpret words after two dashes as options.
        let dashes = self.operands.iter().any(CommandWord::is_dashed).then(|| "--".to_owned());
        let text = |words: &[CommandWord]| words.iter().map(CommandWord::to_string).collect::<Vec<_>>();
        let words = [text(&self.options), dashes.into_iter().collect(), text(&self.operands)];
        f.write_str(&words.concat().join(" "))
    }
}

/// A word in shell syntax, quoted by apostrophes unless it is harmless.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-:/+@=".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { in_apostrophes(word) }
}

/// Any text in shell syntax, quoted by apostrophes.
pub fn in_apostrophes(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A line of a command list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// An empty line.
    Blank,
    /// Announces the next part; a name in it must come from [`Line::heading_of`].
    Heading(String),
    /// Announces the next job.
    Job(String),
    /// Runs a command.
    Run(Command),
    /// Repeats a command every ten seconds until it succeeds.
    Until(Command),
    /// Fails with a message unless a command gives the expected answer.
    Expect {
        /// The question.
        command: Command,
        /// The expected answer, which is harmless in a shell.
        answer: &'static str,
        /// The message.
        otherwise: String,
    },
    /// A comment for the reader.
    Comment(String),
    /// The point where a script checks for a request to stop; for scripts only.
    Check,
}

impl Line {
    /// A heading with fixed words and a name, which may be any text.
    pub fn heading_of(title: &'static str, name: &str) -> Line {
        // The heading is shown on a terminal.
        let name = printable(name, usize::MAX);
        // echo would interpret a backslash.
        Line::Heading(if name.contains('\\') {
            format!("printf '%s\\n' {}", quoted(&format!("{title} {name}")))
        } else {
            format!("echo {title} {}", quoted(&name))
        })
    }

    /// A heading of fixed words.
    pub fn heading(title: impl fmt::Display) -> Line {
        Line::Heading(format!("echo {title}"))
    }

    /// Tells if the line does something, for a program that walks over the lines.
    pub fn is_command(&self) -> bool {
        matches!(self, Line::Run(_) | Line::Until(_) | Line::Expect { .. })
    }

    fn is_indented(&self) -> bool {
        !matches!(self, Line::Blank | Line::Heading(_))
    }

    fn indented(&self) -> String {
        format!("{}{self}", if self.is_indented() { "  " } else { "" })
    }
}

/// The line without indentation.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Blank => Ok(()),
            Line::Heading(text) => f.write_str(text),
            Line::Job(title) => write!(f, "echo {title}"),
            Line::Run(command) => command.fmt(f),
            Line::Until(command) => write!(f, "until {command}; do sleep 10; done"),
            Line::Expect { command, answer, otherwise } => {
                let message = quoted(otherwise);
                write!(f, "test \"$({command})\" = {answer} || {{ echo {message} >&2; false; }}")
            }
            // No character in the text may end the comment.
            Line::Comment(text) => write!(f, "# {}", text.replace(char::is_control, "?")),
            Line::Check => f.write_str("check"),
        }
    }
}

/// A shell script. It begins with its title as comments, and can be stopped between two units, for which `unit` is the
/// word. The stop file is the one that administrators know from Ganeti's tools.
pub fn script(title: &str, unit: &str, lines: &[Line]) -> String {
    let mut text = format!(
        "\
#!/bin/sh

{title}# The script stops at the first command that fails, and before the next {unit}
# once this file exists: /tmp/stop-htools

set -e

check() {{
  if [ -e /tmp/stop-htools ]; then
    echo 'Stopping: /tmp/stop-htools exists'
    exit 0
  fi
}}

"
    );
    for line in lines {
        text.push_str(&line.indented());
        text.push('\n');
    }
    text
}

/// The lines for a person: indented, without the points to stop at.
pub fn listing(lines: &[Line]) -> Vec<String> {
    lines.iter().filter(|line| **line != Line::Check).map(|line| format!("  {}", line.indented())).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command as Process;

    use proptest::prelude::*;

    use super::super::names::NameOf;
    use super::*;

    fn name(name: &str) -> Name {
        Name::of(NameOf::Instance, name).unwrap()
    }

    /// The words that a shell reads from these lines.
    fn said(lines: &str) -> String {
        let output = Process::new("/bin/sh").args(["-c", lines]).output().unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn what_begins_with_a_dash_is_no_option() {
        let command = Command::new(&["gnt-instance", "migrate", "-f"]).option("-n", &name("n1"));
        assert_eq!(command.clone().operand(&name("web")).to_string(), "gnt-instance migrate -f -n n1 web");
        assert_eq!(command.operand(&name("-f")).to_string(), "gnt-instance migrate -f -n n1 -- -f");
        let tags = [Name::of(NameOf::Tag, "a:*").unwrap(), Name::of(NameOf::Tag, "-x").unwrap()];
        let command = Command::new(&["gnt-node", "add-tags"]).operand(&name("n1")).operands(&tags);
        assert_eq!(command.to_string(), "gnt-node add-tags -- n1 'a:*' -x");
    }

    #[test]
    fn nothing_ends_a_comment() {
        assert_eq!(Line::Comment("a\nb\u{1b}".to_owned()).to_string(), "# a?b?");
    }

    #[test]
    fn a_name_of_a_group_is_only_said() {
        for (name, line) in [
            ("plain", "echo Node group plain"),
            ("a'$(touch x)", r"echo Node group 'a'\''$(touch x)'"),
            (r"a\c", r"printf '%s\n' 'Node group a\c'"),
            ("a\n\u{1b}[2J", r"printf '%s\n' 'Node group a\n\u{1b}[2J'"),
        ] {
            assert_eq!(Line::heading_of("Node group", name).to_string(), line);
        }
    }

    proptest! {
        // Each case starts a shell.
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_shell_takes_words_as_they_are(
            words in prop::collection::vec("[a-z$();`'\"\\\\ \n\t*?&|<>{}~#!=%é.-]{0,12}|\\PC{0,8}", 1..8),
        ) {
            let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            let wanted: String = words.iter().map(|word| format!("{word}\0")).collect();
            prop_assert_eq!(said(&format!("printf '%s\\0' {}", quoted.join(" "))), wanted);
        }

        #[test]
        fn headings_say_what_they_say(name in "[a-z$();`'\"\\\\ \n\t*&|<>{}~#!\u{1b}.-]{0,12}|\\PC{0,8}") {
            let wanted = format!("Node group {}\n", printable(&name, usize::MAX));
            prop_assert_eq!(said(&Line::heading_of("Node group", &name).to_string()), wanted);
        }
    }
}
