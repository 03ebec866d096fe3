'use strict';
(function () {
  const figures = JSON.parse(document.getElementById('figures').textContent);
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const plots = Array.from(document.querySelectorAll('.plot'));
  let scale = document.querySelector('input[name=scale]:checked').value;
  let printing = false;
  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function draw(plot) {
    const both = figures[plot.dataset.figure];
    let text = JSON.stringify(both[scale] || both.linear);
    if (dark.matches && !printing) {
      for (const [from, to] of [['#0072b2', '#58a6ff'], ['#000000', '#ffffff']]) { text = text.split(from).join(to); }
    }
    const figure = JSON.parse(text);
    const narrow = plot.clientWidth < 560;
    const layout = Object.assign({ font: { size: narrow ? 11 : 13 },
      margin: { l: narrow ? 52 : 70, r: 12, t: 36, b: 44 },
      paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', autosize: true, dragmode: narrow ? false : 'zoom',
      modebar: { bgcolor: 'rgba(0,0,0,0)', color: colour('--soft'), activecolor: colour('--ink') },
      hoverlabel: { align: 'left', font: { size: 13 } } }, figure.layout);
    if (narrow && plot.classList.contains('free')) { layout.yaxis.tickfont = { size: 9 }; }
    if (printing) { layout.width = 680; layout.height = layout.height || plot.clientHeight; layout.autosize = false; }
    layout.font.color = printing ? '#000' : colour('--ink');
    for (const key of Object.keys(layout)) {
      if (/^[xy]axis/.test(key)) {
        layout[key].gridcolor = printing ? '#ddd' : colour('--grid');
        layout[key].linecolor = layout[key].zerolinecolor = printing ? '#bbb' : colour('--line');
        layout[key].automargin = true;
        if (narrow && layout[key].tickangle) {
          layout[key].ticktext = layout[key].ticktext.map(function (text, i) { return i % 2 ? '' : text; });
        }
        if (layout[key].title) { layout[key].title.standoff = 8; }
      }
    }
    for (const trace of figure.data) {
      if (trace.meta === 'ink') {
        const ink = printing ? '#4a5058' : colour('--violin');
        if (trace.fillcolor) { trace.fillcolor = ink; }
        if (trace.line) { trace.line.color = ink; }
        if (trace.marker) { trace.marker.color = ink; }
      }
    }
    if (figure.layout.height) { plot.style.height = figure.layout.height + 'px'; }
    plot.dataset.drawn = scale;
    return Plotly.react(plot, figure.data, layout, { responsive: true, displaylogo: false,
      displayModeBar: narrow || printing ? false : 'hover',
      modeBarButtons: [['toImage', 'zoom2d', 'pan2d', 'resetScale2d']] });
  }
  const seen = new IntersectionObserver(function (entries) {
    for (const entry of entries) { if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); } }
  }, { rootMargin: '600px' });
  plots.forEach(function (plot) { seen.observe(plot); });
  function again(all) { plots.forEach(function (plot) { if (all || plot.dataset.drawn) { draw(plot); } }); }
  document.querySelectorAll('input[name=scale]').forEach(function (input) {
    input.addEventListener('change', function () { scale = input.value; again(false); });
  });
  dark.addEventListener('change', function () { again(false); });
  window.addEventListener('beforeprint', function () {
    document.querySelectorAll('details').forEach(function (part) { part.open = true; });
    printing = true; again(true);
  });
  window.addEventListener('afterprint', function () { printing = false; again(false); });
  document.querySelectorAll('table.sorts').forEach(function (table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      head.firstElementChild.addEventListener('click', function () {
        const down = head.getAttribute('aria-sort') === 'ascending';
        heads.forEach(function (other) { other.setAttribute('aria-sort', 'none'); });
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const rows = Array.from(table.tBodies[0].rows);
        rows.sort(function (a, b) {
          const x = a.cells[column].dataset.v, y = b.cells[column].dataset.v;
          if (x === '' || y === '') { return (x === '') - (y === ''); }
          const text = ['segment', 'window', 'verdict'].includes(head.dataset.name);
          const order = text ? x.localeCompare(y, 'en', { numeric: true }) : x - y;
          return (down ? -order : order) || 0;
        });
        rows.forEach(function (row) { table.tBodies[0].appendChild(row); });
      });
    });
  });
  document.querySelectorAll('button.csv').forEach(function (button) {
    button.addEventListener('click', function () {
      const table = document.getElementById(button.dataset.table);
      const heads = Array.from(table.tHead.rows[0].cells);
      const lines = [heads.map(function (cell) { return cell.dataset.name; }).join(',')];
      for (const row of table.tBodies[0].rows) {
        lines.push(Array.from(row.cells).map(function (cell) {
          const v = cell.dataset.v;
          return /[",\r\n]/.test(v) ? '"' + v.replace(/"/g, '""') + '"' : v;
        }).join(','));
      }
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([lines.join('\n') + '\n'], { type: 'text/csv' }));
      link.download = button.dataset.file;
      link.click();
      setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
    });
  });
})();
