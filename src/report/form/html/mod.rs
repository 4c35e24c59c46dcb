//! What tools found, as one page for a browser (`--report`): nothing in it comes from elsewhere, and no text in it is
//! taken for markup. The content security policy lets it run its own script and style and fetch nothing.
//!
//! The markup is well-formed to an XML parser, too, so every element that has no end in HTML is written as XML has it.

pub(in crate::report) mod bars;
pub(in crate::report) mod grid;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::tone::Tone;
use crate::model::number::counted;
use crate::model::shown::printable_lines;
use crate::model::{Cluster, NodeIdx};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A page: first the answers, then what they rest on.
pub(crate) struct ReportPage {
    /// What the page is about, in a few words.
    pub(in crate::report) title: String,
    /// The same in a sentence.
    pub(in crate::report) subject: String,
    pub(in crate::report) answers: Vec<PageAnswer>,
    pub(in crate::report) sections: Vec<Section>,
}

/// An answer that is seen at once.
pub(in crate::report) struct PageAnswer {
    pub(in crate::report) question: &'static str,
    /// Good or bad; never told by the colour alone.
    pub(in crate::report) tone: Tone,
    /// In a few words.
    pub(in crate::report) text: String,
    pub(in crate::report) details: Vec<String>,
}

/// A part of the page with a heading.
#[derive(Clone)]
pub(crate) struct Section {
    /// The word for it in links.
    pub(in crate::report) id: &'static str,
    pub(in crate::report) title: &'static str,
    pub(in crate::report) body: Markup,
}

impl Section {
    /// A section; nothing if there is nothing in it.
    pub(in crate::report) fn of(
        id: &'static str,
        title: &'static str,
        body: Option<Markup>,
    ) -> Option<Section> {
        body.map(|body| Section { id, title, body })
    }
}

/// What is there before names: a sign for each tone, as colours are not seen by everybody.
pub(in crate::report) fn sign(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "✓ ",
        Tone::Bad => "⚠ ",
        Tone::Plain | Tone::Heading => "",
    }
}

pub(in crate::report) fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Good => Some("good"),
        Tone::Bad => Some("bad"),
        Tone::Plain | Tone::Heading => None,
    }
}

/// A name without the domain that all names of the cluster end in.
pub(in crate::report) fn alias<'n>(cluster: &Cluster, name: &'n str) -> &'n str {
    name.strip_suffix(&cluster.common_suffix).filter(|alias| !alias.is_empty()).unwrap_or(name)
}

/// How large the part of a cluster is that is looked at, in a sentence.
pub(in crate::report) fn size(cluster: &Cluster, nodes: &[NodeIdx]) -> String {
    let instances: usize = nodes.iter().map(|n| cluster.node(*n).state.primaries.len()).sum();
    let nodes = counted(nodes.len(), "node");
    format!("{nodes} with {}.", counted(instances, "instance"))
}

/// By which a browser knows what it may run.
fn digest(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

impl ReportPage {
    /// The file; `command` is what made it. What a terminal would obey, and XML has no place for, is escaped.
    pub(crate) fn text(&self, command: &str) -> String {
        let policy = format!(
            "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
            digest(STYLE),
            digest(SCRIPT)
        );
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    (PreEscaped("<meta charset=\"utf-8\"/>"))
                    (PreEscaped(format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\"/>")))
                    (PreEscaped("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"))
                    (PreEscaped("<meta name=\"color-scheme\" content=\"light dark\"/>"))
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                    script { (PreEscaped(SCRIPT)) }
                }
                body {
                    (bars::patterns())
                    header {
                        div class="heading" {
                            h1 { (self.title) }
                            button type="button" id="theme" class="quiet" { "Dark" }
                        }
                        p { (self.subject) }
                        nav aria-label="Sections" {
                            @for Section { id, title, .. } in &self.sections { a href={ "#" (id) } { (title) } }
                        }
                    }
                    main {
                        div class="answers" { @for answer in &self.answers { (answer.markup()) } }
                        @for Section { id, title, body } in &self.sections {
                            section id=(id) aria-labelledby={ (id) "-title" } {
                                h2 id={ (id) "-title" } { (title) }
                                (body)
                            }
                        }
                    }
                    footer {
                        p { "Made by" }
                        pre { code { (command) } }
                        p { "htools " (env!("CARGO_PKG_VERSION")) }
                    }
                }
            }
        };
        printable_lines(&page.into_string()).into_owned() + "\n"
    }
}

impl PageAnswer {
    /// Where there is nothing to tell, neither good nor bad.
    pub(in crate::report) fn nothing(question: &'static str) -> PageAnswer {
        PageAnswer { question, tone: Tone::Plain, text: "nothing".to_owned(), details: Vec::new() }
    }

    fn markup(&self) -> Markup {
        html! {
            section class={ "answer" @if let Some(class) = class(self.tone) { " " (class) } } {
                h2 { (self.question) }
                p class="text" { (sign(self.tone)) (self.text) }
                @for detail in &self.details { p { (detail) } }
            }
        }
    }
}
