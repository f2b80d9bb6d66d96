// The map: all entities as points, to be searched, coloured, hovered, clicked and outlined.
import { Camera, type Place } from "./camera";
import { fetchFrame, told } from "./frames";
import { Grid } from "./grid";
import { Labels, type Cluster } from "./labels";
import { Outline } from "./outline";
import { Pace } from "./pace";
import { COLOURS, Points } from "./points";

interface Layout {
  kind: string;
  version: string;
  clusters: Cluster[];
}
interface Legend {
  entries: { colour: number; text: string }[];
  note: string;
}
interface Card {
  id: number;
  name: string;
  label: string | null;
  degree: number;
}

const HOVER = 14; // pixels within which a point is met
const element = <T extends Element = HTMLElement>(id: string): T =>
  document.getElementById(id) as unknown as T;

class MapPage {
  private readonly stage = element("stage");
  private readonly camera = new Camera();
  private readonly points: Points;
  private readonly pace = new Pace();
  private readonly labels = new Labels(element("clusters"));
  private readonly outline = new Outline(element<SVGPolygonElement>("outline"));
  private readonly tip = element("tip");
  private readonly ring = element("ring");
  private readonly status = element("map-status");
  private readonly colourBy = element<HTMLSelectElement>("colour");
  private readonly lasso = element<HTMLButtonElement>("lasso");
  private xy: Float32Array = new Float32Array(0);
  private grid: Grid | null = null;
  private version = "";
  private chosen = -1;
  private hovered = -1;
  private selection: Uint32Array = new Uint32Array(0);
  private waiting = false; // for a frame to be drawn
  private moving = false;
  private began = 0; // of the points' way to new places
  private readonly cards = new Map<number, Promise<Card>>();

  constructor() {
    this.points = new Points(element<HTMLCanvasElement>("map"));
    new ResizeObserver(() => this.resize()).observe(this.stage);
    this.resize();
    this.camera.fit();
    this.listen();
    window
      .matchMedia("(prefers-color-scheme: dark)")
      .addEventListener("change", () => this.recolour());
    this.recolour();
  }

  async start(): Promise<void> {
    const asked = new URLSearchParams(location.search);
    if (asked.has("z")) {
      this.camera.x = Number(asked.get("x"));
      this.camera.y = Number(asked.get("y"));
      this.camera.zoom = Number(asked.get("z"));
    }
    await this.load();
    if (asked.has("entity")) await this.choose(asked.get("entity")!, !asked.has("z"));
    this.watch();
  }

  // -- what is drawn -----------------------------------------------------------------------------

  private async load(): Promise<void> {
    const { head, numbers } = await fetchFrame<Layout>("/map/points");
    const arrived = performance.now();
    this.xy = new Float32Array(numbers);
    this.version = head.version;
    if (this.points.move(this.xy) && !still()) this.began = performance.now();
    this.labels.set(head.clusters);
    this.draw();
    requestAnimationFrame(() =>
      setTimeout(() => {
        this.points.finish();
        this.stage.dataset.painted = String(Math.round(performance.now() - arrived));
        this.grid = new Grid(this.xy);
        this.stage.dataset.count = String(this.points.count);
        this.stage.dataset.kind = head.kind;
        this.learn();
      }),
    );
    await this.colour();
  }

  private async colour(): Promise<void> {
    const by = this.colourBy.value;
    const { head, numbers } = await fetchFrame<Legend>(`/map/colours?by=${encodeURIComponent(by)}`);
    if (by !== this.colourBy.value || numbers.byteLength !== this.points.count) return;
    this.points.paint(new Uint8Array(numbers));
    const items = head.entries.map(({ colour, text }) => {
      const item = document.createElement("li");
      const dot = document.createElement("span");
      dot.className = `dot c${colour}`;
      item.append(dot, text);
      return item;
    });
    element("legend").replaceChildren(...items);
    element("legend-note").textContent = head.note;
    this.draw();
  }

  /** The colours of the style sheet, for light or dark. */
  private recolour(): void {
    const style = getComputedStyle(document.documentElement);
    const rgba = new Float32Array(4 * COLOURS);
    for (let i = 0; i < COLOURS; i++) {
      const hex = style.getPropertyValue(`--c${i}`).trim() || "#888888";
      for (let part = 0; part < 3; part++) {
        rgba[4 * i + part] = parseInt(hex.slice(1 + 2 * part, 3 + 2 * part), 16) / 255;
      }
      rgba[4 * i + 3] = i ? 0.85 : 0.5;
    }
    this.points.colours(rgba);
    this.draw();
  }

