// Review by keys: A accepts, R rejects, S skips, U takes the last decision back.

export function review(): void {
  const place = document.getElementById("review");
  if (!place) return;
  document.addEventListener("keydown", (event) => {
    if ((event.target as Element).closest("input, select, textarea")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const button = place.querySelector<HTMLButtonElement>(
      `[data-key="${CSS.escape(event.key.toLowerCase())}"]`,
    );
    if (!button || button.disabled) return;
    event.preventDefault();
    button.click();
  });
  const who = document.querySelector<HTMLInputElement>("#who");
  if (who) {
    who.value = localStorage.getItem("hale.who") ?? who.value;
    who.addEventListener("change", () => localStorage.setItem("hale.who", who.value));
  }
}
