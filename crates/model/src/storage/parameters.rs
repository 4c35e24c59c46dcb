//! Disk parameters that Ganeti exports for the external storage of a group.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::kinds::DiskTemplate;

/// Characters that are kept in a host name. All others are encoded, so that the end of the name is unambiguous.
const HOST: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// The disk parameters of a node group that locate its external storage. The default has Ganeti's values, and is used
/// if a source does not give any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskParameters {
    /// The Ceph pool of rbd disks.
    pub rbd_pool: String,
    /// The volume of gluster disks.
    pub gluster: GlusterVolume,
}

/// A Gluster volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlusterVolume {
    /// The server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The name of the volume there.
    pub volume: String,
}

impl Default for DiskParameters {
    fn default() -> Self {
        DiskParameters { rbd_pool: "rbd".to_owned(), gluster: GlusterVolume::default() }
    }
}

impl Default for GlusterVolume {
    fn default() -> Self {
        GlusterVolume { host: "127.0.0.1".to_owned(), port: 24007, volume: "gv0".to_owned() }
    }
}

impl DiskParameters {
    /// Name of the pool of a disk template that no tag names. With Ganeti's default parameters it is the template's
    /// name, or else `rbd:POOL` or `gluster:HOST:PORT/VOLUME`. IPv6 addresses are in brackets.
    pub(crate) fn pool_name(&self, template: DiskTemplate) -> String {
        let usual = DiskParameters::default();
        match template {
            DiskTemplate::Rbd if self.rbd_pool != usual.rbd_pool => format!("{template}:{}", self.rbd_pool),
            DiskTemplate::Gluster if self.gluster != usual.gluster => {
                let GlusterVolume { host, port, volume } = &self.gluster;
                let encoded = utf8_percent_encode(host, HOST).to_string();
                let host = if host.contains(':') { format!("[{encoded}]") } else { encoded };
                format!("{template}:{host}:{port}/{volume}")
            }
            _ => template.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gluster(host: &str, port: u16, volume: &str) -> String {
        let gluster = GlusterVolume { host: host.to_owned(), port, volume: volume.to_owned() };
        DiskParameters { gluster, ..DiskParameters::default() }.pool_name(DiskTemplate::Gluster)
    }

    #[test]
    fn defaults_are_called_as_the_template() {
        for template in DiskTemplate::ALL {
            assert_eq!(DiskParameters::default().pool_name(*template), template.as_str());
        }
        let rbd = DiskParameters { rbd_pool: "ssd".to_owned(), ..DiskParameters::default() };
        let names = [DiskTemplate::Rbd, DiskTemplate::Gluster, DiskTemplate::Ext].map(|t| rbd.pool_name(t));
        assert_eq!(names, ["rbd:ssd", "gluster", "ext"]);
        assert_eq!(gluster("127.0.0.1", 24007, "gv0"), "gluster");
    }

    #[test]
    fn different_volumes_have_different_names() {
        assert_eq!(gluster("store.example.com", 24007, "vms"), "gluster:store.example.com:24007/vms");
        assert_eq!(gluster("127.0.0.1", 24007, "gv1"), "gluster:127.0.0.1:24007/gv1");
        assert_eq!(gluster("fd00::1", 24008, "gv0"), "gluster:[fd00::1]:24008/gv0");
        // Without encoding, all of these would be gluster:a:1/b:2/c.
        assert_eq!(gluster("a", 1, "b:2/c"), "gluster:a:1/b:2/c");
        assert_eq!(gluster("a:1/b", 2, "c"), "gluster:[a:1%2Fb]:2/c");
        assert_eq!(gluster("[a]", 1, "c"), "gluster:%5Ba%5D:1/c");
    }
}
