// Curves of a run: what training measured, and how probabilities meet what is true.
import uPlot from "uplot";

interface Curve {
  title: string;
  x: string;
  values: (number | null)[][]; // of the axis, then of each series
  series: string[];
  unit: boolean; // from 0 to 1 on both axes, with a diagonal
}

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function plot(place: HTMLElement): uPlot {
  const curve = JSON.parse(place.dataset.curve!) as Curve;
  const grid = { stroke: colour("--line"), width: 1 };
  const axis = { stroke: colour("--soft"), grid, ticks: grid, font: "12px system-ui", labelFont: "12px system-ui" };
  const drawn = new uPlot(
    {
      width: place.clientWidth,
      height: curve.unit ? Math.min(place.clientWidth, 340) : 220,
      legend: { live: true },
      scales: { x: { time: false, ...(curve.unit && { range: [0, 1] }) }, ...(curve.unit && { y: { range: [0, 1] } }) },
      axes: [{ ...axis, label: curve.x }, { ...axis, size: 56 }],
      series: [
        { label: curve.x, value: (_plot: uPlot, value: number | null) => (value === null ? "" : value.toFixed(curve.unit ? 2 : 0)) },
        ...curve.series.map((label, at) => ({
          label,
          stroke: colour(`--c${at + 1}`),
          width: 2,
          dash: curve.unit && at === 1 ? [4, 4] : undefined,
          points: { show: !(curve.unit && at === 1), size: 5 },
          spanGaps: true,
        })),
      ],
    },
    curve.values as uPlot.AlignedData,
    place,
  );
  return drawn;
}

function all(): void {
  for (const place of document.querySelectorAll<HTMLElement>("[data-curve]")) {
    if (place.dataset.drawn) continue;
    place.dataset.drawn = "yes";
    const drawn = plot(place);
    new ResizeObserver(() => drawn.setSize({ width: place.clientWidth, height: drawn.height })).observe(place);
  }
}

all();
document.addEventListener("htmx:afterSettle", all);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const place of document.querySelectorAll<HTMLElement>("[data-curve]")) {
    place.replaceChildren();
    delete place.dataset.drawn;
  }
  all();
});
