//! Compares the results of both sides: exit status, standard output, tables on standard error, saved states, and
//! written commands.

use std::fs;
use std::path::Path;

use super::cases::Case;
use super::hroller;
use super::hsqueeze;
use super::rules::{Rule, common_suffix, forthcoming_running, split_instances, without_total};
use super::run::Output;
use super::statistics::crashed;
use super::tools::Tool;
use super::{answers, harep_compare, hcheck, saved};

/// Result of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Identical bytes.
    Agree,
    /// Different only by a listed difference.
    Listed(Rule),
    /// Different, with the first difference.
    Differ(String),
}

/// Output of one side, in named parts.
type Parts = Vec<(&'static str, String)>;

/// Titles of the tables on standard error.
const TABLES: [&str; 10] = [
    "Initial instance map:",
    "Initial cluster status:",
    "Final instance map:",
    "Final cluster status:",
    "Instances instance map:",
    "Cluster status:",
    "Tiered allocation status:",
    "Standard allocation status:",
    "Tiered allocation map",
    "Standard allocation map",
];

/// States saved after moves.
const AFTER: [&str; 5] =
    ["state.balanced", "state.post-ialloc", "state.squeezed", "state.tiered", "state.standard"];

/// Starts of the other lines on standard error that are compared.
const LINES: [&str; 3] = ["Bad nodes: ", "Bad groups: ", "Allocatable nodes: "];

/// Placeholder for the reason why hscan could not read a cluster.
const REASON: &str = "(reason)";

/// Input of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// The case itself.
    Original,
    /// A restated case: only the answer can be compared.
    Other,
}

/// Compares the two sides of a case.
pub fn compare(case: &Case, words: Words, theirs: (&Output, &Path), ours: (&Output, &Path)) -> Verdict {
    for (who, output) in [("the reference", theirs.0), ("our program", ours.0)] {
        if output.status.is_none() {
            return Verdict::Differ(format!("{who} ran out of time"));
        }
    }
    if case.tool == Tool::Harep {
        return harep_compare::compare(case, words, theirs, ours);
    }
    let (mut a, mut b) = (parts(case, theirs.0, theirs.1), parts(case, ours.0, ours.1));
    // The files of hscan are its answer.
    if words == Words::Other && case.tool != Tool::Hscan {
        a.truncate(2);
        b.truncate(2);
    }
    let Some(first) = difference(&a, &b) else { return Verdict::Agree };
    // Exact transformations come first; after them, everything else must agree.
    let used = match case.tool {
        Tool::Hcheck => expected(case, words, &mut a, &b),
        _ => transform(case, words, &mut a, &mut b),
    };
    let rest = difference(&a, &b);
    match (used, &rest) {
        (_, None) if words == Words::Other => return Verdict::Agree,
        (Some(rule), None) => return Verdict::Listed(rule),
        _ => {
            if let Some(rule) = excuse(case, words, (theirs.0, &a), (ours.0, &b)) {
                return Verdict::Listed(rule);
            }
        }
    }
    Verdict::Differ(rest.unwrap_or(first))
}

/// Compares a plan for selected nodes that are mixed with others. The comparison uses the same request with the
/// others at the end, where the answers agree. If the order of all nodes does not matter, our answers to both
/// requests are equal.
pub fn gathered(
    rule: Rule,
    (case, other): (&Case, &Case),
    [reference, mine]: [&Output; 2],
    [answer, again]: [&Output; 2],
) -> Verdict {
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let named = |case: &Case, output: &Output| {
        let text = hroller::with_names(&text(output), &case.cluster.raw);
        vec![("exit status", format!("{:?}", output.status)), ("standard output", text)]
    };
    if let Some(text) = difference(&named(other, answer), &named(other, again)) {
        return Verdict::Differ(format!("with the nodes in another order: {text}"));
    }
    if !hroller::order_matters(case) {
        if let Some(text) = difference(&named(other, answer), &named(case, mine)) {
            return Verdict::Differ(format!("with the nodes in another order, ours in this: {text}"));
        }
    } else if reference.status == Some(0) && mine.status == Some(0) {
        let (theirs, ours) = (text(reference), text(mine));
        let one_step = case.words.iter().any(|word| word.starts_with("--one"));
        if !one_step && hroller::planned(&theirs) != hroller::planned(&ours) {
            return Verdict::Differ("not the same nodes are planned for".to_owned());
        }
    }
    Verdict::Listed(rule)
}

