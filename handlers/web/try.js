"use strict";
// The page to try a URL on. What comes back is shown as text, never as HTML. The key stays in the form.
const form = document.getElementById("try");
const state = document.getElementById("state");
const answer = document.getElementById("answer");

function show(line, text) {
  state.textContent = line;
  answer.textContent = text;
  answer.hidden = text === "";
}

async function ask(path, headers) {
  const buttons = form.querySelectorAll("button");
  buttons.forEach((b) => { b.disabled = true; });
  show("Asking…", "");
  try {
    const response = await fetch(path, { headers, redirect: "error" });
    const text = await response.text();
    if (!response.ok) {
      const problem = JSON.parse(text);
      show(problem.title + ": " + problem.detail + " Nothing was charged.", JSON.stringify(problem, null, 2));
      return;
    }
    if (response.headers.get("Content-Type").startsWith("text/markdown")) {
      const units = response.headers.get("WebReader-Units");
      show("Read. Charged: " + units + (units === "1" ? " unit." : " units."), text);
      return;
    }
    const decision = JSON.parse(text);
    show(decision.allowed ? "The site allows it." : "The site does not allow it.", JSON.stringify(decision, null, 2));
  } catch {
    show("No answer came. Is the connection there?", "");
  } finally {
    buttons.forEach((b) => { b.disabled = false; });
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const url = "url=" + encodeURIComponent(form.elements.url.value.trim());
  if (event.submitter && event.submitter.name === "check") {
    ask("/bot/check?" + url, { Accept: "application/json" });
    return;
  }
  const key = form.elements.key.value.trim();
  if (key === "") {
    show("Reading needs a key. Without one you can ask whether the site allows it.", "");
    form.elements.key.focus();
    return;
  }
  ask("/read?" + url, { Accept: "text/markdown", Authorization: "Bearer " + key });
});
