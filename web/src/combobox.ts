// Names completed as one types: a text field with a list below it (the ARIA combobox pattern).
//
// <div class="combobox" data-source="/complete?kind=entity" [data-go="/entity?name="]>
//   <input role="combobox" aria-controls="x"> <ul id="x" role="listbox"></ul>
// The source answers with <li role="option" data-value="..."> for the text after &q=.

export function combobox(box: HTMLElement): void {
  const input = box.querySelector("input")!;
  const list = box.querySelector("ul")!;
  let active = -1;
  let asked = 0;
  let timer = 0;
  let listed: string | null = null; // the text that the list is for

  const options = (): HTMLElement[] => [...list.querySelectorAll<HTMLElement>('[role="option"]')];
  const open = (shown: boolean): void => {
    list.hidden = !shown;
    input.setAttribute("aria-expanded", String(shown));
    if (!shown) mark(-1);
  };
  const mark = (number: number): void => {
    active = number;
    options().forEach((option, at) => {
      option.setAttribute("aria-selected", String(at === number));
      option.id ||= `${list.id}-${at}`;
      if (at === number) option.scrollIntoView({ block: "nearest" });
    });
    const option = options()[number];
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  };
  const choose = (value: string): void => {
    input.value = value;
    open(false);
    box.dispatchEvent(new CustomEvent("chosen", { detail: value, bubbles: true }));
    if (box.dataset.go) location.assign(box.dataset.go + encodeURIComponent(value));
  };
  const look = async (): Promise<void> => {
    const mine = ++asked;
    const text = input.value.trim();
    const source = box.dataset.source!;
    if (!text && !box.dataset.empty) {
      open(false);
      return;
    }
    const answer = await fetch(`${source}&q=${encodeURIComponent(text)}`);
    if (mine !== asked || document.activeElement !== input) return;
    if (!answer.ok) return;
    list.innerHTML = await answer.text(); // written by the server, names escaped
    listed = text;
    open(list.childElementCount > 0);
  };

  input.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void look(), 120);
  });
  input.addEventListener("focus", () => {
    if (box.dataset.empty && !input.value) void look();
  });
  input.addEventListener("blur", () => window.setTimeout(() => open(false), 120));
  input.addEventListener("keydown", (event) => {
    const count = options().length;
    const shown = !list.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!shown) void look();
      else mark((active + (event.key === "ArrowDown" ? 1 : count - 1 + Number(active < 0))) % count);
    } else if (event.key === "Enter" && shown && count && listed === input.value.trim()) {
      choose(options()[Math.max(0, active)].dataset.value!);
    } else if (event.key === "Enter" && (shown || box.dataset.first)) {
      // quicker than the list: it is waited for, and its first taken; nobody else asks meanwhile
      window.clearTimeout(timer);
      void look().then(() => {
        const first = options()[0];
        if (first && listed === input.value.trim()) choose(first.dataset.value!);
      });
    } else if (event.key === "Escape" && shown) {
      open(false);
    } else {
      return;
    }
    event.preventDefault();
  });
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    const option = (event.target as Element).closest<HTMLElement>("[data-value]");
    if (option) choose(option.dataset.value!);
  });
}