/// Tells if the output and the files before the answer are equal; a restated case does not check these.
pub fn same_beginning(case: &Case, theirs: (&Output, &Path), ours: (&Output, &Path)) -> bool {
    if case.tool == Tool::Harep {
        return harep_compare::same_beginning(case, theirs, ours);
    }
    if case.tool == Tool::Hcheck {
        let [theirs, ours] = [theirs, ours].map(|(output, directory)| {
            let parts = parts(case, output, directory);
            [parts[0].1.clone(), parts[1].1.clone()]
        });
        let rescue = hcheck::asked_again(case) == hcheck::Asked::AtFirst;
        return !rescue || hcheck::same_but_capacity(case, &theirs, &ours);
    }
    let beginning = |(output, directory): (&Output, &Path)| {
        let later = ["Final cluster", "Bad groups: ", "Allocatable nodes: ", "Tiered allocation"];
        let parts = parts(case, output, directory);
        let moved = Rule::DisklessMoves.applies(case);
        let is_later = |line: &&str| {
            later.iter().any(|start| line.starts_with(start)) || moved && line.starts_with("Final instance")
        };
        let tables: Vec<String> =
            parts[2].1.lines().take_while(|line| !is_later(line)).map(str::to_owned).collect();
        (tables, (case.tool == Tool::Hail).then(|| parts[3].1.clone()))
    };
    beginning(theirs) == beginning(ours)
}

/// Turns the reference's answer of hcheck into the one that ours must equal.
fn expected(case: &Case, words: Words, a: &mut Parts, b: &Parts) -> Option<Rule> {
    let mut theirs = [a[0].1.clone(), a[1].1.clone()];
    let ours = [b[0].1.clone(), b[1].1.clone()];
    let asked = if words == Words::Other { hcheck::asked_again(case) } else { hcheck::Asked::Alike };
    let used = hcheck::expect(case, asked, &mut theirs, &ours);
    let [status, text] = theirs;
    (a[0].1, a[1].1) = (status, text);
    used
}

