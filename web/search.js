// Search as one types: the request, the list of hits, and moving through it by keyboard.

import { fileLink, request } from './api.js';
import { curlLine, showCurl } from './curl.js';
import { $, count, debounce, directionOf, make, plural } from './dom.js';
import { languageChip, languageTag, tint } from './languages.js';
import { addressOf, languages, state, update, watch, wholeFilter } from './state.js';

const MODE_HELP = {
  hybrid: 'by meaning and by words together',
  dense: 'by what sentences say, across languages (dense)',
  words: 'by the words of the query (BM25)',
};
const FOUND_BY = { dense: 'by meaning', words: 'by words', both: 'by both' };
const STEP = 10, MAX_HITS = 100;

let info = null;
let k = STEP;
let running = null;
let again = null; // the timer of the next attempt, while the server does not answer
let shown = { query: '', hits: [] };
let callbacks = {};

export const hits = () => shown.hits;

/* Callbacks: onHits(query, hits), onOpen(hit), onPoint(hit or null: the one under the mouse or the focus). */
export function startSearch(serverInfo, given) {
  info = serverInfo;
  callbacks = given;
  const q = $('#q');

  // While a Japanese or Chinese word is being composed, its half is not yet a query.
  const typed = debounce(() => update({ q: q.value }), 110);
  q.addEventListener('input', (event) => { if (!event.isComposing) typed(); });
  q.addEventListener('compositionend', typed);
  $('#query').addEventListener('submit', (event) => {
    event.preventDefault();
    update({ q: q.value });
    // A phone's keyboard covers the hits.
    if (matchMedia('(pointer: coarse)').matches) q.blur();
  });
  for (const radio of document.querySelectorAll('[name=mode]'))
    radio.addEventListener('change', () => update({ mode: radio.value }));
  $('#filter').addEventListener('input', debounce(() => update({ filter: $('#filter').value }), 350));
  $('#filter-toggle').addEventListener('click', () => {
    showFilter($('#filter-row').hidden);
    if (!$('#filter-row').hidden) $('#filter').focus();
  });
  $('#more').addEventListener('click', async () => {
    const had = shown.hits.length;
    k = Math.min(MAX_HITS, k + 2 * STEP);
    await search();
    links()[had]?.focus();
  });
  document.addEventListener('keydown', onKey);

  watch((changed) => {
    // Only what changed elsewhere: while one types, the box is ahead of the state.
    if (changed.has('q') && q.value !== state.q) q.value = state.q;
    if (changed.has('filter') && $('#filter').value !== state.filter) $('#filter').value = state.filter;
    showControls();
    if (['q', 'mode', 'lang', 'filter'].some((name) => changed.has(name))) {
      k = STEP;
      search();
    }
  });
  q.value = state.q;
  $('#filter').value = state.filter;
  showControls();
}

function showFilter(open) {
  $('#filter-row').hidden = !open;
  $('#filter-toggle').setAttribute('aria-expanded', String(open));
}

function showControls() {
  if (state.filter) showFilter(true);
  const radio = document.querySelector(`[name=mode][value="${CSS.escape(state.mode)}"]`);
  if (radio) radio.checked = true;
  $('#mode-help').textContent = MODE_HELP[state.mode] ?? '';
  if (state.filter) showFilter(true); // what limits the hits is seen
  showLanguages();
}

function showLanguages() {
  const counts = Object.entries(info.index?.languages ?? {}).filter(([code]) => code).sort((a, b) => b[1] - a[1]);
  const place = $('#languages');
  place.hidden = counts.length < 2;
  const chosen = languages();
  const same = JSON.stringify(counts);
  if (place.dataset.counts === same) { // the chip that was pressed keeps the focus
    [...place.children].forEach((chip, i) => chip.setAttribute('aria-pressed', String(chosen.includes(counts[i][0]))));
    place.classList.toggle('some', chosen.length > 0);
    return;
  }
  place.dataset.counts = same;
  place.replaceChildren(...counts.map(([code, n]) => languageChip(code, n, chosen.includes(code), () => {
    const now = languages();
    const then = now.includes(code) ? now.filter((other) => other !== code) : [...now, code];
    update({ lang: then.join(',') });
  })));
  place.classList.toggle('some', chosen.length > 0);
  // On a phone the row scrolls: what is chosen is not left out of sight.
  const chip = $('[aria-pressed=true]', place);
  if (chip) place.scrollLeft = chip.offsetLeft - place.offsetLeft - 16;
}

