(function () {
  "use strict";
  var charts = JSON.parse(document.getElementById("data").textContent);
  var PRINT_WIDTH = 680;
  var NARROWEST = 100;

  function draw(element, width) {
    if (element.closest("details:not([open])")) { return; }  // drawn when that is opened
    if (!width && element.clientWidth < NARROWEST) { return; }  // drawn when the page has a width
    window.drawChart(element, charts[element.id], width);
  }

  function drawAll(width) { document.querySelectorAll(".chart").forEach(function (each) { draw(each, width); }); }

  // Tables and code that do not fit say that there is more to the right.
  function hint(frame) {
    frame.classList.toggle("wide", frame.scrollWidth > frame.clientWidth + 1);
    frame.classList.toggle("ended", frame.scrollLeft + frame.clientWidth >= frame.scrollWidth - 2);
  }

  function hintAll() { document.querySelectorAll(".scroll").forEach(hint); }

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
      if (!part.open) { return; }
      part.querySelectorAll(".chart").forEach(function (each) { draw(each); });
      part.querySelectorAll(".scroll").forEach(hint);
    });
  });
  document.querySelectorAll("button[data-copy]").forEach(function (button) {
    button.addEventListener("click", function () { copy(button); });
  });
  document.querySelectorAll('a[href^="#"]').forEach(function (link) {
    link.addEventListener("click", function () { open(link.getAttribute("href")); });
  });
  document.querySelectorAll(".scroll").forEach(function (frame) {
    frame.addEventListener("scroll", function () { hint(frame); }, { passive: true });
  });
  window.addEventListener("beforeprint", function () { drawAll(PRINT_WIDTH); });
  window.addEventListener("afterprint", function () { drawAll(); });
  open(window.location.hash);
  drawAll();
  hintAll();
  var page = document.querySelector("main");
  var drawn = page.clientWidth;
  new ResizeObserver(function () {
    if (page.clientWidth === drawn) { return; }  // only its height has changed
    drawn = page.clientWidth;
    drawAll();
    hintAll();
  }).observe(page);
}());
