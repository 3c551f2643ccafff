(function () {
  "use strict";
  var stored = JSON.parse(document.getElementById("data").textContent);
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var coarse = window.matchMedia("(pointer: coarse)");
  var PRINT_WIDTH = 680;
  var printing = false;
  var config = {
    displaylogo: false,
    displayModeBar: coarse.matches ? false : "hover",
    responsive: true,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
    doubleClick: "reset"
  };

  // "@name" or "@name/opacity" -> colour of the palette, under keys that hold colours only: other texts are the reader's.
  function color(text, palette) {
    var parts = text.slice(1).split("/");
    var hex = palette[parts[0]];
    if (parts.length === 1) { return hex; }
    var rgb = [1, 3, 5].map(function (at) { return parseInt(hex.slice(at, at + 2), 16); });
    return "rgba(" + rgb.join(",") + "," + parts[1] + ")";
  }

  function painted(value, key, palette) {
    if (typeof value === "string") {
      return /color$/.test(key) && value[0] === "@" ? color(value, palette) : value;
    }
    if (Array.isArray(value)) { return value.map(function (item) { return painted(item, key, palette); }); }
    if (value === null || typeof value !== "object") { return value; }
    var copy = {};
    Object.keys(value).forEach(function (name) { copy[name] = painted(value[name], name, palette); });
    return copy;
  }

  function draw(element) {
    var figure = stored.charts[element.id];
    if (element.closest("details:not([open])")) { return; }  // drawn when that is opened
    var palette = stored.palettes[dark.matches && !printing ? "dark" : "light"];
    var layout = painted(figure.layout, "", palette);
    layout.font.family = getComputedStyle(document.body).fontFamily;
    layout.dragmode = coarse.matches ? false : "zoom";  // a finger scrolls the page
    layout.uirevision = "kept";
    layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: palette.muted, activecolor: palette.chosen };
    if (printing) { layout.width = PRINT_WIDTH; }
    window.Plotly.react(element, painted(figure.data, "", palette), layout, config);
  }

  function drawAll() { document.querySelectorAll(".chart").forEach(draw); }

  function copied(button) {
    button.textContent = "Copied";
    setTimeout(function () { button.textContent = "Copy"; }, 1500);
  }

  function copy(button) {
    var source = document.getElementById(button.dataset.copy);
    function byHand() {
      window.getSelection().selectAllChildren(source);
      if (document.execCommand("copy")) { copied(button); }
    }
    if (!navigator.clipboard) { byHand(); return; }
    navigator.clipboard.writeText(source.textContent).then(function () { copied(button); }, byHand);
  }

  function open(hash) {
    var target = hash.length > 1 && document.getElementById(hash.slice(1));
    var part = target && target.closest("details");
    if (part && !part.open) { part.open = true; }
  }

  document.querySelectorAll("details").forEach(function (part) {
    part.addEventListener("toggle", function () {
      if (part.open) { part.querySelectorAll(".chart").forEach(draw); }
    });
  });
  document.querySelectorAll("button[data-copy]").forEach(function (button) {
    button.addEventListener("click", function () { copy(button); });
  });
  document.querySelectorAll('a[href^="#"]').forEach(function (link) {
    link.addEventListener("click", function () { open(link.getAttribute("href")); });
  });
  window.addEventListener("beforeprint", function () { printing = true; drawAll(); });
  window.addEventListener("afterprint", function () { printing = false; drawAll(); });
  dark.addEventListener("change", drawAll);
  open(window.location.hash);
  drawAll();
}());