function body() {
  const json = { query: state.q.trim(), k, mode: state.mode };
  const filter = wholeFilter();
  if (filter) json.filter = filter;
  return json;
}

export async function search() {
  running?.abort();
  running = null;
  clearTimeout(again);
  const query = state.q.trim();
  $('#filter-error').hidden = true;
  if (!query || !info.index) {
    showNothing();
    return;
  }
  const mine = running = new AbortController();
  // A bar that appears at once would flicker at every key.
  const late = setTimeout(() => { $('#busy').hidden = false; $('#hits').setAttribute('aria-busy', 'true'); }, 180);
  try {
    const answer = await request('api/search', { json: body(), signal: mine.signal });
    if (mine === running) showHits(answer);
  } catch (error) {
    if (mine === running && error.name !== 'AbortError') showError(error);
  } finally {
    clearTimeout(late);
    if (mine === running) {
      running = null;
      $('#busy').hidden = true;
      $('#hits').removeAttribute('aria-busy');
    }
  }
}

function settle(query, found) {
  shown = { query, hits: found };
  $('#welcome').hidden = query !== '';
  $('#how').hidden = found.length === 0;
  $('#more').hidden = found.length < k || k >= MAX_HITS;
  const curl = $('#search-curl');
  curl.hidden = query === '';
  if (query) showCurl(curl, curlLine('api/search', { json: body() }));
  callbacks.onHits(query, found);
}

function showNothing() {
  $('#busy').hidden = true;
  $('#hits').replaceChildren();
  $('#status').textContent = '';
  settle('', []);
}

function showError(error) {
  $('#hits').replaceChildren();
  if ((error.status === 400 || error.status === 422) && wholeFilter()) {
    showFilter(true);
    $('#filter-error').textContent = error.message;
    $('#filter-error').hidden = false;
    $('#status').textContent = 'The filter is not understood.';
  } else {
    $('#status').textContent = error.status === 401 ? 'This server wants a key. Search again to give one.' : error.message;
    if (error.status === 0) again = setTimeout(search, 2500);
  }
  settle(state.q.trim(), []);
}

function showHits({ hits: found, took_ms, truncated }) {
  const top = Math.max(...found.map((hit) => hit.words ?? 0), 0);
  const focused = links().indexOf(document.activeElement);
  $('#hits').replaceChildren(...found.map((hit, i) => hitItem(hit, i, top)));
  if (focused >= 0) links()[focused]?.focus();
  const parts = [found.length ? plural(found.length, 'hit') : 'Nothing found'];
  if (found.length && !found.some((hit) => hit.good)) parts.unshift('No good match');
  if (found.length && took_ms != null) parts[parts.length - 1] += ` in ${took_ms < 10 ? took_ms.toFixed(1) : count(Math.round(took_ms))} ms`;
  if (!found.length && wholeFilter()) parts.push('Fewer filters may help.');
  else if (!found.length && state.mode === 'words') parts.push('Ranking by meaning finds other words for the same thing.');
  if (truncated) parts.push(`The query is longer than the ${info.max_tokens} tokens the model reads; its end was left out.`);
  $('#status').textContent = parts.join('. ').replace('..', '.');
  settle(state.q.trim(), found);
}

/* Bars from 0 to 1, with the figure beside: a reader sees by which of the two ways the hit came up. */
function meter(name, value, share, text) {
  const bar = make('span', { className: 'bar' });
  bar.style.setProperty('--share', Math.max(0, Math.min(1, share)));
  return make('span', { className: value == null ? 'meter none' : 'meter' },
    make('span', {}, name), bar, make('b', {}, value == null ? '–' : text));
}

