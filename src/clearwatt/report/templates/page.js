(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const paint = (value) => {
    if (typeof value === "string") {
      const colour = /^var\((--[a-z]+)\)$/.exec(value);
      return colour ? css(colour[1]) : value;
    }
    if (Array.isArray(value)) return value.map(paint);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, paint(item)]));
  };
  const axis = () => ({ gridcolor: css("--rule"), linecolor: css("--rule"),
    zerolinecolor: css("--rule"), automargin: true });
  const draw = (box) => {
    const { data, layout } = paint(figures[box.dataset.figure]);
    const own = {};
    for (const name of Object.keys(layout))
      if (/^[xy]axis\d*$/.test(name)) own[name] = { ...axis(), ...layout[name] };
    if (layout.updatemenus) own.updatemenus = layout.updatemenus.map((menu) => ({ ...menu,
      bgcolor: css("--card"), bordercolor: css("--rule"), font: { color: css("--ink") } }));
    const margin = { l: 55, r: 12, t: 30, b: 36, ...layout.margin };
    Plotly.react(box, data, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: css("--ink"), size: 12, family: "system-ui, sans-serif" }, autosize: true,
      hoverlabel: { align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--soft"), activecolor: css("--power") },
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      ...layout, margin, ...own }, { responsive: true, displaylogo: false,
      modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"] });
    box.dataset.drawn = "yes";
  };
  const boxes = [...document.querySelectorAll("[data-figure]")];
  // Each box has its final height from the start, so that the page does not jump while scrolling.
  boxes.forEach((box) => {
    box.style.minHeight = `${figures[box.dataset.figure].layout.height}px`;
  });
  // A figure is drawn shortly before it scrolls into view.
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
  }), { rootMargin: "600px" });
  boxes.forEach((box) => seen.observe(box));
  dark.addEventListener("change", () => boxes.filter((box) => box.dataset.drawn).forEach(draw));
  document.querySelectorAll("select[data-for]").forEach((select) =>
    select.addEventListener("change", () => {
      const keys = select.value.split(" ");
      select.dataset.for.split(" ").forEach((id, at) => {
        const box = document.getElementById(id);
        box.dataset.figure = keys[at];
        draw(box);
      });
    }));
})();
