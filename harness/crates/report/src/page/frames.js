
'use strict';
// Draws the frames of each case: see frames.rs. Texts are set as text, never as HTML.
const make = (parent, tag, name) => {
  const made = document.createElement(tag);
  made.className = name;
  parent.append(made);
  return made;
};

// What a figure's lines say: lanes, steps, and frames, in which what is left out is as before.
const read = (text) => {
  const film = { sets: [], deployments: [], steps: [], frames: [] };
  let sizes = { sets: {}, deployments: {} };
  let said = '';
  for (const line of text.split('\n')) {
    const [kind, ...words] = line.split('\t');
    if (kind === 'set') film.sets.push({ name: words[0], owner: words[1] });
    if (kind === 'deployment') film.deployments.push(words[0]);
    if (kind === 'step') {
      const [id, label, wrong] = words;
      film.steps.push({ id, label, wrong: wrong === 'wrong', first: film.frames.length });
    }
    if (kind === 'frame') {
      const [version, at, decided, what, changed, told] = words;
      if (changed) {
        sizes = { sets: {}, deployments: {} };
        for (const word of changed.split(' ').slice(1)) {
          const [lane, numbers] = word.split('=');
          const all = numbers.split('/').map((number) => (number === '' ? null : Number(number)));
          if (lane[0] === 's') sizes.sets[lane.slice(1)] = { wanted: all[0], ready: all[1], available: all[2] };
          else sizes.deployments[lane.slice(1)] = { most: all[0], least: all[1] };
        }
      }
      if (told) said = told;
      const step = film.steps.length - 1;
      film.frames.push({ step, version, at: Number(at), decided: decided !== '', what, sizes, said });
    }
  }
  return film;
};

// The pods of a Deployment in all, and the widest that any lane ever is.
const total = (film, sizes, owner) => {
  const own = film.sets.flatMap((set, lane) => (set.owner === owner && sizes.sets[lane] ? [sizes.sets[lane]] : []));
  const sum = (field) => own.reduce((all, size) => all + size[field], 0);
  return { wanted: sum('wanted'), available: sum('available') };
};
const widest = (film) => {
  let most = 1;
  for (const { sizes } of film.frames) {
    for (const owner of new Set(film.sets.map((set) => set.owner))) most = Math.max(most, total(film, sizes, owner).wanted);
    for (const bounds of Object.values(sizes.deployments)) most = Math.max(most, bounds.most);
  }
  return most;
};

const show = (figure) => {
  const film = read(figure.querySelector('pre').textContent);
  if (film.frames.length === 0) return;
  const scale = 100 / widest(film);
  const place = (part, from, to) => {
    part.style.left = `${from * scale}%`;
    part.style.width = `${Math.max(0, to - from) * scale}%`;
    // A frame of no width would still be seen.
    part.classList.toggle('nothing', to <= from);
  };
  const find = (name) => figure.querySelector(name);
  const lane = (name, parts) => {
    const row = make(find('.lanes'), 'div', 'row');
    make(row, 'span', 'name').textContent = name;
    const bar = make(row, 'span', 'bar');
    return { row, parts: parts.map((part) => make(bar, 'i', part)), value: make(row, 'span', 'value') };
  };
  const rows = film.sets.map((set, at) => lane(set.name, ['empty', 'half', 'full'].map((part) => `${part} k${at % 6}`)));
  const totals = film.deployments.map((name) => lane(name, ['total', 'available', 'least', 'most']));
  const slider = find('input');
  slider.max = film.frames.length - 1;
  film.steps.forEach((step, at) => {
    step.last = (at + 1 < film.steps.length ? film.steps[at + 1].first : film.frames.length) - 1;
  });
  // More steps than this are too narrow to be seen.
  const segments = (film.steps.length > 200 ? [] : film.steps).map((step) => {
    const segment = make(find('.track'), 'span', step.wrong ? 'wrong' : '');
    segment.style.flexGrow = step.last - step.first + 1;
    return segment;
  });
  const draw = () => {
    const at = Number(slider.value);
    const { step, version, at: time, decided, what, sizes, said } = film.frames[at];
    const { id, label, wrong } = film.steps[step];
    find('.where').textContent =
      `${`${id}  ${label}`.trim()}${wrong ? '  (first wrong step)' : ''}${id ? ' · ' : ''}${version ? `version ${version}` : 'settled'} · ` +
      `${(time / 1000).toFixed(3)} s · frame ${at + 1} of ${film.frames.length}`;
    find('.what').textContent = what;
    find('.what').className = decided ? 'what decided' : 'what';
    find('.said').textContent = said;
    segments.forEach((segment, other) => segment.classList.toggle('now', other === step));
    const offset = {};
    film.sets.forEach((set, number) => {
      const { row, parts, value } = rows[number];
      const size = sizes.sets[number];
      row.classList.toggle('gone', !size);
      const { wanted, ready, available } = size || { wanted: 0, ready: 0, available: 0 };
      const from = offset[set.owner] || 0;
      place(parts[0], from, from + wanted);
      place(parts[1], from + Math.min(available, wanted), from + ready);
      place(parts[2], from, from + available);
      offset[set.owner] = from + wanted;
      value.textContent = size ? `${wanted} wanted, ${ready} ready, ${available} available` : 'not there';
    });
    film.deployments.forEach((_, number) => {
      const { row, parts, value } = totals[number];
      const bounds = sizes.deployments[number];
      row.classList.toggle('gone', !bounds);
      const { wanted, available } = total(film, sizes, String(number));
      const { most, least } = bounds || { most: 0, least: null };
      place(parts[0], 0, wanted);
      place(parts[1], 0, available);
      place(parts[2], least || 0, least || 0);
      place(parts[3], most, most);
      parts[2].hidden = !least;
      const out = wanted > most || (least !== null && available < least);
      row.classList.toggle('out', Boolean(bounds) && out);
      value.textContent = bounds
        ? `${wanted} of at most ${most}; ${available} available${least === null ? '' : `, at least ${least} must be`}`
        : 'not there';
    });
  };
  const go = (to) => {
    slider.value = Math.min(Math.max(to, 0), film.frames.length - 1);
    draw();
  };
  const step = () => film.steps[film.frames[Number(slider.value)].step];
  const after = () => {
    const now = Number(slider.value);
    const next = film.steps.find((it) => it.last > now);
    return next ? next.last : now;
  };
  const [start, back, on, end] = figure.querySelectorAll('button');
  start.addEventListener('click', () => go(step().first - 1));
  back.addEventListener('click', () => go(Number(slider.value) - 1));
  on.addEventListener('click', () => go(Number(slider.value) + 1));
  end.addEventListener('click', () => go(after()));
  slider.addEventListener('input', draw);
  const press = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const now = Number(slider.value);
    const to = {
      ArrowLeft: event.shiftKey ? step().first - 1 : now - 1,
      ArrowRight: event.shiftKey ? after() : now + 1,
      Home: 0,
      End: film.frames.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  };
  figure.addEventListener('keydown', press);
  const wrong = film.steps.find((it) => it.wrong) || film.steps[0];
  go(wrong.last);
  figure.hidden = false;
  return press;
};

// A slider has the keys while the focus is in its figure; the only one on a page has them at once.
const all = [...document.querySelectorAll('figure.frames')].map(show).filter(Boolean);
document.addEventListener('keydown', (event) => {
  if (all.length === 1 && event.target === document.body) all[0](event);
});
