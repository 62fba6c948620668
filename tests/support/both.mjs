// Opens pages in Chromium (CDP) or Firefox (WebDriver BiDi): a line of JSON on stdin is a visit,
// and its answer is a line on stdout. The end of stdin ends the browser. See both.py.
import { createInterface } from "node:readline";
import puppeteer from "puppeteer-core";

const [name, executablePath] = process.argv.slice(2);
const browser = await puppeteer.launch({
  browser: name === "firefox" ? "firefox" : "chrome",
  executablePath,
  args: name === "firefox" ? [] : ["--no-sandbox", "--host-resolver-rules=MAP *.example 127.0.0.1"],
  extraPrefsFirefox: {
    "network.dns.localDomains": "www.sitio.example,servicio.example",
    "ui.useOverlayScrollbars": 1, // as on a phone: they take no room
  },
});
const [page] = await browser.pages();
const cdp = name === "firefox" ? null : await page.createCDPSession();

// page.goBack() waits in vain where Firefox has the page in its back/forward cache.
const goBack = async () => {
  const { href } = new URL(page.url());
  await page.evaluate("history.back()");
  await page.waitForFunction((left) => location.href !== left, {}, href);
};

const visit = async ({ url, width, height, features, script, png, pdf }) => {
  if (!url) {
    await goBack();
    return { value: await page.evaluate(script) };
  }
  await page.setViewport({ width, height });
  await cdp?.send("Emulation.setEmulatedMedia", { features });
  await page.goto(url);
  const value = await page.evaluate(script);
  if (png) await page.screenshot({ path: png, fullPage: true });
  if (pdf) await page.pdf({ path: pdf, format: "a4" });
  return { value };
};

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await visit(JSON.parse(line)).catch((error) => ({ error: String(error) }));
  console.log(JSON.stringify(answer));
}
await browser.close();