/// Reverts the reversible differences on both sides.
fn transform(case: &Case, words: Words, a: &mut Parts, b: &mut Parts) -> Option<Rule> {
    let mut used = None;
    let both = |change: &dyn Fn(&str) -> String, a: &mut Parts, b: &mut Parts| {
        for part in [a, b] {
            part.iter_mut().for_each(|(_, text)| *text = change(text));
        }
    };
    if Rule::SavedFreeMemory.applies(case) {
        let states = |parts: &mut Parts, change: &dyn Fn(&str) -> String| {
            let after = parts.iter_mut().filter(|(name, _)| AFTER.contains(name));
            after.for_each(|(_, text)| *text = change(text));
        };
        if saved::has_namesakes(&case.cluster.raw) {
            states(a, &saved::without_reported);
            states(b, &saved::without_reported);
        } else {
            states(a, &|text| saved::moved(&case.cluster.raw, text));
        }
        let tables = a.iter_mut().chain(b.iter_mut()).filter(|(name, _)| *name == "tables on standard error");
        tables.for_each(|(_, text)| *text = saved::without_free(text));
        used = Some(Rule::SavedFreeMemory);
    }
    if Rule::ForthcomingFailsOver.applies(case) {
        let names = forthcoming_running(&case.cluster.raw);
        let suffix = common_suffix(&case.cluster.raw);
        a.iter_mut().for_each(|(_, text)| *text = with_failovers(text, &names, suffix));
        used = Some(Rule::ForthcomingFailsOver);
    }
    if Rule::FullNamesInCommands.applies(case) {
        let suffix = common_suffix(&case.cluster.raw);
        both(&|text| shorten_commands(text, suffix), a, b);
        used = Some(Rule::FullNamesInCommands);
    }
    if Rule::CompleteScript.applies(case) {
        let suffix = common_suffix(&case.cluster.raw);
        both(&|text| hsqueeze::masked(text, suffix), a, b);
        used = Some(Rule::CompleteScript);
    }
    if Rule::SqueezedTags.applies(case) {
        for (_, text) in a.iter_mut().chain(b.iter_mut()).filter(|(name, _)| *name == "state.squeezed") {
            *text = hsqueeze::without_auto_tags(text);
        }
        used = Some(Rule::SqueezedTags);
    }
    if Rule::BadAndHappy.applies(case) {
        let names = without_total(&case.cluster.raw);
        both(&|text| without_happy(text, &names), a, b);
        used = Some(Rule::BadAndHappy);
    }
    if Rule::SplitInstanceNames.applies(case) {
        let names = split_instances(&case.cluster.raw);
        both(&|text| insert_names(text, &names), a, b);
        used = Some(Rule::SplitInstanceNames);
    }
    if Rule::NewInstanceNumber.applies(case) {
        let known = case.cluster.raw.instances.len() as i64;
        for part in [&mut *a, &mut *b] {
            let tables = part.iter_mut().filter(|(name, _)| *name == "tables on standard error");
            tables.for_each(|(_, text)| *text = without_new_numbers(text, known));
        }
        used = Some(Rule::NewInstanceNumber);
    }
    if Rule::KvmNodeMemory.applies(case) {
        both(&without_node_memory, a, b);
        used = Some(Rule::KvmNodeMemory);
    }
    let restated = words == Words::Other;
    if let Some(asked) = case.asked.as_ref().filter(|_| restated || Rule::ChangeGroupDump.applies(case)) {
        both(&|text| answers::masked(case, asked, restated, text), a, b);
        used = Some(Rule::ChangeGroupDump);
    } else if restated {
        both(&without_free_memory, a, b);
    }
    used
}

/// The tables without the numbers of new instances in lists, which may then be narrower.
fn without_new_numbers(text: &str, known: i64) -> String {
    let list = |word: &str| {
        let inner = word.strip_prefix('[')?.strip_suffix(']')?;
        let numbers: Option<Vec<i64>> = inner.split(',').map(|number| number.parse().ok()).collect();
        let kept: Vec<i64> = numbers?.into_iter().filter(|number| (0..known).contains(number)).collect();
        Some(format!("{kept:?}").replace(' ', ""))
    };
    let Some((before, after)) = text.split_once("Final cluster status:\n") else { return text.to_owned() };
    let row = |line: &str| {
        let words = line.split_whitespace().map(|word| list(word).unwrap_or_else(|| word.to_owned()));
        words.collect::<Vec<_>>().join(" ") + "\n"
    };
    format!("{before}Final cluster status:\n{}", after.lines().map(row).collect::<String>())
}

