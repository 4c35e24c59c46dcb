//! Results as a single page for a browser (`--report`). It loads nothing from elsewhere, and no text in it is
//! interpreted as markup. The content security policy allows only its own script and style.
//!
//! The markup is also well-formed XML, so void elements are closed as in XML.

pub(in crate::report) mod bars;
pub(crate) mod commands;
pub(in crate::report) mod grid;
#[cfg(test)]
mod tests;
pub(in crate::report) mod words;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use self::commands::{NextAction, NextCommand, copyable};
use self::words::unbroken;
use super::tone::Tone;
use crate::model::number::counted;
use crate::model::shown::printable_lines;
use crate::model::{Cluster, NodeIdx};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A page: first the answers, then the details.
pub(crate) struct ReportPage {
    /// Subject of the page, in a few words.
    pub(in crate::report) title: String,
    /// Name of the cluster, if it has one.
    pub(in crate::report) cluster: Option<String>,
    /// Size of the cluster and the result, in sentences.
    pub(in crate::report) subject: String,
    pub(in crate::report) answers: Vec<PageAnswer>,
    pub(in crate::report) sections: Vec<Section>,
    /// Action that the result calls for.
    pub(crate) next: NextAction,
}

/// Origin of a page: everything that does not come from its result.
pub(crate) struct PageOrigin {
    /// The command that made the page.
    pub command: String,
    /// The source of the cluster, for clusters without a name.
    pub source: Option<String>,
    /// The commands to run next.
    pub next: Vec<NextCommand>,
}

/// An answer at the top of the page.
pub(in crate::report) struct PageAnswer {
    pub(in crate::report) question: &'static str,
    /// Good or bad; never shown by colour alone.
    pub(in crate::report) tone: Tone,
    /// Answer in a few words.
    pub(in crate::report) text: String,
    pub(in crate::report) details: Vec<String>,
}

/// A part of the page with a heading.
#[derive(Clone)]
pub(crate) struct Section {
    /// Identifier for links.
    pub(in crate::report) id: &'static str,
    pub(in crate::report) title: &'static str,
    pub(in crate::report) body: Markup,
}

impl Section {
    /// A section; `None` if it is empty.
    pub(in crate::report) fn of(
        id: &'static str,
        title: &'static str,
        body: Option<Markup>,
    ) -> Option<Section> {
        body.map(|body| Section { id, title, body })
    }
}

/// Sign before a name for each tone, because not everybody can see colours.
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

/// A name without the common domain of the cluster.
pub(in crate::report) fn alias<'n>(cluster: &Cluster, name: &'n str) -> &'n str {
    name.strip_suffix(&cluster.common_suffix).filter(|alias| !alias.is_empty()).unwrap_or(name)
}

/// Size of the part of a cluster in question, in a sentence.
pub(in crate::report) fn size(cluster: &Cluster, nodes: &[NodeIdx]) -> String {
    let instances: usize = nodes.iter().map(|n| cluster.node(*n).state.primaries.len()).sum();
    let nodes = counted(nodes.len(), "node");
    format!("{nodes} with {}.", counted(instances, "instance"))
}

/// Hash by which the content security policy allows an inline script or style.
fn digest(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

impl ReportPage {
    /// The file. Control characters, and characters that XML does not allow, are escaped.
    pub(crate) fn text(&self, origin: &PageOrigin) -> String {
        let policy = format!(
            "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
            digest(STYLE),
            digest(SCRIPT)
        );
        let next = (!origin.next.is_empty()).then(|| commands::list(&origin.next));
        let next = Section::of("next", "What to do next", next);
        let sections: Vec<&Section> = self.sections.iter().chain(&next).collect();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    (PreEscaped("<meta charset=\"utf-8\"/>"))
                    (PreEscaped(format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\"/>")))
                    (PreEscaped("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"))
                    (PreEscaped("<meta name=\"color-scheme\" content=\"light dark\"/>"))
                    title { (self.title) @if let Some(name) = &self.cluster { " – " (name) } }
                    style { (PreEscaped(STYLE)) }
                    script { (PreEscaped(SCRIPT)) }
                }
                body {
                    (bars::patterns())
                    header {
                        div class="heading" {
                            div {
                                @if let Some(name) = &self.cluster {
                                    p class="cluster" { "Cluster " strong { (unbroken(name)) } }
                                } @else if let Some(source) = &origin.source {
                                    p class="cluster" { "Cluster " (unbroken(source)) }
                                }
                                h1 { (unbroken(&self.title)) }
                            }
                            button type="button" id="theme" class="quiet" { "Dark" }
                        }
                        p { (unbroken(&self.subject)) }
                        nav aria-label="Sections" {
                            @for Section { id, title, .. } in &sections { a href={ "#" (id) } { (title) } }
                        }
                    }
                    main {
                        div class="answers" { @for answer in &self.answers { (answer.markup()) } }
                        @for Section { id, title, body } in &sections {
                            section id=(id) aria-labelledby={ (id) "-title" } {
                                h2 id={ (id) "-title" } { (title) }
                                (body)
                            }
                        }
                    }
                    footer {
                        p { "Made by" }
                        (copyable(&origin.command))
                        p { "htools " (env!("CARGO_PKG_VERSION")) }
                    }
                }
            }
        };
        printable_lines(&page.into_string()).into_owned() + "\n"
    }
}

impl PageAnswer {
    /// A neutral answer if there is nothing to report.
    pub(in crate::report) fn nothing(question: &'static str) -> PageAnswer {
        PageAnswer { question, tone: Tone::Plain, text: "nothing".to_owned(), details: Vec::new() }
    }

    fn markup(&self) -> Markup {
        html! {
            section class={ "answer" @if let Some(class) = class(self.tone) { " " (class) } } {
                h2 { (self.question) }
                p class="text" { (sign(self.tone)) (unbroken(&self.text)) }
                @for detail in &self.details { p { (unbroken(detail)) } }
            }
        }
    }
}
