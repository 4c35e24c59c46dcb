//! Parameters of the resources that a bundle brings with it, and the plan of its containers.

use roxmltree::Node;

use super::super::number::is_true;
use super::document::{child, children};

/// Parameters of a resource, by name.
pub(super) type ImpliedParameters = Vec<(&'static str, String)>;

/// Port of the nodes in containers, unless the network has another.
const USUAL_PORT: &str = "3121";
const KEY: &str = "/etc/pacemaker/authkey";
const LOGS: &str = "/var/log";
const BUNDLE_LOGS: &str = "/var/log/pacemaker/bundles";
const REMOTE_DAEMON: &str = "/usr/sbin/pacemaker-remoted";

/// A container as the bundle's element describes it.
#[derive(Debug, Clone)]
pub(super) struct ContainerPlan<'a, 'i> {
    /// Name of the bundle.
    pub(super) bundle: &'a str,
    /// The element of the container.
    pub(super) container: Node<'a, 'i>,
    pub(super) network: Option<Node<'a, 'i>>,
    pub(super) storage: Option<Node<'a, 'i>>,
    /// Number of replicas.
    pub(super) replicas: usize,
    /// True if there is a resource inside.
    pub(super) has_inner: bool,
}

impl<'a> ContainerPlan<'a, '_> {
    fn of_network(&self, name: &str) -> Option<&'a str> {
        self.network.and_then(|network| network.attribute(name))
    }

    pub(super) fn port(&self) -> &'a str {
        self.of_network("control-port").unwrap_or(USUAL_PORT)
    }

    /// The address of a replica. Addresses follow each other in the last number.
    pub(super) fn address(&self, number: usize) -> Option<String> {
        let (net, first) = self.of_network("ip-range-start")?.rsplit_once('.')?;
        let last = first.parse::<usize>().ok()?.checked_add(number)?;
        Some(format!("{net}.{last}"))
    }

    pub(super) fn address_parameters(&self, address: &str) -> ImpliedParameters {
        let mut pairs = vec![("ip", address.to_owned())];
        pairs.extend(self.of_network("host-interface").map(|nic| ("nic", nic.to_owned())));
        pairs.push(("cidr_netmask", self.of_network("host-netmask").unwrap_or("32").to_owned()));
        pairs
    }

    /// Parameters of the container with a number.
    pub(super) fn container_parameters(&self, number: usize) -> ImpliedParameters {
        let text = |name: &str| self.container.attribute(name);
        let (options, mounts) = self.options(number);
        let mut pairs = vec![
            ("image", text("image").unwrap_or_default().to_owned()),
            ("allow_pull", "true".to_owned()),
            ("force_kill", "false".to_owned()),
            ("reuse", "false".to_owned()),
            ("run_opts", options),
            ("mount_points", mounts.join(",")),
            ("monitor_cmd", "/bin/true".to_owned()),
        ];
        let command = text("run-command").or(self.has_inner.then_some(REMOTE_DAEMON));
        pairs.extend(command.map(|command| ("run_cmd", command.to_owned())));
        pairs
    }

    /// Options with which a container is run, and the directories that exist for it alone.
    fn options(&self, number: usize) -> (String, Vec<String>) {
        let name = format!("{}-{number}", self.bundle);
        let address = self.address(number);
        let mut options = String::from(" ");
        if self.container.has_tag_name("docker") {
            options.push_str("--restart=no ");
        }
        if address.is_some() {
            options.push_str(&format!("-h {name} "));
        }
        options.push_str("-e PCMK_stderr=1 ");
        if let Some(network) = self.container.attribute("network") {
            options.push_str(&format!("--net={network} "));
        }
        options.push_str(&format!("-e PCMK_remote_port={} ", self.port()));
        let mut mounts = Vec::new();
        let mut is_taken = false;
        let mappings = self.storage.into_iter().flat_map(|storage| children(storage, "storage-mapping"));
        for mapping in mappings {
            let target = mapping.attribute("target-dir").unwrap_or_default();
            let source = match (mapping.attribute("source-dir-root"), mapping.attribute("source-dir")) {
                (Some(root), _) => {
                    let own = format!("{root}/{name}");
                    mounts.push(own.clone());
                    own
                }
                (None, plain) => plain.unwrap_or_default().to_owned(),
            };
            is_taken |= target == LOGS;
            let mode = mapping.attribute("options").map(|mode| format!(":{mode}")).unwrap_or_default();
            options.push_str(&format!("-v {source}:{target}{mode} "));
        }
        if self.has_inner {
            options.push_str(&format!("-v {KEY}:{KEY} "));
            if !is_taken {
                mounts.push(format!("{BUNDLE_LOGS}/{name}"));
                options.push_str(&format!("-v {BUNDLE_LOGS}/{name}:{LOGS} "));
            }
        }
        self.add_ports(&mut options, address.as_deref());
        if let Some(more) = self.container.attribute("options") {
            options.push_str(&format!("{more} "));
        }
        let adds = self.of_network("add-host").is_none_or(is_true);
        // Each container knows all others.
        for other in 0..self.replicas {
            let name = format!("{}-{other}", self.bundle);
            match self.address(other) {
                Some(address) if adds => options.push_str(&format!(" --add-host={name}:{address}")),
                Some(address) => options.push_str(&format!(" --hosts-entry={address}={name}")),
                None => {}
            }
        }
        (options, mounts)
    }

    /// Adds the ports of a container. With the network of its host, it has none of its own.
    fn add_ports(&self, options: &mut String, address: Option<&str>) {
        if self.container.attribute("network") == Some("host") {
            return;
        }
        let prefix = address.map(|address| format!("{address}:")).unwrap_or_default();
        let mappings = self.network.into_iter().flat_map(|network| children(network, "port-mapping"));
        for mapping in mappings {
            let outer = mapping.attribute("port").or_else(|| mapping.attribute("range"));
            let Some(outer) = outer else { continue };
            let inner = mapping.attribute("internal-port").unwrap_or(outer);
            options.push_str(&format!("-p {prefix}{outer}:{inner} "));
        }
        if self.has_inner {
            options.push_str(&format!("-p {prefix}{0}:{0} ", self.port()));
        }
    }
}

/// The container of a bundle, if it is of a supported kind.
pub(super) fn container<'a, 'i>(bundle: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
    ["podman", "docker"].into_iter().find_map(|kind| child(bundle, kind))
}
