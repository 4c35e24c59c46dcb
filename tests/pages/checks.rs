//! Checks that every page must pass.

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::browser::{Browser, Element};

/// A check of a page that was just opened.
pub type Check = fn(&Browser) -> anyhow::Result<()>;

pub const CHECKS: [(&str, Check); 10] = [
    ("nothing from elsewhere", self_contained),
    ("sorting", sorting),
    ("searching", searching),
    ("parts and filters", parts),
    ("light and dark", schemes),
    ("narrow and wide", widths),
    ("tables on a telephone", cards),
    ("commands to copy", commands),
    ("keyboard", keyboard),
    ("printing", printing),
];

const ENTER: &str = "\u{e007}";

/// The texts of a table's column, in the form that is sorted.
const COLUMN: &str = "const [table, column] = [arguments[0], Number(COLUMN)];
    return Array.from(table.tBodies[0].rows, (row) => {
        const cell = row.cells[column];
        return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
    });";

fn self_contained(browser: &Browser) -> anyhow::Result<()> {
    browser.holds("return performance.getEntriesByType('resource').length === 0", "something was fetched")?;
    browser
        .holds("return document.title.length > 0 && document.documentElement.lang === 'en'", "no title")?;
    browser.holds("return document.querySelectorAll('h1').length === 1", "not one heading")?;
    // The policy must block all other scripts.
    let evil = "const script = document.createElement('script'); script.textContent = 'window.evil = 1';
        document.body.append(script); script.remove(); return window.evil === undefined";
    browser.holds(evil, "another script was run")?;
    // The browser logs the violation.
    ensure!(browser.is_silent().is_err(), "the policy is not told");
    let ids = "const ids = Array.from(document.querySelectorAll('[id]'), (e) => e.id);
        return new Set(ids).size === ids.length";
    browser.holds(ids, "an id is there twice")?;
    let links = "return Array.from(document.querySelectorAll('nav a')).every((a) =>
        document.getElementById(a.hash.slice(1)) !== null)";
    browser.holds(links, "a link leads nowhere")
}

fn sorting(browser: &Browser) -> anyhow::Result<()> {
    for table in browser.all("table")? {
        let columns = browser.run_on("return arguments[0].tHead.rows[0].cells.length", &[&table])?;
        let columns = columns.as_u64().context("no columns")?;
        for column in 0..columns {
            let buttons = "return arguments[0].tHead.rows[0].cells[COLUMN].querySelector('button')";
            let heading = browser.run_on(&buttons.replace("COLUMN", &column.to_string()), &[&table])?;
            let heading = browser.found(&heading)?;
            let order = |browser: &Browser| -> anyhow::Result<String> {
                let sort = "return arguments[0].closest('th').getAttribute('aria-sort')";
                Ok(browser.run_on(sort, &[&heading])?.as_str().unwrap_or_default().to_owned())
            };
            ensure!(order(browser)? == "none", "column {column} is sorted from the start");
            let mut seen = Vec::new();
            browser.click(&heading)?;
            for press in 0..2 {
                if press == 1 {
                    browser.keys(&heading, ENTER)?;
                }
                let order = order(browser)?;
                let cells = browser.run_on(&COLUMN.replace("COLUMN", &column.to_string()), &[&table])?;
                let cells = cells.as_array().context("no cells")?;
                ensure!(is_sorted(cells, &order), "column {column} is not {order}: {cells:?}");
                seen.push(order);
            }
            seen.sort();
            ensure!(seen == ["ascending", "descending"], "column {column}: {seen:?}");
            let others = "return arguments[0].querySelectorAll('[aria-sort]:not([aria-sort=none])').length";
            ensure!(browser.run_on(others, &[&table])? == 1, "more than one column says that it is sorted");
        }
    }
    Ok(())
}

