//! The commands of the executable itself, each with options of its own.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Context;

use crate::tools::cli::heading::OptionTopic;
use crate::tools::cli::hint::try_help;
use crate::tools::cli::option::ArgumentKind::{Choices, Directory, Topic};
use crate::tools::cli::{OperandWords, OptionDef, Spec, Stop, example};
use crate::tools::completion::{self, SHELL_NAMES, SHELLS};
use crate::tools::options::ToolOptions;
use crate::tools::options::catalogue::HELP;
use crate::tools::output::Output;
use crate::tools::{ExitStatus, Tool, config, exporter, generate, help, history, install, links, plans};

/// The commands, by the words that they are typed with.
pub const COMMANDS: &[Tool] = &[
    plans::APPLY,
    Tool { spec: &COMPLETION, start: |args| with_words(&COMPLETION, args, complete) },
    Tool { spec: &config::command::SPEC, start: config::start },
    Tool { spec: &exporter::SPEC, start: exporter::start },
    Tool { spec: &generate::SPEC, start: generate::start },
    Tool { spec: &TOPICS, start: |args| with_words(&TOPICS, args, show_topic) },
    Tool { spec: &history::SPEC, start: history::start },
    Tool { spec: &install::SPEC, start: install::start },
    Tool { spec: &LINKS, start: |args| with_words(&LINKS, args, link) },
    plans::SHOW,
    plans::UNDO,
];

/// The options of commands that have none but `--help`.
#[derive(Debug, Default, PartialEq)]
struct WordOptions;

impl ToolOptions for WordOptions {}

/// The options of `install-links`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct LinkOptions {
    pub force: bool,
}

impl ToolOptions for LinkOptions {}
impl OptionTopic for LinkOptions {}

const COMPLETION: Spec<WordOptions> = Spec {
    name: "htools completion",
    summary: "print the completion script of a shell, for all tools",
    forms: &["SHELL"],
    examples: &[
        example("htools completion bash", "print the script for Bash"),
        example("htools completion zsh", "print the one for Zsh"),
        example("htools completion fish", "print the one for Fish"),
    ],
    options: &[&HELP],
    words: &[OperandWords { name: "SHELL", kind: Choices(SHELL_NAMES), min: 1, max: Some(1) }],
    ..Spec::PLAIN
};

const TOPICS: Spec<WordOptions> = Spec {
    name: "htools help",
    summary: "show a document, or all options of a tool",
    forms: &["[TOPIC]"],
    examples: &[
        example("htools help", "list the documents and tools"),
        example("htools help tour", "read the tour of all tools"),
        example("htools help hbal", "show the options of hbal"),
    ],
    options: &[&HELP],
    words: &[OperandWords { name: "TOPIC", kind: Topic, min: 0, max: Some(1) }],
    ..Spec::PLAIN
};

const LINKS: Spec<LinkOptions> = Spec {
    name: "htools install-links",
    summary: "make a link for each tool in a directory",
    forms: &["[OPTION...] DIR"],
    examples: &[
        example("htools install-links ~/bin", "make the links"),
        example("htools install-links --force ~/bin", "replace files that are in the way"),
        example("htools install-links .", "make the links here"),
    ],
    options: &[
        &OptionDef::<LinkOptions>::added_flag("force", "replace files that are in the way", |o| {
            o.force = true
        })
        .common(),
        &HELP,
    ],
    words: &[OperandWords { name: "DIR", kind: Directory, min: 1, max: Some(1) }],
    ..Spec::PLAIN
};

/// Does what such a command does with its words.
type WordCommand<O> = fn(&O, &[OsString], &mut Output) -> anyhow::Result<()>;

fn with_words<O: ToolOptions>(
    spec: &Spec<O>,
    args: &[OsString],
    run: WordCommand<O>,
) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    let (options, words) = match spec.read(args) {
        Ok(read) => read,
        Err(stop) => return stop.show(&mut output),
    };
    let fits = |wanted: &OperandWords| {
        wanted.min <= words.len() && wanted.max.is_none_or(|most| words.len() <= most)
    };
    if !spec.words.iter().all(fits) {
        let text = format!("Command line error: wrong arguments for `{}'\n{}", spec.name, try_help(spec));
        return Stop::Syntax(text).show(&mut output);
    }
    run(&options, &words, &mut output)?;
    output.flush()?;
    Ok(ExitStatus::Success)
}

fn complete(_: &WordOptions, words: &[OsString], output: &mut Output) -> anyhow::Result<()> {
    let word = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    let known =
        || format!("there is no completion for shell '{word}'; the shells are {}", SHELL_NAMES.join(", "));
    let shell = SHELLS.iter().find(|shell| shell.to_string() == word).with_context(known)?;
    Ok(output.write(&completion::script(*shell))?)
}

fn show_topic(_: &WordOptions, words: &[OsString], output: &mut Output) -> anyhow::Result<()> {
    let word = words.first().map(|word| word.to_string_lossy());
    help::show(word.as_deref(), output)
}

/// Makes the links in the directory that the words name.
pub(super) fn link(options: &LinkOptions, words: &[OsString], output: &mut Output) -> anyhow::Result<()> {
    let directory = words.first().map(Path::new).unwrap_or(Path::new(""));
    links::install(directory, options.force, output)
}
