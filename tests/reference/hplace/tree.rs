//! XML documents whose elements can be changed, dropped and put into another order.

use std::fmt::Write;

/// An element with everything inside. Text between elements is left out, as CIBs have none.
#[derive(Debug, Clone)]
pub struct Element {
    pub tag: String,
    pub attributes: Vec<Attribute>,
    pub children: Vec<Element>,
}

#[derive(Debug, Clone)]
pub struct Attribute {
    pub name: String,
    pub value: String,
}

/// The way to an element: the position of a child in each element from the root on.
pub type Path = Vec<usize>;

impl Element {
    /// Reads a document; `None` if it is no XML.
    pub fn read(text: &str) -> Option<Element> {
        let document = roxmltree::Document::parse(text).ok()?;
        Some(Element::of(document.root_element()))
    }

    /// An element with attributes and nothing inside.
    pub fn new(tag: &str, attributes: &[(&str, &str)]) -> Element {
        let attribute =
            |(name, value): &(&str, &str)| Attribute { name: (*name).to_owned(), value: (*value).to_owned() };
        Element {
            tag: tag.to_owned(),
            attributes: attributes.iter().map(attribute).collect(),
            children: Vec::new(),
        }
    }

    /// The first element inside with a tag, at any depth.
    pub fn find(&mut self, tag: &str) -> Option<&mut Element> {
        let path = self.paths().into_iter().find(|path| self.at(path).tag == tag)?;
        Some(self.at_mut(&path))
    }

    fn of(node: roxmltree::Node) -> Element {
        let attribute = |one: roxmltree::Attribute| Attribute {
            name: one.name().to_owned(),
            value: one.value().to_owned(),
        };
        Element {
            tag: node.tag_name().name().to_owned(),
            attributes: node.attributes().map(attribute).collect(),
            children: node.children().filter(roxmltree::Node::is_element).map(Element::of).collect(),
        }
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|attribute| attribute.name == name)?;
        Some(&found.value)
    }

    /// The ways to all elements inside.
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        for (at, child) in self.children.iter().enumerate() {
            paths.push(vec![at]);
            paths.extend(child.paths().into_iter().map(|rest| [vec![at], rest].concat()));
        }
        paths
    }

    /// The element at the end of a way.
    pub fn at(&self, path: &[usize]) -> &Element {
        path.iter().fold(self, |element, at| &element.children[*at])
    }

    /// The same, to be changed.
    pub fn at_mut(&mut self, path: &[usize]) -> &mut Element {
        path.iter().fold(self, |element, at| &mut element.children[*at])
    }

    /// Calls a function for this element and all inside.
    pub fn each<'a>(&'a self, call: &mut impl FnMut(&'a Element)) {
        call(self);
        for child in &self.children {
            child.each(call);
        }
    }

    /// The document's text, an element on each line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        let _ = write!(text, "<{}", self.tag);
        for Attribute { name, value } in &self.attributes {
            let _ = write!(text, r#" {name}="{}""#, escaped(value));
        }
        if self.children.is_empty() {
            text.push_str("/>\n");
            return;
        }
        text.push_str(">\n");
        for child in &self.children {
            child.write(text);
        }
        let _ = writeln!(text, "</{}>", self.tag);
    }
}

fn escaped(value: &str) -> String {
    let escape = |letter: char| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\n' | '\r' | '\t' => format!("&#{};", u32::from(letter)),
        letter => letter.to_string(),
    };
    value.chars().map(escape).collect()
}
