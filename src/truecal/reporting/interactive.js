'use strict';
// Draws plotly's figures in the places of the page's own, when they are seen.
(function () {
  const figures = JSON.parse(document.getElementById('figures').textContent);
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const colour = function (name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); };
  const places = Object.keys(figures).map(function (number) {
    const figure = document.getElementById(number), place = document.createElement('div');
    place.className = 'plotly';
    place.dataset.figure = number;
    figure.prepend(place);
    all(figure).forEach(function (part) { part.hidden = true; });
    return place;
  });
  function all(figure) { return Array.from(figure.querySelectorAll(':scope > .picture, :scope > .scaled')); }
  function draw(place) {
    const both = figures[place.dataset.figure];
    let text = JSON.stringify(both[document.documentElement.dataset.scale] || Object.values(both)[0]);
    if (dark.matches) {
      for (const [from, to] of [['#0072b2', '#58a6ff'], ['#000000', '#ffffff'], ['#4a5058', '#c3cad1'],
        ['#d4d8dc', '#343b44']]) { text = text.split(from).join(to); }
    }
    const figure = JSON.parse(text), narrow = place.clientWidth < 560;
    const layout = Object.assign({ font: { size: narrow ? 11 : 13, color: colour('--ink') },
      margin: { l: narrow ? 52 : 70, r: 12, t: 36, b: 44 }, paper_bgcolor: 'rgba(0,0,0,0)',
      plot_bgcolor: 'rgba(0,0,0,0)', dragmode: narrow ? false : 'zoom', hoverlabel: { align: 'left' } }, figure.layout);
    for (const key of Object.keys(layout)) {
      if (/^[xy]axis/.test(key)) {
        Object.assign(layout[key], { gridcolor: colour('--grid'), linecolor: colour('--line'), automargin: true });
      }
    }
    place.style.height = figure.layout.height + 'px';
    place.dataset.drawn = document.documentElement.dataset.scale || 'linear';
    return Plotly.react(place, figure.data, layout, { responsive: true, displaylogo: false });
  }
  const seen = new IntersectionObserver(function (entries) {
    for (const entry of entries) { if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); } }
  }, { rootMargin: '600px' });
  places.forEach(function (place) { seen.observe(place); });
  function again() { places.forEach(function (place) { if (place.dataset.drawn) { draw(place); } }); }
  document.addEventListener('scale', again);
  dark.addEventListener('change', again);
  window.addEventListener('beforeprint', function () {
    places.forEach(function (place) { place.hidden = true; all(place.parentNode).forEach(function (p) { p.hidden = false; }); });
  });
  window.addEventListener('afterprint', function () {
    places.forEach(function (place) { place.hidden = false; all(place.parentNode).forEach(function (p) { p.hidden = true; }); });
  });
})();
