"use strict";
/* Decoders of dislab in plain JavaScript: the layers that report/network.py writes, one image at a
   time. Sums run in double precision and every layer's result is kept in single precision. */

/* Half-precision numbers, little endian, as single-precision ones. */
function fromHalves(bytes) {
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 1);
  const values = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) {
    const half = halves[i];
    const exponent = (half >> 10) & 31;
    const fraction = half & 1023;
    const size = exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction;
    values[i] = half & 32768 ? -size : size;
  }
  return values;
}

function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/* The channels with a frame of zeros, so that kernels need no test for the border. */
function framed(x, channels, height, width, frame) {
  const across = width + 2 * frame;
  const padded = new Float64Array(channels * (height + 2 * frame) * across);
  for (let c = 0; c < channels; c++) {
    for (let row = 0; row < height; row++) {
      const from = (c * height + row) * width;
      const to = (c * (height + 2 * frame) + row + frame) * across + frame;
      padded.set(x.subarray(from, from + width), to);
    }
  }
  return padded;
}

/* Which channels hold anything but zeros: after a ReLU many do not. */
function lit(x, channels) {
  const size = x.length / channels;
  const found = [];
  for (let c = 0; c < channels; c++) {
    for (let i = c * size; i < (c + 1) * size; i++) {
      if (x[i] !== 0) {
        found.push(c);
        break;
      }
    }
  }
  return found;
}

/* Adds a channel under a 3x3 kernel to the sums of an output channel. */
function addNine(sums, padded, base, kernel, height, width) {
  const across = width + 2;
  const [w0, w1, w2, w3, w4, w5, w6, w7, w8] = kernel;
  for (let row = 0; row < height; row++) {
    const to = row * width;
    const top = base + row * across;
    const middle = top + across;
    const bottom = middle + across;
    for (let column = 0; column < width; column++) {
      sums[to + column] +=
        w0 * padded[top + column] + w1 * padded[top + column + 1] + w2 * padded[top + column + 2] +
        w3 * padded[middle + column] + w4 * padded[middle + column + 1] + w5 * padded[middle + column + 2] +
        w6 * padded[bottom + column] + w7 * padded[bottom + column + 1] + w8 * padded[bottom + column + 2];
    }
  }
}

/* The same under an odd square kernel of any size. */
function addAny(sums, padded, base, kernel, height, width) {
  const side = Math.sqrt(kernel.length);
  const across = width + side - 1;
  for (let row = 0; row < height; row++) {
    for (let k = 0; k < kernel.length; k++) {
      const from = base + (row + Math.floor(k / side)) * across + (k % side);
      const w = kernel[k];
      for (let column = 0; column < width; column++) sums[row * width + column] += w * padded[from + column];
    }
  }
}

