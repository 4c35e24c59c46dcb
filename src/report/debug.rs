//! Dumps that the reference prints at high verbosity, in its notation.

use std::fmt::Write;

use crate::model::number::plain;
use crate::model::{Cluster, DiskTemplate, InstancePolicy, InstanceSpec, NodeIdx, PolicyHealth};
use crate::search::place::Targets;

/// Names of the control characters 0 to 31.
const CONTROL: [&str; 32] = [
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "a", "b", "t", "n", "v", "f", "r", "SO", "SI", "DLE",
    "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US",
];

/// A text in quotes, with everything but printable ASCII escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            ' '..='~' => out.push(c),
            '\u{7f}' => out.push_str("\\DEL"),
            _ if (c as u32) < 32 => {
                let name = CONTROL[c as usize];
                let _ = write!(out, "\\{name}");
                // "\SO" before an H would be read as "\SOH".
                if name == "SO" && chars.peek() == Some(&'H') {
                    out.push_str("\\&");
                }
            }
            _ => {
                let _ = write!(out, "\\{}", c as u32);
                if chars.peek().is_some_and(char::is_ascii_digit) {
                    out.push_str("\\&");
                }
            }
        }
    }
    out.push('"');
    out
}

pub(crate) fn list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<String> = texts.map(quoted).collect();
    format!("[{}]", texts.join(","))
}

/// Candidate places for new instances by node numbers: single nodes, or each primary with its secondaries. `pairs`
/// chooses the form if there are none.
pub(crate) fn targets(cluster: &Cluster, targets: Option<&Targets>, pairs: bool) -> String {
    let numbers = |nodes: &[NodeIdx]| {
        let numbers: Vec<String> = nodes.iter().map(|n| cluster.node_number(*n).to_string()).collect();
        format!("[{}]", numbers.join(","))
    };
    match targets {
        None if pairs => "Right []".to_owned(),
        None => "Left []".to_owned(),
        Some(Targets::Singles(nodes)) => format!("Left {}", numbers(nodes)),
        Some(targets) => {
            let pair = |primary: &NodeIdx| {
                let secondaries: Vec<NodeIdx> = targets.partners(cluster, *primary).collect();
                format!("({},{})", cluster.node_number(*primary), numbers(&secondaries))
            };
            let pairs: Vec<String> = targets.primaries().iter().map(pair).collect();
            format!("Right [{}]", pairs.join(","))
        }
    }
}

/// State of nodes against their policies.
pub(crate) fn policy_status<'a>(nodes: impl Iterator<Item = (&'a str, PolicyHealth)>) -> String {
    let verdict = |health| match health {
        PolicyHealth::Fine => "Ok ()",
        PolicyHealth::TooManySpindles => "Bad FailDisk",
        PolicyHealth::TooManyCpus => "Bad FailCPU",
    };
    let pairs: Vec<String> = nodes.map(|(name, h)| format!("({},{})", quoted(name), verdict(h))).collect();
    format!("[{}]", pairs.join(","))
}

pub(crate) fn policy(policy: &InstancePolicy) -> String {
    let ranges: Vec<String> = policy
        .ranges
        .iter()
        .map(|r| {
            let (min, max) = (spec(&r.min), spec(&r.max));
            format!("MinMaxISpecs {{minMaxISpecsMinSpec = {min}, minMaxISpecsMaxSpec = {max}}}")
        })
        .collect();
    let templates: Vec<&str> = policy.disk_templates.iter().map(|t| template(*t)).collect();
    format!(
        "IPolicy {{iPolicyMinMaxISpecs = [{}], iPolicyStdSpec = {}, iPolicyDiskTemplates = [{}], \
         iPolicyVcpuRatio = {}, iPolicySpindleRatio = {}}}",
        ranges.join(","),
        spec(&policy.std),
        templates.join(","),
        plain(policy.vcpu_ratio),
        plain(policy.spindle_ratio)
    )
}

fn spec(s: &InstanceSpec) -> String {
    format!(
        "ISpec {{iSpecMemorySize = {}, iSpecCpuCount = {}, iSpecDiskSize = {}, iSpecDiskCount = {}, \
         iSpecNicCount = {}, iSpecSpindleUse = {}}}",
        s.memory.0, s.cpus, s.disk_size.0, s.disk_count, s.nic_count, s.spindle_use
    )
}

fn template(t: DiskTemplate) -> &'static str {
    match t {
        DiskTemplate::Diskless => "DTDiskless",
        DiskTemplate::File => "DTFile",
        DiskTemplate::SharedFile => "DTSharedFile",
        DiskTemplate::Plain => "DTPlain",
        DiskTemplate::BlockDev => "DTBlock",
        DiskTemplate::Drbd => "DTDrbd8",
        DiskTemplate::Rbd => "DTRbd",
        DiskTemplate::Ext => "DTExt",
        DiskTemplate::Gluster => "DTGluster",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(quoted("né1\"\\\t0\u{7f}5"), r#""n\233\&1\"\\\t0\DEL5""#);
        assert_eq!(quoted("n\u{200b}7"), r#""n\8203\&7""#);
        assert_eq!(quoted("\u{e}H\u{e}I"), r#""\SO\&H\SOI""#);
    }
}
