//! Clusters that are nearly full, so that hspace must try every size and the loss of every node.

use htools::generate::{ClusterSpec, TemplateMix};
use htools::tools::generate::GeneratedText;

use super::Case;

/// The cases of hspace.
pub fn cases() -> Vec<Case> {
    let case = |title, command, before, most, heterogeneous| Case {
        title,
        command,
        cluster: full(heterogeneous),
        before,
        most,
    };
    let equal = "1,000/10,000 ext, equal nodes, 97 % full";
    let different = "1,000/10,000 ext, different nodes, 97 % full";
    vec![
        case(equal, "hspace --disk-template ext", "> 180 s", 10.0, false),
        case(different, "hspace --disk-template ext", "> 180 s", 10.0, true),
        case(equal, "hspace --disk-template plain", "> 180 s", 10.0, false),
        case(different, "hspace --disk-template drbd", "> 30 s", 10.0, true),
    ]
}

/// A cluster whose nodes have almost no free memory.
fn full(heterogeneous: bool) -> String {
    let spec = ClusterSpec::new(1000, 10_000, TemplateMix::Ext, 1);
    let made = GeneratedText::new(&ClusterSpec { fill: 0.97, heterogeneous, ..spec });
    // This kind of cluster can always be made.
    made.map(|made| made.text).unwrap_or_default()
}
