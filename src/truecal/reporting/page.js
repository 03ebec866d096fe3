'use strict';
// What a page without scripts lacks: sorting, a switch of axes, numbers under the pointer, folds that open in print.
(function () {
  const all = function (what, where) { return Array.from((where || document).querySelectorAll(what)); };
  document.documentElement.classList.add('js');

  // ---- axes: two drawings of a figure, of which one is shown
  const scaled = all('.scaled');
  if (scaled.length) {
    const show = function (scale) {
      scaled.forEach(function (pair) {
        Array.from(pair.children).forEach(function (part) {
          part.classList.toggle('off', part.dataset.scale !== scale);
          if (part.tagName === 'DETAILS') { part.open = true; }
        });
      });
    };
    const box = document.createElement('fieldset');
    const first = scaled[0].firstElementChild.dataset.scale;
    box.className = 'switch';
    box.innerHTML = '<legend>axis</legend>' + ['linear', 'logit'].map(function (name) {
      return '<label><input type="radio" name="scale" value="' + name + '"' + (name === first ? ' checked' : '') +
        '> ' + name + '</label>';
    }).join('');
    box.addEventListener('change', function (event) { show(event.target.value); });
    (document.querySelector('nav') || scaled[0].parentNode).append(box);
    show(first);
  }

  // ---- tables: a heading sorts, by the number that a cell begins with, else by its text
  const value = function (cell) {
    const found = cell.textContent.replace(/[,\s%\u00d7<=\u2264x]/g, '').match(/^-?[\d.]+(e[-+]?\d+)?/);
    return found ? Number(found[0]) : NaN;
  };
  all('table.sorts').forEach(function (table) {
    const heads = all('thead th', table), body = table.tBodies[0];
    heads.forEach(function (head, column) {
      head.setAttribute('aria-sort', 'none');
      head.firstElementChild.addEventListener('click', function () {
        const down = head.getAttribute('aria-sort') === 'ascending';
        heads.forEach(function (other) { other.setAttribute('aria-sort', 'none'); });
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const text = head.classList.contains('text');
        const rows = Array.from(body.rows).map(function (row) {
          const cell = row.cells[column];
          return { row: row, text: cell.textContent, number: value(cell) };
        });
        rows.sort(function (a, b) {
          const order = text ? a.text.localeCompare(b.text, 'en', { numeric: true }) : a.number - b.number;
          if (!text && (isNaN(a.number) || isNaN(b.number))) { return isNaN(a.number) - isNaN(b.number); }
          return down ? -order : order;
        });
        rows.forEach(function (each) { body.appendChild(each.row); });
      });
    });
  });

  // ---- pictures: the texts of what is under the pointer, or above and below it
  const tip = document.createElement('div');
  tip.id = 'tip';
  tip.hidden = true;
  document.body.append(tip);
  const texts = new Map(scaled.map(function (pair) {
    const first = pair.firstElementChild;
    return [first, all('title', first).map(function (title) { return title.textContent; })];
  }));
  all('div.picture').forEach(function (picture) {
    const marks = all('title', picture).map(function (title) {
      return { node: title.parentNode, text: title.textContent };
    });
    const twin = picture.closest('.scaled') && picture.closest('.scaled').firstElementChild;
    all('[data-text]', picture).forEach(function (node) {
      marks.push({ node: node, text: texts.get(twin)[node.dataset.text] });
    });
    if (!marks.length) { return; }
    const near = picture.dataset.hover === 'x' ? 0 : 8;
    const find = function (event) {
      const found = marks.filter(function (mark) {
        const box = mark.node.getBoundingClientRect(), row = mark.node.closest('.row').getBoundingClientRect();
        const across = event.clientX >= box.left - near && event.clientX <= box.right + near;
        const up = near ? event.clientY >= box.top - near && event.clientY <= box.bottom + near :
          event.clientY >= row.top && event.clientY <= row.bottom;
        return across && up;
      });
      tip.hidden = !found.length;
      if (!found.length) { return; }
      tip.textContent = Array.from(new Set(found.slice(0, 4).map(function (mark) { return mark.text; }))).join('\n\n');
      const left = Math.min(event.pageX + 14, window.scrollX + document.documentElement.clientWidth - tip.offsetWidth - 8);
      tip.style.left = Math.max(left, 4) + 'px';
      tip.style.top = event.pageY + 16 + 'px';
    };
    picture.addEventListener('pointermove', find);
    picture.addEventListener('pointerdown', find);
    picture.addEventListener('pointerleave', function () { tip.hidden = true; });
  });
  all('div.picture title').forEach(function (title) { title.remove(); });  // or browsers would show it, too
  document.addEventListener('keydown', function (event) { if (event.key === 'Escape') { tip.hidden = true; } });

  // ---- folds: links open what they lead to, and print has all
  const reveal = function () {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && target.closest('details');
    if (fold) { fold.open = true; target.scrollIntoView(); }
  };
  window.addEventListener('hashchange', reveal);
  reveal();
  let closed = [];
  window.addEventListener('beforeprint', function () {
    closed = all('details:not([open])');
    closed.forEach(function (fold) { fold.open = true; });
  });
  window.addEventListener('afterprint', function () { closed.forEach(function (fold) { fold.open = false; }); });
})();