/// The text with these nodes left out of the lists of happy nodes.
fn without_happy(text: &str, names: &[&str]) -> String {
    let listing =
        |line: &str| ["N+1 happy nodes: ", "Node policy status: "].iter().any(|s| line.starts_with(s));
    let without = |line: &str| {
        let (heading, list) = line.split_once('[').unwrap_or((line, ""));
        let ends = |part: &&str| !names.iter().any(|name| part.contains(&format!("\"{name}\"")));
        let separator = if heading.starts_with("Node") { "),(" } else { "," };
        let list = list.trim_start_matches('(').trim_end_matches([')', ']']);
        let kept: Vec<&str> = list.split(separator).filter(ends).collect();
        format!("{heading}{}", kept.join(separator))
    };
    let line = |line: &str| if listing(line) { without(line) } else { line.to_owned() };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// hspace's result without the memory figures of nodes out of use.
fn without_free_memory(text: &str) -> String {
    let free = ["_MEM_FREE=", "_MEM_AVAIL=", "_MEM_RESVD=", "_MEM_OVERHEAD="];
    text.lines()
        .filter(|line| !free.iter().any(|key| line.contains(key)))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The text without the nodes' own memory. Nodes are the rows with 15 columns.
fn without_node_memory(text: &str) -> String {
    let row = |line: &str| {
        let mut columns: Vec<&str> = line.split('|').collect();
        if columns.len() == 15 {
            columns[2] = "";
        }
        columns.join("|")
    };
    text.split('\n').map(row).collect::<Vec<_>>().join("\n")
}

/// A rule that allows the answers to differ beyond a transformation.
fn excuse(case: &Case, words: Words, theirs: (&Output, &Parts), ours: (&Output, &Parts)) -> Option<Rule> {
    let ((theirs, a), (ours, b)) = (theirs, ours);
    let original = words == Words::Original;
    // With -X, the number of steps determines our status.
    let executes = case.facts.execute;
    let ended = ours.status == Some(0) || executes;
    let ends_early = theirs.status == Some(1) && ended;
    let begins = || b[1].1.starts_with(&a[1].1);
    let broke_off = || ends_early && begins();
    // Our tool may find later that there is no place.
    let gave_up = || crashed(&theirs.stderr) && begins();
    let answers = case.asked.as_ref().map(|asked| (asked, a[1].1.as_str(), b[1].1.as_str()));
    let may_break_off = || {
        ends_early && [Rule::SplitInstanceOutput, Rule::DrbdWithoutSecondary].iter().any(|r| r.applies(case))
    };
    Rule::ALL.into_iter().filter(|rule| rule.applies(case)).find(|rule| match rule {
        Rule::SplitInstanceOutput | Rule::ForthcomingCount => broke_off(),
        Rule::LimitZero => gave_up(),
        Rule::NoGroupLeft => {
            let nothing = ["HTS_ALLOC_FAIL_REASON=FAILN1\n", "  - most likely failure reason: FailN1\n"];
            broke_off() && nothing.iter().any(|reason| b[1].1.contains(reason))
        }
        Rule::ImpossibleNames => {
            let refused =
                String::from_utf8_lossy(&ours.stderr).contains(": the name is not valid in Ganeti, ");
            refused && ours.status == Some(1) && a[1].1.starts_with(&b[1].1)
        }
        Rule::ToldAhead => {
            let said = String::from_utf8_lossy(&ours.stderr);
            let fails = |words: &str| said.contains(words);
            // The reference does these things anyway, or ends with the error later.
            let told = fails(": Execution of commands possible only on LUXI")
                || fails(": there is no field 'nosuch'")
                || (fails("cannot write file ") && theirs.status != Some(0));
            told && ours.status == Some(1) && b[1].1.is_empty()
        }
        Rule::AllOffline if case.tool == Tool::Hail => {
            answers::without_score(&a[1].1) == answers::without_score(&b[1].1)
        }
        Rule::RestrictedChangeGroup => {
            answers.is_some_and(|(_, a, b)| answers::same_until_allowed(case, a, b))
        }
        Rule::NextGroup => {
            answers.is_some_and(|(asked, a, b)| answers::same_until_next_group(case, asked, a, b))
        }
        Rule::DrainedSecondary => {
            answers.is_some_and(|(asked, a, b)| answers::same_but_forced(case, asked, a, b))
        }
        Rule::DrbdWithoutSecondary if case.tool == Tool::Hcheck => crashed(&theirs.stderr),
        Rule::DrbdWithoutSecondary => broke_off() && crashed(&theirs.stderr),
        Rule::InitialN1 if case.tool == Tool::Hcheck => hcheck::same_but_n1(case, &a[1].1, &b[1].1),
        Rule::OwnSecondary | Rule::AllOffline | Rule::InitialN1 if case.tool == Tool::Hscan => {
            let tables = !Rule::OwnSecondary.applies(case);
            let scanned = |parts: &Parts| (scanned(&parts[1].1, tables), parts[3].1.clone());
            theirs.status == ours.status && scanned(a) == scanned(b)
        }
        Rule::InitialN1 if case.tool == Tool::Hsqueeze => {
            theirs.status == ours.status && hsqueeze::candidates(&a[1].1) == hsqueeze::candidates(&b[1].1)
        }
        Rule::LoadsBack => {
            let refused = String::from_utf8_lossy(&ours.stderr).contains(": it would not load back: ");
            refused && ours.status == Some(1) && a[1] == b[1]
        }
        Rule::OfflineReserve => theirs.status == ours.status && hsqueeze::frees_small(case, &a[1].1, &b[1].1),
        Rule::DrbdStays => theirs.status == ours.status,
        Rule::FreedAtOnce => theirs.status == ours.status && hsqueeze::frees_at_once(&a[1].1, &b[1].1),
        Rule::FreedN1 | Rule::LastNode => {
            theirs.status == ours.status && hsqueeze::frees_more(&a[1].1, &b[1].1)
        }
        Rule::OwnSecondary | Rule::AllOffline | Rule::InitialN1 if case.tool != Tool::Hroller => {
            loaded(case.tool, &a[1].1) == loaded(case.tool, &b[1].1)
                && (theirs.status == ours.status
                    || executes
                    || case.tool == Tool::Hcheck
                    || case.tool == Tool::Hspace && !b[1].1.is_empty()
                    || may_break_off())
        }
        Rule::GroupState => same_but_other_groups(theirs, a, b),
        Rule::SplitInstanceCheck if case.tool == Tool::Hcheck => false,
        Rule::SplitInstanceCheck if case.tool == Tool::Hspace => gave_up(),
        Rule::SplitInstanceCheck => {
            crashed(&theirs.stderr) && ours.status == Some(0) && answers::parsed(&b[1].1).is_some()
        }
        Rule::SplitInstanceState => {
            let later = ["tables on standard error", "state.post-ialloc"];
            (0..a.len()).all(|i| a[i] == b[i] || later.contains(&a[i].0))
        }
        Rule::DrbdOnOneNode => {
            let answered = crashed(&theirs.stderr) || answers::parsed(&a[1].1).is_some();
            answered && case.asked.as_ref().is_some_and(|asked| answers::refused(asked, ours, &b[1].1))
        }
        Rule::DedicatedOvercommit if original => answers::same_until_other_group(case, &a[1].1, &b[1].1),
        Rule::DedicatedOvercommit => answers::same_places(&a[1].1, &b[1].1),
        // Nodes out of use may still become secondaries here.
        Rule::OfflineRescue
            if case.asked.as_ref().is_some_and(|asked| asked.kind() == "allocate-secondary") =>
        {
            theirs.status == ours.status && answers::same_but_dropped(&a[1].1, &b[1].1)
        }
        // The others are reverted, or avoided by restating.
        _ => false,
    })
}

/// Tells if everything is equal except for rows of other groups at the end. The reference leaves them out of tables
/// and, unless it crashes, of files.
fn same_but_other_groups(theirs: &Output, a: &Parts, b: &Parts) -> bool {
    let broke_off = crashed(&theirs.stderr);
    (0..a.len()).all(|i| match a[i].0 {
        "exit status" if broke_off => b[i].1 == "Some(0)",
        "tables on standard error" => rows_within(&a[i].1, &b[i].1),
        "state.post-ialloc" => broke_off || rows_within(&a[i].1, &b[i].1),
        _ => a[i] == b[i],
    })
}

/// Tells if the rows, as words, are among the others in the same order. Columns may be wider there.
fn rows_within(rows: &str, others: &str) -> bool {
    let mut others = others.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).all(|row| others.any(|o| o == row))
}

/// The output before the first score or flag can matter.
fn loaded(tool: Tool, stdout: &str) -> Vec<&str> {
    let later = ["Initial", "Cluster is", "The cluster contains", "Continuing", "Node group information"];
    let early = ["HTS_CLUSTER", "The cluster has", "  MEM", "There are"];
    let starts = |line: &str, with: &[&str]| with.iter().any(|start| line.starts_with(start));
    match tool {
        Tool::Hspace => stdout.lines().take_while(|line| starts(line, &early)).collect(),
        Tool::Hcheck => {
            stdout.lines().filter(|l| l.contains("_UUID_") || l.ends_with(" initially")).collect()
        }
        // There is only an answer.
        Tool::Hail => stdout.lines().filter(|line| answers::parsed(line).is_none()).collect(),
        Tool::Hroller | Tool::Hsqueeze | Tool::Harep => stdout.lines().collect(),
        Tool::Hscan => Vec::new(),
        Tool::Hbal | Tool::Hinfo => stdout.lines().take_while(|line| !starts(line, &later)).collect(),
    }
}

/// The lines of hscan without the clusters' faults and scores. Tables are without the N+1 flag, or left out.
fn scanned(stdout: &str, tables: bool) -> Vec<String> {
    let columns = |line: &str| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        [name, nodes, instances, _, _, rest @ .., _] if is_cluster(name) && rest.len() == 4 => {
            format!("{name} {nodes} {instances} {rest:?}")
        }
        _ => line.replace('*', " "),
    };
    stdout.lines().filter(|line| tables || !line.starts_with(' ')).map(columns).collect()
}

