// What pages do beside htmx; each of them works without this, too.
"use strict";

// The field of the spend follows the slider below the curve, and says to a screen reader which spend it stands for.
document.addEventListener("input", (event) => {
  const slider = event.target;
  if (slider.id !== "slide") return;
  const spend = JSON.parse(slider.dataset.spends)[Number(slider.value)];
  slider.setAttribute("aria-valuetext", spend);
  document.getElementById("spend").value = spend;
});
