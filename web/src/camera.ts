// Which part of the plane is seen: a centre, and pixels a unit.

export interface Place {
  x: number;
  y: number;
}

export class Camera {
  x = 0;
  y = 0;
  scale = 1;
  width = 1;
  height = 1;
  covered = 0; // pixels at the left that something else lies over

  /** The whole square from -1 to 1, with a margin. */
  fit(): void {
    this.x = this.y = 0;
    this.scale = this.whole();
  }

  whole(): number {
    return 0.46 * Math.min(this.width - this.covered, this.height);
  }

  resize(width: number, height: number, covered: number): void {
    const zoom = this.scale / this.whole();
    this.width = width;
    this.height = height;
    this.covered = covered;
    this.scale = zoom * this.whole();
  }

  get zoom(): number {
    return this.scale / this.whole();
  }

  set zoom(value: number) {
    this.scale = Math.min(Math.max(value, 0.5), 4000) * this.whole();
  }

  pan(right: number, down: number): void {
    this.x -= right / this.scale;
    this.y += down / this.scale;
  }

  /** Zoom by a factor; what is under the place (pixels) stays there. */
  zoomAt(factor: number, px: number, py: number): void {
    const before = this.toPlane(px, py);
    this.zoom *= factor;
    const after = this.toPlane(px, py);
    this.x += before.x - after.x;
    this.y += before.y - after.y;
  }

  /** The pixel at which the centre is shown. */
  private get across(): number {
    return (this.width + this.covered) / 2;
  }

  toPlane(px: number, py: number): Place {
    return {
      x: this.x + (px - this.across) / this.scale,
      y: this.y - (py - this.height / 2) / this.scale,
    };
  }

  toPixels(x: number, y: number): Place {
    return {
      x: this.across + (x - this.x) * this.scale,
      y: this.height / 2 - (y - this.y) * this.scale,
    };
  }
}