/// Tells if a line of hscan about a cluster starts with this name.
fn is_cluster(name: &str) -> bool {
    name.starts_with("file://") || name == "LOCAL"
}

/// The text of hscan without the reasons why clusters could not be read. The wording of the reasons is our own; the
/// reference's may have several lines.
fn without_reasons(stdout: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut reason = false;
    for line in stdout.lines() {
        let cluster = line.split_whitespace().next().is_some_and(is_cluster);
        let begins = cluster || line.starts_with("Error for ");
        // At least one line of it.
        reason = reason && !(begins && kept.last() == Some(&REASON));
        match reason {
            false => kept.push(line),
            true if kept.last() == Some(&REASON) => {}
            true => kept.push(REASON),
        }
        reason = reason || line.ends_with(" data. Details:");
    }
    kept.into_iter().map(|line| format!("{line}\n")).collect()
}

/// The files that hscan wrote below a directory, with their names.
fn data_files(directory: &Path) -> String {
    let mut paths: Vec<_> = fs::read_dir(directory)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    let one = |path: std::path::PathBuf| match path.is_dir() {
        true => data_files(&path),
        false if path.extension().is_some_and(|end| end == "data") => {
            let content = fs::read(&path).unwrap_or_default();
            format!("== {:?}\n{}", path.file_name(), String::from_utf8_lossy(&content))
        }
        false => String::new(),
    };
    paths.into_iter().map(one).collect()
}

