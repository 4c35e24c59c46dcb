//! Tags without effect.

use htools::load::tag_review::{Owner, Reason, idle_tags};
use htools::model::key_tags::KeyTagFault;
use htools_testkit::cluster;

#[test]
fn tags_that_do_nothing_are_found() {
    let cluster = cluster(
        &[
            "a|9000|0|9000|9000|9000|9|M|u|1|rack:1,v:1,htools:standby:auto,htools:switched:5,htools:pool:ssd",
            "b|9000|0|9000|9000|9000|9|N|u|1|rack:2,v:2,htools:iextags:x,htools:pool:",
        ],
        &["i|0|0|1|ADMIN_down|Y|a||ext|s:x,htools:own:1,htools:odd,htools:pool:ssd,htools:switched:5"],
        &[
            "htools:iextags:s:",
            "htools:iextags:none",
            "htools:iextags:",
            "htools:iextag:s",
            "htools:iextags:htools:own:",
            "htools:nlocation:rack",
            "htools:desiredlocation:rack",
            "htools:migration:v",
            "htools:allowmigration:v:1::v:2",
            "htools:allowmigration:v:1::v:9",
            "htools:allowmigration:v:1",
            "htools:intergroup:deny",
            "other",
        ],
    );
    let found = idle_tags(&cluster);
    let shown: Vec<_> = found.iter().map(|t| (&t.owner, t.tag.as_str(), t.reason)).collect();
    use Reason::{Malformed, Unknown, Unused};
    let (b, i) = (Owner::Node("b".into()), Owner::Instance("i".into()));
    assert_eq!(
        shown,
        [
            (&Owner::Cluster, "htools:iextags:none", Unused),
            (&Owner::Cluster, "htools:iextags:", Malformed),
            (&Owner::Cluster, "htools:iextag:s", Unknown),
            (&Owner::Cluster, "htools:desiredlocation:rack", Unused),
            (&Owner::Cluster, "htools:allowmigration:v:1::v:9", Unused),
            (&Owner::Cluster, "htools:allowmigration:v:1", Malformed),
            (&b, "htools:iextags:x", Unknown),
            (&b, "htools:pool:", Unknown),
            (&i, "htools:odd", Unknown),
            (&i, "htools:switched:5", Unknown),
        ]
    );
}

#[test]
fn tags_that_are_no_keys_are_found() {
    let cluster = cluster(
        &["a|9000|0|9000|9000|9000|9|N|u|1|htools:key:ds:1,htools:key:x,htools:key:system:a:1:1"],
        &["i|0|0|1|running|Y|a||ext|htools:key:customer:a:1:1,htools:key:customer:a:2:1,htools:key:b:1"],
        &["htools:key:system:_a:1:1", "htools:key:customer:_a:1:NaN", "htools:key:customer:_b:1:1"],
    );
    let found = idle_tags(&cluster);
    let shown: Vec<_> = found.iter().map(|t| (t.tag.as_str(), t.reason)).collect();
    use KeyTagFault::{Contradiction, Form, Misplaced, Name, Number};
    assert_eq!(
        shown,
        [
            ("htools:key:system:_a:1:1", Reason::Key(Name('_'))),
            ("htools:key:customer:_a:1:NaN", Reason::Key(Number("weight"))),
            ("htools:key:x", Reason::Key(Form)),
            ("htools:key:system:a:1:1", Reason::Key(Misplaced)),
            ("htools:key:customer:a:1:1", Reason::Key(Contradiction)),
            ("htools:key:customer:a:2:1", Reason::Key(Contradiction)),
            ("htools:key:b:1", Reason::Key(Misplaced)),
        ]
    );
}