/// Tells if numbers are in order, given as numbers or texts. The browser's own order of other texts is not checked.
fn is_sorted(cells: &[Value], order: &str) -> bool {
    let number = |cell: &Value| match cell {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    let Some(numbers) = cells.iter().map(number).collect::<Option<Vec<f64>>>() else {
        return order == "ascending" || order == "descending";
    };
    match order {
        "ascending" => numbers.is_sorted(),
        "descending" => numbers.iter().rev().is_sorted(),
        _ => false,
    }
}

fn searching(browser: &Browser) -> anyhow::Result<()> {
    for search in browser.all("[data-find]")? {
        let name = "const table = document.getElementById(arguments[0].dataset.find);
            return table.rows[table.rows.length - 1].cells[1].textContent.trim().split(' ')[0]
                || table.rows[table.rows.length - 1].cells[0].textContent.trim()";
        let name = browser.run_on(name, &[&search])?;
        let name = name.as_str().context("no name")?;
        browser.keys(&search, name)?;
        let fits = "const table = document.getElementById(arguments[0].dataset.find);
            const shown = Array.from(table.tBodies[0].rows).filter((row) => row.getClientRects().length > 0);
            const wanted = arguments[0].value.toLowerCase();
            const all = Array.from(table.tBodies[0].rows).filter((row) => row.textContent.toLowerCase().includes(wanted));
            return shown.length > 0 && shown.length === all.length
                && shown.every((row) => row.textContent.toLowerCase().includes(wanted))
                && document.querySelector(`[data-found='${table.id}']`).textContent.startsWith(`${all.length} of `)";
        let found = browser.run_on(fits, &[&search])?;
        ensure!(found == true, "looking for {name} does not show all rows with it, and no others");
        browser.keys(&search, "no such name")?;
        let nothing = "const table = document.getElementById(arguments[0].dataset.find);
            return Array.from(table.tBodies[0].rows).every((row) => row.getClientRects().length === 0)";
        ensure!(browser.run_on(nothing, &[&search])? == true, "rows are shown that nobody looks for");
    }
    Ok(())
}

fn parts(browser: &Browser) -> anyhow::Result<()> {
    let shown = "return Array.from(document.getElementById(arguments[0].dataset.KIND).tBodies[0].rows)
        .filter((row) => row.getClientRects().length > 0).length";
    let count = |browser: &Browser, kind: &str, button: &Element| -> anyhow::Result<u64> {
        browser.run_on(&shown.replace("KIND", kind), &[button])?.as_u64().context("no rows")
    };
    for button in browser.all("[data-all]")? {
        let part = count(browser, "all", &button)?;
        ensure!(part == 40, "{part} rows are shown at first");
        browser.click(&button)?;
        ensure!(count(browser, "all", &button)? > part, "there are no more rows than before");
        browser.click(&button)?;
        ensure!(count(browser, "all", &button)? == part, "there are still more rows");
    }
    for button in browser.all("[data-changes]")? {
        let all = count(browser, "changes", &button)?;
        browser.click(&button)?;
        let changed = count(browser, "changes", &button)?;
        ensure!(changed > 0, "nothing changes");
        let marked =
            browser.run_on("return arguments[0].getAttribute('aria-pressed') === 'true'", &[&button])?;
        ensure!(marked == true, "the button does not say that it is on");
        browser.click(&button)?;
        ensure!(count(browser, "changes", &button)? == all, "what does not change is still hidden");
    }
    Ok(())
}

/// The lowest contrast between text and background on the page, as defined by WCAG 2.
const CONTRAST: &str = "
    const light = ([r, g, b]) => {
        const linear = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
        return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    };
    const colour = (text) => text.match(/[\\d.]+/g).map(Number);
    const behind = (element) => {
        for (let e = element; e; e = e.parentElement) {
            const ground = colour(getComputedStyle(e).backgroundColor);
            if (ground.length < 4 || ground[3] > 0) return ground;
        }
        return [255, 255, 255];
    };
    let least = [99, ''];
    for (const element of document.querySelectorAll('h1, h2, h3, p, th, td, small, .badge, button, a, dt, dd, li, code, summary')) {
        const style = getComputedStyle(element);
        const [a, b] = [light(colour(style.color)), light(behind(element))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < least[0]) least = [contrast, element.className + ' ' + element.textContent.slice(0, 40)];
    }
    return least;";

fn schemes(browser: &Browser) -> anyhow::Result<()> {
    let ground = "return getComputedStyle(document.body).backgroundColor";
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        browser.scheme(scheme)?;
        grounds.push(browser.run(ground)?);
        let least = browser.run(CONTRAST)?;
        ensure!(least[0].as_f64().is_some_and(|contrast| contrast >= 4.5), "{scheme}: low contrast: {least}");
        let button = browser.one("#theme")?;
        let other = browser.run(ground)?;
        browser.click(&button)?;
        ensure!(browser.run(ground)? != other, "{scheme}: the button changes nothing");
        let least = browser.run(CONTRAST)?;
        ensure!(
            least[0].as_f64().is_some_and(|contrast| contrast >= 4.5),
            "from {scheme}: low contrast: {least}"
        );
        browser.click(&button)?;
        ensure!(browser.run(ground)? == other, "{scheme}: the button does not change it back");
        // A scheme chosen by hand would take precedence.
        browser.run("delete document.documentElement.dataset.theme")?;
    }
    browser.scheme("light")?;
    ensure!(grounds[0] != grounds[1], "light and dark are the same");
    Ok(())
}

