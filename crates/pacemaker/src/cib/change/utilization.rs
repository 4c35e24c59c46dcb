//! Changes of utilization, to examine their consequences.

use std::collections::HashMap;

use super::{at_end, attribute};
use crate::cib::document::{self, child, id};
use htools_ganeti::input::error::Result;

/// Beginning of the ids of added sets, with more hyphens if the document has such ids.
const SET: &str = "measured-";

/// An amount of a primitive that counts in place of the configured one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedUtilization {
    /// Id of the primitive.
    pub primitive: String,
    /// Name of the utilization attribute.
    pub attribute: String,
    /// The amount in the document.
    pub configured: i64,
    /// The amount that counts.
    pub counted: i64,
}

/// The document with other amounts of utilization. Each primitive gets one more set of values, which comes before all
/// others by its score; so templates, and sets to which several primitives refer, stay as they are.
///
/// # Errors
/// Fails if it is no document of a cluster.
pub fn with_utilization(text: &str, source: &str, counted: &[CountedUtilization]) -> Result<String> {
    let document = document::parse(text, source)?;
    let root = document.root_element();
    let mut prefix = SET.to_owned();
    while root.descendants().any(|node| id(node).starts_with(&prefix)) {
        prefix.push('-');
    }
    let mut by_primitive: HashMap<&str, Vec<&CountedUtilization>> = HashMap::new();
    for one in counted {
        by_primitive.entry(&one.primitive).or_default().push(one);
    }
    let resources = child(root, "configuration").and_then(|configuration| child(configuration, "resources"));
    let nodes = resources.into_iter().flat_map(|resources| resources.descendants());
    let primitives = nodes.filter(|node| node.has_tag_name("primitive"));
    let found = primitives.filter_map(|node| by_primitive.get(id(node)).map(|amounts| (node, amounts)));
    // Elements come in the order of the document, and none is in another one.
    let (mut changed, mut done) = (String::with_capacity(text.len()), 0);
    for (at, (node, amounts)) in found.enumerate() {
        let (range, new) = at_end(node, text, &set(&format!("{prefix}{at}"), amounts));
        changed.push_str(&text[done..range.start]);
        changed.push_str(&new);
        done = range.end;
    }
    changed.push_str(&text[done..]);
    Ok(changed)
}

/// The element with these amounts.
fn set(id: &str, amounts: &[&CountedUtilization]) -> String {
    let pair = |(at, one): (usize, &&CountedUtilization)| {
        let (name, value) = (attribute(&one.attribute), one.counted);
        format!(r#"<nvpair id="{id}-{at}" name="{name}" value="{value}"/>"#)
    };
    let pairs: String = amounts.iter().enumerate().map(pair).collect();
    format!(r#"<utilization id="{id}" score="INFINITY">{pairs}</utilization>"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cib::sized_primitives;

    fn counted(primitive: &str, attribute: &str, counted: i64) -> CountedUtilization {
        let (primitive, attribute) = (primitive.to_owned(), attribute.to_owned());
        CountedUtilization { primitive, attribute, configured: 0, counted }
    }

    #[test]
    fn amounts_count_before_all_others() {
        let text = r#"<cib have-quorum="1"><configuration><nodes><node id="measured-1" uname="a"/></nodes><resources>
            <template id="t" class="ocf" type="x"><utilization id="u" score="INFINITY"><nvpair id="u1" name="cpu" value="2"/></utilization></template>
            <group id="g"><primitive id="x" template="t"/><primitive id="y" class="ocf" type="x"><utilization id="v" score="INFINITY">
            <nvpair id="v1" name="cpu" value="3"/><nvpair id="v2" name="ram" value="5"/></utilization></primitive></group>
            <primitive id="z" class="ocf" type="x"><utilization id-ref="u"/></primitive></resources><constraints/></configuration></cib>"#;
        let made = with_utilization(
            text,
            "t",
            &[counted("y", "cpu", 7), counted("x", "cpu", 9), counted("x", "\"", 1)],
        )
        .unwrap();
        assert!(made.contains(
            r#"<primitive id="x" template="t"><utilization id="measured--0" score="INFINITY"><nvpair id="measured--0-0" name="cpu" value="9"/><nvpair id="measured--0-1" name="&quot;" value="1"/></utilization></primitive>"#
        ));
        let amounts = |at: usize| sized_primitives(&made, "t").unwrap()[at].utilization.clone();
        assert_eq!(amounts(0), [("cpu".to_owned(), 9), ("\"".to_owned(), 1)].into());
        assert_eq!(amounts(1), [("cpu".to_owned(), 7), ("ram".to_owned(), 5)].into());
        assert_eq!(amounts(2), [("cpu".to_owned(), 2)].into());
        assert_eq!(with_utilization(text, "t", &[]).unwrap(), text);
        assert!(with_utilization("<nodes/>", "t", &[]).is_err());
    }
}