fn parts(case: &Case, output: &Output, directory: &Path) -> Parts {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let file = |name: &str| fs::read(directory.join(name)).map_or("(none)".into(), |bytes| text(&bytes));
    let mut parts = vec![
        ("exit status", format!("{:?}", output.status)),
        ("standard output", text(&output.stdout)),
        ("tables on standard error", tables(&text(&output.stderr))),
    ];
    if case.tool == Tool::Hscan {
        parts[1].1 = without_reasons(&parts[1].1);
        parts.push(("files", data_files(directory)));
        return parts;
    }
    let states: [&str; 2] = match case.tool {
        Tool::Hbal | Tool::Hinfo | Tool::Hcheck => ["state.original", "state.balanced"],
        Tool::Hail => ["state.pre-ialloc", "state.post-ialloc"],
        Tool::Hroller => ["state.original", "state.none"],
        Tool::Hsqueeze => ["state.original", "state.squeezed"],
        Tool::Hspace | Tool::Hscan | Tool::Harep => ["state.tiered", "state.standard"],
    };
    parts.extend(states.map(|name| (name, file(name))));
    if matches!(case.tool, Tool::Hbal | Tool::Hsqueeze) {
        // The script's frame is our own; its commands are compared.
        let script = file("commands.sh");
        let ours = |line: &&str| ["  gnt-", "echo ", "  echo "].iter().any(|start| line.starts_with(start));
        parts.push(("commands.sh", script.lines().filter(ours).map(|line| format!("{line}\n")).collect()));
    }
    parts
}

