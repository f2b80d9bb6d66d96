// How many of the points are drawn while the map moves: as many as keep it smooth.
//
// One in `every` is drawn in a frame of a movement, and all of them when it rests. How many that
// may be is learned from how long they take here: where all take no longer than a frame, all are.

const FRAME = 20; // milliseconds of a frame that moves smoothly
const SLOW = 34; // of one that does not
const TRIFLE = 5; // of points, below which it is not they who make a frame slow

export const SPARSEST = 31; // a stride in WebGL has at most 255 bytes, and a point has 8

export class Pace {
  private every = 1;
  private most = SPARSEST;
  private last = 0;

  /** All points took so long to draw. */
  learn(milliseconds: number): void {
    this.every = within(milliseconds / FRAME, SPARSEST);
    this.most = within(milliseconds / TRIFLE, SPARSEST);
  }

  /** Of the frame that is drawn now: one in how many points. */
  frame(now: number): number {
    const took = now - this.last;
    this.last = now;
    const pause = took > 1000; // a movement begins
    if (!pause && took > SLOW) this.every = within(this.every * Math.min(took / FRAME, 4), this.most);
    return this.every;
  }
}

const within = (every: number, most: number): number => Math.min(Math.max(Math.ceil(every), 1), most);
