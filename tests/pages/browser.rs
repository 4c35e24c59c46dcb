//! Chromium, driven over the WebDriver protocol.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::blocking::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Key of an element in answers.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Arguments of Chromium: no features for users, and no downloads.
const ARGUMENTS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-quic",
    "--hide-scrollbars",
];

/// A browser, which is closed when it is dropped.
pub struct Browser {
    driver: Child,
    client: Client,
    /// Address of the session.
    session: String,
    /// The browser's own files.
    _profile: TempDir,
}

/// An element of the page.
#[derive(Debug, Clone)]
pub struct Element(String);

impl Browser {
    /// Starts a browser.
    ///
    /// # Errors
    /// If it is not installed.
    pub fn start() -> anyhow::Result<Browser> {
        let missing = "Debian's packages chromium and chromium-driver are needed";
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start chromedriver: {missing}"))?;
        let port = port(&mut driver);
        let client = Client::builder().timeout(Duration::from_secs(60)).no_proxy().build()?;
        let profile = tempfile::tempdir()?;
        let mut browser = Browser { driver, client, session: String::new(), _profile: profile };
        let server = format!("http://127.0.0.1:{}", port?);
        let own_files = format!("--user-data-dir={}", browser._profile.path().display());
        let arguments: Vec<&str> = ARGUMENTS.into_iter().chain([own_files.as_str()]).collect();
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let begun = browser.post(&format!("{server}/session"), &wanted).context(missing)?;
        let id = begun["sessionId"].as_str().context("no session")?;
        browser.session = format!("{server}/session/{id}");
        Ok(browser)
    }

    fn post(&self, address: &str, body: &Value) -> anyhow::Result<Value> {
        let answer =
            self.client.post(address).header("Content-Type", "application/json").body(body.to_string());
        let text = answer.send()?.text()?;
        let mut value: Value = serde_json::from_str(&text).with_context(|| text.clone())?;
        match value["value"].take() {
            Value::Object(error) if error.contains_key("error") => {
                bail!("{}", error["message"].as_str().unwrap_or_default().lines().next().unwrap_or_default())
            }
            value => Ok(value),
        }
    }

    fn command(&self, name: &str, body: &Value) -> anyhow::Result<Value> {
        self.post(&format!("{}/{name}", self.session), body).with_context(|| name.to_owned())
    }

    /// Sends a command of Chromium's own protocol.
    pub fn own(&self, name: &str, parameters: &Value) -> anyhow::Result<Value> {
        self.command("goog/cdp/execute", &json!({ "cmd": name, "params": parameters }))
            .with_context(|| name.to_owned())
    }

    /// Opens an address and waits until it is loaded.
    pub fn open(&self, address: &str) -> anyhow::Result<()> {
        self.command("url", &json!({ "url": address })).map(drop)
    }

    /// Runs a script and returns its result.
    pub fn run(&self, script: &str) -> anyhow::Result<Value> {
        self.run_on(script, &[])
    }

    /// Runs a script with elements as `arguments` and returns its result.
    pub fn run_on(&self, script: &str, elements: &[&Element]) -> anyhow::Result<Value> {
        let arguments: Vec<Value> = elements.iter().map(|element| json!({ ELEMENT: element.0 })).collect();
        self.command("execute/sync", &json!({ "script": script, "args": arguments }))
    }

    /// Checks that an expression is true; `what` is the error message.
    pub fn holds(&self, script: &str, what: &str) -> anyhow::Result<()> {
        let value = self.run(script)?;
        ensure!(value == Value::Bool(true), "{what}: {value}");
        Ok(())
    }

    /// The elements that match a selector.
    pub fn all(&self, selector: &str) -> anyhow::Result<Vec<Element>> {
        let found = self.command("elements", &json!({ "using": "css selector", "value": selector }))?;
        let id = |element: &Value| element[ELEMENT].as_str().map(|id| Element(id.to_owned()));
        found.as_array().into_iter().flatten().map(|element| id(element).context("no element")).collect()
    }

    /// The element that a script returned.
    pub fn found(&self, value: &Value) -> anyhow::Result<Element> {
        Ok(Element(value[ELEMENT].as_str().context("no element")?.to_owned()))
    }

    /// The first element that matches a selector.
    pub fn one(&self, selector: &str) -> anyhow::Result<Element> {
        self.all(selector)?.into_iter().next().with_context(|| format!("there is no {selector}"))
    }

    /// Clicks an element.
    pub fn click(&self, element: &Element) -> anyhow::Result<()> {
        self.command(&format!("element/{}/click", element.0), &json!({})).map(drop)
    }

    /// Types keys into an element, which gets the focus.
    pub fn keys(&self, element: &Element, keys: &str) -> anyhow::Result<()> {
        self.command(&format!("element/{}/value", element.0), &json!({ "text": keys })).map(drop)
    }

    /// Sets the size of the page in pixels.
    pub fn size(&self, width: u32, height: u32) -> anyhow::Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.own("Emulation.setDeviceMetricsOverride", &size).map(drop)
    }

    /// Sets the preferred colour scheme, `light` or `dark`.
    pub fn scheme(&self, scheme: &str) -> anyhow::Result<()> {
        self.media("", scheme)
    }

    /// Shows the page for a medium: print, or the screen again.
    pub fn media(&self, media: &str, scheme: &str) -> anyhow::Result<()> {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.own("Emulation.setEmulatedMedia", &json!({ "media": media, "features": [feature] })).map(drop)
    }

    /// The page as a PNG picture.
    pub fn picture(&self, width: u32, height: u32) -> anyhow::Result<Vec<u8>> {
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let found = self.own("Page.captureScreenshot", &json!({ "format": "png", "clip": clip }))?;
        Ok(STANDARD.decode(found["data"].as_str().context("no picture")?)?)
    }

    /// Checks that the browser has logged nothing about the page: no errors, warnings or violations of its policy.
    pub fn is_silent(&self) -> anyhow::Result<()> {
        let said = self.command("se/log", &json!({ "type": "browser" }))?;
        ensure!(said.as_array().is_some_and(Vec::is_empty), "the browser says {said}");
        Ok(())
    }
}

/// The port on which the driver reports to listen.
fn port(driver: &mut Child) -> anyhow::Result<u16> {
    let lines = BufReader::new(driver.stdout.take().context("no output")?).lines();
    for line in lines {
        if let Some((_, port)) = line?.split_once("started successfully on port ") {
            return Ok(port.trim_end_matches('.').parse()?);
        }
    }
    bail!("chromedriver ended at once")
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            // The browser ends with its session; otherwise it ends with the driver.
            let _ = self.client.delete(&self.session).send();
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
