// A line drawn by hand around points.
import type { Place } from "./camera";

export class Outline {
  private places: Place[] = [];
  drawing = false;

  constructor(private readonly shape: SVGPolygonElement) {}

  begin(place: Place): void {
    this.places = [place];
    this.drawing = true;
    this.show();
  }

  go(place: Place): void {
    const last = this.places[this.places.length - 1];
    if (Math.hypot(place.x - last.x, place.y - last.y) < 3) return;
    this.places.push(place);
    this.show();
  }

  end(): Place[] {
    this.drawing = false;
    const places = this.places;
    this.places = [];
    this.show();
    return places;
  }

  private show(): void {
    this.shape.setAttribute("points", this.places.map((p) => `${p.x},${p.y}`).join(" "));
  }
}
