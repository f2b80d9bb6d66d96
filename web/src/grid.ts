// Points in cells, so that the nearest to a place and those inside an outline are found at once.
import type { Place } from "./camera";

export class Grid {
  private readonly side: number;
  private readonly starts: Uint32Array; // of the cells' points in `order`
  private readonly order: Uint32Array; // points by cell

  constructor(private readonly xy: Float32Array) {
    const count = xy.length / 2;
    this.side = Math.max(1, Math.min(1024, Math.ceil(Math.sqrt(count / 4))));
    const cells = new Uint32Array(count);
    this.starts = new Uint32Array(this.side * this.side + 1);
    for (let i = 0; i < count; i++) {
      cells[i] = this.line(xy[2 * i + 1]) * this.side + this.line(xy[2 * i]);
      this.starts[cells[i] + 1]++;
    }
    for (let c = 0; c < this.side * this.side; c++) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice();
    this.order = new Uint32Array(count);
    for (let i = 0; i < count; i++) this.order[next[cells[i]]++] = i;
  }

  /** The row or column of a coordinate; what lies outside the square is at its edge. */
  private line(value: number): number {
    const at = Math.floor(((value + 1) / 2) * this.side);
    return Math.min(Math.max(at, 0), this.side - 1);
  }

  private within(low: Place, high: Place, see: (point: number) => void): void {
    const [left, right] = [this.line(low.x), this.line(high.x)];
    for (let row = this.line(low.y); row <= this.line(high.y); row++) {
      const cell = row * this.side;
      for (let at = this.starts[cell + left]; at < this.starts[cell + right + 1]; at++) {
        see(this.order[at]);
      }
    }
  }

  /** The point nearest to a place, if one is within the radius; -1 otherwise. */
  nearest(place: Place, radius: number): number {
    let best = -1;
    let least = radius * radius;
    this.within(
      { x: place.x - radius, y: place.y - radius },
      { x: place.x + radius, y: place.y + radius },
      (point) => {
        const dx = this.xy[2 * point] - place.x;
        const dy = this.xy[2 * point + 1] - place.y;
        const square = dx * dx + dy * dy;
        if (square < least) {
          least = square;
          best = point;
        }
      },
    );
    return best;
  }

  /** The points inside a closed outline, by the even-odd rule. */
  inside(outline: Place[]): Uint32Array {
    const xs = outline.map((place) => place.x);
    const ys = outline.map((place) => place.y);
    const found: number[] = [];
    this.within(
      { x: Math.min(...xs), y: Math.min(...ys) },
      { x: Math.max(...xs), y: Math.max(...ys) },
      (point) => {
        if (encloses(xs, ys, this.xy[2 * point], this.xy[2 * point + 1])) found.push(point);
      },
    );
    return Uint32Array.from(found).sort();
  }
}

function encloses(xs: number[], ys: number[], x: number, y: number): boolean {
  let odd = false;
  for (let i = 0, j = xs.length - 1; i < xs.length; j = i++) {
    const crosses = ys[i] > y !== ys[j] > y;
    if (crosses && x < ((xs[j] - xs[i]) * (y - ys[i])) / (ys[j] - ys[i]) + xs[i]) odd = !odd;
  }
  return odd;
}
