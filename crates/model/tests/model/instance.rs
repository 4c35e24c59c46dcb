//! Data that copies of instances share.

use std::sync::Arc;

use htools_model::{Draft, Instance, Mib};
use htools_testkit::shared;

#[test]
fn copies_share_what_stays_the_same() {
    assert!(size_of::<Instance>() <= 48, "a draft of a million instances takes as many MiB");
    let cluster = shared(&[(9, 4)], &[(0, 2, 1)]);
    let mut draft = Draft::of(&cluster).into_cluster();
    assert!(Arc::ptr_eq(&draft.instances[0].details, &cluster.instances[0].details));
    draft.instances[0].details_mut().mem = Mib(7);
    assert_eq!(cluster.instances[0].mem, Mib(1024));
}
