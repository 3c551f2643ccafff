// Draws the figures of the report as SVG. They are in the words of plotly (data, layout), of which this knows what the
// report uses: scatters with lines, markers, bars and filled bands, linear and logarithmic axes, shapes and annotations.
// Colours "@name/opacity" are the page's own variables, so that a change of scheme needs no new drawing.
window.drawChart = (function () {
  "use strict";
  var NS = "http://www.w3.org/2000/svg";
  var SIZE = 13;
  var SMALL = 12;
  var GAP = 10;  // pixels between two labels
  var pen = document.createElement("canvas").getContext("2d");
  var DASHES = {
    dash: "6,4", dashdot: "6,3,1.5,3", dot: "1.5,3", longdash: "10,4", longdashdot: "10,3,1.5,3"
  };

  function isNumber(value) { return typeof value === "number" && isFinite(value); }

  function add(parent, name, attributes) {
    var element = document.createElementNS(NS, name);
    Object.keys(attributes || {}).forEach(function (key) { element.setAttribute(key, attributes[key]); });
    parent.appendChild(element);
    return element;
  }

  function paint(element, property, color) {
    var parts = color.slice(1).split("/");
    element.style[property] = "var(--" + parts[0] + ")";
    if (parts.length > 1) { element.style[property + "Opacity"] = parts[1]; }
    return element;
  }

  // ---------------------------------------------------------------------------------------------------------- text

  function decoded(text) {
    return text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
  }

  // Lines of a label, each with whether it is bold: the only markup that labels have is <b> and <br>.
  function linesOf(text) {
    var bold = false;
    return String(text).split("<br>").map(function (line) {
      var starts = line.indexOf("<b>") >= 0;
      var found = { text: decoded(line.replace(/<\/?b>/g, "")), bold: bold || starts };
      bold = (bold || starts) && line.indexOf("</b>") < 0;
      return found;
    });
  }

  function widthOf(text, size, bold) {
    pen.font = (bold ? "600 " : "") + size + "px " + pen.family;
    return pen.measureText(text).width;
  }

  function labelWidth(label, size) {
    if (label.power !== undefined) { return widthOf("10", size) + widthOf(String(label.power), 0.75 * size); }
    return Math.max.apply(null, linesOf(label).map(function (line) { return widthOf(line.text, size, line.bold); }));
  }

  // A label at (x, y), which is the middle of its height; anchor is "start", "middle" or "end".
  function write(parent, label, x, y, anchor, size, color) {
    var element = paint(add(parent, "text", { "text-anchor": anchor, "font-size": size }), "fill", color || "@text");
    if (label.power !== undefined) {
      element.setAttribute("x", x);
      element.setAttribute("y", y + 0.35 * size);
      element.textContent = "10";
      var raised = add(element, "tspan", { dy: -0.4 * size, "font-size": 0.75 * size });
      raised.textContent = String(label.power).replace("-", "−");
      return element;
    }
    var lines = linesOf(label);
    lines.forEach(function (line, at) {
      var row = add(element, "tspan", { x: x, y: y + 0.35 * size + (at - (lines.length - 1) / 2) * 1.2 * size });
      row.textContent = line.text;
      if (line.bold) { row.setAttribute("font-weight", "600"); }
    });
    return element;
  }

  // ---------------------------------------------------------------------------------------------------------- axes

  function grouped(value, decimals) {
    return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
      .replace(/^-(?=[0.,]*$)/, "").replace("-", "−");  // what is written as zero has no sign
  }

  function format(axis, value, step) {
    var decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    var last = step * Math.pow(10, decimals);
    if (Math.abs(last - Math.round(last)) > 1e-6) { decimals += 1; }  // steps of 0.25
    if (axis.tickformat) { return grouped(100 * value, Math.max(0, decimals - 2)) + "%"; }
    var size = Math.max(Math.abs(value), step);
    if (Math.abs(value) < step * 1e-9) { return grouped(0, step < 1e-6 ? 0 : decimals); }
    if (size >= 1e9 || step < 1e-6) { return value.toExponential(1).replace("e+", "e"); }
    return grouped(value, decimals);
  }

  function linearTicks(axis, most) {
    var span = axis.range[1] - axis.range[0];
    var rough = Math.abs(span) / Math.max(1, most);
    var power = Math.pow(10, Math.floor(Math.log10(rough)));
    var step = [1, 2, 2.5, 5, 10].map(function (m) { return m * power; })
      .find(function (each) { return each >= rough * 0.999; });
    var low = Math.min(axis.range[0], axis.range[1]);
    var ticks = [];
    for (var k = Math.ceil(low / step - 1e-9); k * step <= low + Math.abs(span) * (1 + 1e-9); k += 1) {
      ticks.push({ value: k * step, label: format(axis, k * step, step) });
    }
    return ticks;
  }

  function logTicks(axis, most) {
    var low = axis.range[0];
    var high = axis.range[1];
    var step = Math.max(1, Math.ceil((high - low) / Math.max(1, most)));
    var parts = high - low < 1.5 ? [1, 2, 5] : [1];
    var ticks = [];
    for (var k = Math.floor(low); k <= high; k += 1) {
      if (parts.length === 1 && ((k % step) + step) % step !== 0) { continue; }
      parts.forEach(function (part) {
        var value = part * Math.pow(10, k);
        var at = Math.log10(value);
        if (at < low - 1e-9 || at > high + 1e-9) { return; }
        var plain = axis.exponentformat !== "power" || part !== 1;
        ticks.push({ value: value, label: plain ? number(value) : { power: k } });
      });
    }
    return ticks;
  }

  function number(value) {
    if (value >= 1e6 || value < 1e-4) { return value.toExponential(0).replace("e+", "e"); }
    return grouped(value, Math.max(0, -Math.floor(Math.log10(value))));
  }

  function ticksOf(axis, most) {
    if (axis.tickvals) {
      return axis.tickvals.map(function (value, at) { return { value: value, label: axis.ticktext[at] }; });
    }
    var count = Math.min(axis.nticks || 7, Math.max(2, most));
    return axis.type === "log" ? logTicks(axis, count) : linearTicks(axis, count);
  }

  // Where values of an axis stand between two pixels.
  function scale(axis, from, to) {
    var range = axis.range;
    return function (value) {
      var at = axis.type === "log" ? Math.log10(value) : value;
      return from + (at - range[0]) / (range[1] - range[0]) * (to - from);
    };
  }

  function extent(axis, data, key, id) {
    if (axis.range) { return axis; }
    var values = [];
    data.forEach(function (trace) {
      if ((trace[key + "axis"] || key) === id) { values = values.concat(trace[key].filter(isNumber)); }
    });
    var low = Math.min.apply(null, values);
    var high = Math.max.apply(null, values);
    var margin = 0.06 * (high - low) || 0.5;
    return Object.assign({}, axis, { range: [low - margin, high + margin] });
  }

  // -------------------------------------------------------------------------------------------------------- pieces

  function drawYAxis(layer, axis, place, ticks, own) {
    var y = own.y[place];
    ticks.forEach(function (tick) {
      var at = y(tick.value);
      if (at < own.top(axis) - 1 || at > own.bottom(axis) + 1) { return; }
      if (axis.showgrid !== false) {
        paint(add(layer.below, "line", { x1: own.left, x2: own.right, y1: at, y2: at }), "stroke", axis.gridcolor);
      }
      write(layer.above, tick.label, own.left - (axis.ticklabelstandoff || 6), at, "end", SIZE);
    });
    if (axis.title) {
      var middle = (own.top(axis) + own.bottom(axis)) / 2;
      var title = write(layer.above, axis.title.text, 0, 0, "middle", SIZE);
      title.setAttribute("class", "ytitle");
      title.setAttribute("transform", "translate(" + own.titleAt + "," + middle + ") rotate(-90)");
    }
  }

  function drawXAxis(layer, axis, own, onTop) {
    var x = onTop ? own.x2 : own.x;
    var edge = onTop ? own.top({ domain: [0, 1] }) : own.bottom({ domain: [0, 1] });
    var size = (axis.tickfont || {}).size || SIZE;
    var ends = -Infinity;
    var step = onTop ? -1 : 1;
    paint(add(layer.above, "line", { x1: own.left, x2: own.right, y1: edge, y2: edge }), "stroke", axis.linecolor);
    ticksOf(axis, Math.floor((own.right - own.left) / 62)).map(function (tick) {
      return { at: x(tick.value), label: tick.label, width: labelWidth(tick.label, size) };
    }).sort(function (a, b) { return a.at - b.at; }).forEach(function (tick) {
      if (tick.at < own.left - 1 || tick.at > own.right + 1) { return; }
      if (axis.showgrid !== false) {
        var upright = { x1: tick.at, x2: tick.at, y1: own.top({ domain: [0, 1] }), y2: own.bottom({ domain: [0, 1] }) };
        paint(add(layer.below, "line", upright), "stroke", axis.gridcolor);
      }
      var mark = add(layer.above, "line", { x1: tick.at, x2: tick.at, y1: edge, y2: edge + 5 * step });
      paint(mark, "stroke", axis.linecolor);
      if (tick.at - tick.width / 2 < ends + GAP) { return; }  // it would touch the last one
      ends = tick.at + tick.width / 2;
      var inside = Math.min(Math.max(tick.at, tick.width / 2), own.width - tick.width / 2);
      write(layer.above, tick.label, inside, edge + 15 * step, "middle", size);
    });
    if (axis.title) {
      write(layer.above, axis.title.text, (own.left + own.right) / 2, edge + 36, "middle", SIZE)
        .setAttribute("class", "xtitle");
    }
  }

  function horizontal(own, ref, value) {
    return ref === "paper" ? own.left + value * (own.right - own.left) : own.x(value);
  }

  function vertical(own, ref, value) {
    if (ref === "paper") { return own.bottom({ domain: [0, 1] }) - value * own.height; }
    if (/ domain$/.test(ref)) {
      var axis = own.axes[ref.split(" ")[0]];
      return own.bottom(axis) - value * (own.bottom(axis) - own.top(axis));
    }
    return own.y[ref || "y"](value);
  }

  function drawShape(layer, shape, own) {
    var xs = [horizontal(own, shape.xref, shape.x0), horizontal(own, shape.xref, shape.x1)];
    var ys = [vertical(own, shape.yref, shape.y0), vertical(own, shape.yref, shape.y1)];
    if (shape.type === "rect") {
      var left = Math.max(own.left, Math.min(xs[0], xs[1]));
      var right = Math.min(own.right, Math.max(xs[0], xs[1]));
      var box = { x: left, width: Math.max(0, right - left), y: Math.min(ys[0], ys[1]), height: Math.abs(ys[1] - ys[0]) };
      paint(add(layer.below, "rect", box), "fill", shape.fillcolor);
      return;
    }
    if (xs[0] < own.left - 1 || xs[0] > own.right + 1) { return; }
    var line = add(layer.below, "line", {
      x1: xs[0], x2: xs[1], y1: ys[0], y2: ys[1], "stroke-width": shape.line.width,
      "stroke-dasharray": DASHES[shape.line.dash] || (shape.line.dash || "").replace(/px/g, "")
    });
    paint(line, "stroke", shape.line.color);
  }

  function drawNote(layer, note, own) {
    var size = (note.font || {}).size || SMALL;
    var lines = linesOf(note.text);
    var wide = labelWidth(note.text, size);
    var high = lines.length * 1.2 * size;
    // annotations of a logarithmic axis have the logarithm
    var value = note.xref === "x" && own.axes.x.type === "log" ? Math.pow(10, note.x) : note.x;
    var x = horizontal(own, note.xref, value) + (note.xshift || 0);
    var y = vertical(own, note.yref, note.y) - (note.yshift || 0);
    x -= { left: 0, right: wide }[note.xanchor] === undefined ? wide / 2 : { left: 0, right: wide }[note.xanchor];
    y += { top: high / 2, bottom: -high / 2 }[note.yanchor] || 0;
    x = Math.max(2, Math.min(x, own.width - wide - 2));  // on a narrow page it keeps inside
    if (note.bgcolor) {
      paint(add(layer.notes, "rect", { x: x - 2, y: y - high / 2 - 1, width: wide + 4, height: high + 2 }), "fill", note.bgcolor);
    }
    write(layer.notes, note.text, x, y, "start", size, (note.font || {}).color);
  }

  function path(trace, x, y, closed) {
    var text = "";
    var pending = true;
    trace.x.forEach(function (value, at) {
      if (!isNumber(value) || !isNumber(trace.y[at])) { pending = true; return; }
      text += (pending ? "M" : "L") + x(value).toFixed(1) + "," + y(trace.y[at]).toFixed(1);
      pending = false;
    });
    return closed && text ? text + "Z" : text;
  }

  function drawBar(layer, bars, from, to) {
    var ends = { x1: from[0], x2: to[0], y1: from[1], y2: to[1], "stroke-width": bars.thickness };
    paint(add(layer, "line", ends), "stroke", bars.color);
  }

  function drawTrace(layer, trace, own) {
    var x = own.x;
    var y = own.y[trace.yaxis || "y"];
    if (trace.fill) {
      paint(add(layer, "path", { d: path(trace, x, y, true) }), "fill", trace.fillcolor);
      return;
    }
    if (/lines/.test(trace.mode)) {
      var line = add(layer, "path", {
        d: path(trace, x, y), fill: "none", "stroke-width": trace.line.width, "stroke-linejoin": "round",
        "stroke-dasharray": DASHES[trace.line.dash] || ""
      });
      paint(line, "stroke", trace.line.color);
    }
    trace.x.forEach(function (value, at) {
      if (!isNumber(value) || !isNumber(trace.y[at])) { return; }
      var across = trace.error_x;
      var upright = trace.error_y;
      if (across && isNumber(across.array[at])) {
        var row = y(trace.y[at]);
        drawBar(layer, across, [x(value - across.arrayminus[at]), row], [x(value + across.array[at]), row]);
      }
      if (upright && isNumber(upright.array[at])) {
        var column = x(value);
        drawBar(layer, upright, [column, y(trace.y[at] - upright.arrayminus[at])], [column, y(trace.y[at] + upright.array[at])]);
      }
      if (!/markers/.test(trace.mode)) { return; }
      var marker = trace.marker;
      var circle = add(layer, "circle", { class: "point", cx: x(value).toFixed(1), cy: y(trace.y[at]).toFixed(1), r: marker.size / 2 });
      var symbol = Array.isArray(marker.symbol) ? marker.symbol[at] : marker.symbol;
      if (symbol === "circle-open") {
        paint(paint(circle, "fill", "@page"), "stroke", marker.color);
        circle.setAttribute("stroke-width", marker.line.width);
        return;
      }
      paint(circle, "fill", marker.color);
      if (marker.opacity) { circle.setAttribute("fill-opacity", marker.opacity); }
    });
  }

  // --------------------------------------------------------------------------------------------------------- hover

  function answering(element, svg, figure, own) {
    var points = [];
    figure.data.forEach(function (trace, order) {
      (trace.text || []).forEach(function (text, at) {
        if (!isNumber(trace.x[at]) || !isNumber(trace.y[at])) { return; }
        points.push({ x: own.x(trace.x[at]), y: own.y[trace.yaxis || "y"](trace.y[at]), text: text, trace: order });
      });
    });
    var tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    element.appendChild(tip);
    var rings = add(svg, "g", { class: "rings" });

    function hide() { tip.hidden = true; rings.textContent = ""; }

    function found(x, y) {
      if (figure.layout.hovermode === "x") {
        var near = points.reduce(function (best, each) {
          return Math.abs(each.x - x) < Math.abs(best.x - x) - 1e-6 ? each : best;
        }, { x: Infinity });
        return points.filter(function (each) { return Math.abs(each.x - near.x) < 0.5; });
      }
      var closest = points.reduce(function (best, each) {
        var distance = Math.hypot(each.x - x, each.y - y);
        return distance < best.distance ? { point: each, distance: distance } : best;
      }, { point: null, distance: 40 });
      return closest.point ? [closest.point] : [];
    }

    function show(event) {
      var box = svg.getBoundingClientRect();
      var zoom = own.width / box.width;
      var x = (event.clientX - box.left) * zoom;
      var y = (event.clientY - box.top) * zoom;
      var shown = found(x, y);
      hide();
      tip.textContent = "";
      if (!shown.length || x < own.left - 20 || x > own.right + 20) { return; }
      shown.forEach(function (point) {
        paint(add(rings, "circle", { cx: point.x, cy: point.y, r: 7, fill: "none", "stroke-width": 2 }), "stroke", "@text");
        var part = document.createElement("p");
        linesOf(point.text).forEach(function (line) {
          var row = document.createElement(line.bold ? "strong" : "span");
          row.textContent = line.text;
          part.appendChild(row);
        });
        tip.appendChild(part);
      });
      tip.hidden = false;
      var left = shown[0].x / zoom + 14;
      tip.style.left = Math.max(0, Math.min(left, element.clientWidth - tip.offsetWidth)) + "px";
      tip.style.top = Math.max(0, shown[0].y / zoom - tip.offsetHeight - 12) + "px";
    }

    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerdown", show);
    svg.addEventListener("pointerleave", hide);
  }

  // ------------------------------------------------------------------------------------------------------- a chart

  function arranged(figure, width) {
    var layout = figure.layout;
    var margin = layout.margin;
    var height = layout.height;
    var axes = { x: extent(layout.xaxis, figure.data, "x", "x"), y: extent(layout.yaxis, figure.data, "y", "y") };
    if (layout.yaxis2) { axes.y2 = extent(layout.yaxis2, figure.data, "y", "y2"); }
    var own = { width: width, height: height - margin.t - margin.b, axes: axes, y: {} };
    own.bottom = function (axis) { return height - margin.b - (axis.domain || [0, 1])[0] * own.height; };
    own.top = function (axis) { return height - margin.b - (axis.domain || [0, 1])[1] * own.height; };
    own.ticks = {};
    var labels = 0;
    ["y", "y2"].filter(function (name) { return axes[name]; }).forEach(function (name) {
      var axis = axes[name];
      var room = own.bottom(axis) - own.top(axis);
      own.ticks[name] = ticksOf(axis, Math.floor(room / 28));
      own.y[name] = scale(axis, own.bottom(axis), own.top(axis));
      own.ticks[name].forEach(function (tick) { labels = Math.max(labels, labelWidth(tick.label, SIZE)); });
    });
    own.titleAt = margin.l + SIZE / 2;
    own.left = margin.l + labels + 8 + (axes.y.title ? SIZE + 8 : 0);
    own.right = width - margin.r;
    own.x = scale(axes.x, own.left, own.right);
    own.x2 = layout.xaxis2 ? scale(layout.xaxis2, own.left, own.right) : null;
    return own;
  }

  return function (element, figure, width) {
    pen.family = getComputedStyle(document.body).fontFamily;
    var own = arranged(figure, width || element.clientWidth);
    var size = { viewBox: "0 0 " + own.width + " " + figure.layout.height, class: "drawn" };
    element.textContent = "";
    var svg = add(element, "svg", size);
    var layer = { below: add(svg, "g"), marks: add(svg, "g"), above: add(svg, "g"), notes: add(svg, "g") };
    Object.keys(own.y).forEach(function (name) { drawYAxis(layer, own.axes[name], name, own.ticks[name], own); });
    drawXAxis(layer, own.axes.x, own, false);
    if (figure.layout.xaxis2) { drawXAxis(layer, figure.layout.xaxis2, own, true); }
    (figure.layout.shapes || []).forEach(function (shape) { drawShape(layer, shape, own); });
    Object.keys(own.y).forEach(function (name) {
      var id = element.id + "-" + name;
      var axis = own.axes[name];
      add(add(svg, "clipPath", { id: id }), "rect", {
        x: own.left - 8, y: own.top(axis) - 8, width: own.right - own.left + 16, height: own.bottom(axis) - own.top(axis) + 16
      });
      var group = add(layer.marks, "g", { "clip-path": "url(#" + id + ")" });
      figure.data.filter(function (trace) { return (trace.yaxis || "y") === name; })
        .forEach(function (trace) { drawTrace(group, trace, own); });
    });
    (figure.layout.annotations || []).forEach(function (note) {
      drawNote(layer, Object.assign({ xref: "x", yref: "y" }, note), own);
    });
    answering(element, svg, figure, own);
  };
}());
