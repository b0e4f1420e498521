// Paints many small dots and the lines under them straight into pixels.
//
// A canvas takes a tenth of a second for 20,000 copies of a sprite where there is no graphics processor. Blending the
// same dots here takes a few milliseconds everywhere. A pixel is 0xAABBGGRR; red and blue are blended in one product.

const probe = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });

/* Any CSS color as an opaque pixel. */
function pixelOf(color) {
  probe.fillStyle = color;
  probe.fillRect(0, 0, 1, 1);
  return new Uint32Array(probe.getImageData(0, 0, 1, 1).data.buffer)[0] | 0xff000000;
}

export class Dots {
  resize(width, height) {
    this.width = width;
    this.height = height;
    this.image = new ImageData(width, height);
    this.pixels = new Int32Array(this.image.data.buffer);
  }

  /* Radius in pixels of the canvas. For each color the products with its coverage are made once. */
  prepare({ colors, paper, line, radius, alpha }) {
    this.paper = pixelOf(paper);
    this.line = pixelOf(line);
    const half = Math.ceil(radius), side = this.side = 2 * half + 1;
    this.half = half;
    this.keep = new Int32Array(side * side); // 256ths of what was there
    for (let y = 0; y < side; y++)
      for (let x = 0; x < side; x++)
        this.keep[y * side + x] = 256 - Math.round(256 * alpha * Math.max(0, Math.min(1, radius + 0.5 - Math.hypot(x - half, y - half))));
    this.redBlue = colors.map((color) => this.keep.map((keep) => Math.imul(pixelOf(color) & 0xff00ff, 256 - keep)));
    this.green = colors.map((color) => this.keep.map((keep) => Math.imul(pixelOf(color) & 0x00ff00, 256 - keep)));
  }

  clear() { this.pixels.fill(this.paper); }

  vertical(x) { for (let at = x; at < this.pixels.length; at += this.width) this.pixels[at] = this.line; }

  horizontal(y) { this.pixels.fill(this.line, y * this.width, (y + 1) * this.width); }

  dot(x, y, color) {
    const { pixels, width, side, keep } = this;
    const redBlue = this.redBlue[color], green = this.green[color];
    const left = Math.round(x) - this.half, top = Math.round(y) - this.half;
    const from = Math.max(0, -left), to = Math.min(side, width - left);
    const last = Math.min(side, this.height - top);
    for (let row = Math.max(0, -top); row < last; row++) {
      const sprite = row * side, place = (top + row) * width + left;
      for (let column = from; column < to; column++) {
        const rest = keep[sprite + column];
        if (rest === 256) continue;
        const under = pixels[place + column];
        pixels[place + column] = 0xff000000
          | ((Math.imul(under & 0xff00ff, rest) + redBlue[sprite + column]) >>> 8) & 0xff00ff
          | ((Math.imul(under & 0x00ff00, rest) + green[sprite + column]) >>> 8) & 0x00ff00;
      }
    }
  }
}