fn tables(stderr: &str) -> String {
    let mut inside = false;
    let mut kept = String::new();
    for line in stderr.lines() {
        let title = TABLES.contains(&line) || line.starts_with("Initial coefficients: ");
        inside = (inside && line.starts_with(' ')) || title;
        if inside || LINES.iter().any(|start| line.starts_with(start)) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The first difference between both sides, with the lines.
fn difference(a: &Parts, b: &Parts) -> Option<String> {
    let ((part, a), (_, b)) = a.iter().zip(b).find(|(a, b)| a != b)?;
    let number = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
    let near = |text: &str, mark: char| -> String {
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() <= number {
            return format!("  {mark} (ends here)\n");
        }
        lines[number..].iter().take(3).map(|line| format!("  {mark} {line}\n")).collect()
    };
    let before: String =
        a.lines().take(number).skip(number.saturating_sub(2)).map(|line| format!("    {line}\n")).collect();
    Some(format!("{part}, line {}:\n{before}{}{}", number + 1, near(a, '-'), near(b, '+')))
}

/// Cuts the common suffix off the words of commands.
fn shorten_commands(text: &str, suffix: &str) -> String {
    let shorten = |word: &str| word.strip_suffix(suffix).unwrap_or(word).to_owned();
    text.split('\n')
        .map(|line| {
            if !line.contains("gnt-instance ") {
                return line.to_owned();
            }
            line.split(' ').map(shorten).collect::<Vec<_>>().join(" ")
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Replaces migrations of these instances by failovers in the commands.
fn with_failovers(text: &str, names: &[&str], suffix: &str) -> String {
    let is_one = |line: &str| {
        let last = line.rsplit(' ').next().unwrap_or_default();
        names.iter().any(|name| *name == last || name.strip_suffix(suffix) == Some(last))
    };
    let changed = text.split('\n').map(|line| match is_one(line) {
        true => line.replace("gnt-instance migrate -f ", "gnt-instance failover -f "),
        false => line.to_owned(),
    });
    changed.collect::<Vec<_>>().join("\n")
}

/// Inserts the names of split instances after their heading, unless they are there.
fn insert_names(text: &str, names: &[&str]) -> String {
    let heading = "Found instances belonging to multiple node groups:\n";
    let list: String = names.iter().map(|name| format!("  {name}\n")).collect();
    match text.split_once(heading) {
        Some((before, after)) if !after.starts_with(&list) => format!("{before}{heading}{list}{after}"),
        _ => text.to_owned(),
    }
}

/// The moves that hbal printed, without their targets: `f`, `r:T f` and so on.
pub fn moves(case: &Case, stdout: &[u8]) -> Vec<String> {
    if case.tool != Tool::Hbal {
        return Vec::new();
    }
    String::from_utf8_lossy(stdout)
        .lines()
        .filter_map(|line| line.split_once(" => ")?.1.split_once(" a="))
        .map(|(_, text)| {
            let words: Vec<&str> = text.split(' ').map(|w| w.split(':').next().unwrap_or(w)).collect();
            words.join(" ")
        })
        .collect()
}
