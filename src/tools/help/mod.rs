//! `htools help`: the documents, in the terminal.

mod pager;
mod topics;

use anyhow::anyhow;

use self::topics::{TOPICS, Topic};
use super::cli::Program;
use super::cli::hint::{columns, did_you_mean};
use super::cli::usage::full;
use super::output::Output;
use super::{TOOLS, find};
use crate::report::form::markdown;
use crate::tools::hint::WithHint;

/// Longer lines are hard to read.
const WIDEST: usize = 120;

/// Shows a document or the options of a tool; without a topic, the list of topics.
///
/// # Errors
/// If there is no such topic, or standard output fails.
pub(super) fn show(topic: Option<&str>, output: &mut Output) -> anyhow::Result<()> {
    let text = match topic {
        None => contents(),
        Some(word) => match (topics::find(word), find(word)) {
            (Some(topic), _) => document(topic),
            (None, Some(tool)) => plain_help(tool.spec),
            (None, None) => {
                let meant = did_you_mean(word, words());
                return Err(
                    anyhow!("there is no help on '{word}'{meant}").hint("htools help lists the topics")
                );
            }
        },
    };
    if output.is_shown() && pager::show(&text) {
        return Ok(());
    }
    Ok(output.write(&text)?)
}

/// Topics of the help: documents and tools.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|topic| topic.word).chain(TOOLS.iter().map(|tool| tool.spec.name()))
}

fn contents() -> String {
    let row = |word: &str, title: &str| format!("  {word:18} {title}\n");
    let documents: String = TOPICS.iter().map(|topic| row(topic.word, topic.title())).collect();
    let tools: String = TOOLS.iter().map(|tool| row(tool.spec.name(), tool.spec.summary())).collect();
    format!(
        "htools help TOPIC shows one of these documents:\n{documents}\nor the options of a tool, which has a manual page, too:\n{tools}"
    )
}

/// The options of a tool, as `--help` shows them, without bold headings.
fn plain_help(program: &dyn Program) -> String {
    full(program, columns()).into_iter().map(|(_, line)| line + "\n").collect()
}

fn document(topic: &Topic) -> String {
    let width = columns().min(WIDEST);
    let lines = markdown::lines(topic.text, width, &|address| topics::mention(address, topic));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_laid_out() {
        for topic in TOPICS {
            for width in [20, 80, 120] {
                let lines = markdown::lines(topic.text, width, &|address| topics::mention(address, topic));
                // code is not broken
                let wide = lines.iter().find(|line| {
                    line.chars().count() > width
                        && !line.contains("    ")
                        && line.split_whitespace().count() > 3
                });
                assert_eq!(wide, None, "{} at {width}", topic.word);
                assert!(!topic.title().is_empty(), "{}", topic.word);
            }
        }
    }
}
