//! Expressions for the usual exporters.

use std::collections::BTreeMap;

use htools_model::words;

use super::LoadResource;

words!(
    /// Exporter whose metrics are asked for.
    #[derive(Default)]
    pub ExporterPreset, "exporter" {
        /// Exporters of libvirt, by the domain.
        #[default]
        Libvirt = "libvirt",
        /// The node exporter in the instances, by the host in the address.
        Node = "node",
        /// The process exporter on the nodes, with a group for each KVM process, by the name of the group.
        Process = "process",
        /// Load that recording rules have prepared, for large clusters; by the instance.
        Recorded = "recorded",
        /// Their hourly means, four times as fast to read for windows of days.
        RecordedHourly = "recorded-hourly",
    }
);

impl ExporterPreset {
    /// The label with the instance.
    pub fn label(self) -> &'static str {
        match self {
            ExporterPreset::Libvirt => "domain",
            ExporterPreset::Node => "instance",
            ExporterPreset::Process => "groupname",
            ExporterPreset::Recorded | ExporterPreset::RecordedHourly => "guest",
        }
    }

    /// The part of the label that is the instance's name, as a regular expression.
    pub fn pattern(self) -> Option<&'static str> {
        match self {
            // The address has a port.
            ExporterPreset::Node => Some(r"^(.+?)(?::\d+)?$"),
            ExporterPreset::Libvirt
            | ExporterPreset::Process
            | ExporterPreset::Recorded
            | ExporterPreset::RecordedHourly => None,
        }
    }

    /// The expression for each resource that the exporter knows.
    pub fn expressions(self) -> BTreeMap<LoadResource, String> {
        use LoadResource::{Cpu, Disk, Memory, Network};
        let rate = |metric: &str| format!("rate({metric}[{{range}}])");
        let both = |one: &str, other: &str| format!("{} + {}", rate(one), rate(other));
        let found: Vec<(LoadResource, String)> = match self {
            ExporterPreset::Libvirt => vec![
                (Cpu, rate("libvirt_domain_info_cpu_time_seconds_total")),
                (Memory, "libvirt_domain_info_memory_usage_bytes".to_owned()),
                (
                    Disk,
                    both(
                        "libvirt_domain_block_stats_read_bytes_total",
                        "libvirt_domain_block_stats_write_bytes_total",
                    ),
                ),
                (
                    Network,
                    both(
                        "libvirt_domain_interface_stats_receive_bytes_total",
                        "libvirt_domain_interface_stats_transmit_bytes_total",
                    ),
                ),
            ],
            ExporterPreset::Node => vec![
                (Cpu, rate(r#"node_cpu_seconds_total{mode!~"idle|iowait|steal"}"#)),
                (Memory, "node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes".to_owned()),
                (Disk, both("node_disk_read_bytes_total", "node_disk_written_bytes_total")),
                (
                    Network,
                    both(
                        r#"node_network_receive_bytes_total{device!="lo"}"#,
                        r#"node_network_transmit_bytes_total{device!="lo"}"#,
                    ),
                ),
            ],
            ExporterPreset::Recorded | ExporterPreset::RecordedHourly => {
                let end = if self == ExporterPreset::Recorded { "" } else { ":1h" };
                let named = |(resource, name): (LoadResource, &str)| (resource, format!("guest:{name}{end}"));
                let names = [(Cpu, "cpu"), (Memory, "memory"), (Disk, "disk"), (Network, "network")];
                names.map(named).into()
            }
            ExporterPreset::Process => vec![
                (Cpu, rate("namedprocess_namegroup_cpu_seconds_total")),
                (Memory, r#"namedprocess_namegroup_memory_bytes{memtype="resident"}"#.to_owned()),
                (
                    Disk,
                    both(
                        "namedprocess_namegroup_read_bytes_total",
                        "namedprocess_namegroup_write_bytes_total",
                    ),
                ),
            ],
        };
        found.into_iter().collect()
    }
}
