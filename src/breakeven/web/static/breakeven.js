// Light help for the pages: they work without it. Decides as one types, applies filters at once, keeps live pages live.
"use strict";

(() => {
  const WAIT_MS = 150;
  const LONGEST = 12000;
  const form = document.querySelector("form[data-live]");
  const answer = document.getElementById("answer");
  let timer = 0;
  let running = null;

  // Only what differs from the job file that was started from goes into the address.
  function changed() {
    const found = new URLSearchParams();
    for (const one of form.elements) {
      if (!one.name) continue;
      if (one.type === "hidden" ? one.value : one.value !== (one.dataset.base ?? "")) found.append(one.name, one.value);
    }
    return found;
  }

  function show(html) {
    const open = new Set([...answer.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
    const made = new DOMParser().parseFromString(html, "text/html").body;
    answer.replaceChildren(...made.childNodes);
    for (const one of answer.querySelectorAll("details > summary")) {
      if (open.has(one.textContent)) one.parentElement.open = true;
    }
    const wrong = answer.querySelector("[data-wrong]")?.dataset.wrong ?? "";
    for (const one of form.elements) {
      const isWrong = Boolean(one.name) && wrong !== "" && (wrong === one.name || wrong.startsWith(one.name + "[") || one.name.startsWith(wrong + "."));
      if (isWrong) one.setAttribute("aria-invalid", "true");
      else one.removeAttribute("aria-invalid");
      one.closest(".field")?.classList.toggle("wrong", isWrong);
    }
  }

  async function decide() {
    running?.abort();
    running = new AbortController();
    const asked = changed();
    const isLong = (asked.get("text") ?? "").length > LONGEST;
    const locale = document.documentElement.lang;
    const options = { signal: running.signal, headers: { "Accept-Language": locale } };
    if (isLong) Object.assign(options, { method: "POST", body: asked });
    answer.classList.add("waiting");
    try {
      const reply = await fetch("/decide/answer" + (isLong ? "" : "?" + asked), options);
      if (reply.status === 429) {
        timer = setTimeout(decide, 1000);
        return;
      }
      if (!reply.ok) throw new Error(String(reply.status));
      show(await reply.text());
      if (!isLong) history.replaceState(null, "", asked.size ? "/?" + asked : "/");
      for (const one of document.querySelectorAll(".languages a")) {
        const query = new URLSearchParams(asked);
        query.set("locale", one.hreflang);
        one.href = "/?" + query;
      }
    } catch (problem) {
      if (problem.name === "AbortError") return;
      form.requestSubmit();
    }
    answer.classList.remove("waiting");
  }

  function isForTheWholePage(one) {
    return one.name === "task" || one.name.startsWith("known-");
  }

  // On a phone the answer comes first; the form opens on demand.
  if (form && matchMedia("(max-width: 52rem)").matches && !form.querySelector(".wrong")) form.closest("details.whole").open = false;

  if (form && answer) {
    form.addEventListener("input", (event) => {
      if (isForTheWholePage(event.target)) return;
      clearTimeout(timer);
      timer = setTimeout(decide, WAIT_MS);
    });
    // Another task has other fields, and one more GPU is one more field: the page is made anew.
    form.addEventListener("change", (event) => {
      const { name } = event.target;
      const value = (key) => form.elements[key]?.value.trim() ?? "";
      const isAdded = value("known-gpu") && (value("known-hours") || (value("known-speedup") && value("known-over")));
      if (name === "task" || (name.startsWith("known-") && isAdded)) location.assign("/?" + changed());
    });
    form.addEventListener("submit", (event) => {
      if (form.method !== "get") return;
      event.preventDefault();
      location.assign("/?" + changed());
    });
  }

  for (const one of document.querySelectorAll("select[data-go]")) {
    one.addEventListener("change", () => one.value && one.form.requestSubmit());
  }

  const upload = document.querySelector("#upload input[type=file]");
  upload?.addEventListener("change", () => upload.files.length && upload.form.requestSubmit());

  for (const filters of document.querySelectorAll("form.filters")) {
    for (const one of filters.querySelectorAll("select")) one.addEventListener("change", () => filters.requestSubmit());
    filters.addEventListener("submit", () => {
      for (const one of filters.elements) if (one.name && !one.value) one.disabled = true;
    });
  }

  const main = document.querySelector("main[data-refresh]");
  if (main) {
    setInterval(async () => {
      if (document.hidden || main.contains(document.activeElement)) return;
      const reply = await fetch(location.href);
      if (!reply.ok) return;
      const made = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("main");
      if (made && made.innerHTML !== main.innerHTML) main.replaceChildren(...made.childNodes);
    }, 1000 * Number(main.dataset.refresh));
  }
})();