  private draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const share = this.began ? Math.min(1, (performance.now() - this.began) / 900) : 1;
      this.points.go(share * share * (3 - 2 * share));
      const every = this.moving || share < 1 ? this.pace.frame(performance.now()) : 1;
      this.points.draw(this.camera, this.size(), every);
      this.stage.dataset.every = String(every);
      this.labels.place(this.camera);
      this.mark();
      if (share < 1) this.draw();
      else this.began = 0;
    });
  }

  /** How long all points take here, so that a movement begins with as many as go. */
  private learn(): void {
    const began = performance.now();
    this.points.draw(this.camera, this.size(), 1);
    this.points.finish();
    const took = performance.now() - began;
    this.pace.learn(took);
    this.stage.dataset.whole = String(Math.round(took));
  }

  /** Pixels of a point: larger where there are few, on a large screen, and from near. */
  private size(): number {
    const large = Math.max(1, Math.sqrt((this.camera.width * this.camera.height) / 1.2e6));
    const few = (large * 420) / Math.sqrt(Math.max(1, this.points.count));
    return Math.min(Math.max(few, 1.6) * Math.sqrt(Math.max(1, this.camera.zoom)) ** 0.8, 14);
  }

  private mark(): void {
    const point = this.chosen;
    this.ring.hidden = point < 0;
    if (point < 0) return;
    const at = this.camera.toPixels(this.xy[2 * point], this.xy[2 * point + 1]);
    this.ring.style.transform = `translate(${at.x}px, ${at.y}px) translate(-50%, -50%)`;
  }

  private resize(): void {
    const box = this.stage.getBoundingClientRect();
    const seek = element("seek").getBoundingClientRect();
    const covered = seek.width < 0.5 * box.width ? seek.right - box.left : 0;
    this.camera.resize(Math.max(1, box.width), Math.max(1, box.height), covered);
    this.draw();
  }

  // -- what is asked -----------------------------------------------------------------------------

  private card(point: number): Promise<Card> {
    if (!this.cards.has(point)) {
      if (this.cards.size > 5000) this.cards.clear();
      const found = fetch(`/map/entity?id=${point}`).then((answer) =>
        answer.ok ? (answer.json() as Promise<Card>) : Promise.reject(new Error(answer.statusText)),
      );
      found.catch(() => this.cards.delete(point)); // asked again when it is hovered again
      this.cards.set(point, found);
    }
    return this.cards.get(point)!;
  }

  private async hover(place: Place | null): Promise<void> {
    const point =
      place && this.grid && !this.outline.drawing
        ? this.grid.nearest(this.camera.toPlane(place.x, place.y), HOVER / this.camera.scale)
        : -1;
    this.hovered = point;
    if (point < 0) {
      this.tip.hidden = true;
      return;
    }
    const card = await this.card(point).catch(() => null);
    if (!card || this.hovered !== point) return;
    const facts = `${card.degree} ${card.degree === 1 ? "fact" : "facts"}`;
    this.tip.textContent = card.label ? `${card.label} · ${card.name} · ${facts}` : `${card.name} · ${facts}`;
    this.tip.hidden = false;
    const at = this.camera.toPixels(this.xy[2 * point], this.xy[2 * point + 1]);
    const left = Math.min(at.x + 12, this.camera.width - this.tip.offsetWidth - 8);
    this.tip.style.transform = `translate(${Math.max(8, left)}px, ${at.y + 12}px)`;
  }

  /** Show an entity, by its number or its name, in the panel; go there if asked to. */
  private async choose(who: number | string, go: boolean): Promise<void> {
    const asked = typeof who === "number" ? `id=${who}` : `name=${encodeURIComponent(who)}`;
    const answer = await fetch(`/map/card?${asked}`);
    const panel = element("panel");
    if (!answer.ok) {
      panel.textContent = await told(answer);
      panel.hidden = false;
      return;
    }
    panel.innerHTML = await answer.text(); // written by the server, names escaped
    panel.hidden = false;
    this.chosen = Number(panel.querySelector<HTMLElement>("[data-id]")!.dataset.id);
    if (go) {
      this.camera.x = this.xy[2 * this.chosen];
      this.camera.y = this.xy[2 * this.chosen + 1];
      this.camera.zoom = Math.max(this.camera.zoom, 5);
    }
    this.remember();
    this.draw();
  }

  private async select(points: Uint32Array): Promise<void> {
    this.selection = points;
    const answer = await fetch("/map/selection", this.body());
    const panel = element("panel");
    if (answer.ok) panel.innerHTML = await answer.text();
    else panel.textContent = await told(answer);
    panel.hidden = false;
    panel.querySelector<HTMLElement>("h2")?.focus();
  }

  private body(): RequestInit {
    return { method: "POST", body: this.selection as Uint32Array<ArrayBuffer> };
  }

  private async download(): Promise<void> {
    const answer = await fetch("/map/selection.tsv", this.body());
    if (!answer.ok) {
      this.status.textContent = await told(answer);
      return;
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = "selection.tsv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  /** Everything that is seen now. */
  private inView(): Place[] {
    const low = this.camera.toPlane(0, this.camera.height);
    const high = this.camera.toPlane(this.camera.width, 0);
    return [low, { x: high.x, y: low.y }, high, { x: low.x, y: high.y }];
  }

  private close(): void {
    element("panel").hidden = true;
    this.chosen = -1;
    this.remember();
    this.draw();
  }

  /** The address tells what is seen, so that it can be shared. */
  private remember(): void {
    const asked = new URLSearchParams();
    const card = element("panel").querySelector<HTMLElement>("[data-id]");
    if (this.chosen >= 0 && card) asked.set("entity", card.dataset.name!);
    if (this.colourBy.value !== "cluster") asked.set("colour", this.colourBy.value);
    if (this.camera.x || this.camera.y || Math.abs(this.camera.zoom - 1) > 1e-3) {
      asked.set("x", this.camera.x.toFixed(4));
      asked.set("y", this.camera.y.toFixed(4));
      asked.set("z", this.camera.zoom.toFixed(2));
    }
    const text = asked.toString();
    history.replaceState(null, "", text ? `/?${text}` : "/");
  }

  private later = 0;
  private moved(): void {
    this.moving = true;
    this.draw();
    window.clearTimeout(this.later);
    this.later = window.setTimeout(() => {
      this.moving = false;
      this.draw();
      this.remember();
    }, 250);
  }

  /** How far the better layout is; when it is there, the points go to it. */
  private async watch(): Promise<void> {
    for (;;) {
      const answer = await fetch("/map/status").catch(() => null);
      if (!answer?.ok) {
        this.status.textContent = answer ? await told(answer) : "The server does not answer.";
        await pause(5000);
        continue;
      }
      const { text, version, working } = (await answer.json()) as {
        text: string;
        version: string;
        working: boolean;
      };
      if (this.status.textContent !== text) this.status.textContent = text;
      if (version !== this.version) await this.load();
      if (!working) return;
      await pause(1500);
    }
  }

  // -- hands -------------------------------------------------------------------------------------

  private listen(): void {
    const at = (event: MouseEvent): Place => {
      const box = this.stage.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const surface = element("surface");
    const held = new Map<number, Place>();
    let travelled = 0;
    surface.addEventListener("pointerdown", (event) => {
      surface.setPointerCapture(event.pointerId);
      held.set(event.pointerId, at(event));
      travelled = 0;
      const outlining = event.shiftKey || this.lasso.getAttribute("aria-pressed") === "true";
      if (held.size === 1 && outlining) this.outline.begin(at(event));
    });
    surface.addEventListener("pointermove", (event) => {
      const now = at(event);
      const before = held.get(event.pointerId);
      if (!before) {
        void this.hover(now);
        return;
      }
      travelled += Math.hypot(now.x - before.x, now.y - before.y);
      held.set(event.pointerId, now);
      if (this.outline.drawing) {
        this.outline.go(now);
      } else if (held.size === 2) {
        const [one, other] = [...held.values()];
        const still = now === one ? other : one;
        const far = Math.hypot(now.x - still.x, now.y - still.y);
        const was = Math.hypot(before.x - still.x, before.y - still.y);
        this.camera.zoomAt(far / Math.max(1, was), (one.x + other.x) / 2, (one.y + other.y) / 2);
        this.moved();
      } else {
        this.camera.pan(now.x - before.x, now.y - before.y);
        this.moved();
      }
    });
    const release = (event: PointerEvent): void => {
      held.delete(event.pointerId);
      if (this.outline.drawing) {
        const outline = this.outline.end().map((p) => this.camera.toPlane(p.x, p.y));
        this.lasso.setAttribute("aria-pressed", "false");
        if (outline.length > 2 && this.grid) void this.select(this.grid.inside(outline));
      } else if (event.type === "pointerup" && travelled < 5 && this.grid) {
        const place = at(event);
        const point = this.grid.nearest(
          this.camera.toPlane(place.x, place.y),
          HOVER / this.camera.scale,
        );
        if (point >= 0) void this.choose(point, false);
      }
    };
    surface.addEventListener("pointerup", release);
    surface.addEventListener("pointercancel", release);
    surface.addEventListener("pointerleave", () => void this.hover(null));
    surface.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const place = at(event);
        this.camera.zoomAt(Math.exp(-event.deltaY * 0.0015), place.x, place.y);
        this.moved();
        void this.hover(place);
      },
      { passive: false },
    );
    surface.addEventListener("keydown", (event) => this.press(event));
    this.lasso.addEventListener("click", () => {
      const on = this.lasso.getAttribute("aria-pressed") === "true";
      this.lasso.setAttribute("aria-pressed", String(!on));
    });
    for (const [id, factor] of [["nearer", 1.6], ["farther", 1 / 1.6]] as const) {
      element(id).addEventListener("click", () => this.zoom(factor));
    }
    element("whole").addEventListener("click", () => this.fit());
    element("in-view").addEventListener("click", () => {
      if (this.grid) void this.select(this.grid.inside(this.inView()));
    });
    this.colourBy.addEventListener("change", () => {
      this.remember();
      void this.colour();
    });
    element("panel").addEventListener("click", (event) => {
      const target = (event.target as Element).closest<HTMLElement>("[data-do]");
      if (target?.dataset.do === "close") this.close();
      if (target?.dataset.do === "download") void this.download();
      if (target?.dataset.do === "choose") void this.choose(Number(target.dataset.point), true);
    });
    element("panel").addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.close();
      surface.focus();
    });
    element("map-search").addEventListener("chosen", (event) => {
      void this.choose((event as CustomEvent<string>).detail, true);
    });
  }

  private press(event: KeyboardEvent): void {
    const step = 60;
    const ways: Record<string, () => void> = {
      ArrowLeft: () => this.camera.pan(step, 0),
      ArrowRight: () => this.camera.pan(-step, 0),
      ArrowUp: () => this.camera.pan(0, step),
      ArrowDown: () => this.camera.pan(0, -step),
      "+": () => this.zoom(1.4),
      "=": () => this.zoom(1.4),
      "-": () => this.zoom(1 / 1.4),
      "0": () => this.fit(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = { x: this.camera.width / 2, y: this.camera.height / 2 };
    if (event.key in ways) {
      ways[event.key]();
      this.moved();
      void this.hover(middle);
    } else if (event.key === "Enter" && this.grid) {
      const place = this.camera.toPlane(middle.x, middle.y);
      const point = this.grid.nearest(place, this.camera.width / this.camera.scale);
      if (point >= 0) void this.choose(point, false);
    } else if (event.key === "Escape") {
      this.close();
    } else {
      return;
    }
    event.preventDefault();
  }

  private zoom(factor: number): void {
    this.camera.zoomAt(factor, this.camera.width / 2, this.camera.height / 2);
    this.moved();
  }

  private fit(): void {
    this.camera.fit();
    this.moved();
  }
}

const pause = (milliseconds: number): Promise<void> =>
  new Promise((done) => setTimeout(done, milliseconds));
const still = (): boolean => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

try {
  new MapPage().start().catch((error: Error) => {
    element("map-status").textContent = error.message;
  });
} catch (error) {
  const missing = (error as Error).message === "no WebGL 2";
  element("map-status").textContent = missing
    ? "The map cannot be drawn: this browser has no WebGL 2, or it is switched off. Search and the other pages work."
    : `The map cannot be drawn: ${(error as Error).message}`;
}
