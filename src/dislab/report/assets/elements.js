"use strict";
/* What the scripts of a page share. Texts of runs enter by textContent only. */

/* An element with properties, attributes of accessibility, and children. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("aria-") || name === "role" || name === "for" || name === "scope") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

/* Short tables are printed whether or not they are folded. */
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details.printed:not([open])")) {
    fold.open = true;
    addEventListener("afterprint", () => { fold.open = false; }, { once: true });
  }
});

/* What a script element of this id holds as JSON. */
function dataOf(id) {
  return JSON.parse(document.getElementById(id).textContent);
}
