/* The latent explorer: sliders, a pad for two latents, images to start from, a traversal. */

(() => {
  const STRIP = 9;
  const FINE = 200;

  const shown = (value) => (Math.round(value * 100) / 100).toFixed(2).replace("-", "−");

  function canvasOf([, height, width], label) {
    return element("canvas", { width, height, role: "img", "aria-label": label });
  }

  /* Decodes in this page. */
  function live(model) {
    const decode = decoderOf(model.network);
    return { decode, draw: (canvas, code) => paint(canvas, decode(code), model.shape), ready: Promise.resolve() };
  }

  /* Takes images that were decoded beforehand: of each start, then of each value of each slider. */
  function strips(model) {
    const picture = new Image();
    const each = 1 + model.sliders.reduce((sum, slider) => sum + slider.values.length, 0);
    const offsets = [];
    model.sliders.reduce((sum, slider) => (offsets.push(sum), sum + slider.values.length), 1);
    const draw = (canvas, start, slider, position) => {
      const tile = start * each + (slider < 0 ? 0 : offsets[slider] + position);
      const [, height, width] = model.shape;
      const { columns } = model.strips;
      canvas.getContext("2d").drawImage(
        picture, (tile % columns) * width, Math.floor(tile / columns) * height, width, height,
        0, 0, width, height,
      );
    };
    picture.src = model.strips.image;
    return { draw, ready: picture.decode() };
  }

  function explorer(root, model, id) {
    const isLive = Boolean(model.network);
    const decoder = isLive ? live(model) : strips(model);
    const { sliders, starts, shape } = model;
    const state = { start: 0, code: [], moved: -1, position: 0, followed: 0, waits: false, token: 0 };

    const decoded = canvasOf(shape, "decoded image");
    const original = element("img", { alt: "" });
    const originalCaption = element("figcaption");
    const originalBox = element("figure", { hidden: true }, original, originalCaption);
    const stage = element("div", { className: "stage" },
      element("figure", {}, decoded, element("figcaption", { textContent: "decoded" })), originalBox);

    const valueOf = (slider) => state.code[slider.latent];
    const nearest = (slider) => slider.values.reduce(
      (best, value, i) => (Math.abs(value - valueOf(slider)) < Math.abs(slider.values[best] - valueOf(slider)) ? i : best), 0);

    const rows = sliders.map((slider, number) => {
      const input = element("input", { type: "range", id: `latent-${id}-${number}` });
      if (slider.values) Object.assign(input, { min: 0, max: slider.values.length - 1, step: 1 });
      else Object.assign(input, { min: slider.low, max: slider.high, step: (slider.high - slider.low) / FINE });
      const output = element("output", { for: input.id });
      const label = element("label", { for: input.id },
        element("b", { textContent: slider.name }), " ",
        element("span", { className: "carries", textContent: slider.active ? slider.carries : "not in use" }),
        element("small", { textContent: slider.detail }));
      const row = element("div", { className: slider.active ? "slider" : "slider idle" }, label, input, output);
      input.addEventListener("input", () => {
        if (slider.values && !isLive) begin(state.start, number, Number(input.value));
        else {
          state.code[slider.latent] = slider.values ? slider.values[Number(input.value)] : Number(input.value);
          follow(number);
        }
      });
      input.addEventListener("focus", () => follow(number));
      return { slider, input, output, row };
    });

    const buttons = starts.map((start, number) => {
      const button = element("button", { type: "button", title: start.detail || start.name, "aria-label": `start from ${start.name}` });
      if (start.image) button.append(element("img", { src: start.image, alt: "" }));
      else button.append(element("span", { textContent: "middle" }));
      button.addEventListener("click", () => begin(number));
      return button;
    });
    const reset = element("button", { type: "button", className: "reset", textContent: "Reset" });
    reset.addEventListener("click", () => begin(state.start));
    const startBox = element("fieldset", { className: "starts" },
      element("legend", { textContent: "Start from a test image" }), ...buttons, reset);

    const strip = Array.from({ length: STRIP }, () => {
      const canvas = canvasOf(shape, "");
      const label = element("span");
      return { canvas, label, button: element("button", { type: "button" }, canvas, label), value: 0 };
    });
    strip.forEach((one) => one.button.addEventListener("click", () => {
      const { input } = rows[state.followed];
      input.value = one.value;
      input.dispatchEvent(new Event("input"));
    }));
    const stripTitle = element("p", { className: "strip-title" });
    const stripBox = element("div", { className: "strip" }, stripTitle, element("div", { className: "tiles" }, ...strip.map((one) => one.button)));

    const isPadded = isLive && sliders.length > 1 && sliders.every((slider) => !slider.values);
    const pad = isPadded ? padOf() : null;

    function padOf() {
      const knob = element("span", { className: "knob" });
      const area = element("div", {
        className: "pad", tabIndex: 0, role: "slider", "aria-roledescription": "two-dimensional slider",
      }, knob);
      const choices = [0, 1].map((chosen, axis) => {
        const select = element("select", { id: `pad-${id}-${axis}` },
          ...sliders.map((slider, i) => element("option", {
            value: i, textContent: `${slider.name} ${slider.carries}`.trim(), selected: i === chosen,
          })));
        select.addEventListener("change", update);
        return select;
      });
      const axes = () => choices.map((select) => sliders[Number(select.value)]);
      const bounded = (slider, value) => Math.min(Math.max(value, slider.low), slider.high);
      function place(across, up) {
        const [x, y] = axes();
        state.code[x.latent] = bounded(x, x.low + across * (x.high - x.low));
        state.code[y.latent] = bounded(y, y.low + up * (y.high - y.low));
        update();
      }
      function point(event) {
        const box = area.getBoundingClientRect();
        place((event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height);
      }
      area.addEventListener("pointerdown", (event) => {
        area.setPointerCapture(event.pointerId);
        point(event);
      });
      area.addEventListener("pointermove", (event) => {
        if (area.hasPointerCapture(event.pointerId)) point(event);
      });
      area.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
        if (!step) return;
        event.preventDefault();
        axes().forEach((slider, axis) => {
          const size = (slider.high - slider.low) / (event.shiftKey ? 10 : 40);
          if (step[axis]) state.code[slider.latent] = bounded(slider, valueOf(slider) + step[axis] * size);
        });
        update();
      });
      function refresh() {
        const [x, y] = axes();
        const share = (slider) => (bounded(slider, valueOf(slider)) - slider.low) / (slider.high - slider.low);
        knob.style.left = `${100 * share(x)}%`;
        knob.style.top = `${100 - 100 * share(y)}%`;
        area.setAttribute("aria-label", `${x.name} across, ${y.name} up`);
        area.setAttribute("aria-valuemin", x.low);
        area.setAttribute("aria-valuemax", x.high);
        area.setAttribute("aria-valuenow", shown(valueOf(x)).replace("−", "-"));
        area.setAttribute("aria-valuetext", `${x.name} ${shown(valueOf(x))}, ${y.name} ${shown(valueOf(y))}`);
      }
      const names = ["across", "up"].map((name, axis) => element("label", { for: choices[axis].id, textContent: name }));
      const box = element("div", { className: "pad-box" }, area,
        element("div", { className: "pad-axes" }, names[0], choices[0], names[1], choices[1]));
      return { box, refresh };
    }

    /* Takes the code of a start; of images decoded beforehand, one slider may have been moved. */
    function begin(number, moved = -1, position = 0) {
      Object.assign(state, { start: number, moved, position, code: [...starts[number].code] });
      if (moved >= 0) {
        state.code[sliders[moved].latent] = sliders[moved].values[position];
        state.followed = moved;
      }
      update();
    }

    function follow(number) {
      state.followed = number;
      update();
    }

    function update() {
      if (state.waits) return;
      state.waits = true;
      requestAnimationFrame(() => {
        state.waits = false;
        show();
      });
    }

    function show() {
      if (isLive) decoder.draw(decoded, state.code);
      else decoder.draw(decoded, state.start, state.moved, state.position);
      rows.forEach(({ slider, input, output, row }, number) => {
        const index = slider.values ? nearest(slider) : 0;
        input.value = slider.values ? index : valueOf(slider);
        output.textContent = slider.values ? slider.labels[index] : shown(valueOf(slider));
        input.setAttribute("aria-valuetext", output.textContent);
        row.classList.toggle("followed", number === state.followed);
      });
      const start = starts[state.start];
      originalBox.hidden = !start.image;
      if (start.image && original.getAttribute("src") !== start.image) original.src = start.image;
      original.alt = start.detail ? `${start.name}: ${start.detail}` : start.name;
      originalCaption.textContent = start.name;
      originalBox.title = start.detail;
      buttons.forEach((button, number) => button.setAttribute("aria-pressed", number === state.start));
      if (pad) pad.refresh();
      traverse();
    }

    /* Redraws the traversal when the sliders rest, an image at a time. */
    function traverse() {
      const token = ++state.token;
      const { slider } = rows[state.followed];
      stripTitle.textContent = `Traversal of ${slider.name}${slider.carries ? `, ${slider.carries}` : ""}`;
      const count = slider.values ? Math.min(slider.values.length, STRIP) : STRIP;
      const code = [...state.code];
      const one = (number) => {
        if (token !== state.token || number >= STRIP) return;
        const tile = strip[number];
        tile.button.hidden = number >= count;
        if (number < count) {
          const index = slider.values && count > 1 ? Math.round((number * (slider.values.length - 1)) / (count - 1)) : 0;
          const value = slider.values ? slider.values[index] : slider.low + (number * (slider.high - slider.low)) / (STRIP - 1);
          tile.value = slider.values ? index : value;
          tile.label.textContent = slider.values ? slider.labels[index] : shown(value);
          tile.canvas.setAttribute("aria-label", `${slider.name} at ${tile.label.textContent}`);
          code[slider.latent] = value;
          if (isLive) decoder.draw(tile.canvas, code);
          else decoder.draw(tile.canvas, state.start, state.followed, index);
        }
        setTimeout(one, 0, number + 1);
      };
      setTimeout(one, 60, 0);
    }

    const view = element("div", { className: "view" }, stage, startBox, ...(pad ? [pad.box] : []));
    const controls = element("div", { className: "controls" }, ...rows.map((one) => one.row));
    root.append(view, controls, stripBox);
    const first = starts.length > 1 && starts[1].image && !starts[0].image ? 1 : 0;
    decoder.ready.then(() => begin(first));
    return { decode: decoder.decode, code: () => [...state.code], begin };
  }

  const models = dataOf("explorers");
  globalThis.dislabExplorers = models.map((model, number) => {
    const root = document.querySelector(`[data-explorer="${number}"]`);
    return model && root ? explorer(root, model, number) : null;
  });
})();
