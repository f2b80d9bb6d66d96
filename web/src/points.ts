// Points drawn by WebGL 2: one call for all of them, or for one in so many, whatever their number.
//
// Written here rather than taken from a library: those at hand build their drawing calls from text
// by `new Function`, which the pages' Content-Security-Policy forbids.
import type { Camera } from "./camera";

export const COLOURS = 24;

const VERTEX = `#version 300 es
in vec2 was;
in vec2 is;
in uint kind;
uniform vec2 centre;
uniform vec2 zoom;
uniform float gone;
uniform float size;
uniform vec4 colours[${COLOURS}];
out vec4 colour;
void main() {
  gl_Position = vec4((mix(was, is, gone) - centre) * zoom, 0.0, 1.0);
  gl_PointSize = size;
  colour = colours[kind];
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 colour;
uniform float size;
out vec4 pixel;
void main() {
  float from = length(gl_PointCoord - 0.5) * size;
  float cover = clamp(size * 0.5 - from + 0.25, 0.0, 1.0);
  pixel = vec4(colour.rgb, 1.0) * colour.a * cover;
}`;

export class Points {
  private readonly gl: WebGL2RenderingContext;
  private readonly program: WebGLProgram;
  private readonly buffers: Record<"was" | "is" | "kind", WebGLBuffer>;
  private readonly uniforms: Record<string, WebGLUniformLocation> = {};
  private xy: Float32Array = new Float32Array(0);
  count = 0;

  constructor(private readonly canvas: HTMLCanvasElement) {
    const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
    if (!gl) throw new Error("no WebGL 2");
    this.gl = gl;
    this.program = gl.createProgram()!;
    for (const [kind, text] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS)) {
      throw new Error(gl.getProgramInfoLog(this.program) ?? "the shaders cannot be linked");
    }
    gl.useProgram(this.program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.buffers = { was: gl.createBuffer()!, is: gl.createBuffer()!, kind: gl.createBuffer()! };
    for (const name of ["centre", "zoom", "gone", "size", "colours"]) {
      this.uniforms[name] = gl.getUniformLocation(this.program, name)!;
    }
  }

  /** New places for the points, (n, 2); they go there from where they were if there are as many. */
  move(xy: Float32Array): boolean {
    const gl = this.gl;
    const same = xy.length === this.xy.length;
    this.attach("was", same ? this.xy : xy);
    this.attach("is", xy);
    if (!same) this.paint(new Uint8Array(xy.length / 2));
    this.xy = xy;
    this.count = xy.length / 2;
    gl.uniform1f(this.uniforms.gone, 1);
    return same && this.count > 0;
  }

  /** How far the points have gone, from 0 to 1. */
  go(share: number): void {
    this.gl.uniform1f(this.uniforms.gone, share);
  }

  /** A number for each point, of the colours given to `draw`. */
  paint(kinds: Uint8Array): void {
    this.attach("kind", kinds);
  }

  colours(rgba: Float32Array): void {
    this.gl.uniform4fv(this.uniforms.colours, rgba);
  }

  private attach(name: "was" | "is" | "kind", data: Float32Array | Uint8Array): void {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, data as Float32Array<ArrayBuffer>, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(gl.getAttribLocation(this.program, name));
  }

  /** Read one in so many points from the buffers. */
  private step(every: number): void {
    const gl = this.gl;
    for (const name of ["was", "is", "kind"] as const) {
      const place = gl.getAttribLocation(this.program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      if (name === "kind") gl.vertexAttribIPointer(place, 1, gl.UNSIGNED_BYTE, every, 0);
      else gl.vertexAttribPointer(place, 2, gl.FLOAT, false, 8 * every, 0);
    }
  }

  /** Wait until what was drawn is there. */
  finish(): void {
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  /** One in `every` of the points, each a little larger, so that the whole looks as dense. */
  draw(camera: Camera, size: number, every: number): void {
    const gl = this.gl;
    const dense = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(camera.width * dense), Math.round(camera.height * dense)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!this.count) return;
    const middle = camera.toPlane(camera.width / 2, camera.height / 2);
    gl.uniform2f(this.uniforms.centre, middle.x, middle.y);
    gl.uniform2f(
      this.uniforms.zoom,
      (2 * camera.scale) / camera.width,
      (2 * camera.scale) / camera.height,
    );
    gl.uniform1f(this.uniforms.size, size * dense * Math.min(every ** 0.25, 2));
    this.step(every);
    gl.drawArrays(gl.POINTS, 0, Math.ceil(this.count / every));
  }
}
