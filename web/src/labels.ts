// The names of clusters over the map: the largest first, none over another.
import type { Camera } from "./camera";

export interface Cluster {
  x: number;
  y: number;
  name: string;
  detail: string;
  size: number;
}

export class Labels {
  private readonly shown: { cluster: Cluster; element: HTMLElement; width: number }[] = [];

  constructor(private readonly box: HTMLElement) {}

  set(clusters: Cluster[]): void {
    this.box.replaceChildren();
    this.shown.length = 0;
    for (const cluster of [...clusters].sort((a, b) => b.size - a.size)) {
      const element = document.createElement("span");
      element.className = "cluster";
      element.textContent = cluster.name;
      element.title = cluster.detail;
      this.box.append(element);
      this.shown.push({ cluster, element, width: element.offsetWidth });
    }
  }

  place(camera: Camera): void {
    const taken: [number, number, number][] = []; // middle, height, width
    for (const { cluster, element, width } of this.shown) {
      const at = camera.toPixels(cluster.x, cluster.y);
      const outside = at.x < 0 || at.y < 0 || at.x > camera.width || at.y > camera.height;
      const met = taken.some(
        ([x, y, other]) => Math.abs(y - at.y) < 24 && Math.abs(x - at.x) < (width + other) / 2 + 8,
      );
      element.hidden = outside || met;
      if (element.hidden) continue;
      taken.push([at.x, at.y, width]);
      element.style.transform = `translate(${at.x}px, ${at.y}px) translate(-50%, -50%)`;
    }
  }
}