const LAYERS = {
  /* Inputs of a generator: zeros for the noise, one-hot vectors, the other codes as they are. */
  codes(state, layer) {
    const made = new Array(layer.zeros).fill(0);
    layer.categorical.forEach((size, code) => {
      for (let value = 0; value < size; value++) made.push(Math.round(state.x[code]) === value ? 1 : 0);
    });
    state.x = Float32Array.from([...made, ...state.x.subarray(layer.categorical.length)]);
  },

  linear(state, layer) {
    const { x } = state;
    const { weight, bias } = layer;
    const y = new Float32Array(bias.length);
    for (let o = 0; o < y.length; o++) {
      let sum = bias[o];
      const row = o * x.length;
      for (let i = 0; i < x.length; i++) sum += weight[row + i] * x[i];
      y[o] = sum;
    }
    state.x = y;
  },

  shape(state, layer) {
    [state.channels, state.height, state.width] = layer.shape;
  },

  /* Latents tiled over the image, then the row and the column of each place, both from -1 to 1. */
  broadcast(state, layer) {
    const { height, width } = layer;
    const size = height * width;
    const latents = state.x.length;
    const y = new Float32Array((latents + 2) * size);
    for (let c = 0; c < latents; c++) y.fill(state.x[c], c * size, (c + 1) * size);
    for (let row = 0; row < height; row++) {
      for (let column = 0; column < width; column++) {
        y[latents * size + row * width + column] = height > 1 ? (2 * row) / (height - 1) - 1 : -1;
        y[(latents + 1) * size + row * width + column] = width > 1 ? (2 * column) / (width - 1) - 1 : -1;
      }
    }
    Object.assign(state, { x: y, channels: latents + 2, height, width });
  },

  /* 4x4 kernels, stride 2, padding 1: each of the four pixels that a place becomes sees 2x2 places. */
  deconv(state, layer) {
    const { height, width, channels } = state;
    const { weight, bias } = layer;
    const outputs = bias.length;
    const across = width + 2;
    const padded = framed(state.x, channels, height, width, 1);
    const inputs = lit(state.x, channels);
    const y = new Float32Array(outputs * 4 * height * width);
    const sums = new Float64Array(height * width);
    for (let o = 0; o < outputs; o++) {
      for (let phase = 0; phase < 4; phase++) {
        const down = phase >> 1;
        const right = phase & 1;
        const near = [down ? 2 : 1, right ? 2 : 1];
        const far = [down ? 0 : 3, right ? 0 : 3];
        const step = (down ? 1 : -1) * across;
        const side = right ? 1 : -1;
        sums.fill(bias[o]);
        for (let n = 0; n < inputs.length; n++) {
          const kernel = (inputs[n] * outputs + o) * 16;
          const w0 = weight[kernel + near[0] * 4 + near[1]];
          const w1 = weight[kernel + near[0] * 4 + far[1]];
          const w2 = weight[kernel + far[0] * 4 + near[1]];
          const w3 = weight[kernel + far[0] * 4 + far[1]];
          const base = inputs[n] * (height + 2) * across;
          for (let row = 0; row < height; row++) {
            const first = base + (row + 1) * across + 1;
            const to = row * width;
            for (let column = 0; column < width; column++) {
              const from = first + column;
              sums[to + column] +=
                w0 * padded[from] + w1 * padded[from + side] +
                w2 * padded[from + step] + w3 * padded[from + step + side];
            }
          }
        }
        for (let row = 0; row < height; row++) {
          let to = (o * 2 * height + 2 * row + down) * 2 * width + right;
          for (let column = 0; column < width; column++, to += 2) y[to] = sums[row * width + column];
        }
      }
    }
    Object.assign(state, { x: y, channels: outputs, height: 2 * height, width: 2 * width });
  },

  /* Odd square kernels, stride 1, zeros around: images keep their size. */
  conv(state, layer) {
    const { height, width, channels } = state;
    const { weight, bias, kernel } = layer;
    const outputs = bias.length;
    const frame = kernel >> 1;
    const across = width + 2 * frame;
    const padded = framed(state.x, channels, height, width, frame);
    const inputs = lit(state.x, channels);
    const y = new Float32Array(outputs * height * width);
    const sums = new Float64Array(height * width);
    for (let o = 0; o < outputs; o++) {
      sums.fill(bias[o]);
      for (let n = 0; n < inputs.length; n++) {
        const base = inputs[n] * (height + 2 * frame) * across;
        const w = (o * channels + inputs[n]) * kernel * kernel;
        if (kernel === 3) addNine(sums, padded, base, weight.subarray(w, w + 9), height, width);
        else addAny(sums, padded, base, weight.subarray(w, w + kernel * kernel), height, width);
      }
      y.set(sums, o * height * width);
    }
    Object.assign(state, { x: y, channels: outputs });
  },

  /* All values of an image normalised together; weights a unit or a channel. */
  norm(state, layer) {
    const { x } = state;
    const { weight, bias, epsilon } = layer;
    let mean = 0;
    for (let i = 0; i < x.length; i++) mean += x[i];
    mean /= x.length;
    let variance = 0;
    for (let i = 0; i < x.length; i++) variance += (x[i] - mean) ** 2;
    const scale = 1 / Math.sqrt(variance / x.length + epsilon);
    const size = x.length / weight.length;
    for (let c = 0; c < weight.length; c++) {
      for (let i = c * size; i < (c + 1) * size; i++) {
        x[i] = (x[i] - mean) * scale * weight[c] + bias[c];
      }
    }
  },

  relu({ x }) {
    for (let i = 0; i < x.length; i++) if (!(x[i] > 0)) x[i] = 0;
  },

  tanh({ x }) {
    for (let i = 0; i < x.length; i++) x[i] = Math.tanh(x[i]);
  },

  sigmoid({ x }) {
    for (let i = 0; i < x.length; i++) x[i] = 1 / (1 + Math.exp(-x[i]));
  },

  clamp({ x }) {
    for (let i = 0; i < x.length; i++) x[i] = Math.min(Math.max(x[i], 0), 1);
  },
};

/* A function from a code to pixels between 0 and 1, channel by channel. */
function decoderOf(network) {
  const numbers = fromHalves(fromBase64(network.weights));
  let start = 0;
  const take = (count) => numbers.subarray(start, (start += count));
  const layers = network.layers.map((layer) => {
    const sizes = layer.sizes ?? [];
    return sizes.length ? { ...layer, weight: take(sizes[0]), bias: take(sizes[1]) } : layer;
  });
  return (code) => {
    const state = { x: Float32Array.from(code) };
    for (const layer of layers) LAYERS[layer.kind](state, layer);
    return state.x;
  };
}

/* Draws channels of pixels between 0 and 1. */
function paint(canvas, pixels, [channels, height, width]) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const size = height * width;
  for (let i = 0; i < size; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = Math.round(255 * pixels[(channels === 3 ? c * size : 0) + i]);
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}
