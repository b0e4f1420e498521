// The map of the index: its points, what is known of them in words, and the hits and the query on it.

import { request } from './api.js';
import { curlLine, showCurl } from './curl.js';
import { $, count, debounce, make, plural } from './dom.js';
import { hueOf, languageName, languageTag } from './languages.js';
import { PointMap } from './map.js';
import { languages, state } from './state.js';

const MAX_POINTS = 20000, LISTED = 30;

let info = null;
let map = null;
let onOpen = () => {};
let points = [];
let byId = new Map();
let loading = null, loaded = false;
let hits = [];
let placing = null; // the request for the query's place

export function startMap(serverInfo, open) {
  info = serverInfo;
  onOpen = open;
  map = new PointMap($('#map-canvas'), {
    onHover: showTip,
    onPick: (index) => onOpen(points[index], hits.find((hit) => indexOf(hit) === index)),
    onMove: listLater,
    // Beside the hits the wheel scrolls the page, until the map has been clicked.
    takesWheel: (event) => state.view === 'map' || event.ctrlKey || document.activeElement === map.canvas,
  });
  for (const button of document.querySelectorAll('[data-zoom]'))
    button.addEventListener('click', () => map.step(button.dataset.zoom));
  addEventListener('themechange', () => map.restyle());
  $('#map-list').addEventListener('toggle', list);
}

const isSeen = () => $('#map-canvas').checkVisibility?.() ?? $('#map-canvas').offsetWidth > 0;

/* Loads the points once the map is on screen: on a phone it may never be. */
export function showMap() {
  if (!info.index || loaded || loading || !isSeen()) return;
  const path = 'api/map?n=' + Math.min(MAX_POINTS, Math.max(1, info.index.passages));
  showCurl($('#map-curl'), curlLine(path));
  $('#map-state').textContent = 'Drawing the map…';
  loading = request(path).then(({ points: found }) => {
    points = found;
    loaded = true;
    byId = new Map();
    points.forEach((point, i) => {
      point.hue = hueOf(point.language);
      if (byId.has(point.id)) byId.get(point.id).push(i);
      else byId.set(point.id, [i]);
    });
    map.setPoints(points);
    $('#map-state').textContent = points.length ? '' : 'Nothing to draw yet.';
    chooseLanguages();
    showHits(state.q.trim(), hits);
  }).catch((error) => { $('#map-state').textContent = error.message; }).finally(() => { loading = null; });
}

/* After documents were added or removed. */
export function reloadMap(serverInfo) {
  info = serverInfo;
  loaded = false;
  showMap();
}

export function chooseLanguages() {
  const chosen = languages();
  points.forEach((point, i) => { map.visible[i] = !chosen.length || chosen.includes(point.language); });
  map.redraw();
  summarize();
  listLater();
}

function summarize() {
  const counts = new Map();
  points.forEach((point, i) => { if (map.visible[i]) counts.set(point.language, (counts.get(point.language) ?? 0) + 1); });
  const shown = [...counts].sort((a, b) => b[1] - a[1]);
  const n = shown.reduce((sum, [, of]) => sum + of, 0);
  const names = shown.slice(0, 12).map(([code, of]) => `${languageName(code)} ${count(of)}`);
  $('#map-summary').replaceChildren(...(!n ? [] : [`${plural(n, 'passage')}. Near is alike in meaning; the axes are the first two principal components.`,
    // Who sees the page has the same figures in the list of languages.
    make('span', { className: 'unseen' }, ` ${names.join(', ')}${shown.length > 12 ? '…' : ''}.`)]));
}

/* A point is a passage; where the map has only a sample, another passage of the document stands for it. */
function indexOf(hit) {
  const all = byId.get(hit.id) ?? [];
  return all.find((i) => points[i].passage === hit.passage?.number)
    ?? all.find((i) => points[i].label && hit.snippet?.best?.startsWith(points[i].label.replace(/…$/, ''))) ?? all[0] ?? -1;
}

export async function showHits(query, found) {
  hits = found;
  placing?.abort();
  if (!loaded) return;
  const seen = new Set();
  map.hits = found.map((hit, i) => ({ index: indexOf(hit), rank: i + 1 }))
    .filter(({ index }) => index >= 0 && !seen.has(index) && seen.add(index));
  map.strong = -1;
  if (!query) map.query = null;
  map.redraw();
  list();
  if (!query || !isSeen()) return;
  const mine = placing = new AbortController();
  try {
    const { points: [place] } = await request('api/map', { json: { texts: [query] }, signal: mine.signal });
    if (mine !== placing) return;
    map.query = place ?? null;
    map.redraw();
  } catch { /* the map is as good without it */ }
}

export function pointAt(hit) {
  if (!loaded) return;
  map.strong = hit ? indexOf(hit) : -1;
  map.redraw();
}

function showTip(index, x, y) {
  const tip = $('#map-tip');
  tip.hidden = index < 0;
  map.canvas.classList.toggle('over', index >= 0);
  if (index < 0) return;
  const point = points[index];
  if (tip.dataset.index !== String(index)) {
    tip.dataset.index = index;
    tip.replaceChildren(languageTag(point.language), make('p', { dir: 'auto', lang: point.language ?? '' }, point.label || point.id));
  }
  const left = x > map.width / 2 ? x - tip.offsetWidth - 14 : x + 14;
  tip.style.left = `${Math.max(6, Math.min(map.width - tip.offsetWidth - 6, left))}px`;
  tip.style.top = `${Math.max(6, Math.min(map.height - tip.offsetHeight - 6, y + 12))}px`;
}

const listLater = debounce(list, 200);

/* The map in words, for whoever does not see it: the hits first, then what is nearest the middle. */
function list() {
  if (!loaded || !map.width || !$('#map-list').open) return;
  const inView = [];
  const away = (i) => (points[i].x - map.center.x) ** 2 + (points[i].y - map.center.y) ** 2;
  map.eachInView((i) => inView.push(i));
  const rank = new Map(map.hits.map((hit) => [hit.index, hit.rank]));
  inView.sort((a, b) => (rank.get(a) ?? 1e9) - (rank.get(b) ?? 1e9) || away(a) - away(b));
  $('#map-list summary').textContent = `Sentences in view: ${count(inView.length)}`;
  $('#map-list ul').replaceChildren(...inView.slice(0, LISTED).map((i) => {
    const button = make('button', { type: 'button', dir: 'auto', lang: points[i].language ?? '' }, points[i].label || points[i].id);
    button.addEventListener('click', () => onOpen(points[i]));
    button.addEventListener('focus', () => { map.hovered = i; map.redraw(); });
    return make('li', {}, languageTag(points[i].language), button);
  }), inView.length > LISTED && make('li', { className: 'quiet-text' }, `and ${count(inView.length - LISTED)} more; zoom in to see them`));
}
