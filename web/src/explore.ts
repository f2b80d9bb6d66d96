// What all pages share.
import htmx from "htmx.org";
import { combobox } from "./combobox";
import { review } from "./review";

htmx.config.allowEval = false;
htmx.config.includeIndicatorStyles = false;
htmx.config.historyCacheSize = 0; // pages hold names: the server is asked again
htmx.config.refreshOnHistoryMiss = true; // for the whole page, with its scripts
htmx.config.selfRequestsOnly = true;
htmx.config.scrollBehavior = "auto";
htmx.config.defaultSettleDelay = 0; // a key pressed at once meets buttons that are ready

// An answer that is an error is shown where the answer would have stood.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = event as CustomEvent<{
    xhr: XMLHttpRequest;
    shouldSwap: boolean;
    isError: boolean;
  }>;
  if (detail.xhr.getResponseHeader("content-type")?.startsWith("text/html")) {
    detail.shouldSwap = true;
    detail.isError = false;
  }
});
document.addEventListener("htmx:sendError", () => {
  const place = document.getElementById("notice");
  if (place) place.textContent = "The server does not answer. Is hale explore still running?";
});
document.addEventListener("htmx:afterRequest", (event) => {
  const place = document.getElementById("notice");
  if (place && (event as CustomEvent<{ successful: boolean }>).detail.successful) {
    place.textContent = "";
  }
});

// "why" opens below its fact, and closes when pressed again.
document.addEventListener("htmx:confirm", (event) => {
  const button = (event.target as Element).closest<HTMLElement>("[data-why]");
  if (!button) return;
  const place = button.closest("tbody")?.querySelector(".why");
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  if (open && place) {
    place.replaceChildren();
    event.preventDefault();
  }
});

document.querySelectorAll<HTMLElement>(".combobox").forEach(combobox);
review();

// A letter shared by all pages: / goes to the search box.
document.addEventListener("keydown", (event) => {
  const typing = (event.target as Element).closest("input, select, textarea");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  document.querySelector<HTMLInputElement>("[data-search] input")?.focus();
  event.preventDefault();
});
