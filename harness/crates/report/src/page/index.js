'use strict';
// Filters the cases of the page by text and outcome: see index.rs.
const form = document.querySelector('form.filter');
const [text, outcome, shown] = ['input', 'select', 'output'].map((name) => form.querySelector(name));
const entries = [...document.querySelectorAll('nav li')].map((entry) => ({
  entry,
  section: document.getElementById(entry.dataset.case).closest('section'),
  words: entry.textContent.toLowerCase(),
}));

const filter = () => {
  const words = text.value.toLowerCase().split(' ').filter(Boolean);
  let count = 0;
  for (const it of entries) {
    const fits = words.every((word) => it.words.includes(word)) && ['', it.entry.dataset.outcome].includes(outcome.value);
    it.entry.hidden = !fits;
    it.section.hidden = !fits;
    count += fits ? 1 : 0;
  }
  for (const group of document.querySelectorAll('nav details')) {
    group.hidden = group.querySelector('li:not([hidden])') === null;
    if (words.length > 0 || outcome.value) group.open = true;
  }
  shown.textContent = count === entries.length ? '' : `${count} of ${entries.length}`;
};
text.addEventListener('input', filter);
outcome.addEventListener('input', filter);
form.addEventListener('submit', (event) => event.preventDefault());
document.addEventListener('keydown', (event) => {
  const isTyping = ['INPUT', 'SELECT'].includes(event.target.tagName);
  if (event.key === '/' && !isTyping && !event.altKey && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    text.focus();
  }
  if (event.key === 'Escape' && form.contains(event.target)) {
    text.value = '';
    outcome.value = '';
    filter();
  }
});
form.hidden = false;
filter();