fn widths(browser: &Browser) -> anyhow::Result<()> {
    for width in [320, 360, 768, 1280, 2560] {
        browser.size(width, 800)?;
        let wide =
            browser.run("return document.documentElement.scrollWidth")?.as_u64().context("no width")?;
        ensure!(wide <= u64::from(width), "{width} pixels: the page is {wide} wide");
        let cut =
            "return Array.from(document.querySelectorAll('.answer, h1, h2, .controls, pre')).filter((e) => {
            const { right } = e.getBoundingClientRect(); return right > innerWidth + 1; }).length";
        ensure!(browser.run(cut)? == 0, "{width} pixels: something is cut off");
    }
    browser.size(1280, 900)
}

/// On a narrow screen no cell is out of sight, and each names its column; on a wide one a table scrolls in its own box.
fn cards(browser: &Browser) -> anyhow::Result<()> {
    let cut = "return Array.from(document.querySelectorAll('tbody th, tbody td, thead button')).filter((e) => {
        const { left, right } = e.getBoundingClientRect();
        return e.getClientRects().length > 0 && (left < 0 || right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1);
    }).map((e) => e.textContent.slice(0, 60))";
    for width in [320, 390, 640] {
        browser.size(width, 800)?;
        // The page hears of its width before the next frame.
        browser
            .run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")?;
        let cut = browser.run(cut)?;
        ensure!(cut.as_array().is_some_and(Vec::is_empty), "{width} pixels: cells are cut: {cut}");
        let named = "return Array.from(document.querySelectorAll('tbody > tr')).every((row) =>
            Array.from(row.cells).every((cell) => cell.dataset.label.length > 0))";
        browser.holds(named, "a cell does not name its column")?;
        let titles = "return Array.from(document.querySelectorAll('tbody td')).filter((e) => {
            const label = getComputedStyle(e, '::before').content;
            return e.getClientRects().length > 0 && !label.includes(e.dataset.label);
        }).length";
        ensure!(browser.run(titles)? == 0, "{width} pixels: a column is not named");
    }
    browser.size(800, 800)?;
    let boxed = "return Array.from(document.querySelectorAll('table')).every((table) => {
        const box = table.closest('.scroll').getBoundingClientRect();
        return box.left >= 0 && box.right <= innerWidth + 1;
    })";
    browser.holds(boxed, "a table is not in a box of its own")?;
    browser.size(1280, 900)
}

/// A command is copied by its button, and selected as a whole by a click.
fn commands(browser: &Browser) -> anyhow::Result<()> {
    let all = "return Array.from(document.querySelectorAll('pre')).every((pre) =>
        pre.parentElement.querySelector('[data-copy]') !== null && getComputedStyle(pre).userSelect === 'all')";
    browser.holds(all, "a command cannot be copied")?;
    browser.run(
        "Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: (text) => {
        window.copied = text; return Promise.resolve(); } } })",
    )?;
    let button = browser.all("footer [data-copy]")?.pop().context("the command at the end has no button")?;
    browser.click(&button)?;
    browser
        .holds("return window.copied === document.querySelector('footer code').textContent", "not copied")?;
    browser.holds(
        "return document.querySelector('footer [data-copy]').textContent === 'Copied'",
        "it is not said",
    )
}

/// Everything interactive can be reached with the Tab key, and shows that it has the focus.
fn keyboard(browser: &Browser) -> anyhow::Result<()> {
    let count = "return Array.from(document.querySelectorAll('button, a, input, summary, [tabindex]'))
        .filter((e) => e.checkVisibility()).length";
    let count = browser.run(count)?.as_u64().context("nothing to use")?;
    let focus =
        "const e = document.activeElement; window.seen = window.seen || new Set(); window.seen.add(e);
        const style = getComputedStyle(e);
        return e === document.body || style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0";
    for _ in 0..count {
        let presses =
            |kind: &str| json!({ "type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9 });
        browser.own("Input.dispatchKeyEvent", &presses("rawKeyDown"))?;
        browser.own("Input.dispatchKeyEvent", &presses("keyUp"))?;
        browser.holds(focus, "an element does not show its focus")?;
    }
    let seen = browser.run("return window.seen.size")?.as_u64().unwrap_or_default();
    ensure!(seen >= count, "only {seen} of {count} elements get the focus");
    Ok(())
}

fn printing(browser: &Browser) -> anyhow::Result<()> {
    browser.media("print", "dark")?;
    let paper = browser.run("return getComputedStyle(document.body).backgroundColor")?;
    ensure!(paper == "rgb(255, 255, 255)", "the paper is {paper}");
    let hidden = "return Array.from(document.querySelectorAll('nav, .controls, .quiet')).every((e) =>
        e.getClientRects().length === 0)";
    browser.holds(hidden, "buttons are printed")?;
    browser.media("", "light")?;
    let printed = browser.own("Page.printToPDF", &json!({ "printBackground": true }))?;
    let length = printed["data"].as_str().map_or(0, str::len);
    ensure!(length > 10_000, "the print is {length} long");
    Ok(())
}
