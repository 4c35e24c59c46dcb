//! `hplace` shows where Pacemaker places the resources of a cluster, and why.

mod affinity;
mod attributes;
mod best;
pub(super) mod carry;
pub(super) mod cluster;
mod commands;
mod follow;
mod lint;
mod measured;
mod options;
mod relocation;
mod report;
mod rows;
mod run;
mod simulate;
mod what_if;

use std::ffi::OsString;
use std::path::Path;

use self::commands::WORDS;
pub(in crate::tools) use self::options::{HplaceOptions, PlacementCommand};
pub(crate) use self::rows::SPEC;
use self::rows::STRATEGIES;
use super::ExitStatus;
use super::cli::Stop;
use super::cli::hint::did_you_mean;
use super::hint::{Complaint, WithHint};
use super::options::TypedOption;
use super::output::Output;
use crate::model::shown::shown_name;

/// Parses the command line.
pub(crate) fn parse(args: &[OsString]) -> Result<HplaceOptions, Stop> {
    let (mut options, words) = SPEC.read(args)?;
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let command = words.next().unwrap_or_default();
    let rest: Vec<String> = words.collect();
    let wrong = |problem: &str| Err(Stop::WrongWords(Complaint::new(problem)));
    options.command = match (command.as_str(), rest.is_empty()) {
        ("", _) => PlacementCommand::Place,
        ("optimal" | "affinity", true) => {
            // The command is kept as the option --strategy, so that a saved plan repeats it.
            let strategy = TypedOption { long: Some("strategy"), value: Some(command.clone()) };
            options.output.typed.insert(0, strategy);
            options.place_by(&command);
            PlacementCommand::Place
        }
        ("optimal" | "affinity", false) => return wrong(&format!("hplace {command} takes no other words")),
        ("why", false) => PlacementCommand::Why(rest),
        ("why", true) => return wrong("hplace why needs the name of a resource"),
        ("survive", true) => PlacementCommand::Survive,
        ("survive", false) => return wrong("hplace survive takes no other words"),
        ("fit", false) => PlacementCommand::Fit(rest),
        ("fit", true) => return wrong("hplace fit needs a size, such as cpu=2,memory=4096"),
        ("lint", true) => PlacementCommand::Lint,
        ("lint", false) => return wrong("hplace lint takes no other words"),
        ("simulate", true) => PlacementCommand::Simulate,
        ("simulate", false) => return wrong("hplace simulate takes no other words"),
        ("evacuate", _) => match <[String; 1]>::try_from(rest) {
            Ok([node]) => PlacementCommand::Evacuate(node),
            Err(_) => return wrong("hplace evacuate needs the name of one node"),
        },
        (other, _) => {
            return Err(Stop::WrongWords(unknown_command(other)));
        }
    };
    Ok(options)
}

/// Parses the command line and runs hplace. Exit status 2 means that something has no place, so a malformed command
/// line ends with [`ExitStatus::Misuse`].
///
/// # Errors
/// Fails if hplace cannot answer.
pub(crate) fn start(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    match parse(args) {
        Ok(options) => run(options),
        Err(stop) => Ok(match stop.show(&mut Output::standard())? {
            ExitStatus::Usage => ExitStatus::Misuse,
            status => status,
        }),
    }
}

/// Error message for a first word that is not a command, with a hint at the intended one.
fn unknown_command(word: &str) -> Complaint {
    let shown = shown_name(word);
    if STRATEGIES.contains(&word) {
        return Complaint::new(format!("'{shown}' is a strategy, not a command"))
            .hint(format!("use --strategy {shown}"));
    }
    if Path::new(word).is_file() {
        return Complaint::new(format!("'{shown}' is a file, not a command"))
            .hint("use -x for a Pacemaker CIB, or -t for a Ganeti cluster");
    }
    let meant = did_you_mean(word, WORDS.iter().copied());
    Complaint::new(format!("there is no command '{shown}'{meant}"))
        .hint(format!("the commands are {}", WORDS.join(", ")))
}

/// Runs hplace with these options.
///
/// # Errors
/// Fails if hplace cannot answer.
pub(crate) fn run(options: HplaceOptions) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    let output = &mut output;
    report::check(&options)?;
    measured::check(&options)?;
    if let Some(journal) = &options.execution.resume {
        return follow::resume(&options, journal, output);
    }
    if options.command == PlacementCommand::Simulate {
        return simulate::run(&options, output);
    }
    if affinity::is_asked(&options) {
        return if options.affinity.plan {
            relocation::run(&options, output)
        } else {
            affinity::run(&options, output)
        };
    }
    match &options.command {
        _ if options.undo => carry::undo(&options, output),
        PlacementCommand::Evacuate(node) => carry::evacuate(&options, node, output),
        PlacementCommand::Lint => lint::run(&options, output),
        PlacementCommand::Survive => what_if::survive(&options, output),
        PlacementCommand::Fit(size) => what_if::fit(&options, size, output),
        _ => run::run(&options, output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacemaker::PlacementMethod;
    use crate::tools::cli::testing::*;

    #[test]
    fn every_method_can_be_named() {
        let (keys, methods) = STRATEGIES.split_last().unwrap();
        assert_eq!((methods, *keys), (PlacementMethod::WORDS, "affinity"));
    }

    #[test]
    fn words_and_options() {
        let options = parse(&words(&["why", "-xcib.xml", "db", "--strategy=minimal", "web"])).unwrap();
        assert_eq!(options.command, PlacementCommand::Why(vec!["db".to_owned(), "web".to_owned()]));
        assert_eq!(options.method, Some(PlacementMethod::Minimal));
        assert!(matches!(parse(&words(&["why"])), Err(Stop::WrongWords(_))));
        assert!(matches!(parse(&words(&["db"])), Err(Stop::WrongWords(_))));
        assert!(matches!(parse(&words(&["--strategy=best"])), Err(Stop::Value(_))));
    }
}
