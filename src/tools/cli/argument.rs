//! Arguments of options: presence, name and type.

use clap::Arg;

use crate::tools::help;

/// Presence of an option's argument, with its name in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    None,
    /// An argument that must be given, attached or as the next word.
    Required(&'static str),
    /// An argument that may be omitted; it must be attached.
    Optional(&'static str),
}

/// Type of an argument, which determines its completion in shells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Nothing that could be completed.
    None,
    File,
    /// An output file. The reference does not describe it as a file.
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
            // the reference prints "none" for the last two
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

    /// Adds the completion of this type to an argument for clap.
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
