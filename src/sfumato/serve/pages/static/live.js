// What pages do beside htmx; each of them works without this, too.
"use strict";

document.documentElement.classList.add("scripted"); // buttons that stand in for it are hidden then

// The field of the spend follows the slider below the curve, and says to a screen reader which spend it stands for.
document.addEventListener("input", (event) => {
  const slider = event.target;
  if (slider.id !== "slide") return;
  const spend = JSON.parse(slider.dataset.spends)[Number(slider.value)];
  slider.setAttribute("aria-valuetext", spend);
  document.getElementById("spend").value = spend;
});

// A question on its way is followed while it lasts; when its state changes, the page is made anew.
const said = document.getElementById("said");
if (said && said.dataset.events) {
  const stream = new EventSource(said.dataset.events);
  stream.addEventListener("state", (event) => {
    const now = JSON.parse(event.data);
    if (now.state !== said.dataset.state) {
      stream.close();
      location.reload();
      return;
    }
    if (said.textContent !== now.said) said.textContent = now.said;
    const part = document.getElementById("part");
    if (part) {
      part.hidden = now.part === null;
      if (now.part !== null) part.value = now.part;
    }
    for (const stage of document.querySelectorAll("[data-stage]")) {
      if (stage.dataset.stage === now.stage) stage.setAttribute("aria-current", "step");
      else stage.removeAttribute("aria-current");
    }
  });
  stream.addEventListener("error", () => {
    // A stream that ended connects again by itself; one that was refused does not.
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
  });
}