/* What stands around the best sentence is for context: a few lines, of whole words where there are blanks. */
function clipped({ before = '', best = '', after = '' } = {}) {
  if (before.length > 110) before = '…' + before.slice(-100).replace(/^\S{0,20}\s/, '');
  if (after.length > 190) after = after.slice(0, 180).replace(/\s\S{0,20}$/, '') + '…';
  return { before, best, after };
}

function hitItem(hit, i, top) {
  const { before, best, after } = clipped(hit.snippet);
  // A sentence without a title is its own.
  const isAlone = !hit.title && best && !before.trim() && !after.trim();
  const at = hit.passage ? `${hit.passage.begin}-${hit.passage.end}` : '';
  const title = hit.title || (isAlone ? best : hit.id);
  const link = make('a', { href: addressOf({ doc: hit.id, at }), dir: 'auto', lang: hit.language ?? '' },
    isAlone ? make('mark', { className: 'plain' }, best) : title);
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a tab of its own
    event.preventDefault();
    callbacks.onOpen(hit);
  });
  const alike = make('button', { type: 'button', className: 'quiet', title: 'Search with this sentence' }, 'More like this');
  const isHybrid = state.mode === 'hybrid';
  alike.addEventListener('click', () => {
    $('#q').value = best;
    update({ q: best, mode: state.mode === 'words' ? 'dense' : state.mode }, { push: true });
    scrollTo({ top: 0 });
  });
  const item = make('li', { className: 'hit' },
    // The number is that of the point on the map.
    make('span', { className: 'rank', 'aria-hidden': 'true' }, i + 1),
    make('div', { className: 'hit-text', dir: directionOf(title) },
      make('h2', {}, link),
      make('p', { className: 'where' }, languageTag(hit.language),
        make('bdi', {}, hit.url ? hit.url.replace(/^https?:\/\//, '') : fileLink(hit.id, hit.id)), best && alike),
      !isAlone && make('p', { className: 'snippet', dir: 'auto', lang: hit.language ?? '' }, before, make('mark', {}, best), after)),
    make('div', { className: 'scores', title: `Score ${hit.score.toPrecision(4)}` },
      isHybrid && make('span', { className: 'reason' }, 'found ', FOUND_BY[hit.reason] ?? hit.reason),
      hit.cosine != null && meter('meaning', hit.cosine, hit.cosine, hit.cosine.toFixed(2).replace('-', '−')),
      (isHybrid || hit.words != null) && meter('words', hit.words, hit.words / top, hit.words?.toFixed(1))));
  tint(item, hit.language);
  item.addEventListener('pointerenter', () => callbacks.onPoint(hit));
  item.addEventListener('pointerleave', () => callbacks.onPoint(null));
  item.addEventListener('focusin', () => callbacks.onPoint(hit));
  item.addEventListener('focusout', () => callbacks.onPoint(null));
  return item;
}

const links = () => [...document.querySelectorAll('#hits h2 a')];
const isEditable = (element) => element.matches?.('input:not([type=radio]), textarea, select');

function onKey(event) {
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  const { key, target } = event;
  if (key === '/' && !isEditable(target)) {
    event.preventDefault();
    if (state.view !== 'search' && state.view !== 'map') update({ view: 'search' }, { push: true });
    $('#q').focus();
    $('#q').select();
    return;
  }
  if (state.view !== 'search' || target.matches?.('#map-canvas, [type=radio]')) return;
  if (isEditable(target) && !(target.id === 'q' && key === 'ArrowDown')) return;
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[key];
  if (!step) return;
  const list = links();
  if (!list.length) return;
  event.preventDefault();
  const at = list.indexOf(document.activeElement?.closest?.('.hit')?.querySelector('h2 a'));
  if (at + step < 0) $('#q').focus();
  else {
    const link = list[Math.min(list.length - 1, at + step)];
    link.focus({ preventScroll: true });
    link.closest('.hit').scrollIntoView({ block: 'nearest' });
  }
}
