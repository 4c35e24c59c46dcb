//! Input and output of lint rules.

use roxmltree::{Document, Node};

use crate::cib::document;
use crate::working_set::WorkingSet;

/// Suggests the nearest of some names for an unknown one, as the end of a sentence; empty if none is near.
pub(crate) type NameSuggestion<'a> = &'a dyn Fn(&str, &[&str]) -> String;

/// A cluster and its document, as the rules read it.
pub(super) struct LintedCib<'a, 'd> {
    pub(super) set: &'a WorkingSet,
    pub(super) document: &'d Document<'d>,
    pub(super) suggest: NameSuggestion<'a>,
}

/// Finding of a rule about an element.
pub(super) struct Complaint {
    pub(super) element: String,
    pub(super) id: String,
    pub(super) problem: String,
    pub(super) advice: String,
}

impl Complaint {
    pub(super) fn about(node: Node<'_, '_>, problem: String, advice: String) -> Complaint {
        Complaint {
            element: node.tag_name().name().to_owned(),
            id: document::id(node).to_owned(),
            problem,
            advice,
        }
    }

    /// A complaint about something with an id in the working set.
    pub(super) fn of(element: &str, id: &str, problem: String, advice: String) -> Complaint {
        Complaint { element: element.to_owned(), id: id.to_owned(), problem, advice }
    }
}

/// The elements of the configuration with a name, wherever they are.
pub(super) fn elements<'d>(
    document: &'d Document<'d>,
    name: &'static str,
) -> impl Iterator<Item = Node<'d, 'd>> {
    let configuration = document::child(document.root_element(), "configuration");
    let all = configuration.into_iter().flat_map(|inner| inner.descendants());
    all.filter(move |node| node.has_tag_name(name))
}

impl<'d> LintedCib<'_, 'd> {
    /// The elements of the configuration with a name, wherever they are.
    pub(super) fn elements(&self, name: &'static str) -> impl Iterator<Item = Node<'d, 'd>> {
        elements(self.document, name)
    }
}
