// A plane of points on a canvas: pans, zooms, finds the point under the mouse.
//
//   data, x and y in [-1, 1]  --scale, offset-->  CSS pixels  --device pixels-->  canvas
//
// A grid over the data answers which points are near a place without looking at all of them.

import { wantsCalm } from './dom.js';
import { Dots } from './dots.js';

const GRID = 96;
const REACH = 14; // CSS pixels around the mouse
const MIN_ZOOM = 0.7, MAX_ZOOM = 120;

export class PointMap {
  /* points: [{x, y, hue, label}]. Callbacks: onHover(index or -1, x, y), onPick(index), onMove(), takesWheel(event). */
  constructor(canvas, callbacks) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.dots = new Dots();
    this.callbacks = callbacks;
    this.zoom = 1;
    this.center = { x: 0, y: 0 };
    this.hovered = -1;
    this.hits = []; // [{index, rank}], first the best
    this.strong = -1; // the hit the reader is at in the list
    this.query = null; // {x, y}
    this.setPoints([]);
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
  }

  setPoints(points) {
    this.points = points;
    this.visible = new Uint8Array(points.length).fill(1);
    this.hues = [...new Set(points.map((point) => point.hue))];
    this.color = Uint16Array.from(points, (point) => this.hues.indexOf(point.hue));
    this.xs = Float32Array.from(points, (point) => point.x);
    this.ys = Float32Array.from(points, (point) => point.y);
    this.buildGrid();
    this.fit();
    this.hovered = this.strong = -1;
    this.hits = [];
    this.ready = '';
    this.redraw();
  }

  /* The box of the data, which is what "everything" shows: components may fill little of the square. */
  fit() {
    const box = [1, -1, 1, -1];
    for (let i = 0; i < this.points.length; i++) {
      box[0] = Math.min(box[0], this.xs[i]);
      box[1] = Math.max(box[1], this.xs[i]);
      box[2] = Math.min(box[2], this.ys[i]);
      box[3] = Math.max(box[3], this.ys[i]);
    }
    const [left, right, top, bottom] = this.points.length ? box : [-1, 1, -1, 1];
    this.home = { x: (left + right) / 2, y: (top + bottom) / 2 };
    this.span = { x: Math.max(0.02, right - left), y: Math.max(0.02, bottom - top) };
    this.center = { ...this.home };
    this.zoom = 1;
  }

  /* Points sorted by cell: those of cell c are order[start[c]] to order[start[c + 1]]. */
  buildGrid() {
    const n = this.points.length;
    this.start = new Uint32Array(GRID * GRID + 1);
    this.order = new Uint32Array(n);
    const cells = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.start[1 + (cells[i] = this.cell(this.xs[i]) + GRID * this.cell(this.ys[i]))]++;
    for (let c = 0; c < GRID * GRID; c++) this.start[c + 1] += this.start[c];
    const next = this.start.slice();
    for (let i = 0; i < n; i++) this.order[next[cells[i]]++] = i;
  }

  cell(value) { return Math.max(0, Math.min(GRID - 1, Math.floor((value + 1) / 2 * GRID))); }

  /* Calls f(index) for the visible points of the cells that a rectangle of the data touches. */
  eachIn(left, top, right, bottom, f) {
    const x0 = this.cell(left), x1 = this.cell(right);
    for (let row = this.cell(top); row <= this.cell(bottom); row++) {
      const end = this.start[row * GRID + x1 + 1];
      for (let at = this.start[row * GRID + x0]; at < end; at++) if (this.visible[this.order[at]]) f(this.order[at]);
    }
  }

  get pixels() { return 0.88 * Math.min(this.width / this.span.x, this.height / this.span.y) * this.zoom; } // of a unit of the data
  screenX(x) { return (x - this.center.x) * this.pixels + this.width / 2; }
  screenY(y) { return (this.center.y - y) * this.pixels + this.height / 2; } // y of the data goes up
  dataX(x) { return (x - this.width / 2) / this.pixels + this.center.x; }
  dataY(y) { return this.center.y - (y - this.height / 2) / this.pixels; }
  get view() {
    return { left: this.dataX(0), right: this.dataX(this.width), top: this.dataY(this.height), bottom: this.dataY(0) };
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !clientHeight) return;
    this.ratio = Math.min(2, devicePixelRatio || 1);
    this.width = clientWidth;
    this.height = clientHeight;
    this.canvas.width = Math.round(clientWidth * this.ratio);
    this.canvas.height = Math.round(clientHeight * this.ratio);
    this.dots.resize(this.canvas.width, this.canvas.height);
    this.ready = '';
    this.draw(); // at once: setting the size has cleared the canvas
  }

  redraw() { this.frame ??= requestAnimationFrame(() => { this.frame = null; this.draw(); }); }

  restyle() { this.ready = ''; this.redraw(); }

  /* Larger dots when there are few or when they are near. */
  get radius() {
    const crowd = this.points.length < 500 ? 4 : this.points.length < 5000 ? 3 : 2;
    return Math.min(6, crowd * Math.max(1, this.zoom) ** 0.3);
  }

  /* Reads the theme's colors from the style, once for each look of the dots. */
  prepare() {
    const radius = Math.round(4 * this.radius) / 4, alpha = this.hits.length ? 0.3 : 0.75;
    const wanted = `${radius} ${alpha}`;
    if (this.ready === wanted) return;
    this.ready = wanted;
    const style = getComputedStyle(this.canvas);
    this.ink = style.color;
    this.paper = style.backgroundColor;
    this.accent = style.accentColor;
    this.font = style.fontFamily;
    const tone = style.getPropertyValue('--tone');
    this.colors = this.hues.map((hue) => `oklch(${tone} ${hue})`);
    this.dots.prepare({ colors: this.colors, paper: this.paper, line: style.borderTopColor, radius: radius * this.ratio, alpha });
  }

  draw() {
    if (!this.width) return;
    const { context, ratio } = this;
    this.prepare();
    this.dots.clear();
    this.drawGrid();
    this.drawPoints();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(this.dots.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawMarks();
  }

  /* The fine lines of squared paper, at a distance that stays between 40 and 80 pixels. */
  drawGrid() {
    const step = 2 ** Math.ceil(Math.log2(40 / this.pixels));
    const { left, right, top, bottom } = this.view;
    for (let x = Math.ceil(left / step) * step; x < right; x += step) this.dots.vertical(Math.floor(this.screenX(x) * this.ratio));
    for (let y = Math.ceil(top / step) * step; y < bottom; y += step) this.dots.horizontal(Math.floor(this.screenY(y) * this.ratio));
  }

  drawPoints() {
    const { dots, color, xs, ys } = this;
    const scale = this.pixels * this.ratio;
    const shiftX = this.canvas.width / 2 - this.center.x * scale;
    const shiftY = this.canvas.height / 2 + this.center.y * scale;
    const { left, right, top, bottom } = this.view;
    const edge = dots.half / scale;
    this.eachIn(left - edge, top - edge, right + edge, bottom + edge,
      (i) => dots.dot(shiftX + xs[i] * scale, shiftY - ys[i] * scale, color[i]));
  }

  /* What stands out: hits with their ranks, the query, the point under the mouse, and labels where there is room. */
  drawMarks() {
    const { context } = this;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    if (this.query) this.drawQuery(this.query);
    for (const { index, rank } of [...this.hits].reverse()) {
      if (index !== this.strong) this.drawHit(index, rank);
    }
    const strong = this.hits.find((hit) => hit.index === this.strong);
    if (strong) this.drawHit(strong.index, strong.rank, true);
    if (this.hovered >= 0) this.ring(this.hovered, this.radius + 3);
    this.drawLabels();
  }

  ring(index, radius) {
    const { context } = this;
    context.strokeStyle = this.ink;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(this.screenX(this.xs[index]), this.screenY(this.ys[index]), radius, 0, 7);
    context.stroke();
  }

  drawHit(index, rank, strong) {
    const { context } = this;
    const x = this.screenX(this.xs[index]), y = this.screenY(this.ys[index]);
    const radius = strong ? 13 : rank <= 10 ? 9 : 5;
    context.fillStyle = this.colors[this.color[index]];
    context.strokeStyle = strong ? this.ink : this.paper;
    context.lineWidth = strong ? 2.5 : 1.5;
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fill();
    context.stroke();
    if (rank > 10 && !strong) return;
    context.fillStyle = this.paper;
    context.font = `700 ${strong ? 13 : 10.5}px ${this.font}`;
    context.fillText(rank, x, y + 0.5);
  }

  drawQuery({ x: dataX, y: dataY }) {
    const { context } = this;
    const x = Math.round(this.screenX(dataX)) + 0.5, y = Math.round(this.screenY(dataY)) + 0.5;
    for (const [color, width] of [[this.paper, 5], [this.accent, 2]]) {
      context.strokeStyle = color;
      context.lineWidth = width;
      context.beginPath();
      context.arc(x, y, 15, 0, 7);
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        context.moveTo(x + 9 * dx, y + 9 * dy);
        context.lineTo(x + 23 * dx, y + 23 * dy);
      }
      context.stroke();
    }
  }

  /* Labels appear as one comes nearer, and only where they cover no other. */
  drawLabels() {
    if (this.zoom < 2.5 || this.hits.length) return;
    const { context } = this;
    const taken = [];
    const { left, right, top, bottom } = this.view;
    const most = Math.min(28, Math.floor(this.width * this.height / 16000));
    context.font = `12px ${this.font}`;
    context.direction = 'ltr';
    context.lineJoin = 'round';
    let looked = 0, placed = 0;
    this.eachIn(left, top, right, bottom, (i) => {
      if (placed >= most || looked++ > 600) return;
      const y = this.screenY(this.ys[i]), away = this.radius + 4;
      let x = this.screenX(this.xs[i]);
      const flip = x > this.width - 220; // no room to the right
      x += flip ? -away : away;
      const point = this.points[i];
      point.short ??= point.label.length > 30 ? point.label.slice(0, 29).trimEnd() + '…' : point.label;
      const box = { left: flip ? x - 190 : x - 14, right: flip ? x + 14 : x + 190, top: y - 11, bottom: y + 11 };
      if (y < 8 || y > this.height - 8) return;
      if (taken.some((other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom)) return;
      taken.push(box);
      placed++;
      context.textAlign = flip ? 'right' : 'left';
      context.strokeStyle = this.paper;
      context.lineWidth = 4;
      context.strokeText(point.short, x, y);
      context.fillStyle = this.ink;
      context.fillText(point.short, x, y);
    });
  }

  /* The index of the nearest point within reach, or -1; hits lie on top. */
  near(x, y) {
    let best = -1, least = REACH ** 2;
    const look = (i, bonus = 0) => {
      const away = (this.screenX(this.xs[i]) - x) ** 2 + (this.screenY(this.ys[i]) - y) ** 2 - bonus;
      if (away < least) { least = away; best = i; }
    };
    const reach = REACH / this.pixels, at = this.dataX(x), up = this.dataY(y);
    this.eachIn(at - reach, up - reach, at + reach, up + reach, (i) => look(i));
    for (const { index } of this.hits) look(index, 60);
    return best;
  }

  /* Calls f for each visible point on screen. */
  eachInView(f) {
    const { left, right, top, bottom } = this.view;
    this.eachIn(left, top, right, bottom, (i) => {
      if (this.xs[i] >= left && this.xs[i] <= right && this.ys[i] >= top && this.ys[i] <= bottom) f(i);
    });
  }

  moveTo(zoom, x, y) {
    this.zoom = Math.max(MIN_ZOOM, Math.min(MAX_ZOOM, zoom));
    this.center = { x: Math.max(-1.2, Math.min(1.2, x)), y: Math.max(-1.2, Math.min(1.2, y)) };
    this.redraw();
    this.callbacks.onMove();
  }

  zoomAt(factor, x, y) {
    const zoom = Math.max(MIN_ZOOM, Math.min(MAX_ZOOM, this.zoom * factor));
    const kept = this.zoom / zoom; // the place under the mouse stays under the mouse
    const dataX = this.dataX(x), dataY = this.dataY(y);
    this.moveTo(zoom, dataX + (this.center.x - dataX) * kept, dataY + (this.center.y - dataY) * kept);
  }

  /* The same by button or key, in a few frames where the reader likes motion. */
  glide(zoom, x, y) {
    cancelAnimationFrame(this.gliding);
    if (wantsCalm()) { this.moveTo(zoom, x, y); return; }
    const from = { zoom: this.zoom, ...this.center }, began = performance.now();
    const frame = (now) => {
      const part = Math.max(0, Math.min(1, (now - began) / 180)), eased = 1 - (1 - part) ** 3;
      this.moveTo(from.zoom * (zoom / from.zoom) ** eased, from.x + (x - from.x) * eased, from.y + (y - from.y) * eased);
      if (part < 1) this.gliding = requestAnimationFrame(frame);
    };
    this.gliding = requestAnimationFrame(frame);
  }

  step(what) {
    const by = 60 / this.pixels, { x, y } = this.center;
    const factor = { in: 1.6, out: 1 / 1.6 }[what];
    if (factor) this.glide(Math.max(MIN_ZOOM, Math.min(MAX_ZOOM, this.zoom * factor)), x, y);
    else if (what === 'reset') this.glide(1, this.home.x, this.home.y);
    else this.moveTo(this.zoom, x + by * ({ left: -1, right: 1 }[what] ?? 0), y + by * ({ up: 1, down: -1 }[what] ?? 0));
  }

  hover(index, x, y) {
    if (index !== this.hovered) this.redraw();
    this.hovered = index;
    this.callbacks.onHover(index, x, y);
  }

  listen() {
    const { canvas } = this;
    const down = new Map(); // pointers on the canvas
    let moved = 0;
    const place = (event) => ({ x: event.offsetX, y: event.offsetY });
    const pair = () => {
      const [a, b] = [...down.values()];
      return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.hypot(a.x - b.x, a.y - b.y) };
    };
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button) return;
      cancelAnimationFrame(this.gliding);
      canvas.setPointerCapture(event.pointerId);
      down.set(event.pointerId, place(event));
      moved = 0;
    });
    canvas.addEventListener('pointermove', (event) => {
      const now = place(event), was = down.get(event.pointerId);
      if (!was) { this.hover(this.near(now.x, now.y), now.x, now.y); return; }
      if (down.size === 1) {
        moved += Math.abs(now.x - was.x) + Math.abs(now.y - was.y);
        this.moveTo(this.zoom, this.center.x - (now.x - was.x) / this.pixels, this.center.y + (now.y - was.y) / this.pixels);
        down.set(event.pointerId, now);
      } else if (down.size === 2) {
        const before = pair();
        down.set(event.pointerId, now);
        const after = pair();
        moved += 10;
        this.zoomAt(after.apart / Math.max(1, before.apart), after.x, after.y);
        this.moveTo(this.zoom, this.center.x - (after.x - before.x) / this.pixels, this.center.y + (after.y - before.y) / this.pixels);
      }
    });
    const up = (event) => {
      const was = down.get(event.pointerId);
      if (!down.delete(event.pointerId) || event.type === 'pointercancel' || moved > 5) return;
      const index = this.near(was.x, was.y);
      if (index >= 0) this.callbacks.onPick(index);
    };
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
    canvas.addEventListener('pointerleave', () => this.hover(-1, 0, 0));
    canvas.addEventListener('wheel', (event) => {
      if (!this.callbacks.takesWheel(event)) return;
      event.preventDefault();
      // A pinch on a touch pad comes as a wheel with ctrl, in smaller steps; lines (Firefox) are larger ones.
      const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
      this.zoomAt(Math.exp(-Math.max(-240, Math.min(240, pixels)) * (event.ctrlKey ? 0.012 : 0.0022)), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener('dblclick', (event) => this.zoomAt(2, event.offsetX, event.offsetY));
    const keys = { ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down', '+': 'in', '=': 'in', '-': 'out', 0: 'reset' };
    canvas.addEventListener('keydown', (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.step(keys[event.key]);
    });
  }
}
