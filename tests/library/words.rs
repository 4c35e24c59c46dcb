//! Language of comments and documents, as far as it can be counted.

use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Openings of comments that talk around their subject.
const OPENINGS: [&str; 9] = ["What", "How", "Where", "Whether", "Who", "When", "Which", "Why", "That which"];
/// Largest share of comments with such an opening, in percent.
const MOST_OPENINGS: usize = 5;
/// Words of a sentence that still reads well.
const LONG: usize = 30;
/// Largest share of longer sentences in a document, in percent.
const MOST_LONG: usize = 3;

/// Adds the files below a directory whose names end like this.
fn files(dir: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            files(&entry, end, found);
        } else if entry.extension().is_some_and(|extension| extension == end) {
            found.push(entry);
        }
    }
}

/// First lines of all comments of a source text; consecutive lines are one comment.
fn comments(text: &str) -> Vec<&str> {
    let mut comments = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let comment = line.trim_start().strip_prefix("//");
        let words = comment.map(|comment| comment.trim_start_matches(['/', '!']).trim());
        if let Some(words) = words.filter(|words| !goes_on && !words.is_empty()) {
            comments.push(words);
        }
        goes_on = comment.is_some();
    }
    comments
}

#[test]
fn comments_name_their_subject() {
    for dir in ["crates", "src", "tests", "benches", "examples"] {
        let mut sources = Vec::new();
        files(Path::new(dir), "rs", &mut sources);
        let texts: Vec<String> = sources.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        let comments: Vec<&str> = texts.iter().flat_map(|text| comments(text)).collect();
        let opens = |comment: &&&str| {
            OPENINGS.iter().any(|word| comment.strip_prefix(word).is_some_and(|rest| rest.starts_with(' ')))
        };
        let riddles: Vec<&&str> = comments.iter().filter(opens).collect();
        let limit = comments.len() * MOST_OPENINGS / 100;
        assert!(riddles.len() <= limit, "{dir}: {} of {}: {riddles:#?}", riddles.len(), comments.len());
    }
}

/// Sentences of the paragraphs and lists of a document, without code, tables, headings and pictures. A piece of code in a
/// sentence is one word.
fn sentences(markdown: &str) -> Vec<String> {
    let mut prose = String::new();
    let mut outside = 0;
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(
                Tag::CodeBlock(_) | Tag::Table(_) | Tag::Heading { .. } | Tag::HtmlBlock | Tag::Image { .. },
            ) => {
                outside += 1;
            }
            Event::End(
                TagEnd::CodeBlock | TagEnd::Table | TagEnd::Heading(_) | TagEnd::HtmlBlock | TagEnd::Image,
            ) => {
                outside -= 1;
            }
            _ if outside > 0 => {}
            Event::Text(text) => prose.push_str(&text),
            Event::Code(_) => prose.push_str("code"),
            Event::SoftBreak | Event::HardBreak => prose.push(' '),
            Event::End(TagEnd::Paragraph | TagEnd::Item) | Event::Start(Tag::Item) => prose.push_str(" .\n"),
            _ => {}
        }
    }
    let ends = |at: usize| {
        prose[at..].starts_with(['.', '!', '?']) && prose[at + 1..].starts_with(char::is_whitespace)
    };
    let mut found = Vec::new();
    let mut from = 0;
    for (at, _) in prose.char_indices().filter(|(at, _)| ends(*at)) {
        found.push(prose[from..at].split_whitespace().collect::<Vec<_>>().join(" "));
        from = at + 1;
    }
    found.retain(|sentence| sentence.contains(char::is_alphabetic));
    found
}

#[test]
fn sentences_of_documents_are_short() {
    let mut documents = vec![PathBuf::from("README.md"), PathBuf::from("data/README.md")];
    files(Path::new("docs"), "md", &mut documents);
    for path in documents {
        let sentences = sentences(&fs::read_to_string(&path).unwrap());
        let long: Vec<&String> =
            sentences.iter().filter(|sentence| sentence.split(' ').count() > LONG).collect();
        let limit = sentences.len() * MOST_LONG / 100;
        assert!(long.len() <= limit, "{}: {} of {}: {long:#?}", path.display(), long.len(), sentences.len());
    }
}

#[test]
fn sentences_and_comments_are_found() {
    let document = "# A heading\n\nOne `hbal -L` is. Two\nare! And three.\n\n![A picture. of it](a.png)\n\n* a list. of two\n\n| a | table |\n|---|---|\n| x | y |\n\n```\ncode. x\n```\n";
    assert_eq!(sentences(document), ["One code is", "Two are", "And three", "a list", "of two"]);
    let source = "//! One.\n//! Goes on.\nfn x() {} // no comment of its own\n    /// Two.\n    ///\n    /// Goes on.\n";
    assert_eq!(comments(source), ["One.", "Two."]);
}
