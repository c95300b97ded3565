// Makes the pictures of a page live. Without this script, or when a chart fails, the picture stays.
(() => {
  "use strict";

  const chartsOf = (root) => root.querySelectorAll("figure.lb-chart:not([data-live])");

  function wake(figure) {
    const box = figure.querySelector(".lb-chart-box");
    const picture = box && box.querySelector("svg");
    const data = figure.querySelector('script[type="application/json"]');
    if (!picture || !data || !window.vegaEmbed || figure.dataset.live) return;
    figure.dataset.live = "starting";
    const spec = JSON.parse(data.textContent);
    const fluid = figure.classList.contains("lb-fluid");
    const target = document.createElement("div");
    target.className = "lb-live";
    if (fluid) spec.width = "container";
    target.style.visibility = "hidden";
    target.style.position = "absolute";
    target.style.inset = "0 0 auto 0";
    box.append(target);
    const options = {
      actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
      downloadFileName: figure.id,
      i18n: { CLICK_TO_VIEW_ACTIONS: "Save this chart", SVG_ACTION: "Save as SVG", PNG_ACTION: "Save as PNG" },
      renderer: "svg",
      tooltip: { theme: "custom" },
      ast: false,
    };
    window.vegaEmbed(target, spec, options).then((result) => {
      const live = target.querySelector("svg");
      for (const name of ["role", "aria-label"]) live.setAttribute(name, picture.getAttribute(name));
      picture.remove();
      target.removeAttribute("style");
      figure.dataset.live = "1";
      result.view.resize().run();
    }).catch((error) => {
      target.remove();
      figure.dataset.live = "failed";
      console.warn("chart stays a picture:", error);
    });
  }

  function start() {
    const waiting = chartsOf(document);
    if (!("IntersectionObserver" in window)) { waiting.forEach(wake); return; }
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) { seen.unobserve(entry.target); wake(entry.target); }
      }
    }, { rootMargin: "600px" });
    waiting.forEach((figure) => seen.observe(figure));
    // Charts inside a closed box have no size until it opens.
    document.addEventListener("toggle", (event) => chartsOf(event.target).forEach(wake), true);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
