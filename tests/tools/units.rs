//! Units of systemd and files of cron in `data/units`: they are hardened, complete, packaged and documented. `tests/package/run`
//! asks systemd itself.

use std::collections::BTreeSet;
use std::fs;

const DIRECTORY: &str = "data/units";

/// Settings that every service must have.
const HARDENED: [&str; 22] = [
    "NoNewPrivileges=yes",
    "ProtectSystem=strict",
    "PrivateTmp=yes",
    "PrivateDevices=yes",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "ProtectProc=invisible",
    "ProcSubset=pid",
    "LockPersonality=yes",
    "MemoryDenyWriteExecute=yes",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "SystemCallFilter=~@privileged @resources",
    "UMask=0077",
];

/// Names of the files with this ending, sorted.
fn files(ending: &str) -> Vec<String> {
    let names =
        fs::read_dir(DIRECTORY).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let found: BTreeSet<String> = names.filter(|name| name.ends_with(ending)).collect();
    assert!(!found.is_empty(), "no {ending} in {DIRECTORY}");
    found.into_iter().collect()
}

/// Settings of a unit: its lines without comments, continued lines joined.
fn settings(name: &str) -> Vec<String> {
    let text = fs::read_to_string(format!("{DIRECTORY}/{name}")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let joined = lines.join("\n").replace("\\\n", " ");
    joined.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Values of a setting, in the order of the unit.
fn values<'a>(unit: &'a [String], key: &str) -> Vec<&'a str> {
    unit.iter().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect()
}

/// Words of the command that a service runs, without the prefix that keeps `$` as it is.
fn command(unit: &[String]) -> Vec<&str> {
    let commands = values(unit, "ExecStart");
    assert_eq!(commands.len(), 1, "{commands:?}");
    commands[0].trim_start_matches(':').split(' ').collect()
}

#[test]
fn every_service_is_hardened() {
    for name in files(".service") {
        let unit = settings(&name);
        for line in HARDENED {
            assert!(unit.iter().any(|setting| setting == line), "{name} lacks {line}");
        }
        let runs_as_root = values(&unit, "DynamicUser").is_empty();
        let capabilities = if runs_as_root { "CAP_DAC_OVERRIDE" } else { "" };
        assert_eq!(values(&unit, "CapabilityBoundingSet"), [capabilities], "{name}");
        let home = values(&unit, "ProtectHome");
        assert!(home == ["yes"] || home == ["read-only"] && name.starts_with("hsqueeze"), "{name}: {home:?}");
        if runs_as_root {
            let text = fs::read_to_string(format!("{DIRECTORY}/{name}")).unwrap();
            assert!(text.contains("# These stay open: "), "{name} does not say what stays open");
            assert_eq!(values(&unit, "StateDirectory"), ["htools"], "{name}");
            assert_eq!(values(&unit, "Environment"), ["XDG_STATE_HOME=/var/lib"], "{name}");
            assert_eq!(
                values(&unit, "ExecCondition"),
                ["/usr/bin/test -S /run/ganeti/socket/ganeti-query"],
                "{name}"
            );
        }
    }
}

#[test]
fn every_timer_has_its_service() {
    let services = files(".service");
    for name in files(".timer") {
        let unit = settings(&name);
        let service = match values(&unit, "Unit")[..] {
            [] => name.replace(".timer", ".service"),
            [service] => service.to_owned(),
            _ => panic!("{name} names several units"),
        };
        assert!(services.contains(&service), "{name}: there is no {service}");
        assert_eq!(values(&unit, "WantedBy"), ["timers.target"], "{name}");
        assert_eq!(values(&unit, "OnCalendar").len(), 1, "{name}");
        // A service that a timer starts must not start at boot as well.
        assert!(!settings(&service).iter().any(|line| line == "[Install]"), "{service}");
    }
}

/// Each cron file runs the commands of the services of its tool.
#[test]
fn cron_and_systemd_run_the_same() {
    for name in files(".cron") {
        let tool = name.trim_end_matches(".cron");
        let text = fs::read_to_string(format!("{DIRECTORY}/{name}")).unwrap();
        let services: Vec<String> =
            files(".service").into_iter().filter(|service| service.starts_with(tool)).collect();
        assert!(!services.is_empty(), "{name} has no service");
        for service in services {
            let unit = settings(&service);
            let words = command(&unit).join(" ").replace("--group=%I", "--group=default");
            let line = format!("|| {words}");
            assert!(
                text.lines().any(|l| l.ends_with(&line) || l.ends_with(&format!("{line} >/dev/null"))),
                "{name} does not run what {service} runs: {words}"
            );
        }
    }
}

#[test]
fn the_group_of_hbal_comes_unescaped_and_as_one_word() {
    let unit = settings("hbal@.service");
    assert_eq!(command(&unit).iter().filter(|word| word.contains('%')).collect::<Vec<_>>(), [&"--group=%I"]);
    assert!(values(&unit, "ExecStart")[0].starts_with(":hbal "), "a $ in a group's name would be a variable");
}

#[test]
fn every_file_is_packaged_and_documented() {
    let manifest = fs::read_to_string("Cargo.toml").unwrap();
    for (ending, place) in [
        (".service", "usr/lib/systemd/system/"),
        (".timer", "usr/lib/systemd/system/"),
        (".cron", "usr/share/doc/htools/examples/"),
    ] {
        let asset = format!("[\"{DIRECTORY}/*{ending}\", \"{place}\", \"644\"],");
        assert!(manifest.contains(&asset), "Cargo.toml lacks {asset}");
    }
    let document = fs::read_to_string("docs/packaging.md").unwrap();
    let known = [".service", ".timer", ".cron"];
    for entry in fs::read_dir(DIRECTORY).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known.iter().any(|ending| name.ends_with(ending)), "{name} is in no asset");
        assert!(document.contains(&format!("`{name}`")), "docs/packaging.md does not mention {name}");
    }
}
