// Makes the pictures of a page live. Without this script, or when a chart fails, the picture stays.
(() => {
  "use strict";

  const BUNDLE = new URL("vega-bundle.js", document.currentScript.src).href;
  const LEAST_WIDTH = 320; // px; narrower boxes scroll, as do those narrower than a chart says it needs
  const OPTIONS = {
    actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
    i18n: { CLICK_TO_VIEW_ACTIONS: "Save this chart", SVG_ACTION: "Save as SVG", PNG_ACTION: "Save as PNG" },
    renderer: "svg",
    tooltip: { theme: "custom" },
  };

  const waiting = (root) => root.querySelectorAll("figure.lb-chart:not([data-live])");
  const boxOf = (figure) => figure.querySelector(".lb-chart-box");

  // The drawing program, asked for by the first chart that comes near.
  let program = null;
  function vega() {
    program = program || new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = BUNDLE;
      script.onload = () => resolve(window.vegaEmbed);
      script.onerror = () => reject(new Error("vega-bundle.js is not there"));
      document.head.append(script);
    });
    return program;
  }

  async function draw(figure) {
    const box = boxOf(figure);
    const spec = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    if (figure.classList.contains("lb-fluid")) spec.width = Math.max(LEAST_WIDTH, spec.usermeta.least, box.clientWidth);
    const target = document.createElement("div");
    target.className = "lb-live";
    target.hidden = true;
    box.append(target);
    const before = [...box.children].filter((child) => child !== target);
    try {
      const embed = await vega();
      const drawn = await embed(target, spec, { ...OPTIONS, downloadFileName: figure.id });
      const live = target.querySelector("svg.marks");
      live.setAttribute("role", "img");
      live.setAttribute("aria-label", spec.description);
      before.forEach((child) => child.remove());
      target.hidden = false;
      if (figure.liveChart) figure.liveChart.finalize();
      figure.liveChart = drawn;
      figure.dataset.live = "1";
      figure.dataset.width = box.clientWidth;
    } catch (error) {
      target.remove();
      figure.dataset.live = "failed";
      console.warn("chart stays a picture:", error);
    }
  }

  function wake(figure) {
    if (figure.dataset.live || boxOf(figure).clientWidth === 0) return;
    figure.dataset.live = "starting";
    draw(figure);
  }

  // A chart of the page's width is drawn again when that width has changed and come to rest.
  function followWidth(figures) {
    let timer = 0;
    const redraw = () => {
      for (const figure of figures) {
        const changed = Math.abs(Number(figure.dataset.width) - boxOf(figure).clientWidth) > 2;
        if (figure.dataset.live === "1" && changed && boxOf(figure).clientWidth > 0) draw(figure);
      }
    };
    const watch = new ResizeObserver(() => { clearTimeout(timer); timer = setTimeout(redraw, 150); });
    figures.forEach((figure) => watch.observe(boxOf(figure)));
  }

  function start() {
    const figures = waiting(document);
    const near = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) { near.unobserve(entry.target); wake(entry.target); }
      }
    }, { rootMargin: "600px" });
    figures.forEach((figure) => near.observe(figure));
    followWidth([...figures].filter((figure) => figure.classList.contains("lb-fluid")));
    // A chart in a closed box has no size until the box opens.
    document.addEventListener("toggle", (event) => waiting(event.target).forEach(wake), true);
    window.addEventListener("beforeprint", () => waiting(document).forEach(wake));
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
