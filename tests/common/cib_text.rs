//! Pieces of CIBs, for tests and benches that make them up.

use std::fmt::Write;

/// The agent of resources that do nothing.
pub const DUMMY: &str = r#"class="ocf" provider="pacemaker" type="Dummy""#;
/// The agent of a fencing device.
pub const FENCING: &str = r#"class="stonith" type="fence_sbd""#;

/// Begins a CIB; the node with this id is the designated controller.
pub fn begin(xml: &mut String, coordinator: usize) {
    let _ = writeln!(
        xml,
        r#"<cib crm_feature_set="3.16.1" validate-with="pacemaker-3.9" epoch="1" num_updates="0" admin_epoch="0" have-quorum="1" dc-uuid="{coordinator}"><configuration>"#
    );
}

/// A set of name-value pairs, if there are any.
pub fn attributes(xml: &mut String, element: &str, id: &str, pairs: &[(&str, String)]) {
    if pairs.is_empty() {
        return;
    }
    let _ = write!(xml, r#"<{element} id="{id}-{element}">"#);
    for (name, value) in pairs {
        let _ = write!(xml, r#"<nvpair id="{id}-{element}-{name}" name="{name}" value="{value}"/>"#);
    }
    let _ = write!(xml, "</{element}>");
}

/// History of a resource, given by id and agent, on a host: it was started there, or probed and found not to run.
pub fn history(xml: &mut String, call: usize, (id, agent): (&str, &str), host: &str, active: bool) {
    let (operation, code) = if active { ("start", 0) } else { ("monitor", 7) };
    let uuid = "00000000-0000-0000-0000-000000000000";
    let _ = write!(
        xml,
        r#"<lrm_resource id="{id}" {agent}><lrm_rsc_op id="{id}_last_0" operation_key="{id}_{operation}_0" operation="{operation}" crm_feature_set="3.16.1" transition-key="{call}:1:{code}:{uuid}" transition-magic="0:{code};{call}:1:{code}:{uuid}" exit-reason="" on_node="{host}" call-id="{call}" rc-code="{code}" op-status="0" interval="0" op-digest="f2317cad3d54cec5d7d7aa7d0bf35cf8"/></lrm_resource>"#
    );
}
