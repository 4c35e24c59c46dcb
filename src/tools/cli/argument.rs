//! The arguments of options: whether there is one, and its values.

use clap::Arg;

use crate::tools::help;

/// Whether an option takes an argument, and what the argument is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    None,
    /// Must have one, attached or as the next word.
    Required(&'static str),
    /// May have one, attached only.
    Optional(&'static str),
}

/// What an argument stands for: shells complete it accordingly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Nothing that could be completed.
    None,
    File,
    /// A file that is to be written; the reference does not tell that it is one.
    NewFile,
    Directory,
    /// A host name.
    Host,
    /// A whole number.
    Integer,
    /// A real number.
    Float,
    Text,
    /// The name of a node.
    OneNode,
    /// Names of nodes, separated by commas.
    ManyNodes,
    /// The name of a group.
    OneGroup,
    /// Names of instances, separated by commas.
    ManyInstances,
    /// One of a few words.
    Choices(&'static [&'static str]),
    /// Fields of the node list, separated by commas.
    NodeFields,
    /// A document, or a tool.
    Topic,
}

impl ArgumentKind {
    /// The kind as `--help-completion` prints it.
    pub fn describe(self) -> String {
        match self {
            // the last two: as the reference has it
            ArgumentKind::None | ArgumentKind::Topic | ArgumentKind::NodeFields | ArgumentKind::NewFile => {
                "none".into()
            }
            ArgumentKind::File => "file".into(),
            ArgumentKind::Directory => "dir".into(),
            ArgumentKind::Host => "host".into(),
            ArgumentKind::Integer => "integer".into(),
            ArgumentKind::Float => "float".into(),
            ArgumentKind::Text => "string".into(),
            ArgumentKind::OneNode => "onenode".into(),
            ArgumentKind::ManyNodes => "manynodes".into(),
            ArgumentKind::OneGroup => "onegroup".into(),
            ArgumentKind::ManyInstances => "manyinstances".into(),
            ArgumentKind::Choices(words) => format!("choices={}", words.join(",")),
        }
    }

    /// The argument for clap, with what shells can make of it.
    pub(super) fn hint(self, arg: Arg) -> Arg {
        match self {
            ArgumentKind::File | ArgumentKind::NewFile => arg.value_hint(clap::ValueHint::FilePath),
            ArgumentKind::Directory => arg.value_hint(clap::ValueHint::DirPath),
            ArgumentKind::Host => arg.value_hint(clap::ValueHint::Hostname),
            ArgumentKind::Choices(words) => arg.value_parser(words.to_vec()),
            ArgumentKind::Topic => arg.value_parser(help::words().collect::<Vec<_>>()),
            // scripts that offer files for everything else mislead
            _ => arg.value_hint(clap::ValueHint::Other),
        }
    }
}
