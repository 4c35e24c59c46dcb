//! The documents that are part of the program.

/// A document.
pub(super) struct Topic {
    /// The word for it: the name of its file.
    pub word: &'static str,
    /// Markdown.
    pub text: &'static str,
}

macro_rules! topics {
    ($($word:literal $file:literal,)*) => {
        /// The documents, in the order in which a newcomer reads them.
        pub(super) const TOPICS: &[Topic] =
            &[$(Topic { word: $word, text: include_str!(concat!("../../../", $file)) },)*];
    };
}

topics! {
    "index" "docs/index.md",
    "guide" "docs/guide.md",
    "tour" "docs/tour.md",
    "coming-from" "docs/coming-from.md",
    "new-node" "docs/recipes/new-node.md",
    "empty-node" "docs/recipes/empty-node.md",
    "balance-from-cron" "docs/recipes/balance-from-cron.md",
    "power-saving" "docs/recipes/power-saving.md",
    "survive" "docs/recipes/survive.md",
    "why-stopped" "docs/recipes/why-stopped.md",
    "room" "docs/recipes/room.md",
    "configuration" "docs/configuration.md",
    "execution" "docs/execution.md",
    "maintenance" "docs/maintenance.md",
    "monitoring" "docs/monitoring.md",
    "steady" "docs/steady.md",
    "load" "docs/load.md",
    "reports" "docs/reports.md",
    "groups" "docs/groups.md",
    "placing" "docs/placing.md",
    "pacemaker" "docs/pacemaker.md",
    "pacemaker-support" "docs/pacemaker-support.md",
    "pacemaker-verified" "docs/pacemaker-verified.md",
    "affinity" "docs/affinity.md",
    "simulation" "docs/simulation.md",
    "search" "docs/search.md",
    "bounds" "docs/bounds.md",
    "figures" "docs/figures.md",
    "packaging" "docs/packaging.md",
    "differences" "docs/differences.md",
    "security" "SECURITY.md",
    "changes" "CHANGELOG.md",
}

impl Topic {
    /// The first heading.
    pub(super) fn title(&self) -> &'static str {
        self.text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
    }
}

/// The document of a word.
pub(super) fn find(word: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.word == word)
}

/// Text for a link in a document on a terminal: a web address, a help topic, or a manual page.
///
/// Links to other source files and within the document have none.
pub(super) fn mention(address: &str, within: &Topic) -> Option<String> {
    if address.starts_with("https://") || address.starts_with("http://") {
        return Some(address.to_owned());
    }
    let file = address.split('#').next()?.rsplit('/').next()?;
    let (name, end) = file.rsplit_once('.')?;
    if address.contains("man/") && matches!(end, "1" | "5") {
        return Some(format!("{name}({end})"));
    }
    let word = match file {
        "CHANGELOG.md" => "changes".to_owned(),
        _ => name.to_lowercase(),
    };
    let topic = find(&word).filter(|topic| end == "md" && topic.word != within.word)?;
    Some(format!("htools help {}", topic.word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_somewhere() {
        let tour = find("tour").unwrap();
        let mention = |address| super::mention(address, tour);
        assert_eq!(mention("execution.md#jobs").as_deref(), Some("htools help execution"));
        assert_eq!(mention("../man/hbal.1").as_deref(), Some("hbal(1)"));
        assert_eq!(mention("https://ganeti.org").as_deref(), Some("https://ganeti.org"));
        assert_eq!(mention("../CHANGELOG.md").as_deref(), Some("htools help changes"));
        for nothing in ["tour.md#hbal", "#hbal", "../data/README.md", "../src/lib.rs", "timetable.svg"] {
            assert_eq!(mention(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn every_document_has_a_word() {
        let mut files: Vec<String> = std::fs::read_dir("docs")
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
            .collect();
        files.sort();
        let missing: Vec<&String> = files.iter().filter(|word| find(word).is_none()).collect();
        assert!(missing.is_empty(), "htools help knows nothing of {missing:?}");
    }
}
