//! The tools that are compared.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    Hbal,
    Hinfo,
    Hail,
    Hspace,
    Hcheck,
    Hroller,
    Hscan,
    Hsqueeze,
    Harep,
}

impl Tool {
    pub const ALL: [Tool; 9] = [
        Tool::Hbal,
        Tool::Hinfo,
        Tool::Hail,
        Tool::Hspace,
        Tool::Hcheck,
        Tool::Hroller,
        Tool::Hscan,
        Tool::Hsqueeze,
        Tool::Harep,
    ];

    pub fn named(name: &str) -> Option<Tool> {
        Tool::ALL.into_iter().find(|tool| tool.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Tool::Hbal => "hbal",
            Tool::Hinfo => "hinfo",
            Tool::Hail => "hail",
            Tool::Hspace => "hspace",
            Tool::Hcheck => "hcheck",
            Tool::Hroller => "hroller",
            Tool::Hscan => "hscan",
            Tool::Hsqueeze => "hsqueeze",
            Tool::Harep => "harep",
        }
    }

    /// All long options of the reference. An abbreviation must be a prefix of only one.
    pub fn long_options(self) -> impl Iterator<Item = &'static str> {
        let all = match self {
            Tool::Hbal => HBAL,
            Tool::Hinfo => HINFO,
            Tool::Hail => HAIL,
            Tool::Hspace => HSPACE,
            Tool::Hcheck => HCHECK,
            Tool::Hroller => HROLLER,
            Tool::Hscan => HSCAN,
            Tool::Hsqueeze => HSQUEEZE,
            Tool::Harep => HAREP,
        };
        all.split(' ')
    }
}

const HBAL: &str = "print-nodes print-instances print-commands text-data evac-mode restricted-migration master luxi \
    ialloc-src exec first-job-group reason group max-length verbose quiet offline static-kvm-node-memory \
    min-score max-cpu min-disk min-gain min-gain-limit no-disk-moves select-instances no-instance-moves \
    ignore-soft-errors dynu-file ignore-dynu mond mond-data exit-on-missing-mond-data mond-xen \
    exclusion-tags exclude-instances save priority version help help-completion";

const HINFO: &str = "print-nodes print-instances text-data master luxi ialloc-src verbose quiet offline ignore-dynu mond \
    mond-data static-kvm-node-memory version help help-completion";

const HAIL: &str = "print-nodes save text-data simulate verbose ignore-dynu ignore-soft-errors no-capacity-checks \
    restrict-allocation-to mond mond-xen static-kvm-node-memory version help help-completion";

const HSPACE: &str = "print-nodes text-data disk-template spindle-use simulate master luxi ialloc-src verbose quiet \
    independent-groups accept-existing-errors offline no-capacity-checks machine-readable max-cpu \
    max-length min-disk standard-alloc tiered-alloc save static-kvm-node-memory version help \
    help-completion";

const HCHECK: &str = "text-data no-disk-moves dynu-file ignore-dynu evac-mode exclude-instances exclusion-tags \
    ialloc-src no-instance-moves luxi machine-readable max-cpu max-length min-disk min-gain min-gain-limit \
    min-score ignore-soft-errors no-simulation offline quiet master select-instances no-capacity-checks \
    verbose version help help-completion";
const HROLLER: &str = "luxi master text-data ialloc-src offline offline-maintenance verbose quiet no-headers node-tags save \
    group print-moves full-evacuation skip-non-redundant ignore-non-redundant force one-step-only \
    static-kvm-node-memory version help help-completion";
const HSCAN: &str =
    "print-nodes output-dir luxi verbose no-headers static-kvm-node-memory version help help-completion";
const HSQUEEZE: &str = "luxi text-data exec minimal-resources target-resources save print-commands verbose no-headers \
    static-kvm-node-memory version help help-completion";
const HAREP: &str = "luxi job-delay reason dry-run version help help-completion";
